"""The statements of an ask and of a look at a gate, built once: an ask runs a dozen, and building takes time."""

from __future__ import annotations

from typing import Final

from sqlalchemy import and_, bindparam, insert, select, update

from sparsegate.ledger.database_schema import ASKS, GATES

# Asks take turns, so of a gate only the newest ask can be on its way.
_WITH_LAST: Final = select(GATES, ASKS.c.visible_from, ASKS.c.above.label("last")).outerjoin(
    ASKS, and_(ASKS.c.gate == GATES.c.number, ASKS.c.number == GATES.c.asked)
)
_THIS: Final = GATES.c.number == bindparam("this")

FIND_GATE: Final = _WITH_LAST.where(GATES.c.id == bindparam("id"))
ALL_GATES: Final = _WITH_LAST.order_by(GATES.c.number.desc())
READ_GATE: Final = select(GATES).where(_THIS)

PAST_ASKS: Final = (
    select(ASKS)
    .where(
        ASKS.c.gate == bindparam("this"),
        ASKS.c.number > bindparam("after"),
        ASKS.c.visible_from <= bindparam("now"),
    )
    .order_by(ASKS.c.number)
    .limit(bindparam("most"))
)

SAME_ASK: Final = select(ASKS).where(
    ASKS.c.gate == bindparam("this"), ASKS.c.token == bindparam("whose"), ASKS.c.key == bindparam("under")
)
COUNT_ASK: Final = update(GATES).where(_THIS).values(asked=bindparam("count"))
ADD_ASK: Final = insert(ASKS)
SETTLE_ASK: Final = (
    update(ASKS)
    .where(ASKS.c.gate == bindparam("this"), ASKS.c.number == bindparam("place"), ASKS.c.above.is_(None))
    .values(above=bindparam("outcome"))
)
_ASK: Final = and_(ASKS.c.gate == bindparam("this"), ASKS.c.number == bindparam("place"))
OUTCOME: Final = select(ASKS.c.above).where(_ASK)
LEAVES: Final = select(ASKS.c.visible_from).where(_ASK)
VOID_ASK: Final = update(ASKS).where(_ASK).values(above=None)
COUNT_OUTCOME: Final = update(GATES).where(_THIS).values(above=bindparam("above_now"), below=bindparam("below_now"))
