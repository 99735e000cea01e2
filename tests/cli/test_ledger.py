"""`sparsegate ledger`: what it shows and raises, and that a release that was paid for can be printed again.

Scores and epsilon are those of test_top and test_watch: nothing fails by chance.
"""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from tests.cli.conftest import ABOVE, ASK, PAGES, Command, Refused, closed_pipe
from tests.support.pretend_service import HIGH, LOW, Shop

import sparsegate as sg
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.keys import SealingKey
from sparsegate.service.tokens import Tokens

TOP = ("top", "visits.csv", *ASK, "--domain", "pages.csv", "--ledger", "x.ledger")
WATCH = ("watch", "visits.csv", "--threshold", "500", "--cutoff", "2", "--epsilon", "10", "--user", "visitor")
CONDITIONS = [f"page = '{page}'" for page in ("/home", "/no", "/pay")]
LISTED = (*WATCH, "--ledger", "x.ledger", *(word for text in CONDITIONS for word in ("--where", text)))
FULL = Path("/dev/full")
SHOW = ("ledger", "show", "x.ledger")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "visits.ledger"
    ledger = Ledger.create(path, dataset="visits", budget=2, budget_delta=1e-6)
    ledger.spend(epsilon=0.5, what="top 50 of page, unit user, method exponential, domain list")
    ledger.spend(epsilon=Fraction(1, 3), delta=1e-7, what="[bold]not markup[/bold]")
    return path


def test_show_and_export_say_what_is_spent_and_what_remains(command, path: Path) -> None:
    code, out, err = command("ledger", "show", path)
    assert (code, err) == (0, "")
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in out.splitlines() if line.strip()}
    assert (lines["dataset"], lines["budget"]) == ("visits", "epsilon 2, delta 0.000001")
    assert lines["spent"] == "epsilon 5/6, delta 0.0000001"
    assert lines["remaining"] == "epsilon 7/6, delta 0.0000009"
    assert "[bold]not markup[/bold]" in out
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 80
    shown = json.loads(command("ledger", "show", path, "--json")[1])
    assert shown["spent"] == {"epsilon": "5/6", "delta": "0.0000001", "rho": None}
    assert [entry["epsilon"] for entry in shown["entries"]] == ["2", "0.5", "1/3"]
    rows = list(csv.DictReader(command("ledger", "export", path)[1].splitlines()))
    records = json.loads(command("ledger", "export", path, "--json")[1])
    assert {record.pop("schema") for record in records} == {"sparsegate/entry/1"}
    assert rows == [{name: "" if value is None else str(value) for name, value in record.items()} for record in records]


def test_a_budget_is_raised_with_its_reason_and_never_lowered(command, refused, path: Path) -> None:
    assert refused("ledger", "raise", path, "--budget", "2", "--why", "a slip")
    assert len(Ledger(path).entries()) == 3
    code, out, _ = command("ledger", "raise", path, "--budget", "3", "--why", "agreed on 3 May")
    assert (code, out) == (0, "visits: the budget is now epsilon 3, delta 0.000001\n")
    assert Ledger(path).entries()[-1].what == "agreed on 3 May"


def test_a_ledger_that_is_missing_or_something_else_is_one_line(refused, tmp_path: Path, path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("SECRET,1\n")
    for verb in ("show", "export"):
        assert refused("ledger", verb, tmp_path / "missing")
        assert "SECRET" not in refused("ledger", verb, other)
    for options in ("--release 1", "--csv", "--release 2 --csv", "--release two"):
        assert refused("ledger", "show", path, *options.split())


@pytest.fixture
def ledger(folder: Path) -> Ledger:
    return Ledger.create("x.ledger", dataset="visits", budget=500, budget_delta=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        TOP,
        ("itemsets", *TOP[1:], "--size", "2", "--answers-epsilon", "9"),
        ("top", "visits.csv", *ABOVE, "--answers-epsilon", "9", "--ledger", "x.ledger"),
    ],
    ids=["plain", "counted sets", "above"],
)
def test_what_top_gave_is_printed_again_as_it_was(command: Command, ledger: Ledger, options: tuple[str, ...]) -> None:
    for number, form in enumerate(((), ("--json",), ("--csv",)), start=2):
        code, out, _ = command(*options, *form)
        assert (code, bool(out)) == (0, True)
        assert command(*SHOW, "--release", number, *form) == (0, out, "")


