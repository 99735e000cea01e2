"""The version of a ledger: an older one is brought up to date, whole or not at all; an unknown one is refused."""

from __future__ import annotations

import pytest

from sparsegate.errors import LedgerError
from sparsegate.ledger import schema
from sparsegate.ledger.database import Connection
from sparsegate.ledger.ledger import Ledger


def at_version(place: str, version: int, *changes: str) -> None:
    """A ledger with something spent, whose tables are those of another version."""
    with Ledger.create(place, dataset="visits", budget=2) as ledger:
        ledger.spend(epsilon=1, what="top 10")
        with ledger.database.writing() as connection:
            for change in changes:
                connection.run(change)
            connection.run("UPDATE ledger SET schema_version = :version", version=version)


def add_gates(connection: Connection) -> None:
    connection.run("CREATE TABLE gates (entry INTEGER PRIMARY KEY)")


def test_a_made_up_version_is_migrated_whole_or_not_at_all(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at_version(place, 0, "DROP TABLE gates")

    def fail(connection: Connection) -> None:
        add_gates(connection)
        connection.run("SELECT * FROM there_is_no_such_table")

    for step in (fail, add_gates):
        monkeypatch.setitem(schema.MIGRATIONS, 0, step)
        if step is fail:
            with pytest.raises(LedgerError):
                Ledger(place)
    with Ledger(place) as ledger, ledger.database.reading() as connection:
        assert set(schema.TABLES) <= ledger.database.tables(connection)
        assert connection.value("SELECT schema_version FROM ledger") == schema.VERSION
        ledger.spend(epsilon=1, what="the rest")
        assert ledger.statement().remaining.epsilon == 0


@pytest.mark.parametrize("version", [-1, 0, schema.VERSION + 1, 99])
def test_a_version_that_nobody_here_knows_is_refused_by_its_number_and_left_alone(place: str, version: int) -> None:
    at_version(place, version)
    for _ in range(2):
        with pytest.raises(
            LedgerError, match=f"schema version {version}, and this sparsegate reads version 1; open it"
        ):
            Ledger(place)
