"""`sparsegate watch --follow`: the people in each window of a stream against a threshold, for as long as it runs.

Telling others of an alert: a webhook for each that fires, and numbers for Prometheus.

**Both say what was released, and public numbers, and nothing else.** The numbers are written when an answer has been
given, so that looking at them, or how long that takes, tells nothing new.

**A hook never holds up an alert.** It is sent by a thread of its own when the answer is stored. It is tried thrice,
and each waits at most five seconds for a byte; what failed is one line on standard error, which names the host and not
the path, because those who make hooks put secrets there. No redirect is followed: the answer goes where its owner said.

Where `watch --follow` gets its rows: a text file that grows, standard input, or (``polled_table``) a database.

**One line, one row.** A line is read by itself, and what cannot be read is left out: an open quote or a broken cell of
one person cannot swallow the row of another. So a cell has no line break in it. A last line without its end is not
there yet.

**What counts is what was there at a public moment.** Of a file that is its size then; of standard input the lines that
had been read; of a database the one moment that a transaction sees. What is written while rows are read comes next.

A table of a database as a source of rows for `watch --follow`.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Protocol, Self, cast
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

import numpy as np
import typer

from sparsegate.budget import LONGEST_LINE
from sparsegate.cli.options import NOT_RECORDED, Spending, recorded
from sparsegate.cli.printing import counted, print_json, ready_to_print, to_standard_output
from sparsegate.display.plain import exact_text
from sparsegate.errors import LedgerError, ParameterError, TableError
from sparsegate.tables.files import TextForm
from sparsegate.uses.alerts import Alert, AlertAnswer, Method, StateFile
from sparsegate.uses.windows import SECOND, TimeWindows

_HERE: Final = ("localhost", "127.0.0.1", "::1")
_ATTEMPTS: Final = 3
_MEANINGS: Final = {
    "windows_answered": ("counter", "Windows that were answered."),
    "windows_fired": ("counter", "Windows that fired."),
    "epsilon_reserved": ("gauge", "What is charged while the alert may answer."),
    "epsilon_spent": ("gauge", "What the answers so far have cost."),
    "closed": ("gauge", "1 where the alert answers no more."),
    "threshold": ("gauge", "The public threshold."),
    "margin": ("gauge", "How far from the threshold a count must be to be answered rightly with 95 %."),
}


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Webhook:
    """Posts released answers to a URL, from a thread of its own."""

    def __init__(self, url: str, *, say: Callable[[str], object], timeout: float = 5.0, pause: float = 1.0) -> None:
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            parts, host = urlsplit(""), None
        here = host in _HERE
        plain = url.isascii() and url.isprintable() and " " not in url and "@" not in parts.netloc
        if not host or not plain or not (parts.scheme == "https" or (parts.scheme == "http" and here)):
            rule = "must be https://, or http:// on this machine, in ASCII, without a name and a password"
            raise ParameterError("webhook", rule, next_step="give for instance https://hooks.example.org/...")
        self._url, self._host, self._say, self._timeout, self._pause = url, host, say, timeout, pause
        handlers = [_NoRedirect(), *([ProxyHandler({})] if here else [])]
        self._opener: OpenerDirector = build_opener(*handlers)
        self._waiting: queue.Queue[bytes | None] = queue.Queue()
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def post(self, answer: Mapping[str, Any]) -> None:
        """Hand over a released answer; returns at once."""
        self._waiting.put(json.dumps(dict(answer)).encode())

    def close(self, patience: float = 10.0) -> None:
        """Wait for what is under way, and not longer than this."""
        self._waiting.put(None)
        self._thread.join(patience)
        self._left.set()
        if self._thread.is_alive():  # the one under way, and those that wait: the queue without its end
            late = self._waiting.qsize()
            self._say(f"the webhook at {self._host} is slow: the last alerts, up to {max(1, late)}, may not be sent")

    def _run(self) -> None:
        while (body := self._waiting.get()) is not None:
            if reason := self._sent(body):
                self._say(f"the webhook at {self._host} failed {_ATTEMPTS} times ({reason}); the alert above stands")

    def _sent(self, body: bytes) -> str:
        """Nothing, or why it could not be sent."""
        reason = ""
        for attempt in range(_ATTEMPTS):
            if attempt and self._left.wait(self._pause * 2 ** (attempt - 1)):
                break
            request = Request(self._url, body, {"Content-Type": "application/json"}, method="POST")
            try:
                with self._opener.open(request, timeout=self._timeout):
                    return ""
            except HTTPError as error:
                reason = f"status {error.code}"
                error.close()
            except (URLError, HTTPException, OSError, ValueError) as error:
                reason = type(error).__name__
        return reason


class AlertMetrics:
    """The numbers of an alert in the text format of Prometheus: on a port of this machine, or in a file."""

    def __init__(self, place: str, *, say: Callable[[str], object]) -> None:
        self._text, self._say = "", say
        self._file: Path | None = None
        self._server: ThreadingHTTPServer | None = None
        if not place.isascii() or not place.isdigit():
            self._file = Path(place)
            if not place or self._file.is_dir() or not self._file.absolute().parent.is_dir():
                raise ParameterError("metrics", "must be a port, or a file in a folder that is there", place)
            return
        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", int(place)), self._handler())
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or "from 0 to 65535"
            raise ParameterError("metrics", f"must be a port that is free ({why})", place, "give another") from None
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    @property
    def port(self) -> int | None:
        """Where it listens."""
        return None if self._server is None else int(self._server.server_address[1])

    def show(self, name: str, facts: Mapping[str, float]) -> None:
        """Write the numbers down, when an answer has been given."""
        escaped = name.replace("\\", r"\\").replace('"', r"\"")
        lines = []
        for fact, value in facts.items():
            kind, meaning = _MEANINGS[fact]
            full = f"sparsegate_alert_{fact}" + "_total" * (kind == "counter")
            lines += [f"# HELP {full} {meaning}", f"# TYPE {full} {kind}", f'{full}{{alert="{escaped}"}} {value!r}']
        self._text = "\n".join(lines) + "\n"
        if self._file is not None:
            draft = self._file.with_name(f".{self._file.name}.{os.getpid()}.new")
            try:
                draft.write_text(self._text, encoding="utf-8")
                draft.replace(self._file)
            except OSError as error:  # a full disk must not stop the alert
                self._say(f"the metrics cannot be written: {error.strerror}")

    def close(self) -> None:
        """Listen no more; a file stays."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        metrics = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self) -> None:  # the name that http.server calls
                found = self.path.partition("?")[0] in ("/", "/metrics")
                body = metrics._text.encode() if found else b""
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing: standard error is for what the owner must read."""

        return Handler


Row = tuple[Any, Any]
"""Who, and when."""

_PIECE: Final = 1 << 20
_LONGEST: Final = 1 << 20  # bytes of a line; a longer one is left out
_HELD: Final = 10_000  # lines of standard input that wait to be looked at
_FOLLOWED_ROWS_STEP: Final = 0.2  # seconds, between two looks at whether somebody wants to stop
_END: Final = None
_PLACE: Final = "sparsegate: the place of a row"


class FollowedRows(Protocol):
    """A source of rows."""

    behind: bool
    """Whether more rows wait than one look takes."""
    ended: bool
    """Whether no row will come any more."""
    gone: bool
    """Whether rows that were counted are there no more: who has counted cannot be known after a restart."""

    def check(self, stopped: Callable[[], bool]) -> None:
        """Look at the header, before anything is paid."""

    def read(self, start: int, end: int) -> Iterator[Row]:
        """What has come; of a database the rows from ``start`` to before ``end``, in microseconds since 1970."""


class FollowedLines:
    """Lines of CSV or JSON as rows; the first line, or the ending of the name, tells which of the two."""

    def __init__(self, *, user: str, time: str, where: str | None, separator: str | None, json_lines: bool) -> None:
        self._user, self._time, self._separator, self._json = user, time, separator, json_lines
        self._names: list[str] | None = [] if json_lines else None
        self._test = None if where is None else RowTest(where)

    def rows(self, lines: Iterable[str]) -> Iterator[Row]:
        """Who and when of the lines whose rows match."""
        batch: list[Mapping[str, Any]] = []
        for line in lines:
            if self._names is None:
                self._begin(line)
                if not self._json:
                    continue
            if (found := self._cells(line)) is not None:
                batch.append(found)
            if len(batch) >= _HELD:
                yield from self._matching(batch)
                batch = []
        yield from self._matching(batch)

    def renew(self) -> None:
        """The next line is the first of a new file."""
        self._names = [] if self._json else None

    def begin(self, line: str) -> bool:
        """Read the first line, before anything is paid; whether it is a header, and no row."""
        if self._names is None:
            self._begin(line)
        if self._json and line.lstrip("\ufeff \t").startswith("["):  # any other first line may be a row that is broken
            raise TableError("the first line begins an array; follow JSON lines, with an object on each, or CSV")
        return not self._json

    def _begin(self, line: str) -> None:
        if line.lstrip("\ufeff \t").startswith("{"):
            self._json, self._names = True, []
            return
        text = line.lstrip("\ufeff").rstrip("\r\n")
        if self._separator is None:
            self._separator = "\t" if "\t" in text and "," not in text else ","
        self._names = next(csv.reader([text], delimiter=self._separator), [])
        for name in (self._user, self._time, *(() if self._test is None else self._test.names)):
            if name not in self._names:
                raise TableError(f"there is no column {name!r} in the header line; write its name as it is there")

    def _cells(self, line: str) -> Mapping[str, Any] | None:
        try:
            if self._json:
                found = json.loads(line)
                return found if isinstance(found, dict) else None
            cells = next(csv.reader([line.rstrip("\r\n")], delimiter=self._separator or ","), [])
            return dict(zip(self._names or (), cells, strict=False))
        except Exception:  # a cell of one person must not stop the alert
            return None

    def _matching(self, batch: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
        kept = batch if self._test is None else self._test.matching(batch)
        for cells in kept:
            user = cells.get(self._user)
            yield None if user == "" else user, cells.get(self._time)


class RowTest:
    """A condition on the cells of rows, as text, in the language of docs/reference/conditions.md."""

    def __init__(self, where: str) -> None:
        import duckdb

        from sparsegate.conditions import names_in

        self.names = list(dict.fromkeys(names_in(where)))
        self._where, self._connection = where, duckdb.connect()
        self._connection.execute("PRAGMA disable_optimizer")  # its choices would depend on everybody's rows
        self.matching([])

    def matching(self, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The rows that match."""
        from sparsegate.tables.columns import identifier
        from sparsegate.tables.engine_errors import quiet
        from sparsegate.tables.matching import Matching

        held = {f"c{n}": np.array([_text(row.get(name)) for row in rows], object) for n, name in enumerate(self.names)}
        held["place"] = np.arange(len(rows))
        place = identifier(_PLACE)
        casts = [f"CAST(c{n} AS VARCHAR) AS {identifier(name)}" for n, name in enumerate(self.names)]
        self._connection.register("held", held)
        with quiet("the rows cannot be tested"):
            relation = self._connection.sql(f"SELECT {', '.join(casts)}{', ' * bool(casts)}place AS {place} FROM held")
            places = Matching(relation).rows(self._where).project(place).fetchall()
        return [rows[place] for (place,) in places]


