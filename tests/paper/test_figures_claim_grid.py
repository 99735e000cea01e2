"""The grid of claims: failures first, with their reasons, and each mark with the figure that shows its rows."""

from __future__ import annotations

import re

from tests.support.made_findings import made_findings

from sparsegate.paper.figures import ClaimGrid
from sparsegate.paper.findings import Checked, Findings, Judgement, PaperStatement, PlaceJudgement, Support
from sparsegate.paper.statements import check_all


def claim(findings: Findings, support: Support, *methods: str, key: str = "mine", place: str = "zipf") -> Checked:
    cells = tuple(row.cell for row in findings.rows.values() if row.method in methods and row.dataset == place)
    places = {place: PlaceJudgement(support=support, numbers="<7>", cells=cells)}
    return Checked(
        statement=PaperStatement(
            key=key,
            claim=f"{key} & more",
            rule="it is",
            where="Sec. 6",
            check=lambda _: judgement,
        ),
        judgement=(judgement := Judgement(support=support, numbers="all", places=places)),
    )


def test_failures_come_first_and_say_why() -> None:
    findings = made_findings()
    kinds = (Support.SUPPORTED, Support.NOT_RUN, Support.NOT_SUPPORTED, Support.UNDECIDED)
    grid = ClaimGrid.of(findings, [claim(findings, kind, "em", key=kind.name) for kind in kinds])
    page = grid.html()
    assert re.findall(r'id="claim-(\w+)"', page) == ["NOT_SUPPORTED", "UNDECIDED", "SUPPORTED", "NOT_RUN"]
    assert [len(re.findall('class="why"', row)) for row in page.split("<tr id=")[1:]] == [1, 1, 0]
    assert "zipf: &lt;7&gt;" in page
    assert "NOT_RUN &amp; more" in page[page.index("1 not run") :]


def test_a_mark_leads_to_the_figure_with_most_of_its_rows_and_back() -> None:
    findings = made_findings()
    places = {
        "retraversal": ("svt-retr-0d", "svt-s-1:c23"),
        "non-interactive": ("em", "svt-retr-1d", "svt-retr-4d"),
        "ablation": ("svt-dpbook", "svt-alg1"),
        "without-c": ("alg-4", "svt-s-1:3"),
    }
    for figure, methods in places.items():
        grid = ClaimGrid.of(findings, [claim(findings, Support.SUPPORTED, *methods)])
        assert f'href="#panel-{figure}-zipf"' in grid.html()
        assert 'href="#cell-mine-zipf"' in grid.note(figure, "zipf")
        assert grid.note(figure, "kosarak") == ""


def test_what_was_judged_elsewhere_has_a_column_and_no_link() -> None:
    findings = made_findings()
    page = ClaimGrid.of(findings, [claim(findings, Support.SUPPORTED, "em", place="votes")]).html()
    assert '<th scope="col">Elsewhere</th>' in page
    assert "votes" in page
    assert "href" not in page


def test_a_use_leads_to_the_section_of_the_uses() -> None:
    findings = made_findings()
    page = ClaimGrid.of(findings, [claim(findings, Support.SUPPORTED, "em", place="pairs")]).html()
    assert re.search(r'href="#uses"[^>]*><span[^>]*>✓</span></a> pairs', page)


def test_every_statement_with_rows_has_a_figure() -> None:
    findings = made_findings()
    grid = ClaimGrid.of(findings, check_all(findings))
    judged = [(one, place) for one in grid.claims for place in one.judgement.places.values() if place.cells]
    assert len(judged) > 40
    assert [one.statement.key for one, place in judged if grid.figure(one, place) is None] == []
