"""Frequent sets of items: planted in made baskets, found again, and against Lee and Clifton's gate of 2014.

python examples/frequent_itemsets.py                       # made baskets, and the picture docs/pictures/itemsets.png
python examples/frequent_itemsets.py kosarak.dat.gz        # a table for a PUBLIC file of baskets, items apart by spaces
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import sparsegate as sg
from sparsegate.paper.methods import METHODS
from sparsegate.paper.ranked import Ladder
from sparsegate.paper.simulation import simulate
from sparsegate.paper.uses import SET_GATES, PublicBaskets, best_found
from sparsegate.uses.itemsets import Integers, SetQuestion

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "itemsets.png"
PLANTED = {("bread", "butter"): 0.14, ("tea", "milk", "sugar"): 0.12, ("pasta", "tomato", "basil", "garlic"): 0.09}
PUBLISHED, TRUE, GATE = SET_GATES
LISTED = "whole, short list"
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


@dataclass(frozen=True)
class ItemsetRow:
    """What one method found of the ``count`` most frequent sets: means over runs, and what it truly costs.

    ``precision`` is the share of the selected that are right, ``fnr`` that of the right ones that are missed, and
    ``ser`` how far the mean support of the selected lies below that of the right ones.
    """

    method: str
    count: int
    true_epsilon: float
    precision: float
    fnr: float
    ser: float


def compare_itemsets(
    baskets: Iterable[Iterable[Hashable]],
    *,
    counts: Sequence[int] = (10, 25, 50, 100),
    epsilon: float = 1,
    selection: str = "auto",
    runs: int = 20,
) -> list[ItemsetRow]:
    """A row for each method and each number of sets of one to three items. NOT PRIVATE: for public or made baskets.

    Gates have two gifts that no private run has: the threshold lies midway between the c-th and the next support, and
    they are asked about the sets of the commonest items alone, in random order. Ours run as they are, on all items.
    """
    public, exact = PublicBaskets(baskets), Fraction(str(epsilon))
    asked = {"size": 3, "smallest": 1}
    supports = public.short_list(count=max(counts), **asked)
    ladder, rows = Ladder.of(supports), []
    simulated = {**SET_GATES, LISTED: METHODS["subset"]}
    for count, method in product(counts, [*simulated, "items-first", "levels"]):
        true = float(exact)
        if method in simulated:
            rungs = simulate(simulated[method], ladder, count=count, epsilon=exact, runs=runs, rng=1)
            selected: Iterable[Integers] = (ladder.values[run[run >= 0]].astype(np.int64) for run in rungs)
            true = simulated[method].true_epsilon(count=count, epsilon=exact)
        else:
            plan = SetQuestion(count=count, method=method, pool=None, **asked).plan(len(public.counts))
            selected = public.released(plan, exact, selection=selection, runs=runs, seed=1)
        rates = np.mean([_rates(run, supports[:count]) for run in selected], axis=0)
        rows.append(ItemsetRow(method, count, true, *rates.tolist()))
    return rows


def _rates(selected: Integers, best: Integers) -> tuple[float, float, float]:
    """Precision, false negative rate and score error rate."""
    if not selected.size:
        return 0.0, 1.0, 1.0
    right = best_found(selected, best)
    return right / selected.size, 1 - right / best.size, 1 - float(selected.mean() / best.mean())


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