def _text(cell: Any) -> str | None:
    if cell is None:
        return None
    try:
        text = cell if isinstance(cell, str) else json.dumps(cell)
        return text.encode("utf-8", "replace").decode()
    except Exception:  # lists in lists that can be read and not written: a cell of one person must not stop the alert
        return None


class GrowingFile:
    """A file to which others write. One that was cut short, or replaced, is read from its beginning, or refused.

    It is held open: what was written to the end of a file that was moved away is read before the new one is.
    """

    behind = ended = gone = False

    def __init__(self, path: str, lines: FollowedLines, *, restarts: bool) -> None:
        """``restarts``: whether another file may take its place, as when a log is rotated."""
        self._path, self._lines, self._restarts = Path(path), lines, restarts
        self._at, self._rest, self._read = 0, b"", hashlib.sha256()
        if not self._path.is_file():
            raise TableError(f"{path} is no file; name a file of CSV or JSON lines that grows, or - for standard input")
        try:
            self._file = self._path.open("rb")
        except OSError as error:
            raise self._unread(error) from None

    def check(self, stopped: Callable[[], bool]) -> None:
        line = self._file.readline(_LONGEST)
        if line.endswith(b"\n") and self._lines.begin(line.decode("utf-8", "replace")):
            self._at = len(line)
            self._read.update(line)

    def mark(self) -> str:
        """How many bytes were read, and their digest, which is as secret as they are."""
        return f"{self._at} {self._read.hexdigest()}"

    def go_on_from(self, mark: str) -> None:
        """Refuse a file that does not begin with what was read when the mark was made."""
        left, read = int(size) if (size := mark.partition(" ")[0]).isdecimal() else 0, hashlib.sha256()
        try:
            with self._path.open("rb") as file:
                while left and (piece := file.read(min(_PIECE, left))):
                    read.update(piece)
                    left -= len(piece)
        except OSError as error:
            raise self._unread(error) from None
        if left or mark != f"{size} {read.hexdigest()}":
            raise self._gone()

    def read(self, start: int, end: int) -> Iterator[Row]:
        try:
            held = os.fstat(self._file.fileno())  # now: what is written while it is read comes next
            with suppress(FileNotFoundError):  # moved away, and the new one is not there yet
                there = self._path.stat()
                if (there.st_ino, there.st_dev) != (held.st_ino, held.st_dev):
                    yield from self._lines.rows(self._new_lines(held.st_size))
                    self._file.close()
                    self._file = self._path.open("rb")
                    self._begin_again()
                    held = there
            if held.st_size < self._at:
                self._begin_again()
            yield from self._lines.rows(self._new_lines(held.st_size))
        except OSError as error:
            raise self._unread(error) from None

    def close(self) -> None:
        """Let go of it."""
        self._file.close()

    def _unread(self, error: OSError) -> TableError:
        return TableError(f"{self._path} cannot be read: {error.strerror}")

    def _begin_again(self) -> None:
        if not self._restarts:
            raise self._gone()
        self._at, self._rest, self._read = 0, b"", hashlib.sha256()
        self._lines.renew()

    def _gone(self) -> TableError:
        self.gone = True
        return TableError(
            f"{self._path} was cut short or replaced: rows that were counted are gone, and who has counted in how many "
            "windows cannot be known after a restart; follow a file that only grows, or leave out windows_per_user"
        )

    def _new_lines(self, size: int) -> Iterator[str]:
        self._file.seek(self._at)
        while self._at < size and (piece := self._file.read(min(_PIECE, size - self._at))):
            self._at += len(piece)
            self._read.update(piece)
            *whole, rest = (self._rest + piece).split(b"\n")
            self._rest = rest[: _LONGEST + 1]  # enough to be too long
            yield from map(_decoded, whole)


