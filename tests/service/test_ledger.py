"""The ledger: exact sums, refusals that change nothing, crashes, races, and files that cannot be trusted."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.processes import in_forked_child

from noisegate.errors import BudgetExceeded, LedgerError, ParameterError
from noisegate.service.ledger import Amount, Kind, Ledger, exact_text, exact_value
from noisegate.service.store.sql_ledger import SqlLedger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "visits.ledger"


@pytest.fixture
def ledger(path: Path) -> SqlLedger:
    return SqlLedger.create(path, dataset="visits", epsilon=1)


def edit(path: Path, *statements: str) -> None:
    """Do to the file what no method does."""
    connection = sqlite3.connect(path)
    connection.executescript(";".join(statements))
    connection.close()


def test_a_ledger_file_is_a_ledger(ledger: SqlLedger) -> None:
    checked: Ledger = ledger
    assert checked.dataset == "visits"


def test_ten_tenths_are_one_and_not_a_bit_more(ledger: SqlLedger) -> None:
    for number in range(10):
        ledger.spend(epsilon=0.1, what=f"release {number}")
    assert ledger.total_spent() == Amount(epsilon=Fraction(1))
    with pytest.raises(BudgetExceeded):
        ledger.spend(epsilon=1e-300, what="one too many")


def test_an_entry_says_when_what_and_how_much(ledger: SqlLedger) -> None:
    entry = ledger.spend(epsilon=Fraction(1, 3), what="a third")
    budget, spend = SqlLedger(ledger.path).entries()
    assert spend == entry
    assert (budget.number, budget.kind, spend.number, spend.kind) == (1, Kind.BUDGET, 2, Kind.SPEND)
    assert (spend.amount.epsilon, spend.what) == (Fraction(1, 3), "a third")
    assert spend.at.utcoffset() is not None


def test_a_refusal_changes_nothing(ledger: SqlLedger) -> None:
    ledger.spend(epsilon=0.7, what="most of it")
    before = ledger.statement()
    with pytest.raises(BudgetExceeded, match="epsilon 0.7 is spent and epsilon 0.3 remains"):
        ledger.spend(epsilon=0.4, what="too much")
    assert ledger.statement() == before
    assert before.remaining == Amount(epsilon=Fraction(3, 10))


def test_delta_has_a_budget_of_its_own_and_it_is_zero_unless_given(path: Path, ledger: SqlLedger) -> None:
    with pytest.raises(BudgetExceeded, match="delta 0.000001"):
        ledger.spend(epsilon=0.1, delta=1e-6, what="unknown domain")
    other = SqlLedger.create(path.with_suffix(".two"), dataset="visits", epsilon=1, delta=2e-6)
    for _ in range(2):
        other.spend(epsilon=0.1, delta=1e-6, what="unknown domain")
    with pytest.raises(BudgetExceeded):
        other.spend(epsilon=0.1, delta=1e-12, what="unknown domain")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1, 0, True, "0.5", None, Decimal("NaN"), Fraction(1, 10**500)])
def test_an_epsilon_that_is_no_positive_number_is_refused_and_not_recorded(ledger: SqlLedger, bad: object) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        ledger.spend(epsilon=bad, what="nonsense")  # type: ignore[arg-type]
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("bad", [math.nan, -1e-9, 1])
def test_a_delta_outside_zero_to_one_is_refused(ledger: SqlLedger, bad: float) -> None:
    with pytest.raises(ParameterError, match="delta"):
        ledger.spend(epsilon=0.1, delta=bad, what="nonsense")


@pytest.mark.parametrize("bad", ["", "two\nlines", "x" * 501])
def test_what_is_one_line(ledger: SqlLedger, bad: str) -> None:
    with pytest.raises(ParameterError, match="what"):
        ledger.spend(epsilon=0.1, what=bad)


def test_raising_the_budget_is_an_entry(ledger: SqlLedger) -> None:
    ledger.spend(epsilon=1, what="all of it")
    ledger.raise_budget(epsilon=1.5, why="the board agreed on 3 May")
    ledger.spend(epsilon=0.5, what="a little more")
    statement = ledger.statement()
    assert [entry.kind.value for entry in statement.entries] == ["budget", "spend", "budget", "spend"]
    assert statement.budget == statement.spent == Amount(epsilon=Fraction(3, 2))


@pytest.mark.parametrize(("epsilon", "delta"), [(1, None), (0.5, None), (1, 0), (2, -1), (math.nan, None), (0.9, 0.1)])
def test_a_budget_is_never_lowered(ledger: SqlLedger, epsilon: float, delta: float | None) -> None:
    with pytest.raises(ParameterError):
        ledger.raise_budget(epsilon=epsilon, delta=delta, why="a slip")
    assert len(ledger.entries()) == 1


def test_a_second_dataset_is_refused(path: Path, ledger: SqlLedger) -> None:
    with pytest.raises(LedgerError, match="belongs to the dataset 'visits', not 'sales'"):
        SqlLedger(path, dataset="sales")


def test_creating_over_a_ledger_is_refused_and_keeps_it(path: Path, ledger: SqlLedger) -> None:
    ledger.spend(epsilon=0.9, what="nearly all")
    with pytest.raises(LedgerError, match="already there"):
        SqlLedger.create(path, dataset="visits", epsilon=100)
    assert SqlLedger(path).total_spent().epsilon == Fraction(9, 10)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_only_one_of_many_who_create_at_once_succeeds(path: Path) -> None:
    made: list[SqlLedger] = []

    def create() -> None:
        with contextlib.suppress(LedgerError):
            made.append(SqlLedger.create(path, dataset="visits", epsilon=1))

    threads = [threading.Thread(target=create) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len(SqlLedger(path).entries()) == 1


def test_the_file_is_its_owners_alone_and_survives_power_cuts_by_setting(path: Path, ledger: SqlLedger) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    with ledger.database.reading() as held:
        assert held.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_entries_can_be_neither_changed_nor_removed_by_a_slip(path: Path, ledger: SqlLedger) -> None:
    ledger.spend(epsilon=0.5, what="half")
    for statement in ("DELETE FROM entries WHERE number = 2", "UPDATE entries SET epsilon = '0'"):
        with pytest.raises(sqlite3.IntegrityError):
            edit(path, statement)


SPENDER = """
import sys
from noisegate.errors import BudgetExceeded
from noisegate.service.store.sql_ledger import SqlLedger
ledger, granted = SqlLedger(sys.argv[1], patience=30), 0
try:
    while True:
        ledger.spend(epsilon=0.01, what="one of many")
        granted += 1
