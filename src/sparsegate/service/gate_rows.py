"""Rows of the tables ``gates`` and ``asks``, written and read: as they are, and as they may be seen.

Asks take turns, so of a gate only the newest ask can be on its way. Until its answer leaves nobody sees it
(``departures``), nor that the gate closed with it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from sqlalchemy import Select, and_, or_, select

from sparsegate.ledger.account import exact_text, exact_value
from sparsegate.ledger.database_schema import ASKS, ENTRIES, GATES, REFUNDS, TOKENS
from sparsegate.service.gates import Asked, GateLabel, GateRow, GateSpec, Tally

_exact: Final = lru_cache(maxsize=1024)(exact_value)

WITH_LAST: Final[Select[Any]] = (
    select(
        GATES,
        ASKS.c.lasts,
        ASKS.c.above.label("last"),
        ENTRIES.c.epsilon.label("given_back"),
        TOKENS.c.name.label("opener"),
    )
    .outerjoin(ASKS, and_(ASKS.c.gate == GATES.c.number, ASKS.c.number == GATES.c.asked))
    .outerjoin(REFUNDS, REFUNDS.c.of == GATES.c.entry)
    .outerjoin(ENTRIES, ENTRIES.c.number == REFUNDS.c.entry)
    .outerjoin(TOKENS, TOKENS.c.number == GATES.c.opened_by)
)
"""Gates with their newest ask, with what they gave back, and with who opened them."""

_POSITIVES: Final = GATES.c.asked - GATES.c.below
_TWO_SIDED: Final = GATES.c.closes == "rarer"

MAY_BE_CLOSED: Final = or_(
    GATES.c.closed_because.is_not(None),
    and_(~_TWO_SIDED, GATES.c.cutoff <= _POSITIVES),
    and_(_TWO_SIDED, GATES.c.asked >= 2 * GATES.c.cutoff),
    GATES.c.asked >= GATES.c.queries,
    GATES.c.asked >= GATES.c.most_asks,
)
"""True of every gate that is closed, as it is or as it may be seen (``Tally.closed``): the others need not be read."""

MAY_BE_OPEN: Final = and_(
    or_(GATES.c.closed_because.is_(None), GATES.c.closed_with.is_not(None)),
    or_(_TWO_SIDED, GATES.c.cutoff > _POSITIVES - 1),
    or_(GATES.c.queries.is_(None), GATES.c.asked - 1 < GATES.c.queries),
    or_(GATES.c.most_asks.is_(None), GATES.c.asked - 1 < GATES.c.most_asks),
)
"""True of every gate that is open, as it is or as it may be seen: without its newest ask, at the most."""

CLOSABLE: Final = WITH_LAST.where(GATES.c.refund == 1, REFUNDS.c.of.is_(None), MAY_BE_CLOSED)
"""Those that give back when they close, may be closed, and have not."""


def columns(gate: GateRow) -> dict[str, Any]:
    """A new gate as it is stored."""
    spec = gate.tally.spec
    return {
        "id": gate.id,
        "opened_at": gate.opened_at,
        "fingerprint": gate.fingerprint,
        "sealed": gate.sealed,
        "threshold": str(spec.threshold),
        "cutoff": spec.cutoff,
        "epsilon": exact_text(spec.epsilon),
        "queries": spec.queries,
        "refund": int(spec.refund),
        "noise": spec.noise,
        "closes": spec.closes,
        "most_asks": spec.most_asks,
        "name": gate.label.name,
        "description": gate.label.description,
        "opened_by": gate.label.token,
    }


def stored(row: Any, **seen: Any) -> GateRow:
    """A gate as it is."""
    spec = GateSpec(
        threshold=int(row.threshold),
        cutoff=row.cutoff,
        epsilon=_exact(row.epsilon),
        queries=row.queries,
        refund=bool(row.refund),
        noise=row.noise,
        closes=row.closes,
        most_asks=row.most_asks,
    )
    counted = {"asked": row.asked, "above": row.above, "below": row.below, "because": row.closed_because or ""} | seen
    back = getattr(row, "given_back", None)
    return GateRow(
        number=row.number,
        id=row.id,
        opened_at=row.opened_at,
        fingerprint=row.fingerprint,
        sealed=bytes(row.sealed),
        tally=Tally(spec=spec, **counted),
        entry=row.entry,
        given_back=_exact("0" if back is None else back),
        label=GateLabel(
            name=row.name, description=row.description, token=row.opened_by, opened_by=getattr(row, "opener", None)
        ),
    )


def seen(row: Any, *, hidden: bool) -> GateRow:
    """A gate without its newest ask, where that has not left yet."""
    if not hidden:
        return stored(row)
    because = "" if row.closed_with == row.asked else row.closed_because or ""
    return stored(
        row, asked=row.asked - 1, above=row.above - (row.last == 1), below=row.below - (row.last == 0), because=because
    )


def asked(row: Any) -> Asked:
    """An ask."""
    return Asked(
        number=row.number,
        at=row.intended_at,
        condition=row.condition,
        above=None if row.above is None else bool(row.above),
        estimate=None if row.estimate is None else int(row.estimate),
        token=row.token,
        by=getattr(row, "asker", None),
        lasts=row.lasts,
    )