class StandardInputLines:
    """Lines that a thread reads as they come."""

    def __init__(self, lines: FollowedLines) -> None:
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise TableError("standard input cannot be read here; name a file")
        self._lines, self.behind, self.ended, self.gone = lines, False, False, False
        self._first: list[str] = []
        self._waiting: queue.Queue[bytes | None] = queue.Queue(_HELD)
        threading.Thread(target=self._fill, args=(stream,), daemon=True).start()

    def _fill(self, stream: Iterable[bytes]) -> None:
        try:
            for line in stream:
                self._waiting.put(line)
        finally:
            self._waiting.put(_END)

    def check(self, stopped: Callable[[], bool]) -> None:
        while not self._first and not self.ended and not stopped():
            self._first = list(self._come(1, wait=_FOLLOWED_ROWS_STEP))
        if self._first and self._lines.begin(self._first[0]):
            self._first = []

    def read(self, start: int, end: int) -> Iterator[Row]:
        waiting = self._waiting.qsize()
        self.behind = waiting >= _HELD  # whoever writes waits for us
        return self._lines.rows(self._come(waiting))

    def read_to_end(self, stopped: Callable[[], bool]) -> Iterator[Row]:
        """All that comes until the input ends, or somebody stops it."""

        def come() -> Iterator[str]:
            while not self.ended and not stopped():
                yield from self._come(1, wait=_FOLLOWED_ROWS_STEP)

        return self._lines.rows(come())

    def _come(self, count: int, wait: float = 0) -> Iterator[str]:
        first, self._first = self._first, []
        yield from first
        for _ in range(count):
            try:
                line = self._waiting.get(timeout=wait) if wait else self._waiting.get_nowait()
            except queue.Empty:
                return
            if line is _END:
                self.ended = True
                return
            yield _decoded(line)


