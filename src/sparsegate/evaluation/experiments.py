"""The paper's experiment: every method at every c on every dataset, many runs each. Same seed, same numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sparsegate.budget import Number, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.evaluation.datasets import PUBLISHED, Dataset, load
from sparsegate.evaluation.methods import DEFAULT_METHODS, Method
from sparsegate.evaluation.methods import method as method_of
from sparsegate.evaluation.provenance import manifest
from sparsegate.evaluation.results import SCORE_COLUMNS, replace_file, table, write
from sparsegate.evaluation.store import Record, Store
from sparsegate.evaluation.workers import Cell, Progress, compute_all

if TYPE_CHECKING:
    import pyarrow as pa

DEFAULT_COUNTS = tuple(range(25, 301, 25))
DEFAULT_EPSILONS = (0.1,)
SHOWN_SCORES = 300
"""How many of the highest scores are kept for the picture of the datasets."""

_T = TypeVar("_T")


def run(
    *,
    datasets: Sequence[str | Dataset] = tuple(PUBLISHED),
    data: Mapping[str, str | Path] | None = None,
    scale_to_records: bool = False,
    counts: Iterable[int] = DEFAULT_COUNTS,
    epsilon: Number | Iterable[Number] = DEFAULT_EPSILONS,
    methods: Sequence[str | Method] = DEFAULT_METHODS,
    runs: int = 100,
    seed: int = 0,
    jobs: int = 1,
    out: str | Path | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> pa.Table:
    """Run the experiment; the result is a PyArrow table with a row for each cell, see ``results.COLUMNS``.

    NOT PRIVATE: thresholds are computed from the true scores, as in the paper.

    Parameters
    ----------
    datasets: names, or ``Dataset`` values of your own.
    data: a file for each name that has one; without a file bms-pos, kosarak and aol are stand-ins.
    scale_to_records: accept files with fewer records than published, and scale their counts.
    counts: values of c. epsilon: one or more. methods: keys of ``METHODS``, or ``Method`` values of your own.
    runs: how often each cell is simulated.
    seed: a whole number of at least 0; the same seed gives the same numbers, but for the column ``seconds``.
    jobs: processes. More than one needs an importable main module, as always with Python's ``multiprocessing``.
    out: a folder for results, scores (the 300 highest of each dataset), manifest and cells. Cells that are there
        already are not computed again, so what was interrupted goes on.
    progress: called after every cell.

    >>> found = run(datasets=["zipf"], counts=[25], methods=["em", "svt-dpbook"], runs=20)
    >>> [round(rate, 1) for rate in found.column("ser_mean").to_pylist()]
    [0.0, 0.8]
    """
    chosen = _datasets(datasets, data or {}, scale_to_records)
    selectors = _distinct([method_of(given) for given in methods], "methods")
    epsilons = _distinct(
        [exact_epsilon(e) for e in (epsilon if isinstance(epsilon, Iterable) else [epsilon])], "epsilon"
    )
    wanted = _distinct([exact_count(c, "counts") for c in counts], "counts")
    runs, jobs = exact_count(runs, "runs"), exact_count(jobs, "jobs")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ParameterError("seed", "must be a whole number of at least 0", seed)
    for dataset in chosen.values():
        dataset.ladder.check_count(max(wanted))
    cells = [
        Cell(dataset=name, method=method, epsilon=share, count=count, runs=runs, seed=seed)
        for name in chosen
        for share in epsilons
        for method in selectors
        for count in wanted
    ]
    table([])  # if PyArrow is missing, say so before the work
    store = None if out is None else Store.open(out)
    records = compute_all(cells, chosen, store=store, jobs=jobs, progress=progress)
    found = table([_row(cell, chosen[cell.dataset], records[cell]) for cell in cells])
    if store is not None:
        about = manifest(
            datasets=list(chosen.values()),
            methods=selectors,
            parameters={
                "counts": wanted,
                "epsilon": [float(share) for share in epsilons],
                "runs": runs,
                "seed": seed,
                "scale_to_records": scale_to_records,
            },
        )
        _write(store.folder, found, chosen, about)
    return found


def _datasets(
    given: Sequence[str | Dataset], files: Mapping[str, str | Path], scale_to_records: bool
) -> dict[str, Dataset]:
    names = _distinct([entry.name if isinstance(entry, Dataset) else entry for entry in given], "datasets")
    if unknown := sorted(set(files) - {entry for entry in given if isinstance(entry, str)}):
        raise ParameterError("data", f"must be for datasets that are run, here {', '.join(names)}", ", ".join(unknown))
    return {
        name: entry if isinstance(entry, Dataset) else load(name, files.get(name), scale_to_records=scale_to_records)
        for name, entry in zip(names, given, strict=True)
    }


def _distinct(values: list[_T], parameter: str) -> list[_T]:
    """The values without repetitions, in their order; there must be some."""
    if not values:
        raise ParameterError(parameter, "must not be empty", next_step="leave it out for the paper's")
    return list(dict.fromkeys(values))


def _row(cell: Cell, dataset: Dataset, record: Record) -> dict[str, Any]:
    return {
        "dataset": cell.dataset,
        "stand_in": dataset.stand_in,
        "method": cell.method.key,
        "epsilon": float(cell.epsilon),
        "count": cell.count,
        "runs": cell.runs,
        **record,
    }


def _write(folder: Path, found: pa.Table, datasets: Mapping[str, Dataset], about: dict[str, Any]) -> None:
    scores = [
        {"dataset": name, "stand_in": dataset.stand_in, "rank": rank, "score": score}
        for name, dataset in datasets.items()
        for rank, score in enumerate(dataset.ladder.highest(SHOWN_SCORES).tolist(), start=1)
    ]
    write(folder, "results", found)
    write(folder, "scores", table(scores, SCORE_COLUMNS))
    text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
    replace_file(folder / "manifest.json", lambda path: path.write_text(text, encoding="utf-8"))
