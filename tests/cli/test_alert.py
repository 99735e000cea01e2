"""`sparsegate alert`: a file that grows, standard input; what is said, stored, stopped and refused.

Counts are 0 or 400 against a threshold of 200 at epsilon 20: a wrong answer has a probability below e**-400.
"""

from __future__ import annotations

import io
import json
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.display import valid

from sparsegate.cli import alert
from sparsegate.cli.alert import GrowingFile, RowReader, StandardInput, write_metrics
from sparsegate.ledger.ledger import Ledger

MANY = 400
DAY = "2026-03-01T00:"
ASK = ("--time", "at", "--window", "10m", "--user", "who", "-t", "200", "-c", "2", "--epsilon", "20")
ALERT = ("alert", "log.csv", *ASK)
HOUR = ("--from", "2026-03-01", "--until", "2026-03-01T01:00")
PAID = ("--ledger", "log.ledger", "--budget", "60", "--dataset", "log")
CUT = "was cut short or replaced"


def rows(*windows: int, cells: str = "at,who,status\n", status: int = 500) -> str:
    """A log with many people in each of these windows, each of them twice, and somebody in every other one."""
    lines = [f"{DAY}{10 * w + 3:02d}:00Z,u{person},{status}\n" * 2 for w in windows for person in range(MANY)]
    return cells + "".join([*lines, *(f"{DAY}{10 * w:02d}:00Z,u1,200\n" for w in range(6))])


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("log.csv")
    path.write_text(rows(2, 4))
    return path


def fired(out: str) -> list[bool]:
    return [line.startswith("FIRED") for line in out.splitlines() if line.startswith(("FIRED", "quiet"))]


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


class Clock:
    """A wall clock, and what is done while one waits: each wait is one step of a script."""

    def __init__(self, monkeypatch, now: str, *script: Any) -> None:
        self.now, self._script = alert.TimeWindows(width=1, start=now).start / alert.SECOND, list(script)
        monkeypatch.setattr(alert, "_now", lambda: self.now)
        monkeypatch.setattr(alert.Stopping, "wait", self._wait)

    def _wait(self, seconds: float) -> None:
        self.now += 600
        self._script.pop(0)()


def appended(text: str) -> Any:
    def append() -> None:
        with Path("log.csv").open("a") as file:
            file.write(text)

    return append


def test_an_hour_that_is_over_is_answered_window_by_window(command, capsys) -> None:
    code, out, err = command(*ALERT, *HOUR, "--metrics", "numbers.prom", "--name", 'a"b')
    assert (code, err) == (0, "")
    assert fired(out) == [False, False, True, False, True]  # and there it closes
    assert out.startswith("a gate that fires at most 2 times: right with 95 %")
    assert f"FIRED  {DAY}20:00+00:00  (about 4" in out
    assert out.endswith("5 windows answered, 2 fired; epsilon 20 spent of 20\n")
    numbers = Path("numbers.prom").read_text()
    assert 'sparsegate_alert_windows_answered_total{alert="a\\"b"} 5\n' in numbers
    assert "log" not in numbers
    write_metrics(Path("none/x.prom"), "errors", {"closed": 0.0})  # a full disk stops nothing
    assert capsys.readouterr().err == "sparsegate: the metrics cannot be written: No such file or directory\n"
    paid = ("--ledger", "z.ledger", "--budget", "60", "--conversion-delta", "1e-6", "--dataset", "log")
    out = command("alert", "-", *ASK, *HOUR, *paid, stdin="at,who,status\n")[1]
    assert out.endswith("0 fired; epsilon 20 spent, of which nothing goes back to a zCDP ledger\n")


def test_a_gate_for_each_city_and_a_person_in_the_first_of_theirs(command, log: Path) -> None:
    parts = ((0, "Rome"), (1, "Paris"), (2, "Rome"), (3, "Oslo"), (4, "Berlin"))
    lines = [f"{DAY}{10 * w + 3:02d}:00Z,u{person},{city}\n" for w, city in parts for person in range(MANY)]
    log.write_text("at,who,city\n" + "".join(lines))
    per = ("--per", "city", "--groups", "Rome,Paris,Berlin")
    code, out, err = command(*ALERT, *HOUR, *per, "--cells-per-user", "2", *PAID)
    assert (code, err) == (0, "")
    assert "3 cells, a person in 2 of them at most" in out
    assert fired(out) == [True, True, True, False, False, False]  # Berlin is the third city of everybody
    assert [line.split()[2] for line in out.splitlines() if line.startswith("FIRED")] == ["Rome", "Paris", "Rome"]
    told = [json.loads(line) for line in command(*ALERT, *HOUR, *per, "--json")[1].splitlines()]
    assert valid(*told)
    cells = [[cell for cell, _ in line.get("cells", [])] for line in told if "window" in line]
    assert cells == [["Rome"], [], ["Rome"], [], [], []]


