"""report.html: what held and what did not, figures, tables and numbers; and the whole evaluation with one call.

The page begins with the grid of claims and datasets, failures first. A mark leads to the panel of the figure that shows
most of its rows, "rows" to the rows; a row leads to its panel, and a panel back to the marks that it is about.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsegate.budget import Number
from sparsegate.errors import ParameterError, load_extra
from sparsegate.paper.charts import (
    BAR_ERRORS,
    DATASET_STYLES,
    LINE_STYLES,
    BarChart,
    ChartBar,
    ChartLine,
    ChartPoint,
    LineChart,
    MapChart,
    draw,
    save,
    styles,
)
from sparsegate.paper.checks import CHANGES, removed_shares
from sparsegate.paper.data import PUBLISHED, Dataset
from sparsegate.paper.decisions import FALSE_VERDICT, Judgement, Quantity, Support
from sparsegate.paper.experiments import DEFAULT_COUNTS, DEFAULT_EPSILONS, MOST_RUNS, run
from sparsegate.paper.methods import DEFAULT_METHODS, METHODS
from sparsegate.paper.page import (
    FigurePanel,
    PageFigure,
    TableCell,
    definitions,
    element,
    render_page,
    table,
)
from sparsegate.paper.readings import OURS as OUR_READING
from sparsegate.paper.readings import SWITCHES, PaperReading
from sparsegate.paper.results import (
    CLAIMED,
    CORRECTED,
    OURS,
    TRUE,
    CellKey,
    ExperimentResults,
    Findings,
    ResultFolder,
    Row,
    UseRow,
    epsilon_text,
    load_findings,
    read,
    replace_text,
)
from sparsegate.paper.results import table as arrow_table
from sparsegate.paper.statements import VALUES, Checked, ReadingVerdicts, check_all, tally, tally_sentence
from sparsegate.paper.workers import Progress, WorkerPool, shared_pool

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "The evaluation of the Sparse Vector Technique, reproduced"


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
        """The rows of one line, from left to right."""
        rows = [row for row in findings.rows.values() if (row.dataset, row.method) == (dataset, method)]
        if self.against == "epsilon":
            count = swept_count(findings)
            swept = sorted((row for row in rows if row.count == count), key=lambda row: row.epsilon)
            return swept if len(swept) > 1 else []
        shown = [row for row in rows if row.epsilon == findings.epsilon]
        return sorted((row for row in shown if self.beyond or row.count in findings.counts), key=lambda row: row.count)

    def lines(self, findings: Findings) -> Lines:
        """The rows of each line, by dataset and method in drawing order; nothing with fewer than two methods."""
        lines = {
            dataset: {
                method: rows for method in styles(self.methods) if (rows := self.points(findings, dataset, method))
            }
            for dataset in findings.datasets
        }
        shown = {method for by_method in lines.values() for method in by_method}
        counts = {row.count for row in rows_of(lines)}
        enough = len(shown) > 1 and shown - set(self.without) and (not self.beyond or counts - set(findings.counts))
        return {dataset: by_method for dataset, by_method in lines.items() if by_method} if enough else {}

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
            caption=f"{self.caption} {fixed}; error bars are ± {BAR_ERRORS} standard errors; {ORACLE}.",
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
    epsilons: dict[int, set[float]] = {}
    for row in findings.rows.values():
        epsilons.setdefault(row.count, set()).add(row.epsilon)
    return max(epsilons, key=lambda count: len(epsilons[count]))


def _files(name: str, rows: str) -> dict[str, str]:
    """The links beside a figure, by their text: its rows and its pictures."""
    pictures = {kind.upper(): f"figures/{name}.{kind}" for kind in ("svg", "png")}
    return {"CSV": f"{rows}.csv", "Parquet": f"{rows}.parquet", **pictures}


def score_figure(findings: Findings) -> PageFigure:
    """The highest scores of each dataset."""
    lines = tuple(
        ChartLine(
            style=DATASET_STYLES[place % len(DATASET_STYLES)]._replace(
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
    charts = [chart for chart in views if isinstance(chart, LineChart | MapChart)]
    return draw(charts, title=f"{figure.title}. {figure.caption}")


def draw_results(rows: list[dict[str, Any]]) -> Figure:
    """The score error rate of results against c: a panel for each dataset and epsilon, a line for each method."""
    if not rows or "ser_mean" not in rows[0]:
        raise ParameterError("plot", "needs the results of an experiment", next_step="read(folder) without a name")
    panels: dict[str, dict[str, list[ChartPoint]]] = {}
    for row in rows:
        lines = panels.setdefault(f"{row['dataset']}, ε = {row['epsilon']:g}", {})
        lines.setdefault(row["method"], []).append(ChartPoint(row["count"], row["ser_mean"]))
    charts = [
        LineChart(
            title=title,
            lines=tuple(ChartLine(style, tuple(sorted(lines[key])), key) for key, style in styles(lines).items()),
            x_label="c, how many are selected",
            y_label="score error rate (SER)",
        )
        for title, lines in panels.items()
    ]
    return draw(charts, title=f"Score error rate; {ORACLE}", across=1)


MARKS = {
    Support.NOT_SUPPORTED: "✗",
    Support.UNDECIDED: "?",
    Support.SUPPORTED: "✓",
    Support.NOT_COMPARABLE: "≁",
    Support.CIRCULAR: "↻",
    Support.NOT_RUN: "–",
}
"""A mark for each verdict, in the order of the grid."""

ELSEWHERE = "Elsewhere"  # the heading for what was judged on other data than the datasets


def _kind(support: Support) -> str:
    """The class of a verdict in the style of the page."""
    return support.value.replace(" ", "-")


def badge(support: Support) -> TableCell:
    """A verdict in words."""
    return _markup(element("span", f"{MARKS[support]} {support.value}", class_=f"verdict {_kind(support)}"))


def _markup(html: str, *, kind: str = "", identity: str = "") -> TableCell:
    return TableCell(text=html, markup=True, kind=kind, identity=identity)


def mark(support: Support, numbers: str, to: str = "") -> str:
    """A verdict as one sign, with its numbers under the pointer; where it leads ``to``, it is a link."""
    sign = element("span", MARKS[support], role="img", aria_label=support.value)
    link = {"href": f"#{to}"} if to else {}
    return element("a" if to else "span", sign, class_=f"mark {_kind(support)}", **link, title=numbers)


class ClaimGrid:
    """The statements of the paper with what the results say at each dataset, failures first.

    ``figures`` has those that show a row, by its cell, the one with fewer lines first.
    """

    def __init__(self, findings: Findings, checked: Iterable[Checked], shown: Mapping[ErrorFigure, Lines]) -> None:
        order = list(MARKS)
        claims = (verdict for verdict in checked if verdict.statement.kind == "statement")
        self.claims = sorted(claims, key=lambda verdict: order.index(verdict.judgement.support))
        self.findings, self.figures = findings, dict[CellKey, tuple[str, ...]]()
        for figure in sorted(shown, key=lambda figure: len(figure.methods)):
            for row in rows_of(shown[figure]):
                self.figures[row.cell] = (*self.figures.get(row.cell, ()), figure.name)

    def html(self) -> str:
        """The grid as a table, and what the results lack for the other claims, to be opened."""
        datasets = self.findings.datasets
        heads = ["Claim", "Verdict", *map(self.findings.title, datasets)]
        if any(set(verdict.judgement.places) - set(datasets) for verdict in self.claims):
            heads.append(ELSEWHERE)
        judged = [verdict for verdict in self.claims if verdict.judgement.support is not Support.NOT_RUN]
        others = [verdict for verdict in self.claims if verdict.judgement.support is Support.NOT_RUN]
        grid = table(heads, (self._row(verdict)[: len(heads)] for verdict in judged), kind="grid")
        listed = (
            element(
                "li",
                escape(
                    f"{verdict.statement.claim} Supported if: {verdict.statement.rule}; {verdict.judgement.numbers}."
                ),
                id=f"claim-{verdict.statement.key}",
            )
            for verdict in others
        )
        summary = element("summary", f"{len(others)} not run")
        return grid + (element("details", summary, element("ul", *listed)) if others else "")

    def _row(self, verdict: Checked) -> list[TableCell]:
        places, support = verdict.judgement.places, verdict.judgement.support
        uses = {row.use for row in self.findings.uses}
        elsewhere = "<br>".join(
            f"{mark(place.support, place.numbers, 'uses' if name in uses else '')} {escape(name)}"
            for name, place in places.items()
            if name not in self.findings.datasets
        )
        identity, edge = f"claim-{verdict.statement.key}", f"edge-{_kind(support)}"
        return [
            _markup(self._claim(verdict), identity=identity, kind=edge),
            badge(support),
            *(self._cell(verdict, dataset, places.get(dataset)) for dataset in self.findings.datasets),
            _markup(elsewhere, kind="" if elsewhere else "empty"),
        ]

    def _claim(self, verdict: Checked) -> str:
        """The claim; where it failed, why; and, to be opened, its rule and all numbers."""
        judgement, statement = verdict.judgement, verdict.statement
        why = ""
        if judgement.support in (Support.NOT_SUPPORTED, Support.UNDECIDED):
            deciding = [
                f"{name}: {p.numbers}" for name, p in judgement.places.items() if p.support is judgement.support
            ]
            why = element("p", escape("; ".join(deciding) or judgement.numbers), class_="why")
        known = self.findings.datasets
        listed = [
            f"{MARKS[place.support]} {self.findings.place(name) if name in known else name}: {place.numbers}"
            for name, place in judgement.places.items()
        ]
        numbers = element("ul", *(element("li", escape(text)) for text in listed))
        return (
            element(
                "details",
                element("summary", escape(statement.claim)),
                element("p", escape(f"{statement.where}. Supported if: {statement.rule}.")),
                numbers if listed else element("p", escape(judgement.numbers)),
            )
            + why
        )

    def _cell(self, verdict: Checked, dataset: str, place: Judgement | None) -> TableCell:
        """The mark, and a link to the first of its rows; where scripts run, the table then shows no others."""
        if place is None:
            return TableCell(text="", kind="empty")
        figure = self.figure(verdict, place)
        shown = mark(place.support, place.numbers, anchor("panel", figure, dataset) if figure else "")
        if cells := place.cells:
            methods = "|".join(dict.fromkeys(cell.method for cell in cells))
            target = anchor("#rows", cells[0].dataset, cells[0].method)
            wanted = f"{self.findings.place(cells[0].dataset).split()[0]} {methods}"
            shown += " " + element("a", "rows", class_="rows", href=target, data_rows=wanted)
        return _markup(shown, identity=anchor("cell", verdict.statement.key, dataset))

    def note(self, figure: str, dataset: str) -> str:
        """Links back to the grid from the panel of a figure: the claims that it is about."""
        links = [
            element(
                "a",
                escape(f"{MARKS[place.support]} {verdict.statement.key}"),
                class_=_kind(place.support),
                href=anchor("#cell", verdict.statement.key, dataset),
                title=verdict.statement.claim,
            )
            for verdict in self.claims
            if (place := verdict.judgement.places.get(dataset)) and self.figure(verdict, place) == figure
        ]
        return element("p", f"Claims: {' '.join(links)}", class_="soft") if links else ""

    def figure(self, verdict: Checked, place: Judgement) -> str | None:
        """Of the figures that show rows of this place, the one with most rows of the whole statement.

        Of two with as many it is the one with fewer lines.
        """
        possible = {figure for cell in place.cells for figure in self.figures.get(cell, ())}
        cells = (cell for other in verdict.judgement.places.values() for cell in other.cells)
        shown = Counter(figure for cell in cells for figure in self.figures.get(cell, ()) if figure in possible)
        return max(shown, key=lambda name: shown[name]) if shown else None


def reading_table(verdicts: ReadingVerdicts, claims: Mapping[str, str]) -> str:
    """Statements and readings as a table, those that depend on the reading first; ``claims`` are the words of each."""
    disputed = verdicts.disputed
    ours = next(iter(verdicts.by_reading))
    rows = []
    for key in sorted(verdicts.statements, key=lambda key: key not in disputed):
        rows.append([_markup(element("a", escape(claims.get(key, key)), href=f"#claim-{key}"), kind="long")])
        for name, judged in verdicts.by_reading.items():
            kind = "" if name == ours or key not in verdicts.changes(name) else "changed"
            rows[-1].append(_markup(mark(judged[key].support, judged[key].numbers), kind=kind))
    heads = ["Claim", *(name.replace(",", ", ") for name in verdicts.by_reading)]
    return table(heads, rows, identity="readings-table", tall=True)


REMOVED = "share of the distance removed"


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
        f"{CHANGES[key]} {_percent(by_dataset[''].value)} ± {_percent(by_dataset[''].error)}"
        for key, by_dataset in shares.items()
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
    panels = []
    for use, data in dict.fromkeys((row.use, row.data) for row in uses):
        charts = {}
        for epsilon in sorted({row.epsilon for row in uses}):
            bars = tuple(
                ChartBar(
                    row.mechanism, row.mean, f"{row.mean:.2f}{cost}", LINE_STYLES[_USE_STYLES[row.mechanism]], row.error
                )
                for row in uses
                for cost in [f", costs {epsilon_text(row.true_epsilon)}" if row.mechanism == CLAIMED else ""]
                if (row.use, row.epsilon) == (use, epsilon)
            )
            charts[f"ε = {epsilon:g}"] = BarChart(title=f"{use} at ε = {epsilon:g}: share missed", bars=bars)
        panels.append(FigurePanel(title=use, charts=charts, note=element("p", escape(data), class_="soft")))
    figure = PageFigure(
        name="uses",
        title="The uses that the Introduction names",
        caption=USES_NOTE,
        panels=tuple(panels),
        files={"CSV": "uses.csv", "Parquet": "uses.parquet"},
    )
    rows = [
        (row.use, row.mechanism, row.way, row.claimed_epsilon, row.true_epsilon, row.mean, row.error, row.runs)
        for row in uses
    ]
    heads = ["Use", "Mechanism", "Way", "Claimed ε|.3g", "True ε|.3g", "Missed|.3f", "± error|.3f", "Runs|d"]
    return figure.html() + table(heads, rows, identity="uses-table", names=2, tall=True) if uses else ""


def value_table(checked: Sequence[Checked]) -> str:
    """Printed numbers and numbers of our own simulation, beside those of the results."""
    judged = {verdict.statement.key: verdict.judgement for verdict in checked}
    rows = [
        (value.dataset, value.count, value.method, value, value.source, judgement.numbers, badge(judgement.support))
        for value in VALUES
        if (judgement := judged.get(value.statement.key))
    ]
    return table(["Dataset", "c|d", "Method", "SER", "Where from", "Here", "Verdict"], rows, tall=True)


def dataset_table(findings: Findings) -> str:
    """What each dataset is."""
    keys = ("records", "items", "distinct_scores", "kind", "description")
    rows = [(findings.title(name), *(entry[key] for key in keys)) for name, entry in findings.datasets.items()]
    return table(["Dataset", "Records|,", "Items|,", "Distinct scores|,", "Kind", "What it is"], rows)


def method_table(findings: Findings) -> str:
    """What each method is."""
    rows = []
    for key, entry in findings.methods.items():
        row, selects = METHODS[key].row if key in METHODS else None, entry["row"] is None
        way = entry.get("selection", "exponential")
        if row:
            described = f"{row.algorithm}: {row.title}"
        elif "source" in entry:
            described = f"Supplied: {entry['source']}, {entry['version'] or 'without a version'}" if selects else ""
        else:
            scored = "Exponential mechanism, c rounds" if way == "exponential" else f"select_top, method {way}"
            described = scored if selects else ""
        passes = "until c are selected" if entry["passes"] > 1 else "one"
        rows.append(
            [
                entry["title"],
                key,
                "interactive" if entry["interactive"] else "non-interactive",
                described,
                entry["allocation"] or (str(row.allocation) if row else "none"),
                f"{entry['raise_by']} D" if entry["raise_by"] else "no",
                "" if selects else passes,
            ]
        )
    rows.sort(key=lambda cells: str(cells[2]))
    return table(["Method", "Key", "Setting", "Description", "Split of ε", "Threshold raised by", "Passes"], rows)


def number_table(findings: Findings, grid: ClaimGrid) -> str:
    """Every row of the results, with a link to the panel where it is drawn."""
    heads = ["Dataset", "Method", "ε|g", "c|d", "SER|.3f", "± error|.3f", "deviation|.3f", "FNR|.3f", "± error|.3f"]
    heads += ["FPR|.3f", "Total SER|.3f", "Selected|.1f", "Runs|d"]
    datasets, methods = list(findings.datasets), sorted(findings.methods)

    def place(row: Row) -> tuple[object, ...]:
        order = datasets.index(row.dataset), methods.index(row.method)
        return row.epsilon != findings.epsilon, *order, row.epsilon, row.count

    seen: set[str] = set()
    lines = []
    for row in sorted(findings.rows.values(), key=place):
        place_name = findings.place(row.dataset)
        dataset = TableCell(text=place_name)
        for figure in grid.figures.get(row.cell, ())[:1]:
            link = element("a", escape(place_name), href=f"#{anchor('panel', figure, row.dataset)}")
            dataset = _markup(link, kind="name")
        name = anchor("rows", row.dataset, row.method)
        method = TableCell(text=row.method, identity="" if name in seen else name)
        seen.add(name)
        # A single run has no deviation, and so no error that anybody knows.
        errors = (row.error("ser"), row.error("fnr")) if row.runs > 1 else (None, None)
        rates = (row.ser_mean, errors[0], row.ser_std, row.fnr_mean, errors[1], row.fpr_mean, row.total_ser_mean)
        lines.append((dataset, method, row.epsilon, row.count, *rates, row.selected_mean, row.runs))
    return table(heads, lines, identity="numbers-table", tall=True, names=2)


def run_list(findings: Findings) -> str:
    """Parameters, versions and where the code was from."""
    about = findings.manifest
    seconds = sum(row.seconds for row in findings.rows.values())
    parameters = {
        key.replace("_", " "): ", ".join(map(str, value)) if isinstance(value, list) else value
        for key, value in about["parameters"].items()
    }
    return definitions(
        {
            "created": about["created"],
            **parameters,
            "cases": f"{len(findings.rows):,}, simulated in {seconds:.1f} s of work",
            "threshold": about["threshold"],
            "versions": ", ".join(f"{name} {version}" for name, version in about["versions"].items()),
            "commit": about["commit"] or "not from a checkout",
        }
    )


FIGURE_SECONDS, PAGE_SECONDS = 1.3, 2.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Reproduction:
    """A ``folder`` of results with what they say: ``checked`` has every statement of the paper with its verdict.

    ``findings`` are the numbers that the statements are checked by, and ``readings`` has the verdicts under other
    readings of the paper, where these were run.

    >>> from sparsegate import paper
    >>> paper.Reproduction.load("no such folder")
    Traceback (most recent call last):
    sparsegate.errors.ParameterError: ...
    """

    folder: Path
    findings: Findings = field(repr=False)
    checked: tuple[Checked, ...] = field(repr=False)
    readings: ReadingVerdicts | None = field(repr=False)

    @classmethod
    def load(cls, out: str | Path) -> Reproduction:
        """Read the folder of an experiment, and check every statement."""
        findings = load_findings(out)
        return cls(
            folder=Path(out),
            findings=findings,
            checked=tuple(check_all(findings)),
            readings=ReadingVerdicts.load(out),
        )

    @property
    def report(self) -> Path:
        """The page."""
        return self.folder / "report.html"

    @property
    def results(self) -> ExperimentResults:
        """The rows of the main experiment."""
        return read(self.folder)

    @cached_property
    def _shown(self) -> dict[ErrorFigure, Lines]:
        return shown_figures(self.findings)

    @cached_property
    def _grid(self) -> ClaimGrid:
        return ClaimGrid(self.findings, self.checked, self._shown)

    @cached_property
    def figures(self) -> dict[str, PageFigure]:
        """Every figure that there is data for, by its name."""
        figures = [figure.page_figure(lines, self.findings, self._grid.note) for figure, lines in self._shown.items()]
        return {figure.name: figure for figure in (*figures, score_figure(self.findings))}

    def write(self, pool: WorkerPool) -> None:
        """Write the figures, as pictures and as tables of their rows, and the page."""
        folder = ResultFolder(path=self.folder)
        (self.folder / "figures").mkdir(exist_ok=True)
        pictures = [(figure, self.folder / "figures" / name) for name, figure in self.figures.items()]
        for _ in pool.each("figures", _save, pictures, expected=lambda _: FIGURE_SECONDS):
            pass
        with pool.plan.stage("report"):
            for figure, lines in self._shown.items():
                rows = [asdict(row) for row in rows_of(lines)]
                folder.write(f"figures/{figure.name}", arrow_table(rows))
            replace_text(self.report, self.html())

    def html(self) -> str:
        """The page."""
        findings, readings = self.findings, self.readings
        names = [str(entry["title"]).split(" (")[0] for entry in findings.datasets.values() if entry["stand_in"]]
        claims = {verdict.statement.key: verdict.statement.claim for verdict in self.checked}
        shares = removed_shares(findings)
        parts = {
            "tally": escape(tally_sentence(tally(self.checked))),
            "stand_ins": _STAND_INS.format(escape(", ".join(names))) if names else "",
            "claims": self._grid.html(),
            "false_verdict": f"{FALSE_VERDICT:g}",
            "ablation": self._ablation(shares),
            "ablation_sentence": escape(ablation_sentence(shares)),
            "readings": reading_table(readings, claims) if readings else "",
            "readings_title": escape(readings.title) if readings else "",
            "questions": definitions({switch.name: switch.question for switch in SWITCHES.values()}),
            "figures": "\n".join(figure.html() for name, figure in self.figures.items() if name != "ablation"),
            "uses": use_body(findings.uses),
            "values": value_table(self.checked),
            "datasets": dataset_table(findings),
            "methods": method_table(findings),
            "numbers": number_table(findings, self._grid),
            "run": run_list(findings),
        }
        return render_page("report_sections.html", title=TITLE, parts=parts)

    def _ablation(self, shares: dict[str, dict[str, Quantity]]) -> str:
        """One part of SVT-DPBook changed at a time, and what that removes; "" where that was not run."""
        if (figure := self.figures.get("ablation")) is None:
            return ""
        panels = []
        for panel in figure.panels:
            chart = share_chart(shares, panel.dataset, panel.title)
            panels.append(replace(panel, charts={REMOVED: chart, **panel.charts}) if chart else panel)
        return replace(figure, panels=tuple(panels)).html()


_STAND_INS = (
    " <strong>Stand-ins:</strong> for {} a law of a few numbers takes the place of the data; "
    "<code>--data kosarak=FILE</code> uses the real data."
)


def _save(picture: tuple[PageFigure, Path]) -> None:
    figure, path = picture
    save(draw_figure(figure), path)


def write_report(out: str | Path, pool: WorkerPool | None = None) -> Path:
    """Write ``report.html``, and the figures in ``figures``, into the folder ``out`` of an experiment; return its path.

    The processes of the ``pool`` share the work, and its plan is told.

    >>> import tempfile
    >>> from sparsegate import paper
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = paper.run(datasets=["zipf"], counts=[25], methods=["em", "svt-dpbook"], runs=5, out=folder.name)
    >>> page = paper.write_report(folder.name)
    >>> page.name, sorted(file.suffix for file in page.parent.glob("figures/*"))
    ('report.html', ['.png', '.svg'])
    >>> folder.cleanup()
    """
    reproduction = Reproduction.load(out)
    reproduction.write(pool or WorkerPool())
    return reproduction.report


def reproduce(
    out: str | Path,
    *,
    datasets: Sequence[str | Dataset] = tuple(PUBLISHED),
    data: Mapping[str, str | Path] | None = None,
    records: Mapping[str, int] | None = None,
    scale_to_records: bool = False,
    counts: Iterable[int] = DEFAULT_COUNTS,
    epsilon: Number | Iterable[Number] = DEFAULT_EPSILONS,
    methods: Sequence[object] = DEFAULT_METHODS,
    runs: int = 100,
    most_runs: int = MOST_RUNS,
    seed: int = 0,
    jobs: int = 1,
    further: bool = True,
    reading: PaperReading | Sequence[str] = OUR_READING,
    progress: Callable[[Progress], object] | None = None,
    pool: WorkerPool | None = None,
) -> Reproduction:
    """Run the paper's evaluation and write results, figures and ``report.html`` into ``out``; return what they say.

    NOT PRIVATE: thresholds are computed from the true scores, as in the paper. The parameters are those of ``run``,
    with defaults as of ``sparsegate reproduce``; ``further`` also measures the uses of the Introduction.

    >>> import tempfile, sparsegate as sg
    >>> folder = tempfile.TemporaryDirectory()
    >>> small = {"datasets": ["zipf"], "counts": [25], "methods": ["em"], "runs": 5, "most_runs": 5}
    >>> found = sg.paper.reproduce(folder.name, **small, further=False)
    >>> found.report.name, len(found.checked) > 30
    ('report.html', True)
    >>> folder.cleanup()
    """
    from sparsegate.paper.uses import measured

    load_extra("matplotlib.figure", extra="plots")  # the report comes last: what it needs is asked for before the work
    with shared_pool(pool, jobs, progress) as workers:
        workers.plan.expect("figures", (len(COMPARISONS) + 2) * FIGURE_SECONDS)
        workers.plan.expect("report", PAGE_SECONDS)
        tasks = measured.use_tasks(runs=max(measured.LEAST_RUNS, 4 * runs), seed=seed) if further else []
        measured.plan_uses(workers, tasks)
        run(
            datasets=datasets,
            data=data,
            records=records,
            scale_to_records=scale_to_records,
            counts=counts,
            epsilon=epsilon,
            methods=methods,
            runs=runs,
            most_runs=most_runs,
            seed=seed,
            out=out,
            further=further,
            reading=reading,
            pool=workers,
        )
        if tasks:
            measured.measure_uses(out, workers, tasks)
        reproduction = Reproduction.load(out)
        reproduction.write(workers)
    return reproduction
