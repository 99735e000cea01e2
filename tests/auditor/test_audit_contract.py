"""What an audit takes and gives: outcomes of every kind, budgets, sentences, and errors that name their cause."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from tests.support.audited import laplace, randomized_response

from sparsegate.auditor import Verdict, audit
from sparsegate.errors import ParameterError


def test_a_seeded_audit_by_samples_repeats_itself() -> None:
    verdicts = [audit(laplace(1.0, 7), epsilon=1.0, queries=3, samples=50_000, seed=5) for _ in range(2)]
    assert replace(verdicts[0], seconds=0.0) == replace(verdicts[1], seconds=0.0)


def test_inputs_of_any_kind_can_be_audited_without_patterns() -> None:
    rng = np.random.default_rng(1)

    def counted(table: dict[str, int]) -> dict[str, float]:
        return {name: count + rng.laplace() for name, count in table.items()}

    pair = ({"a": 3}, {"a": 3, "b": 1})
    verdict = audit(counted, epsilon=1.0, neighbours=[pair], patterns=False, samples=2_000, seed=1)
    assert verdict.violates
    assert {repr(verdict.witness.answers), repr(verdict.witness.neighbour)} == {repr(part) for part in pair}


@pytest.mark.parametrize(
    "outcome",
    [
        lambda up: bool(up),
        lambda up: "yes" if up else "no",
        lambda up: ("x", 1.5) if up else ("x", 1.5, 2.5),
        lambda up: [True, "a", 3.0, up],
        lambda up: np.array([0.5, up]),
        lambda up: {"count": int(up)},
        lambda up: [False] * 60 + [bool(up)],
    ],
    ids=["boolean", "string", "length", "mixed", "array", "mapping", "long"],
)
def test_outcomes_of_every_kind_are_audited(outcome) -> None:
    rng = np.random.default_rng(1)
    verdict = audit(
        lambda answers: outcome((answers[0] > 0) ^ (rng.random() < 0.1)), epsilon=1.0, queries=1, samples=5_000, seed=1
    )
    assert verdict.violates
    assert verdict.epsilon_lower <= math.log(9)


def test_a_budget_of_seconds_is_kept() -> None:
    begun = time.perf_counter()
    verdict = audit(randomized_response(1.0, 1), epsilon=1.0, budget_seconds=1.5, seed=1)
    assert time.perf_counter() - begun < 6
    assert 0.8 < verdict.epsilon_lower <= 1.05
    assert verdict.seconds < 6


def test_a_slow_mechanism_gets_as_many_runs_as_there_is_time_for() -> None:
    rng = np.random.default_rng(1)

    def slow(answers: np.ndarray) -> bool:
        time.sleep(0.001)
        return bool(answers[0] > 0) ^ bool(rng.random() < 0.05)

    verdict = audit(slow, epsilon=0.5, queries=1, budget_seconds=3, seed=1)
    assert verdict.violates
    assert verdict.samples < 4000


@pytest.mark.parametrize("pause", [0.02, pytest.param(0.1, marks=pytest.mark.soak)])
def test_a_very_slow_mechanism_keeps_the_budget_too_and_what_it_leaks_is_still_found(pause: float) -> None:
    def slow(answers: np.ndarray) -> bool:
        time.sleep(pause)
        return bool(answers[0] > 0)

    begun = time.perf_counter()
    verdict = audit(slow, epsilon=0.1, queries=1, budget_seconds=100 * pause, seed=1)
    assert time.perf_counter() - begun < 150 * pause + 1
    assert verdict.violates


def test_the_sentence_says_what_was_proven_and_what_was_not() -> None:
    leak = audit(randomized_response(3.0, 1), epsilon=1.0, samples=5_000, seed=1)
    assert "is NOT private at ε = 1" in leak.sentence
    assert "99 % confidence" in leak.sentence
    assert "".join(leak.sentence.split()) in "".join(str(leak).split())  # the table, and the sentence in its width
    sound = audit(randomized_response(0.5, 1), epsilon=1.0, delta=1e-6, samples=5_000, seed=1)
    assert "no violation of ε = 1, δ = 1e-06 found" in sound.sentence
    assert "no proof of privacy" in sound.sentence


def test_a_verdict_is_frozen_and_holds_its_evidence() -> None:
    verdict = audit(randomized_response(3.0, 1), epsilon=1.0, samples=5_000, seed=1)
    assert isinstance(verdict, Verdict)
    with pytest.raises(AttributeError):
        verdict.violates = False  # type: ignore[misc]
    counts = verdict.witness.counts
    assert counts.hits1 / counts.trials1 > counts.hits2 / counts.trials2
    assert verdict.samples >= counts.trials1 + counts.trials2


def test_a_bar_is_shown_where_it_is_wanted(capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    audit(randomized_response(1.0, 1), epsilon=1.0, samples=2_000, seed=1, progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    audit(randomized_response(1.0, 1), epsilon=1.0, samples=2_000, seed=1, progress=True)
    captured = capsys.readouterr()
    assert "randomized_response" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
        ({"sensitivity": "1"}, "sensitivity"),
        ({"budget_seconds": "60"}, "budget_seconds"),
        ({"budget_seconds": math.inf}, "budget_seconds"),
        ({"samples": math.nan}, "samples"),
        ({"samples": "many"}, "samples"),
        ({"queries": (1, 2, 3)}, "queries"),
        ({"queries": True}, "queries"),
        ({"seed": -1}, "seed"),
        ({"neighbours": 5}, "neighbours"),
        ({"centre": 1e17, "sensitivity": 1.0}, "centre"),
        ({"centre": 2**70}, "centre"),
        ({"sensitivity": 1e-300, "centre": 1.0}, "centre"),
        ({"delta": 1}, "delta"),
        ({"delta": -0.1}, "delta"),
        ({"confidence": 1}, "confidence"),
        ({"samples": 10}, "samples"),
        ({"samples": 1500.5}, "samples"),
        ({"budget_seconds": 0}, "budget_seconds"),
        ({"call_timeout": 0}, "call_timeout"),
        ({"queries": 0}, "queries"),
        ({"patterns": False}, "neighbours"),
        ({"mechanism": 7}, "mechanism"),
    ],
)
def test_impossible_parameters_are_refused_by_name(changes: dict, parameter: str) -> None:
    arguments = {"mechanism": lambda answers: 0, "epsilon": 1.0, "samples": 1000} | changes
    with pytest.raises(ParameterError) as refused:
        audit(arguments.pop("mechanism"), **arguments)
    assert refused.value.parameter == parameter


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (lambda answers: 1 / 0, "raised ZeroDivisionError"),
        (lambda answers: None, "returned None"),
        (lambda answers, n: [1] * (n - 1), "returned 0 instead of 1"),
        (lambda answers: object(), "returned an object"),
        (lambda answers: time.sleep(30), "within call_timeout=0.3 seconds"),
    ],
    ids=["raises", "none", "short", "object", "hangs"],
)
def test_a_mechanism_that_does_not_work_is_named(mechanism, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as refused:
        audit(mechanism, epsilon=1.0, samples=1000, call_timeout=0.3)
    assert "test_audit_contract.<lambda>" in str(refused.value)
