"""`sparsegate ledger`: what was spent on a dataset, as a table or for other programs, and raising its budget."""

from __future__ import annotations

import csv
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

import sparsegate as sg
from sparsegate.cli import printing as show_as
from sparsegate.cli.options import AsJson, LedgerDelta, OutputOptions, budget_like, grouped, option, recorded
from sparsegate.cli.printing import counted, facts, grid, print_json, ready_to_print, to_standard_output
from sparsegate.cli.watch import WatchReport
from sparsegate.display.plain import printable
from sparsegate.display.published import PrintedTop
from sparsegate.errors import ParameterError
from sparsegate.ledger.account import EntryKind, Release, Statement

if TYPE_CHECKING:
    from sparsegate.service.gate_store import Activity, GateStore

ledger = typer.Typer(add_completion=False, no_args_is_help=True, help="What was spent on a dataset, and what is left.")

_SUMS = ("budget", "spent", "given_back", "remaining")

File = Annotated[str, typer.Argument(metavar="FILE", help="The ledger, as in `sparsegate top --ledger FILE`.")]


@ledger.command()
@grouped
def show(
    file: File,
    release: Annotated[int | None, option("N", "Print again what entry N gave; it costs nothing.")] = None,
    *,
    shown: OutputOptions,
    plot: Annotated[str | None, option("FILE", "With --release of a `top` that has counts: draw them.")] = None,
) -> None:
    """The budget, what is spent, what remains, and every entry; or what one release gave."""
    form = shown.word
    if plot is not None:
        show_as.drawable(plot)
    if release is not None:
        with sg.Ledger(file) as ledger:
            _print_release(ledger.release(release), ledger.dataset, form, plot)
        return
    if plot is not None or form == "csv":
        wrong = "output" if plot is None else "plot"
        raise ParameterError(wrong, "needs a release to show", next_step="give --release, or use `ledger export`")
    statement = sg.Ledger(file).statement()
    if form == "json":
        print_json(statement.to_dict(), schema="ledger")
        return
    amounts = {name.replace("_", " "): statement.says(getattr(statement, name)) for name in _SUMS}
    if form == "table":
        show_as.print_plain(facts({"dataset": statement.dataset, **amounts}), "")
    show_as.print_table(_table(statement), form, title=f"{statement.dataset}: {amounts['remaining']} left")


@ledger.command()
def create(
    file: Annotated[str, typer.Argument(metavar="LEDGER", help="A new file, or postgresql://... without a ledger.")],
    dataset: Annotated[str, option("NAME", "The dataset that it is for.")],
    budget: Annotated[float, option("", "The epsilon in all, for ever.")],
    delta: Annotated[
        float | None, option("", "Make it a zCDP ledger: all is (--budget, this + --budget-delta)-DP together.")
    ] = None,
    budget_delta: LedgerDelta = None,
    key: Annotated[str | None, option("FILE", "Make a key for a service's gates too, unless it is there.")] = None,
) -> None:
    """Make a ledger before it is used: for a service that is started by something else than a hand."""
    allowed: Any = budget_like(budget, delta, name="delta")
    if key is not None and not Path(key).exists():
        from sparsegate.service.keys import SealingKey

        SealingKey.create(key)
    with (
        sg.Ledger.create(file, dataset=dataset, budget=allowed, budget_delta=budget_delta or 0) as ledger,
        to_standard_output("the ledger is made"),
    ):
        statement = ledger.statement()
        typer.echo(f"{ledger.database.shown}: {statement.says(statement.budget)} for {dataset}")


@ledger.command()
def export(file: File, as_json: AsJson = False) -> None:
    """Every entry, as CSV or JSON, with amounts exactly as they were recorded."""
    records = [entry.to_dict() for entry in sg.Ledger(file).entries()]
    print_json(records, schema="entry") if as_json else _print_csv(records)


