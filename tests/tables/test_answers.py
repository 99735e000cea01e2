"""The noise of counts: its law and guarantee, which of the two is taken, and what that costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.support.goodness import FALSE_ALARM, chi_square_p, excess
from tests.tables.conftest import table

import sparsegate as sg
from sparsegate.budget import in_decimals, pure_rho
from sparsegate.noise import Seeded
from sparsegate.tables.answers import AnswerNoise, answer_noise
from sparsegate.tables.question import Question


def rounded_normal(sigma: float, cells: range) -> dict[int, float]:
    """P[sigma N, rounded, = k]."""
    return {k: float(stats.norm.cdf((k + 0.5) / sigma) - stats.norm.cdf((k - 0.5) / sigma)) for k in cells}


def noise(moved: int, epsilon: str = "1", delta: str = "1e-6", sensitivity: int = 1) -> AnswerNoise:
    return answer_noise(moved=moved, sensitivity=sensitivity, epsilon=Fraction(epsilon), delta=Fraction(delta))


def test_gaussian_counts_have_their_law() -> None:
    """Chi-square, fixed seed, false-alarm rate 1e-6; its twin rejects a sigma 20 % off, and one a draw cut down."""
    taken = noise(25)
    sigma = float(taken.scale)
    sample = np.array(taken.noisy(Seeded(3), [500] * 100_000)) - 500
    cells = range(-round(2 * sigma), round(2 * sigma) + 1)
    assert chi_square_p(sample, rounded_normal(sigma, cells)) > FALSE_ALARM
    assert chi_square_p(sample, rounded_normal(0.8 * sigma, cells)) < FALSE_ALARM
    assert abs(sample.mean()) < 4.9 * sigma / math.sqrt(sample.size)
    assert sample.std() == pytest.approx(taken.deviation, rel=0.02)


def pairs(sigma: float, moved: tuple[int, int]) -> dict[Hashable, float]:
    """The law of two counts, from this place."""
    masses = [{k + step: p for k, p in rounded_normal(sigma, range(-60, 61)).items()} for step in moved]
    return {
        both: masses[0][both[0]] * masses[1][both[1]] for both in itertools.product(range(-58, 59), repeat=len(moved))
    }


def test_two_counts_of_a_person_cost_epsilon_and_delta_and_less_noise_costs_more() -> None:
    """By enumeration; the trap has the noise for a person with one count."""
    epsilon, delta = Fraction(1), Fraction(1, 100)
    sigma = float(noise(16, "1", "1/100").scale) / 4 * math.sqrt(2)
    one, other = pairs(sigma, (0, 0)), pairs(sigma, (1, 1))
    assert 0.5 * delta < excess(one, other, float(epsilon)) <= float(delta)
    wrong = sigma / math.sqrt(2)
    assert excess(pairs(wrong, (0, 0)), pairs(wrong, (1, 1)), float(epsilon)) > float(delta)


@pytest.mark.parametrize(
    ("moved", "epsilon", "delta", "name", "deviation"),
    [
        (100, "1", "1e-6", "gaussian", 42.2),
        (100, "1", "0", "laplace", 141.4),
        (19, "1", "1e-6", "gaussian", 18.4),
        (18, "1", "1e-6", "laplace", 25.5),
    ],
)
def test_gaussian_noise_is_taken_where_it_is_much_less(
    moved: int, epsilon: str, delta: str, name: str, deviation: float
) -> None:
    taken = noise(moved, epsilon, delta)
    assert (taken.name, round(taken.deviation, 1)) == (name, pytest.approx(deviation, abs=0.1))
    assert taken.cost.delta == (Fraction(delta) if name == "gaussian" else 0)
    many = noise(moved, epsilon, delta, sensitivity=1000)  # sums get as many times the noise, for the same price
    assert float(many.scale / taken.scale) == pytest.approx(1000, rel=1e-6)
    assert float(many.cost.rho) == pytest.approx(float(taken.cost.rho), rel=1e-5)


@pytest.mark.parametrize(("confidence", "items"), [(0.95, 50), (0.5, 3)])
def test_error_bars_are_the_least_that_hold(confidence: float, items: int) -> None:
    taken = noise(100)

    def beyond(t: int) -> float:
        return 2 * float(stats.norm.sf((t + 0.5) / float(taken.scale)))

    each, together = taken.error_bars(confidence, items)
    assert beyond(each) <= 1 - confidence < beyond(each - 1)
    assert (1 - beyond(together)) ** items >= confidence > (1 - beyond(together - 1)) ** items


LISTED: dict[str, Any] = {"item": "page", "user": "visitor", "epsilon": 1, "count": 50, "domain": 100}


def test_half_of_delta_goes_to_counts_where_that_is_less_noise_and_is_charged_once() -> None:
    asked = Question(**LISTED, delta=1e-6, answers_epsilon=1)
    assert asked.answers is not None
    half = Fraction(1, 2 * 10**6)
    assert (asked.answers.name, asked.answers.cost.delta, asked.selection_delta) == ("gaussian", half, half)
    assert (asked.request.method, asked.request.delta, asked.total_delta) == ("gumbel", half, 2 * half)
    for options in ({"delta": 1e-6}, {"answers_epsilon": 1}, {"delta": 1e-6, "answers_epsilon": 1, "count": 5}):
        other = Question(**LISTED | options)
        assert other.selection_delta == other.delta
        assert other.answers is None or other.answers.name == "laplace"


def test_a_method_without_delta_leaves_its_half_unspent() -> None:
    asked = Question(**LISTED, delta=1e-6, answers_epsilon=1, method="subset")
    assert asked.answers is not None
    assert (asked.request.delta, asked.total_delta, asked.answers.name) == (0, Fraction(1, 2 * 10**6), "gaussian")
    with pytest.raises(sg.ParameterError, match="^delta"):
        Question(**LISTED, delta=1e-6, method="subset")


@pytest.mark.parametrize("per", [None, "page"])
def test_gaussian_counts_cost_what_is_proved_by_either_rule(per: str | None) -> None:
    """Epsilon and half of delta to add up; in zCDP a rho, and no delta: nothing of it is for a tail."""
    parts = {} if per is None else {"per": per, "groups": [1, 2], "groups_per_user": 2, "epsilon": 2}
    selected = Question(**LISTED | parts | {"method": "subset"})
    asked = LISTED | parts | {"answers_epsilon": 2 if per else 1, "delta": 2e-6 if per else 1e-6, "method": "subset"}
    both, times = Question(**asked), 1 if per is None else 2
    taken = noise(50, "1", "5e-7")
    assert taken.cost.rho == 50 / (2 * taken.scale**2)
    assert both.cost.epsilon - selected.cost.epsilon == times
    assert both.cost.delta - selected.cost.delta == times * Fraction(1, 2 * 10**6)
    assert both.cost.rho - selected.cost.rho == times * taken.cost.rho
    assert both.cost.rho_delta == 0


HUNDRED: dict[str, Any] = LISTED | {"count": 100, "answers_epsilon": 1, "domain": 200}


@pytest.mark.parametrize(("budget", "name", "deviation"), [(9, "laplace", 141.4), ((9, 1e-6), "gaussian", 42.2)])
def test_on_a_zcdp_ledger_counts_need_no_delta(tmp_path: Path, budget: Any, name: str, deviation: float) -> None:
    """Its entry has the rho of the selection and of the noise, and no delta; release and preview say the same."""
    rows = {"page": [page for page in range(200) for _ in range(20)], "visitor": [*range(20)] * 200}
    with sg.Ledger.create(tmp_path / "l.ledger", dataset="visits", budget=budget) as ledger:
        shown = sg.preview(**HUNDRED, ledger=ledger)
        record = sg.top_items(table("duckdb", rows), **HUNDRED, ledger=ledger).record
        amount = next(entry.amount for entry in ledger.statement().entries if entry.kind.spends)
    assert (record.answers_noise, shown.answers_noise) == (name, name)
    assert record.answers_deviation == pytest.approx(deviation, abs=0.1)
    assert (amount.epsilon, amount.delta, record.delta, shown.delta) == (2, 0, shown.delta, shown.cost.delta)
    moved, selected = 100, Question(**LISTED | {"count": 100, "domain": 200}).cost.rho
    sigma = math.sqrt(float(record.answers_deviation or 0) ** 2 - 1 / 12)
    rho = moved / (2 * sigma**2) if name == "gaussian" else moved * float(pure_rho(Fraction(1, moved)))
    assert float(amount.rho - selected) == pytest.approx(rho, rel=1e-5)
    assert amount.rho == in_decimals(shown.cost.rho)
    said = {"gaussian": ("0.000001", "0.02801"), "laplace": (None, None)}[name]
    published = record.published()
    assert (published.get("answers_delta"), str(published.get("answers_rho", ""))[:7] or None) == said
    assert ("Gaussian noise of standard deviation 42.2" in shown.statement) == (name == "gaussian")


def test_on_a_zcdp_ledger_all_of_delta_is_left_to_the_selection_and_groups_share_that_of_the_ledger() -> None:
    at = Fraction(1, 10**6)
    asked = Question(**HUNDRED, delta=1e-7, ledger_delta=at)
    assert (asked.request.delta, asked.total_delta) == (Fraction(1, 10**7), at + Fraction(1, 10**7))
    assert asked.cost.rho_delta == 0
    groups = Question(**HUNDRED, per="city", groups=[1, 2, 3], groups_per_user=2, ledger_delta=at)
    assert groups.share.answers is not None
    assert (groups.share.answers.cost.delta, groups.cost.delta, groups.cost.rho_delta) == (at / 2, at, 0)


def test_the_labels_of_an_observed_top_keep_their_delta_on_a_zcdp_ledger() -> None:
    observed = LISTED | {"domain": "observed", "count": 100, "max_items_per_user": 100, "delta": 1e-6}
    plain, paid = (
        Question(**observed | options) for options in ({}, {"answers_epsilon": 1, "ledger_delta": Fraction(1, 10**6)})
    )
    assert plain.stages is not None
    assert paid.stages is not None
    assert paid.stages[0].bar == plain.stages[0].bar
    assert paid.cost.rho_delta == plain.cost.rho_delta
