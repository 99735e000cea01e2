"""The served table: opened once, copied into an engine of its own, and counted.

**Copied.** Whatever the files are, the declared columns are copied when the dataset is opened, each as the one type
that stands for its kind, text cut to ``max_cell`` characters, and the people are numbered. A count then depends on what
was fingerprinted and on nothing else: not on a file that somebody replaces, and not on a cell that cannot be cast. The
copy lives in memory and spills to a private folder that goes when the dataset is closed.

**Declared columns.** Those named by ``columns``, or all that are text, numbers, booleans, dates, timestamps or times,
except the one that names the person: a question about one person is answered privately, and tells nothing. Decimals
are reals. Text is read as numbers, dates and times where ``read`` declares it (``declared_types``): questions cast no
text. Other types (blobs, lists, ...) are left out, and ``schema.unreadable`` names them; ``sql`` can cast them.
Timestamps with a time zone are taken as UTC; one outside of the engine's range of microseconds becomes null.

**Filled up.** What a count takes follows from sizes that are shown and not from those that there are: ``filling``. No
count is made before they are known.

**Errors.** Whatever goes wrong in a count is one constant text. The engine's own words may quote a cell.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from sparsegate.conditions import MAX_CELL, Condition, Schema
from sparsegate.conditions.schema import check_max_cell
from sparsegate.errors import ParameterError, TableError
from sparsegate.noise import Secure
from sparsegate.service.data.constant_work import Copy, Speed, count_people, measured_speed
from sparsegate.service.data.copying import SERVED, CopyEngine, Unfilled
from sparsegate.service.data.filling import Size, checked, drawn_characters
from sparsegate.service.data.served import CountedTable, ReadOptions, uncharged
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
    sizes: Mapping[str, Size]
    """Private; see ``filling``."""
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
        read: Unfilled,
        engine: CopyEngine,
    ) -> None:
        """Made by ``read`` and ``open``."""
        self.name = name
        self.user = user
        self.schema = read.schema
        self.unit = "row" if user is None else "user"
        self.fingerprint = fingerprint
        self._files, self._notes, self._altered = files, notes, False
        self._read: Unfilled | None = read
        self._filled: Copy | None = None
        self.sizes = read.sizes
        self._engine = engine
        self._idle: queue.LifoQueue[DuckDBPyConnection] = queue.LifoQueue()
        self._closed = False

    @classmethod
    def open(
        cls, files: Sequence[str], *, shown: Mapping[str, int] | None = None, **source: Unpack[ReadOptions]
    ) -> ServedTable:
        """``read``, and filled up: to the ``shown`` sizes, or to sizes that are drawn here and charged to nobody.

        The latter is for made-up data, and for whoever shows no one how long a count takes.
        """
        table = cls.read(files, **source)
        with ExitStack() as stack:
            stack.callback(table.close)
            table.fill(uncharged(table) if shown is None else shown)
            stack.pop_all()
        return table

    @classmethod
    def read(
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
        read: Mapping[str, str] | None = None,
    ) -> ServedTable:
        """Read the files (see ``tables.workspace``) into a dataset that can be counted once it is filled up.

        Parameters
        ----------
        files: paths and patterns, of one kind.
        user: the column that names a person; rows where it is null are dropped.
        unit: "row" instead of ``user``.
        table, sql: for a database, what to read; ``sql`` may also be a SELECT over files under the name ``data``.
        columns: what may be asked about; the column of ``user`` only if it is named here.
        max_cell: a PUBLIC number of characters; what a text cell has beyond them is cut off, and nobody can ask for it.
        form: how text files are written.
        read: for columns of text, the type that their cells are read as, by name: {"note": "timestamptz"}. A cell that
            is not written as a value of that type is null. See ``declared_types``.
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
            notes += tuple(f"read {name}={kind}" for name, kind in sorted((read or {}).items()))
            fingerprint = opened.fingerprint(*notes)
            source: dict[str, Any] = {"user": user, "table": table, "sql": sql, "columns": columns, "form": form}
            source["read"] = read or {}
            with quiet("the files cannot be read"):
                received = engine.receive(files, form)
                unfilled = engine.run(lambda: engine.copy(received, **source, max_cell=max_cell))
            if opened.now() != opened:
                raise TableError("a file changed while it was read; open the dataset when the file is complete")
            stack.pop_all()
        name = " ".join([*(Path(file).name for file in files), *([table] if table else [])])
        return cls(
            name=name, user=user, files=opened, notes=notes, fingerprint=fingerprint, read=unfilled, engine=engine
        )

    def fill(self, shown: Mapping[str, int], *, characters: Callable[[Sequence[int]], list[int]] | None = None) -> None:
        """Fill up to the shown sizes, once, and have it counted from now on.

        ``characters`` says how many of each width a text column shall have, from how many it has; drawn unless given.
        """
        read = self._read
        if read is None:
            raise TableError("the dataset is filled up already; open it again")
        checked(shown, read.sizes)
        self._read = None  # what fails half-way is never counted, and not filled up again
        drawn = partial(drawn_characters, max_cell=self.schema.max_cell, source=Secure())
        with quiet("the copy cannot be filled up"):
            copy = self._engine.run(lambda: self._engine.fill(read, shown, characters or drawn))
            for connection in self._engine.close_settings(CONNECTIONS):
                self._idle.put(connection)
        self._filled = copy

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
        copy = self._copy
        connection = self._idle.get()
        try:
            return count_people(condition, copy, connection, SERVED)
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
        copy = self._copy
        connection = self._idle.get()
        try:
            with quiet("the speed of the engine cannot be measured"):
                return measured_speed(connection, copy)
        finally:
            self._idle.put(connection)

    def relation(self) -> DuckDBPyRelation:
        """The declared columns and the people as a relation for ``tables.top_items``; each call has its own cursor.

        Where the column of the people is not declared, numbers stand for them in it.
        """
        self._require_open()
        with quiet("the table cannot be read"):
            return self._engine.cursor().sql(f"SELECT {self._copy.shown}")

    @property
    def _copy(self) -> Copy:
        if self._filled is None:
            raise TableError("the dataset is not filled up, and what a count takes would tell; fill it first")
        return self._filled

    def _require_open(self) -> None:
        if self._closed:
            raise TableError("the dataset is closed; open it again")
