"""`sparsegate reproduce`: the paper's evaluation, from data to report.

The last words of `sparsegate reproduce`: what held, what did not, and where everything is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sparsegate import paper
from sparsegate.cli.evaluation_options import (
    ALL_DATASETS,
    Counts,
    Data,
    Datasets,
    Epsilons,
    FirstRuns,
    Jobs,
    Out,
    Records,
    ScaleToRecords,
    Seed,
    data_files,
    data_records,
    joined,
    listed,
    workers,
)
from sparsegate.cli.options import AsJson
from sparsegate.cli.printing import print_json, to_standard_output
from sparsegate.display.plain import plain
from sparsegate.paper.experiments import DEFAULT_COUNTS, DEFAULT_EPSILONS, MOST_RUNS
from sparsegate.paper.findings import Checked, Support, tally, tally_sentence
from sparsegate.paper.methods import DEFAULT_METHODS
from sparsegate.paper.readings import SWITCHES
from sparsegate.paper.statements import ReadingVerdicts

NAMED = (Support.NOT_SUPPORTED, Support.UNDECIDED, Support.NOT_RUN)
"""What is named one by one: the others are as the paper says, or say nothing."""


def verdict_lines(checked: Sequence[Checked]) -> list[str]:
    """The tally, and a line for each of ``NAMED`` that there is."""
    named = {
        support: [one.statement.key for one in checked if one.judgement.support is support and _worth_a_name(one)]
        for support in NAMED
    }
    lines = [f"{support.value}: {', '.join(keys)}" for support, keys in named.items() if keys]
    return [f"{tally_sentence(tally(checked))}.", *lines]


def _worth_a_name(one: Checked) -> bool:
    """A number that needs other data than were given is no news."""
    return one.statement.kind == "statement" or one.judgement.support is not Support.NOT_RUN


def reading_lines(verdicts: ReadingVerdicts | None) -> list[str]:
    """How many verdicts depend on how the paper is read, and a line for each reading that changes some."""
    if verdicts is None:
        return []
    changed = {reading: verdicts.changes(reading) for reading in verdicts.by_reading}
    return [verdicts.sheet().title] + [
        f"{reading}: {', '.join(f'{key} {support.value}' for key, support in found.items())}"
        for reading, found in changed.items()
        if found
    ]


def summary_record(
    checked: Sequence[Checked],
    *,
    rows: int,
    seconds: float,
    files: Mapping[str, Path],
    verdicts: ReadingVerdicts | None = None,
) -> dict[str, Any]:
    """The same for programs: the schema "sparsegate/reproduction/1" of docs/reference/json.md."""
    counts = {
        kind: {support.value: number for support, number in found.items()} for kind, found in tally(checked).items()
    }
    statements = [
        {
            "key": one.statement.key,
            "kind": one.statement.kind,
            "where": one.statement.where,
            "claim": one.statement.claim,
            "rule": one.statement.rule,
            "support": one.judgement.support.value,
            "numbers": one.judgement.numbers,
            "places": {
                name: {"support": place.support.value, "numbers": place.numbers}
                for name, place in one.judgement.places.items()
            },
        }
        for one in checked
    ]
    return {
        "schema": "sparsegate/reproduction/1",
        "tally": counts,
        "statements": plain(statements),
        "readings": {
            reading: {key: one.support.value for key, one in found.items()}
            for reading, found in (verdicts.by_reading.items() if verdicts else ())
        },
        "rows": rows,
        "seconds": round(seconds, 1),
        "files": {name: str(path) for name, path in files.items()},
    }


def failed_self_checks(checked: Sequence[Checked]) -> bool:
    """Whether a number of our own simulation was not met: then it is this program that cannot be trusted."""
    return any(one.statement.kind == "self-check" and one.judgement.support is Support.NOT_SUPPORTED for one in checked)


_COUNTS, _EPSILONS, _METHODS = joined(DEFAULT_COUNTS), joined(DEFAULT_EPSILONS), joined(DEFAULT_METHODS)


def reproduce(
    runs: FirstRuns = 100,
    most_runs: Annotated[int, typer.Option(help="Runs of a cell at most, where a verdict needs more.")] = MOST_RUNS,
    counts: Counts = _COUNTS,
    epsilon: Epsilons = _EPSILONS,
    methods: Annotated[str, typer.Option(metavar="LIST", help="Methods, by key: see `sparsegate methods`.")] = _METHODS,
    datasets: Datasets = ALL_DATASETS,
    data: Data = None,
    records: Records = None,
    scale_to_records: ScaleToRecords = False,
    paper_only: Annotated[
        bool,
        typer.Option(
            "--paper-only",
            help="Leave out what its figures lack: other ε, thresholds and c, the ablation, readings, uses.",
        ),
    ] = False,
    reading: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=SETTING",
            show_default="ours, and every alternative beside it",
            help=f"How to read the paper where it is open: {', '.join(SWITCHES)}; may be repeated.",
        ),
    ] = None,
    jobs: Jobs = None,
    seed: Seed = 0,
    out: Out = Path("reproduction"),
    as_json: AsJson = False,
) -> None:
    """Run the paper's evaluation (oracle thresholds: not private) and write results and report.

    Ctrl-C keeps what is finished; the same command goes on from there. Exit code 1 if a self-check is not met.
    """
    begun = time.monotonic()
    given = data_files(data or [])
    with workers(jobs, out) as pool:
        found = paper.reproduce(
            out,
            datasets=listed(datasets, "--datasets", str),
            data=given,
            records=data_records(records or [], given),
            scale_to_records=scale_to_records,
            counts=listed(counts, "--counts", int),
            epsilon=listed(epsilon, "--epsilon", float),
            methods=listed(methods, "--methods", str),
            runs=runs,
            most_runs=max(runs, most_runs),
            seed=seed,
            further=not paper_only,
            reading=reading or [],
            pool=pool,
        )
        rows = len(found.results)
    names = {"results": "results.csv", "parquet": "results.parquet", "manifest": "manifest.json"}
    files = {**{name: out / file for name, file in names.items()}, "report": found.report}
    with to_standard_output(f"all of it is in {found.report}"):
        if as_json:
            seconds = time.monotonic() - begun
            readings = found.readings
            print_json(summary_record(found.checked, rows=rows, seconds=seconds, files=files, verdicts=readings))
        else:
            typer.echo("\n".join([*verdict_lines(found.checked), *reading_lines(found.readings)]))
            typer.echo(f"{rows} rows: {files['results']}, {files['parquet']}, {files['manifest']}")
            typer.echo(f"report: {found.report}")
    if failed_self_checks(found.checked):
        raise typer.Exit(1)
