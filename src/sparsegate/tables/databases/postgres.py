"""Tables in PostgreSQL, in its own SQL: their columns, the cells of items, people and values, and how text is folded.

**Columns.** What they are is told from the catalogue, and nothing from a cell. A domain is what it is made of. No
reading of a cell can fail: a numeric is read where its precision says that it fits, reals are the nearest doubles, and
what has no cell as an item (``tables.labels``), or lies after the last moment of the embedded engine, is null.
**People** are told apart by the equality of the column itself; of floats not-a-number is nobody.

**Folding.** A collation of the operating system, or of PostgreSQL's own, changes the case of text code point by code
point (one of ICU looks at what stands around). Each is asked what becomes of every code point of the first two planes:
no letter beyond them has a case. Where it leaves alone a few characters that the embedded engine folds, that is mended
(``Folding.corrections``); where it changes one otherwise, it is not taken. Nothing of this looks at the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.types import NullType

from sparsegate.conditions import MAX_CELL, Column, Kind, Schema, read_condition
from sparsegate.conditions.postgres_sql import MOST_TIMESTAMP, Folding, postgres_sql
from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.columns import check_columns, check_user, identifier, label_kind, near_names
from sparsegate.tables.databases.dialects import DialectRows, asked_columns, names_at, rows_of, written
from sparsegate.tables.engines.engine import DIGITS, SALT, ColumnType
from sparsegate.tables.labels import BINARY, BOOLEAN, DATE, FLOAT, INTEGER, STRING, TIME, UUID, decimals, moments
from sparsegate.tables.question import Question

_CUT: Final = '(left({}::text, {cut}) COLLATE "C")'
_UNCUT: Final = '({}::text COLLATE "C")'
_MOMENT: Final = f"(CASE WHEN {{0}} <= '{MOST_TIMESTAMP}' OR {{0}} = 'infinity' THEN {{0}} END)"
_READ_AS: Final[dict[str, tuple[Kind, str]]] = {
    **dict.fromkeys(("text", "varchar", "bpchar", "citext", "name", "uuid", "enum"), (Kind.TEXT, _CUT)),
    **dict.fromkeys(("int2", "int4", "int8", "oid"), (Kind.INTEGER, "{}::bigint")),
    # Adding 0 leaves one of the two zeros.
    **dict.fromkeys(("float4", "float8"), (Kind.REAL, "({}::float8 + 0)")),
    "whole numeric": (Kind.INTEGER, "nullif({}, 'NaN')"),
    "narrow numeric": (Kind.REAL, "{}::float8"),
    "bool": (Kind.BOOLEAN, "{}"),
    "date": (Kind.DATE, "{}"),
    "timestamp": (Kind.TIMESTAMP, _MOMENT.format("{0}")),
    "timestamptz": (Kind.TIMESTAMP, _MOMENT.format("({0} AT TIME ZONE 'UTC')")),
}
_PEOPLE: Final = {*_READ_AS, "numeric", "bytea"} - {"float4", "float8"}
_WHOLE_DIGITS, _MOST_DIGITS = 38, 300
_OTHERS: Final = {"v": "view", "f": "foreign table"}
_COMPUTED: Final = "computed when it is read"

_FIND: Final = text(
    """SELECT c.oid, n.nspname, c.relname, c.relkind::text AS sort
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'm', 'v', 'f')
    AND (n.nspname || '.' || c.relname = :name OR (c.relname = :name AND n.nspname = ANY (CAST(:path AS name[]))))
    ORDER BY c.relname = :name DESC, array_position(CAST(:path AS name[]), n.nspname) LIMIT 1"""
)
_NAMES: Final = text(
    """SELECT relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE relkind IN ('r', 'p', 'm') AND nspname = ANY (CAST(:path AS name[])) ORDER BY relname LIMIT 1000"""
)
_TYPE: Final = """CASE WHEN typtype = 'e' THEN 'enum'
        WHEN typnamespace = 'pg_catalog'::regnamespace OR typname = 'citext' THEN typname::text
        ELSE 'of a type of its own' END AS type
    FROM typed JOIN pg_type AS t ON t.oid = type WHERE typtype <> 'd'"""
_COLUMNS: Final = text(
    f"""WITH RECURSIVE typed AS (
        SELECT attnum, attname, atttypid AS type, atttypmod AS size, attgenerated::text AS made
        FROM pg_attribute WHERE attrelid = :oid AND attnum > 0 AND NOT attisdropped
        UNION ALL
        SELECT attnum, attname, typbasetype, typtypmod, made FROM typed JOIN pg_type AS t ON t.oid = type
        WHERE typtype = 'd')
    SELECT attname, size, made, {_TYPE} ORDER BY attnum"""
)
_COLUMN: Final = text(
    f"""WITH RECURSIVE typed AS (SELECT CAST(:oid AS oid) AS type UNION ALL
        SELECT typbasetype FROM typed JOIN pg_type AS t ON t.oid = type WHERE typtype = 'd')
    SELECT {_TYPE}"""
)


@dataclass(frozen=True, kw_only=True)
class DatabaseTable:
    """A table, or whatever else has rows, as the catalogue has it; and what of it may be asked about."""

    place: str
    """With its schema, in SQL."""
    types: Mapping[str, str]
    sizes: Mapping[str, int]
    schema: Schema = field(default_factory=lambda: Schema(()))
    cells: tuple[str, ...] = ()
    """How the cells of each column of ``schema`` are read, as SQL over the alias t."""

    def asked(self, columns: Sequence[str], max_cell: int | None, unreadable: tuple[str, ...] = ()) -> DatabaseTable:
        """The table with these columns to ask about; ``max_cell`` is None for whole cells."""
        kinds = tuple(Column(each, _READ_AS[self.types[each]][0]) for each in columns)
        schema = Schema(kinds, max_cell=MAX_CELL if max_cell is None else max_cell, unreadable=unreadable)
        cells = tuple(_cell(each, self.types[each], self.sizes[each], max_cell) for each in columns)
        return replace(self, schema=schema, cells=cells)

    def readable(self) -> list[str]:
        """The columns that conditions can speak of."""
        return [each for each, kind in self.types.items() if kind in _READ_AS]


def find_table(
    connection: sa.Connection, name: str, *, user: str | None, columns: Sequence[str] | None, max_cell: int
) -> DatabaseTable:
    """Look the table up in the catalogue, or raise a TableError that says what is wrong with what was asked for."""
    table = locate(connection, name, stored=True)
    check_columns(list(table.types), [*([] if user is None else [user]), *(columns or ())])
    if user is not None:
        check_user(column_type(table.types[user]), user)
    for each in columns or ():
        if (kind := table.types[each]) not in _READ_AS:
            step = "give it a precision, as numeric(20, 2)" if kind == "numeric" else "cast it"
            raise TableError(f"column {each!r} is {kind}, which cannot be asked about; {step}, in a materialized view")
    chosen = columns if columns is not None else [each for each in table.readable() if each != user]
    if not chosen:
        raise TableError("the table has no column to ask about: text, numbers, booleans, dates, timestamps")
    others = (each for each in table.types if columns is None and each not in (user, *chosen))
    return table.asked(chosen, max_cell, tuple(others))


def locate(connection: sa.Connection, name: str, *, stored: bool = False) -> DatabaseTable:
    """Look the name up, of what is ``stored`` or of all that has rows; from here on only PostgreSQL's own schema is."""
    path = connection.exec_driver_sql("SELECT pg_catalog.current_schemas(false)").scalar_one()
    # An operator in another schema may fit better than the one that is meant, and its function would run as this user.
    connection.exec_driver_sql("SET LOCAL search_path = pg_catalog")
    listed = connection.execute(_FIND, {"name": name, "path": path}).one_or_none()
    if listed is None:
        near = near_names(name, [str(each) for (each,) in connection.execute(_NAMES, {"path": path})])
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "check its name, and its schema"
        raise TableError(f"the database has no table {name!r} that this user sees; {hint}")
    if stored and listed.sort in _OTHERS:
        trouble = f"{name!r} is a {_OTHERS[listed.sort]}: how long it takes depends on more than its rows"
        raise TableError(f"{trouble}; make a copy of it, with CREATE MATERIALIZED VIEW")
    rows = connection.execute(_COLUMNS, {"oid": listed.oid}).all()
    return DatabaseTable(
        place=f"{identifier(str(listed.nspname))}.{identifier(str(listed.relname))}",
        types={str(row.attname): _COMPUTED if row.made == "v" else _named(row.type, row.size) for row in rows},
        sizes={str(row.attname): int(row.size) for row in rows},
    )


