"""The tables of a ledger, and the steps that bring an older ledger up to date.

``entries`` is the account: what was allowed, spent and given back; ``refunds`` says which entry gave back in which, and
its key that each does so once. ``releases`` holds what an entry gave, in parts: part 0
says that a reserved entry is used, and the others are what was released. ``gates`` and ``asks`` are what a service must
know to go on after a crash; ``requests`` are answers to whoever asks twice; ``tokens`` say who may. Amounts are exact
decimals in text. A gate's counters and its asks say the same thing twice: the counters make a look at a gate cheap, and
a test holds that they agree; but BELOW asks of closed gates may have been moved out (``service.gate_store``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlalchemy import (
    CheckConstraint,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.schema import CreateColumn

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

TOKENS = Table(
    "tokens",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("role", String(20), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("added_at", Text, nullable=False),
    Column("revoked_at", Text),
    # From this moment on it is nobody's; and when it was last seen, to the minute.
    Column("expires_at", Text),
    Column("last_used_at", Text),
    # Quotas: how many ABOVE it may be given, and how much epsilon it may charge, in all.
    Column("most_above", Integer),
    Column("most_epsilon", Text),
)

GATES = Table(
    "gates",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("id", String(40), nullable=False, unique=True),
    Column("opened_at", Text, nullable=False),
    # The number of a token; those of before version 5 do not say.
    Column("opened_by", Integer),
    Column("name", String(100), nullable=False, server_default=""),
    Column("description", Text, nullable=False, server_default=""),
    Column("entry", Integer, ForeignKey("entries.number"), nullable=False),
    Column("fingerprint", String(128), nullable=False),
    Column("threshold", Text, nullable=False),
    Column("cutoff", Integer, nullable=False),
    Column("epsilon", Text, nullable=False),
    Column("queries", Integer),
    Column("sealed", LargeBinary, nullable=False),
    Column("asked", Integer, nullable=False, default=0),
    Column("above", Integer, nullable=False, default=0),
    Column("below", Integer, nullable=False, default=0),
    # Whether it gives back what it did not use when it is closed; those of before version 4 do not.
    Column("refund", Integer, nullable=False, server_default="0"),
    # The law of its noise; before version 4 there was one.
    Column("noise", Text, nullable=False, server_default="laplace"),
    Column("closes", Text, nullable=False, server_default="above"),
    # How many asks it admits; before version 5 as many as came.
    Column("most_asks", Integer),
    # Seconds since 1970, for people to read.
    Column("closed_from", Float),
    Column("closed_because", Text),
    # The ask that the gate closed with: nobody may see the one before the other.
    Column("closed_with", Integer),
    CheckConstraint("above + below <= asked"),
)

ASKS = Table(
    "asks",
    METADATA,
    Column("gate", Integer, ForeignKey("gates.number"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("token", Integer, nullable=False),
    Column("key", String(200), nullable=False),
    Column("body", String(64), nullable=False),
    Column("condition", Text, nullable=False),
    Column("intended_at", Text, nullable=False),
    # Seconds since 1970 at which the answer was to leave, for people to read: clocks are set.
    Column("visible_from", Float, nullable=False),
    # How many seconds after its intent the answer leaves at the latest; before version 5 all have left.
    Column("lasts", Float, nullable=False, server_default="0"),
    Column("above", Integer),
    # A whole number, in text: it may be longer than the integers of a database.
    Column("estimate", Text),
    UniqueConstraint("gate", "token", "key"),
)

# What a token was given. Whatever the outcome, settling an ask moves one line of it.
ASKS_OF_TOKEN = Index("asks_of_token", ASKS.c.token, ASKS.c.above)

REQUESTS = Table(
    "requests",
    METADATA,
    Column("token", Integer, primary_key=True, autoincrement=False),
    Column("path", String(100), primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("body", String(64), nullable=False),
    Column("at", Text, nullable=False),
    Column("entry", Integer, ForeignKey("entries.number"), nullable=False),
    Column("response", Text),
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


def _only_grows(connection: Connection, table: Table) -> None:
    for statement in _ONLY_GROWS[connection.dialect.name]:
        connection.execute(text(statement.format(table=table.name)))


def _account(connection: Connection) -> None:
    METADATA.create_all(connection, tables=[LEDGER, ENTRIES], checkfirst=False)
    _only_grows(connection, ENTRIES)


def _service(connection: Connection) -> None:
    METADATA.create_all(connection, tables=[TOKENS, GATES, ASKS, REQUESTS], checkfirst=False)


def _kept(connection: Connection) -> None:
    METADATA.create_all(connection, tables=[RELEASES], checkfirst=False)
    _only_grows(connection, RELEASES)


def _metered(connection: Connection) -> None:
    METADATA.create_all(connection, tables=[REFUNDS], checkfirst=False)
    _only_grows(connection, REFUNDS)
    for table in (GATES, ASKS):
        _add_columns(connection, table)


def _named(connection: Connection) -> None:
    for table in (LEDGER, TOKENS, GATES, ASKS):
        _add_columns(connection, table)
    ASKS_OF_TOKEN.create(connection, checkfirst=True)


def _add_columns(connection: Connection, table: Table) -> None:
    """Those that an older ledger lacks; one that is made now has them from the start."""
    there = {column["name"] for column in inspect(connection).get_columns(table.name)}
    for column in table.columns:
        if column.name not in there:
            new = CreateColumn(column).compile(dialect=connection.dialect)
            connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {new}"))


STEPS: Final[tuple[Callable[[Connection], None], ...]] = (_account, _service, _kept, _metered, _named)
"""From nothing to version 1, from 1 to 2, and so on; a step that has been released is never edited."""

VERSION: Final = len(STEPS)


def create(connection: Connection, dataset: str) -> None:
    """Make all tables in an empty database, at the newest version."""
    for step in STEPS:
        step(connection)
    connection.execute(LEDGER.insert().values(only_row=1, schema_version=VERSION, dataset=dataset))


def migrate(connection: Connection) -> None:
    """Bring the tables up to the newest version, inside the caller's transaction: all steps or none."""
    version = connection.execute(select(LEDGER.c.schema_version)).scalar_one()
    for step in STEPS[version:]:
        step(connection)
    if version < VERSION:
        connection.execute(update(LEDGER).values(schema_version=VERSION))