def test_standard_input_is_read_to_its_end_where_all_windows_are_over(command) -> None:
    row = {"at": f"{DAY}13:00", "status": 500}
    lines = (json.dumps({"who": person, **row}) + "\n{broken\n[1]\n" for person in range(MANY))
    for text in (rows(1), "".join(lines)):
        code, out, err = command("alert", "-", *ASK, *HOUR, stdin=text)
        assert (code, err, fired(out)) == (0, "", [False, True, False, False, False, False])


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        (rows(2) + rows(3, cells="", status=200), ("--where", "CAST(status AS INTEGER) >= 500"), [2]),
        (rows() + f'{DAY}23:00,"u1\n\udcff,\udcfe\n\n,,,,\n' + rows(2, cells=""), (), [2]),
        (rows(0, 1, 2, 4, 5), ("--fires", "below"), [3]),
    ],
    ids=["a condition", "broken lines of one person", "a drop"],
)
def test_what_counts_and_what_fires(command, log: Path, text: str, options: tuple[str, ...], expected) -> None:
    log.write_bytes(text.encode("utf-8", "surrogateescape"))
    found = fired(command(*ALERT, *HOUR, *options)[1])
    assert [window for window, answer in enumerate(found) if answer] == expected


def test_a_file_that_grows_is_followed_by_the_wall_clock(command, monkeypatch, log: Path) -> None:
    log.write_text(rows())
    late = "".join(f"{DAY}01:00,late{person},500\n" for person in range(MANY))
    joined = "".join(f"{DAY}{minute}:00,v{person},500\n" for minute in ("05", "15") for person in range(MANY))
    middle = len(joined) // 2 + 7  # of a line
    Clock(monkeypatch, DAY + "00:00", appended(joined[:middle]), appended(joined[middle:] + late))
    code, out, err = command(*ALERT, "--json", *PAID)
    said = [json.loads(line) for line in out.splitlines()]
    assert valid(*said)
    assert [part["fired"] for part in said if "fired" in part] == [True, True]
    assert [part["from"][11:16] for part in said if "from" in part] == ["00:00", "00:10"]
    assert said[-1]["ended"].startswith("2 windows answered, 2 fired; epsilon 1")
    assert (code, err) == (0, "")


def test_an_alert_is_stopped_and_goes_on_with_its_state(command, refused, monkeypatch, log: Path) -> None:
    given = (*ALERT, *PAID, "--state", "log.state", "--name", "errors")
    log.write_text(rows(0))
    before = signal.getsignal(signal.SIGTERM)
    Clock(monkeypatch, DAY + "00:00", lambda: None, interrupt)
    code, out, err = command(*given)
    assert (code, fired(out)) == (130, [True])
    assert "20 stays reserved; the same command with its state file goes on" in err
    assert signal.getsignal(signal.SIGTERM) is before
    Clock(monkeypatch, DAY + "35:00")
    assert refused(*given, "--until", DAY + "30").startswith("--state must")  # how many there are is a setting
    Clock(monkeypatch, DAY + "25:00", interrupt)
    assert fired(command(*given)[1]) == [False]  # the one that was over meanwhile, and not the first one again
    with Ledger("log.ledger") as ledger:
        assert [entry.kind.value for entry in ledger.entries()] == ["budget", "spend"]
        assert [part["window"] for part in ledger.release(2).gave] == [0, 1]


def test_sigterm_says_what_was_spent_and_gives_back_the_rest(command, monkeypatch) -> None:
    Clock(monkeypatch, DAY + "00:00", lambda: None, lambda: signal.raise_signal(signal.SIGTERM))
    raised = []
    raise_signal = signal.raise_signal

    def note(number: int) -> None:
        if signal.getsignal(signal.SIGTERM).__qualname__.startswith("Stopping"):
            raise_signal(number)
        else:
            raised.append(number)

    monkeypatch.setattr(signal, "raise_signal", note)
    _, out, err = command(*ALERT, *PAID)
    assert (raised, fired(out)) == ([signal.SIGTERM], [False])
    assert "sparsegate: stopped: 1 window answered, 0 fired; epsilon" in err
    with Ledger("log.ledger") as ledger:
        assert 0 < ledger.total_spent().epsilon < 10


