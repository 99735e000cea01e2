"""Frequent sets of items: planted in made baskets, found again, and against Lee and Clifton's gate of 2014.

python examples/frequent_itemsets.py                       # made baskets, and the picture docs/pictures/itemsets.png
python examples/frequent_itemsets.py kosarak.dat.gz        # a table for a PUBLIC file of baskets, items apart by spaces
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import sparsegate as sg
from sparsegate.paper.uses.itemsets import GATE, PUBLISHED, TRUE, ItemsetRow, compare_itemsets

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "itemsets.png"
PLANTED = {("bread", "butter"): 0.14, ("tea", "milk", "sugar"): 0.12, ("pasta", "tomato", "basil", "garlic"): 0.09}
LINES = {
    PUBLISHED: ("#D55E00", ":"),
    TRUE: ("#D55E00", "-"),
    GATE: ("#E69F00", "--"),
    "levels": ("#56B4E9", "--"),
    "items-first": ("#0072B2", "-"),
}


def made_baskets(people: int = 20_000, items: int = 2_000, seed: int = 1) -> list[list[str]]:
    """Everybody has a few of many items, common ones more often (Zipf), and some have planted sets, too."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, items + 1)
    drawn = rng.choice(items, size=int(rng.poisson(4 * people)), p=weights / weights.sum())
    baskets: list[list[str]] = [[] for _ in range(people)]
    for person, item in zip(rng.integers(people, size=drawn.size).tolist(), drawn.tolist(), strict=True):
        baskets[person].append(f"item {item}")
    for members, share in PLANTED.items():
        for person in np.flatnonzero(rng.random(people) < share).tolist():
            baskets[person].extend(members)
    return baskets


def found_again(baskets: Sequence[Sequence[str]]) -> sg.uses.FrequentItemsets:
    """The planted sets among the 40 most frequent of two to four items, at epsilon 1 and 1 more for their counts."""
    rows = [(item, person) for person, basket in enumerate(baskets) for item in basket]
    return sg.uses.frequent_itemsets(
        {"item": [item for item, _ in rows], "person": [person for _, person in rows]},
        item="item",
        user="person",
        count=40,
        size=4,
        smallest=2,
        epsilon=1,
        answers_epsilon=1,
        domain=[f"item {number}" for number in range(2_000)]
        + sorted({item for members in PLANTED for item in members}),
    )


def draw(path: Path, baskets: Sequence[Iterable[str]], runs: int = 10) -> None:
    """The share of the true sets that is missed, by how many are asked for and by epsilon."""
    figure = Figure(figsize=(9.2, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    by_count = compare_itemsets(baskets, counts=(10, 20, 30, 50, 70, 100), epsilon=1, runs=runs)
    by_epsilon = [
        (epsilon, row)
        for epsilon in (0.2, 0.5, 1, 2, 5)
        for row in compare_itemsets(baskets, counts=[50], epsilon=epsilon, runs=runs)
    ]
    for method, (color, style) in LINES.items():
        mine = [row for row in by_count if row.method == method]
        line = {"color": color, "linestyle": style, "marker": "o", "markersize": 4}
        left.plot([row.count for row in mine], [row.fnr for row in mine], label=method, **line)
        swept = [(epsilon, row.fnr) for epsilon, row in by_epsilon if row.method == method]
        right.plot(*zip(*swept, strict=True), **line)
    costs = next(row.true_epsilon for row in by_count if row.method == PUBLISHED and row.count == 50)
    left.set(xlabel="sets asked for, c", ylabel="share of the true sets that is missed", title="ε = 1")
    right.set(
        xlabel="ε", title="c = 50", xscale="log", xticks=[0.2, 0.5, 1, 2, 5], xticklabels=[".2", ".5", "1", "2", "5"]
    )
    right.minorticks_off()
    left.legend(fontsize=8, frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_ylim(-0.02, 1)
    title = f"Frequent sets of up to 3 items; as claimed, Lee and Clifton's gate costs {costs:g} ε at c = 50, not ε"
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=130)


def print_rows(rows: Iterable[ItemsetRow]) -> None:
    print(f"{'method':<34}{'c':>4}{'true epsilon':>14}{'precision':>11}{'missed':>9}{'score error':>13}")
    for row in rows:
        rates = f"{row.precision:>11.3f}{row.fnr:>9.3f}{row.ser:>13.4f}"
        print(f"{row.method:<34}{row.count:>4}{row.true_epsilon:>14.3f}{rates}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", help="a PUBLIC file of baskets, one a line")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--selection", default="auto", help="how each level selects: subset, one-shot or exponential")
    given = parser.parse_args()
    if given.file:
        opened = gzip.open if given.file.endswith(".gz") else open
        with opened(given.file, "rt") as file:
            baskets = [line.split() for line in file]
        options = {"epsilon": given.epsilon, "runs": given.runs, "selection": given.selection}
        print_rows(compare_itemsets(baskets, **options))
        return
    baskets = made_baskets()
    for items, estimate in found_again(baskets):
        if set(items) <= {item for members in PLANTED for item in members}:
            print(f"{estimate:>6} people have {', '.join(items)}")
    print_rows(compare_itemsets(baskets, epsilon=given.epsilon, runs=5))
    draw(PICTURE, baskets)


if __name__ == "__main__":
    main()
