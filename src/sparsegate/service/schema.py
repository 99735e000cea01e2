"""The tables that a service keeps in its ledger, beside the ledger's own.

``served_gates`` says what a service knows of a durable gate beyond its row in ``gates``, and ``meters`` what each ABOVE
of one without a cutoff was paid with, ``cells`` where the gate of each cell stands; ``asks`` are the questions that
each was asked, ``requests`` answers to whoever asks twice, and ``tokens`` say who may. A gate's counters and its asks
say the same thing twice: the counters make a look at a gate cheap, and a test holds that they agree; but BELOW asks of
closed gates may have been moved out (``gate_store.compact``).
"""

from __future__ import annotations

from typing import Final

from sparsegate.ledger.database import Database

TABLES: Final = {
    # From ``expires_at`` on it is nobody's; ``last_used_at`` is to the minute. Quotas: how many ABOVE it may be given,
    # and how much epsilon it may charge, in all.
    "tokens": """
        number {serial} NOT NULL PRIMARY KEY,
        name VARCHAR(100) NOT NULL UNIQUE,
        role VARCHAR(20) NOT NULL,
        hash VARCHAR(64) NOT NULL UNIQUE,
        added_at TEXT NOT NULL,
        revoked_at TEXT,
        expires_at TEXT,
        last_used_at TEXT,
        most_above INTEGER,
        most_epsilon TEXT""",
    # ``opened_by`` is the number of a token; ``closed_with`` the ask that the gate closed with: nobody may see the one
    # before the other.
    "served_gates": """
        gate INTEGER NOT NULL PRIMARY KEY REFERENCES gates (entry),
        id VARCHAR(40) NOT NULL UNIQUE,
        opened_at TEXT NOT NULL,
        opened_by INTEGER,
        name VARCHAR(100) NOT NULL,
        description TEXT NOT NULL,
        fingerprint VARCHAR(128) NOT NULL,
        closed_with INTEGER""",
    # For how many ABOVE the ledger was charged, and the entry of the last of them.
    "meters": """
        gate INTEGER NOT NULL PRIMARY KEY REFERENCES gates (entry),
        paid INTEGER NOT NULL,
        held INTEGER NOT NULL REFERENCES entries (number)""",
    # ``cell`` is the label, as JSON; ``sealed`` its threshold noise, encrypted with a key that the row of the gate has,
    # encrypted; ``last`` the number of its newest ask, 0: it was never asked.
    "cells": """
        gate INTEGER NOT NULL REFERENCES gates (entry),
        cell VARCHAR(3000) NOT NULL,
        sealed {bytes} NOT NULL,
        asked INTEGER NOT NULL,
        above INTEGER NOT NULL,
        below INTEGER NOT NULL,
        last INTEGER NOT NULL,
        PRIMARY KEY (gate, cell),
        CHECK (above + below <= asked)""",
    # ``lasts``: how many seconds after its intent the answer leaves at the latest. ``estimate`` is a whole number, in
    # text: it may be longer than the integers of a database.
    "asks": """
        gate INTEGER NOT NULL REFERENCES gates (entry),
        number INTEGER NOT NULL,
        token INTEGER NOT NULL,
        key VARCHAR(200) NOT NULL,
        body VARCHAR(64) NOT NULL,
        condition TEXT NOT NULL,
        intended_at TEXT NOT NULL,
        lasts FLOAT NOT NULL,
        above INTEGER,
        estimate TEXT,
        PRIMARY KEY (gate, number),
        UNIQUE (gate, token, key)""",
    "requests": """
        token INTEGER NOT NULL,
        path VARCHAR(100) NOT NULL,
        key VARCHAR(200) NOT NULL,
        body VARCHAR(64) NOT NULL,
        at TEXT NOT NULL,
        entry INTEGER NOT NULL REFERENCES entries (number),
        response TEXT,
        PRIMARY KEY (token, path, key)""",
}


def make_tables(database: Database) -> None:
    """Make the tables in a ledger that was never served; where they are, nothing is written."""
    with database.reading() as connection:
        made = TABLES.keys() <= database.tables(connection)
    if not made:
        with database.writing() as connection:
            missing = TABLES.keys() - database.tables(connection)
            connection.make_tables({name: columns for name, columns in TABLES.items() if name in missing})
            if "asks" in missing:
                # What a token was given. Whatever the outcome, settling an ask moves one line of it.
                connection.run("CREATE INDEX asks_of_token ON asks (token, above)")
