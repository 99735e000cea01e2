"""The report: one file that needs nothing beside it, says what was run, and escapes what it did not write."""

from __future__ import annotations

import html
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.support.made_findings import SER, made_findings, tampered, use_row

from sparsegate.paper import Dataset, Ladder, report, reproduce
from sparsegate.paper.checks import removed_shares
from sparsegate.paper.decisions import Judgement, Support
from sparsegate.paper.figures import ablation_sentence, share_chart, shown_figures, use_body
from sparsegate.paper.report import (
    ClaimGrid,
    reading_table,
)
from sparsegate.paper.results import CLAIMED, CORRECTED, Findings
from sparsegate.paper.statements import STATEMENTS, Checked, PaperStatement, ReadingVerdicts

METHODS = ["svt-dpbook", "svt-s-1:1", "em", "svt-retr-3d"]
YES, NO = Support.SUPPORTED, Support.NOT_SUPPORTED


class Reader(HTMLParser):
    """Collects tags with their attributes, and checks that they close in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open += [tag] if tag not in ("meta", "img", "input", "br") else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out")
    about = {"name": "mine", "title": "<b>Mine</b>", "kind": "stand-in", "records": 9}
    ladder = Ladder.of([1000 - i for i in range(400)])
    mine = Dataset(**about, description="a & b <script>alert(1)</script>", ladder=ladder)
    few = {"counts": [25, 50], "methods": METHODS, "runs": 3, "most_runs": 3, "seed": 5}
    with pytest.MonkeyPatch.context() as patch:  # pictures take long, and have tests of their own
        patch.setattr(report, "save", lambda _, path, pdf: [Path(f"{path}.{kind}").touch() for kind in ("svg", "png")])
        found = reproduce(out, datasets=["zipf", mine], **few, further=False)
    assert (found.report, len(found.results)) == (out / "report.html", 2 * 2 * len(METHODS))
    return out


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def read(page: str) -> Reader:
    return Reader(page)


def test_every_tag_is_closed_and_nothing_is_loaded_from_elsewhere(page: str, read: Reader) -> None:
    assert read.open == []
    assert [attributes["src"] for _, attributes in read.tags if "src" in attributes] == []
    assert {tag for tag, attributes in read.tags if "href" in attributes} == {"a"}
    assert not re.search(r"url\(|@import", page.partition("<style>")[2].partition("</style>")[0])
    charts = [attributes["aria-label"] for tag, attributes in read.tags if tag == "svg"]
    assert len(charts) == 2 * 3 * 2 + 1  # three measures to choose from
    assert all(charts)


def test_every_link_leads_somewhere(folder: Path, read: Reader) -> None:
    hrefs = {attributes["href"] or "" for _, attributes in read.tags if "href" in attributes}
    names = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(names) == len(set(names))
    inside = {link[1:] for link in hrefs if link.startswith("#")}
    assert inside <= set(names)
    assert {"panel-interactive-zipf", "cell-accurate-at-25-zipf", "rows-zipf-svt-dpbook"} <= inside
    files = {link for link in hrefs if not link.startswith("#")}
    assert {Path(file).suffix for file in files} == {".csv", ".parquet", ".svg", ".png"}
    assert [file for file in files if not (folder / file).is_file()] == []
    lines = (folder / "figures" / "interactive.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 2 * 2 * 2, "the rows of the figure and no others"


def test_the_page_opens_with_the_tally_and_every_statement_failures_first(page: str) -> None:
    before, _, after = page.partition('<table class="grid">')
    assert re.search(r"<strong>\d+ of \d+ statements supported", before)
    assert "<figure" not in before
    grid = after.partition('<section id="figures"')[0]
    marks = re.findall(r'data-label="Verdict"><span class="verdict [\w-]+">(\S)', grid)
    assert marks == sorted(marks, key="✗?✓".index)
    assert len(set(marks)) > 1
    claims = {one.key: one.rule for one in STATEMENTS if one.kind == "statement"}
    assert set(re.findall(r'id="claim-([^"]*)"', grid)) == set(claims)
    for key, rule in claims.items():
        claim = grid.partition(f'id="claim-{key}"')[2]
        assert html.escape(rule) in re.split("</tr>|</li>", claim)[0]


def test_foreign_text_is_escaped_and_what_was_run_is_said(page: str) -> None:
    assert "<b>Mine" not in page
    assert "alert(1)</script>" not in page
    assert "&lt;b&gt;Mine&lt;/b&gt; (stand-in)" in page
    numbers = page.partition('id="numbers-table"')[2].partition("</table>")[0]
    assert numbers.count("<tr>") == 1 + 2 * 2 * len(METHODS)
    assert "mine (stand-in)" in numbers
    said = ("<dt>seed</dt><dd>5</dd>", "<dt>counts</dt><dd>25, 50</dd>", "which is not private", "Stand-ins:</strong>")
    assert [text for text in said if text not in page] == []


def claim(findings: Findings, support: Support, *methods: str, key: str = "mine", place: str = "zipf") -> Checked:
    cells = tuple(row.cell for row in findings.rows.values() if row.method in methods and row.dataset == place)
    judgement = Judgement(
        support=support,
        numbers="all",
        places={place: Judgement(support=support, numbers="<7>", cells=cells)},
    )
    statement = PaperStatement(key=key, claim=f"{key} & more", rule="it is", where="Sec. 6", decide=lambda _: ())
    return Checked(statement=statement, judgement=judgement)


def grid_of(findings: Findings, *claims: Checked) -> ClaimGrid:
    return ClaimGrid(findings, claims, shown_figures(findings))


def test_failures_come_first_and_say_why() -> None:
    findings = made_findings()
    kinds = (YES, Support.NOT_RUN, NO, Support.DEPENDS, Support.UNDECIDED)
    claims = [claim(findings, kind, "em", key=kind.name) for kind in kinds]
    beside = replace(claims[1], statement=replace(claims[1].statement, key="BESIDE"))  # judged on a file of one's own
    nowhere = replace(claims[1], judgement=replace(claims[1].judgement, places={}))
    page = grid_of(findings, claims[0], nowhere, beside, *claims[2:]).html()
    order = ["NOT_SUPPORTED", "DEPENDS", "UNDECIDED", "SUPPORTED", "BESIDE", "NOT_RUN"]
    assert re.findall(r'id="claim-(\w+)"', page) == order
    assert [row.count('class="why"') for row in page.split("<tr>")[2:]] == [1, 1, 1, 0, 0]
    assert "zipf: &lt;7&gt;" in page
    assert "NOT_RUN &amp; more" in page[page.index("1 not run") :]
    assert "† Chosen" not in page
    looked = replace(claims[0].statement, after_look="it was strict")
    short = replace(claims[0].judgement, places={"zipf": replace(claims[0].judgement.places["zipf"], short=True)})
    page = grid_of(findings, Checked(statement=looked, judgement=short)).html()
    texts = ("SUPPORTED &amp; more †", "† Chosen after a look at results: it was strict.", "<sup>‡</sup>")
    assert [page.count(text) for text in texts] == [1, 1, 1]


@pytest.mark.parametrize(
    ("figure", "methods"),
    [
        ("retraversal", ("svt-retr-0d", "svt-s-1:c23")),
        ("non-interactive", ("em", "svt-retr-1d", "svt-retr-4d")),
        ("ablation", ("svt-dpbook", "svt-alg1")),
        ("without-c", ("alg-4", "svt-s-1:3")),
    ],
)
def test_a_mark_leads_to_the_figure_with_most_of_its_rows_and_back(figure: str, methods: tuple[str, ...]) -> None:
    findings = made_findings()
    grid = grid_of(findings, claim(findings, YES, *methods))
    assert f'href="#panel-{figure}-zipf"' in grid.html()
    assert 'href="#cell-mine-zipf"' in grid.note(figure, "zipf")
    assert grid.note(figure, "kosarak") == ""
    elsewhere = grid_of(findings, claim(findings, YES, *methods, place="pairs")).html()
    assert '<th scope="col">Elsewhere</th>' in elsewhere
    assert re.search(r'href="#uses"[^>]*><span[^>]*>✓</span></a> pairs', elsewhere), "a use leads to its section"


def test_the_share_is_that_of_the_sums_where_there_is_a_distance() -> None:
    shares = removed_shares(made_findings())
    share = shares["svt-alg1"]["kosarak"]
    book, changed, plain = (SER[key][1] for key in ("svt-dpbook", "svt-alg1", "svt-s-1:1"))
    rest = (book - changed) / (book - plain)
    assert share.value == pytest.approx(rest)
    error = 0.05 / math.sqrt(10**5) * math.hypot(1 - rest, 1, rest) / (book - plain)
    assert share.error == pytest.approx(error)
    assert [bar.text for bar in share_chart(shares, "zipf", "Zipf").bars] == ["16 %", "80 %", "20 %"]
    assert share_chart(shares, "elsewhere", "") is None
    assert "ρ of Alg. 1 80 % [80 %, 80 %]" in ablation_sentence(shares)
    near = tampered(made_findings(), lambda row: row.method == "svt-dpbook", ser_mean=0.5)
    assert "svt-alg1" not in removed_shares(tampered(near, lambda row: row.method == "svt-s-1:1", ser_mean=0.45))
    assert ablation_sentence({}) == ""


def test_what_depends_on_the_reading_comes_first_and_is_marked() -> None:
    supports = {"ours": (YES, NO), "passes=100": (YES, YES), "ser=totals": (YES, NO)}
    by_reading = {
        name: {
            key: Judgement(support=each, numbers="SER < 1") for key, each in zip(("same", "other"), pair, strict=True)
        }
        for name, pair in supports.items()
    }
    body = reading_table(ReadingVerdicts(by_reading=by_reading), {"same": "SER & FNR", "other": "5D"})
    assert body.index('href="#claim-other">5D<') < body.index('href="#claim-same">SER &amp; FNR<')
    assert re.findall(r'class="changed" data-label="([^"]+)"', body) == ["passes=100"]
    assert body.count('title="SER &lt; 1"') == 6


def test_each_use_has_a_panel_each_epsilon_a_view_and_each_row_a_line() -> None:
    rows = [
        use_row(use, mechanism, mean, epsilon=epsilon)
        for use in ("itemsets", "features")
        for epsilon in (0.1, 1.0)
        for mechanism, mean in ((CLAIMED, 0.125), (CORRECTED, 0.625))
    ]
    body = use_body(rows)
    assert [body.count(text) for text in ("<h4>", "<svg", "<tr>", 'class="view-')] == [2, 4, 9, 2]
    assert [text for text in ("0.12, costs 0.9", "0.62", 'href="uses.csv"') if text not in body] == []
    assert "costs ∞" in use_body([replace(rows[0], true_epsilon=math.inf)])
    assert use_body([]) == ""
