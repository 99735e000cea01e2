"""`sparsegate top`: the items that most users touched, privately, from files or a database; or a preview of that."""

from __future__ import annotations

import glob
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

from sparsegate.cli import options as opt
from sparsegate.cli import printing as show_as
from sparsegate.cli.options import option
from sparsegate.cli.printing import COUNTING, grid, publish
from sparsegate.display.plain import printable
from sparsegate.errors import ParameterError
from sparsegate.gates.preview import Preview
from sparsegate.selection.select import AUTO, METHODS, describe_methods
from sparsegate.tables.preview import preview_of
from sparsegate.tables.question import Question

CLIP = ("must be two numbers, low and high", "give for instance --clip 0,100")


@opt.grouped
def top(
    files: opt.FilesOrNone = None,
    count: Annotated[int | None, option("", "How many items to select.", "--count", "-c")] = None,
    above: Annotated[
        int | None, option("N", "Instead of --count: all that about N people have; with --domain observed.")
    ] = None,
    item: Annotated[str | None, option("COLUMN", "What to rank; not needed for baskets.")] = None,
    user: opt.User = None,
    unit: opt.Unit = None,
    domain: opt.Domain = None,
    where: opt.Where = None,
    ordered: Annotated[bool, option("", "Ask for an order, best first, and not for a set.", "--ordered")] = False,
    threshold: Annotated[str | None, option("T", "A PUBLIC count, for sparse-vector and retraversal.")] = None,
    epsilon: Annotated[float | None, option("", "The privacy loss of the selection.")] = None,
    delta: Annotated[
        float, option("", "Needed for --domain observed; elsewhere it may buy less noise. Such as 1e-6.")
    ] = 0.0,
    answers_epsilon: Annotated[float, option("", "Spend this much more on the items' noisy counts.")] = 0.0,
    method: Annotated[str, option("WORD", describe_methods(), autocompletion=lambda: [AUTO, *METHODS])] = AUTO,
    max_items_per_user: Annotated[
        str | None, option("N|auto", "Count fewer items of each user: less noise; auto chooses privately.")
    ] = None,
    choice_epsilon: Annotated[float | None, option("", "What auto may spend of --epsilon; a tenth.")] = None,
    dbar: Annotated[int | None, option("", "With --domain observed: how many items take part; 10 c.")] = None,
    value: Annotated[str | None, option("COLUMN", "Rank sums of this column, not people; with --clip.")] = None,
    clip: Annotated[str | None, option("LOW,HIGH|auto", "What one user has of an item counts as 0,100, say.")] = None,
    granularity: Annotated[
        str | None, option("STEP", "Values are rounded to it; a power of ten, about --clip / 1e6.")
    ] = None,
    per: Annotated[str | None, option("COLUMN|EXPRESSION", "A top for every group: country, year_month(day).")] = None,
    groups: Annotated[
        str | None, option("FILE[:COLUMN]|LIST", "With --per, the PUBLIC groups: DE,FR or 2024-01..2024-12.")
    ] = None,
    groups_per_user: Annotated[int | None, option("K", "In how many groups a user counts, at epsilon / K; 1.")] = None,
    preview: Annotated[bool, option("", "Say how good it will be; the data is not opened.", "--preview")] = False,
    within: Annotated[int | None, option("W", "With --preview: the epsilon for W people at most.")] = None,
    times: opt.Times = None,
    like: Annotated[
        str | None, option("FILE|zipf|COUNT:ITEMS,...", "With --preview: simulate on PUBLIC data like yours.")
    ] = None,
    people: Annotated[int | None, option("N", "How many people there are, PUBLIC: refuse the hopeless.")] = None,
    *,
    account: opt.LedgerOptions,
    source: opt.InputOptions,
    memory_limit: opt.MemoryLimit = None,
    shown: opt.OutputOptions,
    plot: opt.Plot = None,
) -> None:
    """The --count items that most users touched, or all that about --above users did, without exposing a user.

    Counts, and their error bars, are of at most --max-items-per-user items of each user, where that is given.
    """
    options = locals()  # most are called as what they ask for
    from sparsegate.tables.top import names_of, release

    form = shown.word
    if (count is None) == (above is None):
        raise ParameterError("count", "or --above must be given, and not both", next_step="give -c 50, or --above 500")
    check_preview(files, epsilon, preview=preview, within=within, like=like, times=times)
    data = source.opened(files, memory_limit)
    column, person = names_of(item, user, unit)
    read = {
        "item": column,
        "user": person,
        "domain": opt.read_domain(domain),
        "epsilon": 1 if epsilon is None else epsilon,
        "threshold": None if threshold is None else opt.read_number(threshold, "threshold"),
        "max_items_per_user": None if max_items_per_user is None else _bound(max_items_per_user),
        "clip": clip if clip in (None, AUTO) else _clip(clip),
        "granularity": None if granularity is None else opt.read_number(granularity, "granularity"),
        "groups": None if groups is None else read_groups(groups),
    }
    question = Question.asked(
        **{each.name: options[each.name] for each in fields(Question) if each.name in options} | read
    )
    if preview:
        check_candidates(question.domain, files)
        look = partial(preview_of, fixed=epsilon is not None, within=within, like=like)
        show_preview(lambda: look(_paid(question, account)), account, times=times, form=form, plot=plot)
        return
    spending = opt.Spending(account=account)
    release_of = partial(release, data, question, named=item is not None, ledger=spending)
    publish(
        lambda: release_of(report=lambda left: spending.stage(COUNTING, left)),
        spending,
        cost=question.paid_by(spending).cost,
        form=form,
        plot=plot,
        estimated=bool(answers_epsilon) or question.estimated,
    )


