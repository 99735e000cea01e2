"""`sparsegate alert`: the people in each window of a stream against a threshold, for as long as it runs.

**One line, one row.** A line is read by itself, and what cannot be read is left out: an open quote or a broken cell of
one person cannot swallow the row of another. So a cell has no line break in it. A last line without its end is not
there yet.

**What counts is what was there at a public moment.** Of a file that is its size then; of standard input the lines that
had been read. What is written while rows are read comes next.
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
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, Self

import numpy as np
import typer

from sparsegate.budget import LONGEST_LINE
from sparsegate.cli import options as opt
from sparsegate.cli.options import option
from sparsegate.cli.printing import counted, print_json, ready_to_print, to_standard_output
from sparsegate.display.plain import exact_text, printable
from sparsegate.errors import LedgerError, ParameterError, TableError
from sparsegate.uses.alerts import Alert, AlertAnswer, StateFile
from sparsegate.uses.windows import SECOND, TimeWindows

_PUBLIC: Final = ["threshold", "cutoff", "epsilon", "within", "expect", "windows_per_user", "method", "cells_per_user"]
_RECORDED: Final = ("cells", "cells_per_user", "expect", "opening_rho", "alarm_rho")  # of the plan, where it is so
Row = tuple[Any, ...]  # who, and when, and with --per in which cell

_PIECE: Final = 1 << 20
_LONGEST: Final = 1 << 20  # bytes of a line; a longer one is left out
_HELD: Final = 10_000  # rows that are tested at once, and lines of standard input that wait to be looked at
_LOOK: Final = 1.0  # seconds between two looks at a file
_STEP: Final = 0.2  # between two looks at whether somebody wants to stop


@opt.grouped
def alert(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="CSV or JSON lines that grow; - standard input.")],
    threshold: Annotated[int, option("", "A PUBLIC number of people.", "--threshold", "-t")],
    user: Annotated[str, option("COLUMN", "Whose rows belong together.")],
    time: Annotated[str, option("COLUMN", "When a row happened: ISO 8601, or seconds; UTC.")],
    width: Annotated[str, option("DURATION", "How long one is: 30s, 5m, 1h, 1d.", "--window")],
    cutoff: Annotated[int | None, option("", "Close after it fired this often.", "--cutoff", "-c")] = None,
    epsilon: Annotated[float | None, option("", "The privacy loss of all windows together.")] = None,
    within: Annotated[
        float | None, option("PEOPLE", "Instead of both, on a zCDP ledger: the margin; each alarm is paid for.")
    ] = None,
    expect: Annotated[int | None, option("", "With --within: how many alarms the noise is chosen for; 10.")] = None,
    where: opt.Where = None,
    fires: Annotated[str, option("above|below", "above: the threshold or more. below: or less.")] = "above",
    start: Annotated[str | None, option("TIME", "Where the first begins; else the one that runs.", "--from")] = None,
    until: Annotated[str | None, option("TIME", "Where the last ends; else there is none.")] = None,
    lateness: Annotated[str, option("DURATION", "How long it waits for late rows: 1m.")] = "0s",
    windows_per_user: Annotated[int | None, option("", "A person counts in this many windows, the earliest.")] = None,
    per: Annotated[str | None, option("COLUMN", "A gate for every cell, such as a city: --cutoff of each.")] = None,
    groups: Annotated[str | None, option("FILE[:COLUMN]|LIST", "With --per, the PUBLIC cells: DE,FR or 1..99.")] = None,
    cells_per_user: Annotated[
        int | None, option("M", "A person counts in M cells, the first, at epsilon / M; 1.")
    ] = None,
    method: Annotated[str, option("auto|gate|counts", "See docs/how-to/alerts.md.")] = "auto",
    closes: Annotated[bool, option("", "Close when both answers were given --cutoff times.", "--two-sided")] = False,
    name: Annotated[str, option("NAME", "On the ledger and in the metrics.")] = "alert",
    state: Annotated[str | None, option("FILE", "A secret file, to go on after a restart.")] = None,
    *,
    account: opt.LedgerOptions,
    no_refund: opt.NoRefund = False,
    separator: opt.Separator = None,
    metrics: Annotated[Path | None, option("FILE", "Numbers for Prometheus.")] = None,
    as_json: opt.JsonLines = False,
) -> None:
    """When do the people in a window of a stream pass a threshold? Pays for windows that fire, --cutoff of them.

    Or without a limit, with --within: on a zCDP ledger each alarm is paid for when it fires.

    It ends with the last window, the last that may fire, the end of standard input, or Ctrl-C. To tell others of what
    fires, pipe its output: see docs/how-to/alerts.md.
    """
    options = locals()
    spending = opt.Spending(account=account)
    now = _now()
    windows = _windows(width, start, until, lateness, state=state, now=now)
    over = windows.count is not None and windows.closed_by(now) == windows.count
    if per is not None and within is not None:
        rule = "must not be given with --within: one gate pays for each alarm by itself"
        raise ParameterError("per", rule, per, "leave it out, or give --cutoff and --epsilon in place of --within")
    if within is not None and account.budget is not None and account.conversion_delta is None:
        # A ledger that is made has its rule.
        rule = "must be given with --within and --budget: each alarm is paid for on a zCDP ledger"
        raise ParameterError("conversion_delta", rule, next_step="give for instance --conversion-delta 1e-6")
    public: dict[str, Any] = {name: options[name] for name in _PUBLIC}
    public |= {"closes": "rarer" if closes else "above", "cells": _public_cells(per, groups)}
    cut = windows_per_user is not None or per is not None  # who has counted where is known from all rows alone
    plan = Alert.preview(**public, windows=windows)
    if file == "-" and windows.closed_by(now) and not over:
        rule = "must not be over already for standard input, unless all windows are"
        raise ParameterError("start", rule, start, "leave out --from, or give --until as well")
    if file == "-" and state is not None and cut:
        option_name = "--per" if per is not None else "--windows-per-user"
        rule = f"must not be given for standard input with {option_name}: who has counted is known from all rows"
        raise ParameterError("state", rule, state, "follow a file")
    if metrics is not None and (metrics.is_dir() or not metrics.absolute().parent.is_dir()):
        raise ParameterError("metrics", "must be a file in a folder that is there", str(metrics))
    json_lines = file.lower().endswith((".jsonl", ".ndjson", ".json"))
    rows = RowReader(user=user, time=time, per=per, where=where, separator=separator, json_lines=json_lines)
    with Stopping() as stop, ExitStack() as stack:
        source = StandardInput() if file == "-" else GrowingFile(file, rows, restarts=not cut)
        stack.callback(source.close)
        ready_to_print()
        rows.check(source.first(stop.wanted))
        marked = None  # where rows are counted again after a restart they must be those that were counted before
        if isinstance(source, GrowingFile) and state is not None and cut:
            marked = StateFile(state)
            if (held := marked.read()) is not None and held.mark:
                source.go_on_from(held.mark)
        if stop.wanted():
            raise KeyboardInterrupt("interrupted, nothing was spent")
        ledger = spending.opened()
        about = "people" + f" in each {per}" * (per is not None) + f" where {where}" * (where is not None)
        about = "".join(mark if mark.isprintable() else " " for mark in about)[:LONGEST_LINE]
        public |= {"windows": windows, "fires": fires, "about": about, "name": name}
        with Alert(**public, ledger=ledger, state=state, refund=not no_refund) as watched:
            report = AlertReport(watched, as_json=as_json, name=name, metrics=metrics)
            record = {"threshold": threshold, "fires": fires, "cutoff": cutoff, "epsilon": exact_text(plan.epsilon)}
            record |= {"method": plan.method, "margin": plan.margin, "windows": windows.settings(), "name": name}
            record |= {word: plan.settings[word] for word in _RECORDED if word in plan.settings}
            place = opt.NOT_RECORDED if ledger is None else opt.recorded(watched.entry or 0, ledger.dataset)
            report.start(record | {"sentence": plan.statement, "recorded": place})
            try:
                _answer_all(watched, rows, source, report, stop, to_end=over, marked=marked)
            except TableError as error:
                if source.gone:
                    watched.close()  # or the next start would go on without them
                raise TableError(f"{error}; what was answered is paid for") from None
            if not stop.wanted():
                watched.close()
        went_back = False  # unless the ledger says so
        with suppress(LedgerError):
            went_back = ledger is not None and ledger.statement().refund_of(watched.entry or 0) is not None
        text = _spent(watched, paused=stop.wanted() and state is not None, went_back=went_back)
        if not stop.wanted():
            report.end(text)
    if stop.number == signal.SIGINT:
        raise KeyboardInterrupt(f"interrupted: {text}")
    if stop.number is not None:
        typer.echo(f"sparsegate: stopped: {text}", err=True)
        signal.raise_signal(stop.number)


def _now() -> float:
    return time.time()


def _public_cells(per: str | None, groups: str | None) -> list[str] | None:
    if (per is None) != (groups is None):
        name, other = ("per", "groups") if per is None else ("groups", "per")
        raise ParameterError(name, f"must be given with --{other}", next_step="give --per city --groups Berlin,Paris")
    if per is None or groups is None:
        return None
    from sparsegate.cli.top import read_groups
    from sparsegate.tables.groups import public_groups
    from sparsegate.tables.labels import STRING

    return list(public_groups(read_groups(groups), per, STRING))


def _windows(
    width: str, start: str | None, until: str | None, lateness: str, *, state: str | None, now: float
) -> TimeWindows:
    """The windows of time; without a start those of the state file, or from the one that runs now."""
    first: str | float | None = start
    if first is None and state is not None and (held := StateFile(state).read()) is not None:
        first = (held.settings.get("windows") or {}).get("start")
    if first is None:
        step = TimeWindows(width=width, start=0).width
        first = int(now * SECOND) // step * step / SECOND
    return TimeWindows(width=width, start=first, lateness=lateness, until=until)


def _answer_all(
    alert: Alert,
    rows: RowReader,
    source: GrowingFile | StandardInput,
    report: AlertReport,
    stop: Stopping,
    *,
    to_end: bool,
    marked: StateFile | None,
) -> None:
    """Read and answer until the windows, the alert or the rows have an end, or somebody stops it.

    ``to_end``: all windows are over, so all that standard input has counts.
    """
    windows = alert.windows
    assert windows is not None
    while to_end and isinstance(source, StandardInput) and not source.ended and not stop.wanted():
        alert.add_rows(rows.read(source.lines(wait=_STEP)))
    while not stop.wanted():
        now = _now()
        first, closed = alert.next_window, windows.closed_by(now)
        due = alert.advance(now)  # the clock first: what has come by now counts
        alert.add_rows(rows.read(source.lines()))
        if closed > first and marked is not None and isinstance(source, GrowingFile):
            marked.mark(source.mark())
        for answer in due:
            report.answer(answer)
            if stop.wanted():
                return
        if alert.closed or closed == windows.count or source.ended:
            return
        if not source.behind:
            stop.wait(min(_LOOK, max(0.0, windows.closing(alert.next_window) - _now())))


def _spent(alert: Alert, *, paused: bool, went_back: bool) -> str:
    fired = sum(map(bool, alert.answers.values()))
    text = f"{counted(len(alert.answers), 'window')} answered, {fired} fired; "
    goes_on = "; the same command with its state file goes on" * paused
    if alert.rho_spent is not None:
        reserved = ", and another alarm stays reserved" * (alert.epsilon > alert.spent)
        return f"{text}rho {float(alert.rho_spent):.6g} spent{reserved}{goes_on}"
    text += f"epsilon {float(alert.spent):.6g} spent"
    if alert.whole:
        return f"{text}, of which nothing goes back to a zCDP ledger{goes_on}"
    if paused:
        return f"{text}, {exact_text(alert.epsilon)} stays reserved{goes_on}"
    return f"{text} of {exact_text(alert.epsilon)}" + ", the rest went back" * went_back


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
        return self.number is not None

    def wait(self, seconds: float) -> None:
        """Wait, but no longer than until somebody wants to stop."""
        until = time.monotonic() + seconds
        while not self.wanted() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _STEP))


class AlertReport:
    """Prints each answer, and writes numbers for Prometheus to a file.

    They are what was released, and public numbers. They change when an answer has been given, so that looking at them
    tells nothing new.
    """

    def __init__(self, alert: Alert, *, as_json: bool, name: str, metrics: Path | None) -> None:
        self._alert, self._json, self._name, self._metrics = alert, as_json, name, metrics

    def start(self, record: Mapping[str, Any]) -> None:
        self._print({"record": dict(record)}, f"{record['sentence']}\n{record['recorded']}")

    def answer(self, answer: AlertAnswer) -> None:
        assert self._alert.windows is not None
        label = self._alert.windows.label
        part = {"name": self._name, "from": label(answer.window), "to": label(answer.window + 1), **answer.to_dict()}
        word = f"{'FIRED' if answer.fired else 'quiet'}  {part['from']}"
        lines = []
        for cell, estimate in answer.cells or [("", answer.estimate)]:
            about = "" if estimate is None else f"  (about {estimate:,}, standard error {answer.standard_error:,})"
            lines.append(word + f"  {printable(cell)}" * bool(answer.cells) + about)
        self._print(part, "\n".join(lines))

    def end(self, text: str) -> None:
        answers = self._alert.answers
        numbers = {"answered": len(answers), "fired_in_all": sum(map(bool, answers.values()))}
        self._print({"ended": text, **numbers, "spent": exact_text(self._alert.spent)}, text)

    def _print(self, part: Mapping[str, Any], text: str) -> None:
        with to_standard_output(""):
            print_json(part, schema="alert", indent=None) if self._json else typer.echo(text)
        if self._metrics is not None:
            write_metrics(self._metrics, self._name, self._alert.facts())


def write_metrics(path: Path, name: str, facts: Mapping[str, float]) -> None:
    """Replace a file of numbers in the text format of Prometheus; a full disk does not stop the alert."""
    escaped = name.replace("\\", r"\\").replace('"', r"\"")
    lines = []
    for fact, value in facts.items():
        kind = "counter" if fact.startswith("windows_") else "gauge"
        full = f"sparsegate_alert_{fact}" + "_total" * (kind == "counter")
        lines += [f"# TYPE {full} {kind}", f'{full}{{alert="{escaped}"}} {value!r}']
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        draft.write_text("\n".join(lines) + "\n", encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):  # the terminal may be gone, too
            typer.echo(f"sparsegate: the metrics cannot be written: {error.strerror}", err=True)


class RowReader:
    """Lines of CSV or JSON as rows; the first line, or the ending of the file's name, tells which of the two."""

    def __init__(
        self,
        *,
        user: str,
        time: str,
        where: str | None,
        separator: str | None,
        json_lines: bool,
        per: str | None = None,
    ) -> None:
        self._user, self._time, self._separator, self._json = user, time, separator, json_lines
        self._per = () if per is None else (per,)
        self._names: list[str] | None = [] if json_lines else None
        self._test = None if where is None else RowTest(where)

    def check(self, line: bytes) -> None:
        """Refuse a first line that is no header and no row, before anything is paid; any other row may be broken."""
        if line:
            self._begin(_text_of(line))
            if self._json and _text_of(line).lstrip("\ufeff \t").startswith("["):
                raise TableError("the first line begins an array; follow JSON lines, with an object on each, or CSV")
            self.renew()

    def renew(self) -> None:
        """The next line is the first of a new file."""
        self._names = [] if self._json else None

    def read(self, lines: Iterable[bytes]) -> Iterator[Row]:
        """Who, when and in which cell of the lines whose rows match."""
        rows = self._rows(map(_text_of, lines))
        while batch := list(islice(rows, _HELD)):
            for cells in batch if self._test is None else self._test.matching(batch):
                user = cells.get(self._user)
                yield None if user == "" else user, cells.get(self._time), *(_cell(cells.get(n)) for n in self._per)

    def _rows(self, lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
        for line in lines:
            if self._names is None:
                self._begin(line)
                if not self._json:
                    continue
            with suppress(Exception):  # a cell of one person must not stop the alert
                if not self._json:
                    cells = next(csv.reader([line.rstrip("\r\n")], delimiter=self._separator or ","), [])
                    row = dict(zip(self._names or (), cells, strict=False))
                elif not isinstance(row := json.loads(line), dict):
                    continue
                yield row

    def _begin(self, line: str) -> None:
        if self._json or line.lstrip("\ufeff \t").startswith("{"):
            self._json, self._names = True, []
            return
        text = line.lstrip("\ufeff").rstrip("\r\n")
        if self._separator is None:
            self._separator = "\t" if "\t" in text and "," not in text else ","
        self._names = next(csv.reader([text], delimiter=self._separator), [])
        for name in (self._user, self._time, *self._per, *(() if self._test is None else self._test.names)):
            if name not in self._names:
                raise TableError(f"there is no column {name!r} in the header line; write its name as it is there")


def _text_of(line: bytes) -> str:
    """A line as text; one that is too long, counted in bytes because not all of it was held, is empty."""
    return line.decode("utf-8", "replace") if len(line) <= _LONGEST else ""


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
        from sparsegate.tables.columns import identifier
        from sparsegate.tables.engine_errors import quiet
        from sparsegate.tables.matching import Matching

        held = {f"c{n}": np.array([_cell(row.get(name)) for row in rows], object) for n, name in enumerate(self.names)}
        held["place"] = np.arange(len(rows))
        place = identifier("sparsegate: the place of a row")
        casts = [f"CAST(c{n} AS VARCHAR) AS {identifier(name)}" for n, name in enumerate(self.names)]
        self._connection.register("held", held)
        with quiet("the rows cannot be tested"):
            relation = self._connection.sql(f"SELECT {', '.join([*casts, f'place AS {place}'])} FROM held")
            places = Matching(relation).rows(self._where).project(place).fetchall()
        return [rows[place] for (place,) in places]


def _cell(cell: Any) -> str | None:
    if cell is None:
        return None
    try:
        text = cell if isinstance(cell, str) else json.dumps(cell)
        return text.encode("utf-8", "replace").decode()
    except Exception:  # lists in lists that can be read and not written: a cell of one person must not stop the alert
        return None


class GrowingFile:
    """A file to which others write. One that was cut short, or replaced, is read from its beginning, or refused.

    It is held open: what was written to the end of a file that was moved away is read before the new one is. With
    ``restarts`` another file may take its place, as when a log is rotated.
    """

    behind = ended = gone = False

    def __init__(self, path: str, rows: RowReader, *, restarts: bool) -> None:
        self._path, self._rows, self._restarts = Path(path), rows, restarts
        self._at, self._rest, self._digest = 0, b"", hashlib.sha256()
        if not self._path.is_file():
            raise TableError(f"{path} is no file; name a file of CSV or JSON lines that grows, or - for standard input")
        try:
            self._file = self._path.open("rb")
        except OSError as error:
            raise self._unread(error) from None

    def first(self, stopped: Callable[[], bool]) -> bytes:
        """The first line, if it is there; it is read again."""
        line = self._file.readline(_LONGEST)
        return line if line.endswith(b"\n") else b""

    def mark(self) -> str:
        """How many bytes were read, and their digest, which is as secret as they are."""
        return f"{self._at} {self._digest.hexdigest()}"

    def go_on_from(self, mark: str) -> None:
        """Refuse a file that does not begin with what was read when the mark was made."""
        left, digest = int(size) if (size := mark.partition(" ")[0]).isdecimal() else 0, hashlib.sha256()
        try:
            with self._path.open("rb") as file:
                while left and (piece := file.read(min(_PIECE, left))):
                    digest.update(piece)
                    left -= len(piece)
        except OSError as error:
            raise self._unread(error) from None
        if left or mark != f"{size} {digest.hexdigest()}":
            raise self._gone()

    def lines(self) -> Iterator[bytes]:
        try:
            held = os.fstat(self._file.fileno())  # now: what is written while it is read comes next
            with suppress(FileNotFoundError):  # moved away, and the new one is not there yet
                present = self._path.stat()
                if (present.st_ino, present.st_dev) != (held.st_ino, held.st_dev):
                    yield from self._new_lines(held.st_size)
                    self._file.close()
                    self._file = self._path.open("rb")
                    self._begin_again()
                    held = present
            if held.st_size < self._at:
                self._begin_again()
            yield from self._new_lines(held.st_size)
        except OSError as error:
            raise self._unread(error) from None

    def close(self) -> None:
        self._file.close()

    def _unread(self, error: OSError) -> TableError:
        return TableError(f"{self._path} cannot be read: {error.strerror}")

    def _begin_again(self) -> None:
        if not self._restarts:
            raise self._gone()
        self._at, self._rest, self._digest = 0, b"", hashlib.sha256()
        self._rows.renew()

    def _gone(self) -> TableError:
        self.gone = True
        return TableError(
            f"{self._path} was cut short or replaced: rows that were counted are gone, and who has counted in how many "
            "windows or cells cannot be known after a restart; follow a file that only grows, or leave out "
            "--windows-per-user and --per"
        )

    def _new_lines(self, size: int) -> Iterator[bytes]:
        self._file.seek(self._at)
        while self._at < size and (piece := self._file.read(min(_PIECE, size - self._at))):
            self._at += len(piece)
            self._digest.update(piece)
            *whole, rest = (self._rest + piece).split(b"\n")
            self._rest = rest[: _LONGEST + 1]  # enough to be too long
            yield from whole


class StandardInput:
    """Lines that a thread reads as they come."""

    behind = ended = gone = False

    def __init__(self) -> None:
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise TableError("standard input cannot be read here; name a file")
        self._first: list[bytes] = []
        self._waiting: queue.Queue[bytes] = queue.Queue(_HELD)
        threading.Thread(target=self._fill, args=(stream,), daemon=True).start()

    def _fill(self, stream: Iterable[bytes]) -> None:
        try:
            for line in stream:
                self._waiting.put(line)
        finally:
            self._waiting.put(b"")  # the end

    def first(self, stopped: Callable[[], bool]) -> bytes:
        """The first line, as soon as it is there; it is given again."""
        while not self._first and not self.ended and not stopped():
            self._first = list(islice(self.lines(wait=_STEP), 1))
        return b"".join(self._first)

    def lines(self, wait: float = 0) -> Iterator[bytes]:
        """What has come; with ``wait``, once anything comes."""
        first, self._first = self._first, []
        yield from first
        waiting = self._waiting.qsize()
        self.behind = waiting >= _HELD  # whoever writes waits for us
        for place in range(max(waiting, 1) if wait else waiting):
            try:
                line = self._waiting.get(timeout=wait) if wait and not place else self._waiting.get_nowait()
            except queue.Empty:
                return
            if not line:
                self.ended = True
                return
            yield line

    def close(self) -> None:
        """Nothing: the thread ends with the process."""
