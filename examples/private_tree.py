"""Trees of dependencies over epsilon, against the tree without noise: docs/pictures/structure.png.

    python examples/private_tree.py [FILE.png]

The people are invented: 14 attributes that depend on each other along a random tree. So the noise may come from a seed,
and the picture is the same each time. On people's data leave ``source`` and ``not_private`` out.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import sparsegate as sg
from sparsegate.paper.uses.trees import EXACT, compare_trees
from sparsegate.uses.tree_model import draw_on

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "structure.png"
ATTRIBUTES, PEOPLE, RUNS = 14, 20_000, 12
EPSILONS = (0.03, 0.1, 0.3, 1, 3, 10)
THRESHOLDS = tuple(round(250 * 1.25**step) for step in range(13))  # up to 3,638 of 20,000 rows
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
