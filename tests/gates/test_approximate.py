"""The bound of the (epsilon, delta) gate against exact divergences, and the gate that comes of it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.accounts import Noted
from tests.support.goodness import FALSE_ALARM, excess, law_p
from tests.support.selection_laws import peeled

import sparsegate as sg
from sparsegate.gates.approximate import (
    _CELLS,
    _log_kappa,
    _rounded_up,
    approximate_epsilon,
    approximate_scales,
    pure_renyi_bound,
    renyi_bound,
    round_epsilon,
)
from sparsegate.gates.variants import Scales
from sparsegate.noise.expansions import interval_arithmetic
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import Request

LESS_NOISE = 0.8  # the twin: 20 % less
DELTA = Fraction(1, 10**6)


def above(x, b):
    """Pr[nu >= x] for discrete Laplace noise."""
    p = np.exp(-1 / b)
    right, left = np.exp(-np.maximum(x, 0) / b) / (1 + p), 1 - np.exp((np.minimum(x, 0) - 1) / b) / (1 + p)
    return np.where(x >= 0, right, left)


def log_mass(z, t):
    return math.log(math.tanh(0.5 / t)) - np.abs(z) / t


def threshold_divergence(alpha, t, shift):
    z = np.arange(-int(60 * t) - shift, int(60 * t) + shift)
    return np.logaddexp.reduce(alpha * log_mass(z, t) + (1 - alpha) * log_mass(z + shift, t)) / (alpha - 1)


def precise_log_kappa(alpha, b, shift, wide):
    """ln kappa over far more x than the bound looks at."""
    with mpmath.workdps(400):
        p = mpmath.exp(-1 / mpmath.mpf(b))

        def tails(x):  # Pr[nu >= x], Pr[nu < x]
            return (
                (p**x / (1 + p), 1 - p**x / (1 + p)) if x > 0 else (1 - p ** (1 - x) / (1 + p), p ** (1 - x) / (1 + p))
            )

        def log_h(x):
            (g, rest), (g2, rest2) = tails(x), tails(x + shift)
            return mpmath.log(g**alpha * g2 ** (1 - alpha) / (1 - rest**alpha * rest2 ** (1 - alpha)))

        return max(log_h(x) for x in range(-wide - shift, wide))


def game(alpha, b, shift, cutoff, questions):
    """ln E[(P/Q)^alpha] of the best adaptive questions where rho is known: exact, by dynamic programming."""
    x = np.arange(-shift - int(8 * b), int(8 * b) + 1)
    g, g2 = above(x, b), above(x + shift, b)
    up, down = g**alpha * g2 ** (1 - alpha), (1 - g) ** alpha * (1 - g2) ** (1 - alpha)
    value = np.ones(cutoff + 1)  # by how many ABOVE are left
    for _ in range(questions):
        value = np.array([1.0, *(max(1.0, (up * value[k - 1] + down * value[k]).max()) for k in range(1, cutoff + 1))])
    return math.log(value[cutoff])


@pytest.mark.parametrize(("shift", "b"), [(1, 0.4), (1, 9.0), (2, 3.0), (5, 2.5), (16, 30.0)])
@pytest.mark.parametrize("alpha", [Fraction(11, 10), Fraction(2), Fraction(17)])
def test_kappa_is_the_largest_of_all_x(shift, b, alpha):
    with interval_arithmetic(320) as iv:
        found = _log_kappa(iv, iv.mpf(alpha.numerator) / alpha.denominator, iv.mpf(b), shift, _CELLS)
        low, high = float(found.a), float(found.b)
    precise = precise_log_kappa(mpmath.mpf(alpha.numerator) / alpha.denominator, b, shift, wide=int(6 * b) + 6)
    assert low <= float(precise) * (1 + 1e-14)
    assert float(precise) <= high * (1 + 1e-14) == pytest.approx(float(precise), rel=1e-12)


@pytest.mark.parametrize("alpha", [2, 30])
def test_cells_bound_kappa_on_a_fine_lattice_and_lose_little(alpha):
    shift, b = 100, 900.0
    with interval_arithmetic(320) as iv:
        bound = float(_log_kappa(iv, iv.mpf(alpha), iv.mpf(b), shift, _CELLS).b)
    precise = float(precise_log_kappa(alpha, b, shift, wide=1))
    assert precise < bound < precise * 1.01


@pytest.mark.parametrize(("t", "shift"), [(2.0, 1), (0.5, 1), (12.0, 7), (300.0, 64)])
@pytest.mark.parametrize("alpha", [Fraction(3, 2), Fraction(12)])
def test_rho_adds_its_own_divergence(t, shift, alpha):
    scales = Scales(Fraction(t), Fraction(10**9), None)  # comparisons that cost next to nothing
    bound = renyi_bound(alpha, scales=scales, sensitivity=shift, cutoff=1, monotonic=True)
    assert bound == pytest.approx(threshold_divergence(float(alpha), t, shift), rel=1e-9)


@pytest.mark.parametrize("digits", [40, 90, 300])
def test_an_order_next_to_one_never_has_a_bound_below_the_truth(digits):
    """Where the bits run out, the bound is infinite and not nothing; of randomised response it is the mean loss."""
    scales = Scales(Fraction(8), Fraction(90), None)
    options = {"scales": scales, "sensitivity": 1, "cutoff": 50, "monotonic": True}
    next_to_one, mean = 1 + Fraction(1, 10**digits), math.tanh(0.5)
    assert renyi_bound(next_to_one, **options) > 0.999 * renyi_bound(Fraction(10001, 10000), **options)
    assert mean <= pure_renyi_bound(next_to_one, Fraction(1)) <= mean * (1 + 1e-12)


@pytest.mark.parametrize(("alpha", "b", "step", "cutoff"), [(2.0, 3.0, 1, 1), (12.0, 20.0, 2, 4), (30.0, 9.0, 1, 3)])
@pytest.mark.parametrize("monotonic", [False, True])
def test_the_bound_is_what_the_best_questions_reach_where_rho_is_known(alpha, b, step, cutoff, monotonic):
    """And so it has teeth: noise that is 20 % smaller passes it."""
    scales = Scales(Fraction(5), Fraction(b), None)
    bound = renyi_bound(Fraction(alpha), scales=scales, sensitivity=step, cutoff=cutoff, monotonic=monotonic)
    rho, shift = threshold_divergence(alpha, 5.0, step), step if monotonic else 2 * step
    reached = [rho + game(alpha, scale, shift, cutoff, 60) / (alpha - 1) for scale in (b, LESS_NOISE * b)]
    assert 0.99 * bound < reached[0] <= bound * (1 + 1e-12)
    assert reached[1] > bound


@pytest.mark.parametrize(("cutoff", "sensitivity", "monotonic"), [(20, 1, True), (300, 1, False), (100, 1024, True)])
def test_the_scales_spend_epsilon_and_no_more(cutoff, sensitivity, monotonic):
    options = {"sensitivity": sensitivity, "cutoff": cutoff, "monotonic": monotonic, "delta": DELTA}
    scales = approximate_scales(epsilon=Fraction(1), **options)
    assert scales is not None
    assert 0.999 < approximate_epsilon(scales=scales, **options) <= 1
    less = scales._replace(query=scales.query * Fraction(LESS_NOISE))
    assert approximate_epsilon(scales=less, **options) > 1.05


def test_a_bound_without_an_end_is_infinite():
    with interval_arithmetic(64) as iv:
        assert _rounded_up(-iv.log(iv.mpf([0, 1]))) == math.inf
        assert _rounded_up(1 / iv.mpf([-1, 1])) == math.inf
        assert 1 < _rounded_up(iv.mpf(1)) < 1 + 1e-15


def gate(**options):
    defaults = {"threshold": 0, "cutoff": 200, "sensitivity": 1, "source": sg.Seeded(1), "not_private": True}
    return sg.SparseVector(**(defaults | options))


def test_the_gate_says_that_it_is_approximate_and_is_charged_both():
    account = Noted()
    asked = gate(epsilon=1, delta=1e-6, ledger=account)
    assert (asked.budget.total, asked.budget.delta) == (1, DELTA)
    assert "delta 1e-06" in repr(asked)
    assert asked.margin() < gate(epsilon=1).margin()
    assert [charge[:2] for charge in account.charged] == [(1, DELTA)]
    assert asked.ask(10**6).estimate is None
    assert asked.spent == asked.cost(below=0, above=1) == 1


PUBLISHED = {10: 0.1396, 50: 0.0624, 100: 0.0441, 300: 0.0255}


def spent(round_: Fraction, delta: Fraction, count: int) -> mpmath.mpf:
    """The least epsilon of the conversion, by mpmath's own minimisation over alpha."""
    rho = mpmath.mpf(count) * round_.numerator**2 / round_.denominator**2 / 8
    inverse = mpmath.mpf(delta.denominator) / delta.numerator

    def at(x: mpmath.mpf) -> mpmath.mpf:
        alpha = 1 + mpmath.exp(x)
        return rho * alpha + (mpmath.log(inverse) - mpmath.log(alpha)) / (alpha - 1) + mpmath.log(1 - 1 / alpha)

    best = min(map(mpmath.mpf, range(-40, 81, 2)), key=at)
    low, high = best - 2, best + 2
    for _ in range(80):
        one, other = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, other) if at(one) < at(other) else (one, high)
    return at(low)


