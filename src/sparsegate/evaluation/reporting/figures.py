"""The figures as files, PNG and SVG, from the results alone: scores, the paper's two comparisons, and two it lacks.

What a figure shows is in ``error_figures`` and how a line looks in ``line_styles``, for the page as well. Nothing is
set at import: style lives in a context.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsegate.display.bar_chart import new_figure
from sparsegate.errors import ParameterError, load_extra
from sparsegate.evaluation.experiment.progress import Expected
from sparsegate.evaluation.experiment.workers import SharedValue, WorkerPool
from sparsegate.evaluation.reporting.charts import BAR_ERRORS
from sparsegate.evaluation.reporting.error_figures import COMPARISONS, MORE, ORACLE, ErrorFigure, more_methods
from sparsegate.evaluation.reporting.line_styles import DATASET_STYLES, LineStyle, styles
from sparsegate.evaluation.statements.findings import Findings, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "lines.markersize": 4,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "sparsegate",
}

WIDTH = 7.2
"""Of a figure, in inches."""

_MEASURES = (("ser", "score error rate (SER)"), ("fnr", "false negative rate (FNR)"))


def draw_all(findings: Findings, folder: str | Path, pool: WorkerPool | None = None) -> dict[str, Path]:
    """Draw what the results have data for; the SVG of each figure by its name, a PNG lies beside each.

    The processes of the pool share the work.
    """
    target, workers = Path(folder), pool or WorkerPool()
    target.mkdir(parents=True, exist_ok=True)
    load_extra("matplotlib.figure", extra="plots")
    shared = workers.share(findings)
    plan_figures(workers)
    with workers.plan.stage("figures", total=len(FIGURES)):
        drawn = {}
        for (name, _, _), path in workers.each(_draw, [(name, shared, target) for name in FIGURES]):
            drawn[name] = path
            workers.plan.advance(FIGURE)
    return {name: path for name in FIGURES if (path := drawn[name]) is not None}


def plan_figures(workers: WorkerPool) -> None:
    """Let the plan expect the figures."""
    workers.plan.expect("figures", [FIGURE] * len(FIGURES), jobs=workers.jobs)


def _draw(given: tuple[str, SharedValue, Path]) -> Path | None:
    name, findings, target = given
    with load_extra("matplotlib", extra="plots").rc_context(_STYLE):
        figure = FIGURES[name](findings.get())
        return None if figure is None else _save(figure, target / f"{name}.svg")


def _figure(height: float, *, below: float) -> Any:
    """A figure with margins in inches. A layout that is computed takes as long as drawing, and these suffice."""
    figures = load_extra("matplotlib.figure", extra="plots")
    figure = figures.Figure(figsize=(WIDTH, height))
    sides = {"left": 0.65 / WIDTH, "right": 1 - 0.3 / WIDTH, "bottom": below / height, "top": 1 - 0.5 / height}
    figure.subplots_adjust(**sides, hspace=0.25, wspace=0.28)
    return figure


def _look(style: LineStyle) -> dict[str, Any]:
    return {
        "color": style.light,
        "linestyle": (0, style.dash) if style.dash else "-",
        "marker": style.marker,
        "linewidth": style.width,
    }


def _scores(findings: Findings) -> Any:
    """The highest scores of each dataset, log scale."""
    figure = _figure(4.0, below=0.5)
    axes = figure.subplots()
    for index, (dataset, scores) in enumerate(findings.scores.items()):
        look = _look(DATASET_STYLES[index % len(DATASET_STYLES)])
        label = findings.title(dataset)
        axes.plot(range(1, len(scores) + 1), scores, markevery=(8 * index, 40), label=label, **look)
    stand_ins = any(entry["stand_in"] for entry in findings.datasets.values())
    most = max(map(len, findings.scores.values()))
    axes.set(yscale="log", xlabel="rank", ylabel="score (records with the item)")
    axes.set_title(f"The {most} highest scores" + ("; stand-in: a law in place of the data" if stand_ins else ""))
    axes.legend()
    return figure


def _compare(comparison: ErrorFigure, findings: Findings) -> Any | None:
    """One figure, or None where the results have fewer than two of its methods."""
    lines = comparison.lines(findings)
    if not lines:
        return None
    legend = math.ceil(len({method for mine in lines.values() for method in mine}) / 3)
    figure = _figure(2.35 * len(lines) + 0.9, below=0.55 + 0.2 * legend)
    panels = figure.subplots(len(lines), 2, sharex=True, squeeze=False)
    looks = styles(comparison.methods)
    handles: dict[str, Any] = {}
    for (dataset, mine), pair in zip(lines.items(), panels, strict=True):
        for axes, (measure, meaning) in zip(pair, _MEASURES, strict=True):
            for method, rows in mine.items():
                handles[method] = _line(axes, rows, measure, comparison.against, looks[method])
            axes.set_title(f"{findings.title(dataset)}, {measure.upper()}", loc="left")
            axes.set_ylabel(meaning)
            axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    for axes in panels[-1]:
        axes.set_xlabel(comparison.x_label)
    if comparison.beyond:
        panels[0, 0].set_xscale("log")
    if comparison.against == "epsilon":
        ticks = sorted({row.epsilon for mine in lines.values() for rows in mine.values() for row in rows})
        panels[0, 0].set_xscale("log")
        panels[0, 0].set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
        panels[0, 0].minorticks_off()
    about = f"{comparison.fixed(findings)}, mean ± {BAR_ERRORS} standard errors; {ORACLE}"
    figure.suptitle(f"{comparison.title}: {about}", fontsize=9, y=1 - 0.1 / figure.get_figheight(), va="top")
    labels = [findings.methods[method]["title"] for method in handles]
    figure.legend(list(handles.values()), labels, loc="lower center", ncols=3)
    return figure


def draw_results(rows: list[dict[str, Any]]) -> Figure:
    """The score error rate of results against c: a panel for each dataset and epsilon, a line for each method."""
    if not rows or "ser_mean" not in rows[0]:
        raise ParameterError("plot", "needs the results of an experiment", next_step="read(folder) without a name")
    panels = list(dict.fromkeys((row["dataset"], row["epsilon"]) for row in rows))
    figure = new_figure(7.2, 2.35 * len(panels) + 0.7)
    grid = figure.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    looks = styles(row["method"] for row in rows)
    handles: dict[str, Any] = {}
    for (dataset, epsilon), axes in zip(panels, grid, strict=True):
        axes.set_title(f"{dataset}, ε = {epsilon:g}; {ORACLE}", loc="left", fontsize=9)
        axes.set(ylabel="score error rate (SER)", ylim=(-0.06, 1.06))
        mine = [row for row in rows if (row["dataset"], row["epsilon"]) == (dataset, epsilon)]
        for method, style in looks.items():
            points = sorted((row["count"], row["ser_mean"]) for row in mine if row["method"] == method)
            if points:
                (handles[method],) = axes.plot(*zip(*points, strict=True), markersize=4, **_look(style))
    grid[-1].set_xlabel("c, how many are selected")
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=3)
    return figure  # type: ignore[no-any-return]


def _line(axes: Any, rows: list[Row], measure: str, against: str, style: LineStyle) -> Any:
    x = [getattr(row, against) for row in rows]
    mean = [getattr(row, f"{measure}_mean") for row in rows]
    bars = [BAR_ERRORS * getattr(row, f"{measure}_error") for row in rows]
    axes.errorbar(x, mean, yerr=bars, fmt="none", ecolor=style.light, elinewidth=0.8)
    (handle,) = axes.plot(x, mean, **_look(style))
    if style.strong:
        bold = {"color": style.light, "fontweight": "bold", "verticalalignment": "center", "annotation_clip": False}
        axes.annotate(style.label, (x[-1], mean[-1]), xytext=(5, 0), textcoords="offset points", **bold)
    return handle


def _save(figure: Any, path: Path) -> Path:
    """Write SVG and PNG; files of the same results are the same."""
    figure.savefig(path, metadata={"Date": None})
    figure.savefig(path.with_suffix(".png"), dpi=150)
    return path


FIGURES: Mapping[str, Callable[[Findings], Any | None]] = {
    "scores": _scores,
    **{comparison.name: partial(_compare, comparison) for comparison in COMPARISONS},
    MORE: lambda findings: _compare(more_methods(findings), findings),
}
"""What draws each figure, or gives None where the results have no data for it."""

FIGURE = Expected(kind="figure", seconds=1.3)
