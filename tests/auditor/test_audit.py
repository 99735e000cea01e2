"""The whole audit: what it flags and what it leaves alone, what it takes and gives, and the verdict as data."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace

import numpy as np
import pytest
from tests.support.audited import SOUND, laplace, randomized_response, too_many
from tests.support.display import valid

from sparsegate.auditor import Evidence, Verdict, audit
from sparsegate.auditor.betting import Counts
from sparsegate.errors import ParameterError
from sparsegate.gates.variants import VARIANTS
from sparsegate.noise import Seeded

RATE = 0.1
RUNS_OF_A_ROW = {"hardt-rothblum-2010": 4_000_000, "hardt-rothblum-2010-indicator": 2_000_000}
"""Flaws that take more runs than the others to show."""


@pytest.mark.parametrize("key", VARIANTS)
def test_every_flawed_row_is_flagged_and_no_sound_one(key: str) -> None:
    # At 99 % a sound row is flagged once in a hundred seeds; these seeds are fixed.
    row = VARIANTS[key]
    mechanism = row.for_audit(epsilon=1.0, source=Seeded(1))
    verdict = audit(mechanism, epsilon=1.0, samples=RUNS_OF_A_ROW.get(key, 300_000), seed=1)
    assert verdict.violates is not row.private
    assert verdict.epsilon_lower > (1.0 if not row.private else 0.5)


@pytest.mark.soak
def test_false_alarms_of_whole_audits_stay_within_the_stated_rate() -> None:
    options = {"epsilon": 1.0, "confidence": 1 - RATE, "queries": 2, "samples": 20_000}
    makers = list(SOUND.values())
    alarms = sum(audit(makers[seed % 6](1.0, seed), seed=seed, **options).violates for seed in range(500))
    assert not too_many(alarms, 500, RATE)


@pytest.mark.parametrize("name", ["randomized response", "laplace"])
def test_exactly_tight_mechanisms_are_accused_no_more_often_than_stated_and_those_beyond_more_often(name: str) -> None:
    """Short audits on the pair at which the loss is attained, of losses of 1 and of 1.2."""
    options = {"neighbours": [(np.array([1]), np.array([0]))], "patterns": False, "samples": 6000}
    for leak, runs in ((1.0, 80), (1.2, 40)):
        accused = sum(
            audit(SOUND[name](leak, seed), epsilon=1.0, confidence=1 - RATE, seed=seed, **options).violates
            for seed in range(runs)
        )
        assert too_many(accused, runs, RATE) is (leak > 1)


@pytest.mark.parametrize("name", SOUND)
def test_the_bound_comes_close_to_the_true_loss(name: str) -> None:
    verdict = audit(SOUND[name](1.0, 2), epsilon=2.0, queries=2, samples=200_000, seed=2)
    assert 0.8 * (0.6 if name == "ten responses" else 1.0) < verdict.epsilon_lower <= 1.0


def test_an_infinite_loss_is_bounded_by_what_the_runs_can_prove() -> None:
    few, many = (
        audit(lambda answers: tuple(answers), epsilon=1.0, samples=n, stop_at_violation=False, seed=1)
        for n in (2_000, 20_000)
    )
    assert 3.5 < few.epsilon_lower < many.epsilon_lower - 1.5
    assert many.delta_lower > 0.9
    assert many.witness.counts.hits2 == 0


def test_delta_excuses_an_event_of_that_mass_and_no_more() -> None:
    rng = np.random.default_rng(1)

    def leaky(answers: np.ndarray, n: int) -> np.ndarray:
        return np.where(rng.random(n) < 0.05, answers[0], -1)

    options = {"epsilon": 0.5, "queries": 1, "samples": 50_000, "seed": 1}
    assert not audit(leaky, delta=0.05, **options).violates
    accused = audit(leaky, delta=0.04, **options)
    assert accused.violates
    assert 0.04 < accused.delta_lower <= 0.05


def test_pairs_are_those_that_were_asked_for() -> None:
    """Of one direction; with whole answers where the sensitivity is whole, around the centre; and the caller's own."""

    def difference(answers: np.ndarray, n: int) -> np.ndarray:
        return np.full(n, answers[0] - answers[1])

    assert audit(difference, epsilon=1.0, queries=(2, 2), samples=10_000, seed=1).violates
    for sensitivity, kind in ((1, "i"), (1.0, "f")):
        seen: list[np.ndarray] = []

        def watched(answers: np.ndarray, seen: list = seen) -> int:
            return seen.append(answers) or 0

        options = {"queries": 3, "sensitivity": sensitivity, "centre": 1000, "monotonic": True}
        verdict = audit(watched, epsilon=1.0, samples=2_000, seed=1, **options)
        moves = np.subtract(verdict.witness.neighbour, verdict.witness.answers)
        assert not moves.min() < 0 < moves.max()
        assert max(map(len, seen)) == 3
        assert all(answers.dtype.kind == kind and abs(answers - 1000).max() < 20 for answers in seen)


