"""`sparsegate reproduce`: the paper's evaluation, from data to report."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sparsegate import paper
from sparsegate.cli import evaluation_options as opt
from sparsegate.cli.options import AsJson, option
from sparsegate.cli.printing import print_json, to_standard_output
from sparsegate.paper.decisions import Judgement, Support
from sparsegate.paper.experiments import DEFAULT_COUNTS, DEFAULT_EPSILONS, MOST_RUNS
from sparsegate.paper.methods import DEFAULT_METHODS
from sparsegate.paper.readings import SWITCHES
from sparsegate.paper.report import Reproduction
from sparsegate.paper.statements import Checked, ReadingVerdicts, tally, tally_sentence

_COUNTS, _EPSILONS, _METHODS = opt.joined(DEFAULT_COUNTS), opt.joined(DEFAULT_EPSILONS), opt.joined(DEFAULT_METHODS)


def reproduce(
    runs: opt.FirstRuns = 100,
    most_runs: Annotated[int, option("", "Runs of a cell at most, where a verdict needs more.")] = MOST_RUNS,
    counts: opt.Counts = _COUNTS,
    epsilon: opt.Epsilons = _EPSILONS,
    methods: Annotated[str, option("LIST", "Methods, by key: see `sparsegate methods`.")] = _METHODS,
    datasets: opt.Datasets = opt.ALL_DATASETS,
    data: opt.Data = None,
    records: opt.Records = None,
    scale_to_records: opt.ScaleToRecords = False,
    paper_only: Annotated[
        bool,
        option(
            "",
            "Leave out what its figures lack: other ε, thresholds and c, the ablation, readings, uses.",
            "--paper-only",
        ),
    ] = False,
    reading: Annotated[
        list[str] | None,
        option(
            "NAME=SETTING",
            f"How to read the paper where it is open: {', '.join(SWITCHES)}; may be repeated.",
            show_default="ours, and every alternative beside it",
        ),
    ] = None,
    latex: opt.Latex = False,
    jobs: opt.Jobs = None,
    seed: opt.Seed = 0,
    out: opt.Out = Path("reproduction"),
    as_json: AsJson = False,
) -> None:
    """Run the paper's evaluation (oracle thresholds: not private) and write results and report.

    Ctrl-C keeps what is finished; the same command goes on from there. Exit code 1 if a self-check is not met.
    """
    begun, options = time.monotonic(), opt.shared_grid(locals())
    options |= {"methods": opt.listed(methods, "methods", str), "further": not paper_only, "reading": reading or []}
    with opt.long_run(jobs, out) as how:
        reproduction = paper.reproduce(out, **options, **how)
    names = {"results": "results.csv", "parquet": "results.parquet", "manifest": "manifest.json"}
    files = {**{name: out / file for name, file in names.items()}, "report": reproduction.report}
    with to_standard_output(f"all of it is in {reproduction.report}"):
        if as_json:
            print_json(_record(reproduction, seconds=time.monotonic() - begun, files=files))
        else:
            typer.echo("\n".join([*verdict_lines(reproduction.checked), *reading_lines(reproduction.readings)]))
            typer.echo(f"{len(reproduction.results)} rows: {files['results']}, {files['parquet']}, {files['manifest']}")
            typer.echo(f"report: {reproduction.report}")
    # A number of our own simulation that is not met: then it is this program that cannot be trusted.
    missed = [each for each in reproduction.checked if each.judgement.support is Support.NOT_SUPPORTED]
    if any(each.statement.kind == "self-check" for each in missed):
        raise typer.Exit(1)


NAMED = (Support.NOT_SUPPORTED, Support.DEPENDS, Support.UNDECIDED, Support.NOT_RUN)
"""What is named one by one: the others are as the paper says, or say nothing."""


def verdict_lines(checked: Sequence[Checked]) -> list[str]:
    """The tally, and a line for each of ``NAMED`` that there is. A number that needs other data is no news."""
    lines = [f"{tally_sentence(tally(checked))}."]
    for support in NAMED:
        of_support = [each.statement for each in checked if each.judgement.support is support]
        keys = [each.key for each in of_support if each.kind == "statement" or support is not Support.NOT_RUN]
        lines += [f"{support.value}: {', '.join(keys)}"] if keys else []
    return lines


def reading_lines(verdicts: ReadingVerdicts | None) -> list[str]:
    """How many verdicts depend on how the paper is read, and a line for each reading that changes some."""
    if verdicts is None:
        return []
    changed = {name: verdicts.changes(name) for name in verdicts.by_reading}
    named = {name: ", ".join(f"{key} {each.value}" for key, each in keys.items()) for name, keys in changed.items()}
    return [verdicts.title, *(f"{name}: {keys}" for name, keys in named.items() if keys)]


def _record(reproduction: Reproduction, *, seconds: float, files: Mapping[str, Path]) -> dict[str, Any]:
    """The same for programs: the schema "sparsegate/reproduction/1" of docs/reference/json.md."""
    verdicts = {} if reproduction.readings is None else reproduction.readings.by_reading
    return {
        "schema": "sparsegate/reproduction/1",
        "tally": {
            kind: {support.value: number for support, number in counts.items()}
            for kind, counts in tally(reproduction.checked).items()
        },
        "statements": [
            {name: getattr(each.statement, name) for name in ("key", "kind", "where", "claim", "rule")}
            | _judged(each.judgement)
            | {"places": {name: _judged(place) for name, place in each.judgement.places.items()}}
            for each in reproduction.checked
        ],
        "readings": {
            reading: {key: judgement.support.value for key, judgement in judged.items()}
            for reading, judged in verdicts.items()
        },
        "rows": len(reproduction.results),
        "seconds": round(seconds, 1),
        "files": {name: str(path) for name, path in files.items()},
    }


def _judged(judgement: Judgement) -> dict[str, Any]:
    return {"support": judgement.support.value, "numbers": judgement.numbers}
