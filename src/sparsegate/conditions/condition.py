"""A condition that was read: its SQL, and its leaves, each of which is worked out on every row.

**SQL.** Nothing of the text that was read is in it: names and texts are quoted here. Every conversion is a TRY_CAST, so
no cell makes a query fail, and a comparison has sides of one type already.

**Leaves.** An engine stops early, so its time would tell whether somebody is in the ward. So the tree is cut into
atomic tests, each is worked out for every row, and ``combine`` takes the same steps for all of them. A test is FALSE,
UNKNOWN or TRUE: 0, 1 and 2. In this order AND is the least of two, OR the greatest, and NOT x is 2 - x (Kleene).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from sparsegate.conditions.operations import PARTS, REGEXPS, Unbounded, cost_of
from sparsegate.conditions.tree import Apply, Cast, Column, Kind, Literal, Node, Schema, by_column, columns_in, split
from sparsegate.errors import ConditionError


def window_forms(part: str) -> dict[str, str]:
    """Each of ``operations.WINDOWS`` in SQL; ``part`` is how a part of a date is asked for, as a whole number."""

    def text(name: str, width: int) -> str:
        return f"lpad(CAST({part.format(part=name)} AS VARCHAR), {width}, '0')"

    def within(year: str, mark: str, window: str) -> str:
        known = "{0} >= DATE '0001-01-01' AND {0} < DATE '10000-01-01'"
        return f"(CASE WHEN {known} THEN {year} || '{mark}' || {window} END)"

    return {
        "year_month": within(text("year", 4), "-", text("month", 2)),
        "year_quarter": within(text("year", 4), "-Q", text("quarter", 1)),
        "year_week": within(text("isoyear", 4), "-W", text("week", 2)),
    }


_ZONED: Final = "make_timestamp(epoch_us(TRY_CAST({} AS TIMESTAMPTZ)))"
"""A cast from there to a timestamp would take the time zone of the machine."""

_TYPES: Final = dict(zip(Kind, ("VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "TIME"), strict=True))
_CASTS: Final = {
    "TIMESTAMP WITH TIME ZONE": _ZONED,
    "HUGEINT": "TRY_CAST({} AS HUGEINT)",
    "UBIGINT": "TRY_CAST(TRY_CAST({} AS UBIGINT) AS HUGEINT)",
}
"""How a value is cast to a type that needs more than TRY_CAST."""
FORMS: Final = {
    "not": "(NOT {})",
    **{name: f"{name}({{}})" for name in ("lower", "upper", "trim", "ltrim", "rtrim", "length")},
    **{part: f"date_part('{part}', {{}})" for part in PARTS},
    # It would fail on the first year that the engine knows, 5877642 before our era.
    "week": "(CASE WHEN {0} >= DATE '290300-01-01 (BC)' THEN date_part('week', {0}) END)",
    **window_forms("date_part('{part}', {{0}})"),
    **{name: f"{name}({{}}, {{}})" for name in ("starts_with", "ends_with", *REGEXPS)},
    # As a regular expression it is faster on most cells, and takes 20 ms for one that holds a long pattern.
    "contains": "contains({}, {})",
    **dict.fromkeys(("segments", "wildcards"), "({} LIKE {})"),
    "is null": "({} IS NULL)",
    "between": "({} BETWEEN {} AND {})",
    "negative": "(- {})",
}
"""Operations in SQL; what is not here is an operator between its arguments."""


def known_moment(moment: str) -> str:
    """The moment, or null where it lies before all that the engine has a date for.

    A file can hold such a number. Written as text it would end the engine, with everything that is in it.
    """
    first = "TIMESTAMP '290309-12-22 (BC) 00:00:00'"
    return f"(CASE WHEN {moment} >= {first} OR {moment} = TIMESTAMP '-infinity' THEN {moment} END)"


_MOMENTS: Final = ("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns")
READ_AS: Final = {
    # A cast alone would keep a collation, and then 'A' and 'a' might be equal.
    **dict.fromkeys(("varchar", "enum", "uuid"), (Kind.TEXT, '(TRY_CAST({} AS VARCHAR) COLLATE "binary")')),
    **dict.fromkeys(
        ("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger"),
        (Kind.INTEGER, "TRY_CAST({} AS BIGINT)"),
    ),
    **dict.fromkeys(("ubigint", "hugeint"), (Kind.INTEGER, "TRY_CAST({} AS HUGEINT)")),
    **dict.fromkeys(("float", "double", "decimal", "uhugeint"), (Kind.REAL, "TRY_CAST({} AS DOUBLE)")),
    **dict.fromkeys(_MOMENTS, (Kind.TIMESTAMP, known_moment("TRY_CAST({0} AS TIMESTAMP)"))),
    "timestamp with time zone": (Kind.TIMESTAMP, known_moment(_ZONED.replace("{}", "{0}"))),
    "boolean": (Kind.BOOLEAN, "{}"),
    "date": (Kind.DATE, "{}"),
    "time": (Kind.TIME, "{}"),
}
"""By the type of DuckDB: the kind, and how a cell is read. No cast here can fail on a cell."""


def duckdb_columns(types: Mapping[str, str]) -> tuple[Schema, dict[str, str]]:
    """The schema of a table of DuckDB, and how each of its cells is read, from the names and types of its columns.

    >>> schema, cells = duckdb_columns({"age": "utinyint", "tags": "list"})
    >>> schema.columns, schema.unreadable, cells
    ((Column(name='age', kind=<Kind.INTEGER: 'integer'>),), ('tags',), {'age': 'TRY_CAST("age" AS BIGINT)'})
    """
    read = {name: READ_AS[kind] for name, kind in types.items() if kind in READ_AS}
    columns = tuple(Column(name, kind) for name, (kind, _) in read.items())
    schema = Schema(columns, unreadable=tuple(name for name in types if name not in read), listed=False)
    return schema, {name: form.format(quoted(name, '"')) for name, (_, form) in read.items()}


def quoted(text: str, quote: str) -> str:
    """The text in quotes of this kind."""
    return quote + text.replace(quote, quote * 2) + quote


class Writer:
    """Writes trees as SQL of DuckDB; ``cells`` says how a column is read, where not by its name.

    >>> Writer().write(Apply("starts_with", (Column("page", Kind.TEXT), Literal(Kind.TEXT, "it's")), Kind.BOOLEAN))
    'starts_with("page", \\'it\\'\\'s\\')'
    """

    types: ClassVar[Mapping[Kind, str]] = _TYPES
    """The widest type of each kind, in which values are compared."""

    def __init__(self, cells: Mapping[str, str] | None = None) -> None:
        self._cells = cells or {}

    def write(self, node: Node) -> str:
        """The node in SQL."""
        match node:
            case Column(name):
                return self._cells.get(name) or quoted(name, '"')
            case Literal():
                return self._literal(node)
            case Apply("coalesce", arguments):
                return f"coalesce({', '.join(map(self.write, arguments))})"
            case Apply("and" | "or" as operation, terms):
                return f"({f' {operation.upper()} '.join(map(self.write, terms))})"
            case Apply(operation, arguments):
                return self._apply(operation, arguments)
            case Cast():
                return self._cast(node)
        tests = " ".join(f"WHEN {self.write(test)} THEN {self.write(then)}" for test, then in node.branches)
        start = "CASE" if node.base is None else f"CASE {self.write(node.base)}"
        return f"({start} {tests} ELSE {self.write(node.otherwise)} END)"

    def _apply(self, operation: str, arguments: tuple[Node, ...]) -> str:
        first, *others = map(self.write, arguments)
        if operation == "in":
            return f"({first} IN ({', '.join(others)}))"
        return FORMS.get(operation, f"({{}} {operation.upper()} {{}})").format(first, *others)

    def _cast(self, node: Cast) -> str:
        value, own = self.write(node.arguments[0]), self.types[node.kind]
        name = node.target + (f"({', '.join(map(str, node.sizes))})" if node.sizes else "")
        form = _CASTS.get(node.target)
        cast = form.format(value) if form else f"TRY_CAST({value} AS {name})"
        return cast if form or name == own else f"TRY_CAST({cast} AS {own})"

    def _literal(self, literal: Literal) -> str:
        kind, constant = literal.kind, literal.constant
        if constant is None:
            return f"CAST(NULL AS {self.types[kind or Kind.BOOLEAN]})"
        if kind is Kind.INTEGER:
            return str(constant)
        if kind is Kind.BOOLEAN:
            return "TRUE" if constant else "FALSE"
        text = quoted(str(constant), "'")
        # Bare, 0.1 would be a decimal number; and a decimal is not read to the nearest double, as a string is.
        return text if kind is Kind.TEXT else f"CAST({text} AS {self.types[kind or Kind.TEXT]})"


FALSE, UNKNOWN, TRUE = 0, 1, 2
MOST_STEPS: Final = 1_000
"""How often leaves are looked up to combine them: CASE inside of CASE multiplies that."""
MOST_WRITTEN: Final = 100_000
"""The characters of these tests as SQL. Each case repeats what it is compared with, so this, and not the length of a
condition, bounds how long it takes to be read."""
MOST_CASES: Final = 100
"""The branches of CASE, and other parts, one below the other: every caller must have room for them on the stack."""

_SHORTER: Final = "compare each branch by itself, with AND and OR"

Values: TypeAlias = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Leaf:
    """One atomic test: it has no AND, OR, NOT, CASE or coalesce, so every engine works all of it out on each row."""

    node: Node
    cost: int
    """The public upper bound of its work on one row; see ``operations``."""

    def truth(self) -> str:
        """The test as a truth value for a row, null where it is unknown."""
        return self._written

    @cached_property
    def _written(self) -> str:
        return Writer().write(self.node)


@dataclass(frozen=True)
class Condition:
    """A condition over the columns of ``schema``; ``text`` is what was written, ``tree`` what was understood."""

    text: str
    schema: Schema
    tree: Node = field(repr=False)

    def sql(self, cells: Mapping[str, str] | None = None) -> str:
        """The whole condition as one expression, for a caller who shows nobody how long it takes; see ``Writer``."""
        return Writer(cells).write(self.tree)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns that it looks at."""
        return tuple(dict.fromkeys(columns_in(self.tree)))

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The atomic tests, each once, and at least one. Raises ConditionError where the cost has no public bound."""
        return self._cut[0]

    @property
    def cost(self) -> int:
        """The public upper bound of the work on one row; ConditionError where there is none; see ``operations``."""
        return sum(leaf.cost for leaf in self.leaves) + self._cut[1]

    def combine(
        self, values: Sequence[Values], spread: Callable[[str, Values], Values] = lambda name, value: value
    ) -> Values:
        """The value of the condition for every row, from the values of ``leaves``, in that order: 0, 1 or 2.

        With ``spread`` the values of a leaf that looks at one column are those on the different values of that column;
        what concerns one column alone is combined there, and ``spread(name, ...)`` brings it to the rows. A condition
        without columns has one value.
        """
        known = {leaf.truth(): value for leaf, value in zip(self.leaves, values, strict=True)}

        def look(node: Node) -> Values:
            return known[Writer().write(node)]

        def whole(node: Node) -> Values | None:
            names = {column.name for column in columns_in(node)}
            return spread(names.pop(), _combined(node, look)) if len(names) == 1 else None

        return np.asarray(_combined(by_column(self.tree), look, whole), np.int8)

    def refusal(self, rule: str, next_step: str) -> ConditionError:
        """An error about all of it."""
        return ConditionError(rule, self.text, 0, len(self.text), next_step=next_step)

    @cached_property
    def _cut(self) -> tuple[tuple[Leaf, ...], int]:
        """The leaves, and how many steps combine them."""
        nodes: dict[str, Node] = {}
        steps = written = 0

        def look(node: Node) -> Any:
            nonlocal steps, written
            name = Writer().write(node)
            steps, written = steps + 1, written + len(name)
            if steps > MOST_STEPS or written > MOST_WRITTEN:
                most = f"{MOST_STEPS:,} steps, and {MOST_WRITTEN:,} characters when it is written out"
                raise Unbounded(f"must come to at most {most}, each case in each comparison", _SHORTER)
            nodes.setdefault(name, node)
            return np.int8(UNKNOWN)

        try:
            _combined(self.tree, look)
            tests = list(nodes.values()) or [Literal(self.tree.kind, True)]
            return tuple(Leaf(node, cost_of(node, self.schema.max_cell)) for node in tests), steps
        except Unbounded as refused:
            rule, next_step = refused.args
        raise self.refusal(rule, next_step)


def _combined(
    node: Node, look: Callable[[Node], Any], whole: Callable[[Node], Any] = lambda node: None, depth: int = 0
) -> Any:
    """The value of a tree, from the values that ``look`` gives for its leaves, and ``whole`` for what it knows."""

    def below(nodes: Sequence[Node]) -> list[Any]:
        return [_combined(each, look, whole, depth + 1) for each in nodes]

    if depth > MOST_CASES:
        raise Unbounded(f"must not have more than {MOST_CASES} cases one after another", _SHORTER)
    if (known := whole(node)) is not None:
        return known
    match node:
        case Literal(constant=constant):
            return np.int8(UNKNOWN if constant is None else TRUE if constant else FALSE)
        case Apply("not", (term,)):
            return np.int8(TRUE) - below([term])[0]
        case Apply("and", terms):
            return reduce(np.minimum, below(terms))
        case Apply("or", terms):
            return reduce(np.maximum, below(terms))
    if parts := split(node):
        test, *both = below(parts)
        return np.where(test == TRUE, *both)
    return look(node)
