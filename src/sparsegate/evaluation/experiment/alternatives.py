"""Every alternative reading, run beside ours: the cases that it changes, and more runs until its verdicts are decided.

What an alternative needs more runs of may be a row that it does not change. Such a row goes on from the runs that it
has under ours, and belongs to the alternative from then on: our own rows stay what they are. Two alternatives may share
a case, and the later one goes on from the runs that the earlier one made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sparsegate.evaluation.data.datasets import Dataset
from sparsegate.evaluation.experiment.grids import ExperimentGrid, write_experiment
from sparsegate.evaluation.experiment.readings import PaperReading
from sparsegate.evaluation.experiment.results import ResultFolder
from sparsegate.evaluation.experiment.rounds import Gathered, more_runs
from sparsegate.evaluation.experiment.workers import ExperimentCase, WorkerPool, compute_all
from sparsegate.evaluation.methods import AnyMethod
from sparsegate.evaluation.statements.findings import Findings, Row
from sparsegate.evaluation.statements.judgements import CellKey
from sparsegate.evaluation.statements.paper_statements import STATEMENTS, OpenStatements
from sparsegate.evaluation.statements.reading_verdicts import READINGS, under

MOST_SELECTIONS = 800_000
"""No case gets more runs for an alternative once c times its runs is so much: at a large c runs are dear."""


@dataclass(frozen=True, kw_only=True)
class AlternativeReading:
    """A reading beside ours, of the experiments in ``grids``, the main one first."""

    reading: PaperReading
    grids: Sequence[ExperimentGrid]

    @cached_property
    def cases(self) -> list[ExperimentCase]:
        """The cases that the reading changes."""
        return [case for grid in self.grids for case in grid.under(self.reading).cases]

    @cached_property
    def datasets(self) -> dict[str, Dataset]:
        """The datasets as it has them."""
        return {name: self.reading.dataset(data) for name, data in self.grids[0].datasets.items()}

    @cached_property
    def methods(self) -> list[AnyMethod]:
        """The methods as it has them."""
        return list(
            {method.key: self.reading.method(method) for grid in self.grids for method in grid.methods}.values()
        )

    def work_off(
        self,
        ours: Mapping[CellKey, Gathered],
        findings: Findings,
        *,
        known: dict[str, Gathered],
        top: ResultFolder,
        pool: WorkerPool,
        most_runs: int | None,
        parameters: Mapping[str, object],
    ) -> None:
        """Run it, and write its folder; ``findings`` are ours, and ``top`` keeps the finished cases of all.

        ``known`` has, by its key, what the alternatives before it made of each case, and then also what this one did.
        """
        name = str(self.reading)
        keys = {case: case.key(self.datasets[case.dataset].fingerprint) for case in self.cases}
        new = [case for case, key in keys.items() if key not in known]
        records = compute_all(new, self.datasets, folder=top, pool=pool, what=name)
        known |= {keys[case]: Gathered.first(case, records[case]) for case in new}
        found = {**ours, **{case.cell: known[key] for case, key in keys.items()}}
        if most_runs is not None:
            paper = [statement for statement in STATEMENTS if statement.kind != "self-check"]
            open_still = OpenStatements(statements=paper, undecided=paper)

            def look(gathered: Mapping[CellKey, Gathered]) -> Mapping[CellKey, float]:
                wanted = open_still.wanting(self._findings(findings, gathered, ours))
                room = {cell: MOST_SELECTIONS / (cell.count * gathered[cell].runs) for cell in wanted}
                return {cell: min(times, room[cell]) for cell, times in wanted.items() if room[cell] > 1}

            found = more_runs(found, self.datasets, look, folder=top, pool=pool, most_runs=most_runs, what=name)
            known |= {key: found[case.cell] for case, key in keys.items()}
        folder = top.path / READINGS / name
        folder.mkdir(parents=True, exist_ok=True)
        write_experiment(
            ResultFolder(path=folder),
            [one.row(self.datasets) for one in self._own(found, ours)],
            datasets=self.datasets,
            methods=self.methods,
            parameters={**self.grids[0].parameters(), **parameters, "reading": str(self.reading)},
        )

    @staticmethod
    def _own(found: Mapping[CellKey, Gathered], ours: Mapping[CellKey, Gathered]) -> list[Gathered]:
        return [one for cell, one in found.items() if one is not ours.get(cell)]

    def _findings(
        self, findings: Findings, found: Mapping[CellKey, Gathered], ours: Mapping[CellKey, Gathered]
    ) -> Findings:
        rows = [Row.of(one.row(self.datasets), self.datasets[one.case.dataset].kind) for one in self._own(found, ours)]
        return under(
            findings,
            self.reading,
            {row.cell: row for row in rows},
            {name: data.described for name, data in self.datasets.items()},
            {method.key: method.described for method in self.methods},
        )
