"""`sparsegate watch --follow`: files that grow, standard input, tables; what is said, stored, stopped and refused.

Counts are 0 or 400 against a threshold of 200 at epsilon 20: a wrong answer has a probability below e**-400.
"""

from __future__ import annotations

import json
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_options_formats import valid

from sparsegate.cli import follow
from sparsegate.ledger.ledger import Ledger

MANY = 400
DAY = "2026-03-01T00:"
ASK = ("--time", "at", "--window", "10m", "--user", "who", "-t", "200", "-c", "2", "--epsilon", "20")
HOUR = ("--from", "2026-03-01", "--until", "2026-03-01T01:00")
PAID = ("--ledger", "log.ledger", "--budget", "60", "--dataset", "log")


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


def test_an_hour_that_is_over_is_answered_window_by_window(command) -> None:
    code, out, err = command("watch", "--follow", "log.csv", *ASK, *HOUR)
    assert (code, err) == (0, "")
    assert fired(out) == [False, False, True, False, True]  # and there it closes
    assert out.startswith("a gate that fires at most 2 times: right with 95 %")
    assert f"FIRED  {DAY}20:00+00:00  (about 4" in out
    assert out.endswith("5 windows answered, 2 fired; epsilon 20 spent of 20\n")


def test_standard_input_is_read_to_its_end_where_all_windows_are_over(command) -> None:
    for text in (
        rows(1),
        "".join(
            json.dumps({"who": person, "at": f"{DAY}13:00", "status": 500}) + "\n" + "{broken\n" + "[1]\n"
            for person in range(MANY)
        ),
    ):
        code, out, err = command("watch", "--follow", "-", *ASK, *HOUR, stdin=text)
        assert (code, err, fired(out)) == (0, "", [False, True, False, False, False, False])


def test_only_rows_that_meet_the_condition_count(command, log: Path) -> None:
    log.write_text(rows(2) + rows(3, cells="", status=200))
    _, out, _ = command("watch", "--follow", "log.csv", *ASK, *HOUR, "--where", "CAST(status AS INTEGER) >= 500")
    assert fired(out) == [False, False, True, False, False, False]


def test_a_broken_line_of_one_person_takes_no_row_of_another(command, log: Path) -> None:
    log.write_bytes((rows() + f'{DAY}23:00,"u1\n').encode() + b"\xff,\xfe\n\n,,,,\n" + rows(2, cells="").encode())
    assert fired(command("watch", "--follow", "log.csv", *ASK, *HOUR)[1])[2]


def test_a_drop_fires_where_that_is_asked(command, log: Path) -> None:
    log.write_text(rows(0, 1, 2, 4, 5))
    _, out, _ = command("watch", "--follow", "log.csv", *ASK, *HOUR, "--fires", "below")
    assert fired(out) == [False, False, False, True, False, False]


def test_a_table_of_a_database_is_asked_for_each_window(command) -> None:
    with sqlite3.connect("log.db") as database:
        database.execute("CREATE TABLE visits (at TEXT, who TEXT)")
        read = [line.split(",")[:2] for line in rows(3).splitlines()[1:]]
        database.executemany("INSERT INTO visits VALUES (?, ?)", [*read, (f"{DAY}03", None), (b"x", "u1")])
    for source in (["--table", "visits"], ["--sql", "SELECT at, who FROM visits"]):
        code, out, err = command("watch", "--follow", "sqlite:///log.db", *ASK, *HOUR, *source)
        assert (code, err, fired(out)) == (0, "", [False, False, False, True, False, False])
    code, _, err = command("watch", "--follow", "sqlite:///log.db", *ASK, *HOUR, "--table", "visits", "--where", "x")
    assert (code, "--where must be in the query of a database" in err) == (2, True)
    code, _, err = command("watch", "--follow", "sqlite:///log.db", *ASK, *HOUR, "--table", "nothing", *PAID)
    assert code == 2
    assert not Path("log.ledger").exists()


class Clock:
    """A wall clock, and what is done while one waits: each wait is one step of a script."""

    def __init__(self, monkeypatch, now: str, *script: Any) -> None:
        self.now, self._script = follow.TimeWindows(width=1, start=now).start / follow.SECOND, list(script)
        monkeypatch.setattr(follow.time, "time", lambda: self.now)
        monkeypatch.setattr(follow.Stopping, "wait", self._wait)

    def _wait(self, seconds: float) -> None:
        self.now += 600
        self._script.pop(0)()


def appended(text: str, to: str = "log.csv") -> Any:
    def append() -> None:
        with Path(to).open("a") as file:
            file.write(text)

    return append


