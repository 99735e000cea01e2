"""The served table: opened once, copied into an engine of its own, and counted.

**Copied.** Whatever the files are, the declared columns are copied when the dataset is opened, each as the one type
that stands for its kind, and the people are numbered. A count then hangs on what was fingerprinted and on nothing else:
not on a file that somebody replaces, and not on a cell that cannot be cast. The copy lives in memory and spills to a
private folder that goes when the dataset is closed.

**Declared columns.** Those named by ``columns``, or all that are text, integers, floats, booleans, dates or timestamps,
except the one that names the person: a question about one person is answered privately, and tells nothing. Other types
(decimals, blobs, lists, ...) are left out; ``sql`` can cast them. Timestamps with a time zone are taken as UTC; one
outside of the engine's range of microseconds becomes null.

**Errors.** Whatever goes wrong in a count is one constant text. The engine's own words may quote a cell.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from sparsegate.errors import ParameterError, TableError
from sparsegate.service.data.copying import SERVED, Copy, CopyEngine
from sparsegate.service.data.files import Files
from sparsegate.service.predicates import Kind, Predicate, PublicSchema, read_predicate
from sparsegate.tables.engine_errors import quiet
from sparsegate.tables.workspace import identifier

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

COUNT_FAILED: Final = "the table could not be counted; the engine's own message may hold data and is not repeated here"

WIDEST: Final = 50
"""Comparisons in one predicate, by its limits."""

_NEVER: Final = {
    Kind.TEXT: "LIKE '%~_~~_~%'",
    Kind.INTEGER: "= -9223372036854775807",
    Kind.REAL: "= -1.7e308",
    Kind.BOOLEAN: "IS NULL",
    Kind.DATE: "= DATE '0001-01-01'",
    Kind.TIMESTAMP: "= TIMESTAMP '0001-01-01 00:00:00'",
}
"""Conditions that hardly a row meets, and that have to look at each."""


class Dataset:
    """One table whose people, or rows, are counted; may be used from many threads at once. A context manager.

    Everything about it but the schema is the owner's: the fingerprint, the number of people, and every count.
    """

    name: str
    """The names of the files, without their folders, and the table."""
    schema: PublicSchema
    """The declared columns."""
    unit: str
    """ "user", or "row" where every row is another person."""
    fingerprint: str
    """A digest of what the files held when they were opened."""

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
    ) -> Dataset:
        """Read the files (see ``tables.sources``) into a dataset that is ready to be counted.

        Parameters
        ----------
        files: paths and patterns, of one kind.
        user: the column that names a person; rows where it is null are dropped.
        unit: "row" instead of ``user``.
        table, sql: for a database, what to read; ``sql`` may also be a SELECT over files under the name ``data``.
        columns: what may be asked about; the column of ``user`` only if it is named here.
        """
        if (user is None) == (unit is None) or unit not in (None, "row"):
            raise ParameterError(
                "user", 'or unit="row" must be given, and not both', next_step="say whom the rows belong to"
            )
        opened = Files.of(files)
        with ExitStack() as stack:
            engine = stack.enter_context(CopyEngine())
            notes = (table, sql, user, unit)
            fingerprint = opened.fingerprint(*notes)
            with quiet("the files cannot be read"):
                copy = engine.run(lambda: engine.copy(files, user=user, table=table, sql=sql, columns=columns))
            if opened.now() != opened:
                raise TableError("a file changed while it was read; open the dataset when the file is complete")
            stack.pop_all()
        name = " ".join([*(Path(file).name for file in files), *([table] if table else [])])
        return cls(name=name, user=user, files=opened, notes=notes, fingerprint=fingerprint, copy=copy, engine=engine)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the copy; whoever counts after this gets a TableError."""
        self._closed = True
        self._engine.__exit__()

    @property
    def unit_options(self) -> dict[str, Any]:
        """The unit as ``top_items`` takes it."""
        return {"unit": "row"} if self.user is None else {"user": self.user}

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

    def count(self, predicate: Predicate, *, started: Callable[[Callable[[], None]], None] | None = None) -> int:
        """How many people (or rows) have a row that matches. The private answer: for a gate, and for nobody.

        ``started`` is given a function that stops the count, which then fails.
        """
        self._require_open()
        try:
            cursor = self._engine.cursor()
            if started is not None:
                started(cursor.interrupt)
            try:
                ((count,),) = cursor.execute(
                    f"SELECT {self._copy.counted} FROM {SERVED} WHERE {predicate.sql}"
                ).fetchall()
            finally:
                cursor.close()
            return int(count)
        except Exception:  # of whatever type: which one it was may hang on a cell
            pass
        # Raised out here, and not where it was caught, the error has no link back to the engine's words.
        raise TableError(COUNT_FAILED)

    def scan_seconds(self, repeats: int = 3) -> float:
        """How long the slowest of a few counts takes that look at every column of every row, and count everyone."""
        slowest = 0.0
        for predicate in self._representative():
            for _ in range(repeats):
                start = time.perf_counter()
                self.count(predicate)
                slowest = max(slowest, time.perf_counter() - start)
        return slowest

    def _representative(self) -> Iterator[Predicate]:
        columns = self.schema.columns
        for first in range(0, len(columns), WIDEST):
            each = (f"{identifier(column.name)} {_NEVER[column.kind]}" for column in columns[first : first + WIDEST])
            terms = (f"({read_predicate(text, self.schema).sql})" for text in each)
            yield Predicate(text="every column", sql=f"NOT ({' OR '.join(terms)})")
        yield read_predicate("TRUE", self.schema)

    def relation(self) -> DuckDBPyRelation:
        """The declared columns and the people as a relation for ``tables.top_items``; each call has its own cursor.

        Where the column of the people is not declared, numbers stand for them in it.
        """
        self._require_open()
        with quiet("the table cannot be read"):
            return self._engine.cursor().sql(f"SELECT {self._copy.shown} FROM {SERVED}")

    def _require_open(self) -> None:
        if self._closed:
            raise TableError("the dataset is closed; open it again")
