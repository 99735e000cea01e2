"""Which answers have left: decided by turns and by a clock that nobody can set, never by the time of day.

A turn at a gate lasts until the answer has left (``locks``), so of a gate only the newest ask can be on its way: what
is older has left. With the newest is stored how long it takes to leave, counted from before its intent is committed.

**Theorem.** While turns hold, no process shows an answer before it leaves, however the clocks of the servers are set,
and every process shows it at most D after it first looked. *Proof.* The process that serves an ask
knows the moment, arrival + D (``expect``). Whoever else looks sees the row after its intent was committed, and waits
from the first look, by a monotonic clock, for as long as was left before that commit: at least until arrival + D. []

A keeper looks at all gates when it starts: where nobody holds the turn, the newest answer has left as well, or its
server was killed, and then what it wrote leaves now. Else it is seen D later.

Without a D an answer leaves when it is written. Until then its gate may look as if it were through, because what has no
outcome counts as an ABOVE: whether that is for good is decided by the turn.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any


class Departures:
    """For each gate the number of its newest ask that this process knows, and when it leaves. Thread-safe."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, float]] = {}
        self._held: Callable[[Iterable[int]], set[int]] = lambda _: set()
        self._guard = threading.Lock()

    def expect(self, gate: int, number: int, moment: float) -> None:
        """An ask whose intent this process has committed leaves at this moment of the monotonic clock."""
        with self._guard:
            self._known[gate] = (number, moment)

    def left(self, gate: int, number: int, lasts: float | None) -> float:
        """Seconds until an ask has left, by what was read of it just now; 0: it has."""
        if not lasts:
            return 0.0
        with self._guard:
            newest, moment = self._known.get(gate, (0, 0.0))
            if number > newest:
                moment = time.monotonic() + lasts
                self._known[gate] = (number, moment)
        return max(moment - time.monotonic(), 0.0) if number >= newest else 0.0

    def longest(self) -> float:
        """Seconds until all that this process knows of has left."""
        with self._guard:
            return max((moment for _, moment in self._known.values()), default=0.0) - time.monotonic()

    def resume(self, rows: Iterable[Any], held: Callable[[Iterable[int]], set[int]]) -> None:
        """At the start, by rows that were read just now: where nobody holds the turn, nothing is on its way."""
        self._held = held
        newest = {row.entry: row.asked for row in rows if row.lasts}
        busy = held(newest)
        with self._guard:
            self._known.update({gate: (number, 0.0) for gate, number in newest.items() if gate not in busy})

    def hides(self, row: Any) -> bool:
        """Whether the newest ask of a gate (a row of ``gate_store.WITH_LAST``) is still on its way."""
        at_work = row.lasts == 0 and row.last is None and bool(self._held([row.entry]))
        return at_work or self.left(row.entry, row.asked, row.lasts) > 0
