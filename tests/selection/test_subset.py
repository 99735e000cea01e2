"""The subset mechanism: its privacy by enumeration, its law against enumeration, and what floats must not decide."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.goodness import FALSE_ALARM, law_p
from tests.support.scripted import Scripted
from tests.support.selection_laws import named, subsets

from sparsegate.noise import Seeded
from sparsegate.noise.expansions import interval_arithmetic
from sparsegate.selection import subset
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import METHODS, Request
from sparsegate.selection.subset import (
    LOOSE,
    Classes,
    Exponent,
    Subsets,
    Tiles,
    happens,
    log_binomials,
    log_factorial,
    subset_groups,
)

RUNS = 1_000


def observed(scores: Scores, rate: Fraction, count: int, seed: int, runs: int = RUNS) -> Counter[tuple[int, ...]]:
    source, ready = Seeded(seed), Subsets(scores, rate, count)

    def one() -> tuple[int, ...]:
        groups = ready.draw(source)
        return tuple(sorted(named(source, scores, groups)))

    return Counter(one() for _ in range(runs))


def rate_of(epsilon: float, monotonic: bool) -> Fraction:
    """The rate that the row of the table draws at, for a sensitivity of one."""
    request = Request(count=1, epsilon=epsilon, sensitivity=1, monotonic=monotonic, method="subset")
    rate = METHODS["subset"].rate
    assert rate is not None
    return rate(request)


def largest_loss(rate: float, count: int, monotonic: bool) -> float:
    """The largest |log P[S] - log P'[S]| over sets, far and near scores, and all that one person can do to them."""
    worst = 0.0
    steps = (0, 1) if monotonic else (-1, 0, 1)
    for scores in itertools.product((0, 1, 40), repeat=4):
        before = subsets(scores, count, rate)
        for moves in itertools.product(steps, repeat=4):
            after = subsets([score + move for score, move in zip(scores, moves, strict=True)], count, rate)
            worst = max(worst, *(abs(math.log(before[chosen] / after[chosen])) for chosen in before))
    return worst


@pytest.mark.parametrize(("count", "monotonic"), [(1, False), (2, True)])
def test_neighbours_are_within_epsilon_and_nearly_that_far_apart(count, monotonic):
    epsilon = 1.0
    rate = float(rate_of(epsilon, monotonic))
    assert epsilon * 0.97 < largest_loss(rate, count, monotonic) <= epsilon + 1e-9
    assert largest_loss(rate / 0.8, count, monotonic) > epsilon * 1.15  # with a fifth less noise


def test_two_items_attain_epsilon():
    for monotonic, moved in ((True, [41, 0]), (False, [41, -1])):
        rate = float(rate_of(0.5, monotonic))
        before, after = subsets([40, 0], 1, rate), subsets(moved, 1, rate)
        assert math.log(before[(1,)] / after[(1,)]) == pytest.approx(0.5, rel=1e-3)


CASES: dict[str, tuple[list[int] | list[float], int, Fraction]] = {
    "a tie in the middle": ([0, 3, 3, 5], 2, Fraction(1, 3)),
    "ties on both sides": ([0, 3, 3, 5, 4, 4], 3, Fraction(1, 2)),
    "all equal": ([7, 7, 7, 7, 7], 2, Fraction(10)),
    "one of five": ([0, 10, 12, 15, 14], 1, Fraction(1, 5)),
    "all but one": ([5, 4, 3, 2, 1, 0], 5, Fraction(1, 3)),
    "a clear lead": ([9, 9, 3, 2, 2], 2, Fraction(1, 3)),
    "floats": ([0.1, -0.25, 1e-300, 2.5, 1.75, 0.1], 3, Fraction(2, 3)),
    "the limits of int64": ([2**63 - 1, -(2**63), 2**63 - 2, 2**63 - 3, 2**63 - 5], 2, Fraction(1, 2)),
    "the limits of floats": ([1.7e308, -1.7e308, 1.7e308, 0.0], 1, Fraction(10**20)),
    "many sets": ([0, 1, 3, 4, 6, 9, 9, 10], 4, Fraction(1, 4)),
}


