"""Reading the data anew while the service runs: the old copy answers until there is a new one.

Whoever is asking the old keeper may finish: it is closed, with its copy, when the last request that began with it has
ended.
"""

from __future__ import annotations

import threading
from typing import Any

from sparsegate.errors import SparsegateError
from sparsegate.service.opening import KeeperTerms
from sparsegate.service.web.admission import Limits, ThreadedKeeper
from sparsegate.service.web.middleware import LOG


class Refresh:
    """Has an application answer from the data as it is now. Thread-safe; ``close`` ends what it began."""

    def __init__(self, state: Any, terms: KeeperTerms, limits: Limits) -> None:
        self._state, self._terms, self._limits = state, terms, limits
        self._guard, self._stopped = threading.Lock(), threading.Event()

    def now(self, *, close_gates: bool) -> bool:
        """Whether the data has changed; blocks until it is read, and answered from."""
        with self._guard:
            before: ThreadedKeeper = self._state.service
            keeper = self._terms.refreshed(before.keeper, close_gates=close_gates)
            if keeper is None:
                return False
            self._state.service = ThreadedKeeper(keeper, self._limits, before)
            self._state.practice.follow(keeper.dataset.schema)
            threading.Thread(target=before.retire, daemon=True).start()
            return True

    def every(self, seconds: float, *, close_gates: bool) -> None:
        """Do it again and again, in a thread; what goes wrong is in the log, and the old copy goes on."""

        def repeat() -> None:
            while not self._stopped.wait(seconds):
                try:
                    if self.now(close_gates=close_gates):
                        LOG.info("the data was read anew")
                except SparsegateError as error:
                    LOG.warning("the data was not read anew: %s", " ".join(str(error).split()))

        threading.Thread(target=repeat, daemon=True).start()

    def close(self) -> None:
        """Close the keeper that answers last, and its data."""
        self._stopped.set()
        with self._guard:
            self._state.service.keeper.close()
            self._state.service.keeper.dataset.close()
