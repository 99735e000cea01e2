"""The promise of a selection: exact against a second method, kept in many runs, and no smaller promise would be."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.goodness import FALSE_ALARM, proportion_p
from tests.support.selection_laws import laplace_mass, laplace_tail, peeled, subsets

from sparsegate.paper import Method, simulate
from sparsegate.selection.accuracy import GRID, noisy_case, peeled_case, subset_case
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import Request

BOUNDED = ("exponential", "gumbel", "one-shot", "noisy-scores", "subset")


def bad(law: Callable[[Sequence[int]], dict[tuple[int, ...], float]], scores: Sequence[int], gap: int) -> float:
    """The probability, by the enumerated law, that an item is selected which is gap or more below the c-th."""
    chances = law(scores)
    count = len(next(iter(chances)))
    lowest = sorted(scores, reverse=True)[count - 1] - gap
    return sum(chance for chosen, chance in chances.items() if min(scores[item] for item in chosen) <= lowest)


@pytest.mark.parametrize(("total", "count"), [(2, 1), (3, 2), (4, 1), (4, 2), (5, 3)])
@pytest.mark.parametrize("gap", [1, 2, 3])
@pytest.mark.parametrize("kind", ["peeled", "subset"])
def test_no_scores_are_worse_than_the_worst_case_and_some_are_as_bad(kind, gap, total, count):
    rate = Fraction(2, 5)
    case = (peeled_case if kind == "peeled" else subset_case)(rate=rate, count=count, total=total)

    def law(scores: Sequence[int]) -> dict[tuple[int, ...], float]:
        if kind == "subset":
            return dict(subsets(scores, count, rate))
        return dict(peeled([math.exp(float(rate) * score) for score in scores], count))

    worst = max(bad(law, scores, gap) for scores in itertools.combinations_with_replacement(range(gap + 3), total))
    assert case.beyond(gap) == pytest.approx(worst, rel=1e-9)


def second_noisy(scale: float, gap: int, count: int, others: int) -> float:
    """The same for discrete Laplace noise, by the lattice: whole values, how many share them, and who wins the tie."""
    right, reach = 0.0, math.ceil(45 * scale)
    for high in range(-reach, reach + gap + 1):
        above = laplace_tail(high - gap + 1, scale)
        tied = laplace_mass(high - gap, scale)
        below, here = 1 - laplace_tail(high, scale), laplace_mass(high, scale)
        for j in range(1, others + 1):
            largest = math.comb(others, j) * here**j * below ** (others - j)
            for i in range(count + 1):
                least = math.comb(count, i) * tied**i * above ** (count - i)
                right += largest * least / math.comb(i + j, i)
    return 1 - right


@pytest.mark.parametrize(("scale", "gap", "count", "others"), [(0.4, 2, 3, 9), (1.5, 6, 2, 4), (4.0, 25, 4, 6)])
def test_noisy_scores_agree_with_a_sum_over_the_lattice(scale, gap, count, others):
    ours = noisy_case(scale=Fraction(scale), count=count, total=count + others).beyond(gap)
    exact = second_noisy(scale, gap, count, others)
    assert exact <= ours <= exact * math.exp(2 * GRID)


def test_a_product_of_many_factors_is_rounded_up_and_hardly():
    count, total, gap = 20_000, 1_000_000, 30
    rivals = (total - count) * math.exp(-gap / 2)
    exact = -math.expm1(-sum(math.log1p(rivals / k) for k in range(1, count + 1)))
    assert exact <= peeled_case(rate=Fraction(1, 2), count=count, total=total).beyond(gap) <= 1.0001 * exact


def request(method: str, count: int = 5, epsilon: float = 1) -> Request:
    return Request(
        count=count,
        epsilon=epsilon,
        delta=1e-6 if method == "gumbel" else 0,
        sensitivity=1,
        monotonic=True,
        max_items_per_user=2 if method == "noisy-scores" else None,
        method=method,
    )


def worst_scores(method: str, gap: int, *, count: int, total: int, rate: float) -> Scores:
    """The scores that the proofs name."""
    if method != "subset":
        return Scores.histogram({0: total - count, gap: count})
    step = round(math.log(count) / (2 * rate))
    return Scores.histogram({0: total - count - 1, gap - step: 1, gap: count})


def simulated(asked: Request) -> Method:
    """The request as the evaluation simulates it."""
    read = {"selection": asked.method, "max_items_per_user": asked.max_items_per_user, "delta": asked.delta}
    return Method(key="", title="", row=None, interactive=False, **read)


def lowest(asked: Request, scores: Scores, seed: int, runs: int = 2_000) -> NDArray[np.int64]:
    """The least score selected in each of many runs."""
    rungs = simulate(simulated(asked), scores, count=asked.count, epsilon=asked.epsilon, runs=runs, rng=seed)
    return np.sort(scores.values)[::-1][rungs.max(axis=1)]


@pytest.mark.parametrize("method", BOUNDED)
def test_the_promise_is_kept_where_it_is_hardest_and_a_smaller_one_is_not(method):
    asked, total = request(method), 200
    case = asked.promise(total)
    assert case is not None
    within = case.within(0.95)
    assert within is not None
    hardest = lowest(asked, worst_scores(method, within + 1, count=5, total=total, rate=0.5), 11)
    assert proportion_p(int((hardest == 0).sum()), hardest.size, case.beyond(within + 1)) > FALSE_ALARM
    # A fifth less is no promise: the scores that are worst for it break it far more often than in 5 % of the runs.
    less = int(0.8 * within)
    hardest = lowest(asked, worst_scores(method, less + 1, count=5, total=total, rate=0.5), 11)
    hits = int((hardest == 0).sum())
    assert hits > 0.05 * hardest.size
    assert proportion_p(hits, hardest.size, 0.05) < FALSE_ALARM


@pytest.mark.parametrize("method", BOUNDED)
def test_no_table_of_n_people_selects_a_set_more_often_than_the_best_one(method):
    asked, people = request(method, count=2, epsilon=0.5), 12
    case = asked.promise(8)
    assert case is not None
    selected = lowest(asked, Scores.histogram({0: 6, people: 2}), 13)
    wrong = int((selected == 0).sum())
    assert 0.05 * selected.size < wrong < 0.95 * selected.size
    assert proportion_p(wrong, selected.size, case.least_wrong(people)) > FALSE_ALARM
    assert proportion_p(wrong, selected.size, case.least_wrong(round(1.25 * people))) < FALSE_ALARM


@pytest.mark.parametrize("method", BOUNDED)
def test_the_promise_is_the_least_whole_number_and_shrinks_with_epsilon(method):
    case = request(method).promise(1_000)
    assert case is not None
    within = case.within(0.95)
    assert within is not None
    assert case.beyond(within + 1) <= 0.05 < case.beyond(within)
    better = request(method, epsilon=2).promise(1_000)
    assert better is not None
    assert (better.within(0.95) or 0) < within < (case.within(0.99) or 0)
