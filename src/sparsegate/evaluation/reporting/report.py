"""report.html: what held and what did not, the ablation, figures, tables and numbers, in one file.

The file needs nothing beside it: there is no script, style or picture from elsewhere. Links to CSV, Parquet, SVG and
PNG lead to the files in the folder around it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from html import escape
from pathlib import Path

from sparsegate.evaluation.experiment.progress import Expected
from sparsegate.evaluation.experiment.results import COLUMNS, ResultFolder, replace_text, table
from sparsegate.evaluation.experiment.workers import WorkerPool
from sparsegate.evaluation.reporting import report_tables
from sparsegate.evaluation.reporting.ablation_shares import VIEW, ablation_sentence, removed_shares, share_chart
from sparsegate.evaluation.reporting.claim_grid import ClaimGrid
from sparsegate.evaluation.reporting.error_figures import comparisons
from sparsegate.evaluation.reporting.figures import draw_all, plan_figures
from sparsegate.evaluation.reporting.page_figures import PageFigure
from sparsegate.evaluation.reporting.reading_table import readings_body
from sparsegate.evaluation.reporting.report_figures import error_figures, score_figure
from sparsegate.evaluation.reporting.report_page import PageSection, render_page
from sparsegate.evaluation.reporting.use_section import use_section
from sparsegate.evaluation.statements.decisions import FALSE_VERDICT
from sparsegate.evaluation.statements.findings import Findings, Row, load_findings
from sparsegate.evaluation.statements.judgements import Checked, tally
from sparsegate.evaluation.statements.paper_statements import check_all
from sparsegate.evaluation.statements.reading_verdicts import ReadingVerdicts

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
    >>> from sparsegate import evaluation
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = evaluation.run(datasets=["zipf"], counts=[25], methods=["em", "svt-dpbook"], runs=5, out=folder.name)
    >>> page = evaluation.write_report(folder.name)
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