def _decoded(line: bytes) -> str:
    """Bytes are counted, and not characters: of a line that is too long not all were held."""
    return line.decode("utf-8", "replace") if len(line) <= _LONGEST else ""


# PostgreSQL's numbers of these types. (A date is compared as its first moment; asked for whole, 'infinity' would fail.)
_MOMENTS: Final[dict[Any, str]] = {1082: "timestamp", 1114: "timestamp", 1184: "timestamptz"}


class PolledTable:
    """A table, or a query, that is asked for the rows of a window when the window closes."""

    behind = ended = gone = False

    def __init__(self, url: str, *, table: str | None, sql: str | None, user: str, time: str) -> None:
        import sqlalchemy

        from sparsegate.tables.databases.snapshot import UNREAD, engine_at, one_moment, quiet_database

        if (table is None) == (sql is None):
            raise ParameterError("table", "must be given for a database, or a query in its place, and not both")
        engine = engine_at(url)
        who: Any = sqlalchemy.column(user)
        when: Any = sqlalchemy.column(time)
        place: Any
        if table is not None:
            schema, _, name = table.rpartition(".")
            place = sqlalchemy.table(name, who, when, schema=schema or None)
        else:
            place = sqlalchemy.text(sql or "").columns(who, when).subquery("asked")
        self._asked = sqlalchemy.select(place.c[user], place.c[time]).where(place.c[user].is_not(None))
        self._when, self._engine, self._kind = place.c[time], engine, "unknown"
        with quiet_database(UNREAD), one_moment(engine) as connection:
            described = connection.execute(self._asked.where(sqlalchemy.false())).cursor
            if engine.dialect.name == "postgresql" and described is not None:
                self._kind = _MOMENTS.get(described.description[1][1], "unknown")

    def check(self, stopped: Callable[[], bool]) -> None:
        """The columns were found when it was made."""

    def read(self, start: int, end: int) -> Iterator[Row]:
        from sparsegate.tables.databases.snapshot import UNREAD, one_moment, quiet_database

        asked = self._asked
        if self._kind != "unknown":  # the database compares moments as we do; of text and numbers all rows are read
            bounds = [datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at) for at in (start, end)]
            if self._kind == "timestamp":
                bounds = [at.replace(tzinfo=None) for at in bounds]
            asked = asked.where(self._when >= bounds[0], self._when < bounds[1])
        with quiet_database(UNREAD), one_moment(self._engine) as connection:
            if self._engine.dialect.name == "sqlite":  # text that is not UTF-8 must not stop the others
                driver: Any = connection.connection.driver_connection
                driver.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
            found = connection.execution_options(stream_results=True).execute(asked)
            yield from ((row[0], row[1]) for row in found)


