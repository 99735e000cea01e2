"""A count in PostgreSQL by the same steps for every row, beside PostgreSQL's own count(DISTINCT); opening the table.

A million rows, 200,000 people, in a throw-away cluster with the settings that a new one has; conditions that match 1,
10 and 50 % of the rows. The peer is what anybody would write, `SELECT count(DISTINCT visitor) FROM visits WHERE ...`,
with whatever index, parallel worker and short circuit the planner likes. Nothing is measured where PostgreSQL's server
programs are not installed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Contender, Result, side_by_side, versus
from benchmarks.throwaway import table_in_postgres

if TYPE_CHECKING:
    from psycopg import Connection

ROWS, PEOPLE, ROUNDS = 1_000_000, 200_000, 5
SHARES = (0.01, 0.1, 0.5)
TABLE = f"""CREATE TABLE visits AS SELECT (i * 7919 % {PEOPLE})::bigint AS visitor, 'c' || i * 31 % 40 AS country,
    '/page/' || i * 17 % 500 AS page, i * 104729 % 3600 AS seconds FROM generate_series(1, {ROWS}::bigint) AS i"""


def conditions() -> list[str]:
    """One for each share of the rows."""
    return [f"seconds BETWEEN 100 AND {100 + round(share * 3600) - 1} AND country <> 'x'" for share in SHARES]


def results() -> Iterator[Result]:
    with table_in_postgres(TABLE) as found:
        if found is not None:
            yield from _measured(*found)


def _measured(url: str, plain: Connection) -> Iterator[Result]:
    from sparsegate.conditions import read_condition
    from sparsegate.service.data.dataset import ServedTable

    begun = time.perf_counter()
    data = ServedTable.open([url], table="visits", user="visitor")
    opened = time.perf_counter() - begun
    with data:
        read = [read_condition(text, data.schema) for text in conditions()]

        def counted(_: Any) -> list[int]:
            return [data.count(condition) for condition in read]

        def bare(_: Any) -> list[int]:
            query = "SELECT count(DISTINCT visitor) FROM visits WHERE "
            return [int(plain.execute((query + text).encode()).fetchone()[0]) for text in conditions()]  # type: ignore[index]

        assert counted(None) == bare(None)
        ours, peer = side_by_side(
            Contender(counted, queries=len(read)), Contender(bare, queries=len(read)), rounds=ROUNDS
        )
        yield versus(
            "a count in PostgreSQL, the same steps for every row",
            ours,
            peer,
            "count(DISTINCT)",
            speed=False,
            rows=ROWS,
            people=PEOPLE,
            opened_seconds=round(opened, 2),
            bound_seconds=round(max(map(data.seconds, read)), 2),
        )
