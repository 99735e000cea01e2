"""`sparsegate watch --follow`: the people in each window of a stream against a threshold, for as long as it runs."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self, cast

import typer

from sparsegate.budget import LONGEST_LINE
from sparsegate.cli.alert_messages import AlertMetrics, Webhook
from sparsegate.cli.followed_rows import (
    FollowedLines,
    FollowedRows,
    GrowingFile,
    StandardInputLines,
)
from sparsegate.cli.options import NOT_RECORDED, Spending, recorded
from sparsegate.cli.polled_table import PolledTable
from sparsegate.cli.printing import counted, print_json, ready_to_print, to_standard_output
from sparsegate.display.plain import exact_text
from sparsegate.errors import LedgerError, ParameterError, TableError
from sparsegate.tables.text_files import TextForm
from sparsegate.uses.alerts.alert_plan import Method, plan_alert
from sparsegate.uses.alerts.alert_record import AlertAnswer, StateFile
from sparsegate.uses.alerts.alerts import Alert
from sparsegate.uses.alerts.windows import SECOND, TimeWindows

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
    plan = plan_alert(**public, most_windows=windows.count)
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
            if (held := marked.read()) is not None and held.mark and not held.ended:
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
            report.start({**facts, "name": name, "sentence": plan.sentence, "recorded": place})
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
