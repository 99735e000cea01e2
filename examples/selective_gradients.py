"""Selective gradients (Shokri, Shmatikov 2015), 101,770 coordinates: table and picture of docs/explanation/when_not.md.

    python examples/selective_gradients.py [FILE.png]

A network of 784 - 128 - 10 units is trained for a while on invented pictures; then 60,000 people give one gradient each
and one update is made of them: by a gate that chooses c coordinates and noise on those; by a selection and noise on
those; by Gaussian noise on all of them (DP-SGD). All at the same (epsilon, delta), for one step, and the three are
given what nobody has: the gate the best of some thresholds, once it is known how they end, and all of them the median
as clip.

Measured: how many of the c largest coordinates were found, and the cosine between the update and the true gradient.
The data are invented, so the noise comes from a seed; and the Gaussian noise is numpy's, in floats, which is no noise
for people's data.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, stats

import sparsegate as sg

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "gradients.png"
PEOPLE, INPUTS, HIDDEN, CLASSES = 60_000, 784, 128, 10
DELTA, EPSILONS, COUNTS = 1e-6, (0.1, 1.0, 10.0), (100, 1_000, 10_000)
BARS = (1, 1.25, 1.5, 2, 3, 4)  # times the c-th largest coordinate
NAMES = {"gate": "#D55E00", "selection": "#009E73", "noise on all": "#0072B2"}
BEST = "the c largest, no noise"


def pictures(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Ten kinds of pictures of 784 points, few of them dark, and half a person's picture is their own."""
    kinds = generator.random((CLASSES, INPUTS)) * (generator.random((CLASSES, INPUTS)) < 0.2)
    labels = generator.integers(0, CLASSES, PEOPLE)
    own = generator.random((PEOPLE, INPUTS), dtype=np.float32) * (generator.random((PEOPLE, INPUTS)) < 0.2)
    return (0.5 * kinds[labels] + 0.5 * own).astype(np.float32), labels


@dataclass(frozen=True, kw_only=True)
class Gradients:
    """Each person's gradient, as the factors of its outer products: inputs and errors of both layers."""

    inputs: tuple[np.ndarray, np.ndarray]
    errors: tuple[np.ndarray, np.ndarray]

    def total(self, weights: np.ndarray) -> np.ndarray:
        """The sum of all gradients, each person's multiplied by their weight, as one vector."""
        parts = zip(self.inputs, self.errors, strict=True)
        return np.concatenate([(given.T @ (error * weights[:, None])).ravel() for given, error in parts])

    def norms(self, order: float) -> np.ndarray:
        """The length of each person's gradient; of an outer product it is the product of the lengths."""
        parts = zip(self.inputs, self.errors, strict=True)
        both = [np.linalg.norm(given, order, axis=1) * np.linalg.norm(error, order, axis=1) for given, error in parts]
        return np.asarray(np.linalg.norm(both, order, axis=0))

    def clipped(self, order: float) -> tuple[np.ndarray, float]:
        """The sum of the gradients, each made at most as long as the median one, and that length."""
        norms = self.norms(order)
        clip = float(np.median(norms))
        return self.total(np.minimum(1, clip / norms)), clip


def gradients() -> Gradients:
    """The gradients of all people after a few steps on the first thousand."""
    generator = np.random.default_rng(2015)
    inputs, labels = pictures(generator)
    inputs = np.hstack([inputs, np.ones((PEOPLE, 1), dtype=np.float32)])  # and a bias
    wanted = np.eye(CLASSES, dtype=np.float32)[labels]
    first = generator.normal(0, 0.05, (INPUTS + 1, HIDDEN)).astype(np.float32)
    second = generator.normal(0, 0.1, (HIDDEN + 1, CLASSES)).astype(np.float32)

    def backward(rows: slice) -> Gradients:
        hidden = np.maximum(inputs[rows] @ first, 0)
        hidden = np.hstack([hidden, np.ones((len(hidden), 1), dtype=np.float32)])
        scores = hidden @ second
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        error = chances / chances.sum(axis=1, keepdims=True) - wanted[rows]
        behind = (error @ second[:-1].T) * (hidden[:, :-1] > 0)
        return Gradients(inputs=(inputs[rows], hidden), errors=(behind, error))

    for _ in range(15):
        step = 0.3 / 1000 * backward(slice(1000)).total(np.ones(1000, dtype=np.float32))
        first -= step[: first.size].reshape(first.shape)
        second -= step[first.size :].reshape(second.shape)
    return backward(slice(None))


