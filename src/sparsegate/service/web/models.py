"""What travels: bodies that may be posted, and what is answered. Their descriptions and examples are in ``openapi``.

Bodies are strict JSON. An exact number, an epsilon or a delta, travels as a decimal in text.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, Final, Literal

from fastapi import Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.dataclasses import dataclass as with_schema
from pydantic_core import PydanticCustomError

from sparsegate.budget import exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.ledger.account import Amount, Statement, exact_text
from sparsegate.selection.select import AUTO, METHODS, describe_methods
from sparsegate.service import gates
from sparsegate.service.gate_store import PAGE
from sparsegate.service.tokens import LONGEST_NAME


class Posted(BaseModel):
    """A body that is asked: no cast from one type to another, and no field that is not known."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


Limit = Annotated[int, Query(ge=1, le=PAGE, description="The most on one page.")]

MOST_THRESHOLD: Final = 23 * 10**17
"""A little less than what a lattice carries, 2**61: a description has floats, and this one is exact in decimals."""

MOST_WHOLE: Final = 2**31 - 1
"""The largest cutoff, and the most questions: what the ledger can count in every database."""

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


class GateView(BaseModel):
    """A gate as everybody may see it."""

    id: str
    name: Annotated[str, Field(description="What people call it; empty where nobody named it.")]
    description: str
    opened_by: Annotated[str | None, Field(description="The name of a token; null where that was not noted.")]
    threshold: int
    cutoff: int
    epsilon: str
    queries: int | None
    noise: Literal["exponential", "laplace"]
    closes: Literal["above", "rarer"]
    standard_error: Annotated[float | None, Field(description="Of the estimate that an ABOVE carries, if it does.")]
    margin: Annotated[float, Field(description="An answer this far from the threshold is right with `confidence`.")]
    margin_all: Annotated[
        float,
        Field(
            description="The same for several answers at once: with `confidence` all of any `cutoff` answers (all "
            "`queries` of a gate that is planned for them) whose counts are this far from the threshold are right."
        ),
    ]
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
    practice: bool = False


Answered = with_schema(gates.Answered, frozen=True)
Answered.__doc__ = gates.Answered.__doc__  # which is lost on the way


class PastAnswer(BaseModel):
    """A question that was asked before; ``above`` is null where the answer was lost."""

    number: int
    at: str
    where: str
    above: bool | None
    estimate: int | None
    by: Annotated[str | None, Field(description="The token that asked: for owners, and for whoever asked it.")]
    practice: bool = False


class GateNumbers(Posted):
    """What a gate is made from."""

    threshold: Annotated[int, Field(ge=-MOST_THRESHOLD, le=MOST_THRESHOLD, description="A PUBLIC number of people.")]
    cutoff: Annotated[int, Field(ge=1, le=MOST_WHOLE, description="Close after this many ABOVE.")]
    epsilon: Annotated[Positive, Field(description="The privacy loss of all the gate's answers together.")]
    queries: Annotated[
        int | None, Field(ge=1, le=MOST_WHOLE, description="Plan for this many questions, and close after them.")
    ] = None
    noise: Literal["auto", "exponential", "laplace"] = "auto"
    closes: Literal["above", "rarer"] = "above"


class OpenGate(GateNumbers):
    """A new gate. It closes after `cutoff` ABOVE, or with "rarer" when both answers were given as often."""

    name: Annotated[str, Field(max_length=gates.LONGEST_NAME, description="What people call it, in one line.")] = ""
    description: Annotated[str, Field(max_length=gates.LONGEST_DESCRIPTION, description="What it is for.")] = ""


class AskPreview(GateNumbers):
    """A gate that is not opened: what would it be good for?"""


class CurvePoint(BaseModel):
    """The margin of the same gate at another epsilon."""

    epsilon: float
    margin: float


class CutoffPoint(BaseModel):
    """The margin of the same gate at another cutoff."""

    cutoff: int
    margin: float


class GatePreview(BaseModel):
    """What a gate would be good for: public numbers, without a look at the data, and free."""

    confidence: float
    margin: Annotated[float, Field(description="As in a gate.")]
    margin_all: Annotated[float, Field(description="As in a gate.")]
    standard_error: Annotated[float | None, Field(description="As in a gate.")]
    noise: Literal["exponential", "laplace"]
    cost: Annotated[str, Field(description="The epsilon that opening it reserves.")]
    remaining: Annotated[str | None, Field(description="The epsilon that the ledger has left; null for analysts.")]
    warning: Annotated[str | None, Field(description="Why it is of little use, or cannot be opened; in sentences.")]
    curve: Annotated[list[CurvePoint], Field(description="From a tenth of its epsilon to ten times that.")]
    by_cutoff: Annotated[
        list[CutoffPoint],
        Field(description="From a tenth of its cutoff to ten times that, but for those whose plans take long."),
    ]
    practice: bool = False


class AskGate(Posted):
    """A question: how many people have a row that matches, compared with the threshold."""

    where: Annotated[str, Field(description="A condition on the declared columns of one row.")]


class Quota(BaseModel):
    """What a token may have, and had; null: no limit."""

    most_above: Annotated[int | None, Field(description="How many ABOVE its questions may be given.")]
    above: Annotated[int, Field(description="How many they were given, lost answers included.")]
    most_epsilon: Annotated[str | None, Field(description="How much it may charge.")]
    epsilon: Annotated[str, Field(description="How much it charged.")]


class WhoAmI(BaseModel):
    """Whose token this is, and what it may do."""

    name: str
    role: Literal["owner", "analyst"]
    expires_at: str | None
    quota: Quota


