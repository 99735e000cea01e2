"""Noisy tables of the edges of a forest, and one distribution that is made of them.

One person is in one cell of each table, so k tables together move by k: Laplace noise of scale k/epsilon on every cell
is epsilon-DP (``mechanisms.laplace``). What follows looks at nothing but those noisy counts, so it costs nothing:

1. *One marginal for each attribute.* The tables around an attribute each give one; they are averaged, by their
   variances, and brought to one total.
2. *Shrinking.* Where noise of variance v on k free cells explains the whole distance D = sum of squares from a public
   shape, what was measured is noise. The positive part of James and Stein (1961) keeps the share max(0, 1 - k v / D):
   of a marginal towards equal parts, of a table towards the product of its marginals, that is towards independence.
3. *A floor.* No cell is less than its noise (or half a row): a sampled row can be of any kind, and no row that somebody
   holds has probability zero.

With little noise none of the three does much; with much of it the tree becomes independent attributes, and those equal
parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsegate.mechanisms.laplace import laplace
from sparsegate.noise import Source
from sparsegate.uses.structure.attribute_pairs import Counts, Pair, joint_counts
from sparsegate.uses.structure.coded_rows import Codes

Floats: TypeAlias = NDArray[np.float64]

_HALF_A_ROW = 0.5


class NoisyTables(NamedTuple):
    """What is released: a table for each edge, and one for each attribute without an edge; ``scale`` is the noise's."""

    edges: Mapping[Pair, Counts]
    alone: Mapping[int, Counts]
    scale: float


class Fitted(NamedTuple):
    """A distribution over forests: the shares of each attribute, a table of shares for each edge, and how many rows."""

    shares: tuple[Floats, ...]
    joint: Mapping[Pair, Floats]
    rows: float


def attributes_alone(edges: Sequence[Pair], attributes: int) -> list[int]:
    """Those without an edge."""
    ends = {end for edge in edges for end in edge}
    return [attribute for attribute in range(attributes) if attribute not in ends]


def exact_tables(codes: Codes, sizes: Sequence[int], edges: Sequence[Pair]) -> dict[Pair, Counts]:
    """The counts of the edges; private."""
    return {edge: joint_counts(codes, sizes, *edge) for edge in edges}


def noisy_tables(
    codes: Codes,
    sizes: Sequence[int],
    edges: Sequence[Pair],
    *,
    epsilon: Fraction,
    source: Source | None,
    not_private: bool = False,
) -> NoisyTables:
    """The counts of the edges, and of attributes without one, with noise; all of them together are epsilon-DP."""
    exact = exact_tables(codes, sizes, edges)
    single = {one: np.bincount(codes[:, one], minlength=sizes[one]) for one in attributes_alone(edges, len(sizes))}
    tables = [*exact.values(), *single.values()]
    # A person is in one cell of each table, so the L1 sensitivity of all cells is the number of tables.
    noisy = laplace(
        np.concatenate([table.reshape(-1) for table in tables]),
        epsilon=epsilon,
        sensitivity=len(tables),
        source=source,
        not_private=not_private,
    )
    ends = np.cumsum([table.size for table in tables])[:-1]
    parts = [part.reshape(table.shape) for part, table in zip(np.split(noisy, ends), tables, strict=True)]
    return NoisyTables(
        dict(zip(exact, parts[: len(exact)], strict=True)),
        dict(zip(single, parts[len(exact) :], strict=True)),
        float(len(tables) / epsilon),
    )


def fitted(tables: NoisyTables, sizes: Sequence[int]) -> Fitted:
    """The distribution of noisy tables: one marginal for each attribute, shrunk, with a floor.

    >>> tables = NoisyTables({(0, 1): np.array([[60, 0], [20, 20]])}, {}, 0.0)
    >>> fitted(tables, (2, 2)).joint[0, 1].round(3).tolist()
    [[0.597, 0.005], [0.199, 0.199]]
    """
    variance = 2 * tables.scale**2
    measured = [_marginal(tables, attribute) for attribute in range(len(sizes))]
    rows = max(1.0, float(np.mean([marginal.sum() for marginal, _ in measured])))
    marginals = [_flattened(marginal, rows, variance * times) for marginal, times in measured]
    joint = {}
    for (i, j), table in tables.edges.items():
        product = np.multiply.outer(marginals[i], marginals[j]) / rows
        cells = table + ((marginals[i] - table.sum(axis=1)) / sizes[j])[:, None]
        cells = cells + (marginals[j] - cells.sum(axis=0)) / sizes[i]
        cells = _shrunk(cells, product, (sizes[i] - 1) * (sizes[j] - 1) * variance)
        cells = np.maximum(cells, max(_HALF_A_ROW, tables.scale))
        joint[i, j] = cells / cells.sum()
    return Fitted(tuple(marginal / marginal.sum() for marginal in marginals), joint, rows)


def _marginal(tables: NoisyTables, attribute: int) -> tuple[Floats, float]:
    """The mean of an attribute's marginals, weighed by 1/variance, and its variance in those of one cell."""
    if attribute in tables.alone:
        return tables.alone[attribute].astype(np.float64), 1.0
    around = [(table, edge.index(attribute)) for edge, table in tables.edges.items() if attribute in edge]
    weights = [1 / table.shape[1 - axis] for table, axis in around]
    marginals = [table.sum(axis=1 - axis) for table, axis in around]
    mean: Floats = np.average(marginals, axis=0, weights=weights)
    return mean, 1 / sum(weights)


def _flattened(marginal: Floats, rows: float, variance: float) -> Floats:
    """A marginal of this many rows in all, shrunk towards equal parts, with a floor."""
    level = marginal + (rows - marginal.sum()) / marginal.size
    shrunk = _shrunk(level, np.full(marginal.size, rows / marginal.size), (marginal.size - 1) * variance)
    floored = np.maximum(shrunk, max(_HALF_A_ROW, (variance / 2) ** 0.5))
    scaled: Floats = floored * (rows / floored.sum())
    return scaled


def _shrunk(measured: Floats, shape: Floats, expected: float) -> Floats:
    """What was measured, drawn towards a shape as far as noise explains the distance: ``expected`` of its square."""
    away = measured - shape
    distance = float((away**2).sum())
    return shape + max(0.0, 1 - expected / distance) * away if distance > 0 else shape
