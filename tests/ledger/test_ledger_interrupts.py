"""A ledger that is interrupted has written all of an entry or nothing, and the next writer need not wait for it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.support.interrupts import interrupt_by_signal, interrupt_everywhere

from sparsegate.errors import LedgerError
from sparsegate.ledger.account import Entry, EntryKind, exact_amount
from sparsegate.ledger.database import GroupCommit, _Piece
from sparsegate.ledger.ledger import Ledger

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
        assert all(entry.amount == HALF for entry in added)
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


def interrupted(act: type[Act], again: Callable[[], Ledger], **places: Any) -> int:
    return interrupt_everywhere(lambda: act(again()), act.call, act.check, **places)


@pytest.mark.parametrize("act", [Act, Reserve, Keep, GiveBack, UseReserved])
def test_an_entry_is_written_whole_or_not_at_all_wherever_it_is_interrupted(
    act: type[Act], again: Callable[[], Ledger]
) -> None:
    for error, every in zip(ERRORS, (11, 37), strict=True):
        assert interrupted(act, again, error=error, every=every) > 50


@pytest.mark.soak
@pytest.mark.parametrize("act", [Act, Reserve, Keep, GiveBack, UseReserved])
def test_an_entry_is_written_whole_or_not_at_all_at_every_line(act: type[Act], again: Callable[[], Ledger]) -> None:
    for error in ERRORS:
        assert interrupted(act, again, error=error) > 50


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a signal in a weakref's callback
@pytest.mark.parametrize("act", [Act, Keep, GiveBack])
def test_an_entry_is_written_whole_or_not_at_all_whenever_a_signal_comes(
    act: type[Act], again: Callable[[], Ledger]
) -> None:
    assert interrupt_by_signal(lambda: act(again()), act.call, act.check, times=40, within=0.01) > 10


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
        connection = Connection()
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


class Connection:
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
        yield Connection()
        raise LedgerError("the disk is full")

    def check(memory: Memory) -> None:
        assert not memory.other.committed
        assert memory.committed == []

    def run(memory: Memory) -> None:
        with contextlib.suppress(LedgerError):
            memory.group.run(memory.writes("mine"))

    assert interrupt_everywhere(make, run, check) > 30


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
