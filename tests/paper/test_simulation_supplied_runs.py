"""Runs of methods that are not ours: their law, what they are given, and what they may return."""

from __future__ import annotations

from itertools import count as count_on
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.support.goodness import FALSE_ALARM

from sparsegate.errors import ParameterError
from sparsegate.paper import Ladder, measure, run, simulate
from sparsegate.paper import simulation as supplied_runs

Given = Any
SCORES = np.repeat([90.0, 70, 60, 50, 40, 10], [2, 3, 1, 4, 5, 40])
C, EPSILON, RUNS = 6, 0.5, 2000


class Peeled:
    """EM by Gumbel noise, at ``times`` its noise."""

    def __init__(self, times: float = 1.0) -> None:
        self.times = times

    def select(self, scores: Given, count: int, epsilon: float, rng: np.random.Generator) -> Given:
        return (scores + rng.gumbel(0, self.times * count / epsilon, scores.size)).argsort()[-count:]


class PeeledGroups:
    """The same on groups: each item on its own, named by its group."""

    def select_grouped(self, values: Given, sizes: Given, count: int, epsilon: float, rng: Given) -> Given:
        groups = np.repeat(np.arange(values.size), sizes)
        return groups[Peeled().select(np.repeat(values, sizes), count, epsilon, rng)]


def difference(chosen: object) -> float:
    """The p-value of its number of missed items against that of our EM."""
    tables = []
    for one, seed in ((chosen, 1), ("em", 2)):
        rungs = simulate(one, SCORES, count=C, epsilon=EPSILON, runs=RUNS, rng=seed)
        missed = measure(SCORES, rungs, count=C).fnr * C
        tables.append(np.bincount(missed.round().astype(int), minlength=C + 1))
    both = np.array(tables)
    return float(stats.chi2_contingency(both[:, both.sum(axis=0) > 0]).pvalue)


@pytest.mark.parametrize("chosen", [Peeled(), PeeledGroups()])
def test_a_mechanism_of_ours_given_as_somebody_elses_has_its_law(chosen: object) -> None:
    assert difference(chosen) > FALSE_ALARM


def test_a_fifth_more_noise_is_seen() -> None:
    assert difference(Peeled(1.2)) < FALSE_ALARM


def test_items_come_in_random_order() -> None:
    """Who takes the first c, unseen, is as wrong as chance: c (n - c) / n of c are missed in the mean."""
    ladder = Ladder.of(np.arange(20.0))
    rungs = simulate(lambda scores, count, epsilon, rng: range(count), ladder, count=5, epsilon=1, runs=4000, rng=3)
    missed = measure(ladder, rungs, count=5).fnr
    z = (missed.mean() - 0.75) / (missed.std() / np.sqrt(missed.size))
    assert abs(z) < stats.norm.isf(FALSE_ALARM / 2)


def test_what_a_method_does_to_what_it_is_given_harms_nobody() -> None:
    def spoils(scores: Given, count: int, epsilon: float, rng: np.random.Generator) -> Given:
        found = scores.argsort()[-count:]
        scores[:] = -1
        rng.bit_generator.state = np.random.default_rng(0).bit_generator.state
        return found

    class SpoilsGroups:
        def select_grouped(self, values: Given, sizes: Given, count: int, epsilon: float, rng: Given) -> Given:
            found = np.repeat(np.arange(values.size), sizes)[:count]
            values[:], sizes[:] = -1, 99
            return found

    ladder = Ladder.of(SCORES)
    for given in (spoils, SpoilsGroups()):
        rungs = simulate(given, ladder, count=C, epsilon=1, runs=3, rng=1)
        assert measure(ladder, rungs, count=C).fnr.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "returned",
    [
        [3, 1],
        (3, 1),
        {3, 1},
        np.array([3, 1], dtype=np.uint8),
        iter([3, 1]),
        range(1, 4, 2),
        {3: "a", 1: "b"}.keys(),
        np.array([3, 1], dtype=object),
        np.ma.array([3, 1], mask=True),
    ],
)
def test_indices_may_come_in_any_flat_form_and_be_fewer_than_c(returned: Given) -> None:
    rungs = simulate(lambda scores, count, epsilon, rng: returned, [5, 5, 5, 5, 5], count=3, epsilon=1, runs=1, rng=1)
    assert rungs.tolist() == [[0, 0, -1]]


