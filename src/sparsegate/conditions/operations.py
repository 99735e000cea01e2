"""What a condition may do with values, as tables; and its public cost.

Every operation has a value for every value of its arguments; that is why it is in the table, and why others are not:
``substring`` with a column for a position, concatenation, dates plus days, integers that overflow.

**The public cost** is an upper bound of the work on one row, from the condition and the schema alone, in about
nanoseconds of one core, rounded up from DuckDB 2.0 on the worst cells that were found; a search for dear cells holds it
against the engine (``tests/support/dear_cells.py``). What has no such bound has no cost: regular expressions, patterns
in which several % meet a _, and casts of text. Why: docs/explanation/proofs_in_words/conditions.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sparsegate.conditions.tree import Apply, Cast, Column, Kind, Literal, Node, children, columns_in

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


_NAMES: Final = {
    Kind.INTEGER: (
        *("TINYINT INT1", "SMALLINT INT2 SHORT INT16", "INTEGER INT INT4 SIGNED INT32", "BIGINT INT8 LONG INT64"),
        *("HUGEINT INT128", "UTINYINT", "USMALLINT", "UINTEGER UINT32", "UBIGINT UINT64"),
    ),
    Kind.REAL: ("FLOAT FLOAT4 REAL", "DOUBLE FLOAT8", "DECIMAL NUMERIC DEC", "UHUGEINT"),
    Kind.TEXT: ("VARCHAR TEXT STRING CHAR BPCHAR NVARCHAR", "UUID"),
    Kind.TIMESTAMP: ("TIMESTAMP DATETIME TIMESTAMP_US", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
    Kind.BOOLEAN: ("BOOLEAN BOOL LOGICAL",),
    Kind.DATE: ("DATE",),
    Kind.TIME: ("TIME",),
}
_BITS: Final = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}


def _type(name: str, kind: Kind) -> Type:
    if kind is not Kind.INTEGER:
        return Type(name, kind)
    most = 2 ** _BITS[name.removeprefix("U")]
    return Type(name, kind, (0, most - 1) if name.startswith("U") else (-(most // 2), most // 2 - 1))


_ZONED: Final = Type("TIMESTAMP WITH TIME ZONE", Kind.TIMESTAMP, zoned=True)
TYPES: Final[dict[str, Type]] = {
    **{name: _type(names.split()[0], kind) for kind in _NAMES for names in _NAMES[kind] for name in names.split()},
    **dict.fromkeys(("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ"), _ZONED),
}
"""By each of the names that a type has."""

_NUMBERS: Final = {Kind.INTEGER, Kind.REAL, Kind.BOOLEAN}
CONVERTS: Final[dict[Kind, set[Kind]]] = {
    Kind.TEXT: set(Kind),
    **{kind: _NUMBERS | {Kind.TEXT} for kind in _NUMBERS},
    **{kind: {Kind.DATE, Kind.TIMESTAMP, Kind.TEXT} for kind in (Kind.DATE, Kind.TIMESTAMP)},
    Kind.TIME: {Kind.TIME, Kind.TEXT},
}
"""From which kind to which a cast converts."""


STEP: Final = 20
"""What any node costs: a value of fixed size is read and written."""
SHOWN: Final = 40
"""The characters of a number, a date or a truth value as text."""
READ, COMPARED, WILDCARD = 5, 3, 44
"""For each character: of a cell; of the shorter of two texts; of a pattern with _, at each place where it is tried."""
WINDOW: Final = 300
"""A window of time as text: two parts of a date are written out."""
PER_CHARACTER: Final = {
    **dict.fromkeys(("lower", "upper"), 40),
    **dict.fromkeys(("trim", "ltrim", "rtrim"), 32),
    "length": 2,
}
"""Of the first argument."""
FAILED, FAILED_DECIMAL = 2_000, 24_000
"""A cast that does not convert: the engine writes a message that nobody reads."""
TIMES: Final = {"between": 2, "week": 2, **dict.fromkeys(WINDOWS, 4)}
"""How often the engine works the first argument out, as an operation is written for it (``conditions.condition``)."""
SOUGHT: Final = 20
"""For each character of a cell in which a text is looked for; and more if that has over 8 characters."""


class Unbounded(Exception):
    """Has the rule that a condition breaks, and the next step."""


def cost_of(node: Node, max_cell: int) -> int:
    """The cost of a node and all below it.

    >>> cost_of(Apply("=", (Column("page", Kind.TEXT), Literal(Kind.TEXT, "/pay")), Kind.BOOLEAN), max_cell=100)
    592
    """
    below = children(node)
    costs = [cost_of(each, max_cell) for each in below]
    lengths = [_characters(each, max_cell) for each in below]
    own = STEP
    match node:
        case Column(kind=Kind.TEXT):
            own += READ * max_cell
        case Apply(operation, (_, *others)):
            own += _applied(operation, lengths, others) + (TIMES.get(operation, 1) - 1) * costs[0]
        case Cast() if below[0].kind is Kind.TEXT and node.target != "VARCHAR":
            raise _from_text(node)
        case Cast(target="DECIMAL"):
            own += FAILED_DECIMAL
        case Cast(target=target) if (below[0].kind, target) != (Kind.INTEGER, "DOUBLE"):
            own += FAILED
    return own + sum(costs)


def _applied(operation: str, lengths: list[int], others: list[Node]) -> int:
    first, *rest = lengths
    if operation in REGEXPS:
        raise Unbounded(f"must not use {operation} where the cost of every condition is public", "use LIKE")
    if operation in WINDOWS:
        return WINDOW
    if operation in PER_CHARACTER:
        return PER_CHARACTER[operation] * first
    if operation in ("contains", "segments"):
        sought = [_pattern(others[0])] if operation == "contains" else _pattern(others[0]).split("%")
        return (SOUGHT + max(map(len, sought)) // 8) * first
    if operation == "wildcards":
        pattern = _pattern(others[0])
        places = len(re.findall("%+(?!$)", pattern))  # the % that have something after them
        if places > 1:
            rule = "must have at most one % before the last character of a pattern with _"
            raise Unbounded(rule, "ask for the parts with AND")
        return WILDCARD * len(pattern) * (first if places else 1)
    return sum(STEP + COMPARED * min(first, each) for each in rest)


def _from_text(node: Cast) -> Unbounded:
    name = next((column.name for column in columns_in(node)), "COLUMN")
    rule = "must not cast text where the cost of every condition is public"
    if node.kind is Kind.TEXT:
        return Unbounded(rule, "compare it as text")
    read = "timestamptz" if TYPES[node.target].zoned else "double" if node.kind is Kind.REAL else str(node.kind)
    step = f"give the column its type when the data are opened: sparsegate serve --read {name}={read}"
    return Unbounded(rule, f"{step}; of a table in a database, there")


def _characters(node: Node, max_cell: int) -> int:
    """The most characters that a text has; 0 where it is none."""
    match node:
        case Literal(kind=Kind.TEXT, constant=constant):
            return len(str(constant))
        case Column(kind=Kind.TEXT):
            return max_cell
        case Apply(kind=Kind.TEXT) | Cast(kind=Kind.TEXT) if children(node)[0].kind is not Kind.TEXT:
            return SHOWN
        case Apply(kind=Kind.TEXT) | Cast(kind=Kind.TEXT):
            return _characters(children(node)[0], max_cell)
    return 0


def _pattern(node: Node) -> str:
    """The text of a pattern, whether or not it is brought to lower case."""
    return str(node.constant) if isinstance(node, Literal) else _pattern(children(node)[0])
