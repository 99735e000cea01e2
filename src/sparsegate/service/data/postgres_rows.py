"""The rows of a table in PostgreSQL, read at one moment, for a copy in the embedded engine.

**One moment.** One transaction, REPEATABLE READ and READ ONLY, sees the table as it is when the transaction begins:
what is written meanwhile is in no row of the copy. Two statements run in it. The first is the *fingerprint*: the sum,
over all rows, of a SHA-256 of what is read of the row. The same rows in any order have the same one. The second gives
the rows, as lines of a private file.

**Lines.** No cell can end a line or pass for another cell: text is an x and the hexadecimal digits of its UTF-8, all
else is as PostgreSQL writes it, and nothing at all is null. Reading a cell back cannot fail, and how long a line may be
follows from the schema.

**People** are numbers: rows have the same one where the column of the users calls them equal, by its own type and
collation (``tables.databases.postgres``). Rows of nobody are not read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sparsegate.conditions import Kind
from sparsegate.tables.columns import identifier, unlike
from sparsegate.tables.databases.postgres import DatabaseTable, find_table
from sparsegate.tables.databases.snapshot import UNREAD, engine_at, one_moment, pin, quiet_database

if TYPE_CHECKING:
    from sqlalchemy import Connection

SECONDS: Final = 3600
"""After this the server ends a statement, whoever still waits for it."""
LINES: Final = 10_000
"""How many lines are taken from the server at once."""
_LANES: Final = range(4)
"""A SHA-256 is summed up as four numbers of 64 bits."""
_NARROW: Final = 64
"""Characters that a cell has at most which is no text."""
_MOMENT: Final = r"regexp_replace({0}, '^(\S+)( \S+)? BC$', '\1 (BC)\2')"
_READ_BACK: Final = {
    Kind.TEXT: "decode(unhex({0}[2:]))",
    Kind.INTEGER: "TRY_CAST({0} AS BIGINT)",
    Kind.REAL: "TRY_CAST({0} AS DOUBLE)",
    Kind.BOOLEAN: "TRY_CAST({0} AS BOOLEAN)",
    Kind.DATE: f"TRY_CAST({_MOMENT} AS DATE)",
    Kind.TIMESTAMP: f"TRY_CAST({_MOMENT} AS TIMESTAMP)",
}


@dataclass(frozen=True, kw_only=True)
class FetchedRows:
    """The rows of one moment, as lines of a file."""

    file: Path
    table: DatabaseTable
    user: str | None
    fingerprint: str
    database: str

    @property
    def people(self) -> str | None:
        """The column that ``reader`` has the numbers of the people in; None where every row is another person."""
        names = [column.name for column in self.table.schema.columns]
        return None if self.user is None else unlike("person", names)

    def reader(self) -> str:
        """A query of the embedded engine that gives the columns of the table by their names, and the people."""
        columns = self.table.schema.columns
        cells = [f"c{place}" for place in range(len(columns))]
        read = [] if self.people is None else [f"TRY_CAST(person AS BIGINT) AS {identifier(self.people)}"]
        for cell, column in zip(cells, columns, strict=True):
            whole = self.table.types[column.name] == "whole numeric"
            form = "TRY_CAST({0} AS HUGEINT)" if whole else _READ_BACK[column.kind]
            read.append(f"{form.format(cell)} AS {identifier(column.name)}")
        longest = sum(8 * self.table.schema.max_cell if c.kind is Kind.TEXT else 0 for c in columns)
        longest += _NARROW * (1 + len(columns))
        place = str(self.file).replace("'", "''")
        declared = ", ".join(f"'{name}': 'VARCHAR'" for name in ("person", *cells))
        return (
            f"SELECT {', '.join(read)} FROM read_csv('{place}', delim=',', quote='', escape='', nullstr='', "
            f"header=false, auto_detect=false, max_line_size={longest}, buffer_size={max(1 << 25, 4 * longest)}, "
            f"columns={{{declared}}})"
        )


def fetch_rows(
    url: str, file: Path, *, table: str, user: str | None, columns: Sequence[str] | None, max_cell: int
) -> FetchedRows:
    """Write the rows of the table as they are now to the file; see ``ServedTable.read`` for the parameters."""
    engine = engine_at(url, "url")
    with quiet_database(UNREAD), one_moment(engine) as connection:
        described = find_table(connection, table, user=user, columns=columns, max_cell=max_cell)
        pin(connection, {"statement_timeout": f"'{SECONDS}s'"})
        connection.execution_options(no_parameters=True)  # a % in the name of a column is a %
        fingerprint = _fingerprint(connection, described, user)
        connection.execution_options(stream_results=True, max_row_buffer=LINES)
        with file.open("w", encoding="utf-8", newline="\n") as lines:
            for some in connection.exec_driver_sql(_lines(described, user)).scalars().partitions(LINES):
                lines.writelines(f"{line}\n" for line in some)
    database = f"{engine.url.database}"
    return FetchedRows(file=file, table=described, user=user, fingerprint=fingerprint, database=database)


def _fingerprint(connection: Connection, table: DatabaseTable, user: str | None) -> str:
    person = "NULL" if user is None else f"t.{identifier(user)}"
    cells = [f"{person} AS person", *(f"{cell} AS c{at}" for at, cell in enumerate(table.cells))]
    lanes = ", ".join(
        f"coalesce(sum(('x' || substr(digest, {1 + 16 * lane}, 16))::bit(64)::bigint), 0)" for lane in _LANES
    )
    rows, *sums = connection.exec_driver_sql(
        f"""SELECT count(*), {lanes} FROM (
            SELECT encode(sha256(convert_to(cells::text, 'UTF8')), 'hex') AS digest
            FROM (SELECT {", ".join(cells)} FROM {table.place} AS t OFFSET 0) AS cells) AS digests"""
    ).one()
    columns = [(column.name, table.types[column.name]) for column in table.schema.columns]
    person_type = "" if user is None else table.types[user]
    notes = (int(rows), list(map(int, sums)), columns, user, person_type, table.schema.max_cell)
    return hashlib.blake2b(repr(notes).encode(), digest_size=32, person=b"sparsegate table").hexdigest()


def _lines(table: DatabaseTable, user: str | None) -> str:
    """A query that gives each row as a line."""
    cells = [
        f"'x' || encode(convert_to({cell}, 'UTF8'), 'hex')" if column.kind is Kind.TEXT else f"({cell})::text"
        for cell, column in zip(table.cells, table.schema.columns, strict=True)
    ]
    person, whose = "0", ""
    if user is not None:
        person, whose = f"dense_rank() OVER (ORDER BY t.{identifier(user)})", f" WHERE t.{identifier(user)} IS NOT NULL"
    return (
        f"SELECT array_to_string(ARRAY[({person})::text, {', '.join(cells)}], ',', '') FROM {table.place} AS t{whose}"
    )
