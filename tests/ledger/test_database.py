"""The database of a ledger: writers that come together, a file that grants nothing when it is wrong, and interrupts."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.interrupts import interrupt_by_signal, interrupt_everywhere

from sparsegate.errors import BudgetExceeded, LedgerError, SparsegateError
from sparsegate.ledger.account import Entry, EntryKind, exact_amount
from sparsegate.ledger.database import Connection, Database, GroupCommit, _Piece
from sparsegate.ledger.ledger import Ledger

FIRST = 100


@pytest.fixture
def database(place: str) -> Iterator[Database]:
    with Ledger.create(place, dataset="visits", budget=1) as ledger:
        yield ledger.database


def entry(number: int) -> Callable[[Connection], int]:
    """A piece that adds an entry; what it returns is how many it saw before."""

    def work(connection: Connection) -> int:
        count = "SELECT count(*) FROM entries WHERE number >= :first AND number < :number"
        before = int(connection.value(count, first=FIRST, number=number))
        values = {"at": "now", "kind": "spend", "epsilon": "0", "delta": "0", "what": f"piece {number}"}
        connection.add("entries", number=number, **values)
        return before

    return work


def written(database: Database) -> list[int]:
    with database.reading() as connection:
        return [row.number for row in connection.rows("SELECT number FROM entries WHERE number >= 100 ORDER BY number")]


def at_once(database: Database, *works: Callable[[Connection], Any], moments: list[float] | None = None) -> list[Any]:
    """Have all wait while somebody else writes, in this order: what each returned or raised, and at which moments."""
    told: list[Any] = [None] * len(works)

    def run(place: int) -> None:
        try:
            told[place] = database.together(works[place])
        except Exception as error:
            told[place] = error
        if moments is not None:
            moments.append(time.monotonic())

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(works))]
    with database.writing():
        for count, thread in enumerate(threads, start=1):
            thread.start()
            while len(database._group._waiting) < count:
                time.sleep(0.001)
    for thread in threads:
        thread.join(30)
    return told


def test_those_who_wait_are_committed_at_once_and_see_one_another_and_nobody_returns_before_the_commit(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, committed, returned = Connection.commit, list[float](), list[float]()

    def slow(connection: Connection) -> None:
        time.sleep(0.2)
        commit(connection)
        committed.append(time.monotonic())

    monkeypatch.setattr(Connection, "commit", slow)
    assert at_once(database, *(entry(FIRST + place) for place in range(5)), moments=returned) == [0, 1, 2, 3, 4]
    assert len(committed) == 2, "that of whoever held them off, and theirs"
    assert min(returned) >= committed[1]
    assert written(database) == [FIRST + place for place in range(5)]


def test_a_piece_that_raises_is_undone_alone(database: Database) -> None:
    refusal = SparsegateError("refused")

    def refused(connection: Connection) -> None:
        entry(FIRST + 1)(connection)
        raise refusal

    told = at_once(database, entry(FIRST), refused, entry(FIRST + 2))
    assert told == [0, refusal, 1]
    assert written(database) == [FIRST, FIRST + 2]


def test_a_constraint_decides_between_pieces_of_a_group_as_between_transactions(database: Database) -> None:
    told = at_once(database, entry(FIRST), entry(FIRST), entry(FIRST + 1))
    assert (told[0], told[2]) == (0, 1)
    assert isinstance(told[1], LedgerError)
    assert written(database) == [FIRST, FIRST + 1]


def test_a_commit_that_fails_is_an_error_for_everybody_and_leaves_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, held_off = Connection.commit, list[int]()

    def fail(connection: Connection) -> None:
        if not held_off:
            return held_off.append(1) or commit(connection)
        raise database.engine.dialect.loaded_dbapi.OperationalError("no disk")

    monkeypatch.setattr(Connection, "commit", fail)
    told = at_once(database, entry(FIRST), entry(FIRST + 1))
    monkeypatch.undo()
    assert all(isinstance(each, LedgerError) for each in told)
    assert written(database) == []
    assert database.together(entry(FIRST)) == 0


def test_a_connection_that_cannot_be_made_is_an_error_in_our_words(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise database.engine.dialect.loaded_dbapi.OperationalError("not now")

    monkeypatch.setattr(database.engine, "raw_connection", fail)
    with pytest.raises(LedgerError, match="nothing was spent"):
        database.together(entry(FIRST))
    with pytest.raises(LedgerError), database.reading() as connection:
        connection.run("SELECT 1")


def test_a_transaction_that_is_gone_is_an_error_for_everybody(database: Database) -> None:
    """As where a full disk makes SQLite roll it back by itself: what comes after must not be written piece by piece."""

    def rolled_back(connection: Connection) -> None:
        connection.run("ROLLBACK")
        raise SparsegateError

    told = at_once(database, entry(FIRST), rolled_back, entry(FIRST + 2))
    assert [type(each) for each in told] == [LedgerError] * 3
    assert written(database) == []


def test_whoever_waits_too_long_is_refused_and_writes_nothing(place: str) -> None:
    with Ledger.create(place, dataset="visits", budget=1) as ledger:
        database = ledger.database
        database._group._patience = 0.05
        with database.writing(), pytest.raises(LedgerError, match="locked"):
            database.together(entry(FIRST))
        assert database.together(entry(FIRST + 1)) == 0
        assert written(database) == [FIRST + 1]


@pytest.mark.parametrize("dies", ["between", "after"])
def test_a_crash_loses_a_group_whole_or_keeps_it_whole(database: Database, dies: str) -> None:
    child = os.fork()
    if child == 0:
        try:
            _crash(database, dies)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert written(database) == ([] if dies == "between" else [FIRST, FIRST + 1, FIRST + 2])
    assert database.together(entry(FIRST + 3)) == (0 if dies == "between" else 3)


def _crash(database: Database, dies: str) -> None:
    """Killed after the second of three pieces, or after the commit and before anybody is told."""

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def second(connection: Connection) -> None:
        entry(FIRST + 1)(connection)
        if dies == "between":
            die()

    commit = database._group._commit

    def committed(pieces: list[Any]) -> None:
        commit(pieces)
        die()

    database._group._commit = committed  # type: ignore[method-assign]
    signal.alarm(30)
    at_once(database, entry(FIRST), second, entry(FIRST + 2))


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
        assert held.value("PRAGMA synchronous") == 2


def test_a_connection_that_is_closed_in_the_middle_lets_go_of_the_write_lock(path: Path, ledger: Ledger) -> None:
    """As an interrupt leaves it: SQLite keeps a connection open while a cursor of it is there."""
    ledger.spend(epsilon=0.25, what="a quarter")
    with Ledger(path, patience=0.2) as other:
        pooled: Any = other.database.engine.raw_connection()
        pooled.driver_connection.execute("BEGIN IMMEDIATE")
        cursor = pooled.driver_connection.execute("SELECT * FROM entries")
        pooled.invalidate()
        other.spend(epsilon=0.25, what="another")
        del cursor


def test_a_missing_ledger_is_an_error_and_is_not_begun_anew(tmp_path: Path, path: Path, ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="does not exist"):
        Ledger(tmp_path / "typo.ledger")
    path.unlink()
    with pytest.raises(LedgerError, match="does not exist"):
        ledger.spend(epsilon=0.1, what="after it was removed")
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n" * 200, b"SQLite format 3\0" + b"\xff" * 4000, None])
def test_a_file_that_is_no_ledger_is_an_error(path: Path, content: bytes | None) -> None:
    if content is None:
        edit(path, "CREATE TABLE visits (page, visitor)")
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="nothing was spent" if content is not None else "is not a ledger"):
        Ledger(path)
    assert path.read_bytes() == before


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


ERRORS = [KeyboardInterrupt, MemoryError]
HALF = exact_amount(0.5, 0)


class Act:
    """One call that writes: what it needs before, the call, and which entries it adds; all of them, or none."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.before = ledger, ledger.statement()

    def call(self) -> object:
        return self.ledger.spend(epsilon=0.5, what="a count")

    kinds = (EntryKind.SPEND,)

    def check(self) -> None:
        after = self.ledger.statement()
        added = after.entries[len(self.before.entries) :]
        assert after.entries[: len(self.before.entries)] == self.before.entries
        assert tuple(entry.kind for entry in added) in ((), self.kinds)
        assert all((entry.amount.epsilon, entry.amount.delta) == (HALF.epsilon, HALF.delta) for entry in added)
        self.call()  # at once: nobody holds a lock
        self.ledger.close()


