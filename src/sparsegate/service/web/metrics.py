"""Numbers for whoever watches the service, in the text format of Prometheus.

**Nothing here tells what the answers did not.** Each number is a function of what was sent and received over HTTP, or
of what the service tells an owner elsewhere:

- requests and asks are counted when their answer leaves, by what the client was told: answered, lost, or the reason of
  a refusal. ABOVE and BELOW are one number. A count that is under way is in none of them;
- lines and places count those who wait, which depends on when others leave, and that is public;
- the budget and the open gates are those of ``/v1/budget`` and ``/v1/gates``, which show an answer, and what it cost,
  not before it has left;
- overruns, and how much of D was left: the number of asks that were told so, and one number for the slowest ask of the
  last whole minute, in quarters of D (``deadline.Pressure`` says why that is the same whatever the data).

There is no duration of any ask, and no number for a gate, a token or a condition.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from starlette.types import Scope

from sparsegate.service.web.in_threads import ThreadedKeeper
from sparsegate.tables.release import installed_version

_ASK: Final = re.compile(r"/v1/gates/[^/]+/ask")
MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_Family = tuple[str, str, str, Mapping[str, float]]


class Metrics:
    """Counts answers as they leave, and writes all numbers down."""

    def __init__(self, service: ThreadedKeeper) -> None:
        self._service = service
        self._requests: Counter[str] = Counter()
        self._asks: Counter[str] = Counter({"answered": 0, "outcome-lost": 0})

    def told(self, scope: Scope, status: int) -> None:
        """An answer leaves. In the event loop: no lock."""
        self._requests[f'status="{status}"'] += 1
        if _ASK.fullmatch(scope["path"]) and scope["method"] == "POST":
            reason = scope["state"].get("problem", f"status-{status}")
            self._asks["answered" if status < 300 else reason] += 1

    def text(self) -> str:
        """All numbers. Reads the ledger."""
        lines = []
        for name, kind, meaning, values in self._families():
            lines += [f"# HELP sparsegate_{name} {meaning}", f"# TYPE sparsegate_{name} {kind}"]
            lines += [
                f"sparsegate_{name}{f'{{{labels}}}' if labels else ''} {value!r}" for labels, value in values.items()
            ]
        return "\n".join(lines) + "\n"

    def _families(self) -> Iterator[_Family]:
        service, keeper = self._service, self._service.keeper
        yield "info", "gauge", "The version that runs.", {f'version="{installed_version()}"': 1}
        yield "requests_total", "counter", "Requests, by status.", dict(self._requests)
        asks = {f'outcome="{outcome}"': count for outcome, count in self._asks.items()}
        yield "asks_total", "counter", "Questions, by what the client was told.", asks
        waiting = {
            'at="gates"': service.queues.waiting,
            'at="places"': keeper.places.waiting,
            'at="reading"': len(service.reading.turn.waiting),
        }
        yield "waiting", "gauge", "Questions that wait: at a gate, to be counted, to be read.", waiting
        yield (
            "delay_seconds",
            "gauge",
            "D: answers leave this long after their turn came; 0 is off.",
            {"": keeper.pace.delay},
        )
        yield "overruns_total", "counter", "Questions that took longer than D.", {"": keeper.pressure.overruns}
        if (left := keeper.pressure.headroom()) is not None:
            yield "delay_headroom_ratio", "gauge", "What the slowest question of the last minute left of D.", {"": left}
        statement = keeper.ledger.statement()
        parts = {"allowed": statement.budget, "spent": statement.spent, "remaining": statement.remaining}
        epsilons = {f'part="{part}"': float(amount.epsilon) for part, amount in parts.items()}
        yield "budget_epsilon", "gauge", "The ledger's epsilon.", epsilons
        yield "gates_open", "gauge", "Gates that can be asked.", {"": keeper.open_gates()}
