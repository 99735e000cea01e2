"""report.html: what held and what did not, figures, tables and numbers; and the whole evaluation with one call.

The page begins with the grid of claims and datasets, failures first. A mark leads to the panel of the figure that shows
most of its rows, "rows" to the rows; a row leads to its panel, and a panel back to the marks that it is about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from sparsegate.budget import Number
from sparsegate.errors import load_extra
from sparsegate.paper import decisions, figures, results
from sparsegate.paper.charts import save
from sparsegate.paper.checks import measurements, removed_shares
from sparsegate.paper.data import PUBLISHED, Dataset
from sparsegate.paper.decisions import FALSE_VERDICT, Judgement, Quantity, Support, empty_places, rate
from sparsegate.paper.experiments import DEFAULT_COUNTS, DEFAULT_EPSILONS, MOST_RUNS, run
from sparsegate.paper.figures import ErrorFigure, Lines, anchor, rows_of
from sparsegate.paper.methods import DEFAULT_METHODS, METHODS
from sparsegate.paper.page import (
    PageFigure,
    TableCell,
    definitions,
    element,
    latex_table,
    render_page,
    table,
    write_tables,
)
from sparsegate.paper.readings import OURS, SWITCHES, PaperReading
from sparsegate.paper.results import CellKey, ExperimentResults, Findings, ResultFolder, load_findings
from sparsegate.paper.statements import (
    VALUES,
    Checked,
    ReadingVerdicts,
    ReferenceValue,
    check_all,
    tally,
    tally_sentence,
)
from sparsegate.paper.workers import Progress, WorkerPool, shared_pool

TITLE = "The evaluation of the Sparse Vector Technique, reproduced"

MARKS = {
    Support.NOT_SUPPORTED: "✗",
    Support.DEPENDS: "◐",
    Support.UNDECIDED: "?",
    Support.SUPPORTED: "✓",
    Support.NOT_COMPARABLE: "≁",
    Support.CIRCULAR: "↻",
    Support.NOT_RUN: "–",
}
"""A mark for each verdict, in the order of the grid."""


def _kind(support: Support) -> str:
    return support.value.replace(" ", "-")


def _markup(html: str, *, kind: str = "", identity: str = "") -> TableCell:
    return TableCell(text=html, markup=True, kind=kind, identity=identity)


def badge(judgement: Judgement) -> TableCell:
    """A verdict in words."""
    support = judgement.support
    shown = element("span", f"{MARKS[support]} {support.value}", class_=f"verdict {_kind(support)}")
    return _markup(shown + ("<sup>‡</sup>" if judgement.short else ""))


def mark(judgement: Judgement, to: str = "") -> str:
    """A verdict as one sign, with its numbers under the pointer; where it leads ``to``, it is a link."""
    sign = element("span", MARKS[judgement.support], role="img", aria_label=judgement.support.value)
    look = {"class_": f"mark {_kind(judgement.support)}", "href": f"#{to}" if to else "", "title": judgement.numbers}
    return element("a" if to else "span", sign, **look) + ("<sup>‡</sup>" if judgement.short else "")


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
        heads = ["Claim", "Verdict", *map(self.findings.title, self.findings.datasets)]
        if any(set(verdict.judgement.places) - set(self.findings.datasets) for verdict in self.claims):
            heads.append("Elsewhere")  # what was judged on other data than the datasets
        judged, others = list[Checked](), list[Checked]()
        for each in self.claims:
            was_run = each.judgement.support is not Support.NOT_RUN or each.judgement.places
            (judged if was_run else others).append(each)
        grid = table(heads, (self._row(verdict)[: len(heads)] for verdict in judged), kind="grid")
        if not others:
            return grid
        texts = {
            each.statement.key: f"{each.statement.claim} Supported if: {each.statement.rule}; {each.judgement.numbers}."
            for each in others
        }
        listed = (element("li", escape(text), id=f"claim-{key}") for key, text in texts.items())
        return grid + element("details", element("summary", f"{len(others)} not run"), element("ul", *listed))

    def _row(self, verdict: Checked) -> list[TableCell]:
        places, uses = verdict.judgement.places, {row.use for row in self.findings.uses}
        elsewhere = "<br>".join(
            f"{mark(place, 'uses' if name in uses else '')} {escape(name)}"
            for name, place in places.items()
            if name not in self.findings.datasets
        )
        identity, edge = f"claim-{verdict.statement.key}", f"edge-{_kind(verdict.judgement.support)}"
        return [
            _markup(self._claim(verdict), identity=identity, kind=edge),
            badge(verdict.judgement),
            *(self._cell(verdict, dataset, places.get(dataset)) for dataset in self.findings.datasets),
            _markup(elsewhere, kind="" if elsewhere else "empty"),
        ]

    def _claim(self, verdict: Checked) -> str:
        """The claim; where it failed, why; and, to be opened, its rule and all numbers."""
        judgement, statement, known = verdict.judgement, verdict.statement, self.findings.datasets
        why = ""
        if judgement.support is Support.DEPENDS:
            why = judgement.numbers.partition(". Under ours")[0]
        elif judgement.support in (Support.NOT_SUPPORTED, Support.UNDECIDED):
            failed = (f"{name}: {p.numbers}" for name, p in judgement.places.items() if p.support is judgement.support)
            why = "; ".join(failed) or judgement.numbers
        listed = [
            f"{MARKS[place.support]} {self.findings.place(name) if name in known else name}: {place.numbers}"
            for name, place in judgement.places.items()
        ]
        numbers = element("ul", *(element("li", escape(text)) for text in listed))
        look = f" † Chosen after a look at results: {statement.after_look}." if statement.after_look else ""
        opened = element(
            "details",
            element("summary", escape(statement.claim + look[:2])),
            element("p", escape(f"{statement.where}. Supported if: {statement.rule}.{look}")),
            numbers if listed else element("p", escape(judgement.numbers)),
        )
        return opened + (element("p", escape(why), class_="why") if why else "")

    def _cell(self, verdict: Checked, dataset: str, place: Judgement | None) -> TableCell:
        """The mark, and a link to the first of its rows; where scripts run, the table then shows no others."""
        if place is None:
            return TableCell(text="", kind="empty")
        figure = self.figure(verdict, place)
        shown = mark(place, anchor("panel", figure, dataset) if figure else "")
        if cells := place.cells:
            methods = "|".join(dict.fromkeys(cell.method for cell in cells))
            target = anchor("#rows", cells[0].dataset, cells[0].method)
            wanted = f"{self.findings.place(cells[0].dataset).split()[0]} {methods}"
            shown += " " + element("a", "rows", class_="rows", href=target, data_rows=wanted)
        return _markup(shown, identity=anchor("cell", verdict.statement.key, dataset))

    def note(self, figure: str, dataset: str) -> str:
        """Links back to the grid from the panel of a figure: the claims that it is about."""
        links = []
        for verdict in self.claims:
            place = verdict.judgement.places.get(dataset)
            if place and self.figure(verdict, place) == figure:
                text, to = f"{MARKS[place.support]} {verdict.statement.key}", verdict.statement.key
                look = {"class_": _kind(place.support), "href": anchor("#cell", to, dataset)}
                links.append(element("a", escape(text), **look, title=verdict.statement.claim))
        return element("p", f"Claims: {' '.join(links)}", class_="soft") if links else ""

    def figure(self, verdict: Checked, place: Judgement) -> str | None:
        """Of the figures that show rows of this place, the one with most of the statement, or fewer lines."""
        possible = {figure for cell in place.cells for figure in self.figures.get(cell, ())}
        cells = (cell for other in verdict.judgement.places.values() for cell in other.cells)
        shown = Counter(figure for cell in cells for figure in self.figures.get(cell, ()) if figure in possible)
        return max(shown, key=lambda name: shown[name]) if shown else None


def reading_table(verdicts: ReadingVerdicts, claims: Mapping[str, str]) -> str:
    """Statements and readings as a table, those that depend on the reading first; ``claims`` are the words of each."""
    ours, rows = next(iter(verdicts.by_reading)), []
    for key in sorted(verdicts.statements, key=lambda key: key not in verdicts.disputed):
        rows.append([_markup(element("a", escape(claims.get(key, key)), href=f"#claim-{key}"), kind="long")])
        for name, judged in verdicts.by_reading.items():
            changed = name != ours and key in verdicts.changes(name)
            rows[-1].append(_markup(mark(judged[key]), kind="changed" if changed else ""))
    heads = ["Claim", *(name.replace(",", ", ") for name in verdicts.by_reading)]
    return table(heads, rows, identity="readings-table", tall=True)


def measurement_table(findings: Findings) -> str:
    """What the paper names and claims nothing of; "" where none of it was run."""
    rows = [
        (text, findings.title(row.dataset), row.method, row.count, str(rate(row)), f"{empty_places(row).value:.0%}")
        for text, row in measurements(findings)
    ]
    return table(["Measured", "Dataset", "Method", "c|,", "SER", "Places empty"], rows, names=2) if rows else ""


def method_table(findings: Findings) -> str:
    """What each method is."""
    rows = []
    for key, entry in findings.methods.items():
        row = METHODS[key].row if key in METHODS else None
        selects, way = entry["row"] is None, entry.get("selection", "exponential")
        if row:
            described = f"{row.algorithm}: {row.title}"
        elif "source" in entry:
            described = f"Supplied: {entry['source']}, {entry['version'] or 'without a version'}"
        else:
            own = "Exponential mechanism, c rounds" if way == "exponential" else f"select_top, method {way}"
            described = own if selects else ""
        setting = "interactive" if entry["interactive"] else "non-interactive"
        allocation = entry["allocation"] or (str(row.allocation) if row else "none")
        raised = f"{entry['raise_by']} D" if entry["raise_by"] else "no"
        passes = "" if selects else "until c are selected" if entry["passes"] > 1 else "one"
        rows.append([entry["title"], key, setting, described, allocation, raised, passes])
    rows.sort(key=lambda cells: str(cells[2]))
    return table(["Method", "Key", "Setting", "Description", "Split of ε", "Threshold raised by", "Passes"], rows)


def number_table(findings: Findings, grid: ClaimGrid) -> str:
    """Every row of the results, with a link to the panel where it is drawn."""
    heads = ["Dataset", "Method", "ε|g", "c|d", "SER|.3f", "± error|.3f", "deviation|.3f", "FNR|.3f", "± error|.3f"]
    heads += ["FPR|.3f", "Total SER|.3f", "Selected|.1f", "Runs|d"]
    datasets, methods = list(findings.datasets), sorted(findings.methods)

    def place(row: results.Row) -> tuple[object, ...]:
        order = datasets.index(row.dataset), methods.index(row.method)
        return row.epsilon != findings.epsilon, *order, row.epsilon, row.count

    names: set[str] = set()
    lines = []
    for row in sorted(findings.rows.values(), key=place):
        dataset = TableCell(text=findings.place(row.dataset))
        for figure in grid.figures.get(row.cell, ())[:1]:
            link = element("a", escape(dataset.text), href=f"#{anchor('panel', figure, row.dataset)}")
            dataset = _markup(link, kind="name")
        name = anchor("rows", row.dataset, row.method)
        method = TableCell(text=row.method, identity="" if name in names else name)
        names.add(name)
        # A single run has no deviation, and so no error that anybody knows.
        errors = (row.error("ser"), row.error("fnr")) if row.runs > 1 else (None, None)
        rates = (row.ser_mean, errors[0], row.ser_std, row.fnr_mean, errors[1], row.fpr_mean, row.total_ser_mean)
        lines.append((dataset, method, row.epsilon, row.count, *rates, row.selected_mean, row.runs))
    return table(heads, lines, identity="numbers-table", tall=True, names=2)


def run_list(findings: Findings) -> str:
    """Parameters, versions and where the code was from."""
    about, entries = findings.manifest, {"created": findings.manifest["created"]}
    for key, value in about["parameters"].items():
        entries[key.replace("_", " ")] = ", ".join(map(str, value)) if isinstance(value, list) else value
    seconds = sum(row.seconds for row in findings.rows.values())
    entries["cases"] = f"{len(findings.rows):,}, simulated in {seconds:.1f} s of work"
    entries["threshold"] = about["threshold"]
    entries["versions"] = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    entries["commit"] = about["commit"] or "not from a checkout"
    return definitions(entries)


FIGURE_SECONDS, PAGE_SECONDS = 1.3, 2.0
_STAND_INS = (
    " <strong>Stand-ins:</strong> for {} counts through a few knots take the place of the data; "
    "<code>--data kosarak=FILE</code> uses the real data."
)


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
        findings, readings = load_findings(out), ReadingVerdicts.load(out)
        checked = check_all(findings)
        judged = map(readings.settled, checked) if readings else checked
        return cls(folder=Path(out), findings=findings, checked=tuple(judged), readings=readings)

    @property
    def report(self) -> Path:
        """The page."""
        return self.folder / "report.html"

    @property
    def results(self) -> ExperimentResults:
        """The rows of the main experiment."""
        return results.read(self.folder)

    @cached_property
    def _shown(self) -> dict[ErrorFigure, Lines]:
        return figures.shown_figures(self.findings)

    @cached_property
    def _grid(self) -> ClaimGrid:
        return ClaimGrid(self.findings, self.checked, self._shown)

    @cached_property
    def figures(self) -> dict[str, PageFigure]:
        """Every figure that there is data for, by its name."""
        shown = [figure.page_figure(lines, self.findings, self._grid.note) for figure, lines in self._shown.items()]
        return {figure.name: figure for figure in (*shown, figures.score_figure(self.findings))}

    def write(self, pool: WorkerPool, *, latex: bool = False) -> None:
        """Write the figures, as pictures and as tables of their rows, and the page; with ``latex`` for a paper, too."""
        folder = ResultFolder(path=self.folder)
        (self.folder / "figures").mkdir(exist_ok=True)
        pictures = [(figure, self.folder / "figures" / name, latex) for name, figure in self.figures.items()]
        list(pool.each("figures", _save, pictures, expected=lambda _: FIGURE_SECONDS))
        with pool.plan.stage("report"):
            for figure, lines in self._shown.items():
                folder.write(f"figures/{figure.name}", results.table([asdict(row) for row in rows_of(lines)]))
            if latex:
                write_tables(self.folder, self.latex())
            results.replace_text(self.report, self.html())

    def latex(self) -> dict[str, str]:
        """The verdicts, the printed numbers, and for each dataset the SER of every method and c, as LaTeX."""
        findings, counts = self.findings, self.findings.counts

        def verdict(judgement: Judgement) -> str:
            return judgement.support.value + " ‡" * judgement.short

        claims = [
            (f"{checked.claim}{' †' * bool(checked.after_look)}", checked.where, verdict(each.judgement))
            for each in self._grid.claims
            for checked in [each.statement]
        ]
        caption = (
            f"{tally_sentence(tally(self.checked))}. † Rule, or part of it, chosen after a look at results. ‡ Would "
            "be undecided if SER counted as low as short answers may have it, and has no stated error rate; the chance "
            f"that any other is wrong by chance is at most {FALSE_VERDICT:g}."
        )
        heads = ["Claim|p", "Where|p", "Verdict"]
        tables = {"verdicts": latex_table(heads, claims, caption=caption, label="tab:verdicts")}
        printed = [
            (value.dataset, value.count, value.method, value, ours.numbers.removeprefix("SER "), verdict(ours))
            for value, ours in self._values
            if value.printed and ours.support is not Support.NOT_RUN
        ]
        if printed:
            caption = "SER printed in the paper, and here. ‡ Of short answers: no stated error rate."
            heads = ["Dataset", "c|d", "Method", "Printed|", "Here|p", "Verdict"]
            tables["printed"] = latex_table(heads, printed, caption=caption, label="tab:printed")
        keys = sorted(findings.methods, key=[*DEFAULT_METHODS, *METHODS, *findings.methods].index)
        for dataset in findings.datasets:
            lines = {key: [findings.get(dataset, key, count) for count in counts] for key in keys}
            tables[f"ser-{dataset}"] = latex_table(
                ["Method", *(f"{count}|.3f" for count in counts)],
                [(key, *(row and row.ser_mean for row in line)) for key, line in lines.items() if any(line)],
                caption=f"{findings.title(dataset)}: mean SER by c, ε = {findings.epsilon:g}; {figures.ORACLE}.",
                label=f"tab:ser-{dataset}",
            )
        return tables

    def html(self) -> str:
        """The page."""
        findings, readings, shares = self.findings, self.readings, removed_shares(self.findings)
        names = [str(entry["title"]).split(" (")[0] for entry in findings.datasets.values() if entry["stand_in"]]
        claims = {verdict.statement.key: verdict.statement.claim for verdict in self.checked}
        marks = [place for each in self._grid.claims for place in each.judgement.places.values()]
        values = [
            (value.dataset, value.count, value.method, value, value.source, ours.numbers, badge(ours))
            for value, ours in self._values
        ]
        keys = ("records", "items", "distinct_scores", "kind", "description")
        datasets = [(findings.title(name), *(entry[key] for key in keys)) for name, entry in findings.datasets.items()]
        parts = {
            "tally": escape(tally_sentence(tally(self.checked))),
            "stand_ins": _STAND_INS.format(escape(", ".join(names))) if names else "",
            "claims": self._grid.html(),
            "measured": measurement_table(findings),
            "short": f"{sum(each.judgement.short for each in self._grid.claims)} of {len(self._grid.claims)} verdicts "
            f"and {sum(place.short for place in marks)} of {len(marks)} marks",
            "false_verdict": f"{FALSE_VERDICT:g}",
            "comparisons": f"{decisions.COMPARISONS:,}",
            "ablation": self._ablation(shares),
            "ablation_sentence": escape(figures.ablation_sentence(shares)),
            "readings": reading_table(readings, claims) if readings else "",
            "readings_title": escape(readings.title) if readings else "",
            "questions": definitions({switch.name: switch.question for switch in SWITCHES.values()}),
            "figures": "\n".join(figure.html() for name, figure in self.figures.items() if name != "ablation"),
            "uses": figures.use_body(findings.uses),
            "values": table(["Dataset", "c|d", "Method", "SER", "Where from", "Here", "Verdict"], values, tall=True),
            "datasets": table(["Dataset", "Records|,", "Items|,", "Distinct scores|,", "Kind", "What it is"], datasets),
            "methods": method_table(findings),
            "numbers": number_table(findings, self._grid),
            "run": run_list(findings),
        }
        return render_page("report_sections.html", title=TITLE, parts=parts)

    @property
    def _values(self) -> list[tuple[ReferenceValue, Judgement]]:
        judged = {each.statement.key: each.judgement for each in self.checked}
        return [(value, judged[key]) for value in VALUES if (key := value.statement.key) in judged]

    def _ablation(self, shares: dict[str, dict[str, Quantity]]) -> str:
        """One part of SVT-DPBook changed at a time, and what that removes; "" where that was not run."""
        if (figure := self.figures.get("ablation")) is None:
            return ""
        removed = {panel.dataset: figures.share_chart(shares, panel.dataset, panel.title) for panel in figure.panels}
        panels = []
        for panel in sorted(figure.panels, key=lambda panel: not removed[panel.dataset]):  # the first has every view
            shown = {figures.REMOVED: chart} if (chart := removed[panel.dataset]) else {}
            panels.append(replace(panel, charts={**shown, **panel.charts}, absent=figures.NEAR))
        return replace(figure, panels=tuple(panels)).html()


def _save(picture: tuple[PageFigure, Path, bool]) -> None:
    figure, path, pdf = picture
    save(figures.draw_figure(figure), path, pdf=pdf)


def write_report(out: str | Path, pool: WorkerPool | None = None, *, latex: bool = False) -> Path:
    """Write ``report.html``, and the figures in ``figures``, into the folder ``out`` of an experiment; return its path.

    The processes of the ``pool`` share the work, and its plan is told. With ``latex`` every figure is a PDF, too, and
    the folder ``tables`` has LaTeX.

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
    reproduction.write(pool or WorkerPool(), latex=latex)
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
    reading: PaperReading | Sequence[str] = OURS,
    latex: bool = False,
    progress: Callable[[Progress], object] | None = None,
    pool: WorkerPool | None = None,
) -> Reproduction:
    """Run the paper's evaluation and write results, figures and ``report.html`` into ``out``; return what they say.

    NOT PRIVATE: thresholds are computed from the true scores, as in the paper. The parameters are those of ``run``,
    with defaults as of ``sparsegate reproduce``; ``further`` also measures the uses of the Introduction. ``latex``
    is as of ``write_report``.

    >>> import tempfile, sparsegate as sg
    >>> folder = tempfile.TemporaryDirectory()
    >>> small = {"datasets": ["zipf"], "counts": [25], "methods": ["em"], "runs": 5, "most_runs": 5}
    >>> found = sg.paper.reproduce(folder.name, **small, further=False)
    >>> found.report.name, len(found.checked) > 30
    ('report.html', True)
    >>> folder.cleanup()
    """
    from sparsegate.paper import uses as measured

    load_extra("matplotlib.figure", extra="plots")  # the report comes last: what it needs is asked for before the work
    files: dict[str, Any] = {"data": data, "records": records, "scale_to_records": scale_to_records}
    cases: dict[str, Any] = {"counts": counts, "epsilon": epsilon, "methods": methods, "reading": reading}
    how: dict[str, Any] = {"runs": runs, "most_runs": most_runs, "seed": seed, "further": further}
    with shared_pool(pool, jobs, progress) as workers:
        workers.plan.expect("figures", (len(figures.COMPARISONS) + 2) * FIGURE_SECONDS)
        workers.plan.expect("report", PAGE_SECONDS)
        tasks = measured.use_tasks(runs=max(measured.LEAST_RUNS, 4 * runs), seed=seed) if further else []
        measured.plan_uses(workers, tasks)
        run(datasets=datasets, **files, **cases, **how, out=out, pool=workers)
        if tasks:
            measured.measure_uses(out, workers, tasks)
        reproduction = Reproduction.load(out)
        reproduction.write(workers, latex=latex)
    return reproduction
