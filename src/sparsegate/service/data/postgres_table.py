"""A served table that stays in PostgreSQL: counts run there, and nothing but a count leaves it.

**One moment.** All counts of a process see one snapshot (``tables.databases.snapshot``): what is written to the table
meanwhile changes no answer. A snapshot ends with the server, or with the session that holds it. Then, and when the
service is started again, the *fingerprint* decides: the sum, over all rows, of a SHA-256 of what is read of the row,
worked out in the database. The same rows in any order have the same one, and gates go on; else they close.

**The same steps for every row.** Leaves are worked out on every row, behind a fence (OFFSET 0) that the planner cannot
see through, and combined by arithmetic; the rows of each person are put together by hash, and the people counted:

    SELECT count(*) FILTER (WHERE person IS NOT NULL AND found = 2) FROM (
        SELECT person, max(value) AS found FROM (leaves, combined) GROUP BY person)

No filter, no index, no short circuit, no parallel worker. The work is not constant all the same, as it is in the copy
(``constant_work``): cells that are stored out of line, pages that are or are not in a cache, dead rows, how wide a hash
table is, and whatever else the server does. D hides it from those who ask; docs/how-to/service.md says what is left.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from sqlalchemy import Engine

from sparsegate.conditions import MAX_CELL, Condition, Kind
from sparsegate.conditions.postgres_sql import Folding, postgres_leaves
from sparsegate.conditions.tree import columns_in
from sparsegate.errors import ParameterError, TableError
from sparsegate.service.data.copying import Size, checked
from sparsegate.service.data.dataset import COUNT_FAILED, CountedTable, uncharged
from sparsegate.service.data.postgres_speed import DatabaseSpeed, Sizes, measured_database
from sparsegate.tables.databases.postgres import DatabaseTable, find_table, folds, found_folding
from sparsegate.tables.databases.snapshot import UNREAD, Snapshot, check_server, database_engine, quiet_database
from sparsegate.tables.databases.table import TableInDatabase

_LANES: Final = range(4)
"""A SHA-256 is summed up as four numbers of 64 bits."""


class PostgresTable(CountedTable):
    """One table of a database whose people, or rows, are counted there. Thread-safe; a context manager."""

    constant_work = False

    def __init__(self, *, name: str, user: str | None, engine: Engine, table: DatabaseTable) -> None:
        """Made by ``open``."""
        self.name, self.user, self.schema = name, user, table.schema
        self.unit = "row" if user is None else "user"
        self._engine, self._table = engine, table
        self._guard = threading.Lock()
        self._altered = self._closed = False
        self._snapshot, self.fingerprint, self.sizes = self._held()
        self._shown: Sizes | None = None

    @classmethod
    def open(cls, url: str, **source: Any) -> PostgresTable:
        """``read``, with sizes that are charged to nobody: for whoever shows no one what a count takes."""
        table = cls.read(url, **source)
        table.fill(uncharged(table))
        return table

    @classmethod
    def read(
        cls,
        url: str,
        *,
        table: str,
        user: str | None = None,
        unit: str | None = None,
        columns: Sequence[str] | None = None,
        max_cell: int = MAX_CELL,
    ) -> PostgresTable:
        """Look the table up, take a snapshot, and fingerprint it; see ``ServedTable.read`` for the parameters."""
        if (user is None) == (unit is None) or unit not in (None, "row"):
            raise ParameterError(
                "user", 'or unit="row" must be given, and not both', next_step="say whom the rows belong to"
            )
        engine, place = database_engine(url)
        with quiet_database(UNREAD), engine.connect() as connection:
            check_server(connection)
            found = find_table(connection, table, user=user, columns=columns, max_cell=max_cell)
        return cls(name=f"{place.database} {table}", user=user, engine=engine, table=found)

    def fill(self, shown: Mapping[str, int]) -> None:
        """Take the shown sizes, once: the bound of every condition follows from them. Nothing is filled up here."""
        if self._shown is not None:
            raise TableError("the sizes of the table are known already; open it again")
        self._shown = Sizes.public(checked(shown, self.sizes), self.schema)

    def close(self) -> None:
        """Let go of the snapshot; whoever counts after this gets a TableError."""
        self._closed = True
        self._snapshot.close()

    def changed(self) -> bool:
        """Whether the snapshot is lost and the table is no longer the same. A TableError where that cannot be told."""
        with self._guard:
            if not (self._altered or self._closed or self._snapshot.alive()):
                self._snapshot.close()
                snapshot, fingerprint, _ = self._held()
                self._altered = fingerprint != self.fingerprint
                if self._altered:
                    snapshot.close()  # whoever is about to count must not count other rows than the gate's
                else:
                    self._snapshot = snapshot
            return self._altered

    def check(self, condition: Condition) -> None:
        """Raise ConditionError for what has another meaning in PostgreSQL, or no public cost."""
        self._count_sql(condition)

    def count(self, condition: Condition) -> int:
        """How many people (or rows) have a row that matches. The private answer: for a gate, and for nobody."""
        self._require_sizes()
        try:
            with self._snapshot.lent() as connection:
                return int(connection.exec_driver_sql(self._count_sql(condition)).scalar_one())
        except Exception:  # of whatever type: which one it was may depend on a cell
            pass
        # Raised out here, and not where it was caught, the error has no link back to the database's words.
        raise TableError(COUNT_FAILED)

    def seconds(self, condition: Condition) -> float:
        """How long a count takes at worst, from public numbers. Raises ConditionError where there is no bound."""
        return self._speed.seconds(condition)

    def look_seconds(self) -> float:
        """How long a count takes at worst that looks at every column once."""
        return self._speed.look()

    def relation(self) -> TableInDatabase:
        """The table where it lives, at the moment of the snapshot."""
        return TableInDatabase(
            self._snapshot.lent,
            dialect="postgresql",
            table=self._table.name,
            items=[column.name for column in self.schema.columns],
            max_cell=self.schema.max_cell,
        )

    @cached_property
    def _speed(self) -> DatabaseSpeed:
        folding, sizes = self._folding, self._require_sizes()
        with quiet_database(UNREAD), self._snapshot.lent() as connection:
            return measured_database(connection, self._table, sizes, folding)

    def _require_sizes(self) -> Sizes:
        if self._shown is None:
            raise TableError("no sizes are shown of the table, and what a count takes would tell; fill it first")
        return self._shown

    @cached_property
    def _folding(self) -> Folding | None:
        with quiet_database(UNREAD), self._snapshot.lent() as connection:
            return found_folding(connection)

    def _held(self) -> tuple[Snapshot, str, dict[str, Size]]:
        """A new snapshot, and what it holds."""
        with quiet_database(UNREAD):
            snapshot = Snapshot(self._engine, self._table.place)
            try:
                with snapshot.lent() as connection:
                    rows, *sums = map(int, connection.exec_driver_sql(self._fingerprint_sql()).one())
            except BaseException:
                snapshot.close()
                raise
        lengths, lanes = sums[: -len(_LANES)], sums[-len(_LANES) :]
        texts = [column.name for column in self.schema.columns if column.kind is Kind.TEXT]
        columns = [(column.name, kind) for column, kind in zip(self.schema.columns, self._table.types, strict=True)]
        notes = (rows, lanes, columns, self.user, self._table.person_type, self.schema.max_cell)
        digest = hashlib.blake2b(repr(notes).encode(), digest_size=32, person=b"sparsegate table")
        return snapshot, digest.hexdigest(), Sizes.counted(rows, dict(zip(texts, lengths, strict=True)), self.schema)

    def _fingerprint_sql(self) -> str:
        columns = self.schema.columns
        texts = [place for place, column in enumerate(columns) if column.kind is Kind.TEXT]
        lengths = "".join(f", coalesce(sum(length(cells.c{place})), 0)" for place in texts)
        lanes = ", ".join(
            f"coalesce(sum(('x' || substr(digest, {1 + 16 * lane}, 16))::bit(64)::bigint), 0)" for lane in _LANES
        )
        digest = "encode(sha256(convert_to(cells::text, 'UTF8')), 'hex') AS digest"
        return f"""SELECT count(*){lengths}, {lanes}
            FROM (SELECT {digest}, cells.* FROM {self._cells(range(len(columns)))} OFFSET 0) AS cells"""

    def _cells(self, places: Sequence[int]) -> str:
        """A subquery, ``cells``, with the person and the columns at these places, as they are read."""
        read = [f"{self._table.person or 'NULL'} AS person", *(f"{self._table.cells[at]} AS c{at}" for at in places)]
        return f"(SELECT {', '.join(read)} FROM {self._table.place} AS t OFFSET 0) AS cells"

    def _count_sql(self, condition: Condition) -> str:
        names = [column.name for column in self.schema.columns]
        used = {column.name for leaf in condition.leaves for column in columns_in(leaf.node)}
        places = [place for place, name in enumerate(names) if name in used]
        folding = self._folding if folds(condition) else None
        leaves = postgres_leaves(condition, {names[at]: f"cells.c{at}" for at in places}, folding)
        columns = "".join(f", {sql} AS l{place}" for place, sql in enumerate(leaves))
        value = condition.combined_sql([f"leaf.l{place}" for place in range(len(leaves))])
        rows = f"""SELECT leaf.person, {value} AS value
            FROM (SELECT cells.person{columns} FROM {self._cells(places)} OFFSET 0) AS leaf"""
        if self.user is None:
            return f"SELECT count(*) FILTER (WHERE value = 2) FROM ({rows}) AS each"
        return f"""SELECT count(*) FILTER (WHERE person IS NOT NULL AND found = 2)
            FROM (SELECT person, max(value) AS found FROM ({rows}) AS each GROUP BY person) AS people"""
