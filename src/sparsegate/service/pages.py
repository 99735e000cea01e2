"""Pages of what a ledger holds: gates, newest first, and the answers of one. Only what may be seen is in them."""

from __future__ import annotations

from itertools import islice
from types import MappingProxyType
from typing import Final

from sqlalchemy import bindparam, select

from sparsegate.ledger.database_schema import ASKS, GATES, TOKENS
from sparsegate.service.gate_rows import MAY_BE_CLOSED, MAY_BE_OPEN, WITH_LAST, asked, seen
from sparsegate.service.gate_store import GateStore
from sparsegate.service.gates import Asked, GateRow

PAGE: Final = 1000
"""The most on one page."""

_OLDER: Final = WITH_LAST.where(GATES.c.number < bindparam("before")).order_by(GATES.c.number.desc())
_WANTED: Final = MappingProxyType({None: _OLDER, True: _OLDER.where(MAY_BE_CLOSED), False: _OLDER.where(MAY_BE_OPEN)})

_BETWEEN: Final = (
    select(ASKS, TOKENS.c.name.label("asker"))
    .outerjoin(TOKENS, TOKENS.c.number == ASKS.c.token)
    .where(ASKS.c.gate == bindparam("this"), ASKS.c.number > bindparam("after"), ASKS.c.number < bindparam("before"))
    .limit(bindparam("most"))
)
_FIRST: Final = _BETWEEN.order_by(ASKS.c.number)
_LAST: Final = _BETWEEN.order_by(ASKS.c.number.desc())


def page_of_gates(
    store: GateStore, *, closed: bool | None = None, after: str | None = None, limit: int = PAGE
) -> list[GateRow]:
    """Gates as they may be seen, newest first: those that were opened before the gate ``after``."""
    before = 2**31 - 1 if after is None else store.gate(after).number
    with store.ledger.database.reading() as connection:
        rows = connection.execute(_WANTED[closed], {"before": before}).yield_per(100)
        found = (seen(row, hidden=store.departures.hides(row)) for row in rows)
        # Whether a gate is through follows from its counters, and is never written.
        return list(islice((gate for gate in found if closed in (None, bool(gate.tally.closed))), limit))


def page_of_answers(
    store: GateStore, id: str, *, after: int = 0, before: int | None = None, limit: int = PAGE
) -> list[Asked]:
    """Asks of a gate that may be seen, oldest first: the first ones after a number, or the last ones before one."""
    gate = store.gate(id, visible=True)
    end = gate.tally.asked + 1
    values = {"this": gate.number, "after": after, "before": min(before or end, end), "most": limit}
    with store.ledger.database.reading() as connection:
        found = [asked(row) for row in connection.execute(_FIRST if before is None else _LAST, values)]
    return found if before is None else found[::-1]
