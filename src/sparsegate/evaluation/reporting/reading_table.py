"""The section of the report on readings: what the paper leaves open, and every verdict under every answer."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from sparsegate.evaluation.experiment.readings import SWITCHES
from sparsegate.evaluation.reporting.claim_grid import mark
from sparsegate.evaluation.reporting.page_tables import TableCell, table
from sparsegate.evaluation.statements.reading_verdicts import ReadingVerdicts


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
    return f"{about}\n{table(heads, rows, identity='readings-table', tall=True)}"
