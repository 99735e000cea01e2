"""Ten thousand features, one validation set, and an analyst who looks at it all the time: docs/pictures/holdout.png.

    python examples/reusable_holdout.py [FILE.png]      the experiment, and its picture
    python examples/reusable_holdout.py --epsilons      at which epsilon it is private and still works: a table

The experiment of Dwork, Feldman, Hardt, Pitassi, Reingold, Roth (Science 349, 2015), on features of one bit. The
analyst keeps each feature whose correlation with the label has one sign on training and holdout, takes the k strongest
of them by training, and votes. She asks the holdout about each feature and then about each vote. Data are invented, so
the noise may come from a seed; on data that matter leave ``source`` and ``not_private`` out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sparsegate as sg

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "holdout.png"
RECORDS, FEATURES, USEFUL = 10_000, 10_000, 20
CHOSEN = (5, 10, 20, 50, 100, 200, 300, 400, 500)
EPSILON, CUTOFF, THRESHOLD, SEEDS = 1.0, 20, 0.06, range(5)
COLOURS = {"training": "#7f8fa6", "plain holdout": "#c0392b", "this holdout": "#2166ac", "fresh data": "#222222"}

Bits = NDArray[np.uint8]
Ask = Callable[[float, Bits], float]
"""The training score, and for each record of the holdout whether it is right: a score."""


class Records:
    """Labels, and for each feature on which records it agrees with its label, as packed bits."""

    def __init__(self, seed: int, lean: float) -> None:
        generator = np.random.default_rng(seed)
        self.agrees = np.frombuffer(generator.bytes(FEATURES * RECORDS // 8), dtype=np.uint8)
        self.agrees = self.agrees.reshape(FEATURES, RECORDS // 8).copy()
        if lean:
            better = generator.random((USEFUL, RECORDS)) < 0.5 + lean
            self.agrees[:USEFUL] = np.packbits(better, axis=1)

    def feature(self, place: int) -> Bits:
        """1 for each record where the feature is the label."""
        return np.unpackbits(self.agrees[place])

    def means(self) -> NDArray[np.float64]:
        """How often each feature is the label."""
        return np.bitwise_count(self.agrees).sum(axis=1, dtype=np.int64) / RECORDS

    def vote(self, places: NDArray[Any], signs: NDArray[Any]) -> Bits:
        """1 for each record where the vote of these features is the label; a tie is wrong on every other record."""
        votes = (signs[:, None] * (2 * np.unpackbits(self.agrees[places], axis=1).astype(np.int32) - 1)).sum(axis=0)
        return np.where(votes == 0, np.arange(RECORDS) % 2, votes > 0).astype(np.uint8)


def analyse(train: Records, holdout: Records, ask: Ask) -> tuple[NDArray[Any], list[float]]:
    """What she does: the features in the order of her trust, and the score of each vote."""
    means = train.means()
    seen = np.array([ask(means[place], holdout.feature(place)) for place in range(FEATURES)]) - 0.5
    trained, least = means - 0.5, 0.5 / np.sqrt(RECORDS)
    kept = np.flatnonzero((np.sign(trained) == np.sign(seen)) & (np.minimum(abs(trained), abs(seen)) >= least))
    order = kept[np.argsort(-abs(trained[kept]))]
    signs = np.sign(trained[order])
    scores = []
    for k in CHOSEN:
        on_train = train.vote(order[:k], signs[:k]).mean()
        scores.append(ask(float(on_train), holdout.vote(order[:k], signs[:k])))
    return order, scores


def run(seed: int, *, lean: float, epsilon: float = EPSILON) -> dict[str, Any]:
    """One experiment: the four accuracies for each k, of votes chosen by asking our holdout and by a plain one."""
    train, holdout, fresh = (Records(3 * seed + part, lean) for part in range(3))
    ours = sg.uses.Holdout(
        size=RECORDS, threshold=THRESHOLD, cutoff=CUTOFF, epsilon=epsilon, source=sg.Seeded(seed), not_private=True
    )
    closed = 0

    def private(mean: float, right: Bits) -> float:
        nonlocal closed
        if ours.closed:  # she goes on with what training says
            closed += 1
            return mean
        return ours.score(mean, right).value

    found: dict[str, Any] = {}
    plain = analyse(train, holdout, lambda _, right: float(right.mean()))
    guarded = analyse(train, holdout, private)
    found["plain holdout"] = plain[1]
    found["this holdout"] = guarded[1]
    for name, (order, _) in (("plain", plain), ("guarded", guarded)):
        signs = np.sign(train.means()[order] - 0.5)
        for part, records in (("training", train), ("fresh", fresh)):
            found[f"{part}, {name}"] = [records.vote(order[:k], signs[:k]).mean() for k in CHOSEN]
    return found | {"paid": CUTOFF - ours.remaining, "closed": closed}


def draw(path: Path) -> None:
    """On the left nothing can be learned; on the right twenty features help a little."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 2, figsize=(9.4, 7), layout="constrained", sharex=True, sharey=True)
    for row, lean in zip(panels, (0.0, 0.03), strict=True):
        runs = [run(seed, lean=lean) for seed in SEEDS]
        paid = np.mean([one["paid"] for one in runs])
        print(f"lean {lean}: {paid:.1f} of {CUTOFF} answers paid for, of {FEATURES + len(CHOSEN):,} questions")
        for axes, kind, score in zip(row, ("plain", "guarded"), ("plain holdout", "this holdout"), strict=True):
            lines = {"training": f"training, {kind}", score: score, "fresh data": f"fresh, {kind}"}
            for name, key in lines.items():
                mean = np.mean([one[key] for one in runs], axis=0)
                style = {"lw": 2.6 if "holdout" in name else 1.8, "ls": "--" if name == "fresh data" else "-"}
                axes.plot(CHOSEN, mean, color=COLOURS[name], label=name, marker="o", ms=3.5, **style)
                print(f"  {kind:8} {name:14}", " ".join(f"{value:.3f}" for value in mean))
            features = "no feature helps" if not lean else f"{USEFUL} features help, each right on 53 %"
            axes.set_title(f"{score}: {features}", loc="left", fontsize=10.5)
            axes.legend(frameon=False, fontsize=9, loc="upper left")
            axes.spines[["top", "right"]].set_visible(False)
            axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    for axes in panels[1]:
        axes.set_xlabel("features in the vote")
    for axes in panels[:, 0]:
        axes.set_ylabel("accuracy")
    figure.suptitle(
        f"{FEATURES:,} features asked about one by one on {RECORDS:,} held-out records (epsilon {EPSILON:g} in all; "
        f"mean of {len(SEEDS)} runs)",
        fontsize=11,
    )
    figure.savefig(path, dpi=130, metadata={"Software": None})
    pyplot.close(figure)


