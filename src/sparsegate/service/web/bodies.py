"""What may be posted: strict JSON, each body with an example."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from sparsegate.budget import exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.service.web.models import example

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
    """A new gate, and what it costs."""

    model_config = example(threshold=1000, cutoff=25, epsilon="0.5", queries=None)

    threshold: Annotated[int, Field(ge=-(2**61), le=2**61, description="A PUBLIC number of people.")]
    cutoff: Annotated[int, Field(ge=1, le=MOST_WHOLE, description="Close after this many ABOVE.")]
    epsilon: Annotated[Positive, Field(description="The privacy loss of all the gate's answers together.")]
    queries: Annotated[
        int | None, Field(ge=1, le=MOST_WHOLE, description="Plan for this many questions, and close after them.")
    ] = None


class AskGate(_Asked):
    """A question: how many people have a row that matches, compared with the threshold."""

    model_config = example(where="country = 'DE' AND page IN ('/pay', '/cart')")

    where: Annotated[str, Field(description="A condition on the declared columns of one row.")]


class AskTop(_Asked):
    """A private top-c of one column; see ``sparsegate.top_items`` for what the options mean."""

    model_config = example(item="page", count=2, epsilon="0.5", domain=["/home", "/pay", "/cart"])

    item: Annotated[str, Field(description="The declared column to rank: text or integers.")]
    count: Annotated[int, Field(ge=1, le=MOST_WHOLE)]
    epsilon: Positive
    domain: Annotated[
        Candidates,
        Field(description='The PUBLIC candidates: a list; n for 0, 1, ..., n-1; or "observed", which needs a delta.'),
    ]
    delta: Exact = Fraction(0)
    method: Literal["exponential", "sparse-vector", "retraversal"] = "exponential"
    threshold: Annotated[int | None, Field(ge=-(2**61), le=2**61)] = None
    answers_epsilon: Exact = Fraction(0)
    max_items_per_user: Annotated[int | None, Field(ge=1, le=MOST_WHOLE)] = None
    itemset_size: Annotated[int, Field(ge=1, le=3)] = 1
    max_items: Annotated[int | None, Field(ge=1, le=MOST_WHOLE)] = None
    dbar: Annotated[int | None, Field(ge=1, le=MOST_WHOLE)] = None


FIELDS: Final = frozenset(name for body in (OpenGate, AskGate, AskTop) for name in body.model_fields)
"""What a pointer into a body may point at."""
