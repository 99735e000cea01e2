"""The served table: opened once, copied into an engine of its own, and counted.

**Copied.** Files, or a table in PostgreSQL at one moment, are copied when they are opened: a count depends on what was
fingerprinted and on nothing else, not on a file that somebody replaces, and not on a cell that cannot be cast. The copy
lives in memory and spills to a private folder that goes when the dataset is closed. No count is made before it is
filled up to the sizes that are shown (``copying``).

**Declared columns.** Those named by ``columns``, or all that are text, numbers, booleans, dates, timestamps or times,
except the one that names the person. Decimals are reals; timestamps with a time zone are taken as UTC, and null where
the engine has no such microsecond. ``schema.unreadable`` names other types, which are left out.

**Changed.** A gate belongs to the data that it was opened on. Files are looked at before each question: once one was
written to, replaced or removed, the dataset has changed for good.
"""

from __future__ import annotations

import hashlib
import pickle
import queue
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparsegate.conditions import MAX_CELL, Condition
from sparsegate.conditions.tree import check_max_cell
from sparsegate.errors import ParameterError, TableError
from sparsegate.noise import Secure
from sparsegate.service.data.constant_work import Copy, Speed, count_people, measured_speed
from sparsegate.service.data.copying import SERVED, CopyEngine, Unfilled, drawn_characters, people_of
from sparsegate.service.data.sizes import FillTerms
from sparsegate.tables.engine_errors import quiet
from sparsegate.tables.files import PLAIN, TextForm, expand

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


JOURNALS: Final = ("-wal", ".wal")  # what SQLite and DuckDB write beside a database first

Stamp = tuple[str, int, int, int, int]


@dataclass(frozen=True, kw_only=True)
class Files:
    """Paths and patterns, and the stamps of the files that they stood for at one moment."""

    patterns: tuple[str, ...]
    stamps: tuple[Stamp, ...]

    @classmethod
    def of(cls, patterns: Sequence[str]) -> Files:
        """The files as they are now; a pattern that stands for none is a TableError."""
        # What is there under its name is a path, and not a pattern: nothing can join it.
        files = patterns if all(pattern and Path(pattern).exists() for pattern in patterns) else expand(patterns)
        stamps: list[Stamp] = []
        for file in files:
            if (stamp := _stamp(file)) is None:
                raise TableError(f"{file} has vanished, or cannot be reached; check the path")
            journals = (_stamp(file + ending) for ending in JOURNALS)
            stamps += [stamp, *(journal for journal in journals if journal and journal[1])]
        return cls(patterns=tuple(patterns), stamps=tuple(stamps))

    def now(self) -> Files | None:
        """The files as they are now, from a look at sizes, times and inodes; None where one has vanished."""
        try:
            return Files.of(self.patterns)
        except TableError:
            return None

    def fingerprint(self, *notes: str | None) -> str:
        """A BLAKE2b digest of all that the files hold, in order, and of the notes."""
        digest = hashlib.blake2b(digest_size=32, person=b"sparsegate data")
        for path, *_ in self.stamps:
            try:
                with Path(path).open("rb") as stream:
                    digest.update(hashlib.file_digest(stream, hashlib.blake2b).digest())
            except OSError:
                raise TableError(f"{path} cannot be read; check that it is there, and its permissions") from None
        for note in notes:
            # A digest has one length, so that no note can pass for another, or for the end of a file.
            digest.update(hashlib.blake2b(b"" if note is None else b"=" + note.encode()).digest())
        return digest.hexdigest()


def _stamp(file: str) -> Stamp | None:
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return file, status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev


POSTGRESQL: Final = ("postgresql://", "postgres://", "postgresql+psycopg://")
COUNT_FAILED: Final = "the table could not be counted; the engine's own message may hold data and is not repeated here"
CONNECTIONS: Final = 16  # that are kept for counts; a keeper admits fewer at once (``DelayPlan.places``)


