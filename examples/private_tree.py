"""Trees of dependencies over epsilon, against the tree without noise: docs/pictures/structure.png.

    python examples/private_tree.py [FILE.png]

The people are invented: 14 attributes that depend on each other along a random tree. So the noise may come from a seed,
and the picture is the same each time. On people's data leave ``source`` and ``not_private`` out.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import sparsegate as sg
from sparsegate.paper.uses import EDGE_WAYS, SENSITIVITY, EdgeTask, dependences
from sparsegate.uses.structure import (
    ChosenEdges,
    Joined,
    exact_shares,
    gate_forest,
    largest_forest,
    public_thresholds,
)
from sparsegate.uses.tree_model import (
    Attributes,
    Codes,
    Counts,
    NoisyTables,
    Pair,
    draw_on,
    exact_tables,
    fitted,
    joint_counts,
    noisy_tables,
    pairs_of,
)

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "structure.png"
ATTRIBUTES, PEOPLE, RUNS = 14, 20_000, 12
EPSILONS = (0.03, 0.1, 0.3, 1, 3, 10)
THRESHOLDS = tuple(round(250 * 1.25**step) for step in range(13))  # up to 3,638 of 20,000 rows
EXACT, OURS = "no noise", "dependency_tree"
EDGES_SHARE = Fraction(3, 10)  # of epsilon, for the choice of the edges by the score that was published
SHOWN = {
    "dependency_tree": ("#0072B2", "-", "o", "dependency_tree"),
    "gate": ("#009E73", "-", "s", "gate, many thresholds"),
    "gate, one threshold": ("#56B4E9", "--", "s", "gate, one threshold"),
    "chen-2015 as claimed": ("#D55E00", ":", "^", "Chen et al. 2015 at the ε it claims"),
    "chen-2015 at its loss": ("#D55E00", "--", "^", "Chen et al. 2015 at the ε it costs"),
    "independent": ("#777777", "--", "x", "independent attributes"),
}


def people() -> tuple[dict[str, list[int]], np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """Public categories, rows to learn from, rows to hold out, and the tree that made them."""
    generator = np.random.default_rng(1968)
    sizes = generator.integers(2, 6, ATTRIBUTES)
    parents = [0, *(int(generator.integers(max(0, child - 4), child)) for child in range(1, ATTRIBUTES))]
    rows = np.zeros((2 * PEOPLE, ATTRIBUTES), dtype=np.int64)
    rows[:, 0] = generator.choice(sizes[0], 2 * PEOPLE, p=generator.dirichlet(np.full(sizes[0], 5.0)))
    for child in range(1, ATTRIBUTES):
        usual, strength = generator.dirichlet(np.full(sizes[child], 3.0)), generator.uniform(0.15, 0.6)
        special = generator.dirichlet(np.full(sizes[child], 0.4), size=sizes[parents[child]])
        upto = ((1 - strength) * usual + strength * special).cumsum(axis=1)[:, :-1]
        rows[:, child] = (generator.random(2 * PEOPLE)[:, None] >= upto[rows[:, parents[child]]]).sum(axis=1)
    columns = {f"q{place}": list(range(int(size))) for place, size in enumerate(sizes)}
    return columns, rows[:PEOPLE], rows[PEOPLE:], [(parents[child], child) for child in range(1, ATTRIBUTES)]


def select(task: EdgeTask, pairs: Sequence[Pair], count: int, epsilon: Fraction, method: str) -> list[Pair]:
    """The best pairs, by a method of ``select_top``."""
    picked = sg.select_top(
        np.array([task.scores[pair] for pair in pairs], dtype=np.int64),
        count=count,
        epsilon=epsilon,
        sensitivity=SENSITIVITY,
        method=method,
        source=task.source,
        not_private=True,
    )
    assert picked.indices is not None
    return [pairs[place] for place in picked.indices]


def _one_by_one(task: EdgeTask) -> ChosenEdges:
    """The exponential mechanism for each edge, at epsilon/(d - 1), among those that close no cycle (PrivBayes)."""
    joined, edges = Joined(task.count), []
    for _ in range(task.count - 1):
        open_pairs = [pair for pair in sorted(task.scores) if joined.apart(pair)]
        edges += select(task, open_pairs, 1, task.epsilon / (task.count - 1), "exponential")
        joined.join(edges[-1])
    return ChosenEdges(tuple(sorted(edges)), task.epsilon)


def _top_pairs(task: EdgeTask, *, method: str) -> ChosenEdges:
    """The d - 1 best pairs of all, less those that close a cycle."""
    pairs = select(task, sorted(task.scores), task.count - 1, task.epsilon, method)
    return ChosenEdges(largest_forest(pairs, task.count), task.epsilon)


def _gate(task: EdgeTask, *, thresholds: Callable[[EdgeTask], tuple[int, ...]]) -> ChosenEdges:
    public: dict[str, Any] = {"thresholds": thresholds(task), "epsilon": task.epsilon}
    public |= {"sensitivity": SENSITIVITY, "monotonic": False}
    return gate_forest(task.scores, task.count, **public, source=task.source, not_private=True)


CHOICES: Mapping[str, Callable[[EdgeTask], ChosenEdges]] = {
    "one noise": EDGE_WAYS["one noise"],
    "edge by edge": _one_by_one,
    "top pairs": partial(_top_pairs, method="one-shot"),
    "subset of pairs": partial(_top_pairs, method="subset"),
    "gate": partial(_gate, thresholds=lambda task: task.thresholds),
    "gate, one threshold": partial(_gate, thresholds=lambda task: (task.middle,)),
    **{way: EDGE_WAYS[way] for way in ("corrected gate (Alg. 7)", "chen-2015 as claimed", "chen-2015 at its loss")},
    "independent": lambda task: ChosenEdges((), Fraction(0)),  # no edges, at no cost
}
"""How edges are chosen by the score that was published, under the name that a row has."""


def compare_trees(
    train: Any,
    held_out: Any,
    columns: Any,
    *,
    epsilons: Iterable[float],
    thresholds: Any,
    runs: int = 1,
    seed: int = 1,
) -> list[dict[str, Any]]:
    """A row for each method, epsilon and run: the mean log-likelihood of the held-out rows under the tree it learned.

    All but ``dependency_tree`` itself share one score, one split of epsilon and one way to count tables, so that only
    the choice of edges differs. A row has ``method``, ``epsilon``, ``true_epsilon`` (more than was said for the flawed
    gate at its claim), ``run``, ``log_likelihood`` in nats a row, ``edges``, and ``shared``: how many edges it has in
    common with the tree of largest mutual information, which has no noise. That tree is the first row; its epsilon is
    None.
    """
    attributes, bars = Attributes.of(columns), public_thresholds(thresholds)
    count = len(attributes.names)
    codes, sizes = attributes.codes(train, unit="row"), attributes.sizes
    scores = dependences(codes, sizes)
    best = best_tree(codes, sizes)
    counts = exact_tables(codes, sizes, best)
    exact = sg.uses.DependencyTree.of(attributes, fitted(NoisyTables(counts, dict.fromkeys(counts, 0.0)), sizes))
    rows = [_row(EXACT, exact, held_out, epsilon=None, true_epsilon=None, run=0, edges=best, best=best)]
    source = sg.Seeded(seed)
    for epsilon, method, number in product(epsilons, [OURS, *CHOICES], range(runs)):
        total, first = exact_shares(epsilon, EDGES_SHARE)
        if method == OURS:
            seeded: dict[str, Any] = {"source": source.stream(), "not_private": True}
            tree = sg.uses.dependency_tree(train, columns, epsilon=epsilon, unit="row", **seeded)
            places = [tuple(sorted(map(attributes.names.index, edge))) for edge in tree.edges]
            paid = {"epsilon": float(total), "true_epsilon": float(tree.epsilon), "run": number}
            rows.append(_row(method, tree, held_out, edges=places, best=best, **paid))
            continue
        chosen = CHOICES[method](EdgeTask(scores, count, first, source.stream(), bars))
        rest = total - min(chosen.spent, first)
        noisy = noisy_tables(codes, sizes, chosen.edges, epsilon=rest, source=source.stream(), not_private=True)
        tree = sg.uses.DependencyTree.of(attributes, fitted(noisy, sizes))
        paid = {"epsilon": float(total), "true_epsilon": float(chosen.spent + rest), "run": number}
        rows.append(_row(method, tree, held_out, edges=chosen.edges, best=best, **paid))
    return rows


def best_tree(codes: Codes, sizes: Sequence[int]) -> tuple[Pair, ...]:
    """The tree of Chow and Liu (1968): of the largest mutual information, without noise; private."""
    worth = {pair: mutual_information(joint_counts(codes, sizes, *pair)) for pair in pairs_of(len(sizes))}
    return largest_forest(sorted(worth, key=lambda pair: -worth[pair]), len(sizes))


def mutual_information(counts: Counts) -> float:
    """In nats, of the shares of a table; 0 for an empty one."""
    shares = counts / max(1, counts.sum())
    product = np.multiply.outer(shares.sum(axis=1), shares.sum(axis=0))
    held = shares > 0
    return float((shares[held] * np.log(shares[held] / product[held])).sum())


def _row(method: str, tree: sg.uses.DependencyTree, held_out: Any, **paid: Any) -> dict[str, Any]:
    edges, best = set(paid.pop("edges")), set(paid.pop("best"))
    quality = {"log_likelihood": tree.log_likelihood(held_out), "edges": len(edges), "shared": len(edges & best)}
    return {"method": method, **paid, **quality}


def means(found: list[dict[str, Any]], what: str) -> dict[str, dict[float, float]]:
    """The mean over runs, by method and epsilon."""
    values: dict[tuple[str, float], list[float]] = defaultdict(list)
    for row in found[1:]:  # the first is the tree without noise
        values[row["method"], row["epsilon"]].append(row[what])
    out: dict[str, dict[float, float]] = defaultdict(dict)
    for (method, epsilon), each in values.items():
        out[method][epsilon] = float(np.mean(each))
    return out


def draw(found: list[dict[str, Any]], tree: sg.uses.DependencyTree, path: Path) -> None:
    """Left: held-out log-likelihood over epsilon. Right: one of the trees."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.35, 1))
    likelihood = means(found, "log_likelihood")
    best = next(row["log_likelihood"] for row in found if row["method"] == EXACT)
    left.axhline(best, color="#222222", lw=1)
    left.text(EPSILONS[0], best + 0.012, "the tree without noise", fontsize=9, va="bottom")
    for method, (colour, style, mark, label) in SHOWN.items():
        left.plot(
            EPSILONS,
            [likelihood[method][epsilon] for epsilon in EPSILONS],
            color=colour,
            ls=style,
            marker=mark,
            ms=5,
            label=label,
        )
    left.set(
        xscale="log",
        xlabel="ε for edges and tables together",
        ylabel="log-likelihood of a held-out row, in nats",
        ylim=(best - 1.3, best + 0.1),
    )
    left.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    left.minorticks_off()
    left.legend(fontsize=8.5, frameon=False, loc="lower right")
    left.spines[["top", "right"]].set_visible(False)
    left.set_title(f"{PEOPLE:,} rows of {ATTRIBUTES} attributes, mean of {RUNS} runs", loc="left", fontsize=10)
    draw_on(right, tree)
    right.set_title("A tree learned at ε = 1; thicker lines are stronger", loc="left", fontsize=10)
    figure.savefig(path, dpi=130, metadata={"Software": None})


