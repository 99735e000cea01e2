"""One small table in PostgreSQL, in SQLite and in memory: what is counted in one must be counted in all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars
import sqlalchemy
from sqlalchemy.pool import NullPool

from sparsegate.noise import Seeded
from sparsegate.tables.opening import Table
from sparsegate.tables.release import TopItems
from sparsegate.tables.top import items_above, top_items, top_sums

Cells = Sequence[tuple[Any, Any]]

ODD = ("a", "A", "a ", " a", "ä", "a\u0308", "Ä", "ß", "ss", "", "100%", ":x", "a'b", '"', "\\", "日本", "\U0001f600")
"""Labels that careless databases take for one another, or for something else than text."""


class Store:
    """A database, and a way to write to it while others read."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool)

    def run(self, *statements: str) -> None:
        with self.engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    def fill(self, cells: Cells, *, columns: str = "page text, visitor int", table: str = "visits") -> None:
        """A new table with these rows."""
        self.run(f"DROP TABLE IF EXISTS {table}", f"CREATE TABLE {table} ({columns})")
        names = [part.split()[0] for part in columns.split(", ")]
        rows = [dict(zip(names, row, strict=True)) for row in cells]
        if rows:
            marks = ", ".join(f":{name}" for name in names)
            with self.engine.begin() as connection:
                connection.execute(sqlalchemy.text(f"INSERT INTO {table} VALUES ({marks})"), rows)

    def top(self, **options: Any) -> TopItems:
        return top(self.url, **({"table": "visits"} if "sql" not in options else {}), **options)


def sqlite_store(folder: Path) -> Store:
    """A new file, which others may write to while it is read."""
    store = Store(f"sqlite:///{folder}/visits.db")
    store.run("PRAGMA journal_mode = WAL")
    return store


def top(data: Any, **options: Any) -> TopItems:
    """A release that is the same wherever the counts are the same."""
    asked: dict[str, Any] = {"item": "page", "user": "visitor", "epsilon": 1} | options
    read = {name: asked.pop(name) for name in ("table", "sql") if name in asked}
    call = items_above if "above" in asked else top_sums if "value" in asked else top_items
    return call(data if isinstance(data, Table) else Table(data, **read), **asked, source=Seeded(5), not_private=True)


def in_memory(cells: Cells) -> polars.DataFrame:
    pages, visitors = ([cell[place] for cell in cells] for place in (0, 1))
    kind = polars.Int64 if any(isinstance(page, int) for page in pages) else polars.String
    return polars.DataFrame({"page": polars.Series(pages, dtype=kind), "visitor": polars.Series(visitors)})


class Meanwhile:
    """A ledger: when the release is charged, after the count and before the draw, something happens."""

    def __init__(self, happens: Callable[[], None]) -> None:
        self._happens = happens

    def spend(self, **_: Any) -> None:
        self._happens()

    def keep(self, *_: Any) -> None:
        pass
