"""What fields of a body may hold: strict JSON, and exact numbers, which travel as decimals in text."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, Final

from fastapi import Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, WithJsonSchema
from pydantic_core import PydanticCustomError

from sparsegate.budget import exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.service.pages import PAGE


def example(**example: Any) -> ConfigDict:
    """An example in the description of a model."""
    return ConfigDict(json_schema_extra={"examples": [example]})


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