def check_preview(
    files: Sequence[str] | None,
    epsilon: float | None,
    *,
    preview: bool,
    within: int | None,
    like: str | None = None,
    times: int | None = None,
) -> None:
    """What only one of a release and a preview can do without."""
    if not preview and not files:
        raise ParameterError("file", "must be given", next_step="name the files, or give --preview")
    if epsilon is None and not (preview and within is not None):
        raise ParameterError("epsilon", "must be given", next_step="give --epsilon 0.5, or --preview --within 100")
    for name, value in (("within", within), ("like", like), ("times", times)):
        if value is not None and not preview:
            raise ParameterError(name, "is for --preview", value, "give --preview too")
    if like is not None and _paths([like]) & _paths(files):
        rule = "must be public, and not the table itself: what a simulation shows of it is not private"
        raise ParameterError("like", rule, like, "give public data that look like yours, or --like zipf")


def _paths(files: Sequence[str] | None) -> set[Path]:
    """The files that paths and patterns stand for; a path for which there is none stands for itself."""
    matches = (glob.glob(file, recursive=True) or [file] for file in files or ())  # noqa: PTH207
    return {Path(file).resolve() for each in matches for file in each}


def _bound(text: str) -> int | str:
    rule = ("must be a whole number, or auto", "give for instance --max-items-per-user 10")
    number = text if text == AUTO else opt.read_number(text, "max_items_per_user", *rule)
    if isinstance(number, float):
        raise ParameterError("max_items_per_user", rule[0], text, rule[1])
    return number


def _clip(text: str) -> tuple[int | float, int | float]:
    low, comma, high = text.partition(",")
    if not comma or "," in high:
        raise ParameterError("clip", CLIP[0], text, CLIP[1])
    return opt.read_number(low, "clip", *CLIP), opt.read_number(high, "clip", *CLIP)


def read_groups(text: str) -> str | Path:
    """What --groups means: a file where there is one, or the name of one; else a list."""
    from sparsegate.tables.domain import split_column
    from sparsegate.tables.files import KINDS

    if not text.strip():
        raise ParameterError("groups", "must name a group at least", text, "give for instance --groups DE,FR")
    file = Path(split_column(text)[0])
    named = any(ending.lstrip(".").lower() in KINDS for ending in file.suffixes)
    return Path(text) if "," not in text and (named or file.exists()) else text


def check_candidates(domain: object, files: Sequence[str] | None) -> None:
    """Refuse to count the candidates of a preview in the table itself."""
    if isinstance(domain, Path):
        from sparsegate.tables.domain import split_column

        if _paths([split_column(str(domain))[0]]) & _paths(files):
            rule = "must not be the table itself: how many items are in it is private data"
            raise ParameterError("domain", rule, str(domain), "give a public list, or their number")