@dataclass(frozen=True, kw_only=True)
class TableSource:
    """What is read, and how.

    Parameters
    ----------
    files: paths and patterns, of one kind; or the URL of a database, ``postgresql://...``, alone.
    user: the column that names a person; rows where it is null are dropped.
    unit: "row" instead of ``user``.
    table, sql: for a database, what to read; ``sql`` may also be a SELECT over files under the name ``data``.
    columns: what may be asked about; the column of ``user`` only if it is named here.
    max_cell: a PUBLIC number of characters; what a text cell has beyond them is cut off, and nobody can ask for it.
    form: how text files are written.
    read: the type that cells of text columns are read as, by name: {"note": "timestamptz"}. See ``copying``.
    cells: in how many cells of a column a person counts, by name: {"city": 3}. See ``copying``.
    """

    files: Sequence[str]
    user: str | None = None
    unit: str | None = None
    table: str | None = None
    sql: str | None = None
    columns: Sequence[str] | None = None
    max_cell: int = MAX_CELL
    form: TextForm = PLAIN
    read: Mapping[str, str] | None = None
    cells: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        if (self.user is None) == (self.unit is None) or self.unit not in (None, "row"):
            raise ParameterError(
                "user", 'or unit="row" must be given, and not both', next_step="say whom the rows belong to"
            )
        check_max_cell(self.max_cell)
        if self.in_postgres:
            self._check_postgres()

    @property
    def in_postgres(self) -> bool:
        """Whether it is a table in PostgreSQL, and no file."""
        return self.files[0].startswith(POSTGRESQL)

    def _check_postgres(self) -> None:
        for name, value in self.form.options.items():
            raise ParameterError(name, "is for files of text, and this is a database", value, "leave it out")
        if self.read:
            step = "give the column its type in the database, for instance in a materialized view"
            raise ParameterError("read", "is for files, and this is a database", ", ".join(self.read), step)
        if len(self.files) > 1:
            raise ParameterError("files", "must be one database alone", len(self.files), "start one service for each")
        if self.sql is not None or self.table is None:
            step = "for what else you need: CREATE MATERIALIZED VIEW, and --table with its name"
            raise ParameterError("table", "must be given for a database, and sql must not", next_step=step)

    @property
    def notes(self) -> tuple[str | None, ...]:
        """How files are read, as it enters their fingerprint."""
        form = (f"{name}={value}" for name, value in self.form.options.items())
        read = (f"read {name}={kind}" for name, kind in sorted((self.read or {}).items()))
        return (self.table, self.sql, self.user, self.unit, str(self.max_cell), *form, *read)


class HandedOver(NamedTuple):
    """A filled copy in the private folder of its process: the file of its tables, with the rest beside it."""

    file: Path
    digest: str

    def remove(self) -> None:
        """When everybody has taken it over."""
        shutil.rmtree(self.file.parent)


_HANDED: Final = (
    *("source", "name", "fingerprint", "schema", "sizes", "unit", "cells"),
    *("_files", "_altered", "_filled", "_speed"),
)


