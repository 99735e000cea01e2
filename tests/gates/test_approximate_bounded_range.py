"""What a round of peeling may spend under (epsilon, delta): the equation, its rounding and the privacy it gives."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.goodness import FALSE_ALARM, excess, law_p
from tests.support.selection_laws import peeled

from sparsegate.errors import ParameterError
from sparsegate.gates.approximate import round_epsilon
from sparsegate.noise import Seeded
from sparsegate.selection.select import select_top

PUBLISHED = {10: 0.1396, 50: 0.0624, 100: 0.0441, 300: 0.0255}


def spent(round_: Fraction, delta: Fraction, count: int) -> mpmath.mpf:
    """The least epsilon of the conversion, by mpmath's own minimisation over alpha."""
    rho = mpmath.mpf(count) * round_.numerator**2 / round_.denominator**2 / 8
    inverse = mpmath.mpf(delta.denominator) / delta.numerator

    def at(x: mpmath.mpf) -> mpmath.mpf:
        alpha = 1 + mpmath.exp(x)
        return rho * alpha + (mpmath.log(inverse) - mpmath.log(alpha)) / (alpha - 1) + mpmath.log(1 - 1 / alpha)

    grid = [at(mpmath.mpf(x) / 4) for x in range(-160, 321)]
    best = grid.index(min(grid))
    low, high = (mpmath.mpf(best + step - 160) / 4 for step in (-1, 1))
    for _ in range(120):
        one, other = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, other) if at(one) < at(other) else (one, high)
    return at(low)


@pytest.mark.parametrize("count", PUBLISHED)
def test_the_table_of_the_design_is_reached(count: int) -> None:
    assert round(float(round_epsilon(epsilon=1, delta=1e-6, count=count)), 4) == PUBLISHED[count]


@given(st.fractions(Fraction(1, 10**6), 100), st.integers(1, 300), st.sampled_from([1, 2, 10, 1000, 10**6]))
def test_the_bound_holds_at_what_is_given_and_hardly_at_more(epsilon: Fraction, bits: int, count: int) -> None:
    delta = Fraction(1, 3**bits)
    round_ = round_epsilon(epsilon=epsilon, delta=delta, count=count)
    if round_ == epsilon / count:
        return
    with mpmath.workprec(200):
        assert spent(round_, delta, count) <= mpmath.mpf(epsilon.numerator) / epsilon.denominator
        assert (
            spent(round_ * Fraction(1000001, 10**6), delta, count) > mpmath.mpf(epsilon.numerator) / epsilon.denominator
        )


@pytest.mark.parametrize(("count", "epsilon"), [(1, 1), (5, 1), (2, 4)])
def test_where_delta_does_not_help_each_round_has_its_share_of_epsilon(count: int, epsilon: int) -> None:
    assert round_epsilon(epsilon=epsilon, delta=1e-6, count=count) == Fraction(epsilon, count)


def worst(round_: float, epsilon: float, count: int, items: int = 4) -> float:
    """The largest delta over pairs of neighbours: any set of items one lower, at scores far apart or not, in order."""
    found = 0.0
    for scores in itertools.product((0, 3), repeat=items):
        for moved in itertools.product((0, 1), repeat=items):
            one = peeled([math.exp(round_ * score) for score in scores], count)
            other = peeled(
                [math.exp(round_ * (score - down)) for score, down in zip(scores, moved, strict=True)], count
            )
            found = max(found, excess(one, other, epsilon), excess(other, one, epsilon))
    return found


def test_peeled_rounds_are_within_delta_of_epsilon_and_a_fifth_steeper_are_not() -> None:
    epsilon, delta, count = 0.25, 0.01, 3
    round_ = float(round_epsilon(epsilon=epsilon, delta=delta, count=count))
    assert round_ > epsilon / count
    assert worst(round_, epsilon, count) <= delta
    assert worst(1.2 * round_, epsilon, count) > delta


def gumbel_p(epsilon: float) -> float:
    """The p-value of two thousand selections by "gumbel" at this epsilon against the law of rounds at epsilon 2."""
    source, scores, count, delta = Seeded(3), [0, 1, 1, 3, 2, 0], 5, 0.05
    rest = {"count": count, "delta": delta, "sensitivity": 1, "monotonic": True, "method": "gumbel"}
    runs = (select_top(scores, epsilon=epsilon, source=source, not_private=True, **rest) for _ in range(2000))
    seen = Counter(tuple(run.indices.tolist()) for run in runs)
    round_ = float(round_epsilon(epsilon=2, delta=delta, count=count))
    assert round_ > 1.5 * 2 / count
    return law_p(seen, peeled([math.exp(round_ * score) for score in scores], count))


def test_gumbel_peels_with_what_a_round_may_spend() -> None:
    assert gumbel_p(2) > FALSE_ALARM
    assert gumbel_p(1.4) < FALSE_ALARM  # rounds a fifth less steep


@pytest.mark.parametrize("delta", [0, 1, 2, -0.1, math.nan, None, "1e-6", True])
def test_a_delta_outside_the_open_interval_is_refused(delta: object) -> None:
    with pytest.raises(ParameterError) as caught:
        round_epsilon(epsilon=1, delta=delta, count=3)
    assert caught.value.parameter == "delta"


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**300), Fraction(1, 10**18), Fraction(1), Fraction(10) ** 400])
@pytest.mark.parametrize("delta", [Fraction(1, 10**400), Fraction(1, 10**6), 1 - Fraction(1, 10**400)])
def test_no_size_of_epsilon_and_delta_is_an_accident(epsilon: Fraction, delta: Fraction) -> None:
    assert round_epsilon(epsilon=epsilon, delta=delta, count=7) >= epsilon / 7