def type_of(connection: sa.Connection, column: str, rows: str) -> str:
    """The type of a column of a query, told without a row of it."""
    typed = written(f"SELECT pg_typeof((SELECT {identifier(column)} FROM {rows} LIMIT 0))::oid::bigint")
    return str(connection.execute(_COLUMN, {"oid": connection.execute(typed).scalar_one()}).scalar_one())


def _named(kind: str, size: int) -> str:
    if kind != "numeric" or size < 4:
        return kind
    digits, scale = (size - 4) >> 16, (size - 4) & 0x7FF
    if scale == 0 and digits <= _WHOLE_DIGITS:
        return "whole numeric"
    return "narrow numeric" if scale <= digits <= _MOST_DIGITS else kind


def _cell(name: str, kind: str, size: int, max_cell: int | None) -> str:
    # varchar(n) and char(n) keep their n, with 4 added to it.
    short = kind in ("varchar", "bpchar") and max_cell is not None and 4 < size <= max_cell + 4
    short |= max_cell is None and _READ_AS[kind][1] == _CUT
    return (_UNCUT if short else _READ_AS[kind][1]).format(f"t.{identifier(name)}", cut=max_cell)


Cases = dict[str, dict[str, str]]

CANDIDATES: Final = ("pg_c_utf8", "C.utf8", "C.UTF-8", "en_US.utf8", "en_US.UTF-8")
MOST_MENDED: Final = 16  # each costs a look at every character of every cell
_POINTS: Final = "BETWEEN 1 AND 131071 AND i NOT BETWEEN 55296 AND 57343"


