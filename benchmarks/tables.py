"""Private top-100 of 20 million rows beside the plain query, in DuckDB, Polars and Spark.

Takes ten minutes on two CPUs and 6 GB of memory. ``python -m benchmarks.tables`` runs it alone, or only what is named
of duckdb, polars, spark and memory. SPARSEGATE_BENCH_ROWS sets another number of rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Contender, Result, megabytes_above, side_by_side, versus
from sparsegate.tables.top import top_items

ROWS = int(os.environ.get("SPARSEGATE_BENCH_ROWS", "20_000_000"))
ITEMS, USERS = 2_000_000, 1_000_000
COUNT, EPSILON = 100, 0.5
ROUNDS, WITHIN = 5, 600

_ROOT = Path(__file__).parents[1]


def make_visits(folder: Path) -> None:
    """Items with counts like 1/rank, visitors uniform; and the public list of all items."""
    import duckdb

    rng = np.random.default_rng(5)
    weights = np.cumsum(1 / np.arange(1, ITEMS + 1))
    items = rng.permutation(ITEMS)[np.searchsorted(weights / weights[-1], rng.random(ROWS))]
    visits = {"item": items, "visitor": rng.integers(0, USERS, ROWS)}  # DuckDB finds it by its name
    connection = duckdb.connect()
    query = "SELECT item, 'https://example.org/item/' || item AS page, visitor FROM visits"
    connection.execute(f"COPY ({query}) TO '{folder / 'visits.parquet'}'")
    pages = f"SELECT i AS item, 'https://example.org/item/' || i AS page FROM range({ITEMS}) t(i)"
    connection.execute(f"COPY ({pages}) TO '{folder / 'pages.parquet'}'")
    del visits


def private(visits: Any, domain: Any, item: str = "item") -> None:
    release = top_items(visits, item=item, user="visitor", count=COUNT, epsilon=EPSILON, domain=domain)
    assert len(release) == COUNT


def compared(engine: str, what: str, ours: Callable[[], object], plain: Callable[[], object]) -> Result:
    ours_took, plain_took = side_by_side(
        Contender(lambda _: ours()), Contender(lambda _: plain()), rounds=ROUNDS, within=WITHIN
    )
    name = f"private top-{COUNT} of {ROWS:,} rows, {what}, {engine}"
    peer = "count(distinct) order by limit 100 in the same engine"
    return versus(name, ours_took, plain_took, peer, target="<= 1.1", speed=False)


def _relation(found: Any) -> Any:
    assert found is not None  # only a statement that returns nothing gives None
    return found


def duckdb_results(folder: Path) -> Iterator[Result]:
    import duckdb

    connection = duckdb.connect()
    visits, pages = (connection.read_parquet(str(folder / f"{name}.parquet")) for name in ("visits", "pages"))

    def plain(column: str) -> Callable[[], object]:
        query = f"SELECT {column}, count(DISTINCT visitor) AS n FROM visits GROUP BY ALL ORDER BY n DESC LIMIT {COUNT}"
        return lambda: _relation(visits.query("visits", query)).fetchall()

    yield compared("DuckDB", "numbers, a list as domain", lambda: private(visits, pages), plain("item"))
    yield compared("DuckDB", "numbers, a size as domain", lambda: private(visits, ITEMS), plain("item"))
    yield compared("DuckDB", "strings, a list as domain", lambda: private(visits, pages, "page"), plain("page"))


def polars_results(folder: Path) -> Iterator[Result]:
    import polars

    visits, pages = (polars.scan_parquet(folder / f"{name}.parquet") for name in ("visits", "pages"))

    def plain() -> object:
        counted = visits.group_by("item").agg(polars.col("visitor").n_unique().alias("n"))
        return counted.top_k(COUNT, by="n").collect()

    yield compared("Polars", "numbers, a list as domain", lambda: private(visits, pages), plain)


def spark_results(folder: Path) -> Iterator[Result]:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as sql

    settings: dict[str, Any] = {
        "spark.driver.memory": "6g",
        "spark.sql.shuffle.partitions": "8",
        "spark.driver.host": "127.0.0.1",
    }
    settings |= {"spark.log.level": "OFF", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    try:
        session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    except PySparkRuntimeError as error:  # there is no Java
        print(error, file=sys.stderr)
        return

    visits, pages = (session.read.parquet(str(folder / f"{name}.parquet")) for name in ("visits", "pages"))

    def plain() -> object:
        counted = visits.groupBy("item").agg(sql.count_distinct("visitor").alias("n"))
        return counted.orderBy(sql.desc("n")).limit(COUNT).collect()

    yield compared("Spark local[2]", "numbers, a list as domain", lambda: private(visits, pages), plain)
    session.stop()


def memory_results(folder: Path) -> Iterator[Result]:
    ours, plain = (_peak(side, folder) for side in ("ours", "plain"))
    yield Result(
        benchmark=f"peak memory, private top-{COUNT} of {ROWS:,} rows, DuckDB in this process",
        ours=float(f"{ours - plain:.4g}"),
        unit="MB above the plain query's",
        target="<= 300",
        judged="ours",
        details={"ours_MB": ours, "plain_MB": plain},
    )


def _peak(side: str, folder: Path) -> float:
    command = [sys.executable, "-m", "benchmarks.tables", "--peak", side, str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=_ROOT)
    return float(json.loads(done.stdout))


def _print_peak(side: str, folder: Path) -> None:
    import duckdb

    connection = duckdb.connect()
    visits, pages = (connection.read_parquet(str(folder / f"{name}.parquet")) for name in ("visits", "pages"))
    query = f"SELECT item, count(DISTINCT visitor) AS n FROM visits GROUP BY ALL ORDER BY n DESC LIMIT {COUNT}"
    small = connection.sql("SELECT 1 AS item, 1 AS visitor")
    top_items(small, item="item", user="visitor", count=1, epsilon=1, domain=9)  # imports
    plain = _relation(visits.query("visits", query))
    print(json.dumps(megabytes_above((lambda: private(visits, pages)) if side == "ours" else plain.fetchall)))


FIGURES: dict[str, Callable[[Path], Iterator[Result]]] = {
    "duckdb": duckdb_results,
    "polars": polars_results,
    "spark": spark_results,
    "memory": memory_results,
}


def results(names: Sequence[str] = tuple(FIGURES)) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="sparsegate-bench-") as folder:
        make_visits(Path(folder))
        for name in names:
            yield from FIGURES[name](Path(folder))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("figure", nargs="*", help=f"any of {', '.join(FIGURES)}; all of them unless named")
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)  # this program's own child process
    options = parser.parse_args(arguments)
    if options.peak:
        _print_peak(options.peak[0], Path(options.peak[1]))
        return 0
    if unknown := set(options.figure) - set(FIGURES):
        parser.error(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}")
    for result in results(options.figure or tuple(FIGURES)):
        print(result.line(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
