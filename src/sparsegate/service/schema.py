"""The tables that a service keeps in its ledger, beside the ledger's own.

``served_gates`` says what a service knows of a durable gate beyond its row in ``gates``, and ``meters`` what each ABOVE
of one without a cutoff was paid with, ``cells`` where the gate of each cell stands; ``asks`` are the questions that
each was asked, ``requests`` answers to whoever asks twice, and ``tokens`` say who may. A gate's counters and its asks
say the same thing twice: the counters make a look at a gate cheap, and a test holds that they agree; but BELOW asks of
closed gates may have been moved out (``gate_store.compact``).
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from sparsegate.ledger.database import Database
from sparsegate.ledger.schema import ENTRIES, GATES

METADATA: Final = sa.MetaData()

TOKENS = sa.Table(
    "tokens",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(100), nullable=False, unique=True),
    sa.Column("role", sa.String(20), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False, unique=True),
    sa.Column("added_at", sa.Text, nullable=False),
    sa.Column("revoked_at", sa.Text),
    # From this moment on it is nobody's; and when it was last seen, to the minute.
    sa.Column("expires_at", sa.Text),
    sa.Column("last_used_at", sa.Text),
    # Quotas: how many ABOVE it may be given, and how much epsilon it may charge, in all.
    sa.Column("most_above", sa.Integer),
    sa.Column("most_epsilon", sa.Text),
)

SERVED_GATES = sa.Table(
    "served_gates",
    METADATA,
    sa.Column("gate", sa.Integer, sa.ForeignKey(GATES.c.entry), primary_key=True, autoincrement=False),
    sa.Column("id", sa.String(40), nullable=False, unique=True),
    sa.Column("opened_at", sa.Text, nullable=False),
    # The number of a token.
    sa.Column("opened_by", sa.Integer),
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.String(128), nullable=False),
    # The ask that the gate closed with: nobody may see the one before the other.
    sa.Column("closed_with", sa.Integer),
)

METERS = sa.Table(
    "meters",
    METADATA,
    sa.Column("gate", sa.Integer, sa.ForeignKey(GATES.c.entry), primary_key=True, autoincrement=False),
    # For how many ABOVE the ledger was charged, and the entry of the last of them.
    sa.Column("paid", sa.Integer, nullable=False),
    sa.Column("held", sa.Integer, sa.ForeignKey(ENTRIES.c.number), nullable=False),
)

CELLS = sa.Table(
    "cells",
    METADATA,
    sa.Column("gate", sa.Integer, sa.ForeignKey(GATES.c.entry), primary_key=True, autoincrement=False),
    # The label, as JSON.
    sa.Column("cell", sa.String(3000), primary_key=True),
    # Its threshold noise, encrypted with a key that the row of the gate has, encrypted.
    sa.Column("sealed", sa.LargeBinary, nullable=False),
    sa.Column("asked", sa.Integer, nullable=False),
    sa.Column("above", sa.Integer, nullable=False),
    sa.Column("below", sa.Integer, nullable=False),
    # The number of its newest ask; 0: it was never asked.
    sa.Column("last", sa.Integer, nullable=False),
    sa.CheckConstraint("above + below <= asked"),
)

ASKS = sa.Table(
    "asks",
    METADATA,
    sa.Column("gate", sa.Integer, sa.ForeignKey(GATES.c.entry), primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("token", sa.Integer, nullable=False),
    sa.Column("key", sa.String(200), nullable=False),
    sa.Column("body", sa.String(64), nullable=False),
    sa.Column("condition", sa.Text, nullable=False),
    sa.Column("intended_at", sa.Text, nullable=False),
    # How many seconds after its intent the answer leaves at the latest.
    sa.Column("lasts", sa.Float, nullable=False),
    sa.Column("above", sa.Integer),
    # A whole number, in text: it may be longer than the integers of a database.
    sa.Column("estimate", sa.Text),
    sa.UniqueConstraint("gate", "token", "key"),
)

# What a token was given. Whatever the outcome, settling an ask moves one line of it.
sa.Index("asks_of_token", ASKS.c.token, ASKS.c.above)

REQUESTS = sa.Table(
    "requests",
    METADATA,
    sa.Column("token", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("path", sa.String(100), primary_key=True),
    sa.Column("key", sa.String(200), primary_key=True),
    sa.Column("body", sa.String(64), nullable=False),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("entry", sa.Integer, sa.ForeignKey(ENTRIES.c.number), nullable=False),
    sa.Column("response", sa.Text),
)


def make_tables(database: Database) -> None:
    """Make the tables in a ledger that was never served; where they are, nothing is written."""
    with database.reading() as connection:
        missing = METADATA.tables.keys() - database.tables(connection)
    if missing:
        with database.writing() as connection:
            connection.make_tables(METADATA)