except BudgetExceeded:
    print(granted)
"""


def test_processes_that_spend_at_once_never_pass_the_budget(path: Path, ledger: SqlLedger) -> None:
    spenders = [
        subprocess.Popen([sys.executable, "-c", SPENDER, str(path)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    granted = [int(spender.communicate(timeout=60)[0]) for spender in spenders]
    assert sum(granted) == 100
    assert ledger.total_spent().epsilon == 1


def test_threads_that_spend_at_once_never_pass_the_budget(ledger: SqlLedger) -> None:
    granted: list[int] = []

    def spend() -> None:
        for _ in range(15):
            try:
                granted.append(ledger.spend(epsilon=0.05, what="one of many").number)
            except BudgetExceeded:
                return

    threads = [threading.Thread(target=spend) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(granted) == list(range(2, 22))


def test_a_fork_goes_on_with_the_same_ledger(ledger: SqlLedger) -> None:
    assert in_forked_child(lambda: ledger.spend(epsilon=0.5, what="by the child").number) == 2
    assert ledger.spend(epsilon=0.5, what="by the parent").number == 3


KILLED = """
import os, signal, sys
from noisegate.service.store.sql_ledger import SqlLedger
SqlLedger(sys.argv[1]).spend(epsilon=0.5, what="lost in a crash")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_committed_before_a_sigkill_stays_spent(path: Path, ledger: SqlLedger) -> None:
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
        assert done.returncode == -signal.SIGKILL
    assert ledger.total_spent().epsilon == 1
    with pytest.raises(BudgetExceeded):
        ledger.spend(epsilon=0.01, what="after the crashes")


