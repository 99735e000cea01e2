"""report.html: what was run, the statements with their verdicts, figures, tables and numbers, in one file.

The file needs nothing beside it: figures are embedded, and there is no script or style from elsewhere.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from sparsegate.evaluation.experiment.results import replace_text
from sparsegate.evaluation.methods import METHODS
from sparsegate.evaluation.reporting.error_figures import COMPARISONS, ORACLE
from sparsegate.evaluation.reporting.figures import draw_all
from sparsegate.evaluation.reporting.page_tables import TableCell, number, table
from sparsegate.evaluation.statements.findings import Findings, Row, load_findings
from sparsegate.evaluation.statements.judgements import Checked, Support, tally
from sparsegate.evaluation.statements.paper_statements import check_all
from sparsegate.evaluation.statements.reference_values import VALUES


def write(out: str | Path) -> Path:
    """Write ``report.html``, and the figures in ``figures``, into the folder of an experiment; return its path."""
    folder = Path(out)
    findings = load_findings(folder)
    figures = draw_all(findings, folder / "figures")
    page = render(findings, figures)
    path = folder / "report.html"
    replace_text(path, page)
    return path


def render(findings: Findings, figures: dict[str, Path]) -> str:
    """The report as HTML."""
    checked = check_all(findings)
    values = [one for one in checked if one.statement.key.startswith("value-")]
    template = files("sparsegate.evaluation.reporting").joinpath("report.html").read_text(encoding="utf-8")
    return Template(template).substitute(
        tally=_tally(checked),
        warning=_warning(findings),
        statements="\n".join(_statement(one) for one in checked if one not in values),
        values=_values(values),
        figures="\n".join(_figure(name, path) for name, path in figures.items()),
        datasets=_datasets(findings),
        methods=_methods(findings),
        numbers=_numbers(sorted(findings.rows.values(), key=lambda row: row.epsilon != findings.epsilon)),
        run=_run(findings),
    )


def _badge(support: Support, text: str = "") -> str:
    return f'<span class="verdict {support.value.replace(" ", "-")}">{text}{support.value}</span>'


def _tally(checked: Sequence[Checked]) -> str:
    found = Counter(one.judgement.support for one in checked)
    badges = "".join(f"<li>{_badge(support, f'{found[support]} ')}</li>" for support in Support if found[support])
    return f"<li>{escape(str(tally(checked)))}.</li>{badges}"


def _warning(findings: Findings) -> str:
    names = [str(entry["title"]) for entry in findings.datasets.values() if entry["stand_in"]]
    if not names:
        return ""
    return (
        f'<p class="note"><strong>Stand-ins.</strong> {escape(", ".join(names))}: a law of a few numbers '
        "takes the place of the data. It shows how methods compare on such data, and is not comparable with published "
        "values. <code>--data kosarak=FILE</code> uses the real data.</p>"
    )


def _statement(one: Checked) -> str:
    return (
        f'<div class="statement" id="{escape(one.statement.key)}">'
        f'<p><span class="claim">{escape(one.statement.claim)}</span> {_badge(one.judgement.support)}</p>'
        f'<p>{escape(one.judgement.numbers)}</p><p class="soft">Rule: {escape(one.statement.rule)}.</p></div>'
    )


def _values(values: Sequence[Checked]) -> str:
    rows = [
        [
            value.dataset,
            number(value.count, ""),
            value.method,
            str(value),
            value.source,
            one.judgement.numbers,
            TableCell(text=_badge(one.judgement.support), markup=True),
        ]
        for value, one in zip(VALUES, values, strict=True)
    ]
    return table(["Dataset", "#c", "Method", "SER", "Where from", "Here", "Verdict"], rows)


def _figure(name: str, path: Path) -> str:
    captions = {
        one.name: f"{one.title}. {one.caption} Means with ± one standard deviation; {ORACLE}." for one in COMPARISONS
    }
    caption = escape(captions.get(name, "The highest scores of each dataset, on a logarithmic scale."))
    picture = base64.b64encode(path.read_bytes()).decode("ascii")
    return (
        f'<figure id="figure-{name}"><div><img alt="{caption}" src="data:image/svg+xml;base64,{picture}"></div>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _datasets(findings: Findings) -> str:
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
    return table(["Dataset", "#Records", "#Items", "#Distinct scores", "Kind", "What it is"], rows)


def _methods(findings: Findings) -> str:
    rows = []
    for key, entry in findings.methods.items():
        row, is_em = METHODS[key].row if key in METHODS else None, entry["row"] is None
        way = entry.get("selection", "exponential")
        scored = "Exponential mechanism, c rounds" if way == "exponential" else f"select_top, method {way}"
        described = f"{row.algorithm}: {row.title}" if row else scored if is_em else ""
        passes = "until c are selected" if entry["passes"] > 1 else "one"
        rows.append(
            [
                "interactive" if entry["interactive"] else "non-interactive",
                entry["title"],
                key,
                described,
                entry["allocation"] or (str(row.allocation) if row else "none"),
                f"{entry['raise_by']} D" if entry["raise_by"] else "no",
                "" if is_em else passes,
            ]
        )
    rows.sort(key=lambda cells: str(cells[0]))
    return table(["Setting", "Method", "Key", "Description", "Split of ε", "Threshold raised by", "Passes"], rows)


def _numbers(rows: Iterable[Row]) -> str:
    heads = ["Dataset", "Method", "#ε", "#c", "#SER", "#±", "#FNR", "#±", "#FPR", "#Total SER", "#Selected", "#Runs"]
    cells = [
        [
            row.place,
            row.method,
            number(row.epsilon, "g"),
            number(row.count, ""),
            *(number(value, ".3f") for value in (row.ser_mean, row.ser_std, row.fnr_mean, row.fnr_std)),
            *(number(value, ".3f") for value in (row.fpr_mean, row.total_ser_mean)),
            number(row.selected_mean, ".1f"),
            number(row.runs, ""),
        ]
        for row in rows
    ]
    return table(heads, cells, identity="numbers-table", tall=True)


def _run(findings: Findings) -> str:
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
    return "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in shown.items())