@pytest.mark.parametrize("case", CASES)
def test_sets_have_exactly_their_probabilities(case):
    scores, count, rate = sorted(CASES[case][0]), *CASES[case][1:]
    form = Scores.of if list(CASES).index(case) % 2 else Scores.each
    seen = observed(form(scores), rate, count, seed=len(case))
    assert law_p(seen, subsets(scores, count, rate)) > FALSE_ALARM


def test_the_same_check_rejects_a_scale_that_is_a_fifth_off():
    scores, count, rate = CASES["many sets"]
    seen = observed(Scores.each(scores), rate * Fraction(4, 5), count, seed=5, runs=2_500)
    assert law_p(seen, subsets(scores, count, rate)) < FALSE_ALARM


@pytest.mark.parametrize(
    ("name", "value"),
    [("WIDTH", 2.0**-6), ("WIDTH", 4.0), ("MOST", 3), ("Exponent.rounded", lambda probability: (0.0, math.inf))],
)
def test_the_law_depends_on_no_width_of_levels_number_of_tiles_or_float(name, value, monkeypatch):
    monkeypatch.setattr(f"sparsegate.selection.subset.{name}", value)
    scores, count, rate = CASES["many sets"]
    assert name != "MOST" or Subsets(Scores.each(scores), rate, count)._tiles.a0.size <= 2 * value
    seen = observed(Scores.each(scores), rate, count, seed=3)
    assert law_p(seen, subsets(scores, count, rate)) > FALSE_ALARM


@given(
    st.lists(st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1)), min_size=2, max_size=40),
    st.sampled_from([Fraction(1, 10**250), Fraction(1, 9), Fraction(10**250)]),
    st.integers(0, 2**32),
    st.data(),
)
def test_whatever_the_scores_a_set_of_that_many_comes_out(values, rate, seed, data):
    count = data.draw(st.integers(1, len(values)))
    for form in (Scores.each, Scores.of):
        scores = form(values)
        groups = subset_groups(Seeded(seed), scores, rate=rate, count=count)
        assert groups.size == count
        assert (np.bincount(groups, minlength=scores.values.size) <= scores.multiplicities).all()


@given(
    st.lists(st.floats(-100, 100), min_size=3, max_size=60),
    st.sampled_from([Fraction(1, 7), Fraction(5), Fraction(40)]),
)
def test_no_score_lies_above_the_top_of_its_level(values, rate):
    ready = Subsets(Scores.each(values), rate, 2)
    codes = ready._codes.tolist()
    middle = Fraction(sorted(values)[-2])
    for value, code in zip(values, codes, strict=True):
        depth = rate * (middle - Fraction(value))
        assert (code == 0, code == 1) == (depth < 0, depth == 0)
        if code >= 2:
            assert Fraction(code - 2) * Fraction(subset.WIDTH) <= depth
    by_score = sorted(zip(values, codes, strict=True), reverse=True)
    assert all(after[1] >= before[1] for before, after in itertools.pairwise(by_score))


def test_the_lead_of_the_top_is_exact_and_none_where_a_tie_crosses_it():
    for form in (Scores.each, Scores.of):
        assert Subsets(form([3, 9, 2, 9]), Fraction(1, 7), 2)._lead == Fraction(6, 7)
        assert Subsets(form([3, 9, 3, 9]), Fraction(1, 7), 3)._lead == 0
        assert Subsets(form([4e307, -4e307, 0.5]), Fraction(10**300), 1)._lead == 10**300 * (
            Fraction(4e307) - Fraction(1, 2)
        )