def _paid(question: Question, account: opt.LedgerOptions) -> Question:
    """The question as the ledger would pay for it, or one of such a budget: it is looked at, and not made."""
    if account.ledger is None or account.allowed is not None:
        return question.paid_by(None, account.allowed)
    from sparsegate.ledger.ledger import Ledger

    with Ledger(account.ledger) if Ledger.exists(account.ledger) else nullcontext() as opened:
        return question.paid_by(opened)


def show_preview(
    make: Callable[[], Preview], account: opt.LedgerOptions, *, times: int | None, form: str, plot: str | None
) -> None:
    """Print a preview, and draw it; with --times what so many cost, for the budget or for what a ledger has left."""
    if plot is not None:
        show_as.drawable(plot)
    preview = make()
    if times is not None and account.allowed is None and account.ledger is not None:
        from sparsegate.ledger.ledger import Ledger

        with Ledger(account.ledger) as opened:
            preview = preview.repeated(times, ledger=opened)
    elif times is not None:
        preview = preview.repeated(times, budget=account.allowed)
    with show_as.to_standard_output(""):
        if form == "table":
            _print_preview(preview)
        elif form == "json":
            show_as.print_json(preview.to_dict())
        else:
            show_as.write_sheet(preview.sheet(), form)
    if plot is not None:
        if not preview.alternatives:
            raise ParameterError("plot", "needs a count: what is above a bar has no curve", plot, "leave it out")
        show_as.draw(plot, preview)


_HEADINGS: Final = {"error_bar": "± each", "error_bar_all": "± all", "needed_epsilon": "ε needed"}


def _print_preview(preview: Preview) -> None:
    sheet, lines = preview.sheet(), [preview.statement]
    simulated = preview.accuracy.get("recall") is not None
    if preview.alternatives:
        sought = len(set(sheet.columns["epsilon"])) > 1
        hidden = {"chosen", "wins", "needed_epsilon" if sought else "epsilon"}
        names = {name: _HEADINGS.get(name, name.replace("_", " ")) for name in sheet.columns if name not in hidden}
        right = {names[name] for name in sheet.numbers - hidden}
        table = grid(*names.values(), right=right, unbroken=names.values(), gap=2)
        for alternative, row in zip(preview.alternatives, sheet.rows, strict=True):
            cells = dict(zip(sheet.columns, sheet.texts(row), strict=True))
            cells["method"] += " *" * bool(alternative["wins" if simulated else "chosen"])
            table.add_row(*(cells[name] for name in names))
        show_as.print_plain(table, "")
        starred = f"* won on the stand-in; {preview.method} would run" if simulated else "* would run"
        if not any(row["chosen"] for row in preview.alternatives):
            starred = f"{preview.method} would run, on the labels that are kept"
        what = "item" if preview.release == "top items" else "set"
        lines.append(f"{starred}. within: how far below that {what} a selected one can be, at worst.")
    if preview.asked_within is not None and preview.needed_epsilon is not None:
        needed = f"--epsilon {float(preview.needed_epsilon):g} with {preview.method}"
        lines.append(f"Within {preview.asked_within:,} needs {needed}.")
    if simulated:
        lines.append("recall, like within: the share of right items, and how far below, on the stand-in.")
    if preview.warning or preview.people is not None:
        lines.append(preview.warning or f"Not hopeless for {preview.people:,} people.")
    if preview.helps:
        lines.append("What would help:")
        lines += [f"  {_changed(row['change'])}: within {row['within']:,}, by {row['method']}" for row in preview.helps]
    lines.append(f"It costs {preview.cost.in_epsilon}; on a zCDP ledger {preview.cost.in_rho}.")
    lines += [] if preview.series is None else [preview.series.statement]
    show_as.print_plain(*map(printable, lines), "The table was not read, and nothing was charged.")


def _changed(change: Mapping[str, Any]) -> str:
    """A change as options; what is 0 or False is to be left out."""
    options = {name: f"--{name.replace('_', '-')}" for name in change}
    return ", ".join(f"{options[n]} {float(v):g}" if v else f"without {options[n]}" for n, v in change.items())
