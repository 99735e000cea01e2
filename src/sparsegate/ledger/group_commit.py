"""Writers that come at the same time are committed together, and wait for one write to disk instead of many.

A piece is what a caller would else do in a transaction of its own. Whoever may write runs all pieces that wait, one
after the other in one transaction, and commits them; the others wait for that.

**Theorem.** For each caller it is as if its piece had been a transaction of its own:

1. ``run`` returns only after the commit that holds what the piece wrote is on disk;
2. a piece that raises leaves nothing behind, its caller gets what it raised, and the others stand;
3. where the commit fails, or the process dies before it, nothing of any piece is left, and no caller gets a result;
   where whoever writes is interrupted (Ctrl-C), all of it is left or nothing, nobody gets a result, and is told so;
4. what the pieces read and write is what they would have, one transaction after the other.

*Proof.* 1. Results are handed out after ``commit`` has returned, and nowhere else. 2. Each piece has a savepoint, to
which the transaction goes back; where it cannot, it is undone as a whole, and 3. applies. (A piece that is alone needs
none: its transaction is undone.) 3. A transaction is written whole or not at all; who waits is told of the failure.
What is not said to be committed counts as interrupted.
4. They run one after the other under the one write lock, so each sees what those before it wrote, as if it had been
committed, and nothing of those that were undone. Constraints are checked at each statement, and so against all of
these. []

So an intent that ``run`` has returned from is on disk before data or noise is touched, an outcome before it leaves, and
the unique constraints decide between two senders of one key as they do between transactions. Who is grouped with whom
follows from when asks come and from how long they take, and the rows are the same whatever their outcomes are.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from sparsegate.ledger.database import DriverConnection

Result = TypeVar("Result")

_LOOK_AGAIN: Final = 0.1  # seconds; whoever writes may be interrupted before it says that it is done


class _Piece:
    """What one caller wants done, who does it, and what came of it."""

    def __init__(self, work: Callable[[DriverConnection], Any]) -> None:
        self.work, self.committed = work, False
        self.writer: threading.Lock | None = None
        self.result: Any = None
        self.failure: Exception | None = None

    @property
    def over(self) -> bool:
        """Whether somebody took it up, and is done, in whatever way."""
        return self.writer is not None and not self.writer.locked()


class GroupCommit:
    """The writers of one process: one at a time, or many together.

    ``transaction`` begins one, and ``translated`` makes of an error what a caller gets. Whoever waits for the others
    longer than ``patience`` seconds gets ``busy``, and ``interrupted`` who waited for one that was.

    A writer holds a lock of its own in a ``with``, and writes while it is held. So it is free when the block is left,
    however it is left: no signal is looked at between the end of a block and the release of such a lock. (Inside the
    methods of a ``Condition``, and at the beginning of a ``finally``, it is.)
    """

    def __init__(
        self,
        transaction: Callable[[], AbstractContextManager[DriverConnection]],
        *,
        translated: Callable[[Exception], Exception],
        busy: Callable[[], Exception],
        interrupted: Callable[[], Exception],
        patience: float,
    ) -> None:
        self._transaction, self._translated = transaction, translated
        self._busy, self._interrupted, self._patience = busy, interrupted, patience
        self._lock = threading.Lock()
        self._bells: list[threading.Lock] = []
        self._waiting: list[_Piece] = []
        self._writer = threading.Lock()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold off all other writers of this process."""
        me = threading.Lock()
        try:
            with me:
                self._turn(me)
                yield
        finally:
            self._ring()

    def run(self, work: Callable[[DriverConnection], Result]) -> Result:
        """Do the work, in one transaction with that of others; return or raise what came of it, when it is on disk."""
        piece, me = _Piece(work), threading.Lock()
        try:
            with me:
                with self._lock:
                    self._waiting.append(piece)
                self._turn(me, piece)
                if self._writer is me:
                    self._commit(self._taken(me))
        finally:
            self._withdraw(piece)
            self._ring()
        if piece.failure is not None:
            raise piece.failure
        if not piece.committed:
            raise self._interrupted()
        result: Result = piece.result
        return result

    def _turn(self, me: threading.Lock, piece: _Piece | None = None) -> None:
        """Wait until nobody else writes, and be the writer; or until somebody has done the piece."""
        until = time.monotonic() + self._patience
        while True:
            with self._lock:
                if piece is not None and piece.over:
                    return
                if not self._writer.locked():
                    self._writer = me
                    return
                begun = piece is not None and piece.writer is not None  # how it ends must be known
                if not begun and time.monotonic() >= until:
                    raise self._busy()
                bell = threading.Lock()
                bell.acquire()
                self._bells.append(bell)
            bell.acquire(timeout=_LOOK_AGAIN)

    def _taken(self, me: threading.Lock) -> list[_Piece]:
        """All that nobody has begun with; from now on this writer does them."""
        with self._lock:
            pieces = [piece for piece in self._waiting if piece.writer is None]
            for piece in pieces:
                piece.writer = me
            self._waiting = []
        return pieces

    def _withdraw(self, piece: _Piece) -> None:
        """Whoever gave up, or was interrupted, has nothing written for him any more."""
        with self._lock:
            self._waiting = [other for other in self._waiting if other is not piece]

    def _ring(self) -> None:
        """Tell those who wait to look again."""
        with self._lock:
            bells, self._bells = self._bells, []
            for bell in bells:
                bell.release()

    def _commit(self, pieces: list[_Piece]) -> None:
        try:
            with self._transaction() as connection:
                for piece in pieces:
                    if len(pieces) == 1:
                        piece.result = piece.work(connection)
                    else:
                        self._do(piece, connection)
        except Exception as error:
            for piece in pieces:
                piece.failure = error
            return
        for piece in pieces:
            piece.committed = True

    def _do(self, piece: _Piece, connection: DriverConnection) -> None:
        """Do one of several pieces; whatever it raises, all of it is undone, and none of the others."""
        connection.run("SAVEPOINT piece")
        try:
            piece.result = piece.work(connection)
        except Exception as error:
            piece.failure = self._translated(error)
            connection.run("ROLLBACK TO SAVEPOINT piece")
        connection.run("RELEASE SAVEPOINT piece")