@pytest.mark.parametrize("count", PUBLISHED)
def test_the_table_of_the_design_is_reached(count):
    assert round(float(round_epsilon(epsilon=1, delta=1e-6, count=count)), 4) == PUBLISHED[count]


@settings(max_examples=25)
@given(st.fractions(Fraction(1, 10**6), 100), st.integers(1, 300), st.sampled_from([1, 2, 10, 1000, 10**6]))
def test_the_bound_holds_at_what_is_given_and_hardly_at_more(epsilon, bits, count):
    delta = Fraction(1, 3**bits)
    round_ = round_epsilon(epsilon=epsilon, delta=delta, count=count)
    if round_ == epsilon / count:
        return
    with mpmath.workprec(200):
        assert spent(round_, delta, count) <= mpmath.mpf(epsilon.numerator) / epsilon.denominator
        assert (
            spent(round_ * Fraction(1000001, 10**6), delta, count) > mpmath.mpf(epsilon.numerator) / epsilon.denominator
        )


def worst(round_, epsilon, count, items=4):
    """The largest delta over pairs of neighbours: any set of items one lower, at scores far apart or not, in order."""
    found = 0.0
    for scores, moved in itertools.product(
        itertools.product((0, 3), repeat=items), itertools.product((0, 1), repeat=items)
    ):
        pair = scores, [score - down for score, down in zip(scores, moved, strict=True)]
        one, other = (peeled([math.exp(round_ * score) for score in each], count) for each in pair)
        found = max(found, excess(one, other, epsilon), excess(other, one, epsilon))
    return found


def test_peeled_rounds_are_within_delta_of_epsilon_and_a_fifth_steeper_are_not():
    epsilon, delta, count = 0.25, 0.01, 3
    round_ = float(round_epsilon(epsilon=epsilon, delta=delta, count=count))
    assert round_ > epsilon / count
    assert worst(round_, epsilon, count) <= delta < worst(1.2 * round_, epsilon, count)


def test_gumbel_peels_with_what_a_round_may_spend_and_rounds_a_fifth_less_steep_are_noticed():
    scores, rest = [0, 1, 1, 3, 2, 0], {"count": 5, "delta": 0.05}
    round_ = float(round_epsilon(epsilon=2, **rest))
    assert round_ > 1.5 * 2 / 5
    for epsilon, right in ((2, True), (1.4, False)):
        asked = Request(epsilon=epsilon, **rest, sensitivity=1, monotonic=True, method="gumbel")
        ready, source = asked.prepare(Scores.each(scores)), sg.Seeded(3)
        seen = Counter(tuple(ready.draw(source).groups.tolist()) for _ in range(2000))
        assert (law_p(seen, peeled([math.exp(round_ * score) for score in scores], 5)) > FALSE_ALARM) == right