@given(st.fractions(-30, 0), st.integers(1, 200), st.data())
def test_a_probability_in_floats_is_within_its_error(power, n, data):
    k = data.draw(st.integers(0, n))
    probability = Exponent(power, factor=Fraction(1, n), choose=(n, k))
    log, error = probability.rounded()
    with interval_arithmetic(200) as iv:
        enclosed = probability.enclosed(iv)
        assert log - error <= enclosed.a <= enclosed.b <= log + error
    with mpmath.workdps(30):
        expected = power.numerator / mpmath.mpf(power.denominator) - mpmath.log(n) + mpmath.log(math.comb(n, k))
        assert abs(log - expected) < 1e-9


def test_what_floats_leave_open_more_digits_decide():
    """The word says V = 1/2 and so does the probability: the next digits tell, one way and the other."""
    half = Exponent(Fraction(0), factor=Fraction(1, 2))
    assert happens(Scripted([2**63, 2**63]), half)
    assert not happens(Scripted([2**63 - 1, 2**63]), half)


def reference(n: int, k: int) -> mpmath.mpf:
    return mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)


CHOICES = st.one_of(st.integers(0, 100), st.integers(0, 10**7), st.integers(0, 2**62)).flatmap(
    lambda n: st.tuples(
        st.just(n), st.one_of(st.integers(0, n), st.integers(0, min(n, 99)), st.integers(max(0, n - 99), n))
    )
)


def test_small_ones_are_those_of_the_integers():
    n, k = np.array([(n, k) for n in range(70) for k in range(n + 1)]).T
    exact = [math.log(math.comb(*pair)) for pair in zip(n.tolist(), k.tolist(), strict=True)]
    np.testing.assert_allclose(log_binomials(n, k), exact, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("bits", [128, 2048])
@given(case=CHOICES)
def test_intervals_hold_the_truth_and_are_narrow(bits, case):
    n, k = case
    with mpmath.workdps(800), interval_arithmetic(bits) as iv:
        found, exact, tiny = (
            log_factorial(iv, n) - log_factorial(iv, k) - log_factorial(iv, n - k),
            reference(n, k),
            mpmath.ldexp(1, -2500),
        )
        low, high = mpmath.mpf(found._mpi_[0]), mpmath.mpf(found._mpi_[1])
        assert low - tiny <= exact <= high + tiny
        assert high - low <= mpmath.ldexp(1, 80 - bits)


def exponents(values: NDArray[np.float64], start: int):
    return lambda positions: values[positions - start]


def tiled(count: int, f: NDArray[np.float64], g: NDArray[np.float64], besides: float) -> Tiles:
    classes = Classes(count=count, total=count + g.size, f=exponents(f, 1), g=exponents(g, count + 1), besides=besides)
    return classes.tile()


def weight(count: int, f: NDArray[np.float64], g: NDArray[np.float64], a: int, b: int) -> float:
    return math.comb(b - a - 1, count - a) * math.exp(-f[a - 1] - g[b - count - 1])


@given(
    st.lists(st.floats(0, 30), min_size=1, max_size=9),
    st.lists(st.floats(0, 30), min_size=1, max_size=12),
    st.floats(0, 5),
)
def test_every_class_is_in_one_tile_that_bounds_it(above, below, besides):
    f, g, count = np.array(sorted(above, reverse=True)), np.array(sorted(below)), len(above)
    tiles = tiled(count, f, g, besides)
    seen = np.zeros((f.size, g.size), dtype=int)
    sums = []
    for a0, a1, b0, b1, upper, _ in zip(*tiles, strict=True):
        seen[a0 - 1 : a1, b0 - count - 1 : b1 - count] += 1
        weights = [weight(count, f, g, a, b) for a in range(a0, a1 + 1) for b in range(b0, b1 + 1)]
        assert max(weights) * len(weights) <= math.exp(upper) * (1 + 1e-15)
        sums.append(sum(weights))
    assert (seen == 1).all()
    assert np.exp(tiles.upper).sum() <= (1 + LOOSE) * (sum(sums) + math.exp(besides)) * (1 + 1e-9)
