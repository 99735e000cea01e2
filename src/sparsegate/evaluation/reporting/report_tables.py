"""The tables of the reproduction's page: values to compare with, datasets, methods, all numbers, and what was run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from sparsegate.evaluation.methods import METHODS
from sparsegate.evaluation.reporting.claim_grid import ClaimGrid, badge, row_name
from sparsegate.evaluation.reporting.page_tables import TableCell, number, table
from sparsegate.evaluation.reporting.report_figures import panel_name
from sparsegate.evaluation.statements.findings import Findings, Row
from sparsegate.evaluation.statements.judgements import Checked
from sparsegate.evaluation.statements.reference_values import VALUES


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
    return table(["Dataset", "#c", "Method", "SER", "Where from", "Here", "Verdict"], rows, tall=True)


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
    return table(["Dataset", "#Records", "#Items", "#Distinct scores", "Kind", "What it is"], rows)


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
    return table(["Method", "Key", "Setting", "Description", "Split of ε", "Threshold raised by", "Passes"], rows)


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
    return table(heads, lines, identity="numbers-table", tall=True, names=2)


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
