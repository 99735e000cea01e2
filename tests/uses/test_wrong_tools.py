"""What docs/explanation/when_not.md shows: the law and the loss of PrivTree, exactly, and the clipping of gradients."""

from __future__ import annotations

import itertools
import math
import re
import runpy
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
TREE = runpy.run_path(str(ROOT / "examples" / "priv_tree.py"))


def above(least, rate):
    """P[X >= least] of discrete Laplace noise of scale 1/rate."""
    q = math.exp(-rate)
    return q**least / (1 + q) if least >= 1 else 1 - q ** (1 - least) / (1 + q)


@pytest.mark.parametrize(("levels", "most"), [(1, 30), (3, 25), (4, 15)])
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(5)])
def test_no_path_of_any_counts_and_no_stop_on_it_loses_more_and_one_loses_as_much(epsilon, levels, most):
    rate, decay = TREE["tree_noise"](epsilon, levels=levels)
    worst = 0.0
    for falling in itertools.combinations_with_replacement(range(most, 0, -1), levels):
        so_far = 0.0  # the loss of the cuts above; of the other cells nothing differs
        for depth, count in enumerate(falling):
            here, there = (max(-decay, each - depth * decay) for each in (count, count - 1))
            worst = max(worst, abs(so_far + math.log(above(here, float(rate)) / above(there, float(rate)))))  # no cut
            so_far += math.log(above(1 - here, float(rate)) / above(1 - there, float(rate)))
        worst = max(worst, so_far)
    claimed = TREE["tree_loss"](float(rate), decay, levels)
    assert worst == pytest.approx(claimed, rel=1e-9)
    assert 0.9 * epsilon < claimed <= epsilon


def test_points_outside_the_square_are_counted_at_its_edge_without_a_word():
    outside = np.array([[-0.5, 0.5], [0.5, -3.0], [2.0, 0.5], [np.nan, 0.5], [np.inf, -np.inf]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole, *_, finest = TREE["pyramid"](outside, 3)
    assert whole.sum() == finest.sum() == len(outside)
    assert finest[0, 4] == 2
    assert finest[7, 0] == 1


def test_gradients_are_clipped_to_what_the_noise_hides():
    module = runpy.run_path(str(ROOT / "examples" / "selective_gradients.py"))
    rng = np.random.default_rng(1)
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


def test_the_numbers_of_the_page_that_are_computed_are_those_of_the_code():
    module = runpy.run_path(str(ROOT / "examples" / "when_not.py"))
    page = (ROOT / "docs" / "explanation" / "when_not.md").read_text(encoding="utf-8")
    for case in ("every_answer", "one_bin_each", "mostly_above", "half_above"):
        cells = module[case]()
        (row,) = (line for line in page.splitlines() if line.startswith(f"| {cells[0]} |"))
        assert numbers(row) == numbers(" ".join(cells)), case


def numbers(text):
    return re.findall(r"\d+(?:,\d+)*", text)