class TokenView(BaseModel):
    """A token, without its text."""

    name: str
    role: Literal["owner", "analyst"]
    added_at: str
    expires_at: str | None
    last_used_at: Annotated[str | None, Field(description="To the minute.")]
    revoked_at: str | None
    quota: Annotated[Quota | None, Field(description="Null where it has none.")]


class NewToken(TokenView):
    """A token with its text, which is shown this once."""

    token: str


class AddToken(Posted):
    """A new token. Its name stands for it for ever, also when it is revoked."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, description="Whom it is for.")]
    role: Literal["owner", "analyst"] = "analyst"
    expires: Annotated[
        str | None, Field(max_length=40, description="A time from now such as 30d or 12h, or a date, or a moment.")
    ] = None
    most_above: Annotated[int | None, Field(ge=1, le=MOST_WHOLE, description="How many ABOVE it may be given.")] = None
    most_epsilon: Annotated[Positive | None, Field(description="How much an owner may charge.")] = None


class ActivityLine(BaseModel):
    """One question, and what came of it; ``above`` is null where the answer was lost."""

    gate: str
    gate_name: str
    number: int
    by: Annotated[str | None, Field(description="The name of a token.")]
    at: str
    where: str
    above: bool | None
    estimate: int | None
    cursor: Annotated[str, Field(description="What is older is `after` this.")]


class TopRow(BaseModel):
    """A chosen item; an itemset is a list of items."""

    rank: Annotated[int | None, Field(description="Only where the order means something.")] = None
    item: str | int | list[str | int]
    estimate: Annotated[int | None, Field(description="Its noisy count, where there is one.")] = None


class Top(BaseModel):
    """The chosen items in the order selected, or as a set: as `sparsegate top --json`, see docs/reference/json.md."""

    layout: Annotated[Literal["sparsegate/top/1"], Field(alias="schema")]
    item: Annotated[str, Field(description="The column that was ranked.")]
    items: list[TopRow]
    error_bar: Annotated[int | None, Field(description="For each count.")]
    error_bar_all: Annotated[int | None, Field(description="For all counts at once.")]
    confidence: float
    record: dict[str, str | int | float | bool | None]


class DeclaredColumn(BaseModel):
    """A column that may be asked about."""

    name: str
    kind: Literal["text", "integer", "real", "boolean", "date", "timestamp", "time"]
    example: Annotated[str | None, Field(description="For practice: a condition that many made-up people meet.")] = None


class Served(BaseModel):
    """What is served: everything that is public about the data."""

    dataset: str
    unit: Literal["user", "row"]
    delay: Annotated[float, Field(description="D: an answer leaves this many seconds after its turn came.")]
    max_cell: Annotated[int, Field(description="Text cells are cut to this many characters before they are compared.")]
    columns: list[DeclaredColumn]
    left_out: Annotated[
        list[str], Field(description="Columns that are there, of a type that cannot be asked about.")
    ] = []
    practice: bool = False


class AskRefresh(Posted):
    """Whether gates that are open on the old data may be closed."""

    close_gates: Annotated[bool, Field(description="Close open gates for good where the data has changed.")] = False


class Refreshed(BaseModel):
    """Whether the data was other than before, and how it is answered from now on."""

    changed: Annotated[bool, Field(description="Whether there is a new copy; else nothing was done.")]
    delay: Annotated[float, Field(description="D: an answer leaves this many seconds after its turn came.")]


class CanAnswer(BaseModel):
    """The service can answer."""

    status: Literal["ready"]


class Health(BaseModel):
    """The service is up."""

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


MOST_CANDIDATES: Final = 2**53


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


def _method(value: str) -> str:
    if value not in _METHODS:
        raise PydanticCustomError("method", f"must be one of {', '.join(_METHODS)}")
    return value


_METHODS: Final = (AUTO, *METHODS)
Method = Annotated[str, AfterValidator(_method), WithJsonSchema({"type": "string", "enum": list(_METHODS)})]
"""How a top-c is selected."""


class AskTop(Posted):
    """A private top-c of one column, or all above a bar; see ``sparsegate.top_items`` for what the options mean."""

    item: Annotated[str, Field(description="The declared column to rank: text or integers.")]
    count: Annotated[int | None, Field(ge=1, le=MOST_WHOLE, description="How many to select; or above.")] = None
    above: Annotated[int | None, Field(ge=1, le=MOST_WHOLE, description="All that about this many people have.")] = None
    epsilon: Positive
    domain: Annotated[Candidates, Field(description='PUBLIC candidates: a list; n for 0, ..., n-1; or "observed".')]
    delta: Exact = Fraction(0)
    method: Annotated[Method, Field(description=describe_methods())] = AUTO
    ordered: Annotated[bool, Field(description="True asks for an order, best first, and not for a set.")] = False
    threshold: Annotated[int | None, Field(ge=-MOST_THRESHOLD, le=MOST_THRESHOLD)] = None
    answers_epsilon: Exact = Fraction(0)
    max_items_per_user: Annotated[int | None, Field(ge=1, le=MOST_WHOLE)] = None
    dbar: Annotated[int | None, Field(ge=1, le=MOST_WHOLE)] = None


FIELDS: Final = frozenset(
    name for body in (OpenGate, AskGate, AskTop, AddToken, AskRefresh) for name in body.model_fields
)
"""What a pointer into a body may point at."""


class Money(BaseModel):
    """An epsilon and a delta, exact."""

    epsilon: str
    delta: str


class LedgerEntry(Money):
    """One line of the ledger."""

    number: int
    at: str
    kind: Literal["budget", "spend", "reserve", "refund", "restore"]
    what: str
    of: Annotated[int | None, Field(description="Of a refund: the entry whose gate did not use it.")]


class BudgetStatement(BaseModel):
    """What was allowed, what was spent, what is left, and every entry."""

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
