"""Whether the service can answer: its ledger can be written, its data is what it was, and there is room on the disk.

Health says that a process is there, and whoever restarts it looks at that; readiness says that requests should be sent
to it. A look takes a write lock of the ledger for a moment and writes nothing; it is kept for a second, so that looking
often is no load. For want of room asks are refused by the same look (``Database.room``), without that second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import anyio

from sparsegate.errors import LedgerError, SparsegateError
from sparsegate.service.keeper import Keeper
from sparsegate.service.web.in_threads import ThreadedKeeper
from sparsegate.service.web.request_log import LOG

KEPT_SECONDS: Final = 1.0


class Readiness:
    """What a look found, for a second. It runs in the event loop, and looks in a thread."""

    def __init__(self, service: ThreadedKeeper, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._service, self._clock = service, clock
        self._lock = anyio.Lock()
        self._found, self._until = "", -1.0

    async def trouble(self) -> str:
        """What is wrong, for the log; empty: it is ready."""
        async with self._lock:
            if self._clock() >= self._until:
                found = await self._service.run(_look, self._service.keeper)
                if found != self._found:
                    LOG.error("not ready: %s", found) if found else LOG.warning("ready again")
                self._found, self._until = found, self._clock() + KEPT_SECONDS
            return self._found


def _look(keeper: Keeper) -> str:
    database = keeper.ledger.database
    try:
        with database.writing():
            pass
        if keeper.dataset.changed():
            return "the data has changed since it was opened, or cannot be reached"
        if short := database.room():
            return f"the ledger {database.shown} {short}"
    except LedgerError as error:
        return str(error)
    except (SparsegateError, OSError) as error:
        return type(error).__name__
    return ""
