"""Writers that come at the same time are committed together, and wait for one write to disk instead of many.

A piece is what a caller would else do in a transaction of its own. Whoever may write runs all pieces that wait, one
after the other in one transaction, and commits them; the others wait for that.

**Theorem.** For each caller it is as if its piece had been a transaction of its own:

1. ``run`` returns only after the commit that holds what the piece wrote is on disk;
2. a piece that raises leaves nothing behind, its caller gets what it raised, and the others stand;
3. where the commit fails, or the process dies before it, nothing of any piece is left, and no caller gets a result;
4. what the pieces read and write is what they would have, one transaction after the other.

*Proof.* 1. Results are handed out after ``commit`` has returned, and nowhere else. 2. Each piece has a savepoint, to
which the transaction goes back; where it cannot, it is undone as a whole, and 3. applies. (A piece that is alone needs
none: its transaction is undone.) 3. A transaction is written whole or not at all; who waits is told of the failure.
4. They run one after the other under the one write lock, so each sees what those before it wrote, as if it had been
committed, and nothing of those that were undone. Constraints are checked at each statement, and so against all of
these. []

So an intent that ``run`` has returned from is on disk before data or noise is touched, an outcome before it leaves, and
the unique constraints decide between two senders of one key as they do between transactions. Who is grouped with whom
follows from when asks come and from how long they take, and the rows are the same whatever their outcomes are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from sparsegate.ledger.database import DriverConnection

Result = TypeVar("Result")


class _Piece:
    """What one caller wants done, and what came of it."""

    def __init__(self, work: Callable[[DriverConnection], Any]) -> None:
        self.work, self.over = work, False
        self.result: Any = None
        self.failure: Exception | None = None


class GroupCommit:
    """The writers of one process: one at a time, or many together.

    ``transaction`` begins one, and ``translated`` makes of an error what a caller gets. Whoever waits for the others
    longer than ``patience`` seconds gets ``busy``.
    """

    def __init__(
        self,
        transaction: Callable[[], AbstractContextManager[DriverConnection]],
        *,
        translated: Callable[[Exception], Exception],
        busy: Callable[[], Exception],
        patience: float,
    ) -> None:
        self._transaction, self._translated = transaction, translated
        self._busy, self._patience = busy, patience
        self._changed = threading.Condition()
        self._waiting: list[_Piece] = []
        self._held = False

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold off all other writers of this process."""
        with self._changed:
            self._until(lambda: not self._held)
            self._held = True
        try:
            yield
        finally:
            self._release([])

    def run(self, work: Callable[[DriverConnection], Result]) -> Result:
        """Do the work, in one transaction with that of others; return or raise what came of it, when it is on disk."""
        piece, pieces = _Piece(work), list[_Piece]()
        with self._changed:
            self._waiting.append(piece)
            self._until(lambda: piece.over or not self._held, piece)
            if not piece.over:
                self._held = True
                pieces, self._waiting = self._waiting, []
        if pieces:
            try:
                self._commit(pieces)
            finally:
                self._release(pieces)
        if piece.failure is not None:
            raise piece.failure
        result: Result = piece.result
        return result

    def _until(self, ready: Callable[[], bool], piece: _Piece | None = None) -> None:
        if self._changed.wait_for(ready, self._patience):
            return
        if piece is None or piece in self._waiting:
            self._waiting = [other for other in self._waiting if other is not piece]
            raise self._busy()
        self._changed.wait_for(ready)  # somebody has begun with it: how it ends must be known

    def _release(self, pieces: list[_Piece]) -> None:
        with self._changed:
            self._held = False
            for piece in pieces:
                piece.over = True
            self._changed.notify_all()

    def _commit(self, pieces: list[_Piece]) -> None:
        failure: Exception | None = self._busy()  # unless something else is known: this thread was interrupted
        try:
            with self._transaction() as connection:
                for piece in pieces:
                    if len(pieces) == 1:
                        piece.result = piece.work(connection)
                    else:
                        self._do(piece, connection)
            failure = None
        except Exception as error:
            failure = error
        finally:
            for piece in pieces:
                piece.failure = failure or piece.failure

    def _do(self, piece: _Piece, connection: DriverConnection) -> None:
        """Do one of several pieces; whatever it raises, all of it is undone, and none of the others."""
        connection.run("SAVEPOINT piece")
        try:
            piece.result = piece.work(connection)
        except Exception as error:
            piece.failure = self._translated(error)
            connection.run("ROLLBACK TO SAVEPOINT piece")
        connection.run("RELEASE SAVEPOINT piece")
