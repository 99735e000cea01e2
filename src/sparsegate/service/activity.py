"""Who asked what, and what came of it, over all gates: for owners, and only answers that have left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Row, select, tuple_

from sparsegate.errors import ParameterError
from sparsegate.ledger.database_schema import ASKS, GATES, TOKENS
from sparsegate.service.gate_store import GateStore

PAGE: Final = 1000


@dataclass(frozen=True, kw_only=True)
class Activity:
    """One ask. ``above`` is None where the outcome is lost; ``by`` where the ledger knows no such token."""

    gate: str
    gate_name: str
    number: int
    by: str | None
    at: str
    condition: str
    above: bool | None
    estimate: int | None
    cursor: str
    """Its place: what came before it is ``after`` this."""


_NEWEST_FIRST: Final = (
    select(ASKS, GATES.c.id, GATES.c.name, GATES.c.asked, TOKENS.c.name.label("by"))
    .join(GATES, GATES.c.number == ASKS.c.gate)
    .outerjoin(TOKENS, TOKENS.c.number == ASKS.c.token)
    # The time is to the second: within one second the order is that of the gates.
    .order_by(ASKS.c.intended_at.desc(), ASKS.c.gate.desc(), ASKS.c.number.desc())
)


def activity(
    store: GateStore, *, after: str | None = None, limit: int = PAGE, gate: str | None = None, by: str | None = None
) -> list[Activity]:
    """Asks that have left, newest first: those older than the cursor ``after``, of one gate, by one token.

    Fewer than ``limit`` are the last ones.
    """
    wanted = _NEWEST_FIRST
    if gate is not None:
        wanted = wanted.where(GATES.c.id == gate)
    if by is not None:
        wanted = wanted.where(TOKENS.c.name == by)
    found: list[Activity] = []
    more = limit
    with store.ledger.database.reading() as connection:
        while more:
            older = wanted if after is None else wanted.where(_place(after) > _PLACE)
            rows = connection.execute(older.limit(more)).all()
            found += [_shown(row) for row in rows if not _on_its_way(store, row)]
            more = limit - len(found) if len(rows) == more else 0
            after = _cursor(rows[-1]) if rows else None
    return found


def _on_its_way(store: GateStore, row: Row[Any]) -> bool:
    return bool(row.number == row.asked) and store.departures.left(row.gate, row.number, row.lasts) > 0


def _shown(row: Row[Any]) -> Activity:
    return Activity(
        gate=row.id,
        gate_name=row.name,
        number=row.number,
        by=row.by,
        at=row.intended_at,
        condition=row.condition,
        above=None if row.above is None else bool(row.above),
        estimate=None if row.estimate is None else int(row.estimate),
        cursor=_cursor(row),
    )


_PLACE: Final = tuple_(ASKS.c.intended_at, ASKS.c.gate, ASKS.c.number)


def _cursor(row: Row[Any]) -> str:
    return f"{row.intended_at}_{row.gate}_{row.number}"


def _place(cursor: str) -> tuple[str, int, int]:
    at, *numbers = cursor.split("_")
    if len(numbers) == 2 and all(number.isascii() and number.isdigit() and len(number) < 10 for number in numbers):
        return at, int(numbers[0]), int(numbers[1])
    raise ParameterError("after", "must be the cursor of a line that was given before", cursor, "leave it out")
