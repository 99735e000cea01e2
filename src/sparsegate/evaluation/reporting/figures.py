"""The figures, from the results alone: scores, the paper's two comparisons, and two that it lacks. PNG and SVG.

Colours are those of Okabe and Ito; every line also has a marker and a dash of its own, so that they can be told apart
without colour vision and in print. Nothing is set at import: style lives in a context.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from sparsegate.display.bar_chart import new_figure
from sparsegate.errors import ParameterError, load_extra
from sparsegate.evaluation.statements.findings import Findings, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Dash: TypeAlias = "str | tuple[int, tuple[float, ...]]"

ORACLE = "oracle threshold, not private"

_STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "lines.markersize": 4,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "sparsegate",
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """How a method or a dataset is drawn."""

    colour: str
    marker: str
    dash: Dash = "-"


_LONG: Dash = (0, (6.0, 2.0))
_DOTS: Dash = (0, (1.0, 1.5))
_MIXED: Dash = (0, (4.0, 1.5, 1.0, 1.5))

LINES: Mapping[str, Line] = MappingProxyType(
    {
        "svt-dpbook": Line(colour="#000000", marker="s"),
        "svt-s-1:1": Line(colour="#D55E00", marker="v", dash=_LONG),
        "svt-s-1:3": Line(colour="#E69F00", marker="^", dash=_DOTS),
        "svt-s-1:c": Line(colour="#CC79A7", marker="D", dash=_MIXED),
        "svt-s-1:c23": Line(colour="#0072B2", marker="o"),
        "svt-retr-0d": Line(colour="#999999", marker="x", dash=_DOTS),
        "svt-retr-1d": Line(colour="#E69F00", marker="^", dash=_DOTS),
        "svt-retr-2d": Line(colour="#0072B2", marker="v", dash=_LONG),
        "svt-retr-3d": Line(colour="#009E73", marker="D", dash=_MIXED),
        "svt-retr-4d": Line(colour="#CC79A7", marker="P", dash=_LONG),
        "svt-retr-5d": Line(colour="#D55E00", marker="X", dash=_DOTS),
        "em": Line(colour="#56B4E9", marker="*"),
        "svt-dpbook-once": Line(colour="#56B4E9", marker="P", dash=_DOTS),
        "svt-alg1": Line(colour="#009E73", marker="^", dash=_MIXED),
        "svt-dpbook-monotonic": Line(colour="#CC79A7", marker="D", dash=_LONG),
    }
)
"""Every method's line; no two of one figure share a colour or a marker."""

_OTHER = Line(colour="#777777", marker=".", dash=_MIXED)
_DATASETS = tuple(LINES[key] for key in ("svt-s-1:1", "svt-s-1:c23", "svt-retr-3d", "svt-dpbook"))


@dataclass(frozen=True, kw_only=True)
class ErrorFigure:
    """A figure of datasets x {SER, FNR}: the error of some methods against c, or against epsilon at one c.

    It is drawn where there are two of the methods or more, ``without`` those that another figure shows as well.
    """

    name: str
    title: str
    caption: str
    methods: tuple[str, ...]
    against: str = "count"
    without: tuple[str, ...] = ()

    def points(self, findings: Findings, dataset: str, method: str) -> list[Row]:
        """The rows of one line, from left to right."""
        if self.against == "count":
            found = [findings.get(dataset, method, count) for count in findings.counts]
            return [row for row in found if row is not None]
        count = swept_count(findings)
        rows = [
            row for row in findings.rows.values() if (row.dataset, row.method, row.count) == (dataset, method, count)
        ]
        return sorted(rows, key=lambda row: row.epsilon) if len(rows) > 1 else []