def test_a_file_that_is_cut_short_is_read_anew_or_refused(command, monkeypatch, log: Path) -> None:
    log.write_text(rows(0))
    shorter = rows(1)[: -len(f"{DAY}50:00Z,u1,200\n")]
    Clock(monkeypatch, DAY + "00:00", lambda: log.write_text(shorter), lambda: None)
    assert fired(command(*ALERT)[1]) == [True, True]
    for kept in ((), ("--no-refund",)):
        log.write_text(rows(0))
        name = f"cut{len(kept)}"
        given = (*ALERT, "--windows-per-user", "1", *PAID, *kept, "--state", name, "--name", name)
        Clock(monkeypatch, DAY + "00:00", lambda: log.write_text(rows()))
        assert CUT in command(*given)[2]
        code, out, err = command(*given)  # as a service manager does: people who counted would count again
        assert (code, out, "this alert is closed" in err) == (2, "", True)


@pytest.mark.parametrize(
    ("cut", "change"),
    [
        (("--windows-per-user", "1"), lambda text: text.replace(",u7,", ",u8,", 1)),
        (("--per", "status", "--groups", "200,500"), lambda text: text[: len(text) // 2]),
    ],
)
def test_a_file_that_is_replaced_between_two_runs_is_refused_and_one_that_grew_is_not(
    command, refused, monkeypatch, log: Path, change, cut
) -> None:
    """People who counted in w windows, or cells, would count in w more."""
    given = (*ALERT, *cut, *PAID, "--state", "kept")
    log.write_text(rows(0))
    Clock(monkeypatch, DAY + "00:00", lambda: None, interrupt)
    command(*given)
    before = log.read_text()
    log.write_text(change(before))
    assert CUT in refused(*given)
    log.write_text(before + rows(2, cells=""))
    Clock(monkeypatch, DAY + "30:00", interrupt)
    assert fired(command(*given)[1])
    with Ledger("log.ledger") as ledger:
        assert len(ledger.entries()) == 2


def test_a_log_that_is_rotated_is_read_to_its_end_and_then_the_new_one(command, monkeypatch, log: Path) -> None:
    log.write_text(rows())

    def rotate() -> None:
        appended(rows(0, cells=""))()
        log.rename("log.1")

    Clock(monkeypatch, DAY + "00:00", rotate, lambda: log.write_text(rows(1, 2, 3) * 2))
    assert fired(command(*ALERT)[1]) == [True, True]


def test_a_source_that_fails_says_so_and_gives_back_the_rest(command, refused, monkeypatch, log: Path) -> None:
    def replace() -> None:
        log.unlink()
        log.write_text("other,columns\n1,2\n")

    Clock(monkeypatch, DAY + "00:00", replace)
    code, _, err = command(*ALERT, *PAID)
    assert (code, "no column 'who' in the header line" in err, "is paid for" in err) == (2, True, True)
    with Ledger("log.ledger") as ledger:
        assert ledger.total_spent().epsilon == 0
    Path("array.json").write_text("[\n{}\n]\n")
    assert "follow JSON lines" in refused("alert", "array.json", *ASK)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--window", "5 minutes"], "--window must"),
        (["--time", "when"], "there is no column 'when'"),
        (["--where", "statsu = '500'"], "there is no column 'statsu'"),
        (["--where", "status ="], "--where must"),
        (["--method", "counts", "--two-sided"], "--two-sided must"),
        (["--metrics", "no/such/folder/x"], "--metrics must"),
        (["--per", "status"], "--groups must be given with --per"),
        (["--groups", "a,b"], "--per must be given with --groups"),
        (["--per", "city", "--groups", "a,b"], "there is no column 'city'"),
        (["--per", "status", "--groups", "a", "--windows-per-user", "2"], "--windows-per-user must"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_paid(refused, options, told) -> None:
    assert refused(*ALERT, *HOUR, *PAID, *options).startswith(told)
    assert not Path("log.ledger").exists() or len(Ledger("log.ledger").entries()) == 1


def test_a_state_needs_a_ledger_and_standard_input_cannot_be_asked_again(refused) -> None:
    assert refused(*ALERT, *HOUR, "--state", "log.state").startswith("--state needs a ledger")
    assert refused("alert", "-", *ASK, "--from", "2026-03-01").startswith("--from must not be over already")
    given = (*ASK, *HOUR, *PAID, "--state", "x", "--windows-per-user", "1")
    assert refused("alert", "-", *given).startswith("--state must not be given for standard input")
    assert "is no file" in refused("alert", "nothing.csv", *ASK)


LONGEST = alert._LONGEST


def reader(*, json_lines: bool = False, where: str | None = None) -> RowReader:
    return RowReader(user="who", time="at", where=where, separator=None, json_lines=json_lines)


@pytest.mark.parametrize("before", range(0, LONGEST - 99, LONGEST // 5))
def test_whether_a_long_line_counts_does_not_depend_on_what_others_wrote(tmp_path, before) -> None:
    """A line of more bytes than may be, and fewer characters: pieces of it end wherever the rows of others put them."""
    path, source = tmp_path / "log.jsonl", reader(json_lines=True)
    row = '{"who": "%s", "at": 1, "more": "%s"}\n'
    written = [row % ("a", "x" * before), row % ("long", "\u00e9" * (LONGEST * 3 // 4)), row % ("b", "")]
    path.write_text("".join(written), encoding="utf-8")
    file = GrowingFile(str(path), source, restarts=True)
    assert [who for who, _ in source.read(file.lines())] == ["a", "b"]
    file.close()


def test_lists_in_lists_and_a_broken_first_row_of_one_person_stop_nobody() -> None:
    """At some depths, just below those that cannot be read, a list can be read and not be written."""
    row = '{"who": %s, "at": 1, "status": %s}'
    deep = [row % (1, "[" * depth + "]" * depth) for depth in (*range(800, 1000), 100_000)]
    lines = [line.encode() for line in ['"who": "a", "at"', *deep, row % (2, 500)]]
    source = reader(json_lines=True, where="status = '500'")
    source.check(lines[0])
    assert list(source.read(lines)) == [(2, 1)]


def test_standard_input_says_when_more_waits_than_one_look_takes(monkeypatch) -> None:
    text = "at,who\n" + "1,a\n" * (alert._HELD + 5)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    source = StandardInput()
    assert source.first(lambda: False) == b"at,who\n"
    until = time.monotonic() + 20
    while source._waiting.qsize() < alert._HELD and time.monotonic() < until:
        time.sleep(0.01)
    assert len(list(source.lines())) == alert._HELD + 1
    assert source.behind  # so that nobody waits a second for the next ten thousand
    left = 0
    while not source.ended and time.monotonic() < until:
        left += len(list(source.lines()))
    assert (left, source.behind) == (5, False)


def test_all_that_came_while_it_waited_is_looked_at_together(monkeypatch) -> None:
    """A condition is tested on a batch: of a thousand lines, one at a time, each would cost a query."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"at,who\n" + b"1,a\n" * 1000)))
    source = StandardInput()
    assert source.first(lambda: False) == b"at,who\n"
    read, looks, until = 0, 0, time.monotonic() + 20
    while not source.ended and time.monotonic() < until:
        time.sleep(0.1)
        read, looks = read + len(list(source.lines(wait=5))), looks + 1
    assert read == 1001
    assert looks < 10


def test_each_alarm_is_paid_for_on_a_zcdp_ledger(command, refused) -> None:
    """With a margin of 12 a count 199 from the threshold is wrong with a probability below e**-30."""
    Ledger.create("log.ledger", dataset="log", budget=(100, 1e-6)).close()
    ask = ("alert", "log.csv", *ASK[:8], *HOUR, "--within", "12", "--ledger", "log.ledger")
    lines = [json.loads(line) for line in command(*ask, "--json")[1].splitlines()]
    assert valid(*lines)
    assert [line["fired"] for line in lines if "fired" in line] == [w in (2, 4) for w in range(6)]
    assert (lines[0]["record"]["cutoff"], lines[0]["record"]["expect"]) == (None, 10)
    with Ledger("log.ledger") as ledger:
        spent = ledger.statement().spent.rho
        assert spent == ledger.entries()[1].amount.rho + 2 * ledger.entries()[2].amount.rho
    assert f"rho {float(spent):.6g} spent" in lines[-1]["ended"]
    assert "--cutoff must be given, or --within" in refused(*ask[:-4])
    assert "must be an open zCDP ledger" in refused(*ask[:-2])
    assert "--per must not be given with --within" in refused(*ask, "--per", "city", "--groups", "A,B")
    new = (*ask[:-1], "new.ledger", "--budget", "1", "--dataset", "log")
    assert "--conversion-delta must be given with --within and --budget" in refused(*new)
    assert not Ledger.exists("new.ledger")
