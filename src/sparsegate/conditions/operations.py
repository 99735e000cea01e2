"""What a condition may do with values: functions, operators and types, as tables.

Every operation has a value for every value of its arguments; that is why it is in the table, and why others are not:
``substring`` with a column for a position, concatenation, dates plus days, integers that overflow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sparsegate.conditions.schema import Kind

COMPARISONS: Final = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
MATCHES: Final = {
    "LIKE": "like",
    "ILIKE": "ilike",
    "SIMILAR": "regexp_full_match",
    "~~": "like",
    "~~*": "ilike",
    "~": "regexp_full_match",
}
"""Operators between a text and a pattern; each also with a NOT or a ! before it."""

CLOCK: Final = ("hour", "minute", "second")
"""The parts of a time of day; of a date each is 0."""
PARTS: Final = ("year", "quarter", "month", "week", "day", "dow", "isodow", "doy", *CLOCK)
WINDOWS: Final = ("year_month", "year_quarter", "year_week")
"""A window of time as text, "2024-03", "2024-Q1" or "2024-W09" (of ISO 8601); null before the year 1 and after 9999."""
TESTS: Final = {"starts_with": "starts_with", "prefix": "starts_with", "ends_with": "ends_with", "suffix": "ends_with"}
REGEXPS: Final = ("regexp_matches", "regexp_full_match")
"""Linear in the cell, but with a factor that only the engine knows: these have no public cost."""

_TEXT, _MOMENT = frozenset({Kind.TEXT}), frozenset({Kind.DATE, Kind.TIMESTAMP})


@dataclass(frozen=True)
class Function:
    """What is called, its operation, its arguments by kind, and the kind of its value; a pattern is a constant text."""

    operation: str
    takes: frozenset[Kind]
    kind: Kind
    pattern: bool = False


FUNCTIONS: Final[dict[str, Function]] = {
    **{name: Function(name, _TEXT, Kind.TEXT) for name in ("lower", "upper", "trim", "ltrim", "rtrim")},
    "length": Function("length", _TEXT, Kind.INTEGER),
    **{
        name: Function(operation, _TEXT, Kind.BOOLEAN, pattern=True)
        for name, operation in {**TESTS, "contains": "contains", **{each: each for each in REGEXPS}}.items()
    },
    **{part: Function(part, _MOMENT, Kind.INTEGER) for part in PARTS},
    **{part: Function(part, _MOMENT | {Kind.TIME}, Kind.INTEGER) for part in CLOCK},
    **{window: Function(window, _MOMENT, Kind.TEXT) for window in WINDOWS},
}


@dataclass(frozen=True)
class Type:
    """A type that values are cast to, the kind of the result, and the bounds of a whole number."""

    name: str
    kind: Kind
    bounds: tuple[int, int] | None = None
    zoned: bool = False
    """Whether a text may have a time zone, and is brought to UTC."""

    @property
    def exact(self) -> bool:
        """Whether every constant of the kind, within the bounds, stays as it is."""
        own = self.name in ("VARCHAR", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "TIME")
        return own or self.zoned or self.bounds is not None


def _whole(name: str, bits: int, *, sign: bool = True) -> Type:
    return Type(name, Kind.INTEGER, (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if sign else (0, 2**bits - 1))


_KNOWN: Final = [
    *(_whole(name, bits) for name, bits in {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}.items()),
    _whole("HUGEINT", 128),
    *(_whole(f"U{name}INT", bits, sign=False) for name, bits in {"TINY": 8, "SMALL": 16, "BIG": 64}.items()),
    _whole("UINTEGER", 32, sign=False),
    *(Type(name, Kind.REAL) for name in ("FLOAT", "DOUBLE", "DECIMAL", "UHUGEINT")),
    *(Type(name, Kind.TEXT) for name in ("VARCHAR", "UUID")),
    *(Type(f"TIMESTAMP{unit}", Kind.TIMESTAMP) for unit in ("", "_S", "_MS", "_NS")),
    Type("TIMESTAMP WITH TIME ZONE", Kind.TIMESTAMP, zoned=True),
    Type("BOOLEAN", Kind.BOOLEAN),
    Type("DATE", Kind.DATE),
    Type("TIME", Kind.TIME),
]
_ALIASES: Final = {
    "VARCHAR": "TEXT STRING CHAR BPCHAR NVARCHAR",
    "TINYINT": "INT1",
    "SMALLINT": "INT2 SHORT INT16",
    "INTEGER": "INT INT4 SIGNED INT32",
    "BIGINT": "INT8 LONG INT64",
    "HUGEINT": "INT128",
    "UINTEGER": "UINT32",
    "UBIGINT": "UINT64",
    "FLOAT": "FLOAT4 REAL",
    "DOUBLE": "FLOAT8",
    "DECIMAL": "NUMERIC DEC",
    "BOOLEAN": "BOOL LOGICAL",
    "TIMESTAMP": "DATETIME TIMESTAMP_US",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ",
}
TYPES: Final[dict[str, Type]] = {
    **{each.name: each for each in _KNOWN},
    **{alias: each for each in _KNOWN for alias in _ALIASES.get(each.name, "").split()},
}

_NUMBERS: Final = {Kind.INTEGER, Kind.REAL, Kind.BOOLEAN}
CONVERTS: Final[dict[Kind, set[Kind]]] = {
    Kind.TEXT: set(Kind),
    **{kind: _NUMBERS | {Kind.TEXT} for kind in _NUMBERS},
    **{kind: {Kind.DATE, Kind.TIMESTAMP, Kind.TEXT} for kind in (Kind.DATE, Kind.TIMESTAMP)},
    Kind.TIME: {Kind.TIME, Kind.TEXT},
}
"""From which kind to which a cast converts."""