COMPARISONS = (
    ErrorFigure(
        name="interactive",
        title="Interactive methods",
        caption="The paper's comparison of SVT-DPBook and SVT-S with four ways to split ε.",
        methods=("svt-dpbook", "svt-s-1:1", "svt-s-1:3", "svt-s-1:c", "svt-s-1:c23"),
    ),
    ErrorFigure(
        name="non-interactive",
        title="Non-interactive methods",
        caption="The paper's comparison of EM and SVT with retraversal; kD raises the threshold by k standard "
        "deviations of the query noise.",
        methods=("em", *(f"svt-retr-{k}d" for k in range(1, 6))),
    ),
    ErrorFigure(
        name="epsilon",
        title="Error against ε",
        caption="Not in the paper: the same methods at one c and other values of ε.",
        methods=("svt-dpbook", "svt-s-1:1", "svt-s-1:c23", "svt-retr-3d", "em"),
        against="epsilon",
    ),
    ErrorFigure(
        name="ablation",
        title="Why SVT-DPBook loses",
        caption="Not in the paper: Alg. 2 with ρ drawn once, with the ρ of Alg. 1 (scale Δ/ε₁, drawn once), and with "
        "half its query noise ν, which suffices for monotonic queries; SVT-S 1:1 has the last two changes.",
        methods=("svt-dpbook", "svt-dpbook-once", "svt-alg1", "svt-dpbook-monotonic", "svt-s-1:1"),
        without=("svt-s-1:1",),
    ),
)

_METRICS = (("ser", "score error rate (SER)"), ("fnr", "false negative rate (FNR)"))


def swept_count(findings: Findings) -> int:
    """The c with the most values of epsilon."""
    epsilons: dict[int, set[float]] = {}
    for row in findings.rows.values():
        epsilons.setdefault(row.count, set()).add(row.epsilon)
    return max(epsilons, key=lambda count: len(epsilons[count]))


