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
from tests.support.goodness import FALSE_ALARM, Law, law_p
from tests.support.scripted import Scripted
from tests.support.selection_laws import subsets

import sparsegate as sg
from sparsegate.noise import Seeded, Source
from sparsegate.noise.expansions import interval_arithmetic
from sparsegate.selection import select as selection_methods
from sparsegate.selection import subset
from sparsegate.selection import subset as tiles
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import Request
from sparsegate.selection.subset import Exponent, Subsets, happens, subset_groups

RUNS = 2_500


def observed(scores: Scores, rate: Fraction, count: int, seed: int, runs: int = RUNS) -> Counter[tuple[int, ...]]:
    source, ready = Seeded(seed), Subsets(scores, rate, count)

    def one() -> tuple[int, ...]:
        groups = ready.draw(source)
        return tuple(sorted(scores.numbers(groups, scores.draw_members(source, groups)).tolist()))

    return Counter(one() for _ in range(runs))


def rate_of(epsilon: float, monotonic: bool) -> Fraction:
    """The rate that the row of the table draws at, for a sensitivity of one."""
    seen: list[Fraction] = []

    def recorded(source: Source, scores: Scores, *, rate: Fraction, count: int) -> NDArray[np.int64]:
        seen.append(rate)
        return np.arange(count)

    request = Request(count=1, epsilon=epsilon, sensitivity=1, monotonic=monotonic, method="subset")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection_methods, "subset_groups", recorded)
        request.prepare(Scores.each([1, 2])).draw(Seeded(1))
    return seen[0]


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


@pytest.mark.turns(3)
@pytest.mark.parametrize("monotonic", [True, False])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_neighbours_are_within_epsilon_and_nearly_that_far_apart(count: int, monotonic: bool) -> None:
    epsilon = 1.0
    rate = float(rate_of(epsilon, monotonic))
    assert epsilon * 0.97 < largest_loss(rate, count, monotonic) <= epsilon + 1e-9
    assert largest_loss(rate / 0.8, count, monotonic) > epsilon * 1.15  # with a fifth less noise


def test_two_items_attain_epsilon() -> None:
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


@pytest.mark.turns(3)
@pytest.mark.parametrize("form", [Scores.each, Scores.of])
@pytest.mark.parametrize("case", CASES)
def test_sets_have_exactly_their_probabilities(case: str, form) -> None:
    scores, count, rate = CASES[case]
    assert law_p(observed(form(scores), rate, count, seed=len(case)), subsets(scores, count, rate)) > FALSE_ALARM


@pytest.mark.parametrize("off", [Fraction(4, 5), Fraction(6, 5)])
def test_the_same_check_rejects_a_scale_that_is_a_fifth_off(off: Fraction) -> None:
    scores, count, rate = CASES["many sets"]
    assert law_p(observed(Scores.each(scores), rate * off, count, seed=5), subsets(scores, count, rate)) < FALSE_ALARM


def test_the_law_holds_where_every_decision_goes_through_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Exponent, "rounded", lambda self: (0.0, math.inf))
    scores, count, rate = CASES["ties on both sides"]
    assert (
        law_p(observed(Scores.of(scores), rate, count, seed=2, runs=1_000), subsets(scores, count, rate)) > FALSE_ALARM
    )


@pytest.mark.turns(2)
@pytest.mark.parametrize("width", [2.0**-6, 4.0])
def test_the_law_does_not_depend_on_the_width_of_levels(width: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subset, "WIDTH", width)
    scores, count, rate = CASES["many sets"]
    assert law_p(observed(Scores.each(scores), rate, count, seed=3), subsets(scores, count, rate)) > FALSE_ALARM


@pytest.mark.parametrize("most", [pytest.param(1, marks=pytest.mark.soak), 3])
def test_the_law_does_not_depend_on_the_number_of_tiles(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "MOST", most)
    scores, count, rate = CASES["many sets"]
    assert Subsets(Scores.each(scores), rate, count)._tiles.a0.size <= 2 * most
    assert law_p(observed(Scores.each(scores), rate, count, seed=4), subsets(scores, count, rate)) > FALSE_ALARM


def grouped(law: Law, groups: list[int]) -> Law:
    """The law of how many are selected of each group, from that of sets of items."""
    counted: Counter[tuple[int, ...]] = Counter()
    for chosen, probability in law.items():
        counted[tuple(sorted(groups[item] for item in chosen))] += probability  # type: ignore[attr-defined]
    return counted


def test_a_histogram_is_the_items_it_counts() -> None:
    scores, rate, source = Scores.histogram({4: 1, 0: 3, 2: 2}), Fraction(1, 2), Seeded(6)
    ready = Subsets(scores, rate, 3)
    seen = Counter(tuple(sorted(ready.draw(source).tolist())) for _ in range(RUNS))
    assert law_p(seen, grouped(subsets([4, 0, 0, 0, 2, 2], 3, rate), [0, 1, 1, 1, 2, 2])) > FALSE_ALARM


