"""The section on the uses of the Introduction: a sentence, bars for each use at a chosen epsilon, and all numbers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sparsegate.evaluation.reporting.charts import BarChart, ChartBar
from sparsegate.evaluation.reporting.line_styles import LINE_STYLES
from sparsegate.evaluation.reporting.page_figures import FigurePanel, PageFigure
from sparsegate.evaluation.reporting.page_tables import TableCell, number, table
from sparsegate.evaluation.reporting.report_page import PageSection
from sparsegate.evaluation.statements.use_rows import CLAIMED, CORRECTED, FILE, OURS, TRUE, UseRow, epsilon_text

_STYLES = {CLAIMED: "svt-s-1:1", TRUE: "svt-s-1:c", CORRECTED: "svt-s-1:c23", OURS: "em"}
"""Each mechanism is drawn as a method of the other figures that it resembles."""

NOTE = (
    "The share of the c best that a run misses, on made data. Every gate has the best threshold there is, which nobody "
    "has, and the gates for itemsets are asked about the commonest items alone; ours have neither gift. The original "
    "gates do not have the ε that they claim."
)


def use_section(uses: Sequence[UseRow]) -> PageSection | None:
    """The section, or None where the uses were not measured."""
    if not uses:
        return None
    body = f"{use_figure(uses).html()}\n{use_table(uses)}"
    return PageSection(key="uses", title="What the technique is used for", link="Uses", body=body)


def use_figure(uses: Sequence[UseRow]) -> PageFigure:
    """A panel for each use, a view for each epsilon, a bar for each mechanism."""
    files = {"CSV": f"{FILE}.csv", "Parquet": f"{FILE}.parquet"}
    epsilons = sorted({row.epsilon for row in uses})
    panels = tuple(
        FigurePanel(
            title=use,
            charts={f"ε = {epsilon:g}": _chart(uses, use, epsilon) for epsilon in epsilons},
            note=f'<p class="soft">{escape(data)}</p>',
        )
        for use, data in dict.fromkeys((row.use, row.data) for row in uses)
    )
    return PageFigure(
        name="uses", title="The uses that the Introduction names", caption=NOTE, panels=panels, files=files
    )


def _chart(uses: Sequence[UseRow], use: str, epsilon: float) -> BarChart:
    bars = tuple(
        ChartBar(
            label=row.mechanism,
            value=row.mean,
            text=f"{row.mean:.2f}{_cost(row)}",
            style=LINE_STYLES[_STYLES[row.mechanism]],
            error=row.error,
        )
        for row in uses
        if (row.use, row.epsilon) == (use, epsilon)
    )
    return BarChart(title=f"{use} at ε = {epsilon:g}: share missed", bars=bars, high=1.0)


def _cost(row: UseRow) -> str:
    return f", costs {epsilon_text(row.true_epsilon)}" if row.mechanism == CLAIMED else ""


def use_table(uses: Sequence[UseRow]) -> str:
    """All rows."""
    rows = [
        [
            row.use,
            row.mechanism,
            row.way,
            number(row.claimed_epsilon, ".3g"),
            TableCell(text=epsilon_text(row.true_epsilon), value=row.true_epsilon),
            number(row.mean, ".3f"),
            number(row.error, ".3f"),
            number(row.runs, ""),
        ]
        for row in uses
    ]
    heads = ["Use", "Mechanism", "Way", "#Claimed ε", "#True ε", "#Missed", "#± error", "#Runs"]
    return table(heads, rows, identity="uses-table", names=2, tall=True)