def agreeing_folding(connection: sa.Connection) -> Folding | None:
    """The first candidate that folds as the embedded engine does, if there is one."""
    import duckdb

    with duckdb.connect() as engine:
        points = f"SELECT i::INT AS i FROM range(131072) AS t(i) WHERE i {_POINTS}"
        engine.execute(f"CREATE TABLE points AS SELECT chr(i) AS x FROM ({points})")
        wanted = _cases(engine.execute("SELECT x, lower(x), upper(x) FROM points").fetchall())
    names = ", ".join(f"'{name}'" for name in CANDIDATES)
    rows = connection.exec_driver_sql(
        f"""SELECT collname::text FROM pg_collation WHERE collname IN ({names}) AND collprovider IN ('c', 'b')
        AND collencoding IN (-1, 6) AND collnamespace = 'pg_catalog'::regnamespace"""
    )
    known = {str(name) for (name,) in rows}
    foldings = (mended(name, _asked(connection, name), wanted) for name in CANDIDATES if name in known)
    return next((folding for folding in foldings if folding is not None), None)


def mended(collation: str, own: Cases, wanted: Cases) -> Folding | None:
    """The collation with its corrections, or None where there are none that would do.

    >>> mended("C.utf8", {"upper": {"a": "A"}}, {"upper": {"a": "A", "ß": "ẞ"}})
    Folding(collation='C.utf8', corrections={'upper': ('ß', 'ẞ')})
    >>> mended("tr_TR", {"upper": {"i": "İ"}}, {"upper": {"i": "I"}}) is None
    True
    """
    corrections = {}
    for function, cases in wanted.items():
        folds = own[function]
        wrong = {mark for mark in cases.keys() | folds.keys() if cases.get(mark) != folds.get(mark)}
        if len(wrong) > MOST_MENDED or any(mark in folds or cases[mark] in folds for mark in wrong):
            return None
        if wrong:
            old = "".join(sorted(wrong))
            corrections[function] = (old, "".join(cases[mark] for mark in old))
    return Folding(collation=collation, corrections=corrections)


def _asked(connection: sa.Connection, collation: str) -> Cases:
    name = identifier(collation)
    fold = ", ".join(f'{each}(x COLLATE {name}) COLLATE "C" AS {each}' for each in ("lower", "upper"))
    rows = connection.exec_driver_sql(
        f"""SELECT x, lower, upper FROM (SELECT x, {fold} FROM (
            SELECT chr(i) COLLATE "C" AS x FROM generate_series(1, 131071) AS i WHERE i {_POINTS} OFFSET 0) AS points
        OFFSET 0) AS folded WHERE lower <> x OR upper <> x"""
    )
    return _cases(rows.all())


def _cases(rows: Sequence[Any]) -> Cases:
    """Of rows (character, lower, upper) what becomes of the characters that change."""
    folded = ((1, "lower"), (2, "upper"))
    return {function: {row[0]: row[at] for row in rows if row[at] != row[0]} for at, function in folded}


_NUMBERS: Final = ("float4", "float8", "int2", "int4", "int8", "whole numeric", "narrow numeric")
"""What is a double, or near one; a numeric without a precision may lie beyond all of them."""
# Adding 0 leaves one of the two zeros.
_BITS: Final = "(CASE WHEN {0} <> 'NaN' THEN ('x' || encode(float8send({0}::float8 + 0), 'hex'))::bit(64)::bigint END)"
_HELD: Final = "{0} >= '0001-01-01' AND {0} < '10000-01-01'"  # what Python has dates for; the transaction is in UTC
_MICROSECONDS: Final = "(extract(epoch FROM {0}) * 1000000)::bigint"
_TEXT: Final = '({0}::text COLLATE "C")'
_LABELS: Final = {
    "text": (STRING, '({0} COLLATE "C")'),
    **dict.fromkeys(("varchar", "bpchar", "citext", "name", "enum"), (STRING, _TEXT)),
    **dict.fromkeys(("int2", "int4", "int8", "oid"), (INTEGER, "{0}::bigint")),
    "whole numeric": (INTEGER, f"(CASE WHEN {{0}} BETWEEN {-(2**63)} AND {2**63 - 1} THEN {{0}}::bigint END)"),
    **dict.fromkeys(("float4", "float8"), (FLOAT, _BITS)),
    "bool": (BOOLEAN, "{0}::int::bigint"),
    "uuid": (UUID, _TEXT),
    "bytea": (BINARY, "(encode({0}, 'hex') COLLATE \"C\")"),
    "date": (DATE, f"(CASE WHEN {_HELD} THEN ({{0}} - DATE '1970-01-01')::bigint END)"),
    "time": (TIME, "(CASE WHEN {0} < '24:00' THEN (extract(epoch FROM {0}) * 1000000000)::bigint END)"),
    "timestamp": (moments("us", zoned=False), f"(CASE WHEN {_HELD} THEN {_MICROSECONDS} END)"),
    "timestamptz": (moments("us", zoned=True), f"(CASE WHEN {_HELD} THEN {_MICROSECONDS} END)"),
}


