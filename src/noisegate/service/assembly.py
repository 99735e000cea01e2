"""A keeper on a real ledger."""

from __future__ import annotations

from noisegate.service.keeper import Keeper
from noisegate.service.ports import ServedTable
from noisegate.service.sealing import SealingKey
from noisegate.service.store.sql_gates import SqlGates
from noisegate.service.store.sql_ledger import SqlLedger
from noisegate.service.store.turns import turns_of


def keeper_on(
    ledger: SqlLedger, dataset: ServedTable, key: SealingKey, *, delay: float, waiting: int = 32, patience: float = 60.0
) -> Keeper:
    """A keeper of the gates in a ledger; ``waiting`` and ``patience`` are those of the turns."""
    turns = turns_of(ledger.database, waiting=waiting, patience=patience)
    return Keeper(SqlGates(ledger), turns, dataset, key, delay=delay)
