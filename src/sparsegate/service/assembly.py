"""A keeper on a real ledger."""

from __future__ import annotations

from sparsegate.ledger.ledger import Ledger
from sparsegate.service.deadline import Pace
from sparsegate.service.keeper import Keeper
from sparsegate.service.ports import ServedTable
from sparsegate.service.sealed_noise import SealingKey
from sparsegate.service.store.locks import turns_of
from sparsegate.service.store.sql_gates import SqlGates


def keeper_on(
    ledger: Ledger,
    dataset: ServedTable,
    key: SealingKey,
    *,
    pace: Pace,
    waiting: int = 32,
    patience: float = 60.0,
) -> Keeper:
    """A keeper of the gates in a ledger; ``waiting`` and ``patience`` are those of the turns."""
    turns = turns_of(ledger.database, waiting=waiting, patience=patience)
    return Keeper(SqlGates(ledger), turns, dataset, key, pace=pace)
