"""The served table: opened once, copied into an engine of its own, and counted.

**Copied.** Whatever the files are, the declared columns are copied when the dataset is opened, each as the one type
that stands for its kind, text cut to ``max_cell`` characters, and the people are numbered. A count then depends on what
was fingerprinted and on nothing else: not on a file that somebody replaces, and not on a cell that cannot be cast. The
copy lives in memory and spills to a private folder that goes when the dataset is closed.

**Declared columns.** Those named by ``columns``, or all that are text, integers, floats, booleans, dates or timestamps,
except the one that names the person: a question about one person is answered privately, and tells nothing. Other types
(decimals, blobs, lists, ...) are left out; ``sql`` can cast them. Timestamps with a time zone are taken as UTC; one
outside of the engine's range of microseconds becomes null.

**Errors.** Whatever goes wrong in a count is one constant text. The engine's own words may quote a cell.
"""

from __future__ import annotations

import queue
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sparsegate.conditions import MAX_CELL, Condition, Schema
from sparsegate.conditions.schema import check_max_cell
from sparsegate.errors import ParameterError, TableError
from sparsegate.service.data.constant_work import Copy, Speed, count_people, measured_speed
from sparsegate.service.data.copying import SERVED, CopyEngine
from sparsegate.service.data.served import CountedTable
from sparsegate.service.data.stamps import Files
from sparsegate.tables.engine_errors import quiet
from sparsegate.tables.text_files import PLAIN, TextForm

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

COUNT_FAILED: Final = "the table could not be counted; the engine's own message may hold data and is not repeated here"
CONNECTIONS: Final = 16
"""Counts at once; more wait."""


class ServedTable(CountedTable):
    """One table whose people, or rows, are counted; may be used from many threads at once. A context manager.

    Everything about it but the schema is the owner's: the fingerprint, the number of people, and every count.
    """

    name: str
    """The names of the files, without their folders, and the table."""
    schema: Schema
    """The declared columns."""
    unit: str
    """ "user", or "row" where every row is another person."""
    fingerprint: str
    """A digest of what the files held when they were opened."""
    constant_work = True
    """The work of a count follows from public numbers."""

    def __init__(
        self,
        *,
        name: str,
        user: str | None,
        files: Files,
        notes: tuple[str | None, ...],
        fingerprint: str,
        copy: Copy,
        engine: CopyEngine,
    ) -> None:
        """Made by ``open``."""
        self.name = name
        self.user = user
        self.schema = copy.schema
        self.unit = copy.unit
        self.fingerprint = fingerprint
        self._files, self._notes, self._altered = files, notes, False
        self._copy = copy
        self._engine = engine
        self._idle: queue.LifoQueue[DuckDBPyConnection] = queue.LifoQueue()
        for connection in engine.close_settings(CONNECTIONS):
            self._idle.put(connection)
        self._closed = False

    @classmethod
    def open(
        cls,
        files: Sequence[str],
        *,
        user: str | None = None,
        unit: str | None = None,
        table: str | None = None,
        sql: str | None = None,
        columns: Sequence[str] | None = None,
        max_cell: int = MAX_CELL,
        form: TextForm = PLAIN,
    ) -> ServedTable:
        """Read the files (see ``tables.workspace``) into a dataset that is ready to be counted.

        Parameters
        ----------
        files: paths and patterns, of one kind.
        user: the column that names a person; rows where it is null are dropped.
        unit: "row" instead of ``user``.
        table, sql: for a database, what to read; ``sql`` may also be a SELECT over files under the name ``data``.
        columns: what may be asked about; the column of ``user`` only if it is named here.
        max_cell: a PUBLIC number of characters; what a text cell has beyond them is cut off, and nobody can ask for it.
        form: how text files are written.
        """
        if (user is None) == (unit is None) or unit not in (None, "row"):
            raise ParameterError(
                "user", 'or unit="row" must be given, and not both', next_step="say whom the rows belong to"
            )
        check_max_cell(max_cell)
        opened = Files.of(files)
        with ExitStack() as stack:
            engine = stack.enter_context(CopyEngine())
            notes = (table, sql, user, unit, str(max_cell), *(f"{name}={said}" for name, said in form.said.items()))
            fingerprint = opened.fingerprint(*notes)
            source: dict[str, Any] = {"user": user, "table": table, "sql": sql, "columns": columns, "form": form}
            with quiet("the files cannot be read"):
                received = engine.receive(files, form)
                copy = engine.run(lambda: engine.copy(received, **source, max_cell=max_cell))
            if opened.now() != opened:
                raise TableError("a file changed while it was read; open the dataset when the file is complete")
            stack.pop_all()
        name = " ".join([*(Path(file).name for file in files), *([table] if table else [])])
        return cls(name=name, user=user, files=opened, notes=notes, fingerprint=fingerprint, copy=copy, engine=engine)

    def close(self) -> None:
        """Let go of the copy; whoever counts after this gets a TableError."""
        self._closed = True
        self._engine.__exit__()

    def changed(self) -> bool:
        """Whether the files are no longer those that were opened: written, replaced, removed, or joined by another.

        A cheap look at sizes, times and inodes; where they differ, at what is in the files: a touched file is the same
        data. Counts go on, over what was opened.
        """
        found = self._files.now()
        if found == self._files or self._altered:
            return self._altered
        try:
            same = found is not None and found.fingerprint(*self._notes) == self.fingerprint
        except TableError:
            same = False
        if same and found is not None:
            self._files = found
        else:
            self._altered = True
        return self._altered

    def check(self, condition: Condition) -> None:
        """Raise ConditionError where the cost has no public bound."""
        _ = condition.leaves

    def count(self, condition: Condition) -> int:
        """How many people (or rows) have a row that matches. The private answer: for a gate, and for nobody."""
        self._require_open()
        connection = self._idle.get()
        try:
            return count_people(condition, self._copy, connection, SERVED)
        except Exception:  # of whatever type: which one it was may depend on a cell
            pass
        finally:
            self._idle.put(connection)
        # Raised out here, and not where it was caught, the error has no link back to the engine's words.
        raise TableError(COUNT_FAILED)

    def seconds(self, condition: Condition) -> float:
        """How long a count takes at worst, from public numbers. Raises ConditionError where there is no bound."""
        return self._speed.seconds(condition, self._copy, SERVED)

    def look_seconds(self) -> float:
        """How long a count takes at worst that looks at every column once."""
        return self._speed.look(self._copy, SERVED)

    @cached_property
    def _speed(self) -> Speed:
        self._require_open()
        connection = self._idle.get()
        try:
            with quiet("the speed of the engine cannot be measured"):
                return measured_speed(connection, self._copy)
        finally:
            self._idle.put(connection)

    def relation(self) -> DuckDBPyRelation:
        """The declared columns and the people as a relation for ``tables.top_items``; each call has its own cursor.

        Where the column of the people is not declared, numbers stand for them in it.
        """
        self._require_open()
        with quiet("the table cannot be read"):
            return self._engine.cursor().sql(f"SELECT {self._copy.shown}")

    def _require_open(self) -> None:
        if self._closed:
            raise TableError("the dataset is closed; open it again")
