"""One ask and its deadline: the answer leaves at arrival + D, also where the work is not done by then.

The work is done in a thread of its own, which holds the gate's turn; whoever asked waits for it until D is over and no
longer, and has the ask undone at that moment (``overrun``), so that nobody sees when the work ended. What the thread
does after that is clean up: it takes back an outcome that was written later still, and gives back the turn, at a
multiple of D. A count that is late is not stopped: its work is bounded (``data.constant_work``), and what could be
stopped would tell how far it was.

"Arrival" is when the intent has the ledger's write lock: waiting for a turn, a place, a thread or other writers is
outside D.

**Theorem.** Let a table be counted by constant work. Then an overrun is independent of the data, given the load of the
machine, up to what that leaves open; so it costs the ask, and the gate stays open. *Proof.* The steps of an ask follow
from public numbers: the sizes, the condition, the commits, which write the same rows and columns whatever comes of it.
So whether they take longer than D is decided by these numbers and by the load. The transcript of the gate then lacks
an answer in a place that was chosen without a look at the data, and the place counts as an ABOVE (``gates``). []

- **What is left open** (``data.constant_work``: how long the engine takes over one value) is at most the public bound
  of the condition, which D is ``headroom`` times ``slowdown`` of. To make an overrun depend on it, somebody must slow
  the machine down by about that much, and each try costs an ABOVE: a gate can be tried c times, and no more.
- **A failure of the engine** may depend on a cell, and no amount of work bounds it: it closes the gate, so that it can
  be provoked once for each gate that an owner opens. After D nobody sees whether the late work failed.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, NoReturn, TypeVar

from sparsegate.errors import OutcomeLost

Answer = TypeVar("Answer")

LOG = logging.getLogger("sparsegate.service")

HEADROOM: Final = 3.0
"""D is this many times what the longest count that is admitted takes on a busy machine, commits included."""
WARNED: Final = 0.5
"""Asks that take more of D than this are told to the owner, before any is lost."""
WINDOW: Final = 60.0
"""Seconds."""

SHORTEST: Final = 0.25
"""The least D in seconds, unless it is given."""


@dataclass(frozen=True, kw_only=True)
class DelayPlan:
    """How long questions may take, and wait."""

    delay: float = 0.0
    """D in seconds; 0 answers as soon as it can, and then a stopwatch sees how long a count took."""
    capacity: float = math.inf
    """The seconds that a count may take at worst, by public numbers: what could take longer is refused at once."""
    places: int = 4
    """Questions that are counted at once; the others wait, and D does not run."""
    patience: float = 60.0
    """How many seconds a question waits for its turn at a gate."""

    @classmethod
    def measured(
        cls,
        *,
        look: float,
        commits: float,
        delay: float | None = None,
        headroom: float = HEADROOM,
        slowdown: float = 1.0,
    ) -> DelayPlan:
        """From a count that looks at every column once, from the commits of an ask, and from how many times longer they
        take on a busy machine (``opening``); ``delay`` overrides D.

        Unless D is given, conditions of twice such a look are admitted.

        >>> plan = DelayPlan.measured(look=0.2, commits=0.01, slowdown=2)
        >>> plan.delay, round(plan.capacity, 6), DelayPlan.measured(look=0.001, commits=0.01).delay
        (2.52, 0.41, 0.25)
        """
        multiple = headroom * slowdown
        long = max(SHORTEST, math.ceil(2 * multiple * (look + commits) * 1000 - 1e-6) / 1000)
        longest = (delay or long) / multiple
        # A D that is too short for the commits of this disk must not refuse every question.
        return cls(delay=long if delay is None else delay, capacity=max(longest - commits, longest / 2))


class Pressure:
    """How much of D asks take: what the owner is told before it is too little. Thread-safe.

    ``headroom`` is all that is told beyond the log, and tells no ask: the share of D that was left in the whole last
    minute by the slowest of them, rounded down to a quarter. What is admitted takes a ``HEADROOM``-th of D or less on a
    busy machine, so it is the same number, whatever the data, until the machine is busier than that.
    """

    def __init__(self, delay: float) -> None:
        self._delay, self.overruns = delay, 0
        self._worst: dict[int, float] = {}
        self._guard = threading.Lock()

    def note(self, used: float) -> None:
        """An ask that has left took this share of D. There is a warning at most once a minute, in the owner's log."""
        window = int(time.monotonic() // WINDOW)
        with self._guard:
            self.overruns += used >= 1
            before = self._worst.get(window, 0.0)
            self._worst = {each: worst for each, worst in self._worst.items() if each >= window - 1}
            self._worst[window] = max(before, used)
        if used > WARNED >= before:
            busy = "the machine is busy, and what takes longer than D is lost: give it room by --headroom or --delay"
            LOG.warning("a question took %.0f %% of D = %g s: %s", 100 * used, self._delay, busy)

    def headroom(self) -> float | None:
        """None: nobody asked in the last whole minute."""
        worst = self._worst.get(int(time.monotonic() // WINDOW) - 1)
        return None if worst is None else max(math.floor(4 * (1 - worst)) / 4, 0.0)


class Asking(Generic[Answer]):
    """The course of one ask. Without a delay (D = 0) there is no deadline, and no thread."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._changed = threading.Condition()
        self._arrival: float | None = None
        self._ended: float | None = None
        self._intended = False
        self._expired = False
        self._overrun: Callable[[], None] | None = None
        self._outcome: Callable[[], Answer] | None = None

    def run(self, work: Callable[[], None]) -> Answer:
        """Do the work, which calls the methods below; return or raise what it delivers, when it may leave."""
        if self._delay:
            threading.Thread(target=self._body, args=(work,), daemon=True).start()
            self._wait()
            if self._expired and self._overrun is not None:
                threading.Thread(target=self._overrun, daemon=True).start()
        else:
            self._body(work)
        outcome = self._outcome
        if self._intended and self._arrival is not None:
            wait_until(self._arrival + self._delay)
        if outcome is None or self._expired:
            raise OutcomeLost
        return outcome()

    def _body(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            # Before the intent a refusal says why; after it there is one outcome, whatever happened.
            self.deliver(lost if self._intended else partial(_refuse, error))
        finally:
            self.deliver(lost)  # does nothing if something was delivered before

    def _wait(self) -> None:
        """Until something is delivered, or D is over."""
        with self._changed:
            while self._outcome is None:
                left = None if self._arrival is None else self._arrival + self._delay - time.monotonic()
                if left is not None and left <= 0:
                    self._expired = True
                    break
                self._changed.wait(left)

    def arrive(self) -> float:
        """The work begins: D runs from here. The moment at which the answer leaves."""
        with self._changed:
            self._arrival = time.monotonic()
            self._changed.notify()
            return self._arrival + self._delay

    def intend(self, overrun: Callable[[], None]) -> None:
        """The intent is committed: from here on whatever comes of it leaves at arrival + D; if nothing has, ``overrun``
        is called then, in a thread of its own."""
        self._intended, self._overrun = True, overrun

    def deliver(self, outcome: Callable[[], Answer]) -> bool:
        """Hand over what is to be returned or raised; False: too late, ``OutcomeLost`` has left."""
        with self._changed:
            self._ended = self._ended or time.monotonic()
            if self._expired or (self._outcome is None and self.late):
                self._expired = True
            elif self._outcome is None:
                self._outcome = outcome
            self._changed.notify()
            return not self._expired

    @property
    def late(self) -> bool:
        """Whether D is over."""
        over = self._arrival is not None and time.monotonic() >= self._arrival + self._delay
        return self._expired or (self._delay > 0 and self._intended and over)

    @property
    def used(self) -> float:
        """The share of D that the work took; 0 without a D."""
        if not self._delay or self._arrival is None or self._ended is None:
            return 0.0
        return (self._ended - self._arrival) / self._delay

    def leave(self) -> None:
        """Wait until the answer has left; if it was late, until the next multiple of D: when exactly the work ended is
        not for whoever has the next turn."""
        if self._arrival is not None and self._delay:
            turns = math.ceil((time.monotonic() - self._arrival) / self._delay)
            wait_until(self._arrival + self._delay * max(turns, 1))


def lost() -> NoReturn:
    """The one text for every cause."""
    raise OutcomeLost


def _refuse(error: Exception) -> NoReturn:
    raise error


def wait_until(moment: float) -> None:
    """Sleep until a moment of the monotonic clock."""
    while (left := moment - time.monotonic()) > 0:
        time.sleep(left)
