"""Which pairs of attributes a tree keeps: a spanning tree by one noise for each pair, or a forest by a gate.

Scores are whole numbers, one for each pair of d attributes; one person moves each by at most Delta, up or down.

**Theorem (a tree from one noise).** Give every pair the noisy score q + x, x geometric and independent, P[x >= k] =
exp(-k/b) with b = 2 (d - 1) Delta / epsilon, and release the spanning tree of the largest sum; pairs with equal noisy
scores come in a public order. The tree is epsilon-DP.

*Proof.* A spanning tree T is the largest exactly if every pair f outside comes after every edge of T on the way
between its two ends. Let q become q' = q + u for a neighbour, abs(u_e) <= Delta, and t be the most that any u_e is, but
at least 0. Map the noise of each edge e of T from x_e to x_e + t - u_e, and leave all others. Noise stays at least 0,
since t >= u_e. Under q' the edges of T then have their noisy scores under q plus t, and no other pair rose by more than
t: whatever came after an edge of T still does, equal scores too. So T is the largest again. The map is one to one, and
the mass falls by a factor of at most exp(sum over T of (t - u_e) / b) <= exp(2 (d - 1) Delta / b) = exp(epsilon). []

This is one-shot selection (``mechanisms.one_shot``, `one_shot_is_private` in proofs/one_shot.v, for
sets of a fixed size) with trees in place of sets; the proof uses nothing of trees but the exchange, so it holds for the
bases of any matroid. Choosing the edges one after the other, by the exponential mechanism at epsilon/(d - 1) each
(Zhang et al. 2017), or by permute-and-flip, has noise of the same scale, drawn again for every edge:
docs/how-to/structure.md has what that costs. A *set* of the d - 1 best pairs is no good: it has cycles, and does not
say which pair to drop.
Two attributes have one tree, which tells nothing and costs nothing.

**Theorem (a forest from a gate).** ``SparseVector`` with cutoff d - 1 and sensitivity Delta, asked about pairs in an
order that depends on its answers alone, is epsilon-DP, and costs L(m, k) <= epsilon after m BELOW and k ABOVE
(``mechanisms.bounds``). Here it is asked about every pair at the highest of some public thresholds, then at the next,
and never about a pair whose ends are connected already. A BELOW costs nothing, so going round again is free, and the
strongest pairs come first; with one threshold the first ones of a public order come first, however weak.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np

from sparsegate.budget import Number
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.lattice import exact_number
from sparsegate.mechanisms.sparse_vector import SparseVector
from sparsegate.noise import Source, exact_scale, geometric
from sparsegate.uses.structure.attribute_pairs import SENSITIVITY, Pair

MOST_ROWS: Final = 2**48
"""As large as a threshold may be: a gate must refuse none of them once it is paid for."""


class ChosenEdges(NamedTuple):
    """The edges of a forest, sorted, and what they cost."""

    edges: tuple[Pair, ...]
    spent: Fraction


class Joined:
    """Which attributes are connected by the edges so far."""

    def __init__(self, attributes: int) -> None:
        self._root = list(range(attributes))

    def root(self, attribute: int) -> int:
        """One attribute of its part, the same for all of that part."""
        while self._root[attribute] != attribute:
            attribute = self._root[attribute]
        return attribute

    def apart(self, pair: Pair) -> bool:
        """Whether an edge between these two closes no cycle."""
        return self.root(pair[0]) != self.root(pair[1])

    def join(self, pair: Pair) -> bool:
        """Add an edge, unless it closes a cycle."""
        one, other = self.root(pair[0]), self.root(pair[1])
        self._root[one] = other
        return one != other


def largest_forest(order: Iterable[Pair], attributes: int) -> tuple[Pair, ...]:
    """The edges that close no cycle with those before them, sorted: of a falling order, the forest of largest sum.

    >>> largest_forest([(0, 1), (1, 2), (0, 2)], 3)
    ((0, 1), (1, 2))
    """
    joined = Joined(attributes)
    return tuple(sorted(pair for pair in order if joined.join(pair)))


def tree_noise(attributes: int, epsilon: Fraction) -> Fraction:
    """b = 2 (d - 1) Delta / epsilon, checked."""
    return exact_scale(2 * (attributes - 1) * SENSITIVITY / epsilon)


def noisy_tree(scores: Mapping[Pair, int], attributes: int, *, epsilon: Fraction, source: Source) -> ChosenEdges:
    """The spanning tree of the largest noisy sum: the first theorem above.

    >>> from sparsegate.noise import Seeded
    >>> noisy_tree({(0, 1): 900, (0, 2): 20, (1, 2): 500}, 3, epsilon=Fraction(1), source=Seeded(1)).edges
    ((0, 1), (1, 2))
    """
    if attributes == 2:
        return ChosenEdges(tuple(scores), Fraction(0))  # there is one tree, whatever the scores are
    pairs = sorted(scores)
    noise = geometric(source, tree_noise(attributes, epsilon), len(pairs))
    noisy = np.array([scores[pair] for pair in pairs], dtype=np.int64) + noise
    order = np.argsort(-noisy, kind="stable")  # stable: equal ones stay in the public order of pairs
    return ChosenEdges(largest_forest((pairs[place] for place in order), attributes), epsilon)


def public_thresholds(thresholds: Any) -> tuple[int, ...]:
    """Whole numbers of rows, the highest first."""
    given = thresholds.tolist() if isinstance(thresholds, np.ndarray) else thresholds
    listed = list(given) if isinstance(given, Sequence) and not isinstance(given, str | bytes) else [given]
    whole = [exact_number(bar) for bar in listed]
    if not whole or any(bar is None or bar.denominator != 1 or not 1 <= bar <= MOST_ROWS for bar in whole):
        rule = "must be public whole numbers of rows, each from 1 to 2**48"
        raise ParameterError("thresholds", rule, thresholds, "pass for instance thresholds=[4000, 2000, 1000, 500]")
    return tuple(sorted({int(bar) for bar in whole if bar is not None}, reverse=True))


def gate_forest(
    scores: Mapping[Pair, int],
    attributes: int,
    *,
    thresholds: Sequence[int],
    epsilon: Number,
    source: Source | None,
    not_private: bool = False,
) -> ChosenEdges:
    """The pairs that a gate lets through: the second theorem above. ``spent`` is what its answers cost, L(m, k)."""
    joined, edges = Joined(attributes), []
    gate = SparseVector(
        threshold=thresholds[-1],
        cutoff=attributes - 1,
        epsilon=epsilon,
        sensitivity=SENSITIVITY,
        source=source,
        not_private=not_private,
    )
    with gate:
        for bar in thresholds:
            for pair in sorted(scores):
                if not gate.closed and joined.apart(pair) and gate.ask(scores[pair], threshold=bar):
                    joined.join(pair)
                    edges.append(pair)
    return ChosenEdges(tuple(sorted(edges)), gate.spent)