def test_own_pairs_are_tried_and_win_where_only_they_tell() -> None:
    def at_seventy_seven(answers: np.ndarray) -> bool:
        return bool(answers[0] == 77)

    assert not audit(at_seventy_seven, epsilon=1.0, samples=5_000, seed=1).violates
    verdict = audit(at_seventy_seven, epsilon=1.0, samples=5_000, neighbours=[([76, 0], [77, 0])], seed=1)
    assert verdict.violates
    assert 77 in (*verdict.witness.answers, *verdict.witness.neighbour)


def test_inputs_of_any_kind_can_be_audited_without_patterns() -> None:
    rng = np.random.default_rng(1)

    def counted(table: dict[str, int]) -> dict[str, float]:
        return {name: count + rng.laplace() for name, count in table.items()}

    pair = ({"a": 3}, {"a": 3, "b": 1})
    verdict = audit(counted, epsilon=1.0, neighbours=[pair], patterns=False, samples=2_000, seed=1)
    assert verdict.violates
    assert {repr(verdict.witness.answers), repr(verdict.witness.neighbour)} == {repr(part) for part in pair}


def test_what_is_flagrant_is_refuted_before_the_search_is_through() -> None:
    quick, whole = (
        audit(randomized_response(3.0, 1), epsilon=1.0, samples=400_000, stop_at_violation=stop, seed=1)
        for stop in (True, False)
    )
    assert quick.violates
    assert quick.samples < 80_000
    assert whole.samples > 360_000
    assert quick.epsilon_lower < whole.epsilon_lower <= 3.0


def test_a_seeded_audit_by_samples_repeats_itself() -> None:
    verdicts = [audit(laplace(1.0, 7), epsilon=1.0, queries=3, samples=8_000, seed=5) for _ in range(2)]
    assert replace(verdicts[0], seconds=0.0) == replace(verdicts[1], seconds=0.0)


@pytest.mark.parametrize(
    "outcome",
    [
        lambda up: "yes" if up else "no",
        lambda up: ("x", 1.5) if up else ("x", 1.5, 2.5),
        lambda up: [True, "a", 3.0, up],
        lambda up: np.array([0.5, up]),
        lambda up: {"count": int(up)},
        lambda up: [False] * 60 + [bool(up)],
    ],
    ids=["string", "length", "mixed", "array", "mapping", "long"],
)
def test_outcomes_of_every_kind_are_audited(outcome) -> None:
    rng = np.random.default_rng(1)
    options = {"epsilon": 1.0, "queries": 1, "samples": 5_000, "seed": 1}
    verdict = audit(lambda answers: outcome((answers[0] > 0) ^ (rng.random() < 0.1)), **options)
    assert verdict.violates
    assert verdict.epsilon_lower <= math.log(9)


@pytest.mark.parametrize("pause", [0.02, pytest.param(0.1, marks=pytest.mark.soak)])
def test_a_budget_of_seconds_is_kept_also_by_a_very_slow_mechanism(pause: float) -> None:
    def slow(answers: np.ndarray) -> bool:
        time.sleep(pause)
        return bool(answers[0] > 0)

    begun = time.perf_counter()
    verdict = audit(slow, epsilon=0.1, queries=1, budget_seconds=100 * pause, seed=1)
    assert time.perf_counter() - begun < 150 * pause + 1
    assert verdict.violates
    begun = time.perf_counter()
    verdict = audit(randomized_response(1.0, 1), epsilon=1.0, budget_seconds=1.0, seed=1)
    assert time.perf_counter() - begun < 6
    assert 0.8 < verdict.epsilon_lower <= 1.05


