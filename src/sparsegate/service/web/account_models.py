"""The account as it travels: what was allowed, and spent."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from sparsegate.ledger.account import Amount, Statement, exact_text
from sparsegate.service.web.fields import example


class Money(BaseModel):
    """An epsilon and a delta, exact."""

    model_config = example(epsilon="0.5", delta="0")

    epsilon: str
    delta: str


class LedgerEntry(Money):
    """One line of the ledger."""

    model_config = example(
        number=2,
        at="2030-01-01T12:00:00+00:00",
        kind="spend",
        epsilon="0.5",
        delta="0",
        what="gate: threshold 1000, cutoff 25, unit user",
        of=None,
    )

    number: int
    at: str
    kind: Literal["budget", "spend", "reserve", "refund", "restore"]
    what: str
    of: Annotated[int | None, Field(description="Of a refund: the entry whose gate did not use it.")]


class BudgetStatement(BaseModel):
    """What was allowed, what was spent, what is left, and every entry."""

    model_config = example(
        dataset="visits",
        budget={"epsilon": "2", "delta": "0"},
        spent={"epsilon": "0", "delta": "0"},
        given_back={"epsilon": "0", "delta": "0"},
        remaining={"epsilon": "2", "delta": "0"},
        entries=[
            {
                "number": 1,
                "at": "2030-01-01T11:59:00+00:00",
                "kind": "budget",
                "epsilon": "2",
                "delta": "0",
                "what": "the budget at the start",
                "of": None,
            },
        ],
    )

    dataset: str
    budget: Money
    spent: Annotated[Money, Field(description="What was spent or reserved, less what was given back.")]
    given_back: Money
    remaining: Money
    entries: list[LedgerEntry]


def statement_view(statement: Statement) -> dict[str, Any]:
    """A statement as it travels."""
    names = ("number", "kind", "what", "of")
    entries = [
        {name: getattr(entry, name) for name in names} | {"at": entry.at.isoformat()} | _money(entry.amount)
        for entry in statement.entries
    ]
    sums = {name: _money(getattr(statement, name)) for name in ("budget", "spent", "given_back", "remaining")}
    return {"dataset": statement.dataset, **sums, "entries": entries}


def _money(amount: Amount) -> dict[str, str]:
    return {"epsilon": exact_text(amount.epsilon), "delta": exact_text(amount.delta)}