def epsilons() -> None:
    """A table: how far the last score is from the truth, by epsilon."""
    print("| epsilon | noise of a paid score (95 %) | paid of 20 | questions after that | largest score less truth |")
    print("| --- | --- | --- | --- | --- |")
    for epsilon in (0.1, 0.3, 0.5, 1, 2, 10):
        runs = [run(seed, lean=0.0, epsilon=epsilon) for seed in SEEDS]
        terms = sg.uses.Holdout(size=RECORDS, threshold=THRESHOLD, cutoff=CUTOFF, epsilon=epsilon).terms
        off = [np.max(np.subtract(one["this holdout"], one["fresh, guarded"])) for one in runs]
        paid, closed = (np.mean([one[name] for one in runs]) for name in ("paid", "closed"))
        print(f"| {epsilon:g} | ±{terms.margin(paid=True):.3f} | {paid:.1f} | {closed:.0f} | {np.mean(off):.3f} |")
    plain = [run(seed, lean=0.0) for seed in SEEDS]
    print(f"plain: {np.mean([np.max(np.subtract(one['plain holdout'], one['fresh, plain'])) for one in plain]):.3f}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--epsilons"]:
        epsilons()
    else:
        draw(Path(sys.argv[1]) if sys.argv[1:] else PICTURE)