_LOOK: Final = 1.0  # seconds between two looks at a file
_STEP: Final = 0.2  # between two looks at whether somebody wants to stop


def _option(flag: str, help: str, **more: Any) -> Any:
    return typer.Option(flag, help=help, show_default=False, **more)


Follow = Annotated[bool, _option("--follow", "Watch the people in each window of a stream, as rows come.")]
Time = Annotated[str | None, _option("--time", "When a row happened: ISO 8601, or seconds; UTC.", metavar="COLUMN")]
Width = Annotated[str | None, _option("--window", "How long a window is: 30s, 5m, 1h, 1d.", metavar="DURATION")]
Start = Annotated[
    str | None, _option("--from", "Where the first window begins; else the one that runs.", metavar="TIME")
]
Until = Annotated[str | None, _option("--until", "Where the last window ends; else there is none.", metavar="TIME")]
Lateness = Annotated[
    str | None, _option("--lateness", "How long a window waits for late rows: 1m.", metavar="DURATION")
]
PerUser = Annotated[int | None, _option("--windows-per-user", "A person counts in this many windows, the earliest.")]
Fires = Annotated[
    str | None, _option("--fires", "above: the threshold or more. below: or less.", metavar="above|below")
]
TwoSided = Annotated[bool | None, _option("--two-sided", "Close when both answers were given --cutoff times.")]
HowTo = Annotated[str | None, _option("--method", "How it is done: docs/how-to/alerts.md.", metavar="auto|gate|counts")]
Name = Annotated[str | None, _option("--name", "Of this alert, on the ledger and in the metrics.", metavar="NAME")]
State = Annotated[str | None, _option("--state", "A secret file, to go on after a restart.", metavar="FILE")]
Metrics = Annotated[str | None, _option("--metrics", "Numbers for Prometheus.", metavar="PORT|FILE")]
Hook = Annotated[str | None, _option("--webhook", "POST what fires.", metavar="URL", envvar="SPARSEGATE_WEBHOOK")]


