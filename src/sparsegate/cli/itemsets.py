"""`sparsegate itemsets`: the sets of items that most people have together, privately, from files."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sparsegate.cli.options import (
    INPUT,
    OUTPUT,
    Dataset,
    Encoding,
    Files,
    Formats,
    LedgerBudget,
    LedgerDelta,
    LedgerFile,
    Separator,
    Spending,
    Sql,
    Table,
    User,
    chosen_formats,
    read_domain,
)
from sparsegate.cli.printing import busy, draw_bars, drawable, print_top, ready_to_print
from sparsegate.display.published import PrintedTop
from sparsegate.errors import ParameterError


def itemsets(
    files: Files,
    count: Annotated[int, typer.Option("--count", "-c", help="How many sets to select.")],
    epsilon: Annotated[float, typer.Option(help="The privacy loss of the selection, all levels together.")],
    size: Annotated[int, typer.Option(help="The most items of a set.")] = 3,
    smallest: Annotated[int, typer.Option(help="The fewest: 2 leaves single items out.")] = 1,
    item: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What sets are made of; not needed for baskets.")
    ] = None,
    user: User = None,
    domain: Annotated[
        str | None,
        typer.Option(metavar="FILE[:COLUMN]|N|observed", help="The PUBLIC items; see docs/how-to/threshold.md."),
    ] = None,
    delta: Annotated[float, typer.Option(help="For --domain observed: such as 1e-6.")] = 0.0,
    answers_epsilon: Annotated[float, typer.Option(help="Spend this much more on the sets' noisy counts.")] = 0.0,
    method: Annotated[
        str, typer.Option(metavar="WORD", help="whole, items-first or levels; auto: the first that can be counted.")
    ] = "auto",
    pool: Annotated[int | None, typer.Option(help="How many items are selected first; 4 times the root of -c.")] = None,
    selection: Annotated[
        str, typer.Option(metavar="WORD", help="How a level selects: subset, one-shot or exponential.")
    ] = "auto",
    where: Annotated[
        str | None, typer.Option(metavar="CONDITION", help="Count only rows that meet it: \"country = 'DE'\".")
    ] = None,
    table: Table = None,
    sql: Sql = None,
    separator: Separator = None,
    encoding: Encoding = None,
    ledger: LedgerFile = None,
    budget: LedgerBudget = None,
    budget_delta: LedgerDelta = None,
    dataset: Dataset = None,
    formats: Formats = None,
    as_json: Annotated[bool, typer.Option("--json", help="Same as --format json.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Same as --format csv.")] = False,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw the noisy counts with error bars."),
    ] = None,
) -> None:
    """The --count sets of up to --size items that most people have, without exposing a person."""
    from sparsegate.tables.domain import EXPLAINED
    from sparsegate.tables.files import TextForm
    from sparsegate.uses.itemsets import ItemsetQuestion, SetQuestion, frequent_itemsets

    said = chosen_formats(formats, as_json=as_json, as_csv=as_csv)
    if domain is None:
        step = "give --domain FILE[:COLUMN], --domain N for labels 0 to N-1, or --domain observed --delta 1e-6"
        raise ParameterError("domain", EXPLAINED[0], next_step=step)
    written: dict[str, Any] = {"format": said.get(INPUT), "separator": separator, "encoding": encoding}
    TextForm(**written)
    sets: dict[str, Any] = {"count": count, "size": size, "smallest": smallest, "method": method, "pool": pool}
    public: dict[str, Any] = {
        "item": item,
        "user": user,
        "where": where,
        "epsilon": epsilon,
        "answers_epsilon": answers_epsilon,
        "delta": delta,
        "selection": selection,
        "domain": read_domain(domain),
    }
    # Checked here for the ledger and the picture, before the files are read.
    asked = ItemsetQuestion(sets=SetQuestion(**sets), **public)
    if plot is not None and not answers_epsilon:
        raise ParameterError("plot", "needs noisy counts to draw", next_step="give --answers-epsilon too")
    with Spending(ledger=ledger, budget=budget, budget_delta=budget_delta, dataset=dataset) as spending:
        if plot is not None:
            drawable(plot)
        spending.check(asked.spent + asked.answers, delta)
        ready_to_print()
    try:
        with spending, busy("reading and counting") as spending.stage:
            frequent_itemsets(files, table=table, sql=sql, **written, **sets, **public, ledger=spending)
    finally:  # after Ctrl-C, too: it is paid for
        if spending.gave is not None:
            with spending:
                printed = PrintedTop(kept=spending.gave, recorded=spending.recorded)
                try:
                    print_top(printed, said[OUTPUT], again=spending.again)
                finally:  # a reader who left early must not cost the picture too
                    if plot is not None:
                        draw_bars(plot, printed, "" if spending.ledger is None else f"{spending.again} --plot {plot}")
