"""A day of a web log with two outages, watched by two alerts: docs/pictures/alerts.png.

    python examples/outage_alert.py [FILE.png]
    python examples/outage_alert.py --measure

The log is invented, and so the noise may come from a seed: the picture is the same each time. On people's data leave
``source`` and ``not_private`` out. ``--measure`` prints how many windows of a day are answered wrongly, by method.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sparsegate as sg

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "alerts.png"
START, WIDTH, WINDOWS = 1_772_323_200, 300, 288  # 2026-03-01, in windows of five minutes
DAY = sg.uses.TimeWindows(width=WIDTH, start=START, until=START + WIDTH * WINDOWS)
PEOPLE, EPSILON, CUTOFF = 20_000, 1, 10
ERRORS, DROP = 130, 150
"""More people than this with an error, or fewer than this at all: somebody should look. Public numbers."""
BROKEN, DARK = range(169, 177), range(244, 249)
"""14:05 to 14:45 one request of three fails; 20:20 to 20:45 nobody gets through who was not there already."""
INK, LINE, FIRED = "#222222", "#7f8fa6", "#c0392b"


def log() -> Iterator[tuple[int, str, int]]:
    """Rows of (when, who, status). A few hundred people are there all day: each of them is in every window."""
    generator = np.random.default_rng(404)
    for window in range(WINDOWS):
        hour = window * WIDTH / 3600
        visitors = int(520 + 260 * np.sin((hour - 9) / 24 * 2 * np.pi) + generator.normal(0, 18))
        visitors = 40 if window in DARK else visitors
        faults = 0.35 if window in BROKEN else 0.02
        regulars = np.arange(min(visitors, 200))
        passing = generator.choice(np.arange(200, PEOPLE), max(0, visitors - 200), replace=False)
        for who in np.concatenate([regulars, passing]):
            when = START + window * WIDTH + int(generator.integers(WIDTH))
            yield when, f"visitor {who}", 500 if generator.random() < faults else 200


def watched(rows: list[tuple[int, str, int]], *, seed: int, **options: Any) -> dict[str, Any]:
    """Both alerts over the day: their answers, and what they cost."""
    noise: dict[str, Any] = {"source": sg.Seeded(seed), "not_private": True}
    alerts = {
        "errors": sg.uses.Alert(threshold=ERRORS, cutoff=CUTOFF, epsilon=EPSILON, windows=DAY, **options, **noise),
        "visitors": sg.uses.Alert(
            threshold=DROP, cutoff=CUTOFF, epsilon=EPSILON, windows=DAY, fires="below", **options, **noise
        ),
    }
    for when, who, status in rows:
        alerts["visitors"].add(who, when)
        if status >= 500:
            alerts["errors"].add(who, when)
    for alert in alerts.values():
        list(alert.advance(START + WIDTH * WINDOWS))  # the day is over: that is public
    return alerts


def exact(rows: list[tuple[int, str, int]]) -> dict[str, np.ndarray]:
    """The true counts, which no private alert shows."""
    seen: dict[str, list[set[str]]] = {name: [set() for _ in range(WINDOWS)] for name in ("errors", "visitors")}
    for when, who, status in rows:
        window = (when - START) // WIDTH
        seen["visitors"][window].add(who)
        if status >= 500:
            seen["errors"][window].add(who)
    return {name: np.array([len(people) for people in windows]) for name, windows in seen.items()}


def draw(path: Path) -> None:
    """The counts, the thresholds, and where each alert fired, private and not."""
    from matplotlib.figure import Figure

    rows = list(log())
    counts, alerts = exact(rows), watched(rows, seed=7)
    figure = Figure(figsize=(9, 6.2), layout="constrained", facecolor="white")
    hours = np.arange(WINDOWS) * WIDTH / 3600
    titles = {"errors": "People with an error, in five minutes", "visitors": "People at all, in five minutes"}
    for axes, (name, alert) in zip(figure.subplots(2, 1, sharex=True), alerts.items(), strict=True):
        fired = [window for window, answer in alert.answers.items() if answer.fired]
        should = counts[name] >= ERRORS if name == "errors" else counts[name] <= DROP
        axes.axhspan(alert.threshold - alert.margin(), alert.threshold + alert.margin(), color=LINE, alpha=0.2, lw=0)
        axes.axhline(alert.threshold, color=INK, lw=1, ls="--", label=f"threshold {alert.threshold}, and the margin")
        axes.plot(hours, counts[name], color=LINE, lw=1.2, label="the true count, which stays inside")
        axes.plot(hours[should], counts[name][should], "o", ms=9, mfc="none", mec=INK, label="fires without privacy")
        said = [alert.answers[window].estimate for window in fired]
        axes.plot(hours[fired], said, "o", ms=4, color=FIRED, label="fired, with its estimate")
        spent = f"{len(fired)} fired, ε = {float(alert.spent):.2f} of {EPSILON} spent"
        axes.set_title(f"{titles[name]}: {spent}", loc="left", color=INK, fontsize=11)
        axes.set_ylim(bottom=min(0, *said) - 10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8.5, loc="upper left", ncols=2)
    axes.set_xlim(0, 24)
    axes.set_xticks(range(0, 25, 3), [f"{hour:02d}:00" for hour in range(0, 25, 3)])
    figure.get_axes()[0].set_ylim(top=1.35 * counts["errors"].max())
    figure.get_axes()[1].set_ylim(top=1.3 * counts["visitors"].max())
    figure.savefig(path, dpi=130)


def measure(days: int = 40) -> None:
    """How many of the 288 windows are answered wrongly, on average, by epsilon and method."""
    counts = exact(list(log()))["errors"]
    should = counts >= ERRORS
    ways: dict[str, dict[str, Any]] = {
        "gate, any number of windows": {"method": "gate"},
        "counts, 3 windows a person": {"windows_per_user": 3, "method": "counts"},
        "counts, 12 windows a person": {"windows_per_user": 12, "method": "counts"},
        "counts, all 288 windows": {"method": "counts"},
    }
    print(f"wrong windows of {WINDOWS}, mean of {days} days; {int(should.sum())} should fire")
    print("epsilon", *(f"{name:>30}" for name in ways))
    for epsilon in (0.25, 0.5, 1, 2):
        row = []
        for options in ways.values():
            wrong = 0
            for day in range(days):
                noise: dict[str, Any] = {"source": sg.Seeded(day), "not_private": True}
                options |= {"threshold": ERRORS, "cutoff": CUTOFF, "most_windows": WINDOWS}
                alert = sg.uses.Alert(epsilon=epsilon, **options, **noise)
                for window, count in enumerate(counts):
                    if alert.closed:
                        wrong += int(should[window:].sum())
                        break
                    wrong += alert.ask(window, int(count)).fired != should[window]
            row.append(wrong / days)
        print(f"{epsilon:>7}", *(f"{value:>30.2f}" for value in row))


if __name__ == "__main__":
    if "--measure" in sys.argv[1:]:
        measure()
    else:
        target = Path(sys.argv[1]) if sys.argv[1:] else PICTURE
        draw(target)
        print(f"wrote {target.name}")
