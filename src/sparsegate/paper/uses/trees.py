"""Ways to choose the edges of a tree, side by side: what held-out rows say of the tree that each of them finds.

All share one score, one epsilon, one split of it and one way to count tables, so that only the choice of edges differs.
For measurements on data that nobody needs to protect: a flawed gate is among them, and seeds decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, Final

import numpy as np

from sparsegate.budget import Number
from sparsegate.gates.bounds import tight_epsilon
from sparsegate.gates.research import run
from sparsegate.noise import Seeded, Source
from sparsegate.selection.select import select_top
from sparsegate.uses.dependency_tree import (
    EDGES_SHARE,
    ChosenEdges,
    Joined,
    exact_shares,
    gate_forest,
    largest_forest,
    noisy_tree,
    public_thresholds,
)
from sparsegate.uses.tree_model import (
    SENSITIVITY,
    Attributes,
    Codes,
    Counts,
    DependencyTree,
    NoisyTables,
    Pair,
    dependences,
    exact_tables,
    fitted,
    joint_counts,
    noisy_tables,
    pairs_of,
)

Scores = Mapping[Pair, int]
Choice = Callable[[Scores, int, Fraction, Source, tuple[int, ...]], ChosenEdges]

EXACT: Final = "no noise"
FLAWED: Final = "chen-2015"


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

    ``methods`` are keys of ``CHOICES``, all of them unless given. Each row has ``method``, ``epsilon``,
    ``true_epsilon`` (what it really costs: more than was said for the flawed gate at its claimed epsilon), ``run``,
    ``log_likelihood`` in nats a row, ``edges``, and ``shared``: how many edges it has in common with the tree of
    largest mutual information, which has no noise. That tree is the first row; its epsilon is None.

    The gates with one threshold take the middle one of ``thresholds``.
    """
    attributes, bars = Attributes.of(columns), public_thresholds(thresholds)
    count = len(attributes.names)
    codes, sizes = attributes.codes(train, unit="row"), attributes.sizes
    scores = dependences(codes, sizes)
    best = best_tree(codes, sizes)
    exact = DependencyTree.of(attributes, fitted(NoisyTables(exact_tables(codes, sizes, best), {}, 0.0), sizes))
    rows = [_row(EXACT, exact, held_out, epsilon=None, true_epsilon=None, run=0, edges=best, best=best)]
    source = Seeded(seed)
    for epsilon in epsilons:
        total, first = exact_shares(epsilon, edges_share)
        for method in CHOICES if methods is None else methods:
            for number in range(runs):
                chosen = CHOICES[method](scores, count, first, source.stream(), bars)
                rest = total - min(chosen.spent, first)
                noisy = noisy_tables(codes, sizes, chosen.edges, epsilon=rest, source=source.stream(), not_private=True)
                tree = DependencyTree.of(attributes, fitted(noisy, sizes))
                paid = {"epsilon": float(total), "true_epsilon": float(chosen.spent + rest), "run": number}
                rows.append(_row(method, tree, held_out, edges=chosen.edges, best=best, **paid))
    return rows


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
    method: str, tree: DependencyTree, held_out: Any, *, edges: tuple[Pair, ...], best: tuple[Pair, ...], **paid: Any
) -> dict[str, Any]:
    shared = len(set(edges) & set(best))
    said = {"log_likelihood": tree.log_likelihood(held_out), "edges": len(edges), "shared": shared}
    return {"method": method, **paid, **said}


def _independent(scores: Scores, count: int, epsilon: Fraction, source: Source, bars: tuple[int, ...]) -> ChosenEdges:
    """No edges, at no cost."""
    return ChosenEdges((), Fraction(0))


def _one_noise(scores: Scores, count: int, epsilon: Fraction, source: Source, bars: tuple[int, ...]) -> ChosenEdges:
    return noisy_tree(scores, count, epsilon=epsilon, source=source)


