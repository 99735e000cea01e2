"""What a keeper needs of the world: a store that commits, turns at a gate, and a table that counts.

The keeper is written against these. ``store`` fulfils the first two on SQLite and PostgreSQL, ``data`` the third.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from sparsegate.conditions import Condition, Schema
from sparsegate.ledger.account import Amount
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.gates import Asked, GateRow, Request, Tally


class GateStore(Protocol):
    """Gates, asks and requests beside a ledger. Each method is one transaction, on disk when it returns."""

    @property
    def ledger(self) -> Ledger:
        """What was spent."""

    def recall(self, request: Request, path: str) -> str | None:
        """The stored response of a request that came before."""

    def begin(
        self,
        request: Request,
        path: str,
        amount: Amount,
        what: str,
        *,
        gate: GateRow | None = None,
        response: str | None = None,
    ) -> str | None:
        """Charge the ledger and store all of this; or return the stored response of one that came before."""

    def finish(self, request: Request, path: str, response: str, gave: Mapping[str, Any]) -> None:
        """Store what is answered, and as what its entry gave."""

    def gate(self, id: str, *, visible: bool = False) -> GateRow:
        """A gate as it is, or as it may be seen."""

    def gates(self) -> list[GateRow]:
        """All gates as they may be seen."""

    def answers(self, id: str, *, after: int, limit: int) -> list[Asked]:
        """Asks of a gate that may be seen."""

    def same_ask(self, gate: GateRow, request: Request) -> Asked | None:
        """The ask that this request became when it came before."""

    def now(self) -> float:
        """The store's clock, in seconds since 1970: what ``visible_from`` is measured by."""

    def intend(self, gate: GateRow, request: Request, condition: str, *, leaves_in: Callable[[], float]) -> int | Asked:
        """Reserve one ABOVE for a new ask, not seen before it leaves; or return the ask that came before."""

    def settle(self, gate: GateRow, number: int, *, above: bool) -> Tally:
        """Write the outcome of an ask."""

    def void(self, gate: GateRow, number: int, because: str | None) -> None:
        """Take the outcome of an ask back, if it has one; with a reason, close the gate too."""

    def close(
        self,
        because: str,
        *,
        id: str | None = None,
        on: str | None = None,
        unlike: str | None = None,
        delay: float = 0.0,
    ) -> None:
        """Close a gate, or all gates on some data, or on any other."""


class Turns(Protocol):
    """One at a time, across threads and processes."""

    def at(self, gate: int) -> AbstractContextManager[None]:
        """Hold the turn at a gate."""

    def close(self) -> None:
        """Give back what is held."""


class ServedTable(Protocol):
    """A table that counts people."""

    schema: Schema
    unit: str
    fingerprint: str

    @property
    def unit_options(self) -> dict[str, Any]:
        """The unit as ``top_items`` takes it."""

    def changed(self) -> bool:
        """Whether the data are no longer those that were opened."""

    def count(self, condition: Condition) -> int:
        """The private answer."""

    def seconds(self, condition: Condition) -> float:
        """How long a count takes at worst, from public numbers."""

    def relation(self) -> Any:
        """The table, for ``top_items``."""
