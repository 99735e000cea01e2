"""The figures of a report: the error of methods against c or epsilon, the highest scores, what a change removes, uses.

Each is a ``PageFigure``, which the page shows with all its views, and which pictures in files are drawn from.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import product
from typing import TYPE_CHECKING, Any

from sparsegate.errors import ParameterError
from sparsegate.paper import charts
from sparsegate.paper.charts import LINE_STYLES, BarChart, ChartBar, ChartLine, ChartPoint, LineChart, styles
from sparsegate.paper.checks import CHANGES, DISTANCE
from sparsegate.paper.decisions import Quantity
from sparsegate.paper.page import FigurePanel, PageFigure, element, table
from sparsegate.paper.results import CLAIMED, CORRECTED, OURS, TRUE, Findings, Row, UseRow, epsilon_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def anchor(*parts: str) -> str:
    """What a link leads to."""
    return "_".join("-".join(parts).split())


ORACLE = "oracle threshold, not private"

# The measures of error, by the beginning of their columns
MEASURES = {"ser": "SER", "total_ser": "total SER", "fnr": "FNR"}

PICTURED = ("SER", "FNR", "score")  # the views of a figure that its picture in a file shows, side by side

# The ranks at which the picture of the scores has a point
RANKS = (1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 300)

Lines = dict[str, dict[str, list[Row]]]  # the rows of each line of a figure, by dataset and method


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
        rows = [row for row in findings.rows.values() if (row.dataset, row.method) == (dataset, method)]
        if self.against == "epsilon":
            count = swept_count(findings)
            swept = sorted((row for row in rows if row.count == count), key=lambda row: row.epsilon)
            return swept if len(swept) > 1 else []
        shown = [row for row in rows if row.epsilon == findings.epsilon]
        return sorted((row for row in shown if self.beyond or row.count in findings.counts), key=lambda row: row.count)

    def lines(self, findings: Findings) -> Lines:
        """The rows of each line, by dataset and method in drawing order; nothing with fewer than two methods."""
        lines: Lines = {}
        for dataset, method in product(findings.datasets, styles(self.methods)):
            if rows := self.points(findings, dataset, method):
                lines.setdefault(dataset, {})[method] = rows
        shown = {method for by_method in lines.values() for method in by_method}
        counts = {row.count for row in rows_of(lines)}
        enough = len(shown) > 1 and shown - set(self.without) and (not self.beyond or counts - set(findings.counts))
        return lines if enough else {}

    def page_figure(self, lines: Lines, findings: Findings, note: Callable[[str, str], str]) -> PageFigure:
        """A panel for each dataset, with a view for each measure; ``note`` is HTML below it."""
        fixed = f"c = {swept_count(findings)}" if self.against == "epsilon" else f"ε = {findings.epsilon:g}"
        panels = tuple(
            FigurePanel(
                title=findings.title(dataset),
                dataset=dataset,
                identity=anchor("panel", self.name, dataset),
                charts={
                    view: self._chart(findings, dataset, by_method, measure)
                    for measure, view in {self.first: MEASURES[self.first], **MEASURES}.items()
                },
                note=note(self.name, dataset),
            )
            for dataset, by_method in lines.items()
        )
        return PageFigure(
            name=self.name,
            title=self.title,
            caption=f"{self.caption} {fixed}; error bars are ± {charts.BAR_ERRORS} standard errors; {ORACLE}.",
            panels=panels,
            files=_files(self.name, f"figures/{self.name}"),
        )

    def _chart(self, findings: Findings, dataset: str, lines: dict[str, list[Row]], measure: str) -> LineChart:
        by_epsilon = self.against == "epsilon"
        return LineChart(
            title=findings.title(dataset),
            lines=tuple(
                ChartLine(
                    style=style,
                    points=tuple(
                        ChartPoint(getattr(row, self.against), row.mean(measure), row.error(measure))
                        for row in lines[method]
                    ),
                    title=findings.methods[method].get("title", method),
                )
                for method, style in styles(lines).items()
            ),
            x_label="ε" if by_epsilon else "c, how many are selected",
            y_label=MEASURES[measure],
            x_log=by_epsilon or self.beyond,
            x_ticks=tuple(sorted({row.epsilon for rows in lines.values() for row in rows})) if by_epsilon else (),
        )


COMPARISONS = tuple(
    ErrorFigure(**figure | {name: tuple(figure.get(name, ())) for name in ("methods", "without")})
    for figure in charts.DRAWN["figure"]
)
"""The figures of ``figures.toml``."""


def shown_figures(findings: Findings) -> dict[ErrorFigure, Lines]:
    """Every figure of errors that there is data for, with its lines; methods that no other shows have one of theirs."""
    known = {method for figure in COMPARISONS for method in figure.methods}
    more = ErrorFigure(
        name="more-methods",
        title="Further methods",
        caption="Methods that the paper does not compare.",
        methods=(*(method for method in findings.methods if method not in known), "em"),
        without=("em",),
    )
    return {figure: lines for figure in (*COMPARISONS, more) if (lines := figure.lines(findings))}


def rows_of(lines: Lines) -> list[Row]:
    """All rows of a figure."""
    return [row for by_method in lines.values() for rows in by_method.values() for row in rows]


def swept_count(findings: Findings) -> int:
    """The c with the most values of epsilon."""
    cases = dict.fromkeys((row.count, row.epsilon) for row in findings.rows.values())
    ((count, _),) = Counter(count for count, _ in cases).most_common(1)
    return count


def _files(name: str, rows: str) -> dict[str, str]:
    pictures = {kind.upper(): f"figures/{name}.{kind}" for kind in ("svg", "png")}
    return {"CSV": f"{rows}.csv", "Parquet": f"{rows}.parquet", **pictures}


def score_figure(findings: Findings) -> PageFigure:
    """The highest scores of each dataset."""
    lines = tuple(
        ChartLine(
            style=charts.DATASET_STYLES[place % len(charts.DATASET_STYLES)]._replace(
                label=str(findings.datasets[dataset]["title"]).split(" (")[0]
            ),
            points=tuple(ChartPoint(rank, scores[rank - 1]) for rank in RANKS if rank <= len(scores)),
            title=findings.title(dataset),
        )
        for place, (dataset, scores) in enumerate(findings.scores.items())
    )
    title, records = "The highest scores", "records with the item"
    chart = LineChart(title=title, lines=lines, x_label="rank", y_label=records, x_log=True, y_log=True, digits=0)
    names = [str(entry["title"]) for entry in findings.datasets.values() if entry["stand_in"]]
    stand_ins = f" A law takes the place of the data of {', '.join(names)}." if names else ""
    return PageFigure(
        name="scores",
        title=title,
        caption=f"Of each dataset; both scales are logarithmic.{stand_ins}",
        panels=(FigurePanel(title="", charts={"score": chart}),),
        files=_files("scores", "scores"),
    )


def draw_figure(figure: PageFigure) -> Figure:
    """The figure as a picture: the views of each panel that pictures have, side by side."""
    views = [panel.charts[view] for panel in figure.panels for view in PICTURED if view in panel.charts]
    drawn = [chart for chart in views if isinstance(chart, LineChart | charts.MapChart)]
    return charts.draw(drawn, title=f"{figure.title}. {figure.caption}")


def draw_results(rows: list[dict[str, Any]]) -> Figure:
    """The score error rate of results against c: a panel for each dataset and epsilon, a line for each method."""
    if not rows or "ser_mean" not in rows[0]:
        raise ParameterError("plot", "needs the results of an experiment", next_step="read(folder) without a name")
    panels: dict[str, dict[str, list[ChartPoint]]] = {}
    for row in rows:
        lines = panels.setdefault(f"{row['dataset']}, ε = {row['epsilon']:g}", {})
        lines.setdefault(row["method"], []).append(ChartPoint(row["count"], row["ser_mean"]))
    drawn = [
        LineChart(
            title=title,
            lines=tuple(ChartLine(style, tuple(sorted(lines[key])), key) for key, style in styles(lines).items()),
            x_label="c, how many are selected",
            y_label="score error rate (SER)",
        )
        for title, lines in panels.items()
    ]
    return charts.draw(drawn, title=f"Score error rate; {ORACLE}", across=1)


REMOVED = "share of the distance removed"
NEAR = f"SVT-DPBook and SVT-S 1:1 are nowhere more than {DISTANCE:g} apart here: there is nothing to explain."


def share_chart(shares: dict[str, dict[str, Quantity]], dataset: str, title: str) -> BarChart | None:
    """A bar for each change on one dataset, or on all of them; None where nothing is to be explained there."""
    bars = tuple(
        ChartBar(CHANGES[key], share.value, _percent(share.value), LINE_STYLES[key], share.error)
        for key, by_dataset in shares.items()
        if (share := by_dataset.get(dataset))
    )
    return BarChart(title=f"{title}: {REMOVED}", bars=bars) if bars else None


def _percent(share: float) -> str:
    return f"{round(100 * share):d} %".replace("-", "−") if math.isfinite(share) else "∞"  # a minus, not a hyphen


def ablation_sentence(shares: dict[str, dict[str, Quantity]]) -> str:
    """What the changes remove, in one sentence; empty without the experiment."""
    parts = [
        f"{CHANGES[key]} {_percent(whole.value)} [{_percent(whole.lowest)}, {_percent(whole.highest)}]"
        for key, by_dataset in shares.items()
        for whole in [by_dataset[""]]
    ]
    removed = f"one change alone removes: {', '.join(parts)}."
    return f"Of the distance in SER between SVT-DPBook and SVT-S 1:1, {removed}" if parts else ""


# Each mechanism is drawn as a method of the other figures that it resembles
_USE_STYLES = {CLAIMED: "svt-s-1:1", TRUE: "svt-s-1:c", CORRECTED: "svt-s-1:c23", OURS: "em"}

USES_NOTE = (
    "The share of the c best that a run misses, on made data. Every gate has the best threshold there is, which nobody "
    "has, and the gates for itemsets are asked about the commonest items alone; ours have neither gift. The original "
    "gates do not have the ε that they claim."
)


def use_body(uses: Sequence[UseRow]) -> str:
    """The uses of the Introduction: a panel for each, a view for each epsilon, bars, and all numbers; "" without."""
    panels: dict[str, FigurePanel] = {}
    for use, epsilon in product(dict.fromkeys(row.use for row in uses), sorted({row.epsilon for row in uses})):
        rows = [row for row in uses if (row.use, row.epsilon) == (use, epsilon)]
        bars = []
        for row in rows:
            cost = f", costs {epsilon_text(row.true_epsilon)}" if row.mechanism == CLAIMED else ""
            style = LINE_STYLES[_USE_STYLES[row.mechanism]]
            bars.append(ChartBar(row.mechanism, row.mean, f"{row.mean:.2f}{cost}", style, row.error))
        note = element("p", escape(next(row.data for row in uses if row.use == use)), class_="soft")
        panel = panels.setdefault(use, FigurePanel(title=use, charts={}, note=note))
        chart = BarChart(title=f"{use} at ε = {epsilon:g}: share missed", bars=tuple(bars))
        panels[use] = replace(panel, charts={**panel.charts, f"ε = {epsilon:g}": chart})
    figure = PageFigure(
        name="uses",
        title="The uses that the Introduction names",
        caption=USES_NOTE,
        panels=tuple(panels.values()),
        files={"CSV": "uses.csv", "Parquet": "uses.parquet"},
    )
    names = ("use", "mechanism", "way", "claimed_epsilon", "true_epsilon", "mean", "error", "runs")
    heads = ["Use", "Mechanism", "Way", "Claimed ε|.3g", "True ε|.3g", "Missed|.3f", "± error|.3f", "Runs|d"]
    lines = [[getattr(row, name) for name in names] for row in uses]
    return figure.html() + table(heads, lines, identity="uses-table", names=2, tall=True) if uses else ""
