"""Copying the table that is served: which columns, as what types, and the people as numbers.

Everything here is told from the schema of the table, which is public, and from what the owner asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sparsegate.errors import TableError
from sparsegate.service.predicates import Column, Kind, PublicSchema
from sparsegate.tables.columns import check_columns
from sparsegate.tables.workspace import Workspace, identifier

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

SERVED: Final = "compressed.main.served"
MOST_BITS: Final = 1 << 26
"""Up to so many people a set of them is kept as bits, 8 MB at most; a hash table would take five times as long."""

_NARROW: Final = ("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger")
_CASTS: Final[dict[str, tuple[Kind, str]]] = {
    # A cast would keep a collation, and then 'A' and 'a' might be equal.
    **dict.fromkeys(("varchar", "enum"), (Kind.TEXT, 'CAST({} AS VARCHAR) COLLATE "C"')),
    **dict.fromkeys(_NARROW, (Kind.INTEGER, "CAST({} AS BIGINT)")),
    **dict.fromkeys(("ubigint", "hugeint"), (Kind.INTEGER, "CAST({} AS HUGEINT)")),
    **dict.fromkeys(("float", "double"), (Kind.REAL, "CAST({} AS DOUBLE)")),
    **dict.fromkeys(
        ("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), (Kind.TIMESTAMP, "TRY_CAST({} AS TIMESTAMP)")
    ),
    # A cast would take the time zone of the machine.
    "timestamp with time zone": (Kind.TIMESTAMP, "TRY(make_timestamp(epoch_us({})))"),
    "boolean": (Kind.BOOLEAN, "CAST({} AS BOOLEAN)"),
    "date": (Kind.DATE, "CAST({} AS DATE)"),
}
"""By the engine's type: the kind, and how a cell is copied. No cast here can fail on a cell."""

# Two floats that are told apart may be one person, and not-a-number is nobody.
_PEOPLE: Final = {*_CASTS, "uhugeint", "uuid", "decimal", "blob"} - {"float", "double"}


@dataclass(frozen=True, kw_only=True)
class Copy:
    """What was copied into ``SERVED``."""

    schema: PublicSchema
    unit: str
    """ "user" or "row"."""
    counted: str
    """The aggregate that counts people, or rows, among the rows of a query."""
    shown: str
    """The columns for a query that shows the declared columns and the people."""


class CopyEngine(Workspace):
    """The engine of a dataset: the copy is made in it, and then it is closed to all files and settings."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def cursor(self) -> DuckDBPyConnection:
        """A connection to the same copy for one thread."""
        with self._lock:
            return self._connection.cursor()

    def copy(
        self,
        files: Sequence[str],
        *,
        user: str | None,
        table: str | None,
        sql: str | None,
        columns: Sequence[str] | None,
    ) -> Copy:
        """Read the files once, and copy the declared columns of every row that has a person."""
        # Of JSON the columns are those named: keys that were read off the records would hang on who is in them.
        asked = None if columns is None else [*columns, *([] if user is None else [user])]
        opened = self.open(files, table=table, sql=sql, columns=asked)
        # Compressed, a text that repeats is compared once, and a fraction of the memory is enough.
        self._connection.execute("ATTACH ':memory:' AS compressed (COMPRESS)")
        types = {name: str(kind.id) for name, kind in zip(opened.columns, opened.types, strict=True)}
        schema = _declared(types, user, columns)
        names = [column.name for column in schema.columns]
        chosen = [f"{_CASTS[types[name]][1].format(identifier(name))} AS {identifier(name)}" for name in names]
        if user is None:
            opened.query("opened", f"CREATE TABLE {SERVED} AS SELECT {', '.join(chosen)} FROM opened")
            copied = Copy(schema=schema, unit="row", counted="count(*)", shown=", ".join(map(identifier, names)))
        else:
            copied = self._number_people(opened, user, chosen, schema)
        self._connection.execute("CHECKPOINT compressed")
        if self.kind == "DuckDB":
            self._connection.execute("USE memory")
            self._connection.execute("DETACH source")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")
        return copied

    def _number_people(self, opened: DuckDBPyRelation, user: str, chosen: list[str], schema: PublicSchema) -> Copy:
        """Copy the rows with a number 0, 1, 2, ... for each person: numbers are counted faster than names."""
        names = [column.name for column in schema.columns]
        code = "person"
        while code in {name.casefold() for name in names}:
            code += "_"
        person, staged, people = identifier(user), "memory.main.staged", "memory.main.people"
        columns = ", ".join([*chosen, f"{person} AS {code}"])
        opened.query("opened", f"CREATE TABLE {staged} AS SELECT {columns} FROM opened WHERE {person} IS NOT NULL")
        cursor = self.cursor()
        cursor.execute(
            f"""CREATE TABLE {people} AS SELECT {code} AS label, row_number() OVER () - 1 AS number
            FROM (SELECT DISTINCT {code} FROM {staged})"""
        )
        kept = ", ".join(f"{staged}.{identifier(name)}" for name in names)
        cursor.execute(
            f"""CREATE TABLE {SERVED} AS SELECT {kept}, {people}.number AS {code}
            FROM {staged} JOIN {people} ON {staged}.{code} = {people}.label"""
        )
        ((counted,),) = cursor.execute(f"SELECT count(*) FROM {people}").fetchall()
        cursor.execute(f"DROP TABLE {staged}")
        cursor.execute(f"DROP TABLE {people}")
        in_bits = f"coalesce(bit_count(bitstring_agg({code}, 0, {max(counted - 1, 0)})), 0)"
        shown = [*map(identifier, names), *([] if user in names else [f"{code} AS {person}"])]
        return Copy(
            schema=schema,
            unit="user",
            counted=in_bits if counted <= MOST_BITS else f"count(DISTINCT {code})",
            shown=", ".join(shown),
        )


def _declared(types: dict[str, str], user: str | None, columns: Sequence[str] | None) -> PublicSchema:
    """The columns that may be asked about, told from the schema of the table alone."""
    check_columns(list(types), [*([] if user is None else [user]), *(columns or ())])
    if user is not None and types[user] not in _PEOPLE:
        raise TableError(
            f"the users in column {user!r} must be of a type that tells people apart exactly, such as whole numbers or "
            f"strings, not {types[user]}; cast the column first, with --sql"
        )
    for name in columns or ():
        if types[name] not in _CASTS:
            raise TableError(f"column {name!r} is {types[name]}, which cannot be asked about; cast it, with --sql")
    chosen = columns if columns is not None else [name for name in types if types[name] in _CASTS and name != user]
    if not chosen:
        raise TableError("the table has no column to ask about: text, integers, floats, booleans, dates, timestamps")
    return PublicSchema(tuple(Column(name, _CASTS[types[name]][0]) for name in chosen))
