"""The grid of claims and datasets: what held and what did not, where, and which rows and figure say so.

Failures come first. A mark leads to the panel of the figure that shows most of its rows, "rows" to the rows; a row
leads to its panel, and a panel back to the marks that it is about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from sparsegate.evaluation.reporting.error_figures import comparisons
from sparsegate.evaluation.reporting.report_figures import panel_name
from sparsegate.evaluation.statements.findings import Findings
from sparsegate.evaluation.statements.judgements import CellKey, Checked, PlaceJudgement, Support

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
