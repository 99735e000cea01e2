"""`sparsegate compare`: the leaderboard of ways to select."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sparsegate.cli import evaluation_options as opt
from sparsegate.cli.options import AsJson, option, read_function
from sparsegate.cli.printing import grid, print_json, print_plain, to_standard_output
from sparsegate.paper import comparison
from sparsegate.paper.comparison_page import legend, winner_maps
from sparsegate.paper.methods import installed

_COUNTS, _EPSILONS = opt.joined(comparison.DEFAULT_COUNTS), opt.joined(comparison.DEFAULT_EPSILONS)


def compare(
    counts: opt.Counts = _COUNTS,
    epsilon: opt.Epsilons = _EPSILONS,
    methods: Annotated[
        str | None, option("LIST", "Methods, by key: see `sparsegate methods`.", show_default="all")
    ] = None,
    mine: Annotated[
        list[str] | None,
        option(
            "MODULE:FUNCTION",
            "A method of your own, or the key of one that a package brings; may be repeated.",
            show_default=False,
        ),
    ] = None,
    uses: Annotated[bool, option("", "Measure itemsets, features and attribute pairs, too.", "--uses")] = False,
    no_peers: Annotated[bool, option("", "Leave out OpenDP and diffprivlib.", "--no-peers")] = False,
    datasets: opt.Datasets = opt.ALL_DATASETS,
    data: opt.Data = None,
    records: opt.Records = None,
    scale_to_records: opt.ScaleToRecords = False,
    by: Annotated[
        str, option("WORD", f"The error that decides: {' or '.join(comparison.MEASURES)}.")
    ] = comparison.MEASURES[0],
    runs: opt.FirstRuns = comparison.DEFAULT_RUNS,
    most_runs: Annotated[int, option("", "Runs of a cell at most, until it is known who wins.")] = comparison.MOST_RUNS,
    latex: opt.Latex = False,
    jobs: opt.Jobs = None,
    seed: opt.Seed = 0,
    out: opt.Out = Path("comparison"),
    as_json: AsJson = False,
) -> None:
    """Compare ways to select the c highest scores (oracle thresholds: not private): who wins where.

    Ctrl-C keeps what is finished; the same command goes on from there.
    """
    options = opt.shared_grid(locals()) | {
        "out": out,
        "methods": comparison.COMPARED if methods is None else opt.listed(methods, "methods", str),
        "mine": [name if name in installed() else read_function(name, "mine") for name in mine or []],
        "peers": not no_peers,
        "uses": uses,
        "by": by,
    }
    with opt.long_run(jobs, out) as how:
        results = comparison.compare(**options, **how)
    page = out / "report.html"
    with to_standard_output(f"all of it is in {page}"):
        if as_json:
            print_json({**results.to_dict(), "report": str(page)})
            return
        print_plain(*_maps(results))
        for title, text in comparison.headlines(results).items():
            typer.echo(f"{title}: {text}")
        typer.echo(f"{len(results)} rows: {out / 'results.csv'}, .parquet, .json; winners: {out / 'winners.csv'}")
        typer.echo(f"report: {page}")


def _maps(results: comparison.ComparisonResults) -> list[Table | str]:
    league = comparison.LEAGUES[0]
    parts: list[Table | str] = []
    for dataset, chart in winner_maps(results, league).items():
        table = grid("c", *(f"ε={name}" for name in chart.columns), right=("c",), gap=2)
        for count, tiles in zip(chart.rows, chart.cells, strict=True):
            table.add_row(count, *(f"{tile.text} {tile.note.removeprefix('0')}" for tile in tiles))
        parts += [f"\n{results.titles[dataset]}: who wins, {league.title}, and the lowest {results.by.upper()}", table]
    named = ", ".join(f"{letter} {title}" for letter, title in legend(results, league).items())
    return [*parts, f"\n{named}\n"] if parts else []
