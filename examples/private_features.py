"""Which columns tell most about a class: private selection against SelectKBest and against the gate of SCM14.

Two tables are made here: one to measure, and one that looks like the mushrooms of UCI (22 categorical columns, 8,124
rows, a few of them very telling). The picture is docs/pictures/features.png.

python examples/private_features.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.feature_selection import SelectKBest, mutual_info_classif

import sparsegate as sg
from sparsegate.paper.uses import FEATURE_WAYS, Chosen, FeatureTask, one_pass
from sparsegate.selection.exponential import selection_rate
from sparsegate.selection.scores import Scores
from sparsegate.selection.subset import Subsets
from sparsegate.uses.features import SCORES
from sparsegate.uses.records import contingency

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "features.png"
RUNS = 100
MEASURED_EPSILONS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
MUSHROOM_EPSILONS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)

NAMES = [
    "cap-shape",
    "cap-surface",
    "cap-color",
    "bruises",
    "odor",
    "gill-attachment",
    "gill-spacing",
    "gill-size",
    "gill-color",
    "stalk-shape",
    "stalk-root",
    "surface-above",
    "surface-below",
    "color-above",
    "color-below",
    "veil-type",
    "veil-color",
    "ring-number",
    "ring-type",
    "spore-print-color",
    "population",
    "habitat",
]
SIZES = (6, 4, 10, 2, 9, 2, 2, 2, 12, 2, 5, 4, 4, 9, 9, 1, 4, 3, 5, 9, 6, 7)
TELLING = (10, 12, 12, 45, 95, 5, 25, 50, 60, 8, 35, 55, 50, 35, 35, 0, 3, 20, 55, 75, 40, 30)
"""How much of a column's law is its class's own, in hundredths: 100 tells everything."""


class Rows(NamedTuple):
    """Codes of the columns, the classes 0 and 1, and how many values each column has."""

    table: NDArray[np.int64]
    classes: NDArray[np.int64]
    sizes: tuple[int, ...]

    def scores(self, key: str) -> NDArray[np.int64]:
        """The score of every column; private, and here only because the table is made up."""
        score = SCORES[key].of_table
        assert score is not None
        counts = (contingency(c, self.classes, shape=(s, 2)) for c, s in zip(self.table.T, self.sizes, strict=True))
        return np.array([score(each) for each in counts])

    def some(self, which: NDArray[np.int64]) -> Rows:
        """These rows alone."""
        return Rows(self.table[which], self.classes[which], self.sizes)


def made_to_measure(rng: np.random.Generator, rows: int = 2000, columns: int = 100, telling: int = 10) -> Rows:
    """Yes-or-no columns; the first ones agree with the class in 60 to 75 of 100 rows, the others in 50."""
    classes = rng.integers(0, 2, size=rows)
    right = np.append(np.linspace(0.75, 0.60, telling), np.full(columns - telling, 0.5))
    agrees = rng.random((rows, columns)) < right
    return Rows(np.where(agrees, classes[:, None], 1 - classes[:, None]), classes, (2,) * columns)


def mushroom_like(rng: np.random.Generator, rows: int = 8124, poisonous: float = 0.482) -> Rows:
    """Each column by its class: a law that both classes share, mixed with one of the class's own."""
    classes = (rng.random(rows) < poisonous).astype(np.int64)
    columns = []
    for size, hundredths in zip(SIZES, TELLING, strict=True):
        shared, half, own = rng.dirichlet(np.ones(size)), max(1, size // 2), np.zeros((2, size))
        own[0, :half], own[1, size - half :] = rng.dirichlet(np.ones(half)), rng.dirichlet(np.ones(half))
        laws = shared + hundredths / 100 * (own - shared)
        columns.append((rng.random(rows)[:, None] > laws.cumsum(axis=1)[classes, :-1]).sum(axis=1))
    return Rows(np.column_stack(columns), classes, SIZES)


class NaiveBayes:
    """Accuracy on held-out rows with some of the columns: the sum of their logarithms of odds decides."""

    def __init__(self, train: Rows, test: Rows) -> None:
        share = train.classes.mean()
        self._prior = np.log(share / (1 - share))
        odds = []
        for column, held_out, size in zip(train.table.T, test.table.T, train.sizes, strict=True):
            counts = contingency(column, train.classes, shape=(size, 2)) + 1.0
            law = np.log(counts / counts.sum(axis=0))
            odds.append((law[:, 1] - law[:, 0])[held_out])
        self._odds, self._classes = np.column_stack(odds), test.classes

    def accuracy(self, chosen: NDArray[np.bool_]) -> float:
        """The share of the held-out rows that are labelled right."""
        said = self._prior + self._odds @ chosen > 0
        return float((said == self._classes).mean())


def _best(task: FeatureTask) -> Chosen:
    """SelectKBest, not private: the k highest; ties at random."""
    return task.marked(lambda: np.lexsort((task.rng.random(task.scores.size), -task.scores))[: task.k])


def _subset(task: FeatureTask) -> Chosen:
    """As the method "subset" does, with its tiles laid once for all runs."""
    rate = selection_rate(epsilon=task.epsilon, count=2, **task.promise)
    sets = Subsets(Scores.each(task.scores), rate, task.k)
    return task.marked(lambda: sets.draw(task.source))


def _chance(task: FeatureTask) -> Chosen:
    """k at random."""
    return task.marked(lambda: task.rng.permutation(task.scores.size)[: task.k])


WAYS: Mapping[str, Callable[[FeatureTask], Chosen]] = {
    "best": _best,
    **{way: FEATURE_WAYS[way] for way in ("stoddard-2014", "stoddard-2014-each", "standard")},
    "liu-2024": partial(one_pass, "liu-2024"),  # the gate of this library
    "one-shot": FEATURE_WAYS["one-shot"],
    "subset": _subset,
    "chance": _chance,
}


def task_of(rows: Rows, score: str, *, k: int, epsilon: float, runs: int) -> FeatureTask:
    """The columns of a table, scored: the same noise each time."""
    row = SCORES[score]
    promise: Any = {"sensitivity": row.sensitivity, "monotonic": row.monotonic}
    return FeatureTask(scores=rows.scores(score), k=k, epsilon=epsilon, runs=runs, seed=1, **promise)


@cache  # the picture and the tables show the same numbers
def measured_recall(runs: int = RUNS) -> dict[str, list[float]]:
    """The share of the ten telling columns that each way finds, by epsilon."""
    rows = made_to_measure(np.random.default_rng(18))

    def recall(way: str, epsilon: float) -> float:
        task = task_of(rows, "agreement", k=10, epsilon=epsilon, runs=runs)
        return float(task.recall(WAYS[way](task)).mean())

    return {way: [recall(way, epsilon) for epsilon in MEASURED_EPSILONS] for way in WAYS}


def parted(rng: np.random.Generator, poisonous: float = 0.482) -> tuple[Rows, NaiveBayes]:
    """Mushroom-like rows to choose from, and a judge that holds out the others."""
    everything = mushroom_like(rng, poisonous=poisonous)
    order = rng.permutation(len(everything.classes))
    train = everything.some(order[:5600])
    return train, NaiveBayes(train, everything.some(order[5600:]))


def chosen_accuracy(
    way: str, score: str, train: Rows, judge: NaiveBayes, epsilons: Sequence[float], runs: int
) -> list[float]:
    """Mean held-out accuracy with the five columns that a way chooses by a score."""
    chosen = (WAYS[way](task_of(train, score, k=5, epsilon=epsilon, runs=runs)) for epsilon in epsilons)
    return [float(np.mean([judge.accuracy(each) for each in of_runs])) for of_runs in chosen]


@cache
def mushroom_accuracy(runs: int = RUNS) -> tuple[dict[str, list[float]], float]:
    """Held-out accuracy of each way by epsilon, columns scored by agreement; and that of scikit-learn's choice."""
    train, judge = parted(np.random.default_rng(14))
    found = {way: chosen_accuracy(way, "agreement", train, judge, MUSHROOM_EPSILONS, runs) for way in WAYS}
    mutual = partial(mutual_info_classif, discrete_features=True)
    return found, judge.accuracy(SelectKBest(mutual, k=5).fit(train.table, train.classes).get_support())


def accuracy_by_score(poisonous: float, runs: int = RUNS) -> dict[str, list[float]]:
    """Held-out accuracy of "subset" by epsilon, for each score of categories."""
    train, judge = parted(np.random.default_rng(14), poisonous=poisonous)
    keys = [key for key, row in SCORES.items() if row.of_table is not None]
    return {key: chosen_accuracy("subset", key, train, judge, MUSHROOM_EPSILONS, runs) for key in keys}


_LINES: Mapping[str, tuple[str, str, float]] = {
    "subset": ("#0072B2", "-", 3.0),
    "one-shot": ("#56B4E9", "-", 1.6),
    "liu-2024": ("#E69F00", "-", 1.6),
    "standard": ("#F0C75E", "-", 1.6),
    "stoddard-2014-each": ("#D55E00", "-", 1.6),
    "stoddard-2014": ("#D55E00", "--", 1.6),
    "chance": ("#999999", ":", 1.6),
}
_LABELS = {
    "subset": "SelectKBestPrivate (subset)",
    "one-shot": "one-shot noise",
    "liu-2024": "our gate, threshold from an oracle",
    "standard": "corrected gate (Alg. 7), threshold from an oracle",
    "stoddard-2014-each": "SCM14's gate, a gate for each column",
    "stoddard-2014": "SCM14's gate as published: true ε = ∞",
    "chance": "columns at random",
}


def draw_features(path: Path, runs: int = RUNS) -> None:
    """Recall on the table made to measure, and accuracy on the mushroom-like one, against epsilon."""
    recall, (accuracy, plain) = measured_recall(runs), mushroom_accuracy(runs)
    figure = Figure(figsize=(10, 4.8), layout="constrained")
    panels = figure.subplots(1, 2)
    sides = ((recall, MEASURED_EPSILONS, 1.0), (accuracy, MUSHROOM_EPSILONS, plain))
    for axes, (found, epsilons, best) in zip(panels, sides, strict=True):
        axes.axhline(best, color="#222222", linewidth=1, label="SelectKBest, not private")
        for way, (colour, style, width) in _LINES.items():
            axes.plot(epsilons, found[way], color=colour, linestyle=style, linewidth=width, label=_LABELS[way])
        axes.set_xscale("log")
        axes.set_xlabel("ε that is claimed (true but for the dashed line)")
        axes.grid(alpha=0.25)
    panels[0].set(ylabel="share of the ten telling columns found", title="made to measure: 100 columns, 2,000 rows")
    panels[1].set(ylabel="held-out accuracy with five columns", title="mushroom-like: 22 columns, 5,600 rows")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    figure.savefig(path, dpi=120)


def show_tables(runs: int = RUNS) -> None:
    """The numbers behind the picture, and those of the scores, as text."""
    accuracy, plain = mushroom_accuracy(runs)
    tables = {
        "made to measure: recall": (MEASURED_EPSILONS, measured_recall(runs)),
        f"mushroom-like: accuracy (scikit-learn's SelectKBest: {plain:.3f})": (MUSHROOM_EPSILONS, accuracy),
        "mushroom-like: accuracy of subset by score": (MUSHROOM_EPSILONS, accuracy_by_score(0.482, runs)),
        "the same, one in twenty poisonous": (MUSHROOM_EPSILONS, accuracy_by_score(0.05, runs)),
    }
    for title, (epsilons, found) in tables.items():
        print(f"\n{title}\n{'epsilon':20}" + "".join(f"{epsilon:>8}" for epsilon in epsilons))
        for way, values in found.items():
            print(f"{way:20}" + "".join(f"{value:8.3f}" for value in values))


def show_use() -> None:
    """The transformer itself on the mushroom-like table."""
    rows = mushroom_like(np.random.default_rng(14))
    chosen = sg.uses.SelectKBestPrivate(
        k=5, epsilon=0.2, classes=[0, 1], categories=[range(size) for size in rows.sizes]
    )
    chosen.fit(rows.table, rows.classes)
    print("chosen at epsilon 0.2:", ", ".join(NAMES[place] for place in chosen.selected_))


if __name__ == "__main__":
    show_use()
    show_tables()
    draw_features(PICTURE)
