"""The verdicts under every reading of the paper, side by side: which of them depend on how it is read?

A reading's folder, ``readings/NAME`` below the results, has the rows that the reading changes, and those of ours that
it needed more runs of. All other rows are ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sparsegate.display.sheet import Sheet
from sparsegate.evaluation.experiment.readings import ALTERNATIVES, OURS, PaperReading
from sparsegate.evaluation.experiment.results import ResultFolder, table
from sparsegate.evaluation.statements.findings import Findings, Row, as_read, load_findings, load_part
from sparsegate.evaluation.statements.judgements import CellKey, Checked, PaperStatement, Support
from sparsegate.evaluation.statements.paper_statements import check_all

READINGS = "readings"
"""The folder of the alternatives, below the results, and the name of the table of their verdicts."""

COLUMNS = dict.fromkeys(("statement", "reading", "support", "numbers"), "string")

_COMPARED = (Support.SUPPORTED, Support.NOT_SUPPORTED, Support.UNDECIDED)


@dataclass(frozen=True, kw_only=True)
class ReadingVerdicts:
    """What the results say under each reading, by its name; ours is the first."""

    checked: Mapping[str, Sequence[Checked]]

    @property
    def statements(self) -> list[PaperStatement]:
        """The paper's statements, and the printed numbers that can be compared under some reading."""
        chosen = {
            one.statement.key: one.statement
            for found in self.checked.values()
            for one in found
            if one.statement.kind == "statement"
            or (one.statement.kind == "printed" and one.judgement.support in _COMPARED)
        }
        return list(chosen.values())

    def support(self, statement: str, reading: str) -> Support:
        """One verdict."""
        return next(one.judgement.support for one in self.checked[reading] if one.statement.key == statement)

    @property
    def disputed(self) -> list[str]:
        """The statements whose verdict is not the same under all readings."""
        keys = [statement.key for statement in self.statements]
        return [key for key in keys if len({self.support(key, reading) for reading in self.checked}) > 1]

    def changes(self, reading: str) -> dict[str, Support]:
        """The verdicts that are others than under ours."""
        ours = next(iter(self.checked))
        found = {statement.key: self.support(statement.key, reading) for statement in self.statements}
        return {key: support for key, support in found.items() if support is not self.support(key, ours)}

    def sheet(self) -> Sheet:
        """A row for each reading: how many statements are supported, and which verdicts it changes."""
        keys = [statement.key for statement in self.statements]
        counts = [Counter(self.support(key, reading) for key in keys) for reading in self.checked]
        same = len(keys) - len(self.disputed)
        return Sheet(
            title=f"verdicts by reading of the paper; {same} of {len(keys)} are the same under all",
            columns={
                "reading": list(self.checked),
                **{support.value: [count[support] for count in counts] for support in _COMPARED},
                "changed": [
                    "; ".join(f"{key}: {support.value}" for key, support in self.changes(reading).items())
                    for reading in self.checked
                ],
            },
            numbers=frozenset(support.value for support in _COMPARED),
        )

    def write(self, folder: ResultFolder) -> None:
        """Write ``readings.csv`` and ``readings.parquet``: a row for each statement and reading."""
        keys = {statement.key for statement in self.statements}
        rows = [
            {
                "statement": one.statement.key,
                "reading": reading,
                "support": one.judgement.support.value,
                "numbers": one.judgement.numbers,
            }
            for reading, found in self.checked.items()
            for one in found
            if one.statement.key in keys
        ]
        folder.write(READINGS, table(rows, COLUMNS))


def judge_readings(out: str | Path, checked: Sequence[Checked] | None = None) -> ReadingVerdicts:
    """The verdicts of a folder under every reading that was run there; ``checked`` are those under ours, if known."""
    findings = load_findings(out)
    found = {str(findings.reading): check_all(findings) if checked is None else checked}
    if findings.reading == OURS:
        for reading in ALTERNATIVES:
            if (other := load_reading(out, findings, reading)) is not None:
                found[str(reading)] = check_all(other)
    return ReadingVerdicts(checked=found)


def load_reading(out: str | Path, findings: Findings, reading: PaperReading) -> Findings | None:
    """The findings under an alternative; None if it was not run with them."""
    part = load_part(Path(out) / READINGS / str(reading), findings)
    return None if part is None else under(findings, reading, part.rows, part.datasets, part.methods)


def under(
    findings: Findings,
    reading: PaperReading,
    rows: Mapping[CellKey, Row],
    datasets: Mapping[str, dict[str, Any]],
    methods: Mapping[str, dict[str, Any]],
) -> Findings:
    """The findings with the rows, datasets and methods of an alternative in the place of ours."""
    together = as_read(findings.rows | dict(rows), reading)
    return replace(
        findings, rows=together, datasets=findings.datasets | dict(datasets), methods=findings.methods | dict(methods)
    )
