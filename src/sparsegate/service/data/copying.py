"""Copying the table that is served: which columns, as what types, cut to a public length, the people as numbers.

What is copied, and how, is told from the schema of the table, which is public, and from what the owner asked for. The
rows are sorted by person. Every column is kept twice: in the table ``SERVED``, row by row, and as *values and codes*:
a table of its different values, and for each row the place of its value there, as an array. See ``constant_work``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sparsegate.conditions import Column, Kind, Schema
from sparsegate.errors import TableError
from sparsegate.service.data.constant_work import Coded, Copy, public_size
from sparsegate.tables.columns import check_columns, identifier
from sparsegate.tables.workspace import Workspace

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

SERVED: Final = "memory.main.served"

_NARROW: Final = ("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger")
_CASTS: Final[dict[str, tuple[Kind, str]]] = {
    # A cast would keep a collation, and then 'A' and 'a' might be equal.
    **dict.fromkeys(("varchar", "enum"), (Kind.TEXT, 'left(CAST({} AS VARCHAR), {max_cell}) COLLATE "C"')),
    **dict.fromkeys(_NARROW, (Kind.INTEGER, "CAST({} AS BIGINT)")),
    **dict.fromkeys(("ubigint", "hugeint"), (Kind.INTEGER, "CAST({} AS HUGEINT)")),
    # Two zeros that are equal and print differently must not stand for one another: adding 0 leaves one of them.
    **dict.fromkeys(("float", "double"), (Kind.REAL, "CAST({} AS DOUBLE) + 0")),
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
class _Names:
    """Names of our own columns, which no declared column has."""

    person: str
    place: str

    @classmethod
    def beside(cls, names: Sequence[str]) -> _Names:
        taken = {name.casefold() for name in names}
        fresh = {}
        for name in ("person", "place"):
            fresh[name] = name
            while fresh[name] in taken:
                fresh[name] += "_"
        return cls(**fresh)


class CopyEngine(Workspace):
    """The engine of a dataset: the copy is made in it, and then it is closed to all files and settings."""

    def copy(
        self,
        files: Sequence[str],
        *,
        user: str | None,
        table: str | None,
        sql: str | None,
        columns: Sequence[str] | None,
        max_cell: int,
    ) -> Copy:
        """Read the files once, and copy the declared columns of every row that has a person."""
        # Of JSON the columns are those named: keys that were read off the records would depend on who is in them.
        asked = None if columns is None else [*columns, *([] if user is None else [user])]
        opened = self.open(files, table=table, sql=sql, columns=asked, user=user)
        self._connection.execute("SET preserve_insertion_order = true")
        types = {name: str(kind.id) for name, kind in zip(opened.columns, opened.types, strict=True)}
        if self.people != user:
            types.pop(self.people or "")  # keys beside the users are nothing to ask about
        schema = _declared(types, user, columns, max_cell)
        names = [column.name for column in schema.columns]
        own = _Names.beside(names)
        self._stage(opened, user, [(name, _CASTS[types[name]][1]) for name in names], own, max_cell)
        place, person = own.place, own.person
        owners = self._array(f"SELECT {person if user else place} AS found FROM {SERVED} ORDER BY {place}")
        rows = public_size(len(owners) + 1)
        copied = Copy(
            schema=schema,
            unit="row" if user is None else "user",
            rows=rows,
            filled=len(owners),
            ends=None if user is None else _ends(owners, rows),
            coded={name: self._coded(number, name, place, rows) for number, name in enumerate(names)},
            shown=", ".join([*map(identifier, names), *_shown_person(user, names, person)]) + f" FROM {SERVED} "
            f"WHERE {place} IS NOT NULL",
        )
        self._connection.execute(f"INSERT INTO {SERVED} ({place}) SELECT NULL FROM range({rows - copied.filled})")
        if self.kind == "DuckDB":
            self._connection.execute("USE memory")
            self._connection.execute("DETACH source")
        self._connection.execute("SET enable_external_access = false")
        return copied

    def close_settings(self, connections: int) -> list[DuckDBPyConnection]:
        """Connections that work out all that they are asked, and no way to make another of them or to change one."""
        made = [self._connection.cursor() for _ in range(connections)]
        for connection in made:
            connection.execute("PRAGMA disable_optimizer")
        self._connection.execute("SET lock_configuration = true")
        return made

    def cursor(self) -> DuckDBPyConnection:
        """A connection to the same copy for one thread."""
        return self._connection.cursor()

    def _stage(
        self,
        opened: DuckDBPyRelation,
        user: str | None,
        chosen: Sequence[tuple[str, str]],
        own: _Names,
        max_cell: int,
    ) -> None:
        """``SERVED``: the declared columns, the number of the person, and the place of the row, in this order."""
        cells = [f"{cast.format(identifier(name), max_cell=max_cell)} AS {identifier(name)}" for name, cast in chosen]
        place, code = own.place, own.person
        if user is None:
            cells.append(f"row_number() OVER () - 1 AS {place}")
            opened.query("opened", f"CREATE TABLE {SERVED} AS SELECT {', '.join(cells)} FROM opened ORDER BY {place}")
            return
        person, staged, people = identifier(self.people or user), "memory.main.staged", "memory.main.people"
        columns = ", ".join([*cells, f"{person} AS {code}"])
        opened.query("opened", f"CREATE TABLE {staged} AS SELECT {columns} FROM opened WHERE {person} IS NOT NULL")
        execute = self._connection.execute
        execute(
            f"""CREATE TABLE {people} AS SELECT {code} AS label, row_number() OVER () - 1 AS number
            FROM (SELECT DISTINCT {code} FROM {staged})"""
        )
        kept = ", ".join(f"{staged}.{identifier(name)}" for name, _ in chosen)
        number = f"{people}.number"
        execute(
            f"""CREATE TABLE {SERVED} AS
            SELECT {kept}, {number} AS {code}, row_number() OVER (ORDER BY {number}) - 1 AS {place}
            FROM {staged} JOIN {people} ON {staged}.{code} = {people}.label ORDER BY {place}"""
        )
        execute(f"DROP TABLE {staged}")
        execute(f"DROP TABLE {people}")

    def _coded(self, number: int, name: str, place: str, rows: int) -> Coded:
        """The different values of a column in a table, filled up with nulls to a public size; and the codes."""
        import numpy as np

        column, values, execute = identifier(name), f"memory.main.values_{number}", self._connection.execute
        execute(
            f"""CREATE TABLE {values} AS SELECT {column}, row_number() OVER () - 1 AS {place}
            FROM (SELECT DISTINCT {column} FROM {SERVED}) ORDER BY {place}"""
        )
        found = self._array(
            f"""SELECT known.{place} AS found FROM {SERVED} AS served JOIN {values} AS known
            ON served.{column} IS NOT DISTINCT FROM known.{column} ORDER BY served.{place}"""
        )
        codes = np.zeros(rows, np.int32)
        codes[: len(found)] = found
        ((count,),) = execute(f"SELECT count(*) FROM {values}").fetchall()
        size = public_size(count)
        execute(f"INSERT INTO {values} ({place}) SELECT NULL FROM range({size - count})")
        return Coded(table=values, size=size, codes=codes)

    def _array(self, sql: str) -> npt.NDArray[np.int64]:
        found: npt.NDArray[np.int64] = self._connection.execute(sql).fetchnumpy()["found"]
        return found


def _ends(owners: npt.NDArray[np.int64], rows: int) -> npt.NDArray[np.int64]:
    """The last row of each person; filled up to a public size with people who have none."""
    import numpy as np

    last = np.flatnonzero(np.diff(owners, append=-1))
    ends = np.full(public_size(len(last)), rows - 1, np.int64)
    ends[: len(last)] = last
    return ends


def _shown_person(user: str | None, names: Sequence[str], person: str) -> list[str]:
    return [] if user is None or user in names else [f"{person} AS {identifier(user)}"]


def _declared(types: Mapping[str, str], user: str | None, columns: Sequence[str] | None, max_cell: int) -> Schema:
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
    return Schema(tuple(Column(name, _CASTS[types[name]][0]) for name in chosen), max_cell=max_cell)
