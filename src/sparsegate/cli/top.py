"""`sparsegate top`: the items that most users touched, privately, from files or a database.

`sparsegate top --preview`: what the release will be good for. The data are not opened and nothing is charged.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from sparsegate.cli.app import one_of
from sparsegate.cli.options import (
    INPUT,
    OUTPUT,
    Dataset,
    Encoding,
    FilesOrNone,
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
    read_number,
)
from sparsegate.cli.printing import (
    busy,
    draw_bars,
    drawable,
    grid,
    print_json,
    print_plain,
    print_top,
    ready_to_print,
    to_standard_output,
)
from sparsegate.display.plain import printable
from sparsegate.display.published import PrintedTop
from sparsegate.errors import ParameterError
from sparsegate.gates.preview import Preview
from sparsegate.selection.select import AUTO, METHODS, describe_methods
from sparsegate.tables.preview import preview_of
from sparsegate.tables.question import Question

_HEADINGS: Final = {"error_bar": "± each", "error_bar_all": "± all", "needed_epsilon": "ε needed"}
CLIP = ("must be two numbers, low and high", "give for instance --clip 0,100")


def top(
    files: FilesOrNone = None,
    count: Annotated[int | None, typer.Option("--count", "-c", help="How many items to select.")] = None,
    above: Annotated[
        int | None,
        typer.Option(metavar="N", help="Instead of --count: all that about N people have; with --domain observed."),
    ] = None,
    item: Annotated[str | None, typer.Option(metavar="COLUMN", help="What to rank; not needed for baskets.")] = None,
    user: User = None,
    unit: Annotated[
        str | None, typer.Option(metavar="row", help="Protect rows, not people; instead of --user.")
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(metavar="FILE[:COLUMN]|N|observed", help="The PUBLIC candidates; see docs/how-to/threshold.md."),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="The privacy loss of the selection.")] = None,
    delta: Annotated[
        float, typer.Option(help="Needed for --domain observed; elsewhere it may buy less noise. Such as 1e-6.")
    ] = 0.0,
    answers_epsilon: Annotated[float, typer.Option(help="Spend this much more on the items' noisy counts.")] = 0.0,
    method: Annotated[
        str, typer.Option(metavar="WORD", autocompletion=one_of((AUTO, *METHODS)), help=describe_methods())
    ] = AUTO,
    ordered: Annotated[
        bool, typer.Option("--ordered", help="Ask for an order, best first, and not for a set.")
    ] = False,
    threshold: Annotated[
        str | None, typer.Option(metavar="T", help="A PUBLIC count, for sparse-vector and retraversal.")
    ] = None,
    max_items_per_user: Annotated[int | None, typer.Option(help="Count fewer items of each user: less noise.")] = None,
    where: Annotated[
        str | None, typer.Option(metavar="CONDITION", help="Count only rows that meet it: \"country = 'DE'\".")
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Rank sums of this column, not people; with --clip."),
    ] = None,
    clip: Annotated[
        str | None,
        typer.Option(metavar="LOW,HIGH", help="What one user has of an item counts as 0,100, say."),
    ] = None,
    granularity: Annotated[
        str | None,
        typer.Option(metavar="STEP", help="Values are rounded to it; a power of ten, about --clip / 1e6."),
    ] = None,
    per: Annotated[
        str | None,
        typer.Option(metavar="COLUMN|EXPRESSION", help="A top for every group: country, year_month(day)."),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="FILE[:COLUMN]|LIST",
            help="With --per, the PUBLIC groups: DE,FR or 2024-01..2024-12.",
        ),
    ] = None,
    groups_per_user: Annotated[
        int | None,
        typer.Option(metavar="K", help="In how many groups a user counts, at epsilon / K; 1."),
    ] = None,
    dbar: Annotated[int | None, typer.Option(help="With --domain observed: how many items take part; 10 c.")] = None,
    table: Table = None,
    sql: Sql = None,
    separator: Separator = None,
    encoding: Encoding = None,
    ledger: LedgerFile = None,
    budget: LedgerBudget = None,
    budget_delta: LedgerDelta = None,
    dataset: Dataset = None,
    preview: Annotated[
        bool,
        typer.Option("--preview", help="Say how good it will be; the data is not opened."),
    ] = False,
    within: Annotated[
        int | None,
        typer.Option(metavar="W", help="With --preview: the epsilon for W people at most."),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|zipf|COUNT:ITEMS,...",
            help="With --preview: simulate on PUBLIC data like yours.",
        ),
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(metavar="N", help="How many people there are, PUBLIC: refuse the hopeless."),
    ] = None,
    formats: Formats = None,
    as_json: Annotated[bool, typer.Option("--json", help="Same as --format json.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Same as --format csv.")] = False,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw the noisy counts with error bars."),
    ] = None,
) -> None:
    """The --count items that most users touched, or all that about --above users did, without exposing a user.

    Counts, and their error bars, are of at most --max-items-per-user items of each user, where that is given.
    """
    from sparsegate.tables.domain import EXPLAINED
    from sparsegate.tables.files import TextForm
    from sparsegate.tables.top import names_of, release

    said = chosen_formats(formats, as_json=as_json, as_csv=as_csv)
    if (count is None) == (above is None):
        raise ParameterError("count", "or --above must be given, and not both", next_step="give -c 50, or --above 500")
    _check_given(files, epsilon, preview=preview, within=within, like=like)
    if domain is None:
        raise ParameterError(
            "domain",
            EXPLAINED[0],
            next_step="give --domain FILE[:COLUMN], --domain N for labels 0 to N-1, or --domain observed --delta 1e-6",
        )

    form = TextForm(format=said.get(INPUT), separator=separator, encoding=encoding)
    # Checked here for the ledger and the picture, before the files are read.
    column, person = names_of(item, user, unit)
    question = Question(
        item=column,
        user=person,
        unit=unit,
        domain=read_domain(domain),
        count=count,
        above=above,
        epsilon=1 if epsilon is None else epsilon,
        delta=delta,
        method=method,
        ordered=ordered,
        threshold=None if threshold is None else read_number(threshold, "threshold"),
        answers_epsilon=answers_epsilon,
        max_items_per_user=max_items_per_user,
        dbar=dbar,
        where=where,
        people=people,
        value=value,
        clip=None if clip is None else _clip(clip),
        granularity=None if granularity is None else read_number(granularity, "granularity"),
        per=per,
        groups=None if groups is None else _groups(groups),
        groups_per_user=groups_per_user,
    )
    if preview:
        if isinstance(question.domain, Path):
            from sparsegate.tables.domain import split_column

            if _meant([split_column(str(question.domain))[0]]) & _meant(files):
                rule = "must not be the table itself: how many items are in it is private data"
                raise ParameterError("domain", rule, str(question.domain), "give a public list, or their number")
        fixed = epsilon is not None
        return show_preview(question, fixed=fixed, within=within, like=like, plot=plot, form=said[OUTPUT])
    if plot is not None and not answers_epsilon and (question.above or not question.share.request.estimates):
        raise ParameterError("plot", "needs noisy counts to draw", next_step="give --answers-epsilon too")
    with Spending(ledger=ledger, budget=budget, budget_delta=budget_delta, dataset=dataset) as spending:
        if plot is not None:
            drawable(plot)
        # The same as in the record, so that a refusal comes before the data is read.
        spending.check(question.total, question.total_delta)
        ready_to_print()
    try:
        with spending, busy("reading and counting") as spending.stage:
            release(files, question, named=item is not None, table=table, sql=sql, form=form, ledger=spending)
    finally:  # after Ctrl-C, too: it is paid for
        if spending.gave is not None:
            with spending:
                _show(PrintedTop(kept=spending.gave, recorded=spending.recorded), said[OUTPUT], plot, spending)


def _check_given(
    files: Sequence[str] | None, epsilon: float | None, *, preview: bool, within: int | None, like: str | None
) -> None:
    """What only one of a release and a preview can do without."""
    if not preview and not files:
        raise ParameterError("file", "must be given", next_step="name the files, or give --preview")
    if epsilon is None and not (preview and within is not None):
        raise ParameterError("epsilon", "must be given", next_step="give --epsilon 0.5, or --preview --within 100")
    for name, value in (("within", within), ("like", like)):
        if value is not None and not preview:
            raise ParameterError(name, "is for --preview", value, "give --preview too")
    if like is not None and _meant([like]) & _meant(files):
        rule = "must be public, and not the table itself: what a simulation shows of it is not private"
        raise ParameterError("like", rule, like, "give public data that look like yours, or --like zipf")


def _meant(files: Sequence[str] | None) -> set[Path]:
    """The files that paths and patterns stand for; a path for which there is none stands for itself."""
    found = (glob.glob(file, recursive=True) or [file] for file in files or ())  # noqa: PTH207
    return {Path(file).resolve() for each in found for file in each}


def _show(printed: PrintedTop, form: str, plot: str | None, spending: Spending) -> None:
    try:
        print_top(printed, form, again=spending.again)
    finally:  # a reader who left early must not cost the picture too
        if plot is not None:
            draw_bars(plot, printed, "" if spending.ledger is None else f"{spending.again} --plot {plot}")


def _clip(text: str) -> tuple[int | float, int | float]:
    ends = text.split(",")
    if len(ends) != 2:
        raise ParameterError("clip", CLIP[0], text, CLIP[1])
    return read_number(ends[0], "clip", *CLIP), read_number(ends[1], "clip", *CLIP)


def _groups(text: str) -> str | Path:
    """What --groups means: a file where there is one, or the name of one; else a list."""
    from sparsegate.tables.domain import split_column
    from sparsegate.tables.files import KINDS

    if not text.strip():
        raise ParameterError("groups", "must name a group at least", text, "give for instance --groups DE,FR")
    file = Path(split_column(text)[0])
    named = any(ending.lstrip(".").lower() in KINDS for ending in file.suffixes)
    return Path(text) if "," not in text and (named or file.exists()) else text


def show_preview(
    question: Question,
    *,
    fixed: bool,
    within: int | None,
    like: str | None,
    plot: str | None,
    form: str,
) -> None:
    """Print a preview, and draw it where that is asked for."""
    if plot is not None:
        drawable(plot)
    found = preview_of(question, fixed=fixed, within=within, like=like)
    ready_to_print()
    with to_standard_output(""):
        _PRINTED[form](found)
    if plot is not None:
        _draw(found, plot)


def _cell(cell: object) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.6g}" if isinstance(cell, float) else str(cell)


def _print_table(found: Preview) -> None:
    sheet, lines = found.sheet(), [found.statement]
    if found.alternatives:
        sought = len(set(sheet.columns["epsilon"])) > 1
        hidden = {"chosen", "needed_epsilon" if sought else "epsilon"}
        columns = {name: cells for name, cells in sheet.columns.items() if name not in hidden}
        columns["method"] = [f"{row['method']}{' *' * row['chosen']}" for row in found.alternatives]
        names = {name: _HEADINGS.get(name, name.replace("_", " ")) for name in columns}
        table = grid(*names.values(), right={names[n] for n in sheet.numbers - hidden}, unbroken=names.values(), gap=2)
        for cells in zip(*columns.values(), strict=True):
            table.add_row(*map(_cell, cells))
        print_plain(table, "")
        lines.append("* would run. within: how far below that item a selected one can be, at worst.")
    if found.asked_within is not None and found.needed_epsilon is not None:
        lines.append(
            f"Within {found.asked_within:,} needs --epsilon {float(found.needed_epsilon):g} with {found.method}."
        )
    if found.alternatives and found.recall is not None:
        lines.append("recall, like within: the share of right items, and how far below, on the stand-in.")
    if found.people is not None:
        lines.append(found.warning or f"Not hopeless for {found.people:,} people.")
    print_plain(*(printable(line) for line in lines), "The table was not read, and nothing was charged.")


_PRINTED: Final[dict[str, Callable[[Preview], None]]] = {
    "table": _print_table,
    "json": lambda found: print_json(found.to_dict()),
    "csv": lambda found: typer.echo(found.sheet().csv(), nl=False),
    "html": lambda found: typer.echo(found.sheet().page(), nl=False),
    "markdown": lambda found: typer.echo(found.sheet().markdown(), nl=False),
}


def _draw(found: Preview, plot: str) -> None:
    if not found.alternatives:
        raise ParameterError("plot", "needs a count: what is above a bar has no curve", plot, "leave it out")
    try:
        found.plot().savefig(plot, dpi=150)
    except OSError:
        raise ParameterError("plot", "could not be written", plot, "check its folder and the space there") from None
