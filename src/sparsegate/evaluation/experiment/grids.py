"""The cases of an experiment, and its tables: every method at every epsilon and c on every dataset."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sparsegate.budget import Number, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.evaluation.data.datasets import Dataset
from sparsegate.evaluation.experiment.further_experiments import FurtherExperiment
from sparsegate.evaluation.experiment.readings import OURS, PaperReading
from sparsegate.evaluation.experiment.results import SCORE_COLUMNS, ResultFolder, manifest, replace_text, table
from sparsegate.evaluation.experiment.rounds import Gathered
from sparsegate.evaluation.experiment.workers import ExperimentCase
from sparsegate.evaluation.methods import AnyMethod, methods_of
from sparsegate.evaluation.statements.judgements import CellKey

if TYPE_CHECKING:
    import pyarrow as pa

_T = TypeVar("_T")

SHOWN_SCORES = 300
"""How many of the highest scores are kept for the picture of the datasets."""


@dataclass(frozen=True, kw_only=True)
class ExperimentGrid:
    """Every method at every epsilon and c on every dataset; ``name`` is its folder."""

    name: str
    datasets: Mapping[str, Dataset]
    methods: Sequence[AnyMethod]
    epsilons: Sequence[Fraction]
    counts: Sequence[int]
    runs: int
    seed: int
    reading: PaperReading = OURS

    @classmethod
    def checked(
        cls,
        *,
        name: str,
        datasets: Mapping[str, Dataset],
        methods: Sequence[AnyMethod],
        epsilon: Number | Iterable[Number],
        counts: Iterable[int],
        runs: int,
        seed: int,
        reading: PaperReading = OURS,
    ) -> Self:
        """The grid of what somebody asks for: bad values are refused, and what is asked for twice is there once."""
        shares = epsilon if isinstance(epsilon, Iterable) else [epsilon]
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise ParameterError("seed", "must be a whole number of at least 0", seed)
        grid = cls(
            name=name,
            datasets=datasets,
            methods=distinct(methods, "methods"),
            epsilons=distinct([exact_epsilon(share) for share in shares], "epsilon"),
            counts=distinct([exact_count(count, "counts") for count in counts], "counts"),
            runs=exact_count(runs, "runs"),
            seed=seed,
            reading=reading,
        )
        for dataset in datasets.values():
            dataset.ladder.check_count(max(grid.counts))
        return grid

    @property
    def cases(self) -> list[ExperimentCase]:
        """A case for each."""
        return [
            ExperimentCase(dataset=name, method=method, epsilon=share, count=count, runs=self.runs, seed=self.seed)
            for name in self.datasets
            for share in self.epsilons
            for method in self.methods
            for count in self.counts
        ]

    def further(self, experiment: FurtherExperiment) -> ExperimentGrid:
        """The grid of a further experiment beside this one; it may be empty."""
        counts = experiment.counts(self.counts)
        most = max(counts, default=0)
        return replace(
            self,
            name=experiment.name,
            datasets={name: data for name, data in self.datasets.items() if data.ladder.total > most},
            methods=[
                self.reading.method(method)
                for method in methods_of(experiment.chosen([method.key for method in self.methods]))
            ],
            epsilons=experiment.epsilons(self.epsilons),
            counts=counts,
        )

    def under(self, reading: PaperReading) -> ExperimentGrid:
        """What another reading changes of it: all methods on a dataset that is another, or the methods that are."""
        datasets = {name: reading.dataset(data) for name, data in self.datasets.items()}
        others = {name: data for name, data in datasets.items() if data is not self.datasets[name]}
        methods = [reading.method(method) for method in self.methods]
        changed = [method for method, ours in zip(methods, self.methods, strict=True) if method != ours]
        if others:
            return replace(self, datasets=others, methods=methods, reading=reading)
        return replace(self, methods=changed, reading=reading)

    def parameters(self) -> dict[str, object]:
        """What the manifest says of it, beside datasets and methods."""
        epsilons = [float(share) for share in self.epsilons]
        return {"counts": list(self.counts), "epsilon": epsilons, "runs": self.runs, "seed": self.seed}

    def table(self, found: Mapping[CellKey, Gathered]) -> pa.Table:
        """The results, a row for each case."""
        return table([found[case.cell].row(self.datasets) for case in self.cases])

    def write(self, folder: ResultFolder, found: Mapping[CellKey, Gathered], **parameters: object) -> None:
        """Write results, scores and manifest into the folder of the experiment."""
        write_experiment(
            folder,
            [found[case.cell].row(self.datasets) for case in self.cases],
            datasets=self.datasets,
            methods=self.methods,
            parameters={**self.parameters(), **parameters, "reading": str(self.reading)},
        )


def write_experiment(
    folder: ResultFolder,
    rows: Sequence[Mapping[str, Any]],
    *,
    datasets: Mapping[str, Dataset],
    methods: Sequence[AnyMethod],
    parameters: Mapping[str, object],
) -> None:
    """Write results, scores and manifest."""
    scores = [
        {"dataset": name, "stand_in": dataset.stand_in, "rank": rank, "score": score}
        for name, dataset in datasets.items()
        for rank, score in enumerate(dataset.ladder.highest(SHOWN_SCORES).tolist(), start=1)
    ]
    about = manifest(datasets=datasets.values(), methods=methods, parameters=parameters)
    folder.write("results", table(rows))
    folder.write("scores", table(scores, SCORE_COLUMNS))
    replace_text(folder.path / "manifest.json", json.dumps(about, indent=2, ensure_ascii=False) + "\n")


def distinct(values: Sequence[_T], parameter: str) -> list[_T]:
    """The values without repetitions, in their order; there must be some."""
    if not values:
        raise ParameterError(parameter, "must not be empty", next_step="leave it out for the paper's")
    return list(dict.fromkeys(values))
