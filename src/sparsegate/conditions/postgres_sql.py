"""Conditions as SQL of PostgreSQL, with the meaning that they have in the embedded engine, cell by cell.

PostgreSQL fails where this language has a value: it has no TRY_CAST; overflow, underflow and division by zero of
doubles are errors; and text is folded and compared by a collation. So text is compared as ``COLLATE "C"`` and folded by
a collation that was found to agree; sums, products and quotients have infinities; and a cast is written only where both
engines agree on every value: docs/explanation/proofs_in_words/conditions.md. An argument that a form needs twice is
worked out once, as ``(SELECT ... FROM (SELECT argument AS a0 OFFSET 0) AS v)``: so the planner does not repeat it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from sparsegate.conditions.condition import Condition, Writer, quoted, window_forms
from sparsegate.conditions.operations import CLOCK, PARTS, REGEXPS, TYPES
from sparsegate.conditions.tree import Cast, Column, Kind, Literal, Node

MOST_TIMESTAMP: Final = "294247-01-10 04:00:54.775806"
"""The last moment of the embedded engine; PostgreSQL goes on for thirty years."""
_SPACES: Final = "'" + "".join(map(chr, (0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000))) + "'"
"""What ``trim`` takes off: the Unicode category Zs."""
_TYPED: Final = "give the column this type in the database, for instance in a materialized view"
_FITS: Final = "({0} BETWEEN {low} AND {high})"


@dataclass(frozen=True, kw_only=True)
class Folding:
    """A collation that changes the case of each code point by itself.

    ``corrections`` has, for each function, characters that the embedded engine folds and this collation does not, and
    what they become.
    """

    collation: str
    corrections: Mapping[str, tuple[str, str]]

    def sql(self, function: str, value: str) -> str:
        """The value in lower or upper case."""
        old, new = self.corrections.get(function, ("", ""))
        if old:
            value = f"translate({value}, {quoted(old, chr(39))}, {quoted(new, chr(39))})"
        return f'({function}({value} COLLATE {quoted(self.collation, chr(34))}) COLLATE "C")'


def postgres_sql(condition: Condition, cells: Mapping[str, str], folding: Callable[[], Folding | None]) -> str:
    """The condition as one expression; ``cells`` says how each column is read, ``folding`` is asked where it is needed.

    Raises ConditionError for what PostgreSQL cannot do in the same way.
    """
    try:
        return _PostgresWriter(cells, folding).write(condition.tree)
    except _Elsewhere as refused:
        reason = refused.args
    raise condition.refusal(*reason)


class _Elsewhere(Exception):
    """Has the rule that a condition breaks in PostgreSQL, and the next step."""


_LARGER: Final = "greatest(abs({0}), abs({1}))"
"""Not-a-number is the greatest."""


def _double(value: float) -> str:
    return f"'{value!r}'::float8"


def _sum(sign: str) -> str:
    """``{0} + {1}``: of numbers near the end of the range half of each is added, and an infinity is told from that."""
    half = "CASE WHEN abs({%d}) < 1 THEN 0 ELSE {%d} * 0.5 END"
    halves = f"({half % (0, 0)} {sign} {half % (1, 1)})"
    end, large = _double(2.0**1023), _double(2.0**1022)
    return f"""(CASE
        WHEN {_LARGER} < {large} OR NOT {_LARGER} < 'inf' THEN {{0}} {sign} {{1}}
        WHEN {halves} >= {end} THEN 'inf'::float8
        WHEN {halves} <= -{end} THEN '-inf'::float8
        ELSE {halves} * 2 END)"""


def _scaled(sign: str) -> str:
    """``{0} * {1}`` or ``{0} / {1}``. Numbers of more than 2**500, or less than its inverse, are scaled by 2**600."""

    def by_size(place: int, large: str, small: str, other: str) -> str:
        most, least = _double(2.0**500), _double(2.0**-500)
        test = f"abs({{{place}}})"
        return f"CASE WHEN {test} > {most} THEN {large} WHEN {test} < {least} THEN {small} ELSE {other} END"

    exponents = [by_size(place, "600", "-600", "0") for place in (0, 1)]
    exponent = f"({exponents[0]} {'+' if sign == '*' else '-'} {exponents[1]})"
    scales = (_double(2.0**-600), _double(2.0**600), _double(1.0))
    parts = [f"{{{place}}} * {by_size(place, *scales)}" for place in (0, 1)]
    size = f"abs(({parts[0]}) {sign} ({parts[1]}))"

    def ends(limit: int, exponents: tuple[int, ...], order: str, beyond: str) -> str:
        # A zero has a sign, too: 1 / (x * y) tells it.
        return " ".join(
            f"""WHEN {e} THEN CASE WHEN {size} {order} {_double(2.0 ** (limit - e))}
            THEN {beyond} * sign({{0}}) * sign({{1}}) ELSE {{0}} {sign} {{1}} END"""
            for e in exponents
        )

    return f"""(CASE
        WHEN {{0}} = 0 OR {{1}} = 0 OR NOT {_LARGER} < 'inf' THEN {_at_zero(sign)}
        ELSE CASE {exponent}
            WHEN 0 THEN {{0}} {sign} {{1}}
            {ends(1024, (600, 1200), ">=", "'inf'::float8")}
            {ends(-1075, (-600, -1200), "<=", "0::float8")} END END)"""


def _at_zero(sign: str) -> str:
    if sign == "*":
        return "{0} * {1}"
    return """CASE WHEN {1} <> 0 OR {0} = 'nan' THEN {0} / {1}
        ELSE 'inf'::float8 * sign({0}) * CASE {1}::text WHEN '-0' THEN -1 WHEN '0' THEN 1 END END"""


def _part(part: str, form: str) -> dict[tuple[str, Kind | None], str]:
    return {(part, kind): f"(CASE WHEN isfinite({{0}}) THEN {form} END)" for kind in (Kind.DATE, Kind.TIMESTAMP)}


_WINDOWS: Final = {
    name: f'({form} COLLATE "C")' for name, form in window_forms("extract({part} FROM {{0}})::bigint").items()
}
_PARTS: Final[dict[tuple[str, Kind | None], str]] = {
    **{key: form for part in PARTS for key, form in _part(part, f"extract({part} FROM {{0}})::bigint").items()},
    # There is no year 0 in PostgreSQL.
    **_part("year", "extract(year FROM {0})::bigint + (extract(year FROM {0}) < 0)::int"),
    **{(window, kind): form for window, form in _WINDOWS.items() for kind in (Kind.DATE, Kind.TIMESTAMP)},
    **_part("second", "floor(extract(second FROM {0}))::bigint"),
    **{(part, Kind.DATE): "(CASE WHEN isfinite({0}) THEN 0 END)" for part in CLOCK},
    **{(part, Kind.TIME): f"floor(extract({part} FROM {{0}}))::bigint" for part in CLOCK},
}
_TRIMS: Final = {"trim": "btrim", "ltrim": "ltrim", "rtrim": "rtrim"}
_FORMS: Final = {
    **{trim: f"{function}({{0}}, {_SPACES})" for trim, function in _TRIMS.items()},
    "length": "length({0})",
    "starts_with": "starts_with({0}, {1})",
    "ends_with": "(right({0}, length({1})) = {1})",
    "contains": "(strpos({0}, {1}) > 0)",
    **dict.fromkeys(("segments", "wildcards"), "({0} LIKE {1} ESCAPE '')"),
    "not": "(NOT {0})",
    "is null": "({0} IS NULL)",
    "between": "({0} >= {1} AND {0} <= {2})",
    "negative": "(- {0})",
    **{sign: _sum(sign) for sign in "+-"},
    **{sign: _scaled(sign) for sign in "*/"},
}
_NARROW: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_BEFORE_CHRIST: Final = r"regexp_replace({0}::text, '^(\S+)( \S+)? BC$', '\1 (BC)\2')"
_CASTS: Final[dict[tuple[Kind, str], str]] = {
    **{(Kind.INTEGER, name): f"(CASE WHEN {_FITS} THEN {{0}} END)" for name in (*_NARROW, "UBIGINT", "HUGEINT")},
    # Of a float the ends are not themselves doubles: what rounds to one of them does not fit, or does.
    **{(Kind.REAL, name): f"(CASE WHEN {_FITS} THEN {{0}}::bigint END)" for name in _NARROW},
    **{(Kind.BOOLEAN, name): "{0}::int" for name in (*_NARROW, "UBIGINT", "HUGEINT")},
    (Kind.INTEGER, "DOUBLE"): "{0}::float8",
    **{(Kind.BOOLEAN, name): "{0}::int::float8" for name in ("DOUBLE", "FLOAT")},
    (Kind.REAL, "FLOAT"): f"""(CASE WHEN NOT abs({{0}}) < 'inf' THEN {{0}}
        WHEN abs({{0}}) >= {_double((2.0 - 2.0**-24) * 2.0**127)} THEN NULL
        WHEN abs({{0}}) <= {_double(2.0**-150)} THEN 0 * sign({{0}}) ELSE {{0}}::float4::float8 END)""",
    **{(kind, "BOOLEAN"): "({0} <> 0)" for kind in (Kind.INTEGER, Kind.REAL)},
    **{(kind, "VARCHAR"): '({0}::text COLLATE "C")' for kind in (Kind.INTEGER, Kind.BOOLEAN, Kind.TIME)},
    **{(kind, "VARCHAR"): f'({_BEFORE_CHRIST} COLLATE "C")' for kind in (Kind.DATE, Kind.TIMESTAMP)},
    (Kind.DATE, "TIMESTAMP"): f"""(CASE WHEN {{0}} <= '{MOST_TIMESTAMP[:12]}'::date OR {{0}} = 'infinity'
        THEN {{0}}::timestamp END)""",
    (Kind.TIMESTAMP, "DATE"): "{0}::date",
}
"""From which kind to which type; a cast that is not here is refused, unless it changes nothing."""
_SAME: Final = dict(zip(Kind, ("VARCHAR", "HUGEINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "TIME"), strict=True))


class _PostgresWriter(Writer):
    types: ClassVar = dict(zip(Kind, ("text", "bigint", "float8", "boolean", "date", "timestamp", "time"), strict=True))

    def __init__(self, cells: Mapping[str, str], folding: Callable[[], Folding | None]) -> None:
        super().__init__(cells)
        self._folding = folding

    def _apply(self, operation: str, arguments: tuple[Node, ...]) -> str:
        if operation in ("lower", "upper"):
            if (folding := self._folding()) is None:
                rule = "must not change the case of text: this database has no collation that does it as elsewhere"
                raise _Elsewhere(rule, "ask for each spelling with IN, without lower, upper and ILIKE")
            return folding.sql(operation, self.write(arguments[0]))
        if operation == "in":
            first, *others = map(self.write, arguments)
            # Of IN with columns in its list PostgreSQL makes an OR, which stops early.
            return f"({first} = ANY (ARRAY[{', '.join(others)}]))"
        if operation in REGEXPS:
            raise _Elsewhere(f"must not use {operation} on a table in PostgreSQL", "use LIKE")
        form = _PARTS.get((operation, arguments[0].kind)) or _FORMS.get(operation)
        return self._filled(form or f"({{0}} {operation.upper()} {{1}})", arguments)

    def _cast(self, node: Cast) -> str:
        (value,) = node.arguments
        if value.kind is None:  # a bare NULL, which has no type of its own
            return self.write(Literal(node.kind, None))
        if node.target == _SAME[value.kind]:
            return self.write(value)
        form = _CASTS.get((value.kind, node.target))
        if form is None:
            rule = f"must not cast {value.kind} to {node.target} in PostgreSQL, which converts otherwise"
            raise _Elsewhere(rule, _TYPED)
        low, high = TYPES[node.target].bounds or (0, 0)
        rounded = value.kind is Kind.REAL and node.kind is Kind.INTEGER
        least, most = map(_double, _rounded_limits(low, high)) if rounded else (str(low), str(high))
        return self._filled(form.replace("{low}", least).replace("{high}", most), node.arguments)

    def _filled(self, form: str, arguments: tuple[Node, ...]) -> str:
        written = [self.write(argument) for argument in arguments]
        twice = any(form.count(f"{{{place}}}") > 1 for place in range(len(written)))
        if not twice or all(isinstance(argument, Column | Literal) for argument in arguments):
            return form.format(*written)
        names = [f"v.a{place}" for place in range(len(written))]
        columns = ", ".join(f"{sql} AS a{place}" for place, sql in enumerate(written))
        return f"(SELECT {form.format(*names)} FROM (SELECT {columns} OFFSET 0) AS v)"

    def _literal(self, literal: Literal) -> str:
        written = super()._literal(literal)
        if literal.kind is Kind.TEXT and literal.constant is not None:
            return f'({written}::text COLLATE "C")'
        return f"({written})" if literal.kind is Kind.INTEGER else written


def _rounded_limits(low: int, high: int) -> tuple[float, float]:
    """The least and the greatest double that round, to even, to a whole number from low to high."""
    if high >= 2**53:
        return float(low), math.nextafter(float(high), 0)
    least, most = low - 0.5, high + 0.5
    return (
        least if round(least) >= low else math.nextafter(least, 0),
        most if round(most) <= high else math.nextafter(most, 0),
    )
