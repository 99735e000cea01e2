"""Tiles of classes: each class in one tile, no class above its bound, and bounds that are close in all."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparsegate.selection.subset import LOOSE, Classes, Tiles


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
def test_every_class_is_in_one_tile_that_bounds_it(above: list[float], below: list[float], besides: float) -> None:
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


@pytest.mark.parametrize("count", [1, 100, 100_000])
@pytest.mark.parametrize("slope", [0.0, 0.001, 5.0])
def test_few_tiles_do_for_many_classes(count: int, slope: float) -> None:
    f, g = slope * np.arange(count)[::-1], slope * np.arange(1_000_000)
    tiles = tiled(count, f, g, 0.0)
    assert tiles.a0.size < 40_000
    assert np.exp(tiles.upper - tiles.upper.max()).sum() <= (1 + LOOSE) * (
        np.exp(tiles.lower - tiles.upper.max()).sum() + math.exp(-tiles.upper.max())
    )