def gaussian_scale(epsilon: float, delta: float = DELTA) -> float:
    """The standard deviation, in lengths of the clip, of Gaussian noise that is (epsilon, delta)-private, exactly.

    Balle, Wang 2018: delta = Phi(1/(2s) - eps s) - e^eps Phi(-1/(2s) - eps s).
    """

    def excess(log_scale: float) -> float:
        scale = np.exp(log_scale)
        near, far = 0.5 / scale - epsilon * scale, -0.5 / scale - epsilon * scale
        return float(stats.norm.cdf(near) - np.exp(epsilon + stats.norm.logcdf(far))) - delta

    return float(np.exp(optimize.brentq(excess, -5, 10)))


def with_values(
    chosen: np.ndarray, by_length: tuple[np.ndarray, float], epsilon: float, generator: np.random.Generator
) -> np.ndarray:
    """The update of those coordinates alone, with half of epsilon and of delta for noise on them.

    A person's whole gradient is at most as long as the clip, so a part of it is: the noise does not grow with c.
    """
    total, clip = by_length
    update, noise = np.zeros(total.size), gaussian_scale(epsilon / 2, DELTA / 2) * clip
    update[chosen] = total[chosen] + generator.normal(0, noise, chosen.size)
    return update


def updates(
    by_coordinate: tuple[np.ndarray, float], by_length: tuple[np.ndarray, float], epsilon: float, count: int, seed: int
) -> dict[str, list[tuple[np.ndarray, np.ndarray]]]:
    """Of each method: the coordinates it takes for the c largest, and its update; of the gate for each threshold."""
    generator, source = np.random.default_rng(seed), sg.Seeded(seed)
    free: Any = {"source": source, "not_private": True}
    total, clip = by_coordinate
    sizes = np.abs(total)
    order = generator.permutation(sizes.size)
    bar = float(np.partition(sizes, -count)[-count])
    half: Any = {"epsilon": epsilon / 2, "delta": DELTA / 2, "sensitivity": clip}
    gates = [sg.SparseVector(threshold=bar * times, cutoff=count, **half, **free) for times in BARS]
    by_gate = [order[np.flatnonzero(gate.ask_many(sizes[order]))] for gate in gates]
    by_choice = sg.select_top(sizes, count=count, **half, **free).indices
    assert by_choice is not None
    whole, length = by_length
    noisy = whole + generator.normal(0, gaussian_scale(epsilon) * length, whole.size)
    return {
        "gate": [(chosen, with_values(chosen, by_length, epsilon, generator)) for chosen in by_gate],
        "selection": [(by_choice, with_values(by_choice, by_length, epsilon, generator))],
        "noise on all": [(np.argpartition(np.abs(noisy), -count)[-count:], noisy)],
    }


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else 0.0


def measured(found: Gradients) -> dict[tuple[float, int], dict[str, tuple[float, float]]]:
    """For each epsilon and c and method, the share of the c largest that was found, and the cosine."""
    true = found.total(np.ones(PEOPLE, dtype=np.float32)).astype(np.float64)
    clipped = found.clipped(np.inf), found.clipped(2)  # by a person's largest coordinate; by the length of all
    table = {}
    for count in COUNTS:
        largest = np.argpartition(np.abs(true), -count)[-count:]
        kept = np.zeros(true.size)
        kept[largest] = true[largest]
        for epsilon in EPSILONS:
            row = {
                name: max(
                    ((np.isin(largest, chosen).mean(), cosine(update, true)) for chosen, update in made),
                    key=lambda found_and_cosine: found_and_cosine[1],
                )
                for name, made in updates(*clipped, epsilon, count, seed=1).items()
            }
            table[epsilon, count] = row | {BEST: (1.0, cosine(kept, true))}
    return table


def draw(path: Path, table: dict[tuple[float, int], dict[str, tuple[float, float]]]) -> None:
    """The cosine with the true gradient, by epsilon, a panel for each c."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.6), layout="constrained")
    for axes, count in zip(figure.subplots(1, len(COUNTS), sharey=True), COUNTS, strict=True):
        for name, colour in NAMES.items():
            axes.plot(EPSILONS, [table[eps, count][name][1] for eps in EPSILONS], "o-", color=colour, label=name)
        axes.axhline(table[1.0, count][BEST][1], color="#222222", ls="--", lw=1, label=BEST)
        axes.set(
            xscale="log", xlabel="ε of one step", title=f"c = {count:,} of 101,770 coordinates", ylim=(-0.05, 1.05)
        )
        axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("cosine with the true gradient")
    lines, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=130)


def main(arguments: list[str]) -> None:
    table = measured(gradients())
    print("| ε | c | gate: found, cosine | selection: found, cosine | noise on all: found, cosine | no noise: cosine |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for (epsilon, count), row in sorted(table.items()):
        cells = [f"{100 * row[name][0]:.1f} %, {row[name][1]:.3f}" for name in NAMES]
        print(f"| {epsilon:g} | {count:,} | {' | '.join(cells)} | {row[BEST][1]:.3f} |")
    draw(Path(arguments[0]) if arguments else PICTURE, table)


if __name__ == "__main__":
    main(sys.argv[1:])