@dataclass(frozen=True, kw_only=True)
class Following:
    """The options that `--follow` has; None where they were not given."""

    time: str | None
    width: str | None
    start: str | None
    until: str | None
    lateness: str | None
    windows_per_user: int | None
    fires: str | None
    two_sided: bool | None
    method: str | None
    name: str | None
    state: str | None
    metrics: str | None
    webhook: str | None

    def refuse(self) -> None:
        """Without `--follow` none of them may be given. (A hook may be in the environment for another command.)"""
        for name, value in vars(self).items():
            if value is not None and name != "webhook":
                raise ParameterError(name, "is for a stream", value, "give --follow, too")

    def windows(self, now: float) -> TimeWindows:
        """The windows of time; without a start those of the state file, or from the one that runs now."""
        if self.width is None:
            raise ParameterError("width", "must be given to follow a stream", next_step="give for instance --window 5m")
        start: str | float | None = self.start
        if start is None and self.state is not None and (held := StateFile(self.state).read()) is not None:
            start = (held.settings.get("windows") or {}).get("start")
        if start is None:
            width = TimeWindows(width=self.width, start=0).width
            start = int(now * SECOND) // width * width / SECOND
        return TimeWindows(width=self.width, start=start, lateness=self.lateness or 0, until=self.until)


