"""A condition over one row, read into SQL that cannot fail.

The guarantee that counting needs is that whether a row matches is a function of that row alone. An expression that can
fail breaks it: an engine may evaluate the parts of a condition in any order, or leave some out, and it decides that
from statistics over everybody's rows. ``CAST(age AS TINYINT) > 3 OR age > 5`` fails on the age 200 or does not,
depending on whether somebody else's age makes the second part worth asking.

So the condition is parsed, and written again out of parts that have a value, perhaps null, for every row:

* a column is read as text, BIGINT, HUGEINT, DOUBLE, BOOLEAN, DATE or TIMESTAMP, and other types are refused;
* CAST is TRY_CAST: a cell that does not convert is null. No conversion is left to the engine: both sides of a
  comparison are brought to one type here, by TRY_CAST;
* arithmetic is that of floating point, which has infinities where integers overflow;
* of functions only those below are known, each total in its first argument, and its others are constants that are tried
  before there is data;
* a literal that does not convert is refused when the condition is read, whether or not a row would have come to it.

Comparisons, AND, OR, NOT, CASE and COALESCE of such parts are again such parts. An expression without failures means
the same in every order of evaluation, so each rewriting of an optimizer that is correct leaves each row's value alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sparsegate.tables import parsing
from sparsegate.tables.columns import near_names
from sparsegate.tables.parsing import Refusal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TEXT, BOOLEAN, DOUBLE, NULL = "VARCHAR", "BOOLEAN", "DOUBLE", "NULL"
_NUMBERS: Final = ("BIGINT", "HUGEINT", DOUBLE)  # by rising range
_MOMENTS: Final = ("DATE", "TIMESTAMP")

_READ_AS: Final = {
    **dict.fromkeys(("varchar", "enum", "uuid"), TEXT),
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger"), "BIGINT"),
    **dict.fromkeys(("ubigint", "hugeint"), "HUGEINT"),
    **dict.fromkeys(("float", "double", "decimal", "uhugeint"), DOUBLE),
    **dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), "TIMESTAMP"),
    "timestamp with time zone": "TIMESTAMP",
    "boolean": BOOLEAN,
    "date": "DATE",
}

_COMPARISONS: Final = {
    "EQUAL": "=",
    "NOTEQUAL": "<>",
    "LESSTHAN": "<",
    "GREATERTHAN": ">",
    "LESSTHANOREQUALTO": "<=",
    "GREATERTHANOREQUALTO": ">=",
    "DISTINCT_FROM": "IS DISTINCT FROM",
    "NOT_DISTINCT_FROM": "IS NOT DISTINCT FROM",
}
_PATTERNS: Final = {"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE"}
_TESTS: Final = ("starts_with", "prefix", "suffix", "ends_with", "contains", "regexp_matches", "regexp_full_match")
_TEXTS: Final = {**dict.fromkeys(("lower", "upper", "trim", "ltrim", "rtrim"), TEXT), "length": "BIGINT"}
_PARTS: Final = ("year", "quarter", "month", "week", "day", "dow", "isodow", "doy", "hour", "minute", "second")
_ARITHMETIC: Final = ("+", "-", "*", "/")


@dataclass(frozen=True, kw_only=True)
class Term:
    """A part of a condition that has a value for every row: its SQL, the type of the value, and what it is made of."""

    sql: str
    kind: str
    constant: bool = False
    literal: bool = False
    """A quoted literal, which takes the type of what it is compared with."""


class Reader:
    """Reads conditions over the given columns; ``blank`` is an engine without data, in which constants are tried."""

    def __init__(self, blank: DuckDBPyConnection, columns: Mapping[str, Any]) -> None:
        self._blank = blank
        self._columns = columns
        self._folded = {name.lower(): name for name in columns}

    def read(self, where: str) -> str:
        """The condition as SQL that cannot fail on a row. Raises ``Refusal``, or the engine's error for a constant."""
        try:
            return self._truth(parsing.parse_expression(self._blank, where))
        except RecursionError:
            raise Refusal("it is nested too deeply") from None
        except KeyError:  # another version of the engine may write what it parsed in another form
            raise Refusal("it is not of a form that is known here") from None

    def _term(self, node: Mapping[str, Any]) -> Term:
        known = {
            "COLUMN_REF": self._column,
            "CONSTANT": self._constant,
            "COMPARISON": self._comparison,
            "BETWEEN": self._between,
            "CONJUNCTION": self._conjunction,
            "OPERATOR": self._operator,
            "CASE": self._case,
            "CAST": self._cast,
            "FUNCTION": self._function,
        }
        kind = node["class"]
        if kind not in known:
            raise Refusal(f"a {kind.lower()} is not allowed: a row must match by itself")
        return known[kind](node)

    def _truth(self, node: Mapping[str, Any]) -> str:
        term = self._term(node)
        if term.kind not in (BOOLEAN, NULL):
            raise Refusal("it is not true or false for a row")
        return self._fit(term, BOOLEAN)

    def _column(self, node: Mapping[str, Any]) -> Term:
        asked = node["column_names"][-1]
        name = asked if asked in self._columns else self._folded.get(asked.lower())
        if name is None or len(node["column_names"]) > 1:
            near = near_names(asked, list(self._columns))
            raise Refusal(f"there is no column {asked!r}" + (f"; near it: {', '.join(near)}" if near else ""))
        return self._readable('"' + name.replace('"', '""') + '"', self._columns[name])

    def _readable(self, sql: str, dtype: Any, *, constant: bool = False) -> Term:
        """A value of one of the engine's types as one of the few types known here."""
        kind = _READ_AS.get(str(dtype.id))
        if kind is None:
            raise Refusal(f"{dtype.id} values cannot be asked about; convert them with --sql")
        if str(dtype.id) == "timestamp with time zone":  # a cast would take the time zone of this machine
            sql = f"TRY(make_timestamp(epoch_us({sql})))"
        elif kind == TEXT:
            sql = f'(TRY_CAST({sql} AS VARCHAR) COLLATE "binary")'
        else:
            sql = f"TRY_CAST({sql} AS {kind})"
        return Term(sql=sql, kind=kind, constant=constant)

    def _constant(self, node: Mapping[str, Any]) -> Term:
        kind, text = parsing.literal(node)
        if kind == parsing.STRING:
            return Term(sql=_quoted(text), kind=TEXT, constant=True, literal=True)
        if kind in (parsing.BOOLEAN, parsing.NULL):
            return Term(sql=text or "NULL", kind=BOOLEAN if text else NULL, constant=True)
        if kind not in (parsing.INTEGER, parsing.NUMERIC):
            raise Refusal("it holds a literal that is no number, text, true, false or NULL")
        number = text.replace("_", "")
        if kind == parsing.INTEGER and re.fullmatch(r"-?\d+", number):
            for whole, bits in (("BIGINT", 63), ("HUGEINT", 127)):
                if -(2**bits) < int(number) < 2**bits:
                    return Term(sql=f"CAST({number} AS {whole})", kind=whole, constant=True)
        return self._tried(Term(sql=f"CAST({_quoted(number)} AS DOUBLE)", kind=DOUBLE, constant=True))

    def _comparison(self, node: Mapping[str, Any]) -> Term:
        left, right = self._alike([node["left"], node["right"]])[0]
        sign = _COMPARISONS[node["type"].removeprefix("COMPARE_")]
        return Term(sql=f"({left} {sign} {right})", kind=BOOLEAN)

    def _between(self, node: Mapping[str, Any]) -> Term:
        value, lower, upper = self._alike([node["input"], node["lower"], node["upper"]])[0]
        return Term(sql=f"({value} BETWEEN {lower} AND {upper})", kind=BOOLEAN)

    def _conjunction(self, node: Mapping[str, Any]) -> Term:
        word = node["type"].removeprefix("CONJUNCTION_")
        return Term(sql=f"({f' {word} '.join(map(self._truth, node['children']))})", kind=BOOLEAN)

    def _operator(self, node: Mapping[str, Any]) -> Term:
        children = node["children"]
        match node["type"]:
            case "OPERATOR_NOT":
                return Term(sql=f"(NOT {self._truth(children[0])})", kind=BOOLEAN)
            case "OPERATOR_IS_NULL" | "OPERATOR_IS_NOT_NULL" as test:
                words = test.removeprefix("OPERATOR_").replace("_", " ")
                return Term(sql=f"({self._term(children[0]).sql} {words})", kind=BOOLEAN)
            case "COMPARE_IN" | "COMPARE_NOT_IN" as test:
                value, *among = self._alike(children)[0]
                words = test.removeprefix("COMPARE_").replace("_", " ")
                return Term(sql=f"({value} {words} ({', '.join(among)}))", kind=BOOLEAN)
            case "OPERATOR_COALESCE":
                values, kind = self._alike(children)
                return Term(sql=f"coalesce({', '.join(values)})", kind=kind)
        raise Refusal("it holds an operator that is not known here")

    def _case(self, node: Mapping[str, Any]) -> Term:
        checks = node["case_checks"]
        values, kind = self._alike([*(check["then_expr"] for check in checks), node["else_expr"]])
        tests = [self._truth(check["when_expr"]) for check in checks]
        branches = " ".join(f"WHEN {test} THEN {value}" for test, value in zip(tests, values, strict=False))
        return Term(sql=f"(CASE {branches} ELSE {values[-1]} END)", kind=kind)

    def _cast(self, node: Mapping[str, Any]) -> Term:
        term, named = self._term(node["child"]), parsing.target(node)
        (dtype,) = self._blank.sql(f"SELECT CAST(NULL AS {named})").types
        if term.constant and not node.get("try_cast"):
            self._tried(Term(sql=f"CAST({term.sql} AS {named})", kind=TEXT))
        return self._readable(f"TRY_CAST({term.sql} AS {named})", dtype, constant=term.constant)

    def _function(self, node: Mapping[str, Any]) -> Term:
        name = node["function_name"].lower()
        if node.get("distinct") or node.get("filter"):
            raise Refusal("an aggregate is not allowed: a row must match by itself")
        given = [self._term(argument) for argument in parsing.arguments(node)]
        if len(given) == 2 and name in (*_PATTERNS, *_TESTS) and _is_text(given[0]) and given[1].literal:
            pattern = given[1].sql
            shape = f"({{}} {_PATTERNS[name]} {pattern})" if name in _PATTERNS else f"{name}({{}}, {pattern})"
            self._tried(Term(sql=shape.replace("{}", "''", 1), kind=BOOLEAN))
            return Term(sql=shape.replace("{}", given[0].sql, 1), kind=BOOLEAN)
        if len(given) == 1 and name in _TEXTS and _is_text(given[0]):
            return Term(sql=f"{name}({given[0].sql})", kind=_TEXTS[name])
        if len(given) == 1 and name in _PARTS and given[0].kind in _MOMENTS:
            return Term(sql=f"date_part('{name}', {given[0].sql})", kind="BIGINT")
        if len(given) == 2 and name == "date_part" and given[1].kind in _MOMENTS:
            part = given[0].sql.strip("'").lower()
            if given[0].literal and part in _PARTS:
                return Term(sql=f"date_part('{part}', {given[1].sql})", kind="BIGINT")
        if name in _ARITHMETIC and len(given) in (1, 2) and all(term.kind in (*_NUMBERS, NULL) for term in given):
            numbers = [self._fit(term, DOUBLE) for term in given]
            return Term(sql=f"({f' {name} '.join(numbers if len(numbers) == 2 else ['', *numbers])})", kind=DOUBLE)
        raise Refusal(f"{name} is not known here for such values; compute what it needs with --sql")

    def _alike(self, nodes: Sequence[Mapping[str, Any]]) -> tuple[list[str], str]:
        """The parts brought to one type, and that type."""
        terms = [self._term(node) for node in nodes]
        kinds = {term.kind for term in terms if not term.literal} - {NULL} or {TEXT}
        kind = next(iter(kinds))
        if len(kinds) > 1:
            family = next((family for family in (_NUMBERS, _MOMENTS) if kinds <= set(family)), None)
            if family is None:
                raise Refusal(
                    f"it compares {' with '.join(sorted(kinds))}, which needs an explicit cast (columns of CSV, JSON, "
                    "FIMI and SQLite sources are text: write CAST(age AS INTEGER) > 30)"
                )
            kind = max(kinds, key=family.index)
        return [self._fit(term, kind) for term in terms], kind

    def _fit(self, term: Term, kind: str) -> str:
        if term.kind == kind:
            return term.sql
        if term.literal:
            return self._tried(Term(sql=f"CAST({term.sql} AS {kind})", kind=kind)).sql
        return f"TRY_CAST({term.sql} AS {kind})"

    def _tried(self, term: Term) -> Term:
        self._blank.execute(f"SELECT {term.sql}").fetchall()
        return term


def _is_text(term: Term) -> bool:
    return term.kind in (TEXT, NULL)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