def main(arguments: list[str]) -> None:
    columns, train, held_out, truth = people()
    found = compare_trees(train, held_out, columns, epsilons=EPSILONS, thresholds=THRESHOLDS, runs=RUNS)
    best = next(row for row in found if row["method"] == EXACT)
    print(f"{EXACT}: {best['log_likelihood']:.3f} nats a row. Below: how much less, and edges shared of {len(truth)}")
    likelihood, shared, paid = (means(found, what) for what in ("log_likelihood", "shared", "true_epsilon"))
    print(f"{'epsilon':<24}" + "".join(f"{epsilon:>15g}" for epsilon in EPSILONS))
    for method in likelihood:
        cells = [
            f"{best['log_likelihood'] - likelihood[method][epsilon]:.3f} ({shared[method][epsilon]:.1f})"
            for epsilon in EPSILONS
        ]
        print(f"{method:<24}" + "".join(f"{cell:>15}" for cell in cells))
    print("chen-2015 as claimed costs" + "".join(f"{paid['chen-2015 as claimed'][e]:>8.2f}" for e in EPSILONS))
    tree = sg.uses.dependency_tree(train, columns, epsilon=1, unit="row", source=sg.Seeded(1), not_private=True)
    right = {frozenset((f"q{one}", f"q{other}")) for one, other in truth} & {frozenset(edge) for edge in tree.edges}
    print(f"at epsilon 1: {tree}, {len(right)} of its edges are in the tree that made the rows")
    rows = tree.sample(PEOPLE, 1)
    print("synthetic rows:", [f"{name}={values[0]}" for name, values in rows.items()][:5], "...")
    draw(found, tree, Path(arguments[0]) if arguments else PICTURE)


if __name__ == "__main__":
    main(sys.argv[1:])
