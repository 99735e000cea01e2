"""What the figures of errors show: which methods, against what, in which measure; on the page and in files."""

from __future__ import annotations

from dataclasses import dataclass

from sparsegate.evaluation.reporting.line_styles import styles
from sparsegate.evaluation.statements.findings import Findings, Row

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
