"""A ledger of an older version is brought up to date when it is opened, whole or not at all, and loses nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Connection, inspect, select, text

from sparsegate.errors import LedgerError, ParameterError
from sparsegate.ledger import ledger as rows
from sparsegate.ledger import schema
from sparsegate.ledger.account import Amount, EntryKind
from sparsegate.ledger.database import open_database
from sparsegate.ledger.ledger import Ledger, append


def make(place: str, version: int) -> None:
    """A ledger as sparsegate made it at that version, with something spent."""

    def build(connection: Connection) -> None:
        for step in schema.STEPS[:version]:
            step(connection)
        connection.execute(schema.LEDGER.insert().values(only_row=1, schema_version=version, dataset="visits"))
        append(connection, 1, EntryKind.BUDGET, Amount(epsilon=2), "the budget at the start")  # type: ignore[arg-type]
        append(connection, 2, EntryKind.SPEND, Amount(epsilon=1), "top 10")  # type: ignore[arg-type]

    database = open_database(place)
    database.make(build)
    database.close()


@pytest.mark.parametrize("version", range(1, schema.VERSION))
def test_an_older_ledger_is_migrated_and_keeps_its_entries(place: str, version: int) -> None:
    make(place, version)
    ledger = Ledger(place)
    assert ledger.statement().remaining.epsilon == 1
    with ledger.database.reading() as connection:
        assert set(schema.METADATA.tables) <= set(inspect(connection).get_table_names())
        assert connection.execute(select(schema.LEDGER.c.schema_version)).scalar_one() == schema.VERSION
    assert ledger.release(2).gave == ()
    ledger.keep(2, {"found": "in an old report"})
    with pytest.raises(ParameterError):
        ledger.reserved(2)
    ledger.spend(epsilon=1, what="the rest")
    assert Ledger(place).total_spent().epsilon == 2


def test_columns_that_an_older_ledger_lacks_are_added(place: str) -> None:
    """Version 3 as it was made then: the steps of today make the newest columns from the start."""
    make(place, 3)
    database = open_database(place)
    with database.writing() as connection:
        for table, new in (("gates", "refund"), ("gates", "noise"), ("gates", "closes"), ("asks", "estimate")):
            connection.execute(text(f"ALTER TABLE {table} DROP COLUMN {new}"))
        old = "INSERT INTO gates (number, id, opened_at, entry, fingerprint, threshold, cutoff, epsilon, sealed, asked,"
        values = "VALUES (1, 'g-1', 'then', 2, 'f', '10', 1, '1', :sealed, 0, 0, 0)"
        connection.execute(text(f"{old} above, below) {values}"), {"sealed": b"noise"})
    database.close()
    with Ledger(place).database.reading() as connection:
        row = connection.execute(select(schema.GATES)).one()
        assert connection.execute(select(schema.ASKS.c.estimate)).all() == []
    assert (row.id, row.refund, row.noise, row.closes) == ("g-1", 0, "laplace", "above")


def test_a_migration_that_fails_leaves_the_ledger_as_it_was(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make(place, 1)
    real = schema.STEPS[1]

    def fail(connection: Connection) -> None:
        real(connection)
        connection.execute(text("SELECT * FROM there_is_no_such_table"))

    steps: tuple[Callable[[Connection], None], ...] = (schema.STEPS[0], fail)
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", steps)
        with pytest.raises(LedgerError):
            Ledger(place)
    database = open_database(place)
    with database.reading() as connection:
        assert not inspect(connection).has_table("gates")
        assert connection.execute(select(schema.LEDGER.c.schema_version)).scalar_one() == 1
    database.close()
    assert Ledger(place).total_spent().epsilon == 1


def test_a_ledger_of_a_newer_version_is_refused(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Ledger.create(place, dataset="visits", budget=1)
    monkeypatch.setattr(rows, "VERSION", schema.VERSION - 1)
    with pytest.raises(LedgerError, match="upgrade sparsegate"):
        Ledger(place)


def test_a_new_ledger_and_a_migrated_one_have_the_same_tables(
    place: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    make(place, 1)
    Ledger(place)
    other = tmp_path_factory.mktemp("new") / "new.ledger"
    Ledger.create(other, dataset="visits", budget=1)
    tables = []
    for where in (place, other):
        ledger = Ledger(where)
        with ledger.database.reading() as connection:
            look = inspect(connection)
            tables.append(
                {name: sorted(column["name"] for column in look.get_columns(name)) for name in look.get_table_names()}
            )
    assert tables[0] == tables[1]