@ledger.command()
@grouped
def asks(
    file: File,
    gate: Annotated[str | None, option("ID", "Only those of this gate.")] = None,
    by: Annotated[str | None, option("NAME", "Only those of this token.")] = None,
    *,
    shown: OutputOptions,
) -> None:
    """Who asked a service what, and what came of it: newest first, and only answers that have left."""
    from sparsegate.service.gate_store import GateStore, activity

    form = shown.word
    ready_to_print()
    answered: list[Activity] = []
    with sg.Ledger(file) as opened:
        store, after = _looked(GateStore(opened)), None
        while page := activity(store, after=after, gate=gate, by=by):
            answered += page
            after = page[-1].cursor
    if form in ("json", "csv"):
        records = [asdict(ask) for ask in answered]
        print_json(records, schema="ask") if form == "json" else _print_csv(records, _ASKED)
        return
    short = ("when (UTC)", "by", "gate", "")
    table = grid(*short, "condition", unbroken=short, gap=2)
    for ask in answered:
        outcome = "lost" if ask.above is None else "ABOVE" if ask.above else "below"
        when = ask.at[:16].replace("T", " ")
        table.add_row(when, ask.by or "?", ask.gate_name or ask.gate, outcome, printable(ask.condition))
    show_as.print_table(table, form, title="questions to the service")


_ASKED = ("at", "by", "gate", "gate_name", "number", "condition", "above", "estimate")


def _looked(store: GateStore) -> GateStore:
    """What this process sees for the first time may still be on its way."""
    store.gates()
    time.sleep(max(store.departures.longest(), 0))
    return store


