"""Ways to choose the edges of a tree, side by side: what held-out rows say of the tree that each of them finds.

All but ``dependency_tree`` itself share one score, one epsilon, one split of it and one way to count tables, so that
only the choice of edges differs. For measurements on data that nobody needs to protect: a flawed gate is among them,
and seeds decide.

Of n rows let c(x, y) have the categories x and y of two attributes, r(x) = sum over y and s(y) = sum over x. The score

    H = floor( 1/2 sum over x, y of abs( c(x, y) - r(x) s(y) / n ) ),    0 for an empty table,

is how many rows would have to change y for the two to be independent (Zhang et al. 2017 call it R where it is divided
by n). **Theorem.** Adding or removing one row moves H by at most 2, and 2 is the best bound. *Proof.* The sum moves by
less than 4 (``uses.records.distance_from_independence``), half of it by less than 2, and two numbers less than 2 apart
are at most 2 apart when both are rounded down. [] Zhang et al. divide by a public n and replace a row, at 3/n +
2/n**2; in rows that is 3 where this is 2, and n stays private.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import Any, Final

import numpy as np

from sparsegate.budget import Number
from sparsegate.gates.bounds import tight_epsilon
from sparsegate.gates.research import run
from sparsegate.noise import Seeded, Source
from sparsegate.selection.select import select_top
from sparsegate.uses.records import distance_from_independence
from sparsegate.uses.structure import (
    ChosenEdges,
    Joined,
    dependency_tree,
    exact_shares,
    gate_forest,
    largest_forest,
    noisy_tree,
    public_thresholds,
)
from sparsegate.uses.tree_model import (
    Attributes,
    Codes,
    Counts,
    DependencyTree,
    NoisyTables,
    Pair,
    exact_tables,
    fitted,
    joint_counts,
    noisy_tables,
    pairs_of,
)

SENSITIVITY: Final = 2
"""The most that one person moves the score of any pair, up or down."""

EDGES_SHARE: Final = Fraction(3, 10)
"""Of epsilon, for the choice of the edges; the rest pays for their tables."""

EXACT: Final = "no noise"
OURS: Final = "dependency_tree"
FLAWED: Final = "chen-2015"


@dataclass(frozen=True)
class EdgeTask:
    """Edges to choose among ``count`` attributes: what every way is given."""

    scores: Mapping[Pair, int]
    count: int
    epsilon: Fraction
    source: Source
    thresholds: tuple[int, ...]

    @property
    def middle(self) -> int:
        """The threshold of a gate that has one alone."""
        return self.thresholds[len(self.thresholds) // 2]

    def select(self, pairs: Sequence[Pair], count: int, epsilon: Fraction, method: str) -> list[Pair]:
        """The best pairs, by a method of ``select_top``."""
        picked = select_top(
            np.array([self.scores[pair] for pair in pairs], dtype=np.int64),
            count=count,
            epsilon=epsilon,
            sensitivity=SENSITIVITY,
            method=method,
            source=self.source,
            not_private=True,
        )
        assert picked.indices is not None
        return [pairs[place] for place in picked.indices]

    def passed(self, row: str, epsilon: Fraction, *, cutoff: int = 1) -> tuple[Pair, ...]:
        """The pairs that a gate with the middle threshold lets through, less those that close a cycle."""
        pairs = sorted(self.scores)
        answers = run(
            row,
            [self.scores[pair] for pair in pairs],
            threshold=self.middle,
            epsilon=epsilon,
            sensitivity=SENSITIVITY,
            source=self.source,
            not_private=True,
            cutoff=cutoff,
        )
        return largest_forest([pair for pair, answer in zip(pairs, answers, strict=False) if answer.above], self.count)


def compare_trees(
    train: Any,
    held_out: Any,
    columns: Any,
    *,
    epsilons: Iterable[Number],
    thresholds: Any,
    runs: int = 1,
    methods: Iterable[str] | None = None,
    edges_share: Number = EDGES_SHARE,
    seed: int = 1,
) -> list[dict[str, Any]]:
    """A row for each method, epsilon and run: the mean log-likelihood of the held-out rows under the tree it learned.

    ``methods`` are ``OURS`` and keys of ``CHOICES``, all of them unless given. Each row has ``method``, ``epsilon``,
    ``true_epsilon`` (what it really costs: more than was said for the flawed gate at its claimed epsilon), ``run``,
    ``log_likelihood`` in nats a row, ``edges``, and ``shared``: how many edges it has in common with the tree of
    largest mutual information, which has no noise. That tree is the first row; its epsilon is None.
    """
    attributes, bars = Attributes.of(columns), public_thresholds(thresholds)
    count = len(attributes.names)
    codes, sizes = attributes.codes(train, unit="row"), attributes.sizes
    scores = dependences(codes, sizes)
    best = best_tree(codes, sizes)
    counts = exact_tables(codes, sizes, best)
    exact = DependencyTree.of(attributes, fitted(NoisyTables(counts, dict.fromkeys(counts, 0.0)), sizes))
    rows = [_row(EXACT, exact, held_out, epsilon=None, true_epsilon=None, run=0, edges=best, best=best)]
    source = Seeded(seed)
    for epsilon, method, number in product(epsilons, [OURS, *CHOICES] if methods is None else methods, range(runs)):
        total, first = exact_shares(epsilon, edges_share)
        if method == OURS:
            seeded: dict[str, Any] = {"source": source.stream(), "not_private": True}
            tree = dependency_tree(train, columns, epsilon=epsilon, unit="row", **seeded)
            places = [tuple(sorted(map(attributes.names.index, edge))) for edge in tree.edges]
            paid = {"epsilon": float(total), "true_epsilon": float(tree.epsilon), "run": number}
            rows.append(_row(method, tree, held_out, edges=places, best=best, **paid))
            continue
        chosen = CHOICES[method](EdgeTask(scores, count, first, source.stream(), bars))
        rest = total - min(chosen.spent, first)
        noisy = noisy_tables(codes, sizes, chosen.edges, epsilon=rest, source=source.stream(), not_private=True)
        tree = DependencyTree.of(attributes, fitted(noisy, sizes))
        paid = {"epsilon": float(total), "true_epsilon": float(chosen.spent + rest), "run": number}
        rows.append(_row(method, tree, held_out, edges=chosen.edges, best=best, **paid))
    return rows


def dependence(counts: Counts) -> int:
    """H, the score of one table of counts; private."""
    total = int(counts.sum())
    return distance_from_independence(counts) // (2 * total) if total else 0


def dependences(codes: Codes, sizes: Sequence[int]) -> dict[Pair, int]:
    """H of every pair of attributes; private. Each has ``SENSITIVITY``, and one person may move all of them."""
    return {(i, j): dependence(joint_counts(codes, sizes, i, j)) for i, j in pairs_of(len(sizes))}


def best_tree(codes: Codes, sizes: Sequence[int]) -> tuple[Pair, ...]:
    """The tree of Chow and Liu (1968): of the largest mutual information, without noise; private."""
    worth = {pair: mutual_information(joint_counts(codes, sizes, *pair)) for pair in pairs_of(len(sizes))}
    return largest_forest(sorted(worth, key=lambda pair: -worth[pair]), len(sizes))


def mutual_information(counts: Counts) -> float:
    """In nats, of the shares of a table; 0 for an empty one.

    >>> round(mutual_information(np.array([[50, 0], [0, 50]])), 4)
    0.6931
    """
    shares = counts / max(1, counts.sum())
    product = np.multiply.outer(shares.sum(axis=1), shares.sum(axis=0))
    held = shares > 0
    return float((shares[held] * np.log(shares[held] / product[held])).sum())


def _row(
    method: str, tree: DependencyTree, held_out: Any, *, edges: Sequence[Any], best: Sequence[Pair], **paid: Any
) -> dict[str, Any]:
    shared = len(set(edges) & set(best))
    quality = {"log_likelihood": tree.log_likelihood(held_out), "edges": len(edges), "shared": shared}
    return {"method": method, **paid, **quality}


def _one_by_one(task: EdgeTask) -> ChosenEdges:
    """The exponential mechanism for each edge, at epsilon/(d - 1), among those that close no cycle (PrivBayes)."""
    joined, edges = Joined(task.count), []
    for _ in range(task.count - 1):
        open_pairs = [pair for pair in sorted(task.scores) if joined.apart(pair)]
        edges += task.select(open_pairs, 1, task.epsilon / (task.count - 1), "exponential")
        joined.join(edges[-1])
    return ChosenEdges(tuple(sorted(edges)), task.epsilon)


def _top_pairs(task: EdgeTask, *, method: str) -> ChosenEdges:
    """The d - 1 best pairs of all, less those that close a cycle."""
    pairs = task.select(sorted(task.scores), task.count - 1, task.epsilon, method)
    return ChosenEdges(largest_forest(pairs, task.count), task.epsilon)


def _gate(task: EdgeTask, *, thresholds: Callable[[EdgeTask], tuple[int, ...]]) -> ChosenEdges:
    public: dict[str, Any] = {"thresholds": thresholds(task), "epsilon": task.epsilon}
    public |= {"sensitivity": SENSITIVITY, "monotonic": False}
    return gate_forest(task.scores, task.count, **public, source=task.source, not_private=True)


def _one_noise(task: EdgeTask) -> ChosenEdges:
    return noisy_tree(task.scores, task.count, epsilon=task.epsilon, source=task.source, reach=2 * SENSITIVITY)


def _corrected(task: EdgeTask) -> ChosenEdges:
    """The paper's gate (Alg. 7) in the place of Chen et al.'s: it closes after d - 1 positives."""
    return ChosenEdges(task.passed("standard", task.epsilon, cutoff=task.count - 1), task.epsilon)


def _flawed(task: EdgeTask, *, honest: bool) -> ChosenEdges:
    """The gate of Chen et al. over all pairs: it never closes, so its loss grows with the number of pairs.

    ``honest``: run at that claim for which its loss is the epsilon there is. Otherwise at the claim, and
    ``spent`` is what it truly costs.
    """
    factor = flawed_factor(len(task.scores))
    edges = task.passed(FLAWED, task.epsilon / factor if honest else task.epsilon)
    return ChosenEdges(edges, task.epsilon if honest else task.epsilon * factor)


@cache
def flawed_factor(pairs: int) -> Fraction:
    """By how much the gate of Chen et al. costs more than it claims, on this many pairs."""
    return Fraction(tight_epsilon(FLAWED, epsilon=1, queries=pairs))


CHOICES: Final[Mapping[str, Callable[[EdgeTask], ChosenEdges]]] = {
    "one noise": _one_noise,
    "edge by edge": _one_by_one,
    "top pairs": partial(_top_pairs, method="one-shot"),
    "subset of pairs": partial(_top_pairs, method="subset"),
    "gate": partial(_gate, thresholds=lambda task: task.thresholds),
    "gate, one threshold": partial(_gate, thresholds=lambda task: (task.middle,)),
    "corrected gate (Alg. 7)": _corrected,
    "chen-2015 as claimed": partial(_flawed, honest=False),
    "chen-2015 at its loss": partial(_flawed, honest=True),
    "independent": lambda task: ChosenEdges((), Fraction(0)),  # no edges, at no cost
}
"""How edges are chosen by H, under the name that a row of ``compare_trees`` has."""
