"""A tree of dependencies between attributes, with their tables: learned from people's rows, released once.

Chow and Liu (1968): of all distributions in which each attribute depends on one other, the nearest to the data is made
of the pairs of a spanning tree. Count every attribute with noise; choose the pairs that have the most rows beyond what
those counts explain; count their tables with noise; and sample. The pairs are those of a spanning tree by one noise for
each pair, or of a forest by a gate.

Scores are whole numbers, one for each pair of d attributes. One person more moves each by at least l and at most h,
h - l <= R and l <= 0 <= h: R = 1 for ``uses.tree_model.excesses``, which fall for nobody.

**Theorem (a tree from one noise).** Give every pair the noisy score q + x, x geometric and independent, P[x >= k] =
exp(-k/b) with b = (d - 1) R / epsilon, and release the spanning tree of the largest sum; pairs with equal noisy
scores come in a public order. The tree is epsilon-DP. **Theorem (a forest from a gate).** ``SparseVector`` with cutoff
d - 1, asked about pairs in an order that depends on its answers alone, is epsilon-DP, and costs L(m, k) after m BELOW
and k ABOVE. It is asked about every pair at the highest of some public thresholds, then at the next, and never about a
pair whose ends are connected already. Proofs: docs/explanation/proofs_in_words/uses.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np

from sparsegate.budget import Cost, Number, Spender, charge, exact_decimal, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.gates.calibration import Calibration, trusted_source
from sparsegate.gates.laplace import error_bar
from sparsegate.gates.lattice import exact_number
from sparsegate.gates.preview import Preview, previews
from sparsegate.gates.sparse_vector import SparseVector, gate_calibration
from sparsegate.noise import Source, exact_scale, geometric
from sparsegate.noise.own_settings import own_settings
from sparsegate.selection.accuracy import check_confidence
from sparsegate.uses.tree_model import (
    Attributes,
    DependencyTree,
    NoisyTables,
    Pair,
    both,
    excesses,
    fitted,
    noisy_tables,
    pairs_of,
    table_weight,
)

MOST_ROWS: Final = 2**48  # as large as a threshold may be: a gate must refuse none of them once it is paid for


class ChosenEdges(NamedTuple):
    """The edges of a forest, sorted, and what they cost."""

    edges: tuple[Pair, ...]
    spent: Fraction


class Joined:
    """Which attributes are connected by the edges so far."""

    def __init__(self, attributes: int) -> None:
        self._part = list(range(attributes))

    def apart(self, pair: Pair) -> bool:
        """Whether an edge between these two closes no cycle."""
        return self._part[pair[0]] != self._part[pair[1]]

    def join(self, pair: Pair) -> bool:
        """Add an edge, unless it closes a cycle."""
        apart, (first, second) = self.apart(pair), (self._part[end] for end in pair)
        self._part = [second if part == first else part for part in self._part]
        return apart


def largest_forest(order: Iterable[Pair], attributes: int) -> tuple[Pair, ...]:
    """The edges that close no cycle with those before them, sorted: of a falling order, the forest of largest sum."""
    joined = Joined(attributes)
    return tuple(sorted(pair for pair in order if joined.join(pair)))


def tree_noise(attributes: int, epsilon: Fraction, reach: int = 1) -> Fraction:
    """b = (d - 1) R / epsilon, checked."""
    return exact_scale((attributes - 1) * reach / epsilon)


def noisy_tree(
    scores: Mapping[Pair, int], attributes: int, *, epsilon: Fraction, source: Source, reach: int = 1
) -> ChosenEdges:
    """The spanning tree of the largest noisy sum: the first theorem above, with R = ``reach``."""
    if attributes == 2:
        return ChosenEdges(tuple(scores), Fraction(0))  # there is one tree, whatever the scores are
    pairs = sorted(scores)
    noise = geometric(source, tree_noise(attributes, epsilon, reach), len(pairs))
    noisy = np.array([scores[pair] for pair in pairs], dtype=np.int64) + noise
    order = np.argsort(-noisy, kind="stable")  # stable: equal ones stay in the public order of pairs
    return ChosenEdges(largest_forest((pairs[place] for place in order), attributes), epsilon)


def public_thresholds(thresholds: Any) -> tuple[int, ...]:
    """Whole numbers of rows, the highest first."""
    values = thresholds.tolist() if isinstance(thresholds, np.ndarray) else thresholds
    listed = list(values) if isinstance(values, Sequence) and not isinstance(values, str | bytes) else [values]
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
    sensitivity: int = 1,
    monotonic: bool = True,
) -> ChosenEdges:
    """The pairs that a gate lets through: the second theorem above. ``spent`` is what its answers cost, L(m, k)."""
    joined, edges = Joined(attributes), []
    gate = SparseVector(
        threshold=thresholds[-1],
        cutoff=attributes - 1,
        epsilon=epsilon,
        sensitivity=sensitivity,
        monotonic=monotonic,
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


EDGES_SHARE: Final = Fraction(13, 100)  # of epsilon, for the choice of the edges
# Of the rest, for the counts of every attribute; what is left pays for the tables of the edges.
ALONE_SHARE: Final = Fraction(17, 40)


@dataclass(frozen=True, kw_only=True)
class _Split:
    """What is public of a tree: its attributes, and how epsilon is split between edges, single attributes and tables.

    Two attributes have one tree, and no gate to ask: their table has all of epsilon.
    """

    attributes: Attributes
    total: Fraction
    edges: Fraction
    bars: tuple[int, ...] | None

    @classmethod
    def of(cls, columns: Any, other: Any, epsilon: Number, edges_share: Number, thresholds: Any) -> _Split:
        """Check what is public; refuse an epsilon whose noise the samplers cannot carry."""
        attributes, (total, edges) = Attributes.of(columns, other), exact_shares(epsilon, edges_share)
        bars = None if thresholds is None else public_thresholds(thresholds)
        split = cls(attributes=attributes, total=total, edges=edges, bars=bars)
        if split.bars is None:
            tree_noise(split.count, edges)
        else:
            split.gate()
        low, high = split.weights(alone=True)  # of as many tables as attributes at most,
        exact_scale(split.count * Fraction(high, low) / min(split.alone or total, split.tables))
        exact_scale(1 / total)  # and at least one
        return split

    @property
    def count(self) -> int:
        return len(self.attributes.names)

    @property
    def trivial(self) -> bool:
        """Whether there is one tree alone."""
        return self.bars is None and self.count == 2

    @property
    def alone(self) -> Fraction:
        return Fraction(0) if self.trivial else (self.total - self.edges) * ALONE_SHARE

    @property
    def tables(self) -> Fraction:
        """What the tables of the edges have at least."""
        return self.total if self.trivial else self.total - self.edges - self.alone

    def gate(self) -> Calibration:
        """The gate that chooses the edges, with thresholds."""
        assert self.bars is not None
        return gate_calibration(
            threshold=self.bars[-1], cutoff=self.count - 1, sensitivity=1, monotonic=True, epsilon=self.edges
        )

    def weights(self, *, alone: bool = False) -> tuple[int, int]:
        """The least and the largest weight of a table that may be counted: of two attributes, or of one ``alone``."""
        sizes = self.attributes.sizes
        weights = [table_weight(sizes[i] * sizes[j]) for i, j in pairs_of(self.count)]
        return min(weights if not alone else map(table_weight, sizes)), max(weights)

    def cost(self) -> Cost:
        """Of attributes alone, of the edges, and of d - 1 tables that share the rest: a person is in a cell of each.

        Which tables there are is known only when the edges are: so the worst of them, by Kantorovich's inequality, and
        after a gate all that is epsilon-DP (docs/explanation/proofs_in_words/uses.md).
        """
        if self.bars is not None or self.trivial:
            return Cost.of(self.total)
        low, high = self.weights()
        tables = Cost.of(self.tables)
        shared = Fraction((low + high) ** 2, 4 * low * high) * tables.epsilon**2 / (2 * (self.count - 1))
        singles = [table_weight(size) for size in self.attributes.sizes]
        once = [Cost.of(self.alone * weight / sum(singles)) for weight in singles]
        return sum(once, Cost.of(self.edges) + replace(tables, rho=min(tables.rho, shared)))


@own_settings
def dependency_tree(
    table: Any,
    columns: Any,
    *,
    epsilon: Number,
    user: str | None = None,
    unit: str | None = None,
    other: Any = None,
    thresholds: Any = None,
    edges_share: Number = EDGES_SHARE,
    ledger: Spender | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> DependencyTree:
    """Learn which attribute depends on which, and how: a tree to look at, to compare rows with, and to sample from.

    **Theorem.** The result, and all that is computed from it, is epsilon-DP for adding or removing one person, who is
    one row. The counts of every attribute, the edges and their tables share epsilon. With ``thresholds`` the edges cost
    what the answers of a gate cost, and the tables have the rest. Proof: docs/explanation/proofs_in_words/uses.md.
    Its pieces are in Coq: `within_compose`, `within_post` (proofs/privacy.v), `laplace_answers_are_private`
    (proofs/laplace_mechanism.v), `metered_is_private` (proofs/metered.v).

    Parameters
    ----------
    table: a mapping of columns, a dataframe (pandas, Polars, PyArrow, DuckDB, ...), or a 2-D array of values.
    columns: a mapping from the names of at least two columns to their PUBLIC lists of categories.
    epsilon: the privacy loss of everything together, > 0.
    user: the column that says whose row it is; one row of each person counts, the first by its categories. Or
    unit: "row", where each row is another person.
    other: a mapping from names to the category that takes all values outside of the list; else the first one does.
    thresholds: PUBLIC numbers of rows. With them the edges are chosen by a gate, which asks at the highest first; it
        may find fewer edges, and what it did not pay for them goes to the tables. Without, a spanning tree is found.
    edges_share: how much of epsilon the edges get, strictly between 0 and 1.
    ledger: is charged the whole epsilon before anything is drawn, and keeps the result.
    source, not_private: where the noise comes from; ``Seeded``, for tests, needs ``not_private=True``.

    >>> import sparsegate as sg
    >>> rain = [0, 1] * 2000
    >>> wet = [0, 1, 0, 1, 0, 1, 0, 0] * 500
    >>> rows = {"rain": rain, "wet": wet, "boots": [0, 1, 0, 1, 0, 0, 0, 0] * 500}
    >>> columns = {"rain": [0, 1], "boots": [0, 1], "wet": [0, 1]}
    >>> tree = sg.uses.dependency_tree(rows, columns, epsilon=2, unit="row", source=sg.Seeded(7), not_private=True)
    >>> tree.edges, tree
    ((('rain', 'wet'), ('wet', 'boots')), <DependencyTree of 3 attributes: 2 edges, epsilon 2>)
    >>> tree.table("rain", "wet").round(2).tolist()
    [[0.5, 0.0], [0.13, 0.37]]
    """
    split = _Split.of(columns, other, epsilon, edges_share, thresholds)
    attributes, sizes, bars = split.attributes, split.attributes.sizes, split.bars
    noise = trusted_source(source, not_private)
    codes = attributes.codes(table, user=user, unit=unit)
    keep = charge(ledger, **vars(split.cost()), what=f"a dependency tree of {split.count} attributes").keep
    draw: dict[str, Any] = {"source": noise, "not_private": not_private}
    once = NoisyTables({}, {}) if split.trivial else noisy_tables(codes, sizes, (), epsilon=split.alone, **draw)
    scores = dict.fromkeys(pairs_of(2), 0) if split.trivial else excesses(codes, sizes, once)
    if bars is None:
        chosen = noisy_tree(scores, split.count, epsilon=split.edges, source=noise)
    else:
        chosen = gate_forest(scores, split.count, thresholds=bars, epsilon=split.edges, **draw)
    rest = split.total - split.alone - chosen.spent
    tables = noisy_tables(codes, sizes, chosen.edges, epsilon=rest, **draw)
    tree = DependencyTree.of(
        attributes,
        fitted(both(once, tables), sizes),
        edges_epsilon=chosen.spent,
        tables_epsilon=split.total - chosen.spent,
        thresholds=() if bars is None else bars,
    )
    keep({"release": "dependency_tree", **tree.to_dict()})
    return tree


@own_settings
@previews(dependency_tree, confidence=0.95)
def preview_tree(
    *, columns: Any, epsilon: Number, other: Any, thresholds: Any, edges_share: Number, confidence: float, **_: object
) -> Preview:
    """What ``dependency_tree`` with these parameters would cost and be good for: nothing is drawn, charged or read.

    They are those of ``dependency_tree`` but for the table. A pair's strength is the number of its rows that the counts
    of its two attributes do not explain. ``error_bar`` is how far each count of the tables is off at most. And

    *Without thresholds* ``within``: with this confidence the i-th strongest edge of the tree is at most so much weaker
    than the i-th strongest of the best tree, for all i at once (proof: docs/explanation/proofs_in_words/uses.md).

    *With thresholds* ``margin``: a pair whose strength is so far from a threshold is told rightly, each of them.

    >>> import sparsegate as sg
    >>> columns = {"smokes": ["no", "yes"], "coughs": [0, 1], "sees a doctor": [0, 1, 2, 3]}
    >>> preview = sg.uses.preview_tree(columns, epsilon=1)
    >>> preview.within, preview.error_bar
    (62, 14)
    """
    split = _Split.of(columns, other, epsilon, edges_share, thresholds)
    check_confidence(confidence)
    accuracy: dict[str, Any] = {"within": 0, "margin": None}
    if split.bars is not None:
        accuracy = {"within": None, "margin": split.gate().margin(confidence)}
        edges = f"A pair {accuracy['margin']:,} rows or more from a threshold is told rightly"
    elif not split.trivial:
        beyond = -math.expm1(math.log(confidence) / math.comb(split.count, 2))
        accuracy["within"] = math.ceil(-float(tree_noise(split.count, split.edges)) * math.log(beyond)) - 1
        edges = f"Each edge is at most {accuracy['within']:,} rows weaker than that of the best tree"
    else:
        edges = "Two attributes have one tree"
    tables = split.count if split.bars is not None else split.count - 1
    low, high = split.weights(alone=split.bars is not None)
    accuracy["error_bar"] = error_bar(exact_scale((low + (tables - 1) * high) / (low * split.tables)), confidence)
    edges_epsilon = Fraction(0) if split.trivial else split.edges
    return Preview(
        release="dependency tree",
        epsilon=split.total,
        confidence=confidence,
        accuracy=accuracy,
        settings={
            "attributes": split.count,
            "edges_epsilon": edges_epsilon,
            "tables_epsilon": split.total - edges_epsilon,
            "thresholds": split.bars,
        },
        statement=f"{edges}, with {100 * confidence:g} %; and each count of a pair's table is off by "
        f"{accuracy['error_bar']:,} at most.",
        cost=split.cost(),
        cost_at=lambda other: replace(split, total=other, edges=other * split.edges / split.total).cost(),
    )


def exact_shares(epsilon: Number, edges_share: Number) -> tuple[Fraction, Fraction]:
    """Epsilon, and what of it is for the edges."""
    total, share = exact_epsilon(epsilon), exact_decimal(edges_share)
    if share is None or not 0 < share < 1:
        raise ParameterError("edges_share", "must lie strictly between 0 and 1", edges_share, "leave it out")
    return total, total * share