def test_who_selects_nobody_may() -> None:
    rungs = simulate(lambda scores, count, epsilon, rng: [], SCORES, count=2, epsilon=1, runs=1, rng=1)
    assert rungs.tolist() == [[-1, -1]]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([0, 1, 2, 3], "must return at most 3 indices, got '4 or more'"),
        (count_on(), "must return at most 3 indices, got '4 or more'"),
        ([2, 2], "must return each index once, or a group as often as it has items, got 2"),
        ([0, 55], "must return indices from 0 to 54, got 55"),
        ([0, -1], "must return indices from 0 to 54, got -1"),
        (np.array([2**64 - 1], dtype=np.uint64), f"must return indices from 0 to 54, got {2**64 - 1}"),
        ([float("nan"), 1], "must return whole numbers, got [nan, 1.0]"),
        ([1.0], "must return whole numbers, got [1.0]"),
        (np.full(55, True), "must return whole numbers: a mask becomes indices by numpy's flatnonzero, got [True, "),
        (["a"], "must return whole numbers, got ['a']"),
        ([10**30], "must return whole numbers"),
        (np.zeros((2, 1), dtype=int), "must return a flat list of indices, got 'an array of shape (2, 1)'"),
        (None, "must return a flat list of indices, got None"),
        (np.int64(3), "must return a flat list of indices, got 3"),
        ([[1, 2], [3]], "must return a flat list of indices, got None"),
        ("abc", "must return whole numbers, got ['a', 'b', 'c']"),
    ],
)
def test_what_is_no_selection_is_refused_by_the_name_of_the_method(returned: Given, message: str) -> None:
    def mine(scores: Given, count: int, epsilon: float, rng: np.random.Generator) -> Given:
        return returned

    with pytest.raises(ParameterError) as caught:
        simulate(mine, SCORES, count=3, epsilon=0.1, runs=2, rng=1)
    assert str(caught.value).startswith(f"method mine {message}")
    assert str(caught.value).endswith("; at c = 3, epsilon = 0.1, run 1")


def test_a_group_may_come_as_often_as_it_has_items() -> None:
    class Groups:
        def __init__(self, found: list[int]) -> None:
            self.found = found

        def select_grouped(self, values: Given, sizes: Given, count: int, epsilon: float, rng: Given) -> Given:
            return self.found

    assert simulate(Groups([0, 0, 2]), SCORES, count=3, epsilon=1, runs=1, rng=1).tolist() == [[0, 0, 2]]
    with pytest.raises(ParameterError, match=r"method Groups must return each index once.*got 2"):
        simulate(Groups([2, 2]), SCORES, count=3, epsilon=1, runs=1, rng=1)


class Fails:
    """At c = 20 alone."""

    key, version = "fails", 1

    def select(self, scores: Given, count: int, epsilon: float, rng: np.random.Generator) -> Given:
        if count == 20:
            raise ZeroDivisionError("no\nscore")
        return range(count)


def test_an_exception_names_the_method_and_the_case_and_what_was_done_before_is_kept(tmp_path: Path) -> None:
    with pytest.raises(ParameterError) as caught:
        run(datasets=["zipf"], counts=[10, 20], methods=["em", Fails()], runs=2, out=tmp_path)
    line = Fails.select.__code__.co_firstlineno + 2
    assert str(caught.value) == (
        "method fails must not raise ZeroDivisionError: no score "
        f"(test_simulation_supplied_runs.py, line {line}); at c = 20, epsilon = 0.1, run 1, on zipf"
    )
    assert len(list((tmp_path / "cases").iterdir())) == 1  # c = 10 of it; what costs less comes later


def test_what_a_method_prints_is_not_among_the_results(capsys: pytest.CaptureFixture[str]) -> None:
    def talks(scores: Given, count: int, epsilon: float, rng: np.random.Generator) -> Given:
        print("so many scores")  # noqa: T201
        return range(count)

    simulate(talks, SCORES, count=3, epsilon=0.1, runs=1, rng=1)
    assert capsys.readouterr() == ("", "so many scores\n")


def test_who_leaves_the_program_is_named_too() -> None:
    def leaves(scores: Given, count: int, epsilon: float, rng: np.random.Generator) -> Given:
        raise SystemExit(3)

    with pytest.raises(ParameterError, match="method leaves must not raise SystemExit: 3"):
        simulate(leaves, SCORES, count=3, epsilon=0.1, runs=2, rng=1)


def test_an_exception_that_cannot_be_shown_is_named_too() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise ZeroDivisionError

    def fails(scores: Given, count: int, epsilon: float, rng: np.random.Generator) -> Given:
        raise Silent

    with pytest.raises(ParameterError, match=r"method fails must not raise .*Silent: <exception str\(\) failed>"):
        simulate(fails, SCORES, count=3, epsilon=0.1, runs=2, rng=1)


def test_ctrl_c_passes_through() -> None:
    def waits(scores: Given, count: int, epsilon: float, rng: np.random.Generator) -> Given:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(waits, SCORES, count=3, epsilon=0.1, runs=2, rng=1)


def test_more_items_than_fit_need_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supplied_runs, "MOST_ITEMS", 54)
    with pytest.raises(ParameterError, match=r"method Peeled must have select_grouped for more than 54 items, got 55"):
        simulate(Peeled(), SCORES, count=3, epsilon=1, runs=1, rng=1)
    assert simulate(PeeledGroups(), SCORES, count=3, epsilon=1, runs=1, rng=1).shape == (1, 3)
