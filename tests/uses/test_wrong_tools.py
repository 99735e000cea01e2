"""What docs/explanation/when_not.md shows: the law and the loss of PrivTree, exactly, and the clipping of gradients."""

from __future__ import annotations

import itertools
import math
import re
import runpy
import warnings
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, law_p

import sparsegate as sg
from sparsegate.testing import assert_private

ROOT = Path(__file__).parents[2]
TREE = runpy.run_path(str(ROOT / "examples" / "priv_tree.py"))
CORNERS = ((0.1, 0.1), (0.1, 0.9), (0.9, 0.1), (0.9, 0.9))
Shape = tuple[bool, ...]


def above(least: int, rate: float) -> float:
    """P[X >= least] of discrete Laplace noise of scale 1/rate."""
    q = math.exp(-rate)
    return q**least / (1 + q) if least >= 1 else 1 - q ** (1 - least) / (1 + q)


def cut(count: int, depth: int, rate: float, decay: int) -> float:
    """The probability that a cell with this count is cut, where theta is 0."""
    return above(1 - max(-decay, count - depth * decay), rate)


def shapes(counts: tuple[int, ...], rate: float, decay: int) -> dict[Shape, float]:
    """The law of a tree of two levels, the counts those of the four quarters: empty, or which of them are cut."""
    root = cut(sum(counts), 0, rate, decay)
    chances = [cut(count, 1, rate, decay) for count in counts]
    law: dict[Shape, float] = {(): 1 - root}
    for shape in itertools.product((False, True), repeat=4):
        each = (chance if was else 1 - chance for chance, was in zip(chances, shape, strict=True))
        law[shape] = root * math.prod(each)
    return law


def losses(rate: float, decay: int, most: int) -> Iterator[float]:
    """The largest loss over all trees, for all neighbours with points in one or two quarters, both ways."""
    for first, second in itertools.product(range(most), range(4)):
        here = shapes((first + 1, second, 0, 0), rate, decay)
        there = shapes((first, second, 0, 0), rate, decay)
        for shape, chance in here.items():
            yield abs(math.log(chance) - math.log(there[shape]))


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2), Fraction(5)])
def test_no_tree_of_two_levels_loses_more_than_the_theorem_says_and_one_loses_as_much(epsilon: Fraction) -> None:
    rate, decay = TREE["tree_noise"](epsilon, levels=2)
    said = TREE["tree_loss"](float(rate), decay, 2)
    assert max(losses(float(rate), decay, 4 * decay)) == pytest.approx(said, rel=1e-9)
    assert 0.99 * epsilon < said <= epsilon


def test_a_decay_that_is_too_small_would_cost_more() -> None:
    rate, decay = TREE["tree_noise"](Fraction(1), levels=10)
    assert TREE["tree_loss"](float(rate), decay // 2, 10) > 1.05


@pytest.mark.parametrize("levels", [3, 6, 10])
def test_a_path_of_points_all_alike_loses_what_the_theorem_says(levels: int) -> None:
    rate, decay = TREE["tree_noise"](Fraction(1), levels=levels)
    worst = 0.0
    for points in range(1, (levels + 2) * decay):
        ratios = [
            math.log(cut(points, depth, float(rate), decay) / cut(points - 1, depth, float(rate), decay))
            for depth in range(levels)
        ]
        worst = max(worst, sum(ratios))
    assert worst == pytest.approx(TREE["tree_loss"](float(rate), decay, levels), rel=1e-9)


@pytest.mark.parametrize(("levels", "most"), [(1, 30), (3, 25), (4, 15)])
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(5)])
def test_no_path_of_any_counts_and_no_stop_on_it_loses_more(epsilon: Fraction, levels: int, most: int) -> None:
    rate, decay = TREE["tree_noise"](epsilon, levels=levels)
    worst = 0.0
    for falling in itertools.combinations_with_replacement(range(most, 0, -1), levels):
        so_far = 0.0  # the loss of the cuts above; of the other cells nothing differs
        for depth, count in enumerate(falling):
            here, there = (max(-decay, each - depth * decay) for each in (count, count - 1))
            worst = max(worst, abs(so_far + math.log(above(here, float(rate)) / above(there, float(rate)))))  # no cut
            so_far += math.log(above(1 - here, float(rate)) / above(1 - there, float(rate)))
        worst = max(worst, so_far)
    assert worst <= TREE["tree_loss"](float(rate), decay, levels) * (1 + 1e-9)


def test_points_outside_the_square_are_counted_at_its_edge_without_a_word() -> None:
    outside = np.array([[-0.5, 0.5], [0.5, -3.0], [2.0, 0.5], [np.nan, 0.5], [np.inf, -np.inf]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole, *_, finest = TREE["pyramid"](outside, 3)
    assert whole.sum() == finest.sum() == len(outside)
    assert finest[0, 4] == 2
    assert finest[7, 0] == 1


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(8)])
def test_the_noise_is_less_than_by_the_published_bound(epsilon: Fraction) -> None:
    rate, decay = TREE["tree_noise"](epsilon)
    assert decay >= math.log(4) / rate
    assert float(rate) > float(epsilon) * 3 / 7


