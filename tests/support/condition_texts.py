"""Texts that are accepted, with the SQL they become, and texts that are refused, with the place that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparsegate.conditions import Column, Kind, Schema, read_condition
from sparsegate.errors import ConditionError

SCHEMA = Schema(
    (
        *(Column(name, Kind.TEXT) for name in ("page", "country", "Mixed Case", 'say "hi"', "e")),
        *(Column(name, Kind.INTEGER) for name in ("n", "m", "order")),
        *(Column(name, Kind.BOOLEAN) for name in ("flag", "paid")),
        *(Column(name, Kind.DATE) for name in ("day", "date")),
        Column("r", Kind.REAL),
        Column("at", Kind.TIMESTAMP),
        Column("opens", Kind.TIME),
    )
)

TYPES = dict(zip(Kind, ("VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "TIME"), strict=True))


def _table(name: str) -> dict[str, str]:
    lines = (Path(__file__).parents[1] / "conditions" / name).read_text(encoding="utf-8").splitlines()
    return {text: meant for text, _, meant in (line.partition(" ⇒ ") for line in lines)}


ACCEPTED = _table("accepted.txt")
"""What is written, and what is run."""
REFUSED = _table("refused.txt")
"""What is written, and the place that the error points at."""


def refusal(text: str, schema: Schema = SCHEMA) -> ConditionError:
    with pytest.raises(ConditionError) as caught:
        read_condition(text, schema)
    return caught.value
