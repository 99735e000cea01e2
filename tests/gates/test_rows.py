"""Every row through the streaming and the batch runner: the same law, and the paper's differences."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.support.goodness import FALSE_ALARM

import sparsegate as sg
from sparsegate.gates.variants import Closes, Compared, Noise, Variant

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


@pytest.mark.turns(5)
@pytest.mark.parametrize("row", sg.VARIANTS.values(), ids=sg.VARIANTS.keys())
def test_the_batch_runner_has_the_law_of_the_streaming_runner(row: Variant) -> None:
    """Two-sample chi-square over whole transcripts, fixed seeds, rate 1e-6."""
    assert _two_sample_p(_streamed(row, 4_000), _batched(row, 40_000)) > FALSE_ALARM


@pytest.mark.turns(8)
@pytest.mark.parametrize("row", sg.VARIANTS.values(), ids=sg.VARIANTS.keys())
def test_the_two_sample_test_rejects_noise_that_is_20_percent_off(row: Variant) -> None:
    """The twin: 20 % less noise than the row's is told apart at rate 1e-6 (at a larger size)."""
    assert _two_sample_p(_batched(row, 150_000), _batched(row, 150_000, epsilon=2.5)) < FALSE_ALARM


@pytest.mark.parametrize("key", ["stoddard-2014", "chen-2015", "gptt"])
def test_rows_without_a_stop_answer_everything(key: str) -> None:
    out = sg.run_many(key, [10**6] * 50, runs=20, epsilon=1, cutoff=1, not_private=True)
    assert out.above.all()
    assert (out.asked == 50).all()
    assert len(sg.run(key, [10**6] * 50, epsilon=1, cutoff=1, not_private=True)) == 50


@pytest.mark.parametrize("row", [row for row in ROWS if row.closes is Closes.ABOVE], ids=lambda row: row.key)
def test_rows_with_a_stop_give_exactly_c_positives(row: Variant) -> None:
    estimates = {} if row.compared is Compared.ANSWER else {"estimates": 0}
    out = sg.run_many(row, [10**6] * 9, runs=50, epsilon=1, cutoff=4, not_private=True, **estimates)  # type: ignore[arg-type]
    assert (out.asked == 4).all()
    assert (out.above.sum(axis=1) == 4).all()
    assert not out.above[:, 4:].any()


def test_gptt_with_equal_shares_is_the_algorithm_of_chen() -> None:
    """The same seed gives the same answers: the two rows differ in nothing but their story."""
    runs = [
        sg.run_many(k, ANSWERS, runs=500, epsilon=1, source=sg.Seeded(3), not_private=True)
        for k in ("gptt", "chen-2015")
    ]
    assert (runs[0].above == runs[1].above).all()


def test_dwork_roth_redraws_its_threshold_and_lyu_does_not() -> None:
    """Far below the noise of nu two identical questions hang together through rho only where it is kept.

    With nu almost silenced (a huge queries share) the answers to q, q are equal under one rho; redrawing after the
    first ABOVE makes the second independent: it is BELOW in half of the runs.
    """
    budget = sg.Budget(threshold_epsilon=0.01, query_epsilon=1000)
    options: dict[str, Any] = {
        "runs": 2_000,
        "cutoff": 9,
        "budget": budget,
        "not_private": True,
        "source": sg.Seeded(4),
    }
    kept = sg.run_many("lyu-2017", [0, 0], **options).above
    redrawn = sg.run_many("dwork-roth-2014", [0, 0], **options).above
    assert (kept[:, 0] == kept[:, 1]).mean() > 0.99
    after_positive = redrawn[redrawn[:, 0], 1]
    assert 0.4 < after_positive.mean() < 0.6  # 1,000 fair coins: 6 standard deviations, rate below 1e-8
    after_negative = redrawn[~redrawn[:, 0], 1]
    assert after_negative.mean() < 0.01


@pytest.mark.parametrize("row", [row for row in ROWS if not row.private], ids=lambda row: row.key)
def test_a_flawed_row_runs_only_with_a_waiver_and_the_refusal_names_the_flaw(row: Variant) -> None:
    for start in (lambda: sg.run(row, [1], epsilon=1), lambda: sg.run_many(row, [1], runs=2, epsilon=1)):
        with pytest.raises(sg.ParameterError) as caught:
            start()
        assert row.flaw in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        ({"runs": 0}, "runs"),
        ({"answers": [[1]]}, "answers"),
        ({"answers": [1.5]}, "answers"),
        ({"threshold": [1, 2]}, "threshold"),
        ({"estimates": [1]}, "estimates"),
        ({"row": "nobody-1999"}, "row"),
        ({"epsilon": -1}, "epsilon"),
        ({"cutoff": 0}, "cutoff"),
        ({"row": "hardt-rothblum-2010-repaired"}, "estimates"),
        (
            {
                "row": "lyu-2017",
                "epsilon": None,
                "budget": sg.Budget(threshold_epsilon=1, query_epsilon=1, answer_epsilon=1),
            },
            "answers",
        ),
    ],
)
def test_a_bad_parameter_of_run_many_is_named(changes: dict[str, Any], parameter: str) -> None:
    options: dict[str, Any] = {"row": "standard", "answers": [1], "runs": 3, "epsilon": 1} | changes
    with pytest.raises(sg.ParameterError, match=f"^{parameter} "):
        sg.run_many(options.pop("row"), options.pop("answers"), **options)


def test_no_questions_give_no_answers() -> None:
    assert sg.run("standard", [], epsilon=1) == ()
    out = sg.run_many("standard", [], runs=3, epsilon=1)
    assert out.above.shape == (3, 0)
    assert out.asked.tolist() == [0, 0, 0]


def test_float_answers_run_on_a_float_lattice() -> None:
    out = sg.run_many("standard", [1e6 + 0.5, -1e6], runs=5, sensitivity=0.5, epsilon=1, cutoff=2)
    assert out.above.tolist() == [[True, False]] * 5


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
def test_noise_and_gaps_of_unknown_loss_are_refused(key: str, change: dict[str, Any]) -> None:
    with pytest.raises(sg.ParameterError, match="the loss of any other row is not known"):
        replace(sg.VARIANTS[key], **change)


def test_a_row_that_releases_another_number_than_it_compares_may_be_studied_and_runs_as_no_gate() -> None:
    row = replace(sg.VARIANTS["hardt-rothblum-2010-repaired"], released=sg.variants.Released.NOISY_ANSWER)
    for refused in (lambda: sg.privacy.tight_epsilon(row, epsilon=1), lambda: gate_of(row)):
        with pytest.raises(sg.ParameterError, match="the tight loss of such a row is not known"):
            refused()


def gate_of(row: sg.variants.Variant) -> object:
    return sg.variants.gate(row, threshold=5, cutoff=1, epsilon=1, sensitivity=1)


def test_errors_with_the_noise_outside_may_be_compared_with_exponential_noise() -> None:
    """|e - q| moves by one either way, as an answer does: the loss is that of answers."""
    errors = replace(sg.VARIANTS["hardt-rothblum-2010-repaired"], noise=Noise.EXPONENTIAL)
    witness = {"threshold": 5.0, "estimates": [0.0] * 3, "epsilon": 1, "cutoff": 1}
    found = sg.privacy.loss(errors, [25.0, 25.0, 25.0], [26.0, 26.0, 24.0], [False, False, True], **witness)
    assert found == pytest.approx(1, abs=1e-9)
    assert sg.privacy.tight_epsilon(errors, epsilon=1) == 1
