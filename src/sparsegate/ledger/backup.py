"""Backups of a ledger, and what it takes to go on from one: whatever was spent since is forgotten, and must be charged.

A backup is one file, complete and on disk, also of a ledger that is written at the same time; a copy of the file alone
would miss what is in the write-ahead log. It bears a mark, and is refused as a ledger until it is restored. That is one
transaction: it charges what was charged since, as stated, or all that is left; entries of before give nothing back and
serve no release any more; every gate of before is closed for good. Tokens that were revoked since let people in again.

**Theorem.** If ``spent_since`` is at least the sum of what was charged since, or it is left out and no ledger of these
data ever had a larger budget than the backup's, then all releases, before the backup, since, and after the restoring,
are (epsilon, delta)-DP for what the restored ledger counts, and for the largest budget that there was.
Machine-checked: proofs/README.md. Proof: docs/explanation/proofs_in_words/ledger.md
"""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Final

from sparsegate.budget import Number, exact_epsilon
from sparsegate.errors import LedgerError, ParameterError
from sparsegate.ledger.account import Amount, EntryKind, Statement, recordable
from sparsegate.ledger.database import Connection, Database, SqliteFile, now, open_database
from sparsegate.ledger.ledger import Ledger, append, read_statement, read_version
from sparsegate.ledger.schema import migrate

RESTORED: Final = "the ledger was restored from a backup"


def back_up(place: str, target: str | Path) -> datetime:
    """Write a backup of a ledger to a new file, while servers go on; the moment that it is of."""
    moment = now()
    with Ledger(place) as ledger:
        if not isinstance(ledger.database, SqliteFile):
            raise LedgerError(
                f"the ledger {ledger.database.shown} is in PostgreSQL; make its backup with `pg_dump --format=custom`, "
                "and when `pg_restore` has brought it back run `sparsegate ledger restore` before anything else"
            )
        ledger.database.copy_to(Path(target), lambda copy: _mark(copy, moment.isoformat()), mode="DELETE")
    return moment


def restore(
    place: str,
    *,
    backup: str | Path | None,
    spent_since: Number | None = None,
    delta_since: Number = 0,
    rho_since: Number | None = None,
) -> Statement:
    """Make a ledger of a backup; or, without one, account for a ledger that was brought back by other means.

    What was spent since is ``spent_since`` in epsilon or, for a zCDP ledger, ``rho_since``.
    """
    stated = {"spent_since": spent_since, "rho_since": rho_since, "delta_since": delta_since or None}
    exact = {
        name: recordable(exact_epsilon(value, name, zero=True), name)
        for name, value in stated.items()
        if value is not None
    }
    if exact and len(exact.keys() - {"delta_since"}) != 1:
        rule = "needs spent_since or, for a zCDP ledger, rho_since beside it"
        raise ParameterError("delta_since", rule, delta_since, "give one of them, or neither this nor them")
    since = None
    if exact:
        epsilon, delta = (exact.get(name, Fraction(0)) for name in ("spent_since", "delta_since"))
        since = Amount(epsilon=epsilon, delta=delta, rho=exact.get("rho_since"))
    if backup is not None:
        _copy_back(place, Path(backup), since)
    with Ledger(place) as ledger:
        if backup is None:
            with ledger.database.writing() as connection:
                _account_for(ledger.database, connection, since)
        return ledger.statement()


def _copy_back(place: str, backup: Path, since: Amount | None) -> None:
    target, source = open_database(place), SqliteFile(backup, patience=10, pooled=False)
    if not isinstance(target, SqliteFile):
        raise LedgerError(f"the ledger {target.shown} is in PostgreSQL; bring it back with `pg_restore`, not --from")
    for log in (f"{place}-wal", f"{place}-shm"):
        if Path(log).exists():
            raise LedgerError(f"{log} is left of another ledger, and would be read as this one's; move it away first")
    with source.reading() as connection:
        if connection.value("SELECT backed_up_at FROM ledger") is None:
            raise LedgerError(f"{backup} is no backup: give the file that `sparsegate ledger backup` made")

    def change(copy: Connection) -> None:
        migrate(copy, read_version(target, copy))
        _mark(copy, None)
        _account_for(target, copy, since)

    source.copy_to(target.path, change, mode="WAL")


def _mark(connection: Connection, moment: str | None) -> None:
    connection.run("UPDATE ledger SET backed_up_at = :moment", moment=moment)


def _account_for(database: Database, connection: Connection, since: Amount | None) -> None:
    statement = read_statement(database, connection, None)
    if since is not None and (since.rho is None) != (statement.rule == "epsilon"):
        wrong, right = ("spent_since", "rho_since") if since.rho is None else ("rho_since", "spent_since")
        rule = f"must be left out: this ledger adds up {'rho' if since.rho is None else 'epsilon'}"
        raise ParameterError(wrong, rule, next_step=f"give {right} with the sum of all charges since the backup")
    why = "all that was left: what was spent since is not known" if since is None else "what was spent since"
    number = len(statement.entries) + 1
    left = statement.remaining  # less than nothing, where more was stated before than there was
    rho = None if left.rho is None else max(left.rho, Fraction(0))
    rest = Amount(epsilon=max(left.epsilon, Fraction(0)), delta=max(left.delta, Fraction(0)), rho=rho)
    append(connection, number, EntryKind.RESTORE, since or rest, f"{RESTORED}; {why}")
    connection.run("UPDATE gates SET closed_because = :why WHERE closed_because IS NULL", why=RESTORED)
    connection.run("UPDATE gates SET refund = 0")
    # No gate is open: whichever key a service starts with next may seal new ones.
    connection.run("UPDATE ledger SET key_name = NULL")