WRONG = [
    *(("epsilon", {"epsilon": value}) for value in (0, math.inf, "1", None)),
    ("epsilon", {"rho": 1.0}),
    ("rho", {"epsilon": None, "rho": 0}),
    ("delta", {"epsilon": None, "rho": 1.0, "delta": 0.1}),
    *(("rdp", {"epsilon": None, "rdp": value}) for value in (3, (1, 1), (2, 0))),
    ("replay", {"replay": True}),
    *(("sensitivity", {"sensitivity": value}) for value in ("1", 0, math.inf)),
    *(("budget_seconds", {"budget_seconds": value}) for value in ("60", math.inf, 0)),
    *(("samples", {"samples": value}) for value in (math.nan, "many", 10, 1500.5)),
    *(("queries", {"queries": value}) for value in ((1, 2, 3), True, (3, 2), 0)),
    ("centre", {"centre": math.nan}),
    ("centre", {"centre": 1e17, "sensitivity": 1.0}),
    ("centre", {"centre": 2**70}),
    ("centre", {"centre": 1.0, "sensitivity": 1e-300}),
    ("seed", {"seed": -1}),
    ("neighbours", {"neighbours": 5}),
    ("neighbours", {"patterns": False}),
    *(("delta", {"delta": value}) for value in (1, -0.1)),
    ("confidence", {"confidence": 1}),
    ("call_timeout", {"call_timeout": 0}),
    ("mechanism", {"mechanism": 7}),
]


@pytest.mark.parametrize(("parameter", "changes"), WRONG)
def test_impossible_parameters_are_refused_by_name(parameter: str, changes: dict) -> None:
    arguments = {"mechanism": lambda answers: 0, "epsilon": 1.0, "samples": 1000} | changes
    with pytest.raises(ParameterError) as refused:
        audit(arguments.pop("mechanism"), **arguments)
    assert refused.value.parameter == parameter


LEAKY = Verdict(
    mechanism="mine.<b>leaky</b>",
    epsilon=0.1,
    delta=1e-8,
    epsilon_lower=2.5,
    delta_lower=0.01,
    confidence=0.99,
    violates=True,
    witness=Evidence(
        answers=np.array([0, 1]),
        neighbour=np.array([1, 1]),
        event="it said ABOVE",
        counts=Counts(hits1=900, trials1=1000, hits2=10, trials2=1000),
    ),
    samples=4000,
    seconds=1.5,
)


def test_a_verdict_is_said_and_shown_and_stored() -> None:
    assert "is NOT private at ε = 0.1, δ = 1e-08: with 99 % confidence its ε is at least 2.5" in LEAKY.sentence
    assert "".join(LEAKY.sentence.split()) in "".join(str(LEAKY).split())  # the table, and the sentence in its width
    sound = replace(LEAKY, violates=False).sentence
    assert "no violation of ε = 0.1, δ = 1e-08 found in 4,000 runs" in sound
    assert "no proof of privacy" in sound
    html = LEAKY._repr_html_()
    assert "NOT private as claimed" in html
    assert "<b>" not in html
    assert "it said ABOVE" in html
    stored = json.loads(json.dumps(LEAKY.to_dict(), allow_nan=False))
    assert valid(stored)
    assert (stored["epsilon"], stored["delta"], stored["epsilon_lower"]) == ("0.1", "0.00000001", 2.5)
    assert stored["witness"]["answers"] == [0, 1]
    assert stored["witness"]["counts"]["hits1"] == 900
    endless = replace(LEAKY, epsilon_lower=math.inf).to_dict()
    assert valid(endless)
    assert endless["epsilon_lower"] == "inf"
    assert LEAKY["violates"] is True
    assert dict(LEAKY)["samples"] == 4000
    frame = LEAKY.to_pandas()
    assert frame.shape == (1, 9)
    assert frame["epsilon_lower"].tolist() == [2.5]
    assert frame.attrs["sentence"] == LEAKY.sentence


def test_the_picture_has_what_was_proved_beside_the_claim() -> None:
    pytest.importorskip("matplotlib")
    (axes,) = LEAKY.plot().axes
    (bar,) = axes.patches
    assert bar.get_width() == 2.5
    assert axes.lines[0].get_xdata()[0] == 0.1