def test_what_watch_gave_is_printed_again_as_it_was(command: Command, ledger: Ledger) -> None:
    _, out, _ = command(*LISTED)
    assert len(out.splitlines()) == 6
    assert command(*SHOW, "--release", 2) == (0, out, "")
    bad = "page = (SELECT 1)\ntrue\n"
    _, out, err = command(*WATCH, "--ledger", "x.ledger", "--conditions", "-", "--json", stdin=bad)
    assert "sparsegate:" in err
    assert command(*SHOW, "--release", 3, "--json") == (0, out, "")  # the first gate left nothing
    ledger.keep(2, {"note": "seen by the board"})
    assert command(*SHOW, "--release", "2")[1].endswith('{"note": "seen by the board"}\n')


def test_other_releases_are_printed_as_they_were_kept(command: Command, ledger: Ledger) -> None:
    value = sg.laplace(1000, epsilon=0.5, sensitivity=1, ledger=ledger)
    sg.SparseVector(threshold=1, cutoff=1, epsilon=0.5, sensitivity=1, ledger=ledger)
    first, second = command(*SHOW, "--release", 2)[1].splitlines()
    assert first == "one number with Laplace noise, sensitivity 1, epsilon 0.5, entry 2 of the ledger of 'visits'"
    assert json.loads(second) == {"release": "laplace", "value": value}
    told = json.loads(command(*SHOW, "--release", 2, "--json")[1])
    assert (told["entry"]["number"], told["gave"][0]["value"]) == (2, value)
    assert "nothing is kept with it" in command(*SHOW, "--release", 3)[1]
    kept = {"release": "watch", "value": 3}  # a word of ours, in what was kept by hand
    ledger.keep(ledger.spend(epsilon=0.5, what="by another library"), kept)
    assert json.loads(command(*SHOW, "--release", "4")[1].splitlines()[-1]) == kept


def again(command: Command, number: int = 2) -> str:
    code, out, _ = command(*SHOW, "--release", number)
    assert code == 0
    return out


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_a_full_disk_after_the_charge_loses_nothing(command: Command, printed_to, ledger: Ledger) -> None:
    """A gate goes on where its answers are kept, and not where they are not."""
    unkept = [word for word in LISTED if word not in ("--ledger", "x.ledger")]
    for words, hint in ((TOP, "--release 2"), (LISTED, "--release 3"), (unkept, "kept nowhere")):
        code, err = printed_to(FULL.open("w"), *words)
        assert (code, hint in err, err.count("\n")) == (2, True, 1)
    assert all(page in again(command) for page in PAGES)
    expected = [f"{'below' if '/no' in text else 'ABOVE'}  {text}" for text in CONDITIONS]
    said = [line.partition("  (about ")[0] for line in again(command, 3).splitlines()[2:]]
    assert said == [*expected, "closed: the last ABOVE is given"]


@pytest.mark.parametrize("options", [TOP, LISTED], ids=["top", "watch"])
def test_a_closed_pipe_after_the_charge_loses_nothing(command: Command, printed_to, ledger: Ledger, options) -> None:
    assert printed_to(closed_pipe(), *options) == (1, "")
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
    words = [sys.executable, "-c", KILLED, *options]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGKILL, "", "")
    assert kept in again(command)


def test_asks_are_listed_newest_first_for_people_and_programs(command, tmp_path, monkeypatch) -> None:
    """Olga asked twice and anna once; a page of the store is two lines long."""
    defaults = {"after": None, "gate": None, "by": None, "limit": 2}
    monkeypatch.setattr("sparsegate.service.keeper.activity.__kwdefaults__", defaults)
    shop = Shop(tmp_path)
    keeper = shop.keeper()
    for name in ("olga", "anna"):
        Tokens(keeper.ledger).add(name, "owner")
    gate = shop.open(keeper)
    for token, where in ((1, LOW), (1, HIGH), (2, LOW)):
        keeper.ask(shop.caller(token=token), gate, where)
    shop.shut()
    asks = ("ledger", "asks", shop.place)
    lines = [line.split(maxsplit=5)[2:] for line in command(*asks)[1].splitlines()[1:]]
    told = [(by, name, side, where.strip()) for by, name, side, where in lines]
    assert told == [("anna", gate, "below", LOW), ("olga", gate, "ABOVE", HIGH), ("olga", gate, "below", LOW)]
    of_olga = json.loads(command(*asks, "--by", "olga", "--json")[1])
    assert [(ask["number"], ask["above"]) for ask in of_olga] == [(2, True), (1, False)]
    rows = list(csv.DictReader(io.StringIO(command(*asks, "--gate", gate, "--csv")[1])))
    assert [(row["by"], row["above"]) for row in rows] == [("anna", "False"), ("olga", "True"), ("olga", "False")]
    assert command(*asks, "--by", "nobody", "--csv")[1].startswith("at,by,gate,")


