"""When to stop training, asked of a private validation set: the picture and the table of docs/how-to/early_stopping.md.

    python examples/early_stopping.py [FILE.png]

The data are invented, and so the noise may come from a seed: the picture is the same each time. On people's data leave
``source`` and ``not_private`` out. The training rows are public here: only the validation records are protected.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sparsegate as sg

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "early_stopping.png"
EPOCHS, EPSILON, CUTOFF, PATIENCE, LEAST = 36, 1, 8, 5, 0.005
SIZES, TASKS, RUNS = (1_000, 3_000, 10_000, 30_000), 3, 20
GATE: dict[str, Any] = {"epsilon": EPSILON, "cutoff": CUTOFF, "closes": "rarer"}
MARGIN = sg.SparseVector.preview(sensitivity=1.0, **GATE).margin  # in records
STEPS = np.minimum(1.25 ** np.arange(EPOCHS), 400).astype(int)  # of an epoch
COLOURS = {"gate": "#0072B2", "noise on each epoch": "#D55E00", "train all, choose once": "#009E73"}
COLOURS |= {"not private": "#222222", "no validation": "#999999"}


def task(seed: int, *, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training rows with wrong labels among them, validation records, and rows to see how good a model really is."""
    generator = np.random.default_rng(seed)
    spread = np.arange(1, 201) ** -0.7
    true = np.where(np.arange(200) < 25, generator.normal(size=200) / spread, 0)

    def rows(count: int, wrong: float) -> tuple[np.ndarray, np.ndarray]:
        features = generator.normal(size=(count, 200)) * spread
        return features, (features @ true > 0) ^ (generator.random(count) < wrong)

    return [rows(500, 0.2), rows(size, 0.0), rows(20_000, 0.0)]


def training(features: np.ndarray, labels: np.ndarray) -> Iterator[np.ndarray]:
    """Logistic regression by gradient descent, each epoch a quarter longer than the one before."""
    weights, sides = np.zeros(features.shape[1]), np.where(labels, 1.0, -1.0)
    for steps in STEPS:
        for _ in range(steps):
            weights = weights + 3 * features.T @ (sides / (1 + np.exp(sides * (features @ weights)))) / labels.size
        yield weights


def correct(rows: tuple[np.ndarray, np.ndarray], models: np.ndarray) -> np.ndarray:
    """Which model (a row of the result) is right about which record."""
    features, labels = rows
    return np.equal(models @ features.T > 0, labels)


def asked(size: int, source: sg.Seeded) -> sg.uses.Improvement:
    """The smallest improvement that this many records show, or half a percent."""
    by = max(LEAST, 1.01 * MARGIN / size)
    return sg.uses.improved(by=by, size=size, patience=PATIENCE, source=source, not_private=True, **GATE)


def with_gate(right: np.ndarray, source: sg.Seeded) -> tuple[int, int]:
    """The chosen epoch, and how many were trained; ``right[t, i]``: model t is right about record i."""
    with asked(right.shape[1], source) as better:
        for values in right:
            better(values)
            if better.finished:
                break
    assert better.best is not None
    return better.best, better.seen


def noise_on_each(right: np.ndarray, source: sg.Seeded) -> tuple[int, int]:
    """The number of records that each epoch's model gets right, told with noise: one person is in all of them."""
    counts = right.sum(axis=1)
    told = sg.laplace(counts, epsilon=EPSILON, sensitivity=counts.size, source=source, not_private=True)
    return int(np.argmax(told)), counts.size


def chosen_once(right: np.ndarray, source: sg.Seeded) -> tuple[int, int]:
    """All epochs are trained; then one of them is selected."""
    options: Any = {"count": 1, "epsilon": EPSILON, "sensitivity": 1, "monotonic": True}
    best = sg.select_top(right.sum(axis=1), **options, source=source, not_private=True)
    assert best.indices is not None
    return int(best.indices[0]), len(right)


def not_private(right: np.ndarray, source: sg.Seeded) -> tuple[int, int]:
    return int(np.argmax(right.sum(axis=1))), len(right)


def no_validation(right: np.ndarray, source: sg.Seeded) -> tuple[int, int]:
    return len(right) - 1, len(right)