def grown(counts: tuple[int, ...], epsilon: Fraction, source: sg.Seeded) -> Shape:
    points = np.array([corner for corner, count in zip(CORNERS, counts, strict=True) for _ in range(count)])
    leaves = TREE["grow"](points.reshape(-1, 2), epsilon, levels=2, source=source, not_private=True).leaves
    if len(leaves) == 1:
        return ()
    whole = {tuple(leaf[:2]) for leaf in leaves if leaf[2] == 0.5}
    return tuple((x, y) not in whole for x in (0.0, 0.5) for y in (0.0, 0.5))


@pytest.mark.soak
def test_the_trees_that_grow_have_this_law_and_not_that_of_noise_20_percent_off() -> None:
    epsilon, counts, source = Fraction(2), (3, 1, 0, 2), sg.Seeded(5)
    observed = Counter(grown(counts, epsilon, source) for _ in range(10_000))
    rate, decay = TREE["tree_noise"](epsilon / 2, levels=2)
    assert law_p(observed, shapes(counts, float(rate), decay)) > FALSE_ALARM
    assert law_p(observed, shapes(counts, 1.2 * float(rate), decay)) < FALSE_ALARM


@pytest.mark.soak
def test_the_auditor_finds_nothing_in_the_shape_and_finds_it_where_four_times_as_much_is_spent() -> None:
    pairs: Any = {"neighbours": [((1, 0, 0, 0), (0, 0, 0, 0)), ((6, 0, 0, 0), (5, 0, 0, 0))], "patterns": False}
    pairs |= {"batch": False, "samples": 6_000, "seed": 1}
    source = sg.Seeded(9)
    assert_private(lambda counts: str(grown(counts, Fraction(2), source)), epsilon=1, **pairs)
    with pytest.raises(AssertionError, match="NOT private"):
        assert_private(lambda counts: str(grown(counts, Fraction(8), source)), epsilon=1, **pairs)


def test_a_tree_covers_the_square_once_and_of_nobody_as_well() -> None:
    for points in (np.empty((0, 2)), TREE["places"](2_000), np.array([[1.0, 1.0]])):
        tree = TREE["grow"](points, Fraction(1), levels=5, source=sg.Seeded(1), not_private=True)
        assert np.sum(tree.leaves[:, 2] ** 2) == 1
        assert TREE["held"](TREE["pyramid"](points, 5), tree.leaves).sum() == len(points)


def test_gradients_are_clipped_to_what_the_noise_hides() -> None:
    module = runpy.run_path(str(ROOT / "examples" / "selective_gradients.py"))
    rng: Any = np.random.default_rng(1)
    inputs, errors = (
        (rng.normal(size=(50, 6)), rng.normal(size=(50, 4))),
        (rng.normal(size=(50, 4)), rng.normal(size=(50, 3))),
    )
    people = module["Gradients"](inputs=inputs, errors=errors)
    ones = np.eye(50)
    alone = np.array([people.total(one) for one in ones])
    assert alone.shape == (50, 6 * 4 + 4 * 3)
    for order in (2, np.inf):
        assert people.norms(order) == pytest.approx(np.linalg.norm(alone, order, axis=1))
        total, clip = people.clipped(order)
        each = alone * np.minimum(1, clip / np.linalg.norm(alone, order, axis=1))[:, None]
        assert total == pytest.approx(each.sum(axis=0))
        assert np.linalg.norm(each, order, axis=1).max() <= clip * (1 + 1e-12)


def test_the_noise_on_chosen_values_is_that_of_a_whole_gradient_however_many_are_chosen() -> None:
    module = runpy.run_path(str(ROOT / "examples" / "selective_gradients.py"))
    flat, clip = np.zeros(40_000), 3.0
    scale = clip * module["gaussian_scale"](0.5, module["DELTA"] / 2)
    for count in (100, 40_000):
        update = module["with_values"](np.arange(count), (flat, clip), 1.0, np.random.default_rng(1))
        assert np.std(update[:count]) == pytest.approx(scale, rel=5 / count**0.5)
        assert not update[count:].any()


def test_the_gaussian_noise_is_that_of_its_epsilon_and_delta() -> None:
    module = runpy.run_path(str(ROOT / "examples" / "selective_gradients.py"))
    accounting: Any = pytest.importorskip("dp_accounting")
    law = accounting.pld.privacy_loss_distribution.from_gaussian_mechanism(module["gaussian_scale"](1.0))
    assert law.get_delta_for_epsilon(1.0) == pytest.approx(module["DELTA"], rel=0.02)


def test_the_numbers_of_the_page_that_are_computed_are_those_of_the_code() -> None:
    module = runpy.run_path(str(ROOT / "examples" / "when_not.py"))
    page = (ROOT / "docs" / "explanation" / "when_not.md").read_text(encoding="utf-8")
    for case in ("every_answer", "one_bin_each", "mostly_above", "half_above"):
        cells = module[case]()
        (row,) = (line for line in page.splitlines() if line.startswith(f"| {cells[0]} |"))
        assert numbers(row) == numbers(" ".join(cells)), case


def numbers(text: str) -> list[str]:
    return re.findall(r"\d+(?:,\d+)*", text)
