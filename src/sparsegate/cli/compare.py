"""`sparsegate compare`: the leaderboard of ways to select."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sparsegate.cli.imported import imported
from sparsegate.cli.long_run import shown_progress
from sparsegate.cli.options import AsJson
from sparsegate.cli.printing import grid, print_json, print_plain
from sparsegate.cli.reproduce import data_files, data_records, listed
from sparsegate.evaluation.comparison.comparison_page import headlines, write_comparison_page
from sparsegate.evaluation.comparison.comparison_results import ComparisonResults
from sparsegate.evaluation.comparison.contestants import COMPARED, LEAGUES
from sparsegate.evaluation.comparison.selection_race import (
    DEFAULT_COUNTS,
    DEFAULT_EPSILONS,
    DEFAULT_RUNS,
    MEASURES,
    MOST_RUNS,
)
from sparsegate.evaluation.comparison.selection_race import compare as compare_methods
from sparsegate.evaluation.comparison.winner_maps import legend, winner_map
from sparsegate.evaluation.data.datasets import PUBLISHED
from sparsegate.evaluation.experiment.progress import Expected, WorkPlan
from sparsegate.evaluation.experiment.workers import WorkerPool
from sparsegate.evaluation.installed_methods import installed
from sparsegate.uses.measured_uses import measure_uses, plan_uses, use_tasks

USE_EPSILONS, USE_RUNS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0), 1000
PAGE_WORK = Expected(kind="page", seconds=6.0)


def compare(
    counts: Annotated[str, typer.Option(help="Values of c, with commas between.")] = ",".join(map(str, DEFAULT_COUNTS)),
    epsilon: Annotated[str, typer.Option(help="One epsilon or more.")] = ",".join(map(str, DEFAULT_EPSILONS)),
    methods: Annotated[
        str | None,
        typer.Option(show_default="all", help="Methods, by key: see `sparsegate methods`."),
    ] = None,
    mine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            show_default=False,
            help="A method of your own, or the key of one that a package brings; may be repeated.",
        ),
    ] = None,
    uses: Annotated[
        bool,
        typer.Option("--uses", help="Measure itemsets, features and attribute pairs, too."),
    ] = False,
    no_peers: Annotated[bool, typer.Option("--no-peers", help="Leave out OpenDP and diffprivlib.")] = False,
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
    by: Annotated[str, typer.Option(help=f"The error that decides: {' or '.join(MEASURES)}.")] = MEASURES[0],
    runs: Annotated[int, typer.Option(help="Runs of each cell at first.")] = DEFAULT_RUNS,
    most_runs: Annotated[int, typer.Option(help="Runs of a cell at most, until it is known who wins.")] = MOST_RUNS,
    jobs: Annotated[int | None, typer.Option(show_default="one a CPU", help="Processes.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for results and report; finished cells are kept there.")] = Path(
        "comparison"
    ),
    as_json: AsJson = False,
) -> None:
    """Compare ways to select the c highest scores (oracle thresholds: not private): who wins where.

    Ctrl-C keeps what is finished; the same command goes on from there.
    """
    files = data_files(data or [])
    options: dict[str, Any] = {
        "datasets": listed(datasets, "--datasets", str),
        "data": files,
        "records": data_records(records or [], files),
        "scale_to_records": scale_to_records,
        "counts": listed(counts, "--counts", int),
        "epsilon": listed(epsilon, "--epsilon", float),
        "methods": COMPARED if methods is None else listed(methods, "--methods", str),
        "mine": [name if name in installed() else imported(name, "--mine") for name in mine or []],
        "peers": not no_peers,
        "by": by,
        "runs": runs,
        "most_runs": max(runs, most_runs),
        "seed": seed,
        "out": out,
    }
    try:
        with (
            shown_progress() as show,
            WorkerPool(os.cpu_count() or 1 if jobs is None else jobs, WorkPlan(show)) as pool,
        ):
            tasks = use_tasks(epsilons=USE_EPSILONS, runs=USE_RUNS, seed=seed) if uses else []
            pool.plan.expect("page", [PAGE_WORK])
            plan_uses(pool, tasks)
            found = compare_methods(**options, pool=pool)
            if tasks:
                measure_uses(out, pool, tasks)
            with pool.plan.stage("page"):
                page = write_comparison_page(out)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {out} keeps what is finished: the same command goes on") from None
    if as_json:
        print_json({**found.to_dict(), "report": str(page)})
        return
    print_plain(*_maps(found))
    for title, text in headlines(found).items():
        typer.echo(f"{title}: {text}")
    typer.echo(f"{len(found)} rows: {out / 'results.csv'}, .parquet, .json; winners: {out / 'winners.csv'}")
    typer.echo(f"report: {page}")


def _maps(found: ComparisonResults) -> list[Table | str]:
    """The maps of the first league, one for each dataset, and their letters."""
    league = LEAGUES[0]
    parts: list[Table | str] = []
    for dataset in dict.fromkeys(cell.dataset for cell in found.league(league.key)):
        chart = winner_map(found, league, dataset)
        if chart is None:
            continue
        table = grid("c", *(f"ε={name}" for name in chart.columns), right=("c",), gap=2)
        for count, tiles in zip(chart.rows, chart.cells, strict=True):
            table.add_row(count, *(f"{tile.text} {tile.note.removeprefix('0')}" for tile in tiles))
        parts += [f"\n{found.titles[dataset]}: who wins, {league.title}, and the lowest {found.by.upper()}", table]
    named = ", ".join(f"{letter} {title}" for letter, title in legend(found, league).items())
    return [*parts, f"\n{named}\n"] if parts else []