def column_type(name: str, size: int = 0) -> ColumnType:
    """What a type of PostgreSQL's says; ``size`` is the ``atttypmod`` of a column."""
    kind, cell = _LABELS.get(name, (None, "{0}"))
    if name == "narrow numeric":
        kind, cell = decimals((size - 4) & 0x7FF), "(nullif({0}, 'NaN')::text COLLATE \"C\")"
    return ColumnType(name=name, kind=kind, cell=cell, person=name in _PEOPLE, numeric=name in _NUMBERS)


def postgres_rows(connection: sa.Connection, question: Question, table: str | None, sql: str | None) -> DialectRows:
    """The rows of a table or of a query, over the alias t."""
    condition, asked = "", asked_columns(question)
    if table is not None:
        located = locate(connection, table)
        check_columns(list(located.types), asked)
        place = f"{located.place} AS t"
        types = {name: column_type(located.types[name], located.sizes[name]) for name in asked}
        if question.where is not None:
            readable = located.readable()
            located = located.asked(readable, None)
            tree, read = read_condition(question.where, located.schema), dict(zip(readable, located.cells, strict=True))
            condition = postgres_sql(tree, read, cache(lambda: agreeing_folding(connection)))
    else:
        if question.where is not None:
            raise ParameterError("where", "must not be given with sql", question.where, "put it into the query")
        place = f"({sql}\n) AS t"
        check_columns(names_at(connection, place), asked)
        types = {name: column_type(type_of(connection, name, place)) for name in asked}
    cells = {name: f"t.{identifier(name)}" for name in asked}
    item, group_kind = types[question.item], STRING
    kind = label_kind(item, question.item)
    columns = {"item": item.cell.format(cells[question.item])}
    if (user := question.user) is not None:
        if types[user].kind is FLOAT:
            columns["person"] = f"nullif({cells[user]}, 'NaN')"
        else:
            check_user(types[user], user)
            columns["person"] = cells[user]
    if (per := question.per) is not None:
        group_kind = label_kind(types[per], per, "groups")
        columns["part"] = types[per].cell.format(cells[per])
    if (value := question.value) is not None:
        if not types[value].numeric:
            rule = f"the values in column {value!r} must be numbers"
            raise TableError(f"{rule}, not {types[value].name}; cast the column")
        columns["value"] = f"nullif({cells[value]}::float8, 'NaN')"
    rows = rows_of(place, columns, condition)
    return DialectRows(kind=kind, rows=rows, candidates=_candidates, digest=_digest, group_kind=group_kind)


def _candidates(labels: Sequence[Any]) -> sa.TextualSelect:
    # Sent as one text, and as a parameter: the driver writes a list word by word, and the planner knows the length of
    # an array that it is given.
    numbers = isinstance(labels[0], int)
    array = ",".join(map(str if numbers else _quoted, labels))
    form = "unnest(CAST(:labels AS bigint[]))" if numbers else 'unnest(CAST(:labels AS text[])) COLLATE "C"'
    listed = text(f"SELECT {form} AS item").bindparams(sa.bindparam("labels", f"{{{array}}}", type_=NullType()))
    return listed.columns(sa.column("item", sa.BigInteger() if numbers else sa.Text()))


def _digest(*columns: str) -> sa.ColumnElement[int]:
    joined = " || ':' || ".join(f"{column}::text" for column in columns)
    hashed = f"encode(sha256(convert_to('{SALT}' || {joined}, 'UTF8')), 'hex')"
    return sa.literal_column(f"('x' || substr({hashed}, 1, {DIGITS}))::bit({4 * DIGITS})::bigint", sa.BigInteger())


def _quoted(label: str) -> str:
    """A label as an array of PostgreSQL's has it."""
    escaped = label.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
