"""A condition that was read: its SQL, and its leaves, each of which is worked out on every row.

**Why leaves.** An engine stops early: of ``ward = 'ICU' AND dear`` it works out ``dear`` where the ward is ICU, so the
time tells whether somebody is there. So the tree is cut into atomic tests without AND, OR, NOT, CASE and coalesce. Each
is worked out for every row, and their values are combined by arithmetic, which takes the same steps for all of them.

**Three values.** A test is FALSE, UNKNOWN or TRUE: 0, 1 and 2. In this order AND is the least of two, OR the greatest,
and NOT x is 2 - x (Kleene). CASE chooses a value by whether its test is TRUE.

SQL from a tree, by dialect. Nothing of the text that was read is in it: names and texts are quoted here.

Every conversion is a TRY_CAST, so no cell makes a query fail, and a comparison has sides of one type already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from sparsegate.conditions.operations import PARTS, REGEXPS, Unbounded, cost_of
from sparsegate.conditions.tree import (
    All,
    Apply,
    CaseWhen,
    Cast,
    Coalesce,
    Column,
    Either,
    Kind,
    Literal,
    Node,
    Not,
    Schema,
    by_column,
    columns_in,
    split,
)
from sparsegate.errors import ConditionError, ParameterError


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How one engine writes types and operations; what is not in ``forms`` is an operator between its arguments."""

    types: Mapping[Kind, str]
    """The widest type of each kind, in which values are compared."""
    casts: Mapping[str, str] = field(default_factory=dict)
    """How a value is cast to a type that needs more than TRY_CAST."""
    forms: Mapping[str, str] = field(default_factory=dict)


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

