"""What people bring, made ready to be counted: files and databases by their paths, or a table that is open already.

A path is opened in a DuckDB of its own (``tables.workspace``), which goes with the context. Work that is paid for is
finished: Ctrl-C, SIGTERM and SIGHUP wait for it, and are heard when it is kept.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.columns import identifier, read_columns
from sparsegate.tables.domain import file_labels, split_column, whole_labels, whole_numbers
from sparsegate.tables.engine_errors import quiet, raise_alone
from sparsegate.tables.engines.engine import guarded, open_engine
from sparsegate.tables.files import TextForm, expand
from sparsegate.tables.prepared import TableInPlace
from sparsegate.tables.python_tables import has_an_engine

if TYPE_CHECKING:
    from sparsegate.tables.workspace import Workspace


Result = TypeVar("Result")

# Neither 0 nor 2**63 bytes or more.
_AMOUNT: Final = r"(?=.*[1-9])([0-9]{1,9}(\.[0-9]+)? ?[KMG]|[0-9]{1,6}(\.[0-9]+)? ?T)i?B"
_ENDING: Final = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


class PaidWork:
    """A stretch of the main thread in which signals do what they did, until ``pay`` is called, and then wait.

    SQLite turns what a handler raises into an error of its own, where a function of ours is running: so at the end a
    signal that came is heard again. Signals that no handler of Python's has are left alone.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._came: int | None = None
        self._paid = False

    def pay(self) -> None:
        """From here on signals wait."""
        self._paid = True

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _ENDING:
                if callable(signal.getsignal(number)):
                    self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._came is not None and not isinstance(error, KeyboardInterrupt | SystemExit):
            self._before[self._came](self._came, None)

    def _hear(self, number: int, frame: object) -> None:
        self._came = number
        if not self._paid:
            self._before[number](number, frame)

    def run(self, work: Callable[[], Result]) -> Result:
        """Do the work in this stretch."""
        with self:
            return work()


@dataclass(frozen=True, kw_only=True)
class OpenedTable:
    """A table that is open: what ``open_engine`` takes, and the column of it that tells people apart."""

    table: Any
    user: str | None
    workspace: Workspace | None = None  # where files are open
    kind: str = ""  # what they are
    signals: PaidWork = field(default_factory=PaidWork, init=False)

    def run(self, work: Callable[[], Result]) -> Result:
        """Do the work on the table, in such a way that Ctrl-C stops it."""
        return (self.workspace or self.signals).run(work)

    def pay(self) -> None:
        """To be called by the work before it is charged: from here on it is finished."""
        (self.workspace or self.signals).pay()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """In which an error of the engine is given its usual cause."""
        try:
            yield
        except TableError as error:
            if self.kind != "JSON":
                raise
            cause = "in a JSON file of one array the usual cause is a record that is not JSON; write one record a line"
            raise_alone(TableError(f"{error}; {cause}"))

    def check_item(self, item: str | None) -> None:
        """Raise a ParameterError where no column to rank was named, and none is known."""
        if self.kind == "lines" and self.user is not None:
            rule = "must say how the lines of text are baskets: without it each line is one item, and nobody's"
            raise ParameterError("format", rule, next_step='pass "fimi" or "baskets", or unit="row"')
        if item is None and self.kind not in ("FIMI", "baskets", "lines"):
            # What stands first in a file of text may be a row of it.
            typed = self.kind in ("Parquet", "DuckDB", "SQLite")
            known = f"with one of {', '.join(self.table.columns[:9])}" if typed else 'for instance item="page"'
            raise ParameterError("item", "must name the column to rank", next_step=f"pass it {known}")

    def candidates(self, domain: Any, item: str) -> tuple[Any, Any]:
        """The domain, in the engine of the files, and the table with its items in the type of its labels."""
        if self.workspace is None:
            return domain, self.table
        read_columns(open_engine(self.table), item, self.user)  # refuses names and types before the domain is read
        if not isinstance(domain, os.PathLike):
            return domain, self.numbers([item]) if whole_labels(domain) else self.table
        self._refuse_itself(domain, "domain", "items", 'give a public list, or domain="observed" with delta=1e-6')
        kind = str(self.table.types[self.table.columns.index(item)])
        # The name of an enumeration is the list of its values, which an error must not hold.
        kind = kind if kind in ("INTEGER", "FLOAT", "DOUBLE", "BLOB") or kind.endswith("INT") else "VARCHAR"
        return file_labels(self.workspace, os.fspath(domain), item=item, kind=kind), self.table

    def numbers(self, columns: Sequence[str]) -> Any:
        """The table with whole numbers in these columns where they are text, because their source has no types.

        By a rule that looks at types alone: a cell that is no whole number becomes null.
        """
        if self.workspace is None:
            return self.table
        types = dict(zip(self.table.columns, map(str, self.table.types), strict=True))
        cells = [identifier(name) for name in columns if types.get(name) == "VARCHAR"]
        replaced = ", ".join(f"{whole_numbers(cell)} AS {cell}" for cell in cells)
        return self.table.select(f"* REPLACE ({replaced})") if cells else self.table

    def groups(self, groups: Any) -> Any:
        """The public groups, which are not those of the table itself."""
        if isinstance(groups, os.PathLike):
            self._refuse_itself(groups, "groups", "groups", "give a public list")
        return groups

    def _refuse_itself(self, place: os.PathLike[str], parameter: str, labels: str, next_step: str) -> None:
        public, _ = split_column(os.fspath(place))
        meant = [] if self.workspace is None else self.workspace.inbox.meant
        if {Path(file).resolve() for file in expand([public])} & {Path(file).resolve() for file in meant}:
            rule = f"must not be the table itself: which {labels} are in it is private data"
            raise ParameterError(parameter, rule, public, next_step)