def test_a_backup_is_made_and_restored_by_whoever_says_what_was_spent_since(command, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Ledger.create("visits.ledger", dataset="visits", budget=2) as ledger:
        ledger.spend(epsilon=0.5, what="before")
    assert "visits.backup: everything up to 20" in command("ledger", "backup", "visits.ledger", "visits.backup")[1]
    restore = ("ledger", "restore", "again.ledger", "--from", "visits.backup")
    for options in ((), ("--write-off", "--spent-since", "0")):
        assert refused(*restore, *options).startswith("--spent-since or --write-off must be given, and not both")
    assert not Path("again.ledger").exists()
    code, out, err = command(*restore, "--spent-since", "0.25")
    assert (code, out) == (0, "visits: epsilon 1.25 left of epsilon 2; all its gates are closed\n")
    assert "tokens that were revoked since the backup let people in again" in err
    assert "restore" in command("ledger", "show", "again.ledger")[1]
    assert command("ledger", "restore", "again.ledger", "--write-off")[1].startswith("visits: epsilon 0 left")


def test_what_is_moved_out_is_added_to_the_file(command, tmp_path: Path) -> None:
    shop, to = Shop(tmp_path), tmp_path / "old.csv"
    keeper = shop.keeper()
    Tokens(keeper.ledger).add("anna", "owner")
    compact = ("ledger", "compact", shop.place, "--to", to)
    for where in (LOW, HIGH):
        gate = shop.open(keeper, name="pages, all")
        for each in (where, HIGH, LOW):
            keeper.ask(shop.caller(), gate, each)
        keeper.close_gate(gate)
        assert "0 answers" in command(*compact)[1], "none is 30 days old"
        assert ("1 answer," if where == LOW else "0 answers,") in command(*compact, "--days", 0)[1]
    with to.open(newline="") as file:
        (row,) = csv.DictReader(file)
    told = {"gate_name": "pages, all", "number": "1", "by": "anna", "condition": LOW}
    assert row.items() >= told.items()
    shop.shut()


def test_a_key_is_made_with_a_ledger_and_replaced_while_gates_stay_open(command, refused, tmp_path) -> None:
    place, key = tmp_path / "new.ledger", tmp_path / "new.key"
    make = ("ledger", "create", place, "--dataset", "visits", "--budget", 2, "--key", key)
    assert command(*make) == (0, f"{place}: epsilon 2 for visits\n", "")
    assert key.stat().st_mode & 0o777 == 0o600
    name = SealingKey.load(key).name
    assert "is already there" in refused(*make)
    assert SealingKey.load(key).name == name
    shop = Shop(tmp_path)
    assert refused("ledger", "rotate-key", "postgresql://nowhere/x").startswith("--key must be given")
    gate = shop.open(shop.keeper())
    old = shop.key.read_bytes()
    out = command("ledger", "rotate-key", shop.place, "--key", shop.key)[1]
    assert f"{shop.key}: a new key, and 1 gate sealed with it" in out
    assert shop.key.read_bytes() != old
    assert not shop.keeper().ask(shop.caller(), gate, LOW).above
    shop.shut()


def test_a_zcdp_ledger_is_made_shown_exported_and_restored(command, refused: Refused, tmp_path: Path) -> None:
    path, backup, again = (str(tmp_path / name) for name in ("z.ledger", "z.backup", "again.ledger"))
    make = ("ledger", "create", path, "--dataset", "visits", "--budget")
    assert refused(*make, "1", "--delta", "0", "--key", backup).startswith("--delta must lie strictly between 0 and 1")
    assert refused(*make, "nan", "--delta", "1e-6").startswith("--budget must be a positive finite number")
    assert not list(tmp_path.iterdir())
    assert "for epsilon 1 at delta 0.000001" in command(*make, "1", "--delta", "1e-6")[1]
    Ledger(path).spend(epsilon=0.1, what="a number")
    shown = command("ledger", "show", path)[1]
    assert "rho 0.004995837495788 " in shown
    rows = list(csv.DictReader(command("ledger", "export", path)[1].splitlines()))
    assert [row["rho"] for row in rows] == ["0.0243559703595383", "0.004995837495788"]
    assert "for epsilon 2 at delta" in command("ledger", "raise", path, "--budget", "2", "--why", "agreed")[1]
    command("ledger", "backup", path, backup)
    assert "rho" in refused("ledger", "restore", again, "--from", backup, "--spent-since", "0.1")
    assert command("ledger", "restore", again, "--from", backup, "--rho-since", "0.001")[0] == 0
    assert Ledger(again).statement().spent.rho == Fraction("0.004995837495788") + Fraction(1, 1000)