DIALECTS: Final = {
    "duckdb": Dialect(
        types={
            **dict(zip(Kind, ("VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "TIME"), strict=True)),
        },
        casts={
            "TIMESTAMP WITH TIME ZONE": _ZONED,
            "HUGEINT": "TRY_CAST({} AS HUGEINT)",
            "UBIGINT": "TRY_CAST(TRY_CAST({} AS UBIGINT) AS HUGEINT)",
        },
        forms={
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
        },
    ),
}
"""By name. Another engine is one more entry."""


def known_moment(moment: str) -> str:
    """The moment, or null where it lies before all that the engine has a date for.

    A file can hold such a number. Written as text it would end the engine, with everything that is in it.
    """
    first = "TIMESTAMP '290309-12-22 (BC) 00:00:00'"
    return f"(CASE WHEN {moment} >= {first} OR {moment} = TIMESTAMP '-infinity' THEN {moment} END)"


_MOMENTS: Final = ("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns")
_READ_AS: Final = {
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


def duckdb_columns(types: Mapping[str, str]) -> tuple[Schema, dict[str, str]]:
    """The schema of a table of DuckDB, and how each of its cells is read, from the names and types of its columns.

    >>> schema, cells = duckdb_columns({"age": "utinyint", "tags": "list"})
    >>> schema.columns, schema.unreadable, cells
    ((Column(name='age', kind=<Kind.INTEGER: 'integer'>),), ('tags',), {'age': 'TRY_CAST("age" AS BIGINT)'})
    """
    read = {name: _READ_AS[kind] for name, kind in types.items() if kind in _READ_AS}
    columns = tuple(Column(name, kind) for name, (kind, _) in read.items())
    schema = Schema(columns, unreadable=tuple(name for name in types if name not in read), listed=False)
    return schema, {name: form.format(quoted(name, '"')) for name, (_, form) in read.items()}


def sql_of(node: Node, dialect: str = "duckdb", cells: Mapping[str, str] | None = None) -> str:
    """The node in the SQL of an engine; ``cells`` says how a column is read, where not by its name.

    >>> sql_of(Not(Apply("starts_with", (Column("page", Kind.TEXT), Literal(Kind.TEXT, "it's")), Kind.BOOLEAN)))
    '(NOT starts_with("page", \\'it\\'\\'s\\'))'
    """
    if dialect not in DIALECTS:
        raise ParameterError("dialect", f"must be one of {', '.join(DIALECTS)}", dialect)
    return Writer(DIALECTS[dialect], cells or {}).write(node)


def quoted(text: str, quote: str) -> str:
    """The text in quotes of this kind."""
    return quote + text.replace(quote, quote * 2) + quote


class Writer:
    """Writes trees for one engine."""

    def __init__(self, dialect: Dialect, cells: Mapping[str, str]) -> None:
        self._dialect = dialect
        self._cells = cells

    def write(self, node: Node) -> str:
        match node:
            case Column(name):
                return self._cells.get(name) or quoted(name, '"')
            case Literal():
                return self._literal(node)
            case Apply(operation, arguments):
                return self._apply(operation, arguments)
            case Cast():
                return self._cast(node)
            case CaseWhen(base, branches, otherwise):
                tests = " ".join(f"WHEN {self.write(test)} THEN {self.write(then)}" for test, then in branches)
                start = "CASE" if base is None else f"CASE {self.write(base)}"
                return f"({start} {tests} ELSE {self.write(otherwise)} END)"
            case Coalesce(arguments):
                return f"coalesce({', '.join(map(self.write, arguments))})"
            case Not(term):
                return f"(NOT {self.write(term)})"
            case All(terms):
                return f"({' AND '.join(map(self.write, terms))})"
        return f"({' OR '.join(map(self.write, node.terms))})"

    def _apply(self, operation: str, arguments: tuple[Node, ...]) -> str:
        first, *others = map(self.write, arguments)
        if operation == "in":
            return f"({first} IN ({', '.join(others)}))"
        form = self._dialect.forms.get(operation, f"({{}} {operation.upper()} {{}})")
        return form.format(first, *others)

    def _cast(self, node: Cast) -> str:
        value, own = self.write(node.arguments[0]), self._dialect.types[node.kind]
        name = node.target + (f"({', '.join(map(str, node.sizes))})" if node.sizes else "")
        form = self._dialect.casts.get(node.target)
        cast = form.format(value) if form else f"TRY_CAST({value} AS {name})"
        return cast if form or name == own else f"TRY_CAST({cast} AS {own})"

    def _literal(self, literal: Literal) -> str:
        kind, constant = literal.kind, literal.constant
        if constant is None:
            return f"CAST(NULL AS {self._dialect.types[kind or Kind.BOOLEAN]})"
        if kind is Kind.INTEGER:
            return str(constant)
        if kind is Kind.BOOLEAN:
            return "TRUE" if constant else "FALSE"
        text = quoted(str(constant), "'")
        # Bare, 0.1 would be a decimal number; and a decimal is not read to the nearest double, as a string is.
        return text if kind is Kind.TEXT else f"CAST({text} AS {self._dialect.types[kind or Kind.TEXT]})"


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

    def truth(self, dialect: str = "duckdb") -> str:
        """The test as a truth value for a row, null where it is unknown."""
        return sql_of(self.node, dialect)

    def sql(self, dialect: str = "duckdb") -> str:
        """The test as a number for a row: 0 false, 1 unknown, 2 true."""
        return f"coalesce(2 * CAST({self.truth(dialect)} AS TINYINT), 1)"


@dataclass(frozen=True)
class Condition:
    """A condition over the columns of ``schema``; ``text`` is what was written, ``tree`` what was understood."""

    text: str
    schema: Schema
    tree: Node = field(repr=False)

    def sql(self, dialect: str = "duckdb", cells: Mapping[str, str] | None = None) -> str:
        """The whole condition as one expression, for a caller who shows nobody how long it takes; see ``sql_of``."""
        return sql_of(self.tree, dialect, cells)

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

    def combine(self, values: Sequence[Values], spread: Callable[[str, Values], Values] | None = None) -> Values:
        """The value of the condition for every row, from the values of ``leaves``, in that order: 0, 1 or 2.

        With ``spread`` the values of a leaf that looks at one column are those on the different values of that column;
        what concerns one column alone is combined there, and ``spread(name, ...)`` brings it to the rows. A condition
        without columns has one value.
        """
        if spread is None:
            value = _combined(self.tree, self._look(values), _ARRAYS)
            return np.broadcast_to(value, np.shape(values[0])).astype(np.int8)
        look = self._look(values)

        def whole(node: Node) -> Values | None:
            names = {column.name for column in columns_in(node)}
            return spread(names.pop(), _combined(node, look, _ARRAYS)) if len(names) == 1 else None

        return np.asarray(_combined(by_column(self.tree), look, _ARRAYS, whole), np.int8)

    def refusal(self, rule: str, next_step: str) -> ConditionError:
        """An error about all of it."""
        return ConditionError(rule, self.text, 0, len(self.text), next_step=next_step)

    def _look(self, values: Sequence[Any]) -> Callable[[Node], Any]:
        known = {sql_of(leaf.node): value for leaf, value in zip(self.leaves, values, strict=True)}
        return lambda node: known[sql_of(node)]

    @cached_property
    def _cut(self) -> tuple[tuple[Leaf, ...], int]:
        """The leaves, and how many steps combine them."""
        nodes: dict[str, Node] = {}
        steps = written = 0

        def look(node: Node) -> str:
            nonlocal steps, written
            name = sql_of(node)
            steps, written = steps + 1, written + len(name)
            if steps > MOST_STEPS or written > MOST_WRITTEN:
                most = f"{MOST_STEPS:,} steps, and {MOST_WRITTEN:,} characters when it is written out"
                raise Unbounded(f"must come to at most {most}, each case in each comparison", _SHORTER)
            nodes.setdefault(name, node)
            return ""

        try:
            _combined(self.tree, look, _NOTHING)
            tests = list(nodes.values()) or [Literal(self.tree.kind, True)]
            return tuple(Leaf(node, cost_of(node, self.schema.max_cell)) for node in tests), steps
        except Unbounded as refused:
            rule, next_step = refused.args
        raise self.refusal(rule, next_step)


@dataclass(frozen=True)
class _Kleene:
    """The logic of three values, for whatever stands for them."""

    constant: Callable[[int], Any]
    inverted: Callable[[Any], Any]
    least: Callable[[Any, Any], Any]
    greatest: Callable[[Any, Any], Any]
    chosen: Callable[[Any, Any, Any], Any]
    """The second where the first is TRUE, else the third."""


_ARRAYS: Final = _Kleene(
    np.int8, lambda x: np.int8(TRUE) - x, np.minimum, np.maximum, lambda test, *both: np.where(test == TRUE, *both)
)
_NOTHING: Final = _Kleene(*[lambda *_: ""] * 5)
"""For whoever looks at the leaves and not at the value."""


def _combined(
    node: Node,
    look: Callable[[Node], Any],
    kleene: _Kleene,
    whole: Callable[[Node], Any] = lambda node: None,
    depth: int = 0,
) -> Any:
    """The value of a tree, from the values that ``look`` gives for its leaves, and ``whole`` for what it knows."""

    def below(nodes: Sequence[Node]) -> list[Any]:
        return [_combined(each, look, kleene, whole, depth + 1) for each in nodes]

    if depth > MOST_CASES:
        raise Unbounded(f"must not have more than {MOST_CASES} cases one after another", _SHORTER)
    if (known := whole(node)) is not None:
        return known
    match node:
        case Literal(constant=constant):
            return kleene.constant(UNKNOWN if constant is None else TRUE if constant else FALSE)
        case Not(term):
            return kleene.inverted(*below([term]))
        case All(terms):
            return reduce(kleene.least, below(terms))
        case Either(terms):
            return reduce(kleene.greatest, below(terms))
    if parts := split(node):
        return kleene.chosen(*below(parts))
    return look(node)
