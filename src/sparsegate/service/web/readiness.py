"""Whether the service can answer: its ledger can be written, its data is what it was, and there is room on the disk.

Health says that a process is there, and whoever restarts it looks at that; readiness says that requests should be sent
to it. A look takes a write lock of the ledger for a moment and writes nothing; it is kept for a second, so that looking
often is no load. For want of room asks are refused by the same look (``Database.room``), without that second.

And numbers for whoever watches the service, in the text format of Prometheus. **Nothing here tells what the answers did
not**: the argument is in docs/explanation/proofs_in_words/web.md. Of several workers each writes its own numbers to a
file once a second, and whoever is asked adds them up: those of the others are up to a second old.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

import anyio

from sparsegate.errors import LedgerError, SparsegateError
from sparsegate.service.keeper import Keeper
from sparsegate.service.web.admission import ThreadedKeeper
from sparsegate.service.web.middleware import LOG
from sparsegate.tables.release import installed_version

KEPT_SECONDS: Final = 1.0


class Readiness:
    """What a look found, for a second. It runs in the event loop, and looks in a thread."""

    def __init__(self, service: Callable[[], ThreadedKeeper], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._service, self._clock = service, clock
        self._lock = anyio.Lock()
        self._trouble, self._until = "", -1.0

    async def trouble(self) -> str:
        """What is wrong, for the log; empty: it is ready."""
        async with self._lock:
            if self._clock() >= self._until:
                with self._service().leased() as service:
                    trouble = await service.run(_look, service.keeper)
                if trouble != self._trouble:
                    LOG.error("not ready: %s", trouble) if trouble else LOG.warning("ready again")
                self._trouble, self._until = trouble, self._clock() + KEPT_SECONDS
            return self._trouble


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


METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


ALLOWED: Final = "allowed"


def own_figures(state: Any) -> dict[str, Any]:
    """The numbers of this process, from the state of its application."""
    service: ThreadedKeeper = state.service
    keeper, counts = service.keeper, state.counts
    waiting = {"gates": service.queues.waiting, "places": keeper.waiting, "reading": len(service.reading.turn.waiting)}
    return {
        "requests": dict(counts.requests),
        "asks": dict(counts.asks),
        "waiting": waiting,
        "overruns": {"": keeper.pressure.overruns},
        "headroom": keeper.pressure.headroom(),
    }


class SharedFigures:
    """The numbers of all workers, each in a file of their folder."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder, self._own, self._stopped = folder, folder / f"{number}.figures", threading.Event()

    def written(self, state: Any) -> Self:
        """Write those of an application, in a thread, until it is closed."""

        def repeat() -> None:
            while True:
                draft = self._own.with_suffix(".draft")
                with suppress(OSError):  # a disk that is full now may have room in a second
                    draft.write_text(json.dumps(own_figures(state)))
                    draft.replace(self._own)
                if self._stopped.wait(1):
                    return

        threading.Thread(target=repeat, daemon=True).start()
        return self

    def others(self) -> list[dict[str, Any]]:
        return [json.loads(file.read_text()) for file in self.folder.glob("*.figures") if file != self._own]

    def close(self) -> None:
        self._stopped.set()


def metrics_text(state: Any) -> str:
    """All numbers. Reads the ledger."""
    keeper: Keeper = state.service.keeper
    everybody = [own_figures(state), *(state.shared.others() if state.shared is not None else [])]
    asked, asks, waiting, overruns = totals = [Counter[str]() for _ in range(4)]
    for each in everybody:
        for total, name in zip(totals, ("requests", "asks", "waiting", "overruns"), strict=True):
            total.update(each[name])
    statement = keeper.ledger.statement()
    adds = statement.rule == "epsilon"
    parts = {ALLOWED: statement.budget, "spent": statement.spent, "remaining": statement.remaining}
    left = min((each["headroom"] for each in everybody if each["headroom"] is not None), default=None)
    families: list[tuple[str, str, str, Mapping[str, float]]] = [
        ("info", "gauge", "The version that runs.", {f'version="{installed_version()}"': 1}),
        ("requests_total", "counter", "Requests, by status.", asked),
        ("asks_total", "counter", "Questions, by what the client was told.", _labelled("outcome", asks)),
        ("waiting", "gauge", "Questions that wait: at a gate, to be counted, to be read.", _labelled("at", waiting)),
        (
            "delay_seconds",
            "gauge",
            "D: an answer leaves this long after its work began; 0 is off.",
            {"": keeper.pace.delay},
        ),
        ("overruns_total", "counter", "Questions that took longer than D.", overruns),
        (
            "delay_headroom_ratio",
            "gauge",
            "What the slowest question of the last minute left of D.",
            {} if left is None else {"": left},
        ),
        (
            "budget_epsilon",
            "gauge",
            "The ledger's epsilon; of a zCDP ledger, which counts none, what is allowed alone.",
            _labelled(
                "part", {part: float(amount.epsilon) for part, amount in parts.items() if adds or part == ALLOWED}
            ),
        ),
        (
            "budget_rho",
            "gauge",
            "The rho of a zCDP ledger.",
            {} if adds else _labelled("part", {part: float(amount.rho or 0) for part, amount in parts.items()}),
        ),
        ("gates_open", "gauge", "Gates that can be asked.", {"": keeper.open_gates()}),
    ]
    lines = []
    for name, kind, meaning, values in families:
        lines += [f"# HELP sparsegate_{name} {meaning}", f"# TYPE sparsegate_{name} {kind}"] if values else []
        lines += [f"sparsegate_{name}{f'{{{label}}}' if label else ''} {value!r}" for label, value in values.items()]
    return "\n".join(lines) + "\n"


def _labelled(label: str, values: Mapping[str, float]) -> dict[str, float]:
    return {f'{label}="{name}"': value for name, value in values.items()}
