"""The tables of a ledger, and the way from one version of them to the next.

``entries`` is the account: what was allowed, spent and given back; ``refunds`` says which entry gave back in which, and
its key that each does so once. ``releases`` holds what an entry gave, in parts: part 0 says that a reserved entry is
used, and the others are what was released. ``gates`` counts what each durable gate has said (``gate``). Amounts are
exact decimals in text. ``balance`` has the sums up to the entry that it names, so that an ABOVE need not read all
entries; where that is not the last one, they are read. A service has tables of its own beside these
(``service.schema``); the version is of all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import sqlalchemy as sa

from sparsegate.ledger.database import Connection

METADATA: Final = sa.MetaData()

LEDGER = sa.Table(
    "ledger",
    METADATA,
    sa.Column("only_row", sa.Integer, sa.CheckConstraint("only_row = 1"), primary_key=True, autoincrement=False),
    sa.Column("schema_version", sa.Integer, nullable=False),
    sa.Column("dataset", sa.Text, nullable=False),
    # Of a zCDP ledger: at which delta its rho is an epsilon. None: epsilons add.
    sa.Column("conversion_delta", sa.Text),
    # In a backup alone: since when it is one.
    sa.Column("backed_up_at", sa.Text),
    # Of the key that gates are sealed with; the key itself is not here.
    sa.Column("key_name", sa.String(32)),
)

ENTRIES = sa.Table(
    "entries",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("epsilon", sa.Text, nullable=False),
    sa.Column("delta", sa.Text, nullable=False),
    # None where there is none: in a budget to which epsilons add, and in what a backup had forgotten of such a ledger.
    sa.Column("rho", sa.Text),
    sa.Column("what", sa.Text, nullable=False),
)

RELEASES = sa.Table(
    "releases",
    METADATA,
    sa.Column("entry", sa.Integer, sa.ForeignKey("entries.number"), primary_key=True, autoincrement=False),
    sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("gave", sa.Text, nullable=False),
)

REFUNDS = sa.Table(
    "refunds",
    METADATA,
    sa.Column("of", sa.Integer, sa.ForeignKey("entries.number"), primary_key=True, autoincrement=False),
    sa.Column("entry", sa.Integer, sa.ForeignKey("entries.number"), nullable=False, unique=True),
)

GATES = sa.Table(
    "gates",
    METADATA,
    sa.Column("entry", sa.Integer, sa.ForeignKey("entries.number"), primary_key=True, autoincrement=False),
    # What it is, and its name: an alert or a holdout is found again by it.
    sa.Column("title", sa.Text, nullable=False),
    # What it was opened with, as JSON; all of it is public.
    sa.Column("terms", sa.Text, nullable=False),
    # Its threshold noise, encrypted; None where that is kept elsewhere.
    sa.Column("sealed", sa.LargeBinary),
    sa.Column("asked", sa.Integer, nullable=False),
    sa.Column("above", sa.Integer, nullable=False),
    sa.Column("below", sa.Integer, nullable=False),
    # Whether it gives back what it did not use when it is closed.
    sa.Column("refund", sa.Integer, nullable=False),
    sa.Column("closed_because", sa.Text),
    sa.CheckConstraint("above + below <= asked"),
)

BALANCE = sa.Table(
    "balance",
    METADATA,
    sa.Column("only_row", sa.Integer, sa.CheckConstraint("only_row = 1"), primary_key=True, autoincrement=False),
    # The last entry that is counted, the newest budget, and the last restore; 0: there was none.
    sa.Column("entry", sa.Integer, nullable=False),
    sa.Column("budget", sa.Integer, nullable=False),
    sa.Column("restored", sa.Integer, nullable=False),
    # What is spent.
    sa.Column("epsilon", sa.Text, nullable=False),
    sa.Column("delta", sa.Text, nullable=False),
    sa.Column("rho", sa.Text),
)

# Some rows are only ever added: the triggers stop a slip of the hand, not somebody who means it.
_ONLY_GROWS: Final = {
    "sqlite": (
        "CREATE TRIGGER {table}_stay BEFORE DELETE ON {table} "
        "BEGIN SELECT RAISE(ABORT, '{table} are never removed'); END",
        "CREATE TRIGGER {table}_last BEFORE UPDATE ON {table} "
        "BEGIN SELECT RAISE(ABORT, '{table} are never changed'); END",
    ),
    "postgresql": (
        "CREATE FUNCTION {table}_only_grow() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN RAISE EXCEPTION ''{table} are never changed or removed''; END'",
        "CREATE TRIGGER {table}_only_grow BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION {table}_only_grow()",
    ),
}

VERSION: Final = 1

MIGRATIONS: Final[dict[int, Callable[[Connection], None]]] = {}
"""What brings a ledger from a version to the one after it. None so far: version 1 is the first that was released."""


def create(connection: Connection, dataset: str, conversion_delta: str | None = None) -> None:
    """Make all tables in an empty database."""
    connection.make_tables(METADATA)
    for table in (ENTRIES, RELEASES, REFUNDS):
        for statement in _ONLY_GROWS[connection.store]:
            connection.run(statement.format(table=table.name))
    row = {"only_row": 1, "schema_version": VERSION, "dataset": dataset, "conversion_delta": conversion_delta}
    connection.add("ledger", **row)


def migrate(connection: Connection, version: int) -> None:
    """Bring the tables from a version to this one, inside the caller's transaction: all steps or none."""
    for step in range(version, VERSION):
        MIGRATIONS[step](connection)
    connection.run("UPDATE ledger SET schema_version = :version", version=VERSION)
