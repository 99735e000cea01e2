"""Rows of a SQLite database as text, through Python's own SQLite: DuckDB's extension for it would be a download.

A cell of SQLite has a type of its own, whatever its column says. Every column becomes labels, and the column of the
users becomes keys, too (see ``tables.identity``): SQLite calls 17 and 17.0 equal, and 17 and '17' different. Text is
equal where the collation of its column says so; SQLite has three, BINARY, NOCASE and RTRIM.
"""

from __future__ import annotations

import sqlite3
import string
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsegate.tables.columns import check_table, identifier, unlike
from sparsegate.tables.engine_errors import refused
from sparsegate.tables.identity import labels, people

Batch: TypeAlias = dict[str, NDArray[np.object_]]

ROWS: Final = 50_000
"""How many rows a batch has."""

_LOWER: Final = {ord(upper): upper.lower() for upper in string.ascii_uppercase}


@contextmanager
def sqlite_file(file: str) -> Iterator[sqlite3.Connection]:
    """The database, to be read alone. Text that is no Unicode is read all the same: an error would tell of it."""
    with closing(sqlite3.connect(f"{Path(file).absolute().as_uri()}?mode=ro", uri=True)) as database:
        database.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        yield database


class SqliteRows:
    """The rows of a table or of a query: ``names`` of their columns, and of the keys of ``user``, which come last."""

    def __init__(self, database: sqlite3.Connection, *, table: str | None, sql: str | None, user: str | None) -> None:
        if table is not None:
            rows = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
            check_table(table, [name for (name,) in rows])
            sql = f"SELECT * FROM {identifier(table)}"
        self._database, self._query = database, f"SELECT * FROM ({sql}\n)"
        with refused("sql"):
            self.names = [column[0] for column in database.execute(f"{self._query} LIMIT 0").description]
        self.people: str | None = None
        if user is not None and user in self.names:
            self._user = self.names.index(user)
            self._folded = _folding(database, f"SELECT {identifier(user)} AS cell FROM ({self._query})")
            self.people = unlike(f"{user} (person)", self.names)

    def batches(self) -> Iterator[Batch]:
        """All rows."""
        cursor = self._database.execute(self._query)
        while batch := cursor.fetchmany(ROWS):
            columns: list[tuple[Any, ...]] = list(zip(*batch, strict=True))
            texts = {name: labels(cells) for name, cells in zip(self.names, columns, strict=True)}
            if self.people is not None:
                cells = columns[self._user]
                texts[self.people] = people(self._folded(cell) if isinstance(cell, str) else cell for cell in cells)
            yield {name: np.array(text, dtype=np.object_) for name, text in texts.items()}


def _folding(database: sqlite3.Connection, users: str) -> Callable[[str], str]:
    """What the collation of a column, the only one of the query, does to text: told without a row of it."""

    def equal(one: str, other: str) -> bool:
        cells = f"SELECT cell FROM ({users}) WHERE 0 UNION ALL SELECT '{one}' UNION ALL SELECT '{other}'"
        different: int = database.execute(f"SELECT count(DISTINCT cell) FROM ({cells})").fetchone()[0]
        return different == 1

    if equal("a", "A"):
        return _nocase
    return _rtrim if equal("a", "a ") else str


def _nocase(text: str) -> str:
    """The letters of ASCII, up to a zero; from there on SQLite compares only the length."""
    head, zero, tail = text.partition("\0")
    return head.translate(_LOWER) + zero + "." * len(tail.encode("utf-8", "surrogateescape"))


def _rtrim(text: str) -> str:
    return text.rstrip(" ")
