"""A table in a PostgreSQL of its own, which goes with the measurement; nothing where the server is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psycopg import Connection


@contextmanager
def table_in_postgres(create: str) -> Iterator[tuple[str, Connection] | None]:
    """The URL of a database with the table ``visits`` that a statement makes, and a connection for the plain query."""
    from tests.support.postgres_cluster import as_a_mortal, programs, running_cluster

    if programs() is None or as_a_mortal() is None:
        yield None
        return
    import psycopg

    with running_cluster() as cluster:
        url = cluster.database()
        with psycopg.connect(url, autocommit=True) as plain:
            plain.execute(create.encode())
            plain.execute("VACUUM ANALYZE visits")
            yield url, plain
