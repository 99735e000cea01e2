"""`sparsegate top`: the items that most users touched, privately, from files or a database."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsegate.cli.options import (
    AsJson,
    Dataset,
    Files,
    LedgerBudget,
    LedgerDelta,
    LedgerFile,
    Spending,
    Sql,
    Table,
    User,
    read_number,
)
from sparsegate.cli.printed_top import PrintedTop, draw_bars, drawable, print_top
from sparsegate.cli.printing import ready_to_print
from sparsegate.errors import ParameterError, TableError
from sparsegate.mechanisms.selection_methods import AUTO, describe_methods

if TYPE_CHECKING:
    from sparsegate.tables.workspace import Workspace


def top(
    files: Files,
    epsilon: Annotated[float, typer.Option(help="The privacy loss of the selection.")],
    count: Annotated[int | None, typer.Option("--count", "-c", help="How many items to select.")] = None,
    above: Annotated[
        int | None,
        typer.Option(metavar="N", help="Instead of --count: all that about N people have; with --domain observed."),
    ] = None,
    item: Annotated[str | None, typer.Option(metavar="COLUMN", help="What to rank; not needed for .dat.")] = None,
    user: User = None,
    unit: Annotated[str | None, typer.Option(help='"row": protect rows, not people; instead of --user.')] = None,
    domain: Annotated[
        str | None,
        typer.Option(metavar="FILE[:COLUMN]|N|observed", help="The PUBLIC list of candidates; see docs/threshold.md."),
    ] = None,
    delta: Annotated[
        float, typer.Option(help="Needed for --domain observed; elsewhere it may buy less noise. Such as 1e-6.")
    ] = 0.0,
    answers_epsilon: Annotated[float, typer.Option(help="Spend this much more on the items' noisy counts.")] = 0.0,
    method: Annotated[str, typer.Option(help=describe_methods())] = AUTO,
    ordered: Annotated[
        bool, typer.Option("--ordered", help="Ask for an order, best first, and not for a set.")
    ] = False,
    threshold: Annotated[
        str | None, typer.Option(metavar="T", help="A PUBLIC count, for sparse-vector and retraversal.")
    ] = None,
    max_items_per_user: Annotated[int | None, typer.Option(help="Count fewer items of each user: less noise.")] = None,
    itemset_size: Annotated[int, typer.Option(help="2 or 3: rank sets of items that users have together.")] = 1,
    max_items: Annotated[int | None, typer.Option(help="The same with --itemset-size; 100, or 40.")] = None,
    where: Annotated[
        str | None, typer.Option(metavar="CONDITION", help="Count only rows that meet it: \"country = 'DE'\".")
    ] = None,
    dbar: Annotated[int | None, typer.Option(help="With --domain observed: how many items take part; 10 c.")] = None,
    table: Table = None,
    sql: Sql = None,
    ledger: LedgerFile = None,
    budget: LedgerBudget = None,
    budget_delta: LedgerDelta = None,
    dataset: Dataset = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Draw the noisy counts with error bars.")] = None,
) -> None:
    """The --count items that most users touched, or all that about --above users did, without exposing a user.

    Counts, and their error bars, are of at most --max-items-per-user items of each user, where that is given.

    sparsegate top visits.parquet --item page --user visitor -c 50 --epsilon 0.5 --domain pages.csv
    """
    from sparsegate.conditions import names_in
    from sparsegate.tables.columns import read_columns
    from sparsegate.tables.domain import EXPLAINED
    from sparsegate.tables.engine_errors import quiet
    from sparsegate.tables.engines.engine import open_engine
    from sparsegate.tables.question import Question
    from sparsegate.tables.top import top_items
    from sparsegate.tables.workspace import Workspace

    if as_json and as_csv:
        raise ParameterError("json", "and csv must not both be given", next_step="choose one")
    if (count is None) == (above is None):
        raise ParameterError("count", "or above must be given, and not both", next_step="give -c 50, or --above 500")
    if domain is None:
        raise ParameterError(
            "domain",
            EXPLAINED[0],
            next_step="give --domain FILE[:COLUMN], --domain N for labels 0 to N-1, or --domain observed --delta 1e-6",
        )

    public: dict[str, Any] = {
        "unit": unit,
        "count": count,
        "above": above,
        "epsilon": epsilon,
        "delta": delta,
        "method": method,
        "ordered": ordered,
        "threshold": None if threshold is None else read_number(threshold, "threshold"),
        "answers_epsilon": answers_epsilon,
        "max_items_per_user": max_items_per_user,
        "itemset_size": itemset_size,
        "max_items": max_items,
        "dbar": dbar,
        "where": where,
    }
    # Checked before the files are read, whose columns may have names of their own.
    question = Question(item="an item", user=None if unit else "a user", observed=domain == "observed", **public)
    request = None if question.above else question.request
    if plot is not None:
        if not answers_epsilon and (request is None or not request.estimates):
            raise ParameterError("plot", "needs noisy counts to draw", next_step="give --answers-epsilon too")
        drawable(plot)
    spending = Spending(ledger=ledger, budget=budget, budget_delta=budget_delta, dataset=dataset)
    # The same as in the record, so that a refusal comes before the data is read.
    spending.check(question.total, question.delta if request is None else question.delta_used(request))
    ready_to_print()
    names = [*(names_in(where) if where else ()), *(name for name in (user, item) if name is not None)]
    asked = list({name.casefold(): name for name in names}.values())
    with Workspace() as workspace, _busy() as stage, quiet("the files cannot be read"):
        rows = workspace.run(lambda: workspace.open(files, table=table, sql=sql, columns=asked, user=user))
        kind = workspace.kind
        if item is None and kind == "FIMI":
            item, user = "item", "user" if user is None and unit is None else user
        if item is None:
            # What stands first in a file of text may be a row of it.
            known = (
                f"one of {', '.join(rows.columns[:9])}" if kind in ("Parquet", "DuckDB", "SQLite") else "give --item"
            )
            raise ParameterError("item", "must name the column to rank", next_step=known)
        if user != item:
            user = workspace.people or user
        read_columns(open_engine(rows), item, user)  # refuses names and types before the domain is looked at
        candidates, rows = workspace.run(lambda: _candidates(workspace, domain, files, rows, item))

        def select() -> Any:
            with _hinted(kind):
                return top_items(
                    rows,
                    item=item,
                    user=user,
                    domain=candidates,
                    **public,
                    ledger=spending,
                )

        stage("counting")
        spending.when_charged = partial(stage, "drawing")
        release = workspace.run(select)
    printed = PrintedTop(kept={"item": item, **release.published()}, recorded=spending.recorded)
    try:
        print_top(printed, as_json=as_json, as_csv=as_csv, again=spending.again)
    finally:  # it is paid for: a reader who left early must not cost the picture too
        if plot is not None:
            draw_bars(plot, printed)


def _candidates(workspace: Workspace, text: str, files: Sequence[str], rows: Any, item: str) -> tuple[Any, Any]:
    """What --domain means, and the rows with their items in the type of its labels.

    A number, or "observed", stands for itself. Text becomes numbers, or the other way round, where the domain asks for
    it, by a rule that looks at types alone.
    """
    from sparsegate.tables.columns import identifier
    from sparsegate.tables.domain_file import file_labels, split_column, whole_numbers
    from sparsegate.tables.files import expand

    kinds = dict(zip(rows.columns, map(str, rows.types), strict=True))
    if text == "observed":
        return text, rows
    if re.fullmatch(r"\d+(_\d+)*", text, re.ASCII):
        if kinds[item] == "VARCHAR":  # an item that is no number is no candidate, like every other outside the domain
            rows = rows.select(f"* REPLACE ({whole_numbers(identifier(item))} AS {identifier(item)})")
        return int(text), rows
    public, _ = split_column(text)
    if {Path(file).resolve() for file in expand([public])} & {Path(file).resolve() for file in expand(files)}:
        raise ParameterError(
            "domain",
            "must not be the table itself: which items are in it is private data",
            public,
            "give a public list, or --domain observed --delta 1e-6",
        )
    # The name of an enumeration is the list of its values, which an error must not hold.
    kind = "VARCHAR" if kinds[item].startswith("ENUM") else kinds[item]
    return file_labels(workspace, text, item=item, kind=kind), rows


@contextmanager
def _hinted(kind: str) -> Iterator[None]:
    """Add the usual cause to an error of the engine, whose own message may hold data and is not shown."""
    try:
        yield
    except TableError as error:
        if kind not in ("CSV", "JSON"):
            raise
        raise TableError(f"{error}; in a {kind} file the usual cause is a row that does not fit the others") from None


@contextmanager
def _busy() -> Iterator[Any]:
    """A sign of life on a terminal: which stage, never how much of it, because that would tell how many rows."""
    if not sys.stderr.isatty():
        yield lambda stage: None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:
        yield status.update
