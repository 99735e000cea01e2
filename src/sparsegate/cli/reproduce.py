"""`sparsegate reproduce`: the paper's evaluation, from data to report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

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
from sparsegate.cli.reproduction_summary import failed_self_checks, reading_lines, summary_record, verdict_lines
from sparsegate.evaluation.experiment.experiments import DEFAULT_COUNTS, DEFAULT_EPSILONS, run
from sparsegate.evaluation.experiment.readings import SWITCHES
from sparsegate.evaluation.experiment.rounds import MOST_RUNS
from sparsegate.evaluation.methods import DEFAULT_METHODS
from sparsegate.evaluation.reporting.report import plan_report, write_report
from sparsegate.evaluation.statements.findings import load_findings
from sparsegate.evaluation.statements.paper_statements import check_all
from sparsegate.evaluation.statements.reading_verdicts import ReadingVerdicts

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
    from sparsegate.uses import measured_uses  # it loads what dataframes need, and --help does not

    with workers(jobs, out) as pool:
        plan_report(pool)
        uses = [] if paper_only else measured_uses.use_tasks(runs=max(measured_uses.LEAST_RUNS, 4 * runs), seed=seed)
        measured_uses.plan_uses(pool, uses)
        found = run(**options, pool=pool)
        if uses:
            measured_uses.measure_uses(out, pool, uses)
        page = write_report(out, pool)
        checked, verdicts = check_all(load_findings(out)), ReadingVerdicts.load(out)
    names = {"results": "results.csv", "parquet": "results.parquet", "manifest": "manifest.json"}
    files = {**{name: out / file for name, file in names.items()}, "report": page}
    with to_standard_output(f"all of it is in {page}"):
        if as_json:
            seconds = time.monotonic() - begun
            print_json(summary_record(checked, rows=len(found), seconds=seconds, files=files, verdicts=verdicts))
        else:
            typer.echo("\n".join([*verdict_lines(checked), *reading_lines(verdicts)]))
            typer.echo(f"{len(found)} rows: {files['results']}, {files['parquet']}, {files['manifest']}")
            typer.echo(f"report: {page}")
    if failed_self_checks(checked):
        raise typer.Exit(1)