class Reserve(Act):
    kinds = (EntryKind.RESERVE, EntryKind.RESERVE)

    def call(self) -> object:
        with self.ledger.together() as report:
            for what in ("people", "visits"):
                report.reserve(epsilon=0.5, what=what)
        return report


class WithEntry(Act):
    kinds = ()

    def __init__(self, ledger: Ledger) -> None:
        self.entry: Entry = ledger.spend(epsilon=0.5, what="a gate")
        super().__init__(ledger)


class Keep(WithEntry):
    def call(self) -> object:
        return self.ledger.keep(self.entry, {"value": 7})

    def check(self) -> None:
        gave = self.ledger.release(self.entry.number).gave
        assert gave in ((), ({"value": 7},))
        super().check()
        assert self.ledger.release(self.entry.number).gave == (*gave, {"value": 7})


class GiveBack(WithEntry):
    kinds = (EntryKind.REFUND,)

    def call(self) -> object:
        return self.ledger.give_back(self.entry, epsilon=0.5)

    def check(self) -> None:
        super().check()
        super().check()  # again changes nothing
        after = self.ledger.statement()
        assert [entry.of for entry in after.entries].count(self.entry.number) == 1
        assert after.spent.epsilon + HALF.epsilon == self.before.spent.epsilon


class UseReserved(Act):
    kinds = ()

    def __init__(self, ledger: Ledger) -> None:
        with ledger.together() as report:
            self.charge = report.reserve(epsilon=0.5, what="people")
        super().__init__(ledger)

    def call(self) -> object:
        return self.charge.spend(epsilon=0.5, what="a count")

    def check(self) -> None:
        with contextlib.suppress(LedgerError):  # it was used, and serves nobody again
            super().check()
        with pytest.raises(LedgerError, match="used entry"):
            self.call()


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("act", [Act, Reserve, Keep, GiveBack, UseReserved])
def test_an_entry_is_written_whole_or_not_at_all_wherever_it_is_interrupted(
    act: type[Act], again: Callable[[], Ledger], step: int
) -> None:
    for error, every in zip(ERRORS, (step, 37 if step > 1 else 1), strict=True):
        assert interrupt_everywhere(lambda: act(again()), act.call, act.check, error=error, every=every) > 50


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a signal in a weakref's callback
@pytest.mark.parametrize("act", [Act, Keep, GiveBack])
def test_an_entry_is_written_whole_or_not_at_all_whenever_a_signal_comes(
    act: type[Act], again: Callable[[], Ledger]
) -> None:
    assert interrupt_by_signal(lambda: act(again()), act.call, act.check, times=60, within=0.005) > 10