def test_a_transaction_that_was_cut_short_spends_nothing(path: Path, ledger: SqlLedger) -> None:
    def die_inside() -> None:
        with ledger.database.writing() as connection:
            values = "2, '2025-01-01T00:00:00+00:00', 'spend', '1', '0', 'x'"
            connection.exec_driver_sql(f"INSERT INTO entries VALUES ({values})")
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(EOFError):
        in_forked_child(die_inside)
    assert ledger.total_spent().epsilon == 0


def test_a_locked_ledger_is_an_error_and_spends_nothing(path: Path, ledger: SqlLedger) -> None:
    impatient = SqlLedger(path, patience=0.05)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="locked by another process"):
        impatient.spend(epsilon=0.1, what="while locked")
    holder.execute("ROLLBACK")
    holder.close()
    assert ledger.total_spent().epsilon == 0


def test_a_missing_ledger_is_an_error_and_is_not_begun_anew(tmp_path: Path, path: Path, ledger: SqlLedger) -> None:
    with pytest.raises(LedgerError, match="does not exist"):
        SqlLedger(tmp_path / "typo.ledger")
    path.unlink()
    with pytest.raises(LedgerError, match="does not exist"):
        ledger.spend(epsilon=0.1, what="after it was removed")
    assert not path.exists()


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be made"):
        SqlLedger.create(tmp_path / "nowhere" / "x.ledger", dataset="visits", epsilon=1)


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n" * 200, b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_file_that_is_no_ledger_is_an_error(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="nothing was spent"):
        SqlLedger(path)
    assert path.read_bytes() == content


def test_another_sqlite_database_is_no_ledger(path: Path) -> None:
    edit(path, "CREATE TABLE visits (page, visitor)")
    with pytest.raises(LedgerError, match="is not a ledger"):
        SqlLedger(path)


def test_a_page_of_rubbish_is_found(path: Path, ledger: SqlLedger) -> None:
    for number in range(40):
        ledger.spend(epsilon=0.02, what=f"release {number}" + "." * 300)
    content = bytearray(path.read_bytes())
    content[-4096:] = os.urandom(4096)
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="nothing was spent"):
        SqlLedger(path)


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
        "UPDATE ledger SET schema_version = 1",
        "UPDATE ledger SET schema_version = 0",
        "DELETE FROM ledger",
        "PRAGMA journal_mode = DELETE",
    ],
)
def test_a_ledger_that_was_tampered_with_grants_nothing(path: Path, ledger: SqlLedger, damage: str) -> None:
    ledger.spend(epsilon=0.1, what="first")
    ledger.spend(epsilon=0.1, what="second")
    edit(path, "DROP TRIGGER entries_stay", "DROP TRIGGER entries_last", damage)
    with pytest.raises(LedgerError):
        ledger.spend(epsilon=0.1, what="third")
    with pytest.raises(LedgerError):
        SqlLedger(path)


def test_a_full_disk_is_an_error_and_spends_nothing(path: Path, ledger: SqlLedger, monkeypatch) -> None:
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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_ledger_of_somebody_else_cannot_be_spent_from() -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        ledger = SqlLedger.create(folder / "x.ledger", dataset="visits", epsilon=1)
        ledger.path.chmod(0o444)

        def as_nobody() -> None:
            os.setuid(65534)
            ledger.spend(epsilon=0.1, what="not mine")

        assert isinstance(in_forked_child(as_nobody), LedgerError)
        assert ledger.total_spent().epsilon == 0
    finally:
        shutil.rmtree(folder)


@given(st.fractions(min_value=0, max_denominator=10**6))
def test_an_amount_reads_back_exactly_from_its_text(value: Fraction) -> None:
    assert exact_value(exact_text(value)) == value


@pytest.mark.parametrize("text", ["1e3", "-1", "1/0", " 1", "١", "", None, 1.5, "1_000"])
def test_a_text_that_is_no_amount_is_damage(text: object) -> None:
    with pytest.raises(LedgerError):
        exact_value(text)
