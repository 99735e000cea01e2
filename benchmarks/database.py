"""Private top-100 of 5 million rows in PostgreSQL beside its own plain query.

In a throw-away cluster with the settings that a new one has: 200,000 pages with counts like a power law, 500,000
visitors. The peer is `SELECT page, count(DISTINCT visitor) FROM visits GROUP BY page`, whose rows do not even leave the
server here (`SELECT max(n) FROM (...)`). The planner is free for both, and both run over the same table as it was made.
SPARSEGATE_BENCH_ROWS sets another number of rows. Nothing is measured where PostgreSQL's server programs are not
installed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Contender, Result, side_by_side, versus
from benchmarks.throwaway import table_in_postgres

if TYPE_CHECKING:
    from psycopg import Connection

ROWS = int(os.environ.get("SPARSEGATE_BENCH_ROWS", "5_000_000"))
PAGES, PEOPLE, ROUNDS = 200_000, 500_000, 3
TABLE = f"""CREATE TABLE visits AS SELECT '/page/' || (power(random(), 3) * {PAGES})::int AS page,
    (random() * {PEOPLE})::int AS visitor FROM generate_series(1, {ROWS})"""
PLAIN = "SELECT max(n) FROM (SELECT page, count(DISTINCT visitor) AS n FROM visits GROUP BY page) AS counts"


def results() -> Iterator[Result]:
    with table_in_postgres(TABLE) as found:
        if found is not None:
            yield from _measured(*found)


def _measured(url: str, plain: Connection) -> Iterator[Result]:
    from sparsegate.noise import Seeded
    from sparsegate.tables.opening import Table
    from sparsegate.tables.top import top_items

    pages = [f"/page/{number}" for number in range(PAGES + 1)]
    for name, options in (("listed", {"domain": pages}), ("observed", {"domain": "observed", "delta": 1e-6})):
        asked: dict[str, Any] = {"item": "page", "user": "visitor", "count": 100, "epsilon": 0.5, **options}

        def released(_: Any, asked: dict[str, Any] = asked) -> object:
            return top_items(Table(url, table="visits"), **asked, source=Seeded(1), not_private=True)

        ours, peer = side_by_side(
            Contender(released), Contender(lambda _: plain.execute(PLAIN).fetchall()), rounds=ROUNDS
        )
        yield versus(
            f"top 100 in PostgreSQL, {name} domain",
            ours,
            peer,
            "plain query",
            speed=False,
            target="<= 1.3",
            rows=ROWS,
        )
