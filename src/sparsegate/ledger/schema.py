"""The tables of a ledger, and the way from one version of them to the next.

``entries`` is the account: what was allowed, spent and given back; ``refunds`` says which entry gave back in which, and
its key that each does so once. ``releases`` holds what an entry gave, in parts: part 0 says that a reserved entry is
used, and the others are what was released. ``gates`` counts what each durable gate has said (``gate``). Amounts are
exact decimals in text. A service declares tables of its own beside these (``service.schema``); the version is of all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlalchemy import (
    CheckConstraint,
    Column,
    Connection,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    text,
    update,
)

METADATA: Final = MetaData()

LEDGER = Table(
    "ledger",
    METADATA,
    Column("only_row", Integer, CheckConstraint("only_row = 1"), primary_key=True, autoincrement=False),
    Column("schema_version", Integer, nullable=False),
    Column("dataset", Text, nullable=False),
    # In a backup alone: since when it is one.
    Column("backed_up_at", Text),
    # Of the key that gates are sealed with; the key itself is not here.
    Column("key_name", String(32)),
)

ENTRIES = Table(
    "entries",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("epsilon", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("what", Text, nullable=False),
)

RELEASES = Table(
    "releases",
    METADATA,
    Column("entry", Integer, ForeignKey("entries.number"), primary_key=True, autoincrement=False),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("gave", Text, nullable=False),
)

REFUNDS = Table(
    "refunds",
    METADATA,
    Column("of", Integer, ForeignKey("entries.number"), primary_key=True, autoincrement=False),
    Column("entry", Integer, ForeignKey("entries.number"), nullable=False, unique=True),
)

GATES = Table(
    "gates",
    METADATA,
    Column("entry", Integer, ForeignKey("entries.number"), primary_key=True, autoincrement=False),
    # What it is, and its name: an alert or a holdout is found again by it.
    Column("title", Text, nullable=False),
    # What it was opened with, as JSON; all of it is public.
    Column("terms", Text, nullable=False),
    # Its threshold noise, encrypted; None where that is kept elsewhere.
    Column("sealed", LargeBinary),
    Column("asked", Integer, nullable=False),
    Column("above", Integer, nullable=False),
    Column("below", Integer, nullable=False),
    # Whether it gives back what it did not use when it is closed.
    Column("refund", Integer, nullable=False),
    Column("closed_because", Text),
    CheckConstraint("above + below <= asked"),
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


def create(connection: Connection, dataset: str) -> None:
    """Make all tables in an empty database."""
    METADATA.create_all(connection, checkfirst=False)
    for table in (ENTRIES, RELEASES, REFUNDS):
        for statement in _ONLY_GROWS[connection.dialect.name]:
            connection.execute(text(statement.format(table=table.name)))
    connection.execute(LEDGER.insert().values(only_row=1, schema_version=VERSION, dataset=dataset))


def migrate(connection: Connection, version: int) -> None:
    """Bring the tables from a version to this one, inside the caller's transaction: all steps or none."""
    for step in range(version, VERSION):
        MIGRATIONS[step](connection)
    connection.execute(update(LEDGER).values(schema_version=VERSION))
