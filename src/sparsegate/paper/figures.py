"""The figures as files, PNG and SVG, from the results alone: scores, the paper's two comparisons, and two it lacks.

What a figure shows is in ``error_figures`` and how a line looks in ``line_styles``, for the page as well. Nothing is
set at import: style lives in a context.

What the figures of errors show: which methods, against what, in which measure; on the page and in files.

The figures of the reproduction's page, from the results: a panel for each dataset, a view for each measure.

The grid of claims and datasets: what held and what did not, where, and which rows and figure say so.

Failures come first. A mark leads to the panel of the figure that shows most of its rows, "rows" to the rows; a row
leads to its panel, and a panel back to the marks that it is about.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsegate.display.charts import new_figure
from sparsegate.errors import ParameterError, load_extra
from sparsegate.paper.charts import (
    BAR_ERRORS,
    DATASET_STYLES,
    ChartLine,
    ChartPoint,
    FigurePanel,
    LineChart,
    LineStyle,
    PageFigure,
    styles,
)
from sparsegate.paper.findings import CellKey, Checked, Findings, PlaceJudgement, Row, Support
from sparsegate.paper.workers import Expected, SharedValue, WorkerPool

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ORACLE = "oracle threshold, not private"

MEASURES = {"ser": "SER", "total_ser": "total SER", "fnr": "FNR"}
"""The measures of error, by the beginning of their columns."""

MORE = "more-methods"
"""The name of the figure of methods that no other figure shows."""


@dataclass(frozen=True, kw_only=True)
class ErrorFigure:
    """A figure with a panel for each dataset: the error of some methods against c, or against epsilon at one c.

    It is drawn where there are two of the methods or more, and one that is not ``without``: those another figure shows.
    With ``beyond`` it has every c there is, on a logarithmic scale, if one of them is not in the main experiment.
    ``first`` is the measure that the page shows first.
    """

    name: str
    title: str
    caption: str
    methods: tuple[str, ...]
    against: str = "count"
    without: tuple[str, ...] = ()
    beyond: bool = False
    first: str = "ser"

    def points(self, findings: Findings, dataset: str, method: str) -> list[Row]:
        """The rows of one line, from left to right."""
        rows = [row for row in findings.rows.values() if (row.dataset, row.method) == (dataset, method)]
        if self.against == "epsilon":
            count = swept_count(findings)
            swept = sorted((row for row in rows if row.count == count), key=lambda row: row.epsilon)
            return swept if len(swept) > 1 else []
        shown = [row for row in rows if row.epsilon == findings.epsilon]
        return sorted((row for row in shown if self.beyond or row.count in findings.counts), key=lambda row: row.count)

    def lines(self, findings: Findings) -> dict[str, dict[str, list[Row]]]:
        """The rows of each line, by dataset and method in drawing order; nothing with fewer than two methods."""
        found = {
            dataset: {
                method: rows for method in styles(self.methods) if (rows := self.points(findings, dataset, method))
            }
            for dataset in findings.datasets
        }
        shown = {method for lines in found.values() for method in lines}
        counts = {row.count for lines in found.values() for rows in lines.values() for row in rows}
        enough = len(shown) > 1 and shown - set(self.without) and (not self.beyond or counts - set(findings.counts))
        return {dataset: lines for dataset, lines in found.items() if lines} if enough else {}

    def fixed(self, findings: Findings) -> str:
        """What is the same in all of the figure."""
        return f"c = {swept_count(findings)}" if self.against == "epsilon" else f"ε = {findings.epsilon:g}"

    @property
    def measures(self) -> dict[str, str]:
        """The measures, the first one first."""
        return {self.first: MEASURES[self.first], **MEASURES}

    @property
    def x_label(self) -> str:
        """What the lines go along."""
        return "ε" if self.against == "epsilon" else "c, how many are selected"


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
        name="retraversal",
        title="Retraversal alone",
        caption="Not a figure of the paper, but a statement: going through the items until c are selected, without a "
        "raised threshold, beside one pass and beside EM.",
        methods=("svt-s-1:c23", "svt-retr-0d", "em"),
        without=("em", "svt-s-1:c23"),
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
        without=("svt-dpbook", "svt-s-1:1"),
    ),
    ErrorFigure(
        name="thresholds",
        title="A threshold that is off",
        caption="What the paper says in Section 5: SVT-S 1:c^(2/3) with half of T, and with twice T in one pass and "
        "with retraversal. Fewer than c items, all of them high, have a negative SER; total SER and FNR count those "
        "that are missing.",
        first="total_ser",
        methods=("svt-s-1:c23", "svt-s-half-t", "svt-s-double-t", "svt-s-double-t-retr"),
        without=("svt-s-1:c23",),
    ),
    ErrorFigure(
        name="without-c",
        title="Query noise without the factor c",
        caption="What the paper says in Section 3: Alg. 4 has less noise than it needs, and is not private at this ε.",
        methods=("svt-s-1:3", "alg-4", "em"),
        without=("svt-s-1:3", "em"),
    ),
    ErrorFigure(
        name="large-c",
        title="Larger c",
        caption="The largest c that the paper names: 400 for itemsets (LC14), 140,106 for gradients (SS15).",
        methods=("svt-s-1:c23", "svt-retr-5d", "em"),
        beyond=True,
    ),
)


def more_methods(findings: Findings) -> ErrorFigure:
    """The figure of the methods that none of ours shows, beside EM."""
    known = {method for figure in COMPARISONS for method in figure.methods}
    return ErrorFigure(
        name=MORE,
        title="Further methods",
        caption="Methods that the paper does not compare.",
        methods=(*(method for method in findings.methods if method not in known), "em"),
        without=("em",),
    )


def comparisons(findings: Findings) -> tuple[ErrorFigure, ...]:
    """Every figure of errors that there is data for."""
    return tuple(figure for figure in (*COMPARISONS, more_methods(findings)) if figure.lines(findings))


def swept_count(findings: Findings) -> int:
    """The c with the most values of epsilon."""
    epsilons: dict[int, set[float]] = {}
    for row in findings.rows.values():
        epsilons.setdefault(row.count, set()).add(row.epsilon)
    return max(epsilons, key=lambda count: len(epsilons[count]))


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


RANKS = (1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 300)
"""The ranks at which the picture of the scores has a point."""

Note = Callable[[str, str], str]
"""HTML to stand below the panel of a figure and a dataset."""


def panel_name(figure: str, dataset: str) -> str:
    """What a link to a panel leads to."""
    return "_".join(f"panel-{figure}-{dataset}".split())


def files_of(pictures: str, rows: str) -> dict[str, str]:
    """The links beside a figure, by their text: its rows and its pictures, without their suffixes."""
    return {"CSV": f"{rows}.csv", "Parquet": f"{rows}.parquet", "SVG": f"{pictures}.svg", "PNG": f"{pictures}.png"}


def error_figure(figure: ErrorFigure, findings: Findings, note: Note) -> PageFigure | None:
    """A comparison of methods; None where the results have too little for it."""
    lines = figure.lines(findings)
    if not lines:
        return None
    panels = tuple(
        FigurePanel(
            title=findings.title(dataset),
            dataset=dataset,
            identity=panel_name(figure.name, dataset),
            charts={
                shown: _chart(figure, findings.title(dataset), rows, measure, shown)
                for measure, shown in figure.measures.items()
            },
            note=note(figure.name, dataset),
        )
        for dataset, rows in lines.items()
    )
    about = f"{figure.caption} {figure.fixed(findings)}; error bars are ± {BAR_ERRORS} standard errors; {ORACLE}."
    path = f"figures/{figure.name}"
    return PageFigure(name=figure.name, title=figure.title, caption=about, panels=panels, files=files_of(path, path))


def error_figures(findings: Findings, note: Note) -> dict[str, PageFigure]:
    """Every comparison that the results have data for, by its name."""
    found = {one.name: error_figure(one, findings, note) for one in comparisons(findings)}
    return {name: figure for name, figure in found.items() if figure is not None}


def _chart(figure: ErrorFigure, title: str, lines: dict[str, list[Row]], measure: str, shown: str) -> LineChart:
    drawn = styles(lines)
    by_epsilon = figure.against == "epsilon"
    return LineChart(
        title=title,
        lines=tuple(
            ChartLine(
                style=drawn[key], label=drawn[key].label, points=tuple(_point(figure, row, measure) for row in rows)
            )
            for key, rows in lines.items()
        ),
        x_label=figure.x_label,
        y_label=shown,
        x_log=by_epsilon or figure.beyond,
        x_ticks=tuple(sorted({row.epsilon for rows in lines.values() for row in rows})) if by_epsilon else (),
    )


def _point(figure: ErrorFigure, row: Row, measure: str) -> ChartPoint:
    return ChartPoint(
        x=float(getattr(row, figure.against)),
        y=float(getattr(row, f"{measure}_mean")),
        error=float(getattr(row, f"{measure}_error")),
    )


def score_figure(findings: Findings) -> PageFigure:
    """The highest scores of each dataset."""
    lines = tuple(
        ChartLine(
            style=DATASET_STYLES[place % len(DATASET_STYLES)],
            label=str(findings.datasets[dataset]["title"]).split(" (")[0],
            points=tuple(ChartPoint(x=rank, y=scores[rank - 1]) for rank in RANKS if rank <= len(scores)),
        )
        for place, (dataset, scores) in enumerate(findings.scores.items())
    )
    chart = LineChart(
        title="The highest scores",
        lines=lines,
        x_label="rank",
        y_label="records with the item",
        x_log=True,
        y_log=True,
        digits=0,
    )
    names = [str(entry["title"]) for entry in findings.datasets.values() if entry["stand_in"]]
    stand_ins = f" A law takes the place of the data of {', '.join(names)}." if names else ""
    return PageFigure(
        name="scores",
        title="The highest scores",
        caption=f"Of each dataset; both scales are logarithmic.{stand_ins}",
        panels=(FigurePanel(title="", charts={"score": chart}),),
        files=files_of("figures/scores", "scores"),
    )


MARKS = {
    Support.NOT_SUPPORTED: "✗",
    Support.UNDECIDED: "?",
    Support.SUPPORTED: "✓",
    Support.NOT_COMPARABLE: "≁",
    Support.CIRCULAR: "↻",
    Support.NOT_RUN: "–",
}
"""A mark for each verdict, in the order of the grid."""

ELSEWHERE = "Elsewhere"
"""The heading for what was judged on other data than the datasets."""


def badge(support: Support) -> str:
    """A verdict as HTML."""
    return f'<span class="verdict {kind_of(support)}">{MARKS[support]} {support.value}</span>'


def mark(support: Support, numbers: str, to: str = "") -> str:
    """A verdict as one sign, with its numbers under the pointer; where it leads ``to``, it is a link."""
    tag, link = ("a", f' href="#{escape(to)}"') if to else ("span", "")
    sign = f'<span role="img" aria-label="{support.value}">{MARKS[support]}</span>'
    return f'<{tag} class="mark {kind_of(support)}"{link} title="{escape(numbers)}">{sign}</{tag}>'


def row_name(dataset: str, method: str) -> str:
    """What a link to the rows of a method leads to."""
    return "_".join(f"rows-{dataset}-{method}".split())


@dataclass(frozen=True, kw_only=True, eq=False)
class ClaimGrid:
    """The statements of the paper with what the results say at each dataset; ``figures`` show each of the rows."""

    findings: Findings
    claims: tuple[Checked, ...]
    figures: Mapping[CellKey, tuple[str, ...]]

    @classmethod
    def of(cls, findings: Findings, checked: Iterable[Checked]) -> ClaimGrid:
        """The grid of what was checked."""
        order = list(MARKS)
        claims = sorted(
            (one for one in checked if one.statement.kind == "statement"),
            key=lambda one: order.index(one.judgement.support),
        )
        figures: dict[CellKey, tuple[str, ...]] = {}
        for figure in sorted(comparisons(findings), key=lambda figure: len(figure.methods)):
            for row in (row for lines in figure.lines(findings).values() for line in lines.values() for row in line):
                figures[row.cell] = (*figures.get(row.cell, ()), figure.name)
        return cls(findings=findings, claims=tuple(claims), figures=figures)

    def html(self) -> str:
        """The grid as a table."""
        heads = ["Claim", "Verdict", *map(self.findings.title, self.findings.datasets)]
        if any(set(one.judgement.places) - set(self.findings.datasets) for one in self.claims):
            heads.append(ELSEWHERE)
        head = "".join(f'<th scope="col">{_heading(text)}</th>' for text in heads)
        body = "\n".join(self._row(one, heads) for one in self.claims if one.judgement.support is not Support.NOT_RUN)
        table = f'<table class="grid"><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>'
        return f'<div class="scroll">{table}</div>{self._not_run()}'

    def _not_run(self) -> str:
        """What the results lack for the other claims, to be opened."""
        others = [one for one in self.claims if one.judgement.support is Support.NOT_RUN]
        listed = "".join(
            f'<li id="claim-{escape(one.statement.key)}">{escape(one.statement.claim)} Supported if: '
            f"{escape(one.statement.rule)}; {escape(one.judgement.numbers)}.</li>"
            for one in others
        )
        return f"<details><summary>{len(others)} not run</summary><ul>{listed}</ul></details>" if others else ""

    def note(self, figure: str, dataset: str) -> str:
        """Links back to the grid from the panel of a figure: the claims that it is about."""
        links = [
            f'<a class="{kind_of(place.support)}" href="#{escape(_cell_name(one, dataset))}" '
            f'title="{escape(one.statement.claim)}">{MARKS[place.support]} {escape(one.statement.key)}</a>'
            for one in self.claims
            if (place := one.judgement.places.get(dataset)) and self.figure(one, place) == figure
        ]
        return f'<p class="soft">Claims: {" ".join(links)}</p>' if links else ""

    def figure(self, one: Checked, place: PlaceJudgement) -> str | None:
        """Of the figures that show rows of this place, the one with most rows of the whole statement.

        Of two with as many it is the one with fewer lines.
        """
        here = {figure for cell in place.cells for figure in self.figures.get(cell, ())}
        cells = (cell for other in one.judgement.places.values() for cell in other.cells)
        shown = Counter(figure for cell in cells for figure in self.figures.get(cell, ()) if figure in here)
        return max(shown, key=lambda name: shown[name]) if shown else None

    def _row(self, one: Checked, heads: Sequence[str]) -> str:
        places = one.judgement.places
        cells = [
            self._cell(one, dataset, places.get(dataset), head)
            for dataset, head in zip(self.findings.datasets, heads[2:], strict=False)
        ]
        if heads[-1] == ELSEWHERE:
            others = {name: place for name, place in places.items() if name not in self.findings.datasets}
            uses = {row.use for row in self.findings.uses}
            marks = "<br>".join(
                f"{mark(place.support, place.numbers, 'uses' if name in uses else '')} {escape(name)}"
                for name, place in others.items()
            )
            cells.append(f'<td data-label="{ELSEWHERE}">{marks}</td>' if others else _nothing(ELSEWHERE))
        support = one.judgement.support
        return (
            f'<tr id="claim-{escape(one.statement.key)}"><th scope="row" class="edge-{kind_of(support)}">'
            f'{_claim(one, self.findings)}</th><td data-label="Verdict">{badge(support)}</td>{"".join(cells)}</tr>'
        )

    def _cell(self, one: Checked, dataset: str, place: PlaceJudgement | None, head: str) -> str:
        if place is None:
            return _nothing(head)
        figure = self.figure(one, place)
        shown = mark(place.support, place.numbers, panel_name(figure, dataset) if figure else "")
        name = escape(_cell_name(one, dataset))
        return f'<td id="{name}" data-label="{escape(head)}">{shown} {self._rows(place)}</td>'

    def _rows(self, place: PlaceJudgement) -> str:
        """A link to the first of the rows; where scripts run, the table then shows these rows and no others."""
        found = [cell for cell in place.cells if cell in self.findings.rows]
        if not found:
            return ""
        methods = "|".join(dict.fromkeys(cell.method for cell in found))
        target = row_name(found[0].dataset, found[0].method)
        shown = f"{self.findings.place(found[0].dataset).split()[0]} {methods}"
        return f'<a class="rows" href="#{escape(target)}" data-rows="{escape(shown)}">rows</a>'


def _nothing(head: str) -> str:
    return f'<td class="empty" data-label="{escape(head)}"></td>'


def _heading(text: str) -> str:
    """A title; what stands in brackets has a line of its own."""
    name, bracket, rest = text.partition(" (")
    return f"{escape(name)}<br><small>({escape(rest)}</small>" if bracket else escape(name)


def kind_of(support: Support) -> str:
    """The class of a verdict in the style of the page."""
    return support.value.replace(" ", "-")


def _cell_name(one: Checked, dataset: str) -> str:
    return "_".join(f"cell-{one.statement.key}-{dataset}".split())


def _claim(one: Checked, findings: Findings) -> str:
    """The claim; where it failed, why; and, to be opened, its rule and all numbers."""
    judgement, statement = one.judgement, one.statement
    why = ""
    if judgement.support in (Support.NOT_SUPPORTED, Support.UNDECIDED):
        deciding = [f"{name}: {p.numbers}" for name, p in judgement.places.items() if p.support is judgement.support]
        why = f'<p class="why">{escape("; ".join(deciding) or judgement.numbers)}</p>'
    listed = _listed(judgement.places, judgement.numbers, findings)
    return (
        f"<details><summary>{escape(statement.claim)}</summary><p>{escape(statement.where)}. Supported if: "
        f"{escape(statement.rule)}.</p>{listed}</details>{why}"
    )


def _listed(places: Mapping[str, PlaceJudgement], numbers: str, findings: Findings) -> str:
    if not places:
        return f"<p>{escape(numbers)}</p>"
    shown = (
        f"<li>{MARKS[place.support]} {escape(findings.place(name) if name in findings.datasets else name)}: "
        f"{escape(place.numbers)}</li>"
        for name, place in places.items()
    )
    return f"<ul>{''.join(shown)}</ul>"