def _print_csv(records: list[dict[str, Any]], names: Sequence[str] = ()) -> None:
    writer = csv.DictWriter(sys.stdout, names or records[0], lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(records)


@ledger.command()
def compact(
    file: File,
    to: Annotated[str, option("CSV", "Where they go: a file, which is made or added to.")],
    days: Annotated[float, option("", "Only what was asked at least this many days ago.", min=0)] = 30,
) -> None:
    """Move old BELOW answers of closed gates out of a ledger. What was spent, and every ABOVE, stays.

    A retry of such a question is then told that the gate is closed. The file does not shrink: its room is used again.
    """
    from sparsegate.ledger.database import now
    from sparsegate.service.gate_store import COLUMNS, GateStore, compact

    with sg.Ledger(file) as opened, Path(to).open("a", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, fieldnames=COLUMNS, lineterminator="\n")

        def keep(rows: Sequence[Mapping[str, Any]]) -> None:
            if not out.tell():
                writer.writeheader()
            writer.writerows(rows)
            out.flush()
            os.fsync(out.fileno())

        until = (now() - timedelta(days=days)).isoformat()
        moved = compact(_looked(GateStore(opened)), until=until, keep=keep)
    with to_standard_output(f"the answers are in {to}"):
        typer.echo(f"{to}: {counted(moved, 'answer')}, which the ledger no longer holds")


@ledger.command("raise")
def raise_budget(
    file: File,
    budget: Annotated[float, option("", "The new epsilon in all, larger than the present one.")],
    why: Annotated[str, option("TEXT", "The reason, which stays on record.")],
    budget_delta: Annotated[float | None, option("", "The new delta in all; as it is unless given.")] = None,
) -> None:
    """Raise the budget, on record. A budget is never lowered."""
    ledger = sg.Ledger(file)
    entry = ledger.raise_budget(budget=budget, budget_delta=budget_delta, why=why)
    with to_standard_output("the budget is raised"):
        typer.echo(f"{ledger.dataset}: the budget is now {ledger.statement().says(entry.amount)}")


@ledger.command()
def backup(
    file: File, to: Annotated[str, typer.Argument(metavar="BACKUP", help="A new file; one that is there is refused.")]
) -> None:
    """Write a backup to a new file, complete, also while a service runs. A plain copy would miss what came last."""
    from sparsegate.ledger.backup import back_up

    until = back_up(file, to)
    with to_standard_output("the backup is complete"):
        typer.echo(f"{to}: everything up to {until:%Y-%m-%d %H:%M:%S} UTC, on disk")
        typer.echo("keep it apart from the key file: with both, somebody could undo half of the noise of open gates")


@ledger.command()
def restore(
    file: Annotated[str, typer.Argument(metavar="LEDGER", help="The new ledger; without --from, one that is there.")],
    backup: Annotated[str | None, option("BACKUP", "What `ledger backup` wrote.", "--from")] = None,
    spent_since: Annotated[
        float | None, option("E", "The sum of all charges since the backup, refunds not taken off.")
    ] = None,
    delta_since: Annotated[float, option("D", "The same for delta.")] = 0.0,
    rho_since: Annotated[float | None, option("R", "In the place of --spent-since, for a zCDP ledger.")] = None,
    write_off: Annotated[
        bool, option("", "Nobody knows what was spent since: count all that is left as spent.", "--write-off")
    ] = False,
) -> None:
    """Go on from a backup. It has forgotten what was spent since, so that is charged, and all its gates are closed.

    Without --from: the same for a ledger that pg_restore, or a snapshot of a disk, brought back.
    """
    if (spent_since is not None) + (rho_since is not None) + write_off != 1:
        raise ParameterError(
            "spent_since",
            "or --write-off must be given, and not both: a backup has forgotten what was spent since",
            next_step="give --spent-since with the sum of all charges since the backup, or --write-off",
        )
    from sparsegate.ledger.backup import restore

    statement = restore(file, backup=backup, spent_since=spent_since, delta_since=delta_since, rho_since=rho_since)
    left, allowed = statement.says(statement.remaining), statement.says(statement.budget)
    with to_standard_output("the ledger is restored"):
        typer.echo(f"{statement.dataset}: {left} left of {allowed}; all its gates are closed")
    typer.echo(
        "warning: tokens that were revoked since the backup let people in again; see `sparsegate token list`", err=True
    )


@ledger.command("rotate-key")
def rotate_key(
    file: File, key: Annotated[str | None, option("FILE", "The key file; LEDGER.key unless given.")] = None
) -> None:
    """Put a new key in the place of the one that a service seals its gates with. Gates stay open."""
    if key is None and "://" in file:
        raise ParameterError("key", "must be given for a ledger in PostgreSQL", next_step="give --key FILE")
    from sparsegate.service.keys import rotate_key

    place = Path(f"{file}.key" if key is None else key)
    with sg.Ledger(file) as opened:
        count = rotate_key(opened, place)
    step = "restart every server on this ledger, with this file"
    with to_standard_output(f"the key is replaced: {step}"):
        typer.echo(f"{place}: a new key, and {counted(count, 'gate')} sealed with it")
        typer.echo(f"{step}: until then it answers gates that it has read before, and refuses to read or open others")


def _print_release(release: Release, dataset: str, form: str, plot: str | None) -> None:
    """What `top` and `watch` gave is printed as they printed it; anything else as the entry and its parts."""
    ready_to_print()
    # What was kept by hand may use the same word for something else.
    kind = release.gave[0].get("release") if release.gave and "record" in release.gave[0] else None
    if kind != "top_items" and (plot is not None or form not in ("table", "json")):
        wrong = "output" if plot is None else "plot"
        raise ParameterError(wrong, "is for what `top` gave", next_step="leave it out")
    place = recorded(release.entry.number, dataset)
    if kind == "top_items":
        top = PrintedTop(kept=release.gave[0], recorded=place)
        show_as.print_top(top, form)
        if plot is not None:
            show_as.draw(plot, top)
    elif kind == "watch":
        report = WatchReport(as_json=form == "json")
        for part in release.gave:
            report.show(part)
    elif form == "json":
        print_json({"entry": release.entry.to_dict(), "gave": release.gave}, schema="release")
    else:
        typer.echo(f"{release.entry.what}, {release.entry.amount}, {place}")
        for part in release.gave:
            print_json(part, indent=None)
        if not release.gave:
            typer.echo("nothing is kept with it: it was cut short, or paid for a gate, or was released elsewhere")


def _table(statement: Statement) -> Table:
    """One line per entry, 80 columns wide where the texts are short; a long text wraps."""
    rho = [] if statement.rule == "epsilon" else ["rho"]
    amounts, others = ("#", "epsilon", "delta", *rho), ("when (UTC)", "")
    table = grid("#", *others, *amounts[1:], "what", right=amounts, unbroken=(*amounts, *others), gap=2)
    for entry in statement.entries:
        sign = -1 if entry.kind is EntryKind.REFUND else 1
        numbers = [sign * entry.amount.epsilon, entry.amount.delta, *(sign * (entry.amount.rho or 0) for _ in rho)]
        texts = [f"{float(number):.6g}" for number in numbers]
        table.add_row(str(entry.number), f"{entry.at:%Y-%m-%d %H:%M}", entry.kind.value, *texts, entry.what)
    return table