class Stopping:
    """Ctrl-C and SIGTERM, as a question asked between two answers: none is cut in two. A second one ends all."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, _: object) -> None:
        if self.number is not None:
            raise KeyboardInterrupt
        self.number = number

    def wanted(self) -> bool:
        """Whether somebody wants to stop."""
        return self.number is not None

    def wait(self, seconds: float) -> None:
        """Wait, but no longer than until somebody wants to stop."""
        until = time.monotonic() + seconds
        while not self.wanted() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _STEP))


class FollowReport:
    """Tells each answer: to the hook, on standard output, and to whoever looks at the numbers."""

    def __init__(self, alert: Alert, *, as_json: bool, name: str, hook: Webhook | None, metrics: AlertMetrics | None):
        self._alert, self._json, self._name, self._hook, self._metrics = alert, as_json, name, hook, metrics
        assert alert.windows is not None
        self._windows = alert.windows

    def start(self, record: Mapping[str, Any]) -> None:
        self._say({"record": dict(record)}, f"{record['sentence']}\n{record['recorded']}")
        self._show()

    def answer(self, answer: AlertAnswer) -> None:
        at = {"from": self._windows.label(answer.window), "to": self._windows.label(answer.window + 1)}
        part = {"name": self._name, **at, **answer.to_dict()}
        if answer.fired and self._hook is not None:
            self._hook.post({"schema": "sparsegate/alert/1", **part})
        about = ""
        if answer.estimate is not None:
            about = f"  (about {answer.estimate:,}, standard error {answer.standard_error:,})"
        self._say(part, f"{'FIRED' if answer.fired else 'quiet'}  {at['from']}{about}")
        self._show()

    def end(self, said: str) -> None:
        alert = self._alert
        numbers = {"answered": len(alert.answers), "fired_in_all": sum(map(bool, alert.answers.values()))}
        self._say({"ended": said, **numbers, "spent": exact_text(alert.spent)}, said)
        self._show()

    def _show(self) -> None:
        if self._metrics is not None:
            self._metrics.show(self._name, self._alert.facts())

    def _say(self, part: Mapping[str, Any], text: str) -> None:
        with to_standard_output(""):
            if self._json:
                print_json(part, schema="alert", indent=None)
            else:
                typer.echo(text)


def follow(
    files: Sequence[str],
    following: Following,
    *,
    threshold: int,
    cutoff: int,
    epsilon: float,
    user: str | None,
    where: Sequence[str] | None,
    table: str | None,
    sql: str | None,
    form: TextForm,
    spending: Spending,
    refund: bool,
    as_json: bool,
) -> None:
    """Follow a stream until its last window, the last that may fire, or a signal."""
    if user is None:
        raise ParameterError("user", "must be given to follow a stream: people are counted, not rows")
    if following.time is None:
        raise ParameterError("time", "must be given to follow a stream", next_step="name the column that says when")
    if following.two_sided and following.method == "counts":
        raise ParameterError("two_sided", "must not be given with noisy counts, which never close")
    now = time.time()
    windows = following.windows(now)
    over = windows.count is not None and windows.closed_by(now) == windows.count
    public: dict[str, Any] = {"threshold": threshold, "cutoff": cutoff, "epsilon": epsilon}
    public |= {"windows_per_user": following.windows_per_user, "method": cast(Method, following.method or "auto")}
    public["closes"] = "rarer" if following.two_sided else "above"
    plan = Alert.preview(**public, windows=windows)
    if files == ["-"] and windows.closed_by(now) and not over:
        rule = "must not be over already for standard input, unless all windows are"
        raise ParameterError("start", rule, following.start, "leave out --from, or give --until as well")
    if files == ["-"] and following.state is not None and following.windows_per_user is not None:
        rule = "must not be given for standard input with windows_per_user: who has counted is known from all rows"
        raise ParameterError("state", rule, following.state, "follow a file")
    with Stopping() as stop, ExitStack() as stack:
        hook = metrics = None
        source = _source(files, following, user=user, where=where, table=table, sql=sql, form=form)
        if isinstance(source, GrowingFile):
            stack.callback(source.close)
        if following.webhook:
            hook = Webhook(following.webhook, say=_warn)
            stack.callback(hook.close)
        if following.metrics is not None:
            metrics = AlertMetrics(following.metrics, say=_warn)
            stack.callback(metrics.close)
        ready_to_print()
        source.check(stop.wanted)
        marked = None  # where rows are counted again after a restart they must be those that were counted before
        if isinstance(source, GrowingFile) and following.state is not None and following.windows_per_user is not None:
            marked = StateFile(following.state)
            if (held := marked.read()) is not None and held.mark:
                source.go_on_from(held.mark)
        if stop.wanted():
            raise KeyboardInterrupt("interrupted, nothing was spent")
        ledger, name = spending.opened(), following.name or "alert"
        options: dict[str, Any] = {"ledger": ledger, "state": following.state, "refund": refund, "name": name}
        about = "people" if not where else f"people where {where[0]}"
        options["about"] = "".join(mark if mark.isprintable() else " " for mark in about)[:LONGEST_LINE]
        options["fires"] = cast(Literal["above", "below"], following.fires or "above")
        with Alert(**public, windows=windows, **options) as alert:
            report = FollowReport(alert, as_json=as_json, name=name, hook=hook, metrics=metrics)
            place = NOT_RECORDED if ledger is None else recorded(alert.entry or 0, ledger.dataset)
            facts: dict[str, Any] = {
                "threshold": threshold,
                "fires": alert.fires,
                "cutoff": cutoff,
                "epsilon": exact_text(plan.epsilon),
            }
            facts |= {"method": plan.method, "margin": plan.margin, "windows": windows.settings()}
            report.start({**facts, "name": name, "sentence": plan.statement, "recorded": place})
            try:
                _answer_all(alert, source, report, stop, whole=over, marked=marked)
            except TableError as error:
                if source.gone:
                    alert.close()  # or the next start would go on without them
                raise TableError(f"{error}; what was answered is paid for") from None
            if not stop.wanted():
                alert.close()
        paused = stop.wanted() and following.state is not None
        went_back = False  # unless the ledger says so
        with suppress(LedgerError):
            went_back = ledger is not None and ledger.statement().refund_of(alert.entry or 0) is not None
        said = _spent(alert, paused=paused, went_back=went_back)
        if not stop.wanted():
            report.end(said)
    if stop.number == signal.SIGINT:
        raise KeyboardInterrupt(f"interrupted: {said}")
    if stop.number is not None:
        typer.echo(f"sparsegate: stopped: {said}", err=True)
        signal.raise_signal(stop.number)


def _warn(text: str) -> None:
    with suppress(OSError):  # the terminal may be gone, and the alert goes on
        typer.echo(f"sparsegate: {text}", err=True)


def _source(
    files: Sequence[str],
    following: Following,
    *,
    user: str,
    where: Sequence[str] | None,
    table: str | None,
    sql: str | None,
    form: TextForm,
) -> FollowedRows:
    if len(files) != 1:
        raise ParameterError("files", "must be one to be followed", len(files), "join the streams before")
    (file,), when = files, following.time or ""
    if "://" in file:
        if where:
            raise ParameterError("where", "must be in the query of a database", next_step="give --sql 'SELECT ...'")
        return PolledTable(file, table=table, sql=sql, user=user, time=when)
    for name, given in {"table": table, "sql": sql, "format": form.format, "encoding": form.encoding}.items():
        if given is not None:
            raise ParameterError(name, "must not be given to follow lines of text, which are UTF-8", given)
    if where and len(where) > 1:
        raise ParameterError("where", "must be given once to follow a stream", len(where), "join them with AND")
    named = file.lower().endswith((".jsonl", ".ndjson", ".json"))
    lines = FollowedLines(
        user=user, time=when, where=where[0] if where else None, separator=form.separator, json_lines=named
    )
    if file == "-":
        return StandardInputLines(lines)
    return GrowingFile(file, lines, restarts=following.windows_per_user is None)


def _answer_all(
    alert: Alert,
    source: FollowedRows,
    report: FollowReport,
    stop: Stopping,
    *,
    whole: bool,
    marked: StateFile | None,
) -> None:
    """Read and answer until the windows, the alert or the rows have an end, or somebody stops it."""
    windows = alert.windows
    assert windows is not None
    if whole and isinstance(source, StandardInputLines):
        alert.add_rows(source.read_to_end(stop.wanted))
    while not stop.wanted():
        now = time.time()
        first, closed = alert.next_window, windows.closed_by(now)
        due = alert.advance(now)  # the clock first: what has come by now counts
        if closed > first or not isinstance(source, PolledTable):
            edges = (windows.start + window * windows.width for window in (first, closed))
            alert.add_rows(source.read(*edges))
        if closed > first and marked is not None and isinstance(source, GrowingFile):
            marked.mark(source.mark())
        for answer in due:
            report.answer(answer)
            if stop.wanted():
                return
        if alert.closed or closed == windows.count or source.ended:
            return
        if not source.behind:
            stop.wait(min(_LOOK, max(0.0, windows.closing(alert.next_window) - time.time())))


def _spent(alert: Alert, *, paused: bool, went_back: bool) -> str:
    fired = sum(map(bool, alert.answers.values()))
    told = f"{counted(len(alert.answers), 'window')} answered, {fired} fired; epsilon {float(alert.spent):.6g} spent"
    if paused:
        return f"{told}, {exact_text(alert.epsilon)} stays reserved; the same command with its state file goes on"
    return f"{told} of {exact_text(alert.epsilon)}" + ", the rest went back" * went_back
