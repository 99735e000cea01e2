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

from sparsegate.ledger.database import Connection

TABLES: Final = {
    # ``conversion_delta``: of a zCDP ledger, at which delta its rho is an epsilon; null: epsilons add. ``key_name``: of
    # the key that gates are sealed with; the key itself is not here. ``backed_up_at``: in a backup alone.
    "ledger": """
        only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
        schema_version INTEGER NOT NULL,
        dataset TEXT NOT NULL,
        conversion_delta TEXT,
        backed_up_at TEXT,
        key_name VARCHAR(32)""",
    # ``rho`` is null in a budget to which epsilons add, and in what a backup had forgotten of such a ledger.
    "entries": """
        number INTEGER NOT NULL PRIMARY KEY,
        at TEXT NOT NULL,
        kind TEXT NOT NULL,
        epsilon TEXT NOT NULL,
        delta TEXT NOT NULL,
        rho TEXT,
        what TEXT NOT NULL""",
    "releases": """
        entry INTEGER NOT NULL REFERENCES entries (number),
        part INTEGER NOT NULL,
        gave TEXT NOT NULL,
        PRIMARY KEY (entry, part)""",
    "refunds": """
        of INTEGER NOT NULL PRIMARY KEY REFERENCES entries (number),
        entry INTEGER NOT NULL UNIQUE REFERENCES entries (number)""",
    # ``title`` is what a gate is, and its name; ``terms`` what it was opened with, as JSON, all public; ``sealed`` its
    # threshold noise, encrypted, or null where that is kept elsewhere.
    "gates": """
        entry INTEGER NOT NULL PRIMARY KEY REFERENCES entries (number),
        title TEXT NOT NULL,
        terms TEXT NOT NULL,
        sealed {bytes},
        asked INTEGER NOT NULL,
        above INTEGER NOT NULL,
        below INTEGER NOT NULL,
        refund INTEGER NOT NULL,
        closed_because TEXT,
        CHECK (above + below <= asked)""",
    # The last entry that is counted, the newest budget, and the last restore (0: there was none); and what is spent.
    "balance": """
        only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
        entry INTEGER NOT NULL,
        budget INTEGER NOT NULL,
        restored INTEGER NOT NULL,
        epsilon TEXT NOT NULL,
        delta TEXT NOT NULL,
        rho TEXT""",
}

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
    connection.make_tables(TABLES)
    for table in ("entries", "releases", "refunds"):
        for statement in _ONLY_GROWS[connection.store]:
            connection.run(statement.format(table=table))
    row = {"only_row": 1, "schema_version": VERSION, "dataset": dataset, "conversion_delta": conversion_delta}
    connection.add("ledger", **row)


def migrate(connection: Connection, version: int) -> None:
    """Bring the tables from a version to this one, inside the caller's transaction: all steps or none."""
    for step in range(version, VERSION):
        MIGRATIONS[step](connection)
    connection.run("UPDATE ledger SET schema_version = :version", version=VERSION)