def test_a_billion_items_weigh_what_they_are() -> None:
    """Two items at 20, a billion at 0, one wanted: either of the two weighs 1, and each of the others exp(-20 a)."""
    ready, source = Subsets(Scores.histogram({0: 10**9, 20: 2}), Fraction(1), 1), Seeded(7)
    far = 10**9 * math.exp(-20)
    seen = Counter(ready.draw(source).item() for _ in range(RUNS))
    assert law_p(seen, {1: 2 / (2 + far), 0: far / (2 + far)}) > FALSE_ALARM


def test_items_of_equal_score_are_selected_equally_often() -> None:
    ready, source = Subsets(Scores.each(np.zeros(60, dtype=np.int64)), Fraction(1), 40), Seeded(8)
    members = Counter(itertools.chain.from_iterable(ready.draw(source).tolist() for _ in range(RUNS)))
    assert set(members) == set(range(60))
    spread = math.sqrt(RUNS * 40 / 60 * 20 / 60)
    assert max(abs(seen - RUNS * 40 / 60) for seen in members.values()) < 6 * spread


@pytest.mark.parametrize("scores", [[3], [3, 1, 2], {"a": 5, "b": 6}])
def test_all_that_there_are_are_selected_without_a_draw(scores) -> None:
    given = Scores.each(scores)
    groups = subset_groups(Scripted([]), given, rate=Fraction(1), count=given.total)
    assert groups.tolist() == list(range(given.total))
    assert subset_groups(Scripted([]), Scores.histogram({7: 3, 1: 1}), rate=Fraction(1), count=4).tolist() == [
        0,
        0,
        0,
        1,
    ]


@given(
    st.lists(st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1)), min_size=2, max_size=40),
    st.sampled_from([Fraction(1, 10**250), Fraction(1, 9), Fraction(10**250)]),
    st.integers(0, 2**32),
    st.data(),
)
def test_whatever_the_scores_a_set_of_that_many_comes_out(
    values: list[int], rate: Fraction, seed: int, data: st.DataObject
) -> None:
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
def test_no_score_lies_above_the_top_of_its_level(values: list[float], rate: Fraction) -> None:
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


def test_the_lead_of_the_top_is_exact_and_none_where_a_tie_crosses_it() -> None:
    for form in (Scores.each, Scores.of):
        assert Subsets(form([3, 9, 2, 9]), Fraction(1, 7), 2)._lead == Fraction(6, 7)
        assert Subsets(form([3, 9, 3, 9]), Fraction(1, 7), 3)._lead == 0
        assert Subsets(form([4e307, -4e307, 0.5]), Fraction(10**300), 1)._lead == 10**300 * (
            Fraction(4e307) - Fraction(1, 2)
        )


def test_steep_scores_leave_no_doubt() -> None:
    zipf = 10**6 // np.arange(1, 2001)
    assert subset_groups(Seeded(1), Scores.each(zipf), rate=Fraction(10**4), count=500).tolist() == list(range(500))


@given(st.fractions(-30, 0), st.integers(1, 200), st.data())
def test_a_probability_in_floats_is_within_its_error(power: Fraction, n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    probability = Exponent(power, factor=Fraction(1, n), choose=(n, k))
    log, error = probability.rounded()
    with interval_arithmetic(200) as iv:
        enclosed = probability.enclosed(iv)
        assert log - error <= enclosed.a <= enclosed.b <= log + error
    with mpmath.workdps(30):
        expected = power.numerator / mpmath.mpf(power.denominator) - mpmath.log(n) + mpmath.log(math.comb(n, k))
        assert abs(log - expected) < 1e-9


def test_what_floats_leave_open_more_digits_decide() -> None:
    """The word says V = 1/2 and so does the probability: the next digits tell, one way and the other."""
    half = Exponent(Fraction(0), factor=Fraction(1, 2))
    assert happens(Scripted([2**63, 2**63]), half)
    assert not happens(Scripted([2**63 - 1, 2**63]), half)


def test_a_set_is_shown_by_label_whatever_the_order_of_the_scores() -> None:
    counts = {"pear": 900, "apple": 800, "fig": 700, "kiwi": 1}
    chosen = sg.select_top(counts, count=3, epsilon=5, sensitivity=1, monotonic=True, method="subset")
    assert chosen.items == ("apple", "fig", "pear")
    indices = sg.select_top(list(counts.values())[::-1], count=3, epsilon=5, sensitivity=1, method="subset").indices
    assert indices is not None
    assert indices.tolist() == [1, 2, 3]
