"""Writers that come at the same time: one write to disk, and each as if it were alone, on both stores."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import bindparam, insert, select
from sqlalchemy.exc import OperationalError

from sparsegate.errors import LedgerError, SparsegateError
from sparsegate.ledger.database import Database, DriverConnection, DriverStatement
from sparsegate.ledger.ledger import Ledger
from sparsegate.ledger.schema import ENTRIES

ADD = DriverStatement(insert(ENTRIES), "number", "at", "kind", "epsilon", "delta", "what")
FIND = DriverStatement(select(ENTRIES.c.what).where(ENTRIES.c.number == bindparam("this")))
FIRST = 100


@pytest.fixture
def database(place: str) -> Iterator[Database]:
    with Ledger.create(place, dataset="visits", budget=1) as ledger:
        yield ledger.database


def entry(number: int) -> Callable[[DriverConnection], int]:
    """A piece that adds an entry; what it returns is how many it saw before."""

    def work(connection: DriverConnection) -> int:
        before = sum(bool(connection.rows(FIND, this=other)) for other in range(FIRST, number))
        values = {"at": "now", "kind": "spend", "epsilon": "0", "delta": "0", "what": f"piece {number}"}
        connection.rows(ADD, number=number, **values)
        return before

    return work


def written(database: Database) -> list[int]:
    with database.reading() as connection:
        found = connection.execute(select(ENTRIES.c.number).where(ENTRIES.c.number >= FIRST)).scalars()
        return sorted(found)


@contextmanager
def commits(database: Database) -> Iterator[list[int]]:
    """How many transactions of pieces are committed."""
    counted: list[int] = []
    begin = database._group._transaction

    @contextmanager
    def counting() -> Iterator[DriverConnection]:
        with begin() as connection:
            yield connection
            counted.append(1)

    database._group._transaction = counting
    yield counted


def at_once(database: Database, *works: Callable[[DriverConnection], Any]) -> list[Any]:
    """Have all wait while somebody else writes, in this order: what each returned or raised."""
    told: list[Any] = [None] * len(works)

    def run(place: int) -> None:
        try:
            told[place] = database.together(works[place])
        except Exception as error:
            told[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(works))]
    with database.writing():
        for count, thread in enumerate(threads, start=1):
            thread.start()
            while len(database._group._waiting) < count:
                time.sleep(0.001)
    for thread in threads:
        thread.join(30)
    return told


def test_those_who_wait_are_committed_at_once_and_see_one_another(database: Database) -> None:
    with commits(database) as counted:
        assert at_once(database, *(entry(FIRST + place) for place in range(5))) == [0, 1, 2, 3, 4]
    assert len(counted) == 1
    assert written(database) == [FIRST + place for place in range(5)]


def test_a_piece_that_raises_is_undone_alone(database: Database) -> None:
    refusal = SparsegateError("refused")

    def refused(connection: DriverConnection) -> None:
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
    def fail(_: DriverConnection) -> None:
        raise OperationalError(None, None, Exception("no disk"))

    monkeypatch.setattr(DriverConnection, "commit", fail)
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
    with pytest.raises(LedgerError), database.looking() as connection:
        connection.rows(FIND, this=FIRST)


def test_a_transaction_that_is_gone_is_an_error_for_everybody(database: Database) -> None:
    """As where a full disk makes SQLite roll it back by itself: what comes after must not be written piece by piece."""

    def rolled_back(connection: DriverConnection) -> None:
        connection.run("ROLLBACK")
        raise SparsegateError

    told = at_once(database, entry(FIRST), rolled_back, entry(FIRST + 2))
    assert [type(each) for each in told] == [LedgerError] * 3
    assert written(database) == []


def test_nobody_returns_before_the_commit(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    commit, seen = DriverConnection.commit, []

    def slow(connection: DriverConnection) -> None:
        time.sleep(0.2)
        commit(connection)
        seen.append(time.monotonic())

    monkeypatch.setattr(DriverConnection, "commit", slow)
    returned: list[float] = []

    def run(number: int) -> None:
        database.together(entry(number))
        returned.append(time.monotonic())

    threads = [threading.Thread(target=run, args=(FIRST + place,)) for place in range(3)]
    with database.writing():
        for thread in threads:
            thread.start()
        while len(database._group._waiting) < len(threads):
            time.sleep(0.001)
    for thread in threads:
        thread.join(30)
    assert len(seen) == 1
    assert min(returned) >= seen[0]


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

    def second(connection: DriverConnection) -> None:
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
