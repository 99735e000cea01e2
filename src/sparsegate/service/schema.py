"""The tables that a service keeps in its ledger, beside the ledger's own.

``served_gates`` says what a service knows of a durable gate beyond its row in ``gates``; ``asks`` are the questions
that each was asked, ``requests`` answers to whoever asks twice, and ``tokens`` say who may. A gate's counters and its
asks say the same thing twice: the counters make a look at a gate cheap, and a test holds that they agree; but BELOW
asks of closed gates may have been moved out (``gate_store.compact``).
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    inspect,
)

from sparsegate.ledger.database import Database
from sparsegate.ledger.schema import ENTRIES, GATES

METADATA: Final = MetaData()

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

SERVED_GATES = Table(
    "served_gates",
    METADATA,
    Column("gate", Integer, ForeignKey(GATES.c.entry), primary_key=True, autoincrement=False),
    Column("id", String(40), nullable=False, unique=True),
    Column("opened_at", Text, nullable=False),
    # The number of a token.
    Column("opened_by", Integer),
    Column("name", String(100), nullable=False),
    Column("description", Text, nullable=False),
    Column("fingerprint", String(128), nullable=False),
    # The ask that the gate closed with: nobody may see the one before the other.
    Column("closed_with", Integer),
)

ASKS = Table(
    "asks",
    METADATA,
    Column("gate", Integer, ForeignKey(GATES.c.entry), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("token", Integer, nullable=False),
    Column("key", String(200), nullable=False),
    Column("body", String(64), nullable=False),
    Column("condition", Text, nullable=False),
    Column("intended_at", Text, nullable=False),
    # How many seconds after its intent the answer leaves at the latest.
    Column("lasts", Float, nullable=False),
    Column("above", Integer),
    # A whole number, in text: it may be longer than the integers of a database.
    Column("estimate", Text),
    UniqueConstraint("gate", "token", "key"),
)

# What a token was given. Whatever the outcome, settling an ask moves one line of it.
Index("asks_of_token", ASKS.c.token, ASKS.c.above)

REQUESTS = Table(
    "requests",
    METADATA,
    Column("token", Integer, primary_key=True, autoincrement=False),
    Column("path", String(100), primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("body", String(64), nullable=False),
    Column("at", Text, nullable=False),
    Column("entry", Integer, ForeignKey(ENTRIES.c.number), nullable=False),
    Column("response", Text),
)


def make_tables(database: Database) -> None:
    """Make the tables in a ledger that was never served; where they are, nothing is written."""
    with database.reading() as connection:
        missing = METADATA.tables.keys() - set(inspect(connection).get_table_names())
    if missing:
        with database.writing() as connection:
            METADATA.create_all(connection)
