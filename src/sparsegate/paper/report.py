"""report.html: what held and what did not, the ablation, figures, tables and numbers, in one file.

The file needs nothing beside it: there is no script, style or picture from elsewhere. Links to CSV, Parquet, SVG and
PNG lead to the files in the folder around it.

The frame of a report: one HTML file that needs nothing beside it, with sections in a row and links to each.

The section of the report on readings: what the paper leaves open, and every verdict under every answer.

What makes SVT-DPBook lose: how much of its distance to SVT-S 1:1 each single change removes.

The section on the uses of the Introduction: a sentence, bars for each use at a chosen epsilon, and all numbers.

The tables of the reproduction's page: values to compare with, datasets, methods, all numbers, and what was run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import reduce
from html import escape
from importlib.resources import files
from operator import add
from pathlib import Path
from string import Template

from sparsegate.paper import report as report_tables
from sparsegate.paper.charts import LINE_STYLES, BarChart, ChartBar, FigurePanel, PageFigure, TableCell, number
from sparsegate.paper.charts import table as page_tables_table
from sparsegate.paper.decisions import FALSE_VERDICT, Quantity, Term
from sparsegate.paper.figures import (
    ClaimGrid,
    badge,
    comparisons,
    draw_all,
    error_figures,
    mark,
    panel_name,
    plan_figures,
    row_name,
    score_figure,
)
from sparsegate.paper.findings import (
    CLAIMED,
    CORRECTED,
    FILE,
    OURS,
    TRUE,
    Checked,
    Findings,
    Row,
    UseRow,
    epsilon_text,
    load_findings,
    tally,
)
from sparsegate.paper.methods import METHODS
from sparsegate.paper.readings import SWITCHES
from sparsegate.paper.results import COLUMNS, ResultFolder, replace_text, table
from sparsegate.paper.statements import VALUES, ReadingVerdicts, check_all
from sparsegate.paper.workers import Expected, WorkerPool

MOST_VIEWS = 6
"""A figure has at most this many views to choose from."""


@dataclass(frozen=True, kw_only=True)
class PageSection:
    """A part of a report: ``body`` is HTML; a link with the text ``link`` leads to the name ``key``."""

    key: str
    title: str
    body: str
    link: str = ""

    def html(self) -> str:
        """The section as HTML."""
        return f'<section id="{escape(self.key)}"><h2>{escape(self.title)}</h2>\n{self.body}\n</section>'


def render_page(*, title: str, lead: str, sections: Sequence[PageSection]) -> str:
    """A whole page; ``lead`` is HTML and stands before the links to the sections."""
    return Template(_text("report_page.html")).substitute(
        title=escape(title),
        style=_text("report_page.css") + _views(),
        script=_text("report_page.js"),
        lead=lead,
        links="".join(f'<a href="#{escape(one.key)}">{escape(one.link or one.title)}</a>' for one in sections),
        sections="\n\n".join(one.html() for one in sections),
    )


def _text(name: str) -> str:
    return files("sparsegate.paper").joinpath(name).read_text(encoding="utf-8")


def _views() -> str:
    """What the radio buttons of a figure show and hide: rules, so that no script is needed."""
    return "".join(
        f".view-{view}:checked ~ .panels .show-{view} {{ display: block; }}\n" for view in range(1, MOST_VIEWS)
    ) + "".join(f".view-{view}:checked ~ .panels .show-0 {{ display: none; }}\n" for view in range(1, MOST_VIEWS))


def readings_body(verdicts: ReadingVerdicts, claims: Mapping[str, str]) -> str:
    """Statements and readings as a table, those that depend on the reading first; ``claims`` are the words of each."""
    disputed = verdicts.disputed
    ours = next(iter(verdicts.by_reading))
    rows = [
        [
            TableCell(
                text=f'<a href="#claim-{escape(key)}">{escape(claims.get(key, key))}</a>', markup=True, kind="long"
            ),
            *(
                TableCell(
                    text=mark(found[key].support, found[key].numbers),
                    markup=True,
                    kind="" if name == ours or key not in verdicts.changes(name) else "changed",
                )
                for name, found in verdicts.by_reading.items()
            ),
        ]
        for key in sorted(verdicts.statements, key=lambda key: key not in disputed)
    ]
    questions = "".join(
        f"<dt><code>{escape(switch.name)}</code></dt><dd>{escape(switch.question)}</dd>" for switch in SWITCHES.values()
    )
    about = (
        f'<p class="lead">{escape(verdicts.sheet().title)}</p>\n<p class="soft">Nothing in the paper decides between '
        "these. Our own reading has the first column; each of the others has the settings in its heading, and only "
        "the cases that these change were run again. <code>--reading passes=100</code> makes one that of the whole "
        'report. <a href="readings.csv" download>CSV</a> <a href="readings.parquet" download>Parquet</a></p>\n'
        f"<dl>{questions}</dl>"
    )
    heads = ["Claim", *(name.replace(",", ", ") for name in verdicts.by_reading)]
    return f"{about}\n{page_tables_table(heads, rows, identity='readings-table', tall=True)}"


CHANGES = ("svt-dpbook-monotonic", "svt-alg1", "svt-dpbook-once")
"""SVT-DPBook with one part changed; ``line_styles`` has the name of each change."""

DISTANCE = 0.1
"""Where SVT-DPBook and SVT-S 1:1 are nearer than this in SER there is nothing to explain."""

VIEW = "share of the distance removed"


def removed_shares(findings: Findings) -> dict[str, dict[str, Quantity]]:
    """By change and dataset: the sum over c of SER(book) - SER(changed), over that of SER(book) - SER(SVT-S 1:1).

    Over every c where the latter difference is more than ``DISTANCE``. All datasets together are "".
    """
    shares: dict[str, dict[str, Quantity]] = {}
    for key in CHANGES:
        gone: dict[str, list[tuple[Quantity, Quantity]]] = {}
        for dataset, cases in findings.beside("svt-dpbook", key, "svt-s-1:1").items():
            for book, changed, plain in cases:
                if book.ser_mean - plain.ser_mean > DISTANCE:
                    pair = (_mean(book) - _mean(changed), _mean(book) - _mean(plain))
                    gone.setdefault(dataset, []).append(pair)
                    gone.setdefault("", []).append(pair)
        if gone:
            shares[key] = {name: _ratio(pairs) for name, pairs in gone.items()}
    return shares


def _mean(row: Row) -> Quantity:
    return Quantity(value=row.ser_mean, terms={(row.cell, "ser"): Term(row.ser_error)})


def _ratio(pairs: list[tuple[Quantity, Quantity]]) -> Quantity:
    above: Quantity = reduce(add, (pair[0] for pair in pairs))
    below: Quantity = reduce(add, (pair[1] for pair in pairs))
    return above / below


def share_chart(shares: dict[str, dict[str, Quantity]], dataset: str, title: str) -> BarChart | None:
    """A bar for each change on one dataset, or on all of them; None where nothing is to be explained there."""
    bars = tuple(
        ChartBar(
            label=LINE_STYLES[key].label,
            value=by_dataset[dataset].value,
            text=_percent(by_dataset[dataset].value),
            error=by_dataset[dataset].error,
            style=LINE_STYLES[key],
        )
        for key, by_dataset in shares.items()
        if dataset in by_dataset
    )
    return BarChart(title=f"{title}: {VIEW}", bars=bars, high=1.0) if bars else None


def _percent(share: float) -> str:
    return f"{round(100 * share):d} %".replace("-", "−")  # a minus, not a hyphen


def ablation_sentence(shares: dict[str, dict[str, Quantity]]) -> str:
    """What the changes remove, in one sentence; empty without the experiment."""
    if not shares:
        return ""
    parts = [
        f"{LINE_STYLES[key].label} {_percent(one[''].value)} ± {_percent(one[''].error)}" for key, one in shares.items()
    ]
    return f"Of the distance in SER between SVT-DPBook and SVT-S 1:1, one change alone removes: {', '.join(parts)}."


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
    return page_tables_table(heads, rows, identity="uses-table", names=2, tall=True)


TITLE = "The evaluation of the Sparse Vector Technique, reproduced"


@dataclass(frozen=True, kw_only=True, eq=False)
class Reproduction:
    """What every section of the report is made from."""

    folder: Path
    findings: Findings
    checked: tuple[Checked, ...]
    grid: ClaimGrid
    figures: dict[str, PageFigure]

    @classmethod
    def of(cls, folder: Path, findings: Findings) -> Reproduction:
        """Check every statement and draw every figure."""
        checked = tuple(check_all(findings))
        grid = ClaimGrid.of(findings, checked)
        return cls(
            folder=folder,
            findings=findings,
            checked=checked,
            grid=grid,
            figures=error_figures(findings, grid.note),
        )


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
    folder, workers = Path(out), pool or WorkerPool()
    findings = load_findings(folder)
    plan_report(workers)
    draw_all(findings, folder / "figures", workers)
    path = folder / "report.html"
    with workers.plan.stage("report"):
        _write_rows(findings, folder)
        replace_text(path, render_report(findings, folder))
    return path


def plan_report(workers: WorkerPool) -> None:
    """Let the plan expect the figures and the page."""
    plan_figures(workers)
    workers.plan.expect("report", [Expected(kind="report", seconds=2.0)])


def render_report(findings: Findings, folder: Path) -> str:
    """The report as HTML; sections that have nothing to show are left out."""
    made = Reproduction.of(folder, findings)
    sections = [section for make in SECTIONS if (section := make(made)) is not None]
    return render_page(title=TITLE, lead=_lead(made), sections=sections)


def _write_rows(findings: Findings, folder: Path) -> None:
    """The rows of each figure as CSV and Parquet, beside its picture."""
    names = {field.name for field in fields(Row)}
    columns = {name: kind for name, kind in COLUMNS.items() if name in names}
    for figure in comparisons(findings):
        rows = [row for lines in figure.lines(findings).values() for line in lines.values() for row in line]
        if rows:
            ResultFolder(path=folder).write(f"figures/{figure.name}", table([asdict(row) for row in rows], columns))


def _lead(made: Reproduction) -> str:
    """One sentence, what it is about, and what must be known of the data."""
    names = [str(entry["title"]).split(" (")[0] for entry in made.findings.datasets.values() if entry["stand_in"]]
    stand_ins = (
        f" <strong>Stand-ins:</strong> for {escape(', '.join(names))} a law of a few numbers takes the place of the "
        "data; <code>--data kosarak=FILE</code> uses the real data."
        if names
        else ""
    )
    return (
        f'<h1>{escape(TITLE)}</h1>\n<p class="lead"><strong>{escape(str(tally(made.checked)))}.</strong></p>\n'
        '<p class="soft">Section 6 of Lyu, Su and Li, <cite>Understanding the Sparse Vector Technique for Differential '
        "Privacy</cite> (PVLDB 10(6), 2017): how well do its variants, and the exponential mechanism (EM), find the c "
        f"items with the highest scores?{stand_ins} <strong>Not private:</strong> as in the paper, every threshold is "
        "an oracle.</p>"
    )


def _claims(made: Reproduction) -> PageSection | None:
    """What held and what did not, dataset by dataset."""
    about = (
        '<p class="soft">✗ not supported, ? undecided, ✓ supported. A claim opens to its rule and all numbers; a mark '
        'leads to its figure, "rows" to its numbers. A verdict is one only where a whole interval is on one side of '
        "the margin in its rule, the rest is undecided; the chance that any verdict here is wrong by chance is at most "
        f"{FALSE_VERDICT:g}. SER is the score error rate, FNR the false negative rate.</p>"
    )
    return PageSection(
        key="claims",
        title="What the paper says, and what the results say",
        link="Claims",
        body=f"{made.grid.html()}\n{about}",
    )


def _ablation(made: Reproduction) -> PageSection | None:
    """Why SVT-DPBook loses: one part of it changed at a time."""
    figure, shares = made.figures.get("ablation"), removed_shares(made.findings)
    if figure is None:
        return None
    first = {dataset: share_chart(shares, dataset, made.findings.title(dataset)) for dataset in made.findings.datasets}
    panels = tuple(
        replace(panel, charts={VIEW: chart, **panel.charts} if chart else panel.charts)
        for panel, chart in ((panel, first.get(panel.dataset)) for panel in figure.panels)
    )
    body = f'<p class="lead">{escape(ablation_sentence(shares))}</p>\n{replace(figure, panels=panels).html()}'
    return PageSection(key="ablation", title="Why SVT-DPBook loses", link="Ablation", body=body)


def _readings(made: Reproduction) -> PageSection | None:
    """What depends on how the paper is read."""
    verdicts = ReadingVerdicts.load(made.folder)
    if verdicts is None:
        return None
    body = readings_body(verdicts, {one.statement.key: one.statement.claim for one in made.checked})
    return PageSection(key="readings", title="How the paper can be read", link="Readings", body=body)


def _figures(made: Reproduction) -> PageSection | None:
    """The other figures."""
    shown = [figure for name, figure in made.figures.items() if name != "ablation"]
    body = "\n".join(figure.html() for figure in (*shown, score_figure(made.findings)))
    return PageSection(key="figures", title="Figures", body=body)


def _values(made: Reproduction) -> PageSection | None:
    about = (
        '<p>SER at ε = 0.1. A value of the real data says nothing about a stand-in: the verdict is then "not '
        'comparable", or "circular" where the stand-in was fitted to that value. The simulated values of Kosarak are '
        "of its first 100,000 records, scaled (<code>--scale-to-records</code>).</p>"
    )
    body = f"{about}\n{report_tables.value_table(made.checked)}"
    return PageSection(key="values", title="Printed numbers and self-checks", link="Values", body=body)


def _datasets(made: Reproduction) -> PageSection | None:
    return PageSection(key="datasets", title="Datasets", body=report_tables.dataset_table(made.findings))


def _methods(made: Reproduction) -> PageSection | None:
    about = (
        '<p>1 D is one standard deviation of the query noise. "optimal" splits ε as 1:c^(2/3), as queries are '
        "monotonic.</p>"
    )
    return PageSection(key="methods", title="Methods", body=f"{about}\n{report_tables.method_table(made.findings)}")


def _numbers(made: Reproduction) -> PageSection | None:
    body = (
        "<p>Click a heading to sort. ± error is the standard error of the mean, deviation the standard deviation of "
        'the runs. <a href="results.csv" download>CSV</a> <a href="results.parquet" download>Parquet</a></p>\n'
        '<input id="filter" type="search" placeholder="Filter: zipf em|svt-dpbook 100" '
        'aria-label="Filter the numbers">\n'
        f"{report_tables.number_table(made.findings, made.grid)}"
    )
    return PageSection(key="numbers", title="Numbers", body=body)


def _run(made: Reproduction) -> PageSection | None:
    return PageSection(key="run", title="What was run", body=report_tables.run_list(made.findings))


SECTIONS: tuple[Callable[[Reproduction], PageSection | None], ...] = (
    _claims,
    _ablation,
    _readings,
    _figures,
    lambda made: use_section(made.findings.uses),
    _values,
    _datasets,
    _methods,
    _numbers,
    _run,
)
"""The sections in their order; a new one is a function in this list, None where the folder has nothing for it."""


def value_table(checked: Sequence[Checked]) -> str:
    """Printed numbers and numbers of our own simulation, beside those of the results."""
    values = {value.statement.key: value for value in VALUES}
    rows = [
        [
            values[one.statement.key].dataset,
            number(values[one.statement.key].count, ""),
            values[one.statement.key].method,
            str(values[one.statement.key]),
            values[one.statement.key].source,
            one.judgement.numbers,
            TableCell(text=badge(one.judgement.support), markup=True),
        ]
        for one in checked
        if one.statement.key in values
    ]
    return page_tables_table(["Dataset", "#c", "Method", "SER", "Where from", "Here", "Verdict"], rows, tall=True)


def dataset_table(findings: Findings) -> str:
    """What each dataset is."""
    numbers = ("records", "items", "distinct_scores")
    rows = [
        [
            findings.title(name),
            *(number(entry[key], ",") for key in numbers),
            str(entry["kind"]),
            str(entry["description"]),
        ]
        for name, entry in findings.datasets.items()
    ]
    return page_tables_table(["Dataset", "#Records", "#Items", "#Distinct scores", "Kind", "What it is"], rows)


def method_table(findings: Findings) -> str:
    """What each method is."""
    rows = []
    for key, entry in findings.methods.items():
        row, is_em = METHODS[key].row if key in METHODS else None, entry["row"] is None
        way = entry.get("selection", "exponential")
        scored = "Exponential mechanism, c rounds" if way == "exponential" else f"select_top, method {way}"
        if "source" in entry:
            scored = f"Supplied: {entry['source']}, {entry['version'] or 'without a version'}"
        described = f"{row.algorithm}: {row.title}" if row else scored if is_em else ""
        passes = "until c are selected" if entry["passes"] > 1 else "one"
        rows.append(
            [
                entry["title"],
                key,
                "interactive" if entry["interactive"] else "non-interactive",
                described,
                entry["allocation"] or (str(row.allocation) if row else "none"),
                f"{entry['raise_by']} D" if entry["raise_by"] else "no",
                "" if is_em else passes,
            ]
        )
    rows.sort(key=lambda cells: str(cells[2]))
    return page_tables_table(
        ["Method", "Key", "Setting", "Description", "Split of ε", "Threshold raised by", "Passes"], rows
    )


def number_table(findings: Findings, grid: ClaimGrid) -> str:
    """Every row of the results, with a link to the panel where it is drawn."""
    heads = ["Dataset", "Method", "#ε", "#c", "#SER", "#± error", "#deviation", "#FNR", "#± error", "#FPR"]
    heads += ["#Total SER", "#Selected", "#Runs"]
    seen: set[tuple[str, str]] = set()
    lines = []
    datasets, methods = list(findings.datasets), sorted(findings.methods)

    def place(row: Row) -> tuple[object, ...]:
        order = datasets.index(row.dataset), methods.index(row.method)
        return row.epsilon != findings.epsilon, *order, row.epsilon, row.count

    for row in sorted(findings.rows.values(), key=place):
        first = (row.dataset, row.method) not in seen
        seen.add((row.dataset, row.method))
        # A single run has no deviation, and so no error that anybody knows.
        known, nobody = row.runs > 1, math.nan
        ser_error, fnr_error = (row.ser_error, row.fnr_error) if known else (nobody, nobody)
        rates = (row.ser_mean, ser_error, row.ser_std, row.fnr_mean, fnr_error, row.fpr_mean)
        lines.append(
            [
                _place(row, grid),
                TableCell(text=row.method, identity=row_name(row.dataset, row.method) if first else ""),
                number(row.epsilon, "g"),
                number(row.count, ""),
                *(
                    TableCell(text="-") if math.isnan(value) else number(value, ".3f")
                    for value in (*rates, row.total_ser_mean)
                ),
                number(row.selected_mean, ".1f"),
                number(row.runs, ""),
            ]
        )
    return page_tables_table(heads, lines, identity="numbers-table", tall=True, names=2)


def _place(row: Row, grid: ClaimGrid) -> TableCell:
    """The dataset of a row, as a link to the panel that shows the row."""
    for figure in grid.figures.get(row.cell, ()):
        target = panel_name(figure, row.dataset)
        return TableCell(text=f'<a href="#{escape(target)}">{escape(row.place)}</a>', markup=True, kind="name")
    return TableCell(text=row.place)


def run_list(findings: Findings) -> str:
    """Parameters, versions and where the code was from."""
    about = findings.manifest
    seconds = sum(row.seconds for row in findings.rows.values())
    parameters = {
        key: ", ".join(map(str, v)) if isinstance(v, list) else str(v) for key, v in about["parameters"].items()
    }
    shown = {
        "created": str(about["created"]),
        **{key.replace("_", " "): value for key, value in parameters.items()},
        "cases": f"{len(findings.rows):,}, simulated in {seconds:.1f} s of work",
        "threshold": str(about["threshold"]),
        "versions": ", ".join(f"{name} {number}" for name, number in about["versions"].items()),
        "commit": str(about["commit"] or "not from a checkout"),
    }
    return "<dl>" + "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in shown.items()) + "</dl>"