METHODS: dict[str, Callable[[np.ndarray, sg.Seeded], tuple[int, int]]] = {
    "gate": with_gate,
    "noise on each epoch": noise_on_each,
    "train all, choose once": chosen_once,
    "not private": not_private,
    "no validation": no_validation,
}


def measured() -> tuple[dict[str, list[tuple[float, float]]], np.ndarray]:
    """True accuracy and share of the gradient steps done, for each method and size; and one task's accuracies."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in METHODS}
    tasks = [task(seed, size=max(SIZES)) for seed in range(TASKS)]
    models = [np.array(list(training(*rows[0]))) for rows in tasks]
    truth = [correct(rows[2], model).mean(axis=1) for rows, model in zip(tasks, models, strict=True)]
    for size in SIZES:
        right = [correct(rows[1], model)[:, :size] for rows, model in zip(tasks, models, strict=True)]
        for name, method in METHODS.items():
            results = [
                (truth[at][chosen], STEPS[:trained].sum() / STEPS.sum())
                for at in range(TASKS)
                for run in range(RUNS)
                for chosen, trained in [method(right[at], sg.Seeded(1000 * at + run))]
            ]
            accuracy, work = np.mean(results, axis=0)
            found[name].append((float(accuracy), float(work)))
    return found, truth[0]


def one_training(size: int) -> tuple[list[bool], int]:
    """What the gate said in one training, the first epoch left out, and which epoch it chose."""
    train, validation, _ = task(0, size=max(SIZES))
    better, said = asked(size, sg.Seeded(4)), []
    for weights in training(*train):
        said.append(bool(better((validation[0][:size] @ weights > 0) == validation[1][:size])))
        if better.finished:
            break
    assert better.best is not None
    return said, better.best


def draw(path: Path, found: dict[str, list[tuple[float, float]]], curve: np.ndarray) -> None:
    """Left: one training and what the gate said. Right: how good the chosen model is, by size and method."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
    said, best = one_training(3_000)
    epochs = np.arange(1, curve.size + 1)
    left.plot(epochs, 100 * curve, color="#bbbbbb", lw=2, zorder=1)
    for above, colour, name in ((True, "#0072B2", "ABOVE: the new best"), (False, "#D55E00", "BELOW: no improvement")):
        at = np.flatnonzero(np.array(said) == above)
        left.scatter(at + 1, 100 * curve[at], s=34, color=colour, label=name, zorder=2)
    left.annotate("stopped here", (len(said), 100 * curve[len(said) - 1]), xytext=(8, 0), textcoords="offset points")
    left.annotate("chosen", (best + 1, 100 * curve[best]), xytext=(-10, -20), textcoords="offset points")
    left.set(xlabel="epoch", ylabel="true accuracy, %", title="One training, 3,000 private records, ε = 1")
    left.legend(frameon=False, loc="lower center", fontsize=9)
    for name, points in found.items():
        dashed = "--" if name in ("not private", "no validation") else "-"
        shown = f"{name}, {100 * np.mean([work for _, work in points]):.0f} % of the steps"
        right.plot(
            SIZES, [100 * good for good, _ in points], dashed, marker="o", ms=4, color=COLOURS[name], label=shown
        )
    right.legend(frameon=False, fontsize=9, loc="center right", bbox_to_anchor=(1, 0.4))
    right.set(xscale="log", xlabel="validation records", title=f"Accuracy of the chosen model, ε = {EPSILON}")
    right.set_xticks(SIZES, [f"{size:,}" for size in SIZES])
    right.minorticks_off()
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150, metadata={"Software": None})
    pyplot.close(figure)


def main(arguments: list[str]) -> None:
    found, curve = measured()
    print(f"| Validation records | {' | '.join(METHODS)} |")
    print(f"| ---: |{' ---: |' * len(METHODS)}")
    for at, size in enumerate(SIZES):
        cells = [f"{100 * found[name][at][0]:.1f} % ({100 * found[name][at][1]:.0f} %)" for name in METHODS]
        print(f"| {size:,} | {' | '.join(cells)} |")
    draw(Path(arguments[0]) if arguments else PICTURE, found, curve)


if __name__ == "__main__":
    main(sys.argv[1:])
