"""What people bring, made ready to be counted: files and databases by their paths, or a table that is open already.

Tables of plain Python and streams of Arrow are made such a table first: see ``tables.workspace``.

A path is opened in a DuckDB of its own (``tables.workspace``), which goes with the context. Python and the command line
come through here, so a file means the same to both.

Work that is paid for is finished: Ctrl-C, SIGTERM and SIGHUP wait for it, and are heard when it is kept.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.columns import identifier, read_columns
from sparsegate.tables.domain import whole_labels
from sparsegate.tables.engine_errors import quiet, raise_alone
from sparsegate.tables.engines.engine import guarded, open_engine
from sparsegate.tables.files import PLAIN, TextForm
from sparsegate.tables.in_place import TableInPlace
from sparsegate.tables.python_tables import has_an_engine

if TYPE_CHECKING:
    from sparsegate.tables.workspace import Workspace


_ENDING: Final = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


class PaidWork:
    """A stretch of the main thread in which signals do what they did, until ``pay`` is called, and then wait.

    An engine may turn what a handler raises into an error of its own (SQLite does, where a function of ours is
    running), so at the end a signal that came is heard again. Signals that no handler of Python's has are left alone.
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


Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Given:
    """A table that is open: what ``open_engine`` takes, and the column of it that tells people apart."""

    table: Any
    user: str | None
    signals: PaidWork = field(default_factory=PaidWork, init=False)

    def run(self, work: Callable[[], Result]) -> Result:
        """Do the work on the table, in such a way that Ctrl-C stops it."""
        with self.signals:
            return work()

    def pay(self) -> None:
        """To be called by the work before it is charged: if it was to stop it stops here, and later it cannot."""
        self.signals.pay()

    def explained(self) -> AbstractContextManager[None]:
        """In which an error of the engine is given its usual cause."""
        return nullcontext()

    def check_item(self, item: str | None) -> None:
        """Raise a ParameterError where no column to rank was named, and the table has not one that everybody knows."""
        if item is None:
            raise ParameterError("item", "must name the column to rank", next_step='pass for instance item="page"')

    def candidates(self, domain: Any, item: str) -> tuple[Any, Any]:
        """The domain, and the table with its items in the type of its labels."""
        return domain, self.table

    def numbers(self, columns: Sequence[str]) -> Any:
        """The table with whole numbers in these columns, where they hold text because their source has no types.

        By a rule that looks at types alone: a cell that is no whole number becomes null, and its row is dropped.
        """
        return self.table

    def groups(self, groups: Any) -> Any:
        """The public groups, which are not those of the table itself."""
        return groups


@dataclass(frozen=True, kw_only=True)
class GivenFiles(Given):
    """Files that are open in a workspace."""

    workspace: Workspace
    files: Sequence[str]
    kind: str

    def run(self, work: Callable[[], Result]) -> Result:
        return self.workspace.run(work)

    def pay(self) -> None:
        self.workspace.pay()

    @contextmanager
    def explained(self) -> Iterator[None]:
        try:
            yield
            return
        except TableError as error:
            reason = str(error)
        if self.kind == "JSON":
            reason += (
                "; in a JSON file of one array the usual cause is a record that is not JSON; write one record a line"
            )
        raise_alone(TableError(reason))

    def check_item(self, item: str | None) -> None:
        if self.kind == "lines" and self.user is not None:
            rule = "must say how the lines of text are baskets: without it each line is one item, and nobody's"
            raise ParameterError("format", rule, next_step='pass "fimi" or "baskets", or unit="row"')
        if item is None and self.kind not in ("FIMI", "baskets", "lines"):
            # What stands first in a file of text may be a row of it.
            typed = self.kind in ("Parquet", "DuckDB", "SQLite")
            known = f"pass item= with one of {', '.join(self.table.columns[:9])}" if typed else "pass item="
            raise ParameterError("item", "must name the column to rank", next_step=known)

    def candidates(self, domain: Any, item: str) -> tuple[Any, Any]:
        """The same; labels of a file stay in the engine, and text becomes numbers where the domain asks for them."""
        read_columns(open_engine(self.table), item, self.user)  # refuses names and types before the domain is read
        from sparsegate.tables.domain import file_labels

        kind = str(self.table.types[self.table.columns.index(item)])
        if isinstance(domain, os.PathLike):
            place = os.fspath(domain)
            step = 'give a public list, or domain="observed" with delta=1e-6'
            self._refuse_itself(place, "domain", "items", step)
            # The name of an enumeration is the list of its values, which an error must not hold.
            kind = kind if kind == "INTEGER" or kind.endswith("INT") else "VARCHAR"
            return file_labels(self.workspace, place, item=item, kind=kind), self.table
        return domain, self.numbers([item]) if whole_labels(domain) else self.table

    def numbers(self, columns: Sequence[str]) -> Any:
        from sparsegate.tables.domain import whole_numbers

        types = dict(zip(self.table.columns, map(str, self.table.types), strict=True))
        cells = [identifier(name) for name in columns if types.get(name) == "VARCHAR"]
        replaced = ", ".join(f"{whole_numbers(cell)} AS {cell}" for cell in cells)
        return self.table.select(f"* REPLACE ({replaced})") if cells else self.table

    def groups(self, groups: Any) -> Any:
        if isinstance(groups, os.PathLike):
            self._refuse_itself(os.fspath(groups), "groups", "groups", "give a public list")
        return groups

    def _refuse_itself(self, place: str, parameter: str, labels: str, next_step: str) -> None:
        from sparsegate.tables.domain import split_column
        from sparsegate.tables.files import expand

        public, _ = split_column(place)
        if {Path(file).resolve() for file in expand([public])} & {
            Path(file).resolve() for file in self.workspace.inbox.meant
        }:
            rule = f"must not be the table itself: which {labels} are in it is private data"
            raise ParameterError(parameter, rule, public, next_step)