class Memory:
    """What a group of writers has committed; its transactions are lists."""

    def __init__(self) -> None:
        self.committed: list[str] = []
        self.group = GroupCommit(
            self.transaction,
            translated=lambda error: error,
            trouble=lambda reason, unknown=False: LedgerError(reason),
            patience=1,
        )
        self.other = _Piece(self.writes("other"))  # somebody who waits
        self.group._waiting.append(self.other)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        connection = ListConnection()
        yield connection
        self.committed += connection.wrote

    def writes(self, text: str) -> Callable[[Any], str]:
        return lambda connection: connection.wrote.append(text) or text

    def check(self) -> None:
        """Whoever waits is told the truth; and the next one writes at once."""
        assert not self.group._writer.locked()
        assert ("other" in self.committed) >= (self.other.committed and self.other.failure is None)
        if not self.other.over:
            assert self.other in self.group._waiting
            assert not self.other.committed
        assert self.group.run(self.writes("next")) == "next"
        assert self.other.over
        assert max(self.committed.count("mine"), self.committed.count("other")) <= 1
        assert self.committed[-1] == "next"
        with self.group.alone():
            assert self.group._writer.locked()
        assert not self.group._writer.locked()


class ListConnection:
    """Savepoints of a list."""

    def __init__(self) -> None:
        self.wrote: list[str] = []

    def run(self, text: str) -> None:
        if text.startswith("SAVEPOINT"):
            self.mark = len(self.wrote)
        elif text.startswith("ROLLBACK"):
            del self.wrote[self.mark :]


