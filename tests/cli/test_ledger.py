"""`sparsegate ledger`: what it shows and exports, and that a budget is raised on record.

And what was paid for is printed again, however the first printing ended. Scores and epsilon there are those of
test_top: nothing fails by chance.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from tests.cli.conftest import ABOVE, ASK, PAGES, Command

import sparsegate as sg
from sparsegate.ledger.ledger import Ledger

TOP = ("top", "visits.csv", *ASK, "--domain", "pages.csv", "--ledger", "x.ledger")
WATCH = ("watch", "visits.csv", "--threshold", "500", "--cutoff", "2", "--epsilon", "10", "--user", "visitor")
CONDITIONS = [f"page = '{page}'" for page in ("/home", "/no", "/pay")]
LISTED = (*WATCH, "--ledger", "x.ledger", *(word for text in CONDITIONS for word in ("--where", text)))
FULL = Path("/dev/full")
PROGRAM = [sys.executable, "-c", "from sparsegate.cli import main; main()"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "visits.ledger"
    ledger = Ledger.create(path, dataset="visits", budget=2, budget_delta=1e-6)
    ledger.spend(epsilon=0.5, what="top 50 of page, unit user, method exponential, domain list")
    ledger.spend(epsilon=Fraction(1, 3), delta=1e-7, what="[bold]not markup[/bold]")
    return path


def test_show_says_what_is_spent_and_what_remains(command, path: Path) -> None:
    code, out, err = command("ledger", "show", path)
    assert (code, err) == (0, "")
    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.strip()}
    assert lines["dataset"] == ["visits"]
    assert lines["budget"] == ["epsilon", "2,", "delta", "0.000001"]
    assert lines["spent"] == ["epsilon", "5/6,", "delta", "0.0000001"]
    assert lines["remaining"] == ["epsilon", "7/6,", "delta", "0.0000009"]
    assert "[bold]not markup[/bold]" in out


def test_show_fits_eighty_columns(command, path: Path) -> None:
    assert max(len(line.rstrip()) for line in command("ledger", "show", path)[1].splitlines()) <= 80


def test_show_json_holds_the_sums_and_every_entry_exactly(command, path: Path) -> None:
    shown = json.loads(command("ledger", "show", path, "--json")[1])
    assert shown["spent"] == {"epsilon": "5/6", "delta": "0.0000001"}
    assert [entry["epsilon"] for entry in shown["entries"]] == ["2", "0.5", "1/3"]


def test_export_is_csv_and_json_is_the_same(command, path: Path) -> None:
    rows = list(csv.DictReader(command("ledger", "export", path)[1].splitlines()))
    records = json.loads(command("ledger", "export", path, "--json")[1])
    assert {record.pop("schema") for record in records} == {"sparsegate/entry/1"}
    assert rows == [{name: "" if value is None else str(value) for name, value in record.items()} for record in records]
    assert [row["kind"] for row in rows] == ["budget", "spend", "spend"]


def test_raise_is_recorded_with_its_reason(command, path: Path) -> None:
    code, out, _ = command("ledger", "raise", path, "--budget", "3", "--why", "agreed on 3 May")
    assert (code, out) == (0, "visits: the budget is now epsilon 3, delta 0.000001\n")
    assert Ledger(path).entries()[-1].what == "agreed on 3 May"


@pytest.mark.parametrize("budget", ["1", "2", "nan", "-1"])
def test_a_budget_that_is_not_larger_is_refused(command, path: Path, budget: str) -> None:
    code, out, err = command("ledger", "raise", path, "--budget", budget, "--why", "a slip")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert len(Ledger(path).entries()) == 3


@pytest.mark.parametrize("verb", ["show", "export"])
def test_a_ledger_that_is_missing_or_something_else_is_one_line(command, tmp_path: Path, verb: str) -> None:
    other = tmp_path / "other"
    other.write_text("SECRET,1\n")
    for file in (tmp_path / "missing", other):
        code, out, err = command("ledger", verb, file)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "SECRET" not in err


@pytest.fixture
def ledger(folder: Path) -> Ledger:
    return Ledger.create("x.ledger", dataset="visits", budget=500, budget_delta=1e-3)


@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",)], ids=["table", "json", "csv"])
@pytest.mark.parametrize(
    "options",
    [
        (*TOP,),
        ("itemsets", *TOP[1:], "--size", "2", "--answers-epsilon", "9"),
        ("top", "visits.csv", *ASK, "--ledger", "x.ledger", "--domain", "observed", "--delta", "1e-6"),
        ("top", "visits.csv", *ABOVE, "--answers-epsilon", "9", "--ledger", "x.ledger"),
    ],
    ids=["plain", "counted sets", "observed", "above"],
)
def test_what_top_gave_is_printed_again_as_it_was(
    command: Command, ledger: Ledger, options: tuple[str, ...], form: tuple[str, ...]
) -> None:
    code, out, _ = command(*options, *form)
    assert code == 0
    assert out
    assert command("ledger", "show", "x.ledger", "--release", 2, *form) == (0, out, "")


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["lines", "json"])
def test_what_watch_gave_is_printed_again_as_it_was(command: Command, ledger: Ledger, form: tuple[str, ...]) -> None:
    _, out, _ = command(*LISTED, *form)
    assert len(out.splitlines()) == 6 - bool(form)
    assert command("ledger", "show", "x.ledger", "--release", 2, *form) == (0, out, "")
    bad = "page = (SELECT 1)\ntrue\n"
    _, out, err = command(*WATCH, "--ledger", "x.ledger", "--conditions", "-", *form, stdin=bad)
    assert "sparsegate:" in err
    assert command("ledger", "show", "x.ledger", "--release", 3, *form) == (0, out, "")  # the first gate left nothing


@pytest.mark.parametrize("word", ["watch", "top_items"])
def test_a_word_of_ours_in_what_was_kept_by_hand_is_printed_as_it_is(
    command: Command, ledger: Ledger, word: str
) -> None:
    kept = {"release": word, "value": 3}
    ledger.keep(ledger.spend(epsilon=0.5, what="by another library"), kept)
    code, out, err = command("ledger", "show", "x.ledger", "--release", "2")
    assert (code, err) == (0, "")
    assert json.loads(out.splitlines()[-1]) == kept


def test_what_is_kept_by_hand_beside_watched_answers_is_no_answer(command: Command, ledger: Ledger) -> None:
    assert command(*LISTED)[0] == 0
    ledger.keep(2, {"note": "seen by the board"})
    assert command("ledger", "show", "x.ledger", "--release", "2")[1].endswith('{"note": "seen by the board"}\n')


def test_other_releases_are_printed_as_they_were_kept(command: Command, ledger: Ledger) -> None:
    value = sg.laplace(1000, epsilon=0.5, sensitivity=1, ledger=ledger)
    sg.SparseVector(threshold=1, cutoff=1, epsilon=0.5, sensitivity=1, ledger=ledger)
    _, out, _ = command("ledger", "show", "x.ledger", "--release", 2)
    first, second = out.splitlines()
    assert first == "one number with Laplace noise, sensitivity 1, epsilon 0.5, entry 2 of the ledger of 'visits'"
    assert json.loads(second) == {"release": "laplace", "value": value}
    found = json.loads(command("ledger", "show", "x.ledger", "--release", 2, "--json")[1])
    assert (found["entry"]["number"], found["gave"][0]["value"]) == (2, value)
    assert "nothing is kept with it" in command("ledger", "show", "x.ledger", "--release", 3)[1]


@pytest.mark.parametrize(
    "options", [("--release", "1"), ("--release", "9"), ("--csv",), ("--release", "2", "--csv"), ("--release", "two")]
)
def test_a_release_that_is_not_there_is_refused(command: Command, ledger: Ledger, options: tuple[str, ...]) -> None:
    ledger.spend(epsilon=1, what="elsewhere")
    code, out, err = command("ledger", "show", "x.ledger", *options)
    assert (code, out) == (2, "")
    assert err


def again(command: Command, number: int = 2) -> str:
    code, out, _ = command("ledger", "show", "x.ledger", "--release", number)
    assert code == 0
    return out


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.turns(3)
@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",)], ids=["table", "json", "csv"])
def test_a_full_disk_after_the_charge_loses_nothing(command: Command, ledger: Ledger, form: tuple[str, ...]) -> None:
    with FULL.open("w") as full:
        done = subprocess.run([*PROGRAM, *TOP, *form], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "sparsegate: standard output cannot be written: No space left on device; "
        "print it again: sparsegate ledger show x.ledger --release 2\n"
    )
    assert all(page in again(command) for page in PAGES)


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_a_gate_goes_on_where_its_answers_are_kept_and_cannot_be_printed(command: Command, ledger: Ledger) -> None:
    with FULL.open("w") as full:
        done = subprocess.run([*PROGRAM, *LISTED], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, "--release 2" in done.stderr) == (2, True)
        unkept = [*PROGRAM, *(word for word in LISTED if word not in ("--ledger", "x.ledger"))]
        done = subprocess.run(unkept, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, "kept nowhere" in done.stderr) == (2, True)
    expected = [f"{'below' if '/no' in text else 'ABOVE'}  {text}" for text in CONDITIONS]
    said = [line.partition("  (about ")[0] for line in again(command).splitlines()[2:]]
    assert said == [*expected, "closed: the last ABOVE is given"]


@pytest.mark.turns(2)
@pytest.mark.parametrize("options", [TOP, LISTED], ids=["top", "watch"])
def test_a_closed_pipe_after_the_charge_loses_nothing(
    command: Command, ledger: Ledger, options: tuple[str, ...]
) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*PROGRAM, *options], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")
    assert "/pay" in again(command)


KILLED = """
import os, signal, sys
from sparsegate.cli import main
def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
import sparsegate.cli.app
from sparsegate.cli import printing, watch
printing.print_top = kill
watch.WatchReport._write = kill
main()
"""


@pytest.mark.parametrize(
    ("options", "kept"), [(TOP, "/home"), (LISTED, "right 95 % of the time")], ids=["top", "watch"]
)
def test_a_kill_before_the_first_printed_word_loses_nothing(
    command: Command, ledger: Ledger, options: tuple[str, ...], kept: str
) -> None:
    environment = {**os.environ, "TMPDIR": str(Path.cwd())}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *options], capture_output=True, text=True, check=False, env=environment
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGKILL, "", "")
    assert kept in again(command)


UNKEPT = """
import sparsegate as sg
from sparsegate.cli import main
def full(*_):
    raise sg.LedgerError("the ledger x.ledger cannot be written: the disk is full; nothing was spent")
sg.Ledger.keep = full
main()
"""


def test_what_the_ledger_cannot_store_is_printed_all_the_same(folder: Path, ledger: Ledger) -> None:
    done = subprocess.run([sys.executable, "-c", UNKEPT, *TOP], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert all(page in done.stdout for page in PAGES)
    assert done.stderr == (
        "sparsegate: this release is paid for, and is not stored: the ledger x.ledger cannot be written: "
        "the disk is full\n"
    )
