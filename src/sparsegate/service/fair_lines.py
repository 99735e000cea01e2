"""Who is next: those who wait take turns, and it does not matter how many requests each of them has sent.

First come, first served lets one sender with fifty questions a second stand in front of everybody else. Here each
sender has a line of its own, and lines are served in rounds, one request of each sender in a round. Whoever comes is in
the round that is under way, unless she was served in it: then she is in the next one, where whoever came first is
first. (Start-time fair queueing: Goyal, Vin, Cheng 1996, for requests of one size.) So a newcomer waits for those who
are served now, and for at most one request of each sender that has not been served in this round; and nobody waits for
ever.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

Waiter = TypeVar("Waiter")


class Lines(Generic[Waiter]):
    """A line for each sender. Not thread-safe.

    >>> lines = Lines()
    >>> for sender, waiter in (("a", 1), ("a", 2), ("a", 3), ("b", 4)):
    ...     lines.join(sender, waiter)
    >>> [lines.next() for _ in range(5)]
    [1, 4, 2, 3, None]
    """

    def __init__(self) -> None:
        self._lines: dict[Hashable, deque[Waiter]] = {}
        self._round = 0
        self._rounds: dict[Hashable, int] = {}
        """Of the next request of those who wait, or were served in this round."""

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def join(self, sender: Hashable, waiter: Waiter) -> None:
        """Stand at the end of the sender's line."""
        if sender not in self._lines:
            self._rounds[sender] = max(self._round, self._rounds.get(sender, 0))
        self._lines.setdefault(sender, deque()).append(waiter)

    def leave(self, sender: Hashable, waiter: Waiter) -> bool:
        """Give up waiting; False: it was called already."""
        line = self._lines.get(sender, deque())
        if waiter not in line:
            return False
        line.remove(waiter)
        if not line:
            del self._lines[sender]
        return True

    def next(self) -> Waiter | None:
        """Whoever is called now; None: nobody waits."""
        if not self._lines:
            return None
        sender = min(self._lines, key=self._rounds.__getitem__)
        waiter = self._lines[sender].popleft()
        if not self._lines[sender]:
            del self._lines[sender]
        self.serve(sender)
        return waiter

    def serve(self, sender: Hashable) -> None:
        """Serve a sender, who was called, or has not had to wait."""
        begun = max(self._round, self._rounds.get(sender, 0))
        if begun > self._round:
            self._round = begun
            self._rounds = {each: one for each, one in self._rounds.items() if one > begun or each in self._lines}
        self._rounds[sender] = begun + 1

    def shed(self, newcomer: Hashable) -> Waiter | None:
        """Send away the last of the longest line, to make room; None: the newcomer's own would be as long."""
        longest = max(self._lines, key=lambda sender: len(self._lines[sender]), default=None)
        if longest is None or len(self._lines.get(newcomer, ())) + 1 >= len(self._lines[longest]):
            return None
        return self._lines[longest].pop()
