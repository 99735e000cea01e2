"""A backup has everything; and whoever goes on from one pays for what it forgot."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.support.pretend_service import HIGH, LOW, Shop

import sparsegate as sg
from sparsegate.errors import BudgetExceeded, GateClosed, LedgerError, ParameterError
from sparsegate.ledger import backup as backups
from sparsegate.ledger.backup import back_up, restore
from sparsegate.ledger.ledger import Ledger


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """A ledger of 2 with 0.5 spent, and places for a backup and for another ledger."""
    ledger = Ledger.create(tmp_path / "visits.ledger", dataset="visits", budget=2, budget_delta=0.001)
    ledger.spend(epsilon=0.5, what="before")
    ledger.close()
    return {name: str(tmp_path / f"visits.{name}") for name in ("ledger", "backup", "restored")}


def test_a_backup_of_a_ledger_in_use_has_what_a_copy_of_the_file_lacks(files: dict[str, str]) -> None:
    with Ledger(files["ledger"], pooled=True) as ledger:
        for place in range(31):
            ledger.spend(epsilon=0.01, what=f"query {place}")
        back_up(files["ledger"], files["backup"])
        shutil.copy(files["ledger"], files["restored"])
    with sqlite3.connect(files["backup"]) as found, sqlite3.connect(files["restored"]) as copied:
        count = "SELECT count(*) FROM entries"
        assert found.execute(count).fetchone() == (33,)
        assert copied.execute(count).fetchone() < (33,), "this test must have something in the write-ahead log"
    found.close()
    copied.close()
    assert Path(files["backup"]).stat().st_mode & 0o777 == 0o600
    assert {path.name for path in Path(files["backup"]).parent.iterdir()} >= {"visits.ledger", "visits.backup"}
    assert not list(Path(files["backup"]).parent.glob("visits.backup-*")), "a backup is one file"


def test_a_backup_is_no_ledger_and_replaces_no_file(files: dict[str, str]) -> None:
    back_up(files["ledger"], files["backup"])
    with pytest.raises(LedgerError, match="is a backup; make a ledger of it with `sparsegate ledger restore`"):
        Ledger(files["backup"])
    before = Path(files["backup"]).read_bytes()
    for place in ("backup", "ledger"):
        with pytest.raises(LedgerError, match="is already there"):
            back_up(files["ledger"], files[place])
        with pytest.raises(LedgerError, match=r"is already there|is left of another ledger"):
            restore(files[place], backup=files["backup"], spent_since=0)
    assert Path(files["backup"]).read_bytes() == before


@pytest.mark.parametrize(
    ("since", "spent"), [({"spent_since": 0.25}, "0.75"), ({"spent_since": 0}, "0.5"), ({}, "2")], ids=str
)
def test_what_was_spent_since_is_charged_and_where_nobody_knows_all_of_it(
    files: dict[str, str], since: dict[str, Any], spent: str
) -> None:
    back_up(files["ledger"], files["backup"])
    statement = restore(files["restored"], backup=files["backup"], **since)
    assert statement.spent.epsilon == Fraction(spent)
    assert statement.entries[-1].what.startswith(backups.RESTORED)
    with Ledger(files["restored"]) as restored:
        assert restored.statement() == statement
        if not since:
            assert statement.remaining.delta == 0
            with pytest.raises(BudgetExceeded):
                restored.spend(epsilon=0.000001, what="more")


def test_a_log_that_another_ledger_left_is_not_read_as_this_ones(files: dict[str, str]) -> None:
    back_up(files["ledger"], files["backup"])
    Path(f"{files['restored']}-wal").write_bytes(b"frames")
    with pytest.raises(LedgerError, match="visits.restored-wal is left of another ledger"):
        restore(files["restored"], backup=files["backup"])
    assert not Path(files["restored"]).exists()


def test_only_a_backup_is_restored(files: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="is no backup"):
        restore(files["restored"], backup=files["ledger"])
    (tmp_path / "text").write_text("not a database, but long enough to be taken for one" * 50)
    for wrong in ("text", "nothing"):
        with pytest.raises(LedgerError):
            restore(files["restored"], backup=tmp_path / wrong)
    with pytest.raises(ParameterError, match="delta_since needs spent_since"):
        restore(files["restored"], backup=files["ledger"], delta_since=0.1)
    assert not Path(files["restored"]).exists()


def test_what_was_reserved_before_serves_no_release_after(files: dict[str, str]) -> None:
    with Ledger(files["ledger"]) as ledger, ledger.together() as group:
        group.reserve(epsilon=0.1, what="later")
    back_up(files["ledger"], files["backup"])
    restore(files["restored"], backup=files["backup"], spent_since=0)
    with Ledger(files["restored"]) as restored:
        with pytest.raises(LedgerError, match="restored from a backup after entry 3, which may have served a release"):
            sg.laplace(5, epsilon=0.1, sensitivity=1, ledger=restored.reserved(3))
        with pytest.raises(LedgerError, match="restored from a backup after entry 2"):
            restored.give_back(2, epsilon=0.1)
        with pytest.raises(ParameterError, match="must be that of an entry that spent"):
            restored.give_back(4, epsilon=0.1)
        restored.spend(epsilon=0.1, what="after")
        with restored.database.reading() as connection:
            assert restored._carried(connection) == restored.statement().balance


def test_gates_of_before_answer_nothing_and_give_nothing_back(tmp_path: Path) -> None:
    shop = Shop(tmp_path, budget=10)
    keeper = shop.keeper()
    gate, closed = shop.open(keeper, epsilon=1), shop.open(keeper, epsilon=1)
    back_up(shop.place, tmp_path / "backup")
    keeper.ask(shop.caller(), gate, HIGH)
    keeper.close_gate(closed)
    shop.shut()
    shop.place = str(tmp_path / "restored")
    restore(shop.place, backup=tmp_path / "backup", spent_since=0)
    keeper = shop.keeper()
    with pytest.raises(GateClosed, match=backups.RESTORED):
        keeper.ask(shop.caller(), gate, LOW)
    for id in (gate, closed):
        keeper.close_gate(id)
    assert keeper.budget().spent.epsilon == 2
    assert not keeper.ask(shop.caller(), shop.open(keeper, epsilon=1), LOW).above
    shop.shut()


def test_a_ledger_that_was_brought_back_by_other_means_is_accounted_for_where_it_is(place: str) -> None:
    with Ledger.create(place, dataset="visits", budget=2) as ledger:
        ledger.spend(epsilon=0.5, what="before")
    assert restore(place, backup=None, spent_since=0.25).spent.epsilon == Fraction("0.75")
    assert restore(place, backup=None).remaining.epsilon == 0


@pytest.mark.skipif(shutil.which("pg_dump") is None, reason="needs pg_dump")
def test_what_pg_restore_brought_back_is_accounted_for(cluster: Any, tmp_path: Path) -> None:
    old, new, dump = cluster.database(), cluster.database(), tmp_path / "dump"
    with Ledger.create(old, dataset="visits", budget=2) as ledger:
        ledger.spend(epsilon=0.5, what="before")
        subprocess.run(["pg_dump", "--format=custom", f"--file={dump}", old], check=True)
        ledger.spend(epsilon=0.25, what="since")
    subprocess.run(["pg_restore", f"--dbname={new}", dump], check=True)
    assert restore(new, backup=None, spent_since=0.25).spent.epsilon == Fraction("0.75")
    with Ledger(new) as restored:
        restored.spend(epsilon=1, what="after")
        with pytest.raises(LedgerError, match="restored from a backup after entry 2"):
            restored.give_back(2, epsilon=0.1)


def test_a_ledger_in_postgresql_is_left_to_its_own_tools(cluster: Any, tmp_path: Path) -> None:
    postgres = cluster.database()
    Ledger.create(postgres, dataset="visits", budget=2).close()
    with pytest.raises(LedgerError, match="pg_dump"):
        back_up(postgres, tmp_path / "backup")
    with pytest.raises(LedgerError, match="pg_restore"):
        restore(postgres, backup=tmp_path / "backup")


def test_where_more_was_stated_than_there_was_nothing_is_left_and_nothing_comes_back(files: dict[str, str]) -> None:
    back_up(files["ledger"], files["backup"])
    over = restore(files["restored"], backup=files["backup"], spent_since=5).remaining
    assert over.epsilon == Fraction(-7, 2)
    again = restore(files["restored"], backup=None)
    assert (again.remaining.epsilon, again.remaining.delta) == (over.epsilon, 0)
    with Ledger(files["restored"]) as ledger, pytest.raises(BudgetExceeded):
        ledger.spend(epsilon=0.1, what="too much")


def test_a_backup_under_load_is_a_moment_of_the_ledger(files: dict[str, str]) -> None:
    with Ledger(files["ledger"], pooled=True) as ledger:
        stop = threading.Event()

        def spend() -> None:
            while not stop.is_set():
                ledger.spend(epsilon=0.0001, what="under way")

        thread = threading.Thread(target=spend)
        thread.start()
        try:
            before = ledger.total_spent().epsilon
            back_up(files["ledger"], files["backup"])
            after = ledger.total_spent().epsilon
        finally:
            stop.set()
            thread.join()
    statement = restore(files["restored"], backup=files["backup"], spent_since=0)
    assert before <= statement.spent.epsilon <= after
