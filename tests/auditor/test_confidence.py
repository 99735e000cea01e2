"""The limits are exact: against scipy, and by summing the law of the counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sparsegate.auditor import confidence
from sparsegate.auditor.confidence import (
    BoundRule,
    Bounds,
    Counts,
    certified,
    high,
    low,
    promise,
    ratio_low,
    rectangle_low,
)

COUNTS = st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
ALPHAS = st.floats(1e-6, 0.5)


@given(COUNTS, ALPHAS)
def test_clopper_pearson_is_that_of_scipy(count: tuple[int, int], alpha: float) -> None:
    hits, trials = count
    test = stats.binomtest(hits, trials)
    theirs = test.proportion_ci(confidence_level=1 - 2 * alpha, method="exact")
    assert float(low(hits, trials, alpha)) == pytest.approx(theirs.low, abs=1e-9)
    assert float(high(hits, trials, alpha)) == pytest.approx(theirs.high, abs=1e-9)


@pytest.mark.parametrize("p", [0.001, 0.02, 0.3, 0.5, 0.97])
@pytest.mark.parametrize("alpha", [0.1, 0.01])
def test_each_limit_fails_with_probability_at_most_alpha(p: float, alpha: float) -> None:
    hits = np.arange(201)
    mass = stats.binom.pmf(hits, 200, p)
    assert mass[low(hits, 200, alpha) > p].sum() <= alpha
    assert mass[high(hits, 200, alpha) < p].sum() <= alpha


@pytest.mark.parametrize(("mean1", "mean2"), [(30, 30), (60, 20), (8, 1), (3, 0.01), (0.5, 0.5)])
@pytest.mark.parametrize("alpha", [0.1, 0.01])
def test_the_ratio_limit_fails_with_probability_at_most_alpha(mean1: float, mean2: float, alpha: float) -> None:
    hits1, hits2 = np.meshgrid(np.arange(200), np.arange(200), indexing="ij")
    mass = stats.poisson.pmf(hits1, mean1) * stats.poisson.pmf(hits2, mean2)
    failed = ratio_low(hits1, hits2, alpha) > math.log(mean1 / mean2)
    assert mass[failed].sum() <= alpha


def test_the_ratio_limit_is_nearly_tight_for_many_hits() -> None:
    hits1, hits2 = np.meshgrid(np.arange(300, 500), np.arange(300, 500), indexing="ij")
    mass = stats.poisson.pmf(hits1, 400) * stats.poisson.pmf(hits2, 400)
    assert mass[ratio_low(hits1, hits2, 0.1) > 0].sum() > 0.09


def test_without_a_hit_on_the_neighbour_the_ratio_limit_has_a_closed_form() -> None:
    # t = alpha**(1/s), so ln(t/(1-t)) = ln(alpha)/s - ln(1 - alpha**(1/s)).
    for hits in (1, 10, 10**6):
        exact = math.log(0.01) / hits - math.log(-math.expm1(math.log(0.01) / hits))
        assert float(ratio_low(hits, 0, 0.01)) == pytest.approx(exact, rel=1e-9)


def test_the_rectangle_is_two_limits_at_half_of_alpha() -> None:
    found = float(rectangle_low(700, 1000, 200, 1000, 0.05, 0.1))
    one = stats.binomtest(700, 1000).proportion_ci(0.95, "exact").low
    other = stats.binomtest(200, 1000).proportion_ci(0.95, "exact").high
    assert found == pytest.approx(math.log((one - 0.1) / other))


def test_nothing_is_certified_from_nothing() -> None:
    nothing = Counts(hits1=0, trials1=0, hits2=0, trials2=0)
    for rule in BoundRule:
        assert certified(nothing, rule=rule, alpha=0.05, epsilon=1.0, delta=0.0) == Bounds()


def test_delta_is_certified_where_epsilon_is_violated() -> None:
    counts = Counts(hits1=9000, trials1=10_000, hits2=100, trials2=10_000)
    bounds = certified(counts, rule=BoundRule.RECTANGLE, alpha=0.01, epsilon=1.0, delta=0.0)
    assert 4 < bounds.epsilon < math.log(90)
    assert 0.85 < bounds.delta < 0.9 - math.e * 0.01


def test_a_promise_is_close_to_what_is_certified() -> None:
    p1, p2 = np.array([0.05, 0.3, 0.9]), np.array([0.02, 0.2, 0.85])
    promised, by_ratio = promise(p1, p2, trials=1e6, alpha=0.01, delta=0.0)
    for one, other, value, ratio in zip(p1, p2, promised, by_ratio, strict=True):
        counts = Counts(hits1=int(one * 1e6), trials1=10**6, hits2=int(other * 1e6), trials2=10**6)
        rule = BoundRule.RATIO if ratio else BoundRule.RECTANGLE
        exact = certified(counts, rule=rule, alpha=0.01, epsilon=0.1, delta=0.0).epsilon
        assert exact == pytest.approx(value, abs=1e-3)
    assert by_ratio.tolist() == [True, True, False]


@pytest.mark.parametrize("rule", BoundRule)
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_the_levels_of_all_the_limits_used_add_up_to_alpha_at_most(monkeypatch, rule: BoundRule, delta: float) -> None:
    spent: dict[tuple, float] = {}
    for name in ("low", "high", "ratio_low"):
        limit = getattr(confidence, name)

        def noted(hits: int, trials: int, alpha: float, name=name, limit=limit) -> float:
            # The same limit at the same level may be read twice: it fails once.
            spent[name, hits, trials] = max(alpha, spent.get((name, hits, trials), 0.0))
            return limit(hits, trials, alpha)

        monkeypatch.setattr(confidence, name, noted)
    certified(Counts(hits1=60, trials1=1000, hits2=20, trials2=990), rule=rule, alpha=0.1, epsilon=0.5, delta=delta)
    assert len(spent) >= 2
    assert 0.005 <= sum(spent.values()) <= 0.1 + 1e-12
