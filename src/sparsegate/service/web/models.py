"""What may be posted, strict JSON; and what is answered. Each with an example; epsilons travel as decimals in text."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.dataclasses import dataclass as with_schema
from pydantic_core import PydanticCustomError

from sparsegate.budget import exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.ledger.account import Amount, Statement, exact_text
from sparsegate.mechanisms.selection_methods import AUTO, METHODS, describe_methods
from sparsegate.service import gates


def example(**example: Any) -> ConfigDict:
    """An example in the description of a model."""
    return ConfigDict(json_schema_extra={"examples": [example]})


class GateView(BaseModel):
    """A gate as everybody may see it."""

    model_config = example(
        id="g-0123456789abcdef",
        threshold=1000,
        cutoff=25,
        epsilon="0.5",
        queries=None,
        noise="exponential",
        closes="above",
        standard_error=96.5,
        margin=412.0,
        confidence=0.95,
        asked=3,
        positives=1,
        lost=0,
        remaining=24,
        closed=False,
        because=None,
        opened_at="2030-01-01T12:00:00+00:00",
        spent="0.052375",
        given_back="0",
        reserved="0.447625",
    )

    id: str
    threshold: int
    cutoff: int
    epsilon: str
    queries: int | None
    noise: Literal["exponential", "laplace"]
    closes: Literal["above", "rarer"]
    standard_error: Annotated[float | None, Field(description="Of the estimate that an ABOVE carries, if it does.")]
    margin: Annotated[float, Field(description="An answer this far from the threshold is right with `confidence`.")]
    confidence: float
    asked: int
    positives: Annotated[int, Field(description="What counts as ABOVE, lost answers included.")]
    lost: int
    remaining: int
    closed: bool
    because: Annotated[str | None, Field(description="Why it is closed.")]
    opened_at: str
    spent: Annotated[str, Field(description="What its answers have cost so far, of `epsilon`.")]
    given_back: Annotated[str, Field(description="What went back to the ledger when it closed.")]
    reserved: Annotated[str, Field(description="The rest of `epsilon`, which the ledger keeps for it.")]


Answered = with_schema(
    gates.Answered,
    frozen=True,
    config=example(
        gate="g-0123456789abcdef", number=4, above=True, remaining=23, closed=False, estimate=1870, standard_error=96.5
    ),
)


class PastAnswer(BaseModel):
    """A question that was asked before; ``above`` is null where the answer was lost."""

    model_config = example(number=4, at="2030-01-01T12:00:03+00:00", where="country = 'DE'", above=True, estimate=1870)

    number: int
    at: str
    where: str
    above: bool | None
    estimate: int | None


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
    kind: Literal["budget", "spend", "reserve", "refund"]
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


class Top(BaseModel):
    """The chosen items in the order selected, or as a set; an itemset is a list of items."""

    model_config = example(
        items=["/home", "/pay"],
        estimates=None,
        error_bar=None,
        record={"epsilon": "0.5", "delta": "0", "method": "subset", "ordered": False, "unit": "user", "count": 2},
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
    names = ("number", "kind", "what", "of")
    entries = [
        {name: getattr(entry, name) for name in names} | {"at": entry.at.isoformat()} | _money(entry.amount)
        for entry in statement.entries
    ]
    sums = {name: _money(getattr(statement, name)) for name in ("budget", "spent", "given_back", "remaining")}
    return {"dataset": statement.dataset, **sums, "entries": entries}


def _money(amount: Amount) -> dict[str, str]:
    return {"epsilon": exact_text(amount.epsilon), "delta": exact_text(amount.delta)}


MOST_WHOLE: Final = 2**31 - 1
"""The largest cutoff, and the most questions: what the ledger can count in every database."""

MOST_CANDIDATES: Final = 2**53

_DECIMAL: Final = "^[0-9]{1,12}([.][0-9]{1,100})?$"


def _exact(value: object) -> Fraction:
    """A decimal in text, or a JSON number, which stands for the decimal that it prints as."""
    try:
        if isinstance(value, str) and re.fullmatch(_DECIMAL, value, re.ASCII):
            return Fraction(value)
        if isinstance(value, int | float):
            return exact_epsilon(value, zero=True)
    except ParameterError:
        pass
    raise PydanticCustomError("decimal", 'must be a decimal in text, such as "0.5", or a number of at least 0')


def _positive(value: Fraction) -> Fraction:
    if not value:
        raise PydanticCustomError("positive", 'must be larger than 0; send for instance "0.5"')
    return value


_TEXT: Final[dict[str, Any]] = {"type": "string", "pattern": _DECIMAL}
Exact = Annotated[Any, BeforeValidator(_exact), WithJsonSchema({"anyOf": [_TEXT, {"type": "number", "minimum": 0}]})]
"""An exact number of at least 0."""

Positive = Annotated[
    Any,
    AfterValidator(_positive),
    BeforeValidator(_exact),
    WithJsonSchema({"anyOf": [_TEXT, {"type": "number", "exclusiveMinimum": 0}]}),
]
"""An exact number of more than 0."""


def _domain(value: object) -> object:
    """Never a path: a file of the server is not for whoever sends requests."""
    if value == "observed" or (type(value) is int and 1 <= value <= MOST_CANDIDATES):
        return value
    if isinstance(value, list) and all(type(label) in (str, int) for label in value):
        return value
    raise PydanticCustomError("domain", 'must be a list of labels, a number of candidates, or "observed"')


Candidates = Annotated[
    Any,
    BeforeValidator(_domain),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": "observed"},
                {"type": "integer", "minimum": 1, "maximum": MOST_CANDIDATES},
                {"type": "array", "items": {"type": ["string", "integer"]}},
            ]
        }
    ),
]


class _Asked(BaseModel):
    """A body that is asked: no cast from one type to another, and no field that is not known."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class OpenGate(_Asked):
    """A new gate. It closes after `cutoff` ABOVE, or with "rarer" when both answers were given as often."""

    model_config = example(threshold=1000, cutoff=25, epsilon="0.5", queries=None)

    threshold: Annotated[int, Field(ge=-(2**61), le=2**61, description="A PUBLIC number of people.")]
    cutoff: Annotated[int, Field(ge=1, le=MOST_WHOLE, description="Close after this many ABOVE.")]
    epsilon: Annotated[Positive, Field(description="The privacy loss of all the gate's answers together.")]
    queries: Annotated[
        int | None, Field(ge=1, le=MOST_WHOLE, description="Plan for this many questions, and close after them.")
    ] = None
    noise: Literal["auto", "exponential", "laplace"] = "auto"
    closes: Literal["above", "rarer"] = "above"


