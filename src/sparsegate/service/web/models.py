"""A top-c, what is served, and problems, as they travel; each with an example. Gates are in ``gate_models``."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from sparsegate.mechanisms.selection_methods import AUTO, METHODS, describe_methods
from sparsegate.service.web.fields import MOST_THRESHOLD, MOST_WHOLE, Exact, Positive, Posted, example
from sparsegate.service.web.gate_models import AskGate, OpenGate
from sparsegate.service.web.token_models import AddToken


class TopRow(BaseModel):
    """A chosen item; an itemset is a list of items."""

    model_config = example(item="/home")

    rank: Annotated[int | None, Field(description="Only where the order means something.")] = None
    item: str | int | list[str | int]
    estimate: Annotated[int | None, Field(description="Its noisy count, where there is one.")] = None


class Top(BaseModel):
    """The chosen items in the order selected, or as a set: as `sparsegate top --json`, see docs/reference/json.md."""

    model_config = example(
        schema="sparsegate/top/1",
        item="page",
        items=[{"item": "/home"}, {"item": "/pay"}],
        error_bar=None,
        error_bar_all=None,
        confidence=0.95,
        record={"epsilon": "0.5", "delta": "0", "method": "subset", "ordered": False, "unit": "user", "count": 2},
    )

    layout: Annotated[Literal["sparsegate/top/1"], Field(alias="schema")]
    item: Annotated[str, Field(description="The column that was ranked.")]
    items: list[TopRow]
    error_bar: Annotated[int | None, Field(description="For each count.")]
    error_bar_all: Annotated[int | None, Field(description="For all counts at once.")]
    confidence: float
    record: dict[str, str | int | float | bool | None]


class DeclaredColumn(BaseModel):
    """A column that may be asked about."""

    model_config = example(name="country", kind="text")

    name: str
    kind: Literal["text", "integer", "real", "boolean", "date", "timestamp", "time"]
    example: Annotated[str | None, Field(description="For practice: a condition that many made-up people meet.")] = None


class Served(BaseModel):
    """What is served: everything that is public about the data."""

    model_config = example(
        dataset="visits",
        unit="user",
        delay=0.05,
        max_cell=1000,
        columns=[{"name": "country", "kind": "text"}],
        left_out=["photo"],
    )

    dataset: str
    unit: Literal["user", "row"]
    delay: Annotated[float, Field(description="D: an answer leaves this many seconds after its turn came.")]
    max_cell: Annotated[int, Field(description="Text cells are cut to this many characters before they are compared.")]
    columns: list[DeclaredColumn]
    left_out: Annotated[
        list[str], Field(description="Columns that are there, of a type that cannot be asked about.")
    ] = []
    practice: Annotated[bool, Field(description="Whether it is made up, to practise on, and free.")] = False


class CanAnswer(BaseModel):
    """The service can answer."""

    model_config = example(status="ready")

    status: Literal["ready"]


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

    model_config = example(item="page", count=2, epsilon="0.5", domain=["/home", "/pay", "/cart"])

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
    itemset_size: Annotated[int, Field(ge=1, le=3)] = 1
    max_items: Annotated[int | None, Field(ge=1, le=MOST_WHOLE)] = None
    dbar: Annotated[int | None, Field(ge=1, le=MOST_WHOLE)] = None


FIELDS: Final = frozenset(name for body in (OpenGate, AskGate, AskTop, AddToken) for name in body.model_fields)
"""What a pointer into a body may point at."""
