"""The types that text gets when data are opened, by declaration: ``note=timestamptz``.

What an engine does with a text that is no number, no date or no time zone is its own affair, and so is how long that
takes. Where strangers ask, no text is therefore cast (``conditions.operations``). It is read here, once, before
anything is asked: a cell that is written as a value of its type is that value, and every other cell is null. That is
a function of the cell alone, and whether data can be opened does not depend on a cell.

A value is written as in a condition (``conditions.reading``): the form is checked first, by a pattern, and the engine
sees what has it. So it never looks for the name of a time zone, and 1.7 is no whole number. A zone is Z, UTC or an
offset; without one a ``timestamptz`` is in UTC, which is what it is brought to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sparsegate.conditions import Kind
from sparsegate.errors import ParameterError

_DAY: Final = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_TIME: Final = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?"
_MOMENT: Final = f"{_DAY}(?:[ T]{_TIME})?"
_NUMBER: Final = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_TRUTH: Final = "(?i:true|false|t|f|yes|no|y|n|1|0)"
_OFFSET: Final = r"(?: ?(?:Z|UTC|([+-])([01][0-9]):?([0-5][0-9])?))?"


def _written(form: str, group: int = 1, rest: str = "") -> str:
    """What the cell has of the form, or null; white space around it is no part of it."""
    pattern = rf"^\s*({form}){rest}\s*$".replace("{", "{{").replace("}", "}}")
    return f"nullif(regexp_extract(CAST({{0}} AS VARCHAR), '{pattern}', {group}), '')"


def _zoned() -> str:
    """In UTC; without a cast to a type with a zone, which would look for one by its name."""
    sign, hours, minutes = (f"{_written(_MOMENT, group, _OFFSET)}" for group in (2, 3, 4))
    away = f"60 * coalesce(CAST({hours} AS INTEGER), 0) + coalesce(CAST({minutes} AS INTEGER), 0)"
    signed = f"CASE WHEN {sign} = '-' THEN -1 ELSE 1 END * ({away})"
    return f"TRY(TRY_CAST({_written(_MOMENT, rest=_OFFSET)} AS TIMESTAMP) - to_minutes({signed}))"


_REAL: Final = (Kind.REAL, f"TRY_CAST({_written(_NUMBER + '|[+-]?(?i:inf|infinity|nan)')} AS DOUBLE) + 0")
_WHOLE: Final = (Kind.INTEGER, f"TRY_CAST({_written('[+-]?[0-9]+')} AS BIGINT)")
TYPES: Final[dict[str, tuple[Kind, str]]] = {
    "integer": _WHOLE,
    "bigint": _WHOLE,
    "double": _REAL,
    # A decimal is compared as a real, so it is read as the nearest one.
    "decimal": (Kind.REAL, f"TRY_CAST({_written(_NUMBER)} AS DOUBLE) + 0"),
    "boolean": (Kind.BOOLEAN, f"TRY_CAST({_written(_TRUTH)} AS BOOLEAN)"),
    "date": (Kind.DATE, f"TRY_CAST({_written(_DAY)} AS DATE)"),
    "time": (Kind.TIME, f"TRY_CAST({_written(_TIME)} AS TIME)"),
    "timestamp": (Kind.TIMESTAMP, f"TRY_CAST({_written(_MOMENT)} AS TIMESTAMP)"),
    "timestamptz": (Kind.TIMESTAMP, _zoned()),
}
"""By its name: the kind, and how a cell is read. Nothing here fails on a cell."""


def read_declarations(texts: Sequence[str] | None) -> dict[str, str]:
    """``COLUMN=TYPE``, each, as a mapping.

    >>> read_declarations(["note=timestamptz", "age=integer"])
    {'note': 'timestamptz', 'age': 'integer'}
    """
    declared: dict[str, str] = {}
    for text in texts or ():
        name, _, kind = text.rpartition("=")
        if not name or name in declared:
            rule = "must give each column one type, as COLUMN=TYPE" if name else "must be COLUMN=TYPE"
            raise ParameterError("read", rule, text, "for instance --read age=integer")
        declared[name] = kind.strip()
    return declared


def declared_types(types: Mapping[str, str], read: Mapping[str, str]) -> dict[str, tuple[Kind, str]]:
    """The kind of each column that a type was declared for, and how its cells are read; ``types`` are the engine's."""
    for name, kind in read.items():
        if kind.lower() not in TYPES:
            raise ParameterError("read", f"must give {name!r} one of {', '.join(TYPES)}", kind)
        if types[name] not in ("varchar", "enum"):
            step = "leave it out: the column has a type" if types[name] in _TYPED else "cast it, with --sql"
            raise ParameterError("read", f"must name columns of text, and {name!r} is {types[name]}", next_step=step)
    return {name: TYPES[kind.lower()] for name, kind in read.items()}


_TYPED: Final = (
    *("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint", "hugeint"),
    *("float", "double", "decimal", "uhugeint", "boolean", "date", "timestamp", "timestamp with time zone", "time"),
)