class AskGate(_Asked):
    """A question: how many people have a row that matches, compared with the threshold."""

    model_config = example(where="country = 'DE' AND page IN ('/pay', '/cart')")

    where: Annotated[str, Field(description="A condition on the declared columns of one row.")]


class AskTop(_Asked):
    """A private top-c of one column, or all above a bar; see ``sparsegate.top_items`` for what the options mean."""

    model_config = example(item="page", count=2, epsilon="0.5", domain=["/home", "/pay", "/cart"])

    item: Annotated[str, Field(description="The declared column to rank: text or integers.")]
    count: Annotated[int | None, Field(ge=1, le=MOST_WHOLE, description="How many to select; or above.")] = None
    above: Annotated[int | None, Field(ge=1, le=MOST_WHOLE, description="All that about this many people have.")] = None
    epsilon: Positive
    domain: Annotated[Candidates, Field(description='PUBLIC candidates: a list; n for 0, ..., n-1; or "observed".')]
    delta: Exact = Fraction(0)
    method: Annotated[str, Field(pattern=f"^({'|'.join((AUTO, *METHODS))})$", description=describe_methods())] = AUTO
    ordered: Annotated[bool, Field(description="True asks for an order, best first, and not for a set.")] = False
    threshold: Annotated[int | None, Field(ge=-(2**61), le=2**61)] = None
    answers_epsilon: Exact = Fraction(0)
    max_items_per_user: Annotated[int | None, Field(ge=1, le=MOST_WHOLE)] = None
    itemset_size: Annotated[int, Field(ge=1, le=3)] = 1
    max_items: Annotated[int | None, Field(ge=1, le=MOST_WHOLE)] = None
    dbar: Annotated[int | None, Field(ge=1, le=MOST_WHOLE)] = None


FIELDS: Final = frozenset(name for body in (OpenGate, AskGate, AskTop) for name in body.model_fields)
"""What a pointer into a body may point at."""