def draw_all(findings: Findings, folder: str | Path) -> dict[str, Path]:
    """Draw what the results have data for; the SVG of each figure by its name, a PNG lies beside each."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    matplotlib = load_extra("matplotlib", extra="plots")
    load_extra("matplotlib.figure", extra="plots")
    drawn = {}
    with matplotlib.rc_context(_STYLE):
        drawn["scores"] = _save(_scores(findings), target / "scores.svg")
        for comparison in COMPARISONS:
            if (figure := _compare(comparison, findings)) is not None:
                drawn[comparison.name] = _save(figure, target / f"{comparison.name}.svg")
    return drawn


def _figure(width: float, height: float) -> Any:
    figures = load_extra("matplotlib.figure", extra="plots")
    return figures.Figure(figsize=(width, height), layout="constrained")


def _scores(findings: Findings) -> Any:
    """The highest scores of each dataset, log scale."""
    figure = _figure(7.2, 4.0)
    axes = figure.subplots()
    for index, (dataset, scores) in enumerate(findings.scores.items()):
        line = _DATASETS[index % len(_DATASETS)]
        ranks = range(1, len(scores) + 1)
        axes.plot(
            ranks,
            scores,
            color=line.colour,
            linestyle=line.dash,
            marker=line.marker,
            markevery=(8 * index, 40),
            label=findings.title(dataset),
        )
    stand_ins = any(entry["stand_in"] for entry in findings.datasets.values())
    most = max(map(len, findings.scores.values()))
    axes.set(yscale="log", xlabel="rank", ylabel="score (records with the item)")
    axes.set_title(f"The {most} highest scores" + ("; stand-in: a law in place of the data" if stand_ins else ""))
    axes.legend()
    return figure


def _compare(comparison: ErrorFigure, findings: Findings) -> Any | None:
    """One figure, or None where the results have fewer than two of its methods."""
    lines = {
        (dataset, method): rows
        for dataset in findings.datasets
        for method in comparison.methods
        if (rows := comparison.points(findings, dataset, method))
    }
    if len({method for _, method in lines} - set(comparison.without)) < 2:
        return None
    datasets = list(dict.fromkeys(dataset for dataset, _ in lines))
    figure = _figure(7.2, 2.35 * len(datasets) + 0.9)
    panels = figure.subplots(len(datasets), 2, sharex=True, sharey=True, squeeze=False)
    handles: dict[str, Any] = {}
    for (dataset, method), rows in lines.items():
        for axes, (metric, _) in zip(panels[datasets.index(dataset)], _METRICS, strict=True):
            handles[method] = _line(axes, rows, metric, comparison.against, LINES.get(method, _OTHER))
    for dataset, pair in zip(datasets, panels, strict=True):
        for axes, (metric, meaning) in zip(pair, _METRICS, strict=True):
            axes.set_title(f"{findings.title(dataset)}, {metric.upper()}", loc="left")
            axes.set(ylabel=meaning, ylim=(-0.06, 1.06))
            axes.label_outer()
    by_epsilon = comparison.against == "epsilon"
    for axes in panels[-1]:
        axes.set_xlabel("ε" if by_epsilon else "c, how many are selected")
    if by_epsilon:
        ticks = sorted({row.epsilon for rows in lines.values() for row in rows})
        panels[0, 0].set_xscale("log")
        panels[0, 0].set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
        panels[0, 0].minorticks_off()
    fixed = f"c = {swept_count(findings)}" if by_epsilon else f"ε = {findings.epsilon:g}"
    runs = findings.manifest["parameters"]["runs"]
    figure.suptitle(f"{comparison.title}: {fixed}, {runs} runs, mean ± standard deviation; {ORACLE}", fontsize=9)
    labels = [findings.methods[method]["title"] for method in handles]
    figure.legend(list(handles.values()), labels, loc="outside lower center", ncols=3)
    return figure


def draw_results(rows: list[dict[str, Any]]) -> Figure:
    """The score error rate of results against c: a panel for each dataset and epsilon, a line for each method."""
    if not rows or "ser_mean" not in rows[0]:
        raise ParameterError("plot", "needs the results of an experiment", next_step="read(folder) without a name")
    panels = list(dict.fromkeys((row["dataset"], row["epsilon"]) for row in rows))
    figure = new_figure(7.2, 2.35 * len(panels) + 0.7)
    grid = figure.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    handles: dict[str, Any] = {}
    for (dataset, epsilon), axes in zip(panels, grid, strict=True):
        axes.set_title(f"{dataset}, ε = {epsilon:g}; {ORACLE}", loc="left", fontsize=9)
        axes.set(ylabel="score error rate (SER)", ylim=(-0.06, 1.06))
        mine = [row for row in rows if (row["dataset"], row["epsilon"]) == (dataset, epsilon)]
        for method in dict.fromkeys(row["method"] for row in mine):
            points = sorted((row["count"], row["ser_mean"]) for row in mine if row["method"] == method)
            line = LINES.get(method, _OTHER)
            style = {"color": line.colour, "linestyle": line.dash, "marker": line.marker, "markersize": 4}
            (handles[method],) = axes.plot(*zip(*points, strict=True), **style)
    grid[-1].set_xlabel("c, how many are selected")
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=3)
    return figure  # type: ignore[no-any-return]


def _line(axes: Any, rows: list[Row], metric: str, against: str, line: Line) -> Any:
    x = [getattr(row, against) for row in rows]
    mean = [getattr(row, f"{metric}_mean") for row in rows]
    std = [getattr(row, f"{metric}_std") for row in rows]
    low, high = ([m + sign * s for m, s in zip(mean, std, strict=True)] for sign in (-1, 1))
    axes.fill_between(x, low, high, color=line.colour, alpha=0.13, linewidth=0)
    (handle,) = axes.plot(x, mean, color=line.colour, linestyle=line.dash, marker=line.marker)
    return handle


def _save(figure: Any, path: Path) -> Path:
    """Write SVG and PNG; the layout is computed once, and files of the same results are the same."""
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")
    figure.savefig(path, metadata={"Date": None})
    figure.savefig(path.with_suffix(".png"), dpi=150)
    return path
