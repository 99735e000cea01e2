"""A ledger that does not grow for ever: the BELOW asks of closed gates move out of it.

An open gate keeps every ask, with its key, so that a retry never asks anew; how many they can be is a public number
that the gate was opened with (``GateSpec.most_asks``). Of a closed gate the ABOVEs and the lost asks stay, which are at
most c (unless it closed two-sidedly), and the newest ask; older BELOW asks are written elsewhere and removed.

**Theorem.** Nothing is answered, spent or given back twice for it. *Proof.* A closed gate admits no ask, and never
opens again (``Tally.after``): a retry whose row is gone is told that the gate is closed. (One that only looks closed
while its last ask is under way is left alone: turns tell that, under the write lock.) What a gate has cost and gives
back follows from its counters, which stay as they are; what a token has used of its quotas from ABOVEs and lost asks,
which stay too. []

Rows move in slices, each in one transaction, which ends when the slice is safe elsewhere. After a crash a slice may be
there twice, and is never nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from sqlalchemy import and_, delete, select

from sparsegate.ledger.database_schema import ASKS, TOKENS
from sparsegate.service.gate_store import GateStore
from sparsegate.service.gates import GateRow
from sparsegate.service.locks import turns_of

SLICE: Final = 1000
COLUMNS: Final = ("gate", "gate_name", "number", "at", "by", "condition")


def compact(store: GateStore, *, until: str, keep: Callable[[Sequence[Mapping[str, Any]]], None]) -> int:
    """Move the BELOW asks of closed gates that were asked up to a moment (as ``rows.now`` writes it); how many.

    ``keep`` returns when what it is given is safe; its columns are ``COLUMNS``.
    """
    with closing(turns_of(store.ledger.database, patience=0)) as turns:
        store.resume(turns)
        store.give_back()
        moved = 0
        for gate in store.gates():
            while gate.tally.closed and (count := _move_slice(store, gate, until, keep)):
                moved += count
    return moved


def _move_slice(
    store: GateStore, gate: GateRow, until: str, keep: Callable[[Sequence[Mapping[str, Any]]], None]
) -> int:
    # The newest that may be seen stays: that it has left is decided by its row.
    old = and_(
        ASKS.c.gate == gate.number, ASKS.c.number < gate.tally.asked, ASKS.c.above == 0, ASKS.c.intended_at <= until
    )
    wanted = (
        select(ASKS.c.number, ASKS.c.intended_at, ASKS.c.condition, TOKENS.c.name)
        .outerjoin(TOKENS, TOKENS.c.number == ASKS.c.token)
        .where(old)
        .order_by(ASKS.c.number)
        .limit(SLICE)
    )
    with store.ledger.database.writing() as connection:
        rows = connection.execute(wanted).all() if store.gate(gate.id, visible=True).tally.closed else []
        if rows:
            named = ((gate.id, gate.label.name, row.number, row.intended_at, row.name, row.condition) for row in rows)
            keep([dict(zip(COLUMNS, each, strict=True)) for each in named])
            connection.execute(delete(ASKS).where(old, ASKS.c.number <= rows[-1].number))
    return len(rows)