def test_a_file_that_grows_is_followed_by_the_wall_clock(command, monkeypatch, log: Path) -> None:
    log.write_text(rows())
    late = "".join(f"{DAY}01:00,late{person},500\n" for person in range(MANY))
    half = [f"{DAY}{minute}:00,v{person},500\n" for minute in ("05", "15") for person in range(MANY)]
    joined = "".join(half)
    Clock(
        monkeypatch,
        DAY + "00:00",
        appended(joined[: len(joined) // 2 + 7]),  # ends in the middle of a line
        appended(joined[len(joined) // 2 + 7 :] + late),
    )
    code, out, err = command("watch", "--follow", "log.csv", *ASK, "--json", *PAID)
    said = [json.loads(line) for line in out.splitlines()]
    assert all(map(valid, said))
    assert [part["fired"] for part in said if "fired" in part] == [True, True]
    assert [part["from"][11:16] for part in said if "from" in part] == ["00:00", "00:10"]
    assert said[-1]["ended"].startswith("2 windows answered, 2 fired; epsilon 1")  # at its cutoff, before the signal
    assert (code, err) == (0, "")


def test_an_alert_is_stopped_and_goes_on_with_its_state(command, monkeypatch, log: Path) -> None:
    given = ("watch", "--follow", "log.csv", *ASK, *PAID, "--state", "log.state", "--name", "errors")
    log.write_text(rows(0))
    before = signal.getsignal(signal.SIGTERM)
    Clock(monkeypatch, DAY + "00:00", lambda: None, lambda: signal.raise_signal(signal.SIGINT))
    code, out, err = command(*given)
    assert (code, fired(out)) == (130, [True])
    assert "20 stays reserved; the same command with its state file goes on" in err
    assert signal.getsignal(signal.SIGTERM) is before
    Clock(monkeypatch, DAY + "35:00")
    code, out, err = command(*given, "--until", DAY + "30")
    assert code == 2  # how many windows there are is a setting
    assert "method, most_windows, moved differs" in err
    Clock(monkeypatch, DAY + "25:00", lambda: signal.raise_signal(signal.SIGINT))
    code, out, _ = command(*given)
    assert fired(out) == [False]  # the one that was over meanwhile, and not the first one again
    with Ledger("log.ledger") as ledger:
        assert [entry.kind.value for entry in ledger.entries()] == ["budget", "spend"]
        assert [part["window"] for part in ledger.release(2).gave] == [0, 1]


def test_what_did_not_go_back_is_not_said_to(command, monkeypatch) -> None:
    def answered_elsewhere(*_: object) -> None:
        with Ledger("log.ledger") as ledger, ledger.database.writing() as connection:
            connection.exec_driver_sql("UPDATE gates SET asked = 1, above = 1")

    monkeypatch.setattr(follow.FollowReport, "start", answered_elsewhere)
    given = ("watch", "--follow", "-", *ASK, *PAID, "--state", "log.state")
    code, out, _ = command(*given, stdin="at,who,status\n")
    assert (code, out) == (0, "0 windows answered, 0 fired; epsilon 0 spent of 20\n")


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
    _, out, err = command("watch", "--follow", "log.csv", *ASK, *PAID)
    assert raised == [signal.SIGTERM]
    assert "sparsegate: stopped: 1 window answered, 0 fired; epsilon" in err
    with Ledger("log.ledger") as ledger:
        assert 0 < ledger.total_spent().epsilon < 10
    assert fired(out) == [False]


def test_numbers_for_prometheus_are_released_or_public(command) -> None:
    code, _, _ = command("watch", "--follow", "log.csv", *ASK, *HOUR, "--metrics", "numbers.prom", "--name", 'a"b')
    text = Path("numbers.prom").read_text()
    assert code == 0
    assert 'sparsegate_alert_windows_answered_total{alert="a\\"b"} 5\n' in text
    assert 'sparsegate_alert_windows_fired_total{alert="a\\"b"} 2\n' in text
    assert "log" not in text


def test_a_file_that_is_cut_short_is_read_anew_or_refused(command, monkeypatch, log: Path) -> None:
    log.write_text(rows(0))
    Clock(
        monkeypatch,
        DAY + "00:00",
        lambda: log.write_text(rows(1)[: -len(f"{DAY}50:00Z,u1,200\n")]),
        lambda: None,
    )
    assert fired(command("watch", "--follow", "log.csv", *ASK)[1]) == [True, True]
    log.write_text(rows(0))
    Clock(monkeypatch, DAY + "00:00", lambda: log.write_text(rows()))
    code, _, err = command("watch", "--follow", "log.csv", *ASK, "--windows-per-user", "1")
    assert (code, "was cut short or replaced" in err, "--windows-per-user" in err) == (2, True, True)
    for kept in ((), ("--no-refund",)):
        log.write_text(rows(0))
        name = f"cut{len(kept)}"
        given = ("watch", "--follow", "log.csv", *ASK, "--windows-per-user", "1", *PAID, *kept)
        given += ("--state", name, "--name", name)
        Clock(monkeypatch, DAY + "00:00", lambda: log.write_text(rows()))
        assert "was cut short or replaced" in command(*given)[2]
        code, out, err = command(*given)  # as a service manager does: people who counted would count again
        assert (code, out, "this alert is closed" in err) == (2, "", True)


@pytest.mark.parametrize("change", [lambda text: text.replace(",u7,", ",u8,", 1), lambda text: text[: len(text) // 2]])
def test_a_file_that_is_replaced_between_two_runs_is_refused_and_one_that_grew_is_not(
    command, monkeypatch, log: Path, change
) -> None:
    """People who counted in w windows would count in w more."""
    given = ("watch", "--follow", "log.csv", *ASK, "--windows-per-user", "1", *PAID, "--state", "kept")
    log.write_text(rows(0))
    Clock(monkeypatch, DAY + "00:00", lambda: None, lambda: signal.raise_signal(signal.SIGINT))
    command(*given)
    before = log.read_text()
    log.write_text(change(before))
    code, out, err = command(*given)
    assert (code, out, "was cut short or replaced" in err) == (2, "", True)
    log.write_text(before + rows(2, cells=""))
    Clock(monkeypatch, DAY + "30:00", lambda: signal.raise_signal(signal.SIGINT))
    _, out, _ = command(*given)
    assert fired(out)
    with Ledger("log.ledger") as ledger:
        assert len(ledger.entries()) == 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--window", "5 minutes"], "--window must be a duration"),
        (["--from", "soon"], "--from must be"),
        (["--until", "2026-02-01"], "--until must leave room"),
        (["--time", "when"], "no column 'when' in the header line"),
        (["--where", "statsu = '500'"], "no column 'statsu'"),
        (["--where", "status ="], "--where"),
        (["--where", "true", "--where", "true"], "--where must be given once"),
        (["--method", "counts", "--two-sided"], "--two-sided must not be given"),
        (["--fires", "never"], "--fires must be"),
        (["--webhook", "http://example.org/secret"], "--webhook must be https://"),
        (["--webhook", "https://me:pass@example.org/"], "without a name and a password"),
        (["--metrics", "no/such/folder/x"], "--metrics must be"),
        (["--metrics", "99999999"], "--metrics must be a port"),
        (["--state", "log.state"], "--state needs a ledger"),
        (["--conditions", "-"], "--conditions must not be given with --follow"),
        (["--unit", "row"], "--unit must not"),
        (["--encoding", "latin-1"], "--encoding must not be given"),
        (["--cutoff", "0"], "--cutoff must be"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_paid(command, options, told) -> None:
    paid = [] if "--state" in options else PAID
    code, out, err = command("watch", "--follow", "log.csv", *ASK, *HOUR, *paid, *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err
    assert "secret" not in err
    if paid and Path("log.ledger").exists():
        with Ledger("log.ledger") as ledger:
            assert len(ledger.entries()) == 1


def test_standard_input_cannot_be_asked_again(command) -> None:
    past = ("--from", "2026-03-01")
    assert "--from must not be over already" in command("watch", "--follow", "-", *ASK, *past)[2]
    given = (*ASK, *HOUR, *PAID, "--state", "x", "--windows-per-user", "1")
    assert "--state must not be given for standard input" in command("watch", "--follow", "-", *given)[2]
    assert "is no file" in command("watch", "--follow", "nothing.csv", *ASK)[2]
    assert "must be one to be followed" in command("watch", "--follow", "log.csv", "log.csv", *ASK)[2]
    assert "--user must be given" in command("watch", "--follow", "log.csv", *ASK[:4], *ASK[6:])[2]
    assert "--time must be given" in command("watch", "--follow", "log.csv", *ASK[4:], "--window", "1m")[2]
    assert "--window must be given" in command("watch", "--follow", "log.csv", *ASK[4:], "--time", "at")[2]
    assert "--time is for a stream" in command("watch", "log.csv", "--where", "true", *ASK[4:], "--time", "at")[2]


def test_a_log_that_is_rotated_is_read_to_its_end_and_then_the_new_one(command, monkeypatch, log: Path) -> None:
    log.write_text(rows())

    def rotate() -> None:
        appended(rows(0, cells=""))()
        log.rename("log.1")

    Clock(monkeypatch, DAY + "00:00", rotate, lambda: log.write_text(rows(1, 2, 3) * 2))
    assert fired(command("watch", "--follow", "log.csv", *ASK)[1]) == [True, True]


def test_a_source_that_fails_says_so_and_gives_back_the_rest(command, monkeypatch, log: Path) -> None:
    def replace() -> None:
        log.unlink()
        log.write_text("other,columns\n1,2\n")

    Clock(monkeypatch, DAY + "00:00", replace)
    code, _, err = command("watch", "--follow", "log.csv", *ASK, *PAID)
    assert (code, "no column 'who' in the header line" in err, "is paid for" in err) == (2, True, True)
    with Ledger("log.ledger") as ledger:
        assert ledger.total_spent().epsilon == 0
    Path("array.json").write_text("[\n{}\n]\n")
    assert "follow JSON lines" in command("watch", "--follow", "array.json", *ASK)[2]
