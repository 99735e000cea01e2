"""Ten thousand counting queries about a survey, a few dozen of them paid for: docs/pictures/online.png.

    python examples/online_answers.py [FILE.png]

The survey is invented, and so the noise may come from a seed: the picture is the same each time. On people's data leave
``source`` and ``not_private`` out.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas

import sparsegate as sg

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "online.png"
PEOPLE, QUESTIONS, QUERIES = 100_000, 12, 10_000
EPSILON, TOLERANCE, CUTOFF = 1, 3_000, 60
FREE, PAID, INK = "#7f8fa6", "#c0392b", "#222222"


def survey() -> pandas.DataFrame:
    """Twelve yes-or-no questions, answered by five kinds of people."""
    generator = np.random.default_rng(2010)
    kinds = generator.beta(1.5, 3, size=(5, QUESTIONS))
    yes = generator.random((PEOPLE, QUESTIONS)) < kinds[generator.choice(5, PEOPLE, p=[0.4, 0.25, 0.2, 0.1, 0.05])]
    return pandas.DataFrame({f"q{i}": yes[:, i].astype(int) for i in range(QUESTIONS)})


def ask_everything(people: pandas.DataFrame) -> tuple[np.ndarray, np.ndarray, float]:
    """The errors of all answers, which of them were paid for, and the margin of those that were not."""
    online = sg.uses.OnlineAnswers(
        people,
        {name: [0, 1] for name in people},
        unit="row",
        epsilon=EPSILON,
        tolerance=TOLERANCE,
        cutoff=CUTOFF,
        population=PEOPLE,
        source=sg.Seeded(10),
        not_private=True,
    )
    truth = np.zeros((2,) * QUESTIONS)
    np.add.at(truth, tuple(people[name] for name in people), 1)
    generator = np.random.default_rng(1)
    errors, paid, margin = [], [], 0.0
    for _ in range(QUERIES):
        chosen = sorted(generator.choice(QUESTIONS, int(generator.integers(1, 4)), replace=False))
        query = {f"q{i}": int(generator.integers(0, 2)) for i in chosen}
        answer = online.ask(query)
        true = truth[tuple(query.get(name, slice(None)) for name in people)].sum()
        errors.append(answer.estimate - true)
        paid.append(answer.paid)
        margin = margin if answer.paid else float(answer.margin or 0)
    return np.abs(errors), np.array(paid), margin


def draw(errors: np.ndarray, paid: np.ndarray, margin: float, path: Path) -> None:
    """Above: how far off each answer was. Below: how many had been paid for by then."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (top, bottom) = pyplot.subplots(
        2, 1, figsize=(9, 6), height_ratios=(3, 1.15), sharex=True, layout="constrained"
    )
    number = np.arange(1, errors.size + 1)
    top.scatter(number[~paid], errors[~paid], s=5, c=FREE, alpha=0.35, linewidths=0, rasterized=True)
    top.scatter(number[paid], errors[paid], s=30, c=PAID, zorder=3, linewidths=0)
    limit = 1.3 * margin
    lines = ((TOLERANCE, "-", f"tolerance {TOLERANCE:,}"), (margin, "--", f"margin of a free answer {margin:,.0f}"))
    for height, style, text in lines:
        top.axhline(height, color=INK, lw=1, ls=style)
        top.text(errors.size, height + 0.012 * limit, text, ha="right", va="bottom", color=INK, fontsize=9)
    top.set(ylim=(0, limit), ylabel="error, in people", xscale="log", xlim=(0.9, errors.size * 1.05))
    top.scatter([], [], s=30, c=FREE, label=f"{(~paid).sum():,} answers from history, free")
    top.scatter([], [], s=30, c=PAID, label=f"{paid.sum()} paid answers")
    top.legend(loc="upper left", frameon=False, fontsize=9)
    title = f"{errors.size:,} counting queries about {PEOPLE:,} people, epsilon {EPSILON} for all of them together"
    top.set_title(title, loc="left", fontsize=11)
    bottom.step(number, np.cumsum(paid), where="post", color=PAID, lw=1.8)
    bottom.axhline(CUTOFF, color=INK, lw=1, ls="-")
    bottom.text(1.1, CUTOFF - 2, f"cutoff {CUTOFF}", ha="left", va="top", color=INK, fontsize=9)
    bottom.set(ylabel="paid so far", xlabel="queries asked (logarithmic)", ylim=(0, CUTOFF * 1.12))
    bottom.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    for axes in (top, bottom):
        axes.spines[["top", "right"]].set_visible(False)
    top.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    figure.savefig(path, dpi=150, metadata={"Software": None})
    pyplot.close(figure)


def main(arguments: list[str]) -> None:
    errors, paid, margin = ask_everything(survey())
    print(f"{paid.sum()} of {errors.size:,} answers were paid for; the last of them was question {last(paid):,}")
    free: Any = errors[~paid]
    print(f"free answers: off by {free.mean():,.0f} people on average and {free.max():,.0f} at most, of {PEOPLE:,}")
    print(f"paid answers: off by {errors[paid].mean():,.0f} on average")
    print(f"noise on each of the {errors.size:,} answers would be off by {errors.size / EPSILON:,.0f} on average")
    draw(errors, paid, margin, Path(arguments[0]) if arguments else PICTURE)


def last(paid: np.ndarray) -> int:
    return int(np.flatnonzero(paid)[-1]) + 1


if __name__ == "__main__":
    main(sys.argv[1:])
