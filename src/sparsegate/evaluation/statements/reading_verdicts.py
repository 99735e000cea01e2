"""The verdicts under every reading of the paper, side by side: which of them depend on how it is read?

A reading's folder, ``readings/NAME`` below the results, has the rows that the reading changes, and those of ours that
it needed more runs of. All other rows are ours. The verdicts of all readings are in ``readings.csv`` and ``.parquet``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sparsegate.display.sheet import Sheet
from sparsegate.evaluation.experiment.readings import ALTERNATIVES, OURS, PaperReading
from sparsegate.evaluation.experiment.results import ResultFolder, read, table
from sparsegate.evaluation.statements.findings import Findings, Row, as_read, load_findings, load_part
from sparsegate.evaluation.statements.judgements import CellKey, Judgement, Support
from sparsegate.evaluation.statements.paper_statements import check_all

READINGS = "readings"
"""The folder of the alternatives, below the results, and the name of the table of their verdicts."""

COLUMNS = dict.fromkeys(("statement", "reading", "support", "numbers"), "string")

COMPARED = (Support.SUPPORTED, Support.NOT_SUPPORTED, Support.UNDECIDED)


@dataclass(frozen=True, kw_only=True)
class ReadingVerdicts:
    """What the results say under each reading, by its name, of each statement, by its key; ours is the first reading.

    It has the paper's statements, and its printed numbers, that can be judged under some reading.
    """

    by_reading: Mapping[str, Mapping[str, Judgement]]

    @property
    def statements(self) -> list[str]:
        """The keys of the statements."""
        return list(next(iter(self.by_reading.values())))

    @property
    def disputed(self) -> list[str]:
        """The statements whose verdict is not the same under all readings."""
        return [key for key in self.statements if len({found[key].support for found in self.by_reading.values()}) > 1]

    def changes(self, reading: str) -> dict[str, Support]:
        """The verdicts that are others than under ours."""
        ours, found = next(iter(self.by_reading.values())), self.by_reading[reading]
        return {key: found[key].support for key in ours if found[key].support is not ours[key].support}

    def sheet(self) -> Sheet:
        """A row for each reading: how many statements are supported, and which verdicts it changes."""
        counts = [Counter(one.support for one in found.values()) for found in self.by_reading.values()]
        same, total = len(self.statements) - len(self.disputed), len(self.statements)
        return Sheet(
            title=f"Readings of the paper: {same} of {total} verdicts are the same under all.",
            columns={
                "reading": list(self.by_reading),
                **{support.value: [count[support] for count in counts] for support in COMPARED},
                "changed by it": [
                    "; ".join(f"{key}: {support.value}" for key, support in self.changes(reading).items())
                    for reading in self.by_reading
                ],
            },
            numbers=frozenset(support.value for support in COMPARED),
        )

    def write(self, folder: ResultFolder) -> None:
        """Write the table: a row for each statement and reading."""
        rows = [
            {"statement": key, "reading": reading, "support": one.support.value, "numbers": one.numbers}
            for reading, found in self.by_reading.items()
            for key, one in found.items()
        ]
        folder.write(READINGS, table(rows, COLUMNS))

    @classmethod
    def load(cls, out: str | Path) -> ReadingVerdicts | None:
        """Read the table of a folder; None if there is none."""
        if not (Path(out) / f"{READINGS}.parquet").is_file():
            return None
        found: dict[str, dict[str, Judgement]] = {}
        for row in read(out, READINGS):
            judgement = Judgement(support=Support(row["support"]), numbers=row["numbers"])
            found.setdefault(row["reading"], {})[row["statement"]] = judgement
        return cls(by_reading=found)


def judge_readings(out: str | Path) -> ReadingVerdicts:
    """The verdicts of a folder under our reading, and under every alternative that was run there."""
    findings = replace(load_findings(out), uses=())  # which no reading changes
    read_as = {str(findings.reading): findings}
    for reading in ALTERNATIVES if findings.reading == OURS else ():
        if (other := load_reading(out, findings, reading)) is not None:
            read_as[str(reading)] = other
    checked = {name: check_all(other) for name, other in read_as.items()}
    shown = {
        one.statement.key
        for found in checked.values()
        for one in found
        if one.statement.kind != "self-check" and one.judgement.support in COMPARED
    }
    return ReadingVerdicts(
        by_reading={
            name: {one.statement.key: one.judgement for one in found if one.statement.key in shown}
            for name, found in checked.items()
        }
    )


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
    """Our findings with the rows, datasets and methods of an alternative in the place of ours."""
    parameters = {**findings.manifest["parameters"], "reading": str(reading)}
    return replace(
        findings,
        rows=as_read(findings.rows | dict(rows), reading),
        manifest={**findings.manifest, "parameters": parameters},
        datasets=findings.datasets | dict(datasets),
        methods=findings.methods | dict(methods),
    )
