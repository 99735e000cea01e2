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
from typing import Any

from benchmarks.measure import Contender, Result, side_by_side, versus

ROWS = int(os.environ.get("SPARSEGATE_BENCH_ROWS", "5_000_000"))
PAGES, PEOPLE, ROUNDS = 200_000, 500_000, 3
TABLE = f"""CREATE TABLE visits AS SELECT '/page/' || (power(random(), 3) * {PAGES})::int AS page,
    (random() * {PEOPLE})::int AS visitor FROM generate_series(1, {ROWS})"""
PLAIN = "SELECT max(n) FROM (SELECT page, count(DISTINCT visitor) AS n FROM visits GROUP BY page) AS counts"


def results() -> Iterator[Result]:
    from tests.support.postgres_cluster import as_a_mortal, programs, running_cluster

    if programs() is None or as_a_mortal() is None:
        return
    with running_cluster() as cluster:
        yield from _measured(cluster.database())


def _measured(url: str) -> Iterator[Result]:
    import psycopg

    from sparsegate.noise import Seeded
    from sparsegate.tables.top import top_items

    with psycopg.connect(url, autocommit=True) as plain:
        plain.execute(TABLE.encode())
        plain.execute("VACUUM ANALYZE visits")
        pages = [f"/page/{number}" for number in range(PAGES + 1)]
        for name, options in (("listed", {"domain": pages}), ("observed", {"domain": "observed", "delta": 1e-6})):
            asked: dict[str, Any] = {"item": "page", "user": "visitor", "count": 100, "epsilon": 0.5, **options}

            def released(_: Any, asked: dict[str, Any] = asked) -> object:
                return top_items(url, table="visits", **asked, source=Seeded(1), not_private=True)

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