@contextmanager
def given(
    data: Any,
    *,
    table: str | None = None,
    sql: str | None = None,
    columns: Sequence[str],
    user: str | None = None,
    value: str | None = None,
    form: TextForm = PLAIN,
) -> Iterator[Given]:
    """Open ``data``: a path or pattern, several of them, "-" for standard input, or a table of any kind.

    ``table`` and ``sql`` say what to read of a database, ``columns`` which names will be asked for, and ``user`` which
    of them tells people apart: see ``Workspace.open``; ``value`` has numbers. ``form`` is how text is written.
    """
    from sparsegate.tables.workspace import Workspace

    asked = list({name.casefold(): name for name in columns}.values())
    patterns = _paths(data)
    place = _database(data, patterns)
    if patterns is None or place is not None:
        unused = {**({} if place is not None else {"table": table, "sql": sql}), **vars(form)}
        for name, option in unused.items():
            if option is not None:
                kinds, given = (
                    ("files", "database") if place is not None else ("files and databases", type(data).__name__)
                )
                raise ParameterError(name, f"is for {kinds}, and data is a {given}", option, "leave it out")
        if place is not None:
            from sparsegate.tables.databases.table import TableInDatabase

            data = TableInDatabase(place, table=table, sql=sql)
        if place is not None or isinstance(data, TableInPlace) or has_an_engine(data):
            yield Given(table=data, user=user)
            return
        with Workspace() as workspace:
            yield Given(
                table=guarded("DuckDB", lambda: workspace.table(data, asked, user=user, value=value)), user=user
            )
        return
    with Workspace() as workspace:
        with quiet("the files cannot be read"):
            rows = workspace.read(patterns, form=form, table=table, sql=sql, columns=asked, user=user)
        yield GivenFiles(
            table=rows, user=workspace.people, workspace=workspace, files=workspace.files, kind=workspace.kind
        )


def _paths(data: Any) -> list[str] | None:
    """The paths and patterns that were given; None for anything else."""
    several = data if isinstance(data, list | tuple) else [data]
    if not several or not all(isinstance(path, str | os.PathLike) for path in several):
        return None
    return [os.fspath(path) for path in several]


def _database(data: Any, paths: Sequence[str] | None) -> Any:
    """An engine of SQLAlchemy's, or the URL of a database; None for anything else."""
    addresses = [path for path in paths or () if re.match(r"[A-Za-z][\w.+-]*://", path)]
    if addresses and len(paths or ()) > 1:
        raise ParameterError("data", "must be one database alone", len(paths or ()), "name one")
    if addresses:
        return addresses[0]
    # Nobody has an engine who has not imported what makes one.
    made = sys.modules.get("sqlalchemy")
    if made is not None and isinstance(data, made.URL):
        return data.render_as_string(hide_password=False)
    if made is not None and isinstance(data, made.Connection):
        rule = "must be an engine, and not a connection: a release is a transaction of its own"
        raise ParameterError("data", rule, next_step="pass connection.engine")
    return data if made is not None and isinstance(data, made.Engine) else None