class ServedTable(AbstractContextManager["ServedTable"]):
    """One table whose people, or rows, are counted; may be used from many threads at once. A context manager.

    Everything about it but the ``schema`` is the owner's: the ``fingerprint``, which is equal for equal data, the
    number of people, every count, and the ``sizes``, of which something is drawn to be shown. ``name`` has the names
    of the files without their folders, or of the database, and the table; ``unit`` is "user" or "row".
    """

    def __init__(
        self,
        source: TableSource,
        *,
        name: str,
        files: Files | None,
        fingerprint: str,
        read: Unfilled,
        engine: CopyEngine,
    ) -> None:
        """``files`` is None where what was read stays as it was."""
        self.source, self.name, self.fingerprint = source, name, fingerprint
        self.schema, self.sizes = read.schema, read.sizes
        self.unit = "row" if source.user is None else "user"
        self.cells = {name: most if self.unit == "user" else 1 for name, most in (source.cells or {}).items()}
        """In how many cells of a column a person counts; a row is in one."""
        self._files, self._altered = files, False
        self._read: Unfilled | None = read
        self._filled: Copy | None = None
        self._engine = engine
        self._closed = False

    @classmethod
    def open(cls, files: Sequence[str], *, shown: Mapping[str, int] | None = None, **source: Any) -> ServedTable:
        """``read``, and filled up: to the ``shown`` sizes, or to sizes that are drawn here and charged to nobody.

        The latter is for made-up data, and for whoever shows no one how long a count takes.
        """
        table = cls.read(TableSource(files=files, **source))
        with ExitStack() as stack:
            stack.callback(table.close)
            uncharged = FillTerms().of_unit(table.unit)
            table.fill(uncharged.drawn(table.sizes, Secure()) if shown is None else shown)
            stack.pop_all()
        return table

    @classmethod
    def read(cls, source: TableSource) -> ServedTable:
        """Read the data into a dataset that can be counted once it is filled up."""
        with ExitStack() as stack:
            engine = stack.enter_context(CopyEngine())
            read = cls._read_postgres if source.in_postgres else cls._read_files
            table = read(source, engine)
            stack.pop_all()
        return table

    @classmethod
    def _read_files(cls, source: TableSource, engine: CopyEngine) -> ServedTable:
        files = Files.of(source.files)
        fingerprint = files.fingerprint(*source.notes)
        with quiet("the files cannot be read"):
            received = engine.inbox.receive(source.files, source.form)
            unfilled = engine.run(lambda: engine.copy_files(received, source))
        if files.now() != files:
            raise TableError("a file changed while it was read; open the dataset when the file is complete")
        name = " ".join([*(Path(file).name for file in source.files), *([source.table] if source.table else [])])
        return cls(source, name=name, files=files, fingerprint=fingerprint, read=unfilled, engine=engine)

    @classmethod
    def _read_postgres(cls, source: TableSource, engine: CopyEngine) -> ServedTable:
        public = {name: getattr(source, name) for name in ("table", "user", "columns", "max_cell")}
        rows = engine.fetch(source.files[0], **public)
        with quiet("the rows of the database cannot be copied"):
            unfilled = engine.run(lambda: engine.copy_rows(rows, source.cells or {}))
        name = f"{rows.database} {source.table}"
        return cls(source, name=name, files=None, fingerprint=rows.fingerprint, read=unfilled, engine=engine)

    def fill(self, shown: Mapping[str, int], *, characters: Callable[[Sequence[int]], list[int]] | None = None) -> None:
        """Fill up to the shown sizes, once, and have it counted from now on.

        ``characters`` says how many of each width a text column shall have, from how many it has; drawn unless given.
        """
        read = self._read
        if read is None:
            raise TableError("the dataset is filled up already; open it again")
        for name, size in read.sizes.items():
            if shown.get(name, -1) < size.counted:  # an error has no number that was counted
                rule = f"must be at least the {name} that there are"
                raise ParameterError("capacity", rule, shown.get(name), "give more, with room to grow")
        self._read = None  # what fails half-way is never counted, and not filled up again
        drawn = partial(drawn_characters, max_cell=self.schema.max_cell, source=Secure())
        with quiet("the copy cannot be filled up"):
            copy = self._engine.run(lambda: self._engine.fill(read, shown, characters or drawn))
            self._connect()
        self._filled = copy

    def hand_over(self) -> HandedOver:
        """What another process serves the same copy from: filled up by one draw, and as fast as was measured here."""
        with quiet("the copy cannot be handed over"):
            file, digest = self._engine.run(self._engine.hand_over)
        handed = {name: getattr(self, name) for name in _HANDED}
        file.with_name("rest").write_bytes(pickle.dumps(handed))
        return HandedOver(file, digest)

    @classmethod
    def take_over(cls, handed: HandedOver) -> ServedTable:
        """The table that a process of this service handed over."""
        with ExitStack() as stack, quiet("the copy cannot be taken over"):
            engine = stack.enter_context(CopyEngine())
            table = cls.__new__(cls)
            # Written by the process that started this one, into a folder that is closed to others.
            vars(table).update(pickle.loads(handed.file.with_name("rest").read_bytes()))  # noqa: S301
            table._engine, table._read, table._closed = engine, None, False
            engine.run(lambda: engine.take_over(handed.file, handed.digest))
            table._connect()
            stack.pop_all()
        return table

    def _connect(self) -> None:
        self._idle: queue.LifoQueue[DuckDBPyConnection] = queue.LifoQueue()
        for connection in self._engine.close_settings(CONNECTIONS):
            self._idle.put(connection)

    def close(self) -> None:
        """Let go of the copy; whoever counts after this gets a TableError."""
        self._closed = True
        self._engine.__exit__()

    def changed(self) -> bool:
        """Whether the files are no longer those that were opened: written, replaced, removed, or joined by another.

        A look at sizes, times and inodes; where they differ, at what is in the files: a touched file is the same data.
        """
        if self._files is None or self._altered:
            return self._altered
        now = self._files.now()
        if now == self._files:
            return False
        with suppress(TableError):
            if now is not None and now.fingerprint(*self.source.notes) == self.fingerprint:
                self._files = now
                return False
        self._altered = True
        return True

    def check(self, condition: Condition) -> None:
        """Raise ConditionError where the cost has no public bound."""
        _ = condition.leaves

    def count(self, condition: Condition, *, per: str | None = None) -> int:
        """How many people (or rows) have a row that matches. The private answer: for a gate, and for nobody.

        With ``per`` only rows count that are in one of their person's cells of that column.
        """
        with self._connection() as connection, suppress(Exception):  # which one it was may depend on a cell
            return count_people(condition, self._copy, connection, SERVED, per=per)
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
        with self._connection() as connection, quiet("the speed of the engine cannot be measured"):
            return measured_speed(connection, self._copy)

    @property
    def unit_options(self) -> dict[str, Any]:
        """The unit of ``relation`` as ``top_items`` takes it."""
        return {"unit": "row"} if self.unit == "row" else {"user": people_of(self.schema)}

    def relation(self) -> DuckDBPyRelation:
        """The declared columns, and the numbers of the people, for ``tables.top_items``; each call has a new cursor."""
        self._require_open()
        with quiet("the table cannot be read"):
            return self._engine.cursor().sql(f"SELECT {self._copy.shown}")

    @contextmanager
    def _connection(self) -> Iterator[DuckDBPyConnection]:
        self._require_open()
        _ = self._copy  # or nobody would ever put one there
        connection = self._idle.get()
        try:
            yield connection
        finally:
            self._idle.put(connection)

    @property
    def _copy(self) -> Copy:
        if self._filled is None:
            raise TableError("the dataset is not filled up, and what a count takes would tell; fill it first")
        return self._filled

    def __exit__(self, *_: object) -> None:
        self.close()

    def _require_open(self) -> None:
        if self._closed:
            raise TableError("the dataset is closed; open it again")