def _one_by_one(scores: Scores, count: int, epsilon: Fraction, source: Source, bars: tuple[int, ...]) -> ChosenEdges:
    """The exponential mechanism for each edge, at epsilon/(d - 1), among those that close no cycle (PrivBayes)."""
    joined, edges = Joined(count), []
    for _ in range(count - 1):
        open_pairs = [pair for pair in sorted(scores) if joined.apart(pair)]
        picked = select_top(
            np.array([scores[pair] for pair in open_pairs], dtype=np.int64),
            count=1,
            epsilon=epsilon / (count - 1),
            sensitivity=SENSITIVITY,
            method="exponential",
            source=source,
            not_private=True,
        )
        assert picked.indices is not None
        edges.append(open_pairs[int(picked.indices[0])])
        joined.join(edges[-1])
    return ChosenEdges(tuple(sorted(edges)), epsilon)


def _top_pairs(method: str) -> Choice:
    """The d - 1 best pairs of all, by a method of ``select_top``, less those that close a cycle."""

    def choice(scores: Scores, count: int, epsilon: Fraction, source: Source, bars: tuple[int, ...]) -> ChosenEdges:
        pairs = sorted(scores)
        picked = select_top(
            np.array([scores[pair] for pair in pairs], dtype=np.int64),
            count=count - 1,
            epsilon=epsilon,
            sensitivity=SENSITIVITY,
            method=method,
            source=source,
            not_private=True,
        )
        assert picked.indices is not None
        return ChosenEdges(largest_forest((pairs[place] for place in picked.indices), count), epsilon)

    return choice


def _gate(one: bool) -> Choice:
    def choice(scores: Scores, count: int, epsilon: Fraction, source: Source, bars: tuple[int, ...]) -> ChosenEdges:
        asked = (bars[len(bars) // 2],) if one else bars
        return gate_forest(scores, count, thresholds=asked, epsilon=epsilon, source=source, not_private=True)

    return choice


def _flawed(honest: bool) -> Choice:
    """The gate of Chen et al. over all pairs: it never closes, so its loss grows with the number of pairs.

    ``honest``: run at that claim for which its loss is the epsilon there is. Otherwise at the claim, and
    ``spent`` is what it truly costs.
    """

    def choice(scores: Scores, count: int, epsilon: Fraction, source: Source, bars: tuple[int, ...]) -> ChosenEdges:
        times = flawed_factor(len(scores))
        edges = _passed(FLAWED, scores, count, epsilon / times if honest else epsilon, source, bars)
        return ChosenEdges(edges, epsilon if honest else epsilon * times)

    return choice


@cache
def flawed_factor(pairs: int) -> Fraction:
    """By how much the gate of Chen et al. costs more than it claims, on this many pairs."""
    return Fraction(tight_epsilon(FLAWED, epsilon=1, queries=pairs))


def _corrected(scores: Scores, count: int, epsilon: Fraction, source: Source, bars: tuple[int, ...]) -> ChosenEdges:
    """The paper's gate (Alg. 7) in the place of Chen et al.'s: it closes after d - 1 positives."""
    return ChosenEdges(_passed("standard", scores, count, epsilon, source, bars, cutoff=count - 1), epsilon)


def _passed(
    row: str,
    scores: Scores,
    count: int,
    epsilon: Fraction,
    source: Source,
    bars: tuple[int, ...],
    cutoff: int = 1,
) -> tuple[Pair, ...]:
    """The pairs that a gate with the middle threshold lets through, less those that close a cycle."""
    pairs = sorted(scores)
    answers = run(
        row,
        [scores[pair] for pair in pairs],
        threshold=bars[len(bars) // 2],
        epsilon=epsilon,
        sensitivity=SENSITIVITY,
        source=source,
        not_private=True,
        cutoff=cutoff,
    )
    return largest_forest([pair for pair, answer in zip(pairs, answers, strict=False) if answer.above], count)


CHOICES: Final[Mapping[str, Choice]] = {
    "one noise": _one_noise,
    "edge by edge": _one_by_one,
    "top pairs": _top_pairs("one-shot"),
    "subset of pairs": _top_pairs("subset"),
    "gate": _gate(one=False),
    "gate, one threshold": _gate(one=True),
    "corrected gate (Alg. 7)": _corrected,
    "chen-2015 as claimed": _flawed(honest=False),
    "chen-2015 at its loss": _flawed(honest=True),
    "independent": _independent,
}
"""How edges are chosen, by the name in a row of ``compare_trees``; ``dependency_tree`` has the first, and the gate."""