@pytest.mark.parametrize("opcodes", [False, True])
@pytest.mark.parametrize("error", ERRORS)
def test_who_waits_for_a_writer_that_is_interrupted_is_told_and_the_next_one_writes(
    error: type[BaseException], opcodes: bool
) -> None:
    def run(memory: Memory) -> None:
        memory.group.run(memory.writes("mine"))

    assert interrupt_everywhere(Memory, run, Memory.check, error=error, opcodes=opcodes) > 50


def test_who_waited_for_one_that_was_interrupted_is_told_so() -> None:
    memory, told, writer = Memory(), list[str](), threading.Lock()

    def follow() -> None:
        try:
            told.append(memory.group.run(memory.writes("follows")))
        except LedgerError as error:
            told.append(str(error))

    follows = threading.Thread(target=follow)
    with writer:
        memory.group._writer = writer
        follows.start()
        while len(memory.group._waiting) < 2:
            time.sleep(0.001)
        memory.group._taken(writer)  # and is interrupted
    follows.join(10)
    assert (told, memory.committed) == (["was interrupted by another thread"], [])


@pytest.mark.parametrize("error", ERRORS)
def test_a_writer_that_is_alone_and_interrupted_lets_the_next_one_write(error: type[BaseException]) -> None:
    def alone(memory: Memory) -> None:
        with memory.group.alone():
            memory.group._lock.acquire()
            memory.group._lock.release()

    assert interrupt_everywhere(Memory, alone, Memory.check, error=error) > 10


def test_a_commit_that_failed_is_no_success_for_anybody_who_waited_where_it_is_interrupted_as_well() -> None:
    def make() -> Memory:
        memory = Memory()
        memory.group._transaction = lambda: failing(memory)  # type: ignore[method-assign,assignment]
        return memory

    @contextmanager
    def failing(memory: Memory) -> Iterator[Any]:
        yield ListConnection()
        raise LedgerError("the disk is full")

    def check(memory: Memory) -> None:
        assert not memory.other.committed
        assert memory.committed == []

    def run(memory: Memory) -> None:
        with contextlib.suppress(LedgerError):
            memory.group.run(memory.writes("mine"))

    assert interrupt_everywhere(make, run, check) > 30


def test_a_schema_of_any_bytes_is_damage(tmp_path: Path) -> None:
    """SQLite quotes it in words that Python cannot read: what Python says of that is no word about a ledger."""
    place = tmp_path / "x.ledger"
    Ledger.create(place, dataset="visits", budget=1).close()
    whole = place.read_bytes()
    start = whole.index(b"CREATE TABLE")
    for at in range(start, start + 200, 7):
        place.write_bytes(whole[:at] + b"\x9d" + whole[at + 1 :])
        with contextlib.suppress(LedgerError):
            Ledger(place).close()


def test_a_page_of_rubbish_is_found(path: Path, ledger: Ledger) -> None:
    for number in range(40):
        ledger.spend(epsilon=0.02, what=f"release {number}" + "." * 300)
    content = bytearray(path.read_bytes())
    content[-4096:] = os.urandom(4096)
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="nothing was spent"):
        Ledger(path)


def test_threads_that_wait_for_one_that_is_interrupted_by_signals_all_come_through() -> None:
    came: list[object] = []

    def run(memory: Memory) -> None:
        for _ in range(1000):
            memory.group.run(memory.writes("mine"))

    def check(memory: Memory) -> None:
        def follow() -> None:
            came.append(memory.group.run(memory.writes("follows")))

        threads = [threading.Thread(target=follow) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert not any(thread.is_alive() for thread in threads)
        assert memory.committed.count("follows") == 2

    assert interrupt_by_signal(Memory, run, check, times=200, within=0.002) > 50
    assert set(came) == {"follows"}
