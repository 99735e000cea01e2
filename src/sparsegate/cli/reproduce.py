"""`sparsegate reproduce`: the paper's evaluation, from data to report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from sparsegate.cli.long_run import shown_progress
from sparsegate.cli.options import AsJson
from sparsegate.cli.printing import print_json
from sparsegate.cli.reproduction_summary import failed_self_checks, reading_lines, summary_record, verdict_lines
from sparsegate.errors import ParameterError
from sparsegate.evaluation.data.datasets import PUBLISHED
from sparsegate.evaluation.experiment.experiments import DEFAULT_COUNTS, DEFAULT_EPSILONS, run
from sparsegate.evaluation.experiment.progress import WorkPlan
from sparsegate.evaluation.experiment.readings import SWITCHES
from sparsegate.evaluation.experiment.rounds import MOST_RUNS
from sparsegate.evaluation.experiment.workers import WorkerPool
from sparsegate.evaluation.methods import DEFAULT_METHODS
from sparsegate.evaluation.reporting.report import plan_report, write_report
from sparsegate.evaluation.statements.findings import load_findings
from sparsegate.evaluation.statements.paper_statements import check_all
from sparsegate.evaluation.statements.reading_verdicts import ReadingVerdicts
from sparsegate.uses.measured_uses import LEAST_RUNS, measure_uses, plan_uses, use_tasks

_T = TypeVar("_T")


def reproduce(
    runs: Annotated[int, typer.Option(help="Runs of each cell, to begin with.")] = 100,
    most_runs: Annotated[int, typer.Option(help="Runs of a cell at most, where a verdict needs more.")] = MOST_RUNS,
    counts: Annotated[str, typer.Option(help="Values of c, with commas between.")] = ",".join(map(str, DEFAULT_COUNTS)),
    epsilon: Annotated[str, typer.Option(help="One epsilon or more.")] = ",".join(map(str, DEFAULT_EPSILONS)),
    methods: Annotated[str, typer.Option(help="Methods, by key.")] = ",".join(DEFAULT_METHODS),
    datasets: Annotated[str, typer.Option(help="Datasets, by name.")] = ",".join(PUBLISHED),
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            show_default=False,
            help="The real data for a dataset, or one of your own under a new name; may be repeated.",
        ),
    ] = None,
    records: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]N", show_default=False, help="How many records a file of counts is of; may be repeated."
        ),
    ] = None,
    scale_to_records: Annotated[
        bool, typer.Option("--scale-to-records", help="Accept shorter files, and scale their counts.")
    ] = False,
    paper_only: Annotated[
        bool,
        typer.Option(
            "--paper-only", help="Leave out what its figures lack: other ε, thresholds and c, the ablation, the uses."
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
    jobs: Annotated[int | None, typer.Option(show_default="one a CPU", help="Processes.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for results and report; finished cells are kept there.")] = Path(
        "reproduction"
    ),
    as_json: AsJson = False,
) -> None:
    """Run the paper's evaluation (oracle thresholds: not private) and write results and report.

    Ctrl-C keeps what is finished; the same command goes on from there. Exit code 1 if a self-check is not met.
    """
    begun = time.monotonic()
    given = data_files(data or [])
    options: dict[str, Any] = {
        "datasets": listed(datasets, "--datasets", str),
        "data": given,
        "records": data_records(records or [], given),
        "scale_to_records": scale_to_records,
        "counts": listed(counts, "--counts", int),
        "epsilon": listed(epsilon, "--epsilon", float),
        "methods": listed(methods, "--methods", str),
        "runs": runs,
        "most_runs": max(runs, most_runs),
        "seed": seed,
        "out": out,
        "further": not paper_only,
        "reading": reading or [],
    }
    try:
        with (
            shown_progress() as show,
            WorkerPool(os.cpu_count() or 1 if jobs is None else jobs, WorkPlan(show)) as pool,
        ):
            plan_report(pool)
            uses = [] if paper_only else use_tasks(runs=max(LEAST_RUNS, 4 * runs), seed=seed)
            plan_uses(pool, uses)
            found = run(**options, pool=pool)
            if uses:
                measure_uses(out, pool, uses)
            page = write_report(out, pool)
            checked, verdicts = check_all(load_findings(out)), ReadingVerdicts.load(out)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {out} keeps what is finished: the same command goes on") from None
    names = {"results": "results.csv", "parquet": "results.parquet", "manifest": "manifest.json"}
    files = {**{name: out / file for name, file in names.items()}, "report": page}
    if as_json:
        seconds = time.monotonic() - begun
        print_json(summary_record(checked, rows=len(found), seconds=seconds, files=files, verdicts=verdicts))
    else:
        typer.echo("\n".join([*verdict_lines(checked), *reading_lines(verdicts)]))
        typer.echo(f"{len(found)} rows: {files['results']}, {files['parquet']}, {files['manifest']}")
        typer.echo(f"report: {page}")
    if failed_self_checks(checked):
        raise typer.Exit(1)


def listed(text: str, option: str, kind: Callable[[str], _T]) -> list[_T]:
    """What an option says with commas between."""
    try:
        return [kind(part.strip()) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ParameterError(option, "must be numbers with commas between", text) from None


def data_files(pairs: list[str]) -> dict[str, Path]:
    """The file of each dataset that has one."""
    files: dict[str, Path] = {}
    for pair in pairs:
        name, equals, file = pair.partition("=")
        if not equals or not file:
            raise ParameterError("--data", "must look like kosarak=FILE", pair)
        if name in files:
            raise ParameterError("--data", "must name a dataset once", name)
        files[name] = Path(file)
    return files


def data_records(texts: list[str], files: dict[str, Path]) -> dict[str, int]:
    """How many records there are, by name; a number alone is for the one file there is."""
    found = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        if not number.isdecimal() or (not equals and len(files) != 1):
            rule = "must look like NAME=N, or be a number where there is one --data"
            raise ParameterError("--records", rule, text)
        found[name if equals else next(iter(files))] = int(number)
    return found
