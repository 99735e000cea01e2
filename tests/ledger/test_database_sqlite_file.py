"""The file of a ledger: whose it is, and that one which is missing, damaged or full grants nothing."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from sparsegate.errors import BudgetExceeded, LedgerError
from sparsegate.ledger.ledger import Ledger


def edit(path: Path, *statements: str) -> None:
    """Do to the file what no method does."""
    connection = sqlite3.connect(path)
    connection.executescript(";".join(statements))
    connection.close()


def test_the_file_is_its_owners_alone_and_survives_power_cuts_by_setting(path: Path, ledger: Ledger) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    with ledger.database.reading() as held:
        assert held.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_a_connection_that_is_closed_in_the_middle_lets_go_of_the_write_lock(path: Path, ledger: Ledger) -> None:
    """As an interrupt leaves it: SQLite keeps a connection open while a cursor of it is there."""
    ledger.spend(epsilon=0.25, what="a quarter")
    with Ledger(path, patience=0.2) as other:
        connection = other.database.engine.connect().execution_options(writes=True)
        connection.begin()
        assert connection.connection.driver_connection is not None
        cursor = connection.connection.driver_connection.execute("SELECT * FROM entries")
        connection.invalidate()
        other.spend(epsilon=0.25, what="another")
        connection.close()
        del cursor


def test_a_missing_ledger_is_an_error_and_is_not_begun_anew(tmp_path: Path, path: Path, ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="does not exist"):
        Ledger(tmp_path / "typo.ledger")
    path.unlink()
    with pytest.raises(LedgerError, match="does not exist"):
        ledger.spend(epsilon=0.1, what="after it was removed")
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n" * 200, b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_file_that_is_no_ledger_is_an_error(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="nothing was spent"):
        Ledger(path)
    assert path.read_bytes() == content


def test_another_sqlite_database_is_no_ledger(path: Path) -> None:
    edit(path, "CREATE TABLE visits (page, visitor)")
    with pytest.raises(LedgerError, match="is not a ledger"):
        Ledger(path)


def test_a_page_of_rubbish_is_found(path: Path, ledger: Ledger) -> None:
    for number in range(40):
        ledger.spend(epsilon=0.02, what=f"release {number}" + "." * 300)
    content = bytearray(path.read_bytes())
    content[-4096:] = os.urandom(4096)
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="nothing was spent"):
        Ledger(path)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE entries SET epsilon = 'lots' WHERE number = 2",
        "UPDATE entries SET epsilon = '-1' WHERE number = 2",
        "UPDATE entries SET epsilon = '1/0' WHERE number = 2",
        "UPDATE entries SET epsilon = 'nan' WHERE number = 2",
        "UPDATE entries SET kind = 'gift' WHERE number = 2",
        "UPDATE entries SET at = 'yesterday' WHERE number = 2",
        "DELETE FROM entries WHERE number = 2",
        "DELETE FROM entries",
        "UPDATE ledger SET schema_version = 99",
        "DELETE FROM ledger",
        "PRAGMA journal_mode = DELETE",
    ],
)
def test_a_ledger_that_was_tampered_with_grants_nothing(path: Path, ledger: Ledger, damage: str) -> None:
    ledger.spend(epsilon=0.1, what="first")
    ledger.spend(epsilon=0.1, what="second")
    edit(path, "DROP TRIGGER entries_stay", "DROP TRIGGER entries_last", damage)
    with pytest.raises(LedgerError):
        ledger.spend(epsilon=0.1, what="third")
    with pytest.raises(LedgerError):
        Ledger(path)


def test_a_full_disk_is_an_error_and_spends_nothing(path: Path, ledger: Ledger, monkeypatch) -> None:
    connect = sqlite3.connect

    def small(*arguments: object, **options: object) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    def fill() -> None:
        for _ in range(100):
            ledger.spend(epsilon=1e-6, what="x" * 500)

    monkeypatch.setattr(sqlite3, "connect", small)
    with pytest.raises(LedgerError, match="disk is full"):
        fill()
    monkeypatch.undo()
    before = ledger.total_spent()
    assert before.epsilon == sum(entry.amount.epsilon for entry in ledger.entries()[1:])


def test_a_locked_ledger_is_an_error_and_spends_nothing(path: Path, ledger: Ledger) -> None:
    impatient = Ledger(path, patience=0.05)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="locked by another process"):
        impatient.spend(epsilon=0.1, what="while locked")
    holder.execute("ROLLBACK")
    holder.close()
    assert ledger.total_spent().epsilon == 0


def test_a_ledger_with_a_second_name_is_not_spent_from(path: Path, ledger: Ledger) -> None:
    """SQLite keeps a log beside each name: two processes with a name each would both spend the whole budget."""
    other = path.with_name("other.ledger")
    other.hardlink_to(path)
    for use in (lambda: ledger.spend(epsilon=0.5, what="x"), lambda: Ledger(other), lambda: Ledger(path)):
        with pytest.raises(LedgerError, match="has a second name, a hard link.*; nothing was spent$"):
            use()
    other.unlink()
    other.symlink_to(path)
    with Ledger(other) as same:
        same.spend(epsilon=0.5, what="under a symbolic link")
    with pytest.raises(BudgetExceeded):
        ledger.spend(epsilon=0.75, what="x")