@dataclass(frozen=True, eq=False)
class Table:
    """Data together with how it is read: accepted wherever ``data`` is. Data that need no such option go without it.

    Parameters
    ----------
    data: whatever ``top_items`` takes.
    table, sql: of a database, the name of the table or a query; of files a query, which calls them ``data``.
    format: "fimi" for files of baskets, one a line, whose items stand apart by white space; "baskets" where they stand
        apart by ``separator``, a comma unless given. Else the ending of a name says what a file is; .dat is FIMI.
    separator: also of the columns of a CSV file, which its header line tells otherwise.
    encoding: of text files, where it is not UTF-8.
    memory_limit: how much memory DuckDB may take for files, such as "4GB": what does not fit is spilled to the folder
        for temporary files (TMPDIR, or else /var/tmp). Four fifths of the machine's unless given.

    >>> import pathlib, tempfile, sparsegate as sg
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "sales.txt")
    ...     _ = file.write_text("tea;milk\\n" * 50 + "tea\\n" * 50)
    ...     sales = sg.Table(file, format="baskets", separator=";")
    ...     sg.top_items(sales, domain=["tea", "milk", "rye"], count=1, epsilon=1, **seeded).items
    ('tea',)
    """

    data: Any = field(repr=False)
    _: KW_ONLY
    table: str | None = None
    sql: str | None = None
    format: str | None = None
    separator: str | None = None
    encoding: str | None = None
    memory_limit: str | None = None

    def __post_init__(self) -> None:
        of_files = {**vars(self.form), "memory_limit": self.memory_limit}
        of_databases = {"table": self.table, "sql": self.sql}
        for name, option in of_databases.items():
            if not isinstance(option, str | None):
                raise ParameterError(name, "must be text", option)
        if self.memory_limit is not None and not re.fullmatch(_AMOUNT, str(self.memory_limit)):
            raise ParameterError("memory_limit", 'must be an amount such as "4GB"', self.memory_limit)
        unused, kinds, kind = of_files, "files", "database"
        if self.database is None:
            unused = of_databases | of_files if self.paths is None else {}
            kinds, kind = "files and databases", type(self.data).__name__
        for name, option in unused.items():
            if option is not None:
                raise ParameterError(name, f"is for {kinds}, and data is a {kind}", option, "leave it out")

    @cached_property
    def form(self) -> TextForm:
        """How text is written."""
        return TextForm(format=self.format, separator=self.separator, encoding=self.encoding)

    @cached_property
    def paths(self) -> list[str] | None:
        """The paths and patterns of files; None for anything else."""
        several = self.data if isinstance(self.data, list | tuple) else [self.data]
        if not several or not all(isinstance(path, str | os.PathLike) for path in several):
            return None
        return [os.fspath(path) for path in several]

    @cached_property
    def database(self) -> Any:
        """An engine of SQLAlchemy's, or the URL of a database; None for anything else."""
        paths = self.paths or []
        addresses = [path for path in paths if re.match(r"[A-Za-z][\w.+-]*://", path)]
        if addresses and len(paths) > 1:
            raise ParameterError("data", "must be one database alone", len(paths), "name one")
        if addresses:
            return addresses[0]
        if (sqlalchemy := sys.modules.get("sqlalchemy")) is None:  # nobody has an engine who has not imported it
            return None
        if isinstance(self.data, sqlalchemy.URL):
            return self.data.render_as_string(hide_password=False)
        if isinstance(self.data, sqlalchemy.Connection):
            rule = "must be an engine, and not a connection: a release is a transaction of its own"
            raise ParameterError("data", rule, next_step="pass connection.engine")
        return self.data if isinstance(self.data, sqlalchemy.Engine) else None


@contextmanager
def open_table(
    data: Any,
    *,
    columns: Sequence[str],
    user: str | None = None,
    value: str | None = None,
    report: Callable[[float], object] | None = None,
) -> Iterator[OpenedTable]:
    """Open ``data``: a ``Table``, a path or pattern, several of them, "-" for standard input, or a table of any kind.

    ``columns`` are the names that will be asked for, ``user`` the one that tells people apart (``Workspace.open``), and
    ``value`` one with numbers. ``report`` is told the time left: see ``Workspace``.
    """
    from sparsegate.tables.workspace import Workspace

    asked = list({name.casefold(): name for name in columns}.values())
    source = data if isinstance(data, Table) else Table(data)
    table = source.data
    if source.database is not None:
        from sparsegate.tables.databases.table import TableInDatabase

        table = TableInDatabase(source.database, table=source.table, sql=source.sql)
    if isinstance(table, TableInPlace) or (source.paths is None and has_an_engine(table)):
        yield OpenedTable(table=table, user=user)
        return
    with Workspace(memory_limit=source.memory_limit, report=report) as workspace:
        if source.paths is None:
            table = guarded("DuckDB", lambda: workspace.table(table, asked, user=user, value=value))
            yield OpenedTable(table=table, user=user)
            return
        with quiet("the files cannot be read"):
            read: dict[str, Any] = {"form": source.form, "table": source.table, "sql": source.sql}
            rows = workspace.read(source.paths, columns=asked, user=user, **read)
        yield OpenedTable(table=rows, user=workspace.people, workspace=workspace, kind=workspace.kind)
