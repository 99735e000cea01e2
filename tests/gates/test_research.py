"""Rows of one's own: their loss is computed, and a gate runs them only where it is paid for."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.support.goodness import FALSE_ALARM

import sparsegate as sg
from sparsegate.gates.research import gate as gate_of
from sparsegate.gates.variants import Closes, Compared, Noise, Released, Scale, Variant
from sparsegate.privacy import search

ONE, TWO_C = Scale(factor=1), Scale(factor=2, per_cutoff=True)
MINE = Variant(key="mine", threshold_noise=ONE, query_noise=TWO_C)


def every_row() -> Iterator[Variant]:
    """Each row that a Variant can be, but for its scales."""
    kinds = (Compared, Released, Noise, Closes, (False, True), (False, True))
    for compared, released, noise, closes, gap, redraws in itertools.product(*kinds):
        with contextlib.suppress(sg.ParameterError):
            yield Variant(
                key="mine",
                threshold_noise=ONE,
                query_noise=TWO_C,
                query_noise_monotonic=Scale(factor=1, per_cutoff=True),
                compared=compared,
                released=released,
                noise=noise,
                closes=closes,
                gap=gap,
                redraws_threshold=redraws,
            )


@pytest.mark.parametrize("monotonic", [False, True])
def test_no_search_beats_the_bound_of_any_row_that_can_be_written_down(monotonic):
    tried = 0
    for row in every_row():
        numbers = {"cutoff": 1, "epsilon": 1, "monotonic": monotonic}
        if (row.compared, row.released) == (Compared.ERROR_NOISE_OUTSIDE, Released.NOISY_ANSWER):
            with pytest.raises(sg.ParameterError, match="the tight loss of such a row is not known"):
                sg.privacy.tight_epsilon(row, **numbers)
            continue
        bars = (0,) if row.compared is Compared.ANSWER else (0, 120)
        found = search(row, queries=4, thresholds=bars, restarts=1, noise="lattice", **numbers)
        bounds = [sg.privacy.tight_epsilon(row, queries=n, **numbers) for n in (4, 8, 12)]
        assert found.loss <= bounds[0] + 1e-9, row
        # With no limit it is no less than with one; and twelve questions show what has no bound.
        assert max(bounds) <= sg.privacy.tight_epsilon(row, **numbers) + 1e-9, row
        tried += 1
    assert tried == 72


def test_a_row_of_ones_own_is_refused_exactly_where_it_costs_more_than_it_is_paid():
    weak = Variant(key="weak", threshold_noise=ONE, query_noise=Scale(factor=2), allocation="1:1")
    assert gate_of(weak, threshold=0, cutoff=1, epsilon=1, sensitivity=1).ask(10**6)
    with pytest.raises(sg.ParameterError, match=r"not_private must be True to run weak: its tight loss here is 1\.5, "):
        gate_of(weak, threshold=0, cutoff=2, epsilon=1, sensitivity=1)
    with pytest.raises(sg.ParameterError, match="not_private"):
        sg.run(weak, [1], cutoff=2, epsilon=1)
    assert gate_of(weak, threshold=0, cutoff=2, epsilon=1, sensitivity=1, not_private=True).ask(10**6)


def test_a_ledger_is_not_charged_for_what_costs_more_than_it_says(tmp_path):
    options = {"threshold": 0, "epsilon": 1, "sensitivity": 1}
    with sg.Ledger.create(tmp_path / "book", dataset="book", budget=3) as ledger:
        with pytest.raises(sg.ParameterError, match="ledger must not be charged for chen-2015"):
            gate_of("chen-2015", ledger=ledger, not_private=True, **options)
        assert ledger.statement().spent.epsilon == 0
        with gate_of(MINE, ledger=ledger, **options) as gate:
            gate.ask(10**6)
            assert ledger.statement().spent.epsilon == 1
        assert gate.spent <= ledger.statement().spent.epsilon < 0.31


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        ({"threshold_noise": 1}, "threshold_noise"),
        ({"query_noise_monotonic": 2}, "query_noise_monotonic"),
        ({"noise": "laplace"}, "noise"),
        ({"closes": "never"}, "closes"),
        ({"gap": 1}, "gap"),
        ({"private": False}, "flaw"),
        ({"flaw": "it leaks"}, "flaw"),
    ],
)
def test_a_field_of_another_kind_is_refused_by_its_name(changes, parameter):
    with pytest.raises(sg.ParameterError) as caught:
        Variant(**{"key": "mine", "threshold_noise": ONE, "query_noise": TWO_C} | changes)
    assert caught.value.parameter == parameter


def test_an_audit_takes_a_row_and_lays_answers_out_about_its_centre():
    flawed = Variant(key="flawed", threshold_noise=ONE, query_noise=Scale(factor=0), closes=Closes.NEVER)
    verdict = sg.audit(flawed, epsilon=1.0, queries=2, centre=500, samples=20_000, seed=1)
    assert verdict.violates
    assert verdict.mechanism.endswith("flawed")
    assert min(abs(answer - 500) for answer in verdict.witness.answers) < 100


ROWS = list(sg.VARIANTS.values())
ANSWERS = [0, 2, -1, 1, 0]


def _options(row: Variant, seed: int) -> dict[str, Any]:
    options: dict[str, Any] = {"cutoff": 2, "epsilon": 2, "source": sg.Seeded(seed), "not_private": True}
    if row.compared is not Compared.ANSWER:
        options["estimates"] = [1, 0, -3, 2, 4]
    return options


def _streamed(row: Variant, runs: int) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple((a.above, a.estimate) for a in sg.run(row, ANSWERS, threshold=1, **_options(row, seed)))
        for seed in range(runs)
    )


def _batched(row: Variant, runs: int, **changes: Any) -> Counter[tuple[Any, ...]]:
    out = sg.run_many(row, ANSWERS, runs=runs, threshold=1, **(_options(row, 10**6) | changes))
    values = out.values if out.values is not None else np.full(out.above.shape, None, dtype=object)
    return Counter(
        tuple((bool(a), v if a else None) for a, v in zip(above[:n], value[:n], strict=True))
        for above, value, n in zip(out.above.tolist(), values.tolist(), out.asked.tolist(), strict=True)
    )


def _two_sample_p(one: Counter[Any], other: Counter[Any]) -> float:
    """Chi-square test of homogeneity over the outcomes seen often, the rest together."""
    common = [o for o in one | other if one[o] + other[o] >= 40]
    table = [[c[o] for o in common] + [c.total() - sum(c[o] for o in common)] for c in (one, other)]
    columns = [column for column in zip(*table, strict=True) if sum(column) >= 10]
    return float(stats.chi2_contingency(np.array(columns).T).pvalue)


RUNNERS = ["standard", "dwork-roth-2014", "roth-2011", "chen-2015", "hardt-rothblum-2010-indicator"]
RUNNERS += ["hardt-rothblum-2010-repaired", "exponential-gap", "two-sided"]
"""A row for each thing that a runner does differently."""


@pytest.mark.parametrize("key", RUNNERS)
def test_the_batch_runner_has_the_law_of_the_streaming_runner(key):
    """Two-sample chi-square over whole transcripts, fixed seeds, rate 1e-6; the twin has 20 % less noise."""
    row = sg.VARIANTS[key]
    assert _two_sample_p(_streamed(row, 1_000), _batched(row, 20_000)) > FALSE_ALARM
    if key == "exponential-gap":
        assert _two_sample_p(_batched(row, 60_000), _batched(row, 60_000, epsilon=2.5)) < FALSE_ALARM


@pytest.mark.parametrize("row", [row for row in ROWS if not row.private], ids=lambda row: row.key)
def test_a_flawed_row_runs_only_with_a_waiver_and_the_refusal_names_the_flaw(row):
    for start in (lambda: sg.run(row, [1], epsilon=1), lambda: sg.run_many(row, [1], runs=2, epsilon=1)):
        with pytest.raises(sg.ParameterError) as caught:
            start()
        assert row.flaw in str(caught.value)


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("dwork-roth-2014", {"noise": Noise.EXPONENTIAL}),
        ("roth-2011", {"noise": Noise.EXPONENTIAL}),
        ("hardt-rothblum-2010-indicator", {"noise": Noise.EXPONENTIAL}),
        ("dwork-roth-2014", {"gap": True}),
        ("hardt-rothblum-2010-repaired", {"gap": True}),
    ],
)
def test_noise_and_gaps_of_unknown_loss_are_refused(key, change):
    with pytest.raises(sg.ParameterError, match="the loss of any other row is not known"):
        replace(sg.VARIANTS[key], **change)
