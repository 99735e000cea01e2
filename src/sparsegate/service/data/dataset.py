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

The files of a served dataset: what they held when it was opened, and whether they are still the same.

What a keeper needs of the data that it counts, wherever that lives; and opening it, wherever that is.
"""

from __future__ import annotations

import hashlib
import queue
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypedDict, Unpack

from sparsegate.conditions import MAX_CELL, Condition, Schema
from sparsegate.conditions.tree import check_max_cell
from sparsegate.errors import ParameterError, TableError
from sparsegate.noise import Secure
from sparsegate.service.data.constant_work import Copy, Speed, count_people, measured_speed
from sparsegate.service.data.copying import SERVED, CopyEngine, FillTerms, Size, Unfilled, checked, drawn_characters
from sparsegate.tables.engine_errors import quiet
from sparsegate.tables.files import PLAIN, TextForm, expand

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


CHUNK: Final = 1 << 20
JOURNALS: Final = ("-wal", ".wal")
"""What SQLite and DuckDB write beside a database before they write into it."""

Stamp = tuple[str, int, int, int, int]


@dataclass(frozen=True, kw_only=True)
class Files:
    """Paths and patterns, and the stamps of the files that they stood for at one moment."""

    patterns: tuple[str, ...]
    stamps: tuple[Stamp, ...]

    @classmethod
    def of(cls, patterns: Sequence[str]) -> Files:
        """The files as they are now; a pattern that stands for none is a TableError."""
        return cls(patterns=tuple(patterns), stamps=_stamps(patterns))

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
            content = _digest(path)
            if content is None:
                raise TableError(f"{path} cannot be read; check that it is there, and its permissions")
            digest.update(content)
        for note in notes:
            # A digest has one length, so that no note can pass for another, or for the end of a file.
            digest.update(hashlib.blake2b(b"" if note is None else b"=" + note.encode()).digest())
        return digest.hexdigest()


def _stamps(patterns: Sequence[str]) -> tuple[Stamp, ...]:
    stamps: list[Stamp] = []
    for file in expand(patterns):
        stamp = _stamp(file)
        if stamp is None:
            raise TableError(f"{file} has vanished, or cannot be reached; check the path")
        stamps.append(stamp)
        stamps += (found for ending in JOURNALS if (found := _stamp(file + ending)) and found[1])
    return tuple(stamps)


def _stamp(file: str) -> Stamp | None:
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return file, found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev


def _digest(file: str) -> bytes | None:
    content = hashlib.blake2b()
    try:
        with Path(file).open("rb") as stream:
            while chunk := stream.read(CHUNK):
                content.update(chunk)
    except OSError:
        return None
    return content.digest()


POSTGRESQL: Final = ("postgresql://", "postgres://", "postgresql+psycopg://")
"""How the URL of a database begins."""


class CountedTable(Protocol):
    """A table whose people, or rows, are counted; used from many threads at once. A context manager.

    Everything about it but the schema is the owner's: the fingerprint, the number of people, and every count.
    """

    name: str
    user: str | None
    """The column that names a person; None where every row is another one."""
    schema: Schema
    """The declared columns."""
    unit: str
    """ "user", or "row" where every row is another person."""
    fingerprint: str
    """Equal for equal data: a gate goes on for as long as it is the same."""
    sizes: Mapping[str, Size]
    """What was counted: private. What is shown of it is drawn (``filling``), and ``fill`` takes it."""
    constant_work: bool
    """Whether the work of a count follows from public numbers alone. Where it does not, an overrun may tell of data."""

    def fill(self, shown: Mapping[str, int]) -> None:
        """Take the shown sizes, once: what a count takes at worst follows from them. Nothing is counted before."""

    def changed(self) -> bool:
        """Whether the data is no longer what was opened."""

    def check(self, condition: Condition) -> None:
        """Raise ConditionError for what cannot be counted here, before anything is spent."""

    def count(self, condition: Condition) -> int:
        """How many people (or rows) have a row that matches. The private answer: for a gate, and for nobody."""

    def seconds(self, condition: Condition) -> float:
        """How long a count takes at worst, from public numbers. Raises ConditionError where there is no bound."""

    def look_seconds(self) -> float:
        """How long a count takes at worst that looks at every column once."""

    @property
    def unit_options(self) -> dict[str, Any]:
        """The unit as ``top_items`` takes it."""
        return {"unit": "row"} if self.user is None else {"user": self.user}

    def relation(self) -> Any:
        """The declared columns and the people, for ``tables.top_items``: in the copy, or where they live."""

    def close(self) -> None:
        """Let go of the data; whoever counts after this gets a TableError."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ReadOptions(TypedDict, total=False):
    """What is read, and how; see ``ServedTable.read``."""

    user: str | None
    unit: str | None
    table: str | None
    sql: str | None
    columns: Sequence[str] | None
    max_cell: int
    form: TextForm
    read: Mapping[str, str] | None


def uncharged(table: CountedTable) -> dict[str, int]:
    """Sizes that are drawn as those of a service are, and charged to nobody: for what is shown to nobody."""
    return FillTerms().of_unit(table.unit).drawn(table.sizes, Secure())


def open_data(files: Sequence[str], **source: Unpack[ReadOptions]) -> CountedTable:
    """``read_data``, filled up to sizes that are charged to nobody: for whoever shows no one what a count takes."""
    table = read_data(files, **source)
    try:
        table.fill(uncharged(table))
    except BaseException:
        table.close()
        raise
    return table


def read_data(files: Sequence[str], **source: Unpack[ReadOptions]) -> CountedTable:
    """Files as a copy (``ServedTable``); a table of a database, ``postgresql://...``, where it lives. Not filled up."""
    if not files[0].startswith(POSTGRESQL):
        return ServedTable.read(files, **source)
    asked: dict[str, Any] = {**source}
    for name, said in asked.pop("form", PLAIN).said.items():
        raise ParameterError(name, "is for files of text, and this is a database", said, "leave it out")
    for name, kind in (asked.pop("read", None) or {}).items():
        step = "give the column its type in the database, for instance in a materialized view"
        raise ParameterError("read", "is for files, and this is a database", f"{name}={kind}", step)
    from sparsegate.service.data.postgres_table import PostgresTable

    if len(files) > 1:
        raise ParameterError("files", "must be one database alone", len(files), "start one service for each")
    if asked.pop("sql", None) is not None or asked.get("table") is None:
        step = "for what else you need: CREATE MATERIALIZED VIEW, and --table with its name"
        raise ParameterError("table", "must be given for a database, and sql must not", next_step=step)
    return PostgresTable.read(files[0], **asked)


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
