"""`sparsegate ledger`: what was spent on a dataset, as a table or for other programs, and raising its budget."""

from __future__ import annotations

import csv
import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from sparsegate.ledger.account import Amount, Entry, Statement, exact_text
from sparsegate.ledger.ledger import Ledger

app = typer.Typer(no_args_is_help=True, help="What was spent on a dataset, and what is left.")

File = Annotated[str, typer.Argument(metavar="FILE", help="The ledger, as in `sparsegate top --ledger FILE`.")]


@app.command()
def show(
    file: File,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, with every entry.")] = False,
) -> None:
    """The budget, what is spent, what remains, and every entry."""
    statement = Ledger(file).statement()
    if as_json:
        typer.echo(json.dumps(_statement(statement), indent=2, ensure_ascii=False))
        return
    console = Console(markup=False, highlight=False)
    summary = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    summary.add_row("dataset", statement.dataset)
    for name in ("budget", "spent", "remaining"):
        summary.add_row(name, str(getattr(statement, name)))
    console.print(summary)
    console.print()
    console.print(_table(statement))


@app.command()
def export(
    file: File,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array instead of CSV.")] = False,
) -> None:
    """Every entry, as CSV or JSON, with amounts exactly as they were recorded."""
    records = [_record(entry) for entry in Ledger(file).entries()]
    if as_json:
        typer.echo(json.dumps(records, indent=2, ensure_ascii=False))
        return
    writer = csv.DictWriter(sys.stdout, fieldnames=list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)


@app.command("raise")
def raise_budget(
    file: File,
    budget: Annotated[float, typer.Option(help="The new epsilon in all, larger than the present one.")],
    why: Annotated[str, typer.Option(help="The reason, which stays on record.")],
    budget_delta: Annotated[float | None, typer.Option(help="The new delta in all; as it is unless given.")] = None,
) -> None:
    """Raise the budget, on record. A budget is never lowered, and nothing spent is ever refunded."""
    ledger = Ledger(file)
    entry = ledger.raise_budget(budget=budget, budget_delta=budget_delta, why=why)
    typer.echo(f"{ledger.dataset}: the budget is now {entry.amount}")


def _table(statement: Statement) -> Table:
    """One line per entry, 80 columns wide where the texts are short; a long text wraps."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading in ("#", "when (UTC)", "", "epsilon", "delta"):
        table.add_column(heading, no_wrap=True, justify="right" if heading in ("#", "epsilon", "delta") else "left")
    table.add_column("what")
    for entry in statement.entries:
        delta = _short(entry.amount.delta) if entry.amount.delta else "0"
        when = entry.at.strftime("%Y-%m-%d %H:%M")
        table.add_row(str(entry.number), when, entry.kind.value, _short(entry.amount.epsilon), delta, entry.what)
    return table


def _short(value: Any) -> str:
    return f"{float(value):.6g}"


def _amount(amount: Amount) -> dict[str, str]:
    return {"epsilon": exact_text(amount.epsilon), "delta": exact_text(amount.delta)}


def _record(entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "at": entry.at.isoformat(),
        "kind": entry.kind.value,
        **_amount(entry.amount),
        "what": entry.what,
    }


def _statement(statement: Statement) -> dict[str, Any]:
    amounts = {name: _amount(getattr(statement, name)) for name in ("budget", "spent", "remaining")}
    return {"dataset": statement.dataset, **amounts, "entries": [_record(entry) for entry in statement.entries]}
