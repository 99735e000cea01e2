"""What is answered: the bodies of responses, each with an example. Epsilons travel as decimals in text."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sparsegate.ledger.account import Amount, Statement, exact_text


def example(**example: Any) -> ConfigDict:
    """An example in the description of a model."""
    return ConfigDict(json_schema_extra={"examples": [example]})


class Gate(BaseModel):
    """A gate as everybody may see it."""

    model_config = example(
        id="g-0123456789abcdef",
        threshold=1000,
        cutoff=25,
        epsilon="0.5",
        queries=None,
        margin=412.0,
        confidence=0.95,
        asked=3,
        positives=1,
        lost=0,
        remaining=24,
        closed=False,
        because=None,
        opened_at="2030-01-01T12:00:00+00:00",
    )

    id: str
    threshold: int
    cutoff: int
    epsilon: str
    queries: int | None
    margin: Annotated[float, Field(description="An answer so far from the threshold is right with `confidence`.")]
    confidence: float
    asked: int
    positives: Annotated[int, Field(description="What counts as ABOVE, lost answers included.")]
    lost: int
    remaining: int
    closed: bool
    because: Annotated[str | None, Field(description="Why it is closed.")]
    opened_at: str


class Answered(BaseModel):
    """The answer to a question."""

    model_config = example(gate="g-0123456789abcdef", number=4, above=True, remaining=23, closed=False)

    gate: str
    number: int
    above: bool
    remaining: int
    closed: bool


class PastAnswer(BaseModel):
    """A question that was asked before; ``above`` is null where the answer was lost."""

    model_config = example(number=4, at="2030-01-01T12:00:03+00:00", where="country = 'DE'", above=True)

    number: int
    at: str
    where: str
    above: bool | None


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
    )

    number: int
    at: str
    kind: Literal["budget", "spend"]
    what: str


class BudgetStatement(BaseModel):
    """What was allowed, what was spent, what is left, and every entry."""

    model_config = example(
        dataset="visits",
        budget={"epsilon": "2", "delta": "0"},
        spent={"epsilon": "0", "delta": "0"},
        remaining={"epsilon": "2", "delta": "0"},
        entries=[
            {
                "number": 1,
                "at": "2030-01-01T11:59:00+00:00",
                "kind": "budget",
                "epsilon": "2",
                "delta": "0",
                "what": "the budget at the start",
            },
        ],
    )

    dataset: str
    budget: Money
    spent: Money
    remaining: Money
    entries: list[LedgerEntry]


class Top(BaseModel):
    """The chosen items in the order selected; an itemset is a list of items."""

    model_config = example(
        items=["/home", "/pay"],
        estimates=None,
        error_bar=None,
        record={"epsilon": 0.5, "delta": 0.0, "method": "exponential", "unit": "user", "count": 2},
    )

    items: list[str | int | list[str | int]]
    estimates: list[int] | None
    error_bar: int | None
    record: dict[str, str | int | float | bool | None]


class DeclaredColumn(BaseModel):
    """A column that may be asked about."""

    model_config = example(name="country", kind="text")

    name: str
    kind: Literal["text", "integer", "real", "boolean", "date", "timestamp"]


class Served(BaseModel):
    """What is served: everything that is public about the data."""

    model_config = example(
        dataset="visits",
        unit="user",
        delay=0.05,
        max_cell=1000,
        columns=[{"name": "country", "kind": "text"}],
    )

    dataset: str
    unit: Literal["user", "row"]
    delay: Annotated[float, Field(description="D: an answer leaves this many seconds after its turn came.")]
    max_cell: Annotated[int, Field(description="Text cells are cut to this many characters before they are compared.")]
    columns: list[DeclaredColumn]


class Health(BaseModel):
    """The service is up."""

    model_config = example(status="ok", version="0.1.0")

    status: Literal["ok"]
    version: str


class Problem(BaseModel):
    """An error (RFC 9457). ``start`` and ``end`` are the place in the condition, ``near`` columns that may be meant."""

    type: str
    title: str
    status: int
    detail: str
    pointer: str | None = None
    parameter: str | None = None
    rule: str | None = None
    next_step: str | None = None
    start: int | None = None
    end: int | None = None
    near: list[str] | None = None


def statement_view(statement: Statement) -> dict[str, Any]:
    """A statement as it travels."""
    entries = [
        {"number": entry.number, "at": entry.at.isoformat(), "kind": entry.kind.value, "what": entry.what}
        | _money(entry.amount)
        for entry in statement.entries
    ]
    sums = {name: _money(getattr(statement, name)) for name in ("budget", "spent", "remaining")}
    return {"dataset": statement.dataset, **sums, "entries": entries}


def _money(amount: Amount) -> dict[str, str]:
    return {"epsilon": exact_text(amount.epsilon), "delta": exact_text(amount.delta)}
