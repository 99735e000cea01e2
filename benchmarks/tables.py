"""Private top-100 of 20 million rows beside the plain query, in DuckDB, Polars and on a Spark cluster of two workers.

Takes eight minutes on two CPUs and 6 GB of memory. ``python -m benchmarks.tables`` runs it alone, or only what is named
of duckdb, polars, spark, memory and people; and by name alone "large": 200 million rows, 3 GB of Parquet, within 4 GB
of memory, for which it needs 30 GB of disk and fifteen minutes. SPARSEGATE_BENCH_ROWS sets another number of rows.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Contender, Result, megabytes_above, side_by_side, versus
from sparsegate.tables.opening import Table
from sparsegate.tables.question import Question
from sparsegate.tables.top import release, top_items

ROWS = int(os.environ.get("SPARSEGATE_BENCH_ROWS", "20_000_000"))
ITEMS, USERS = 2_000_000, 1_000_000
COUNT, EPSILON = 100, 0.5
ROUNDS, WITHIN = 9, 45  # a count of DuckDB's takes 20 % more one time than another
PART = 20_000_000
ONE = 1_000_000
LARGE, LIMIT = 200_000_000, "4GB"

_ROOT = Path(__file__).parents[1]


def make_visits(folder: Path, rows: int = ROWS, users: int = USERS) -> None:
    """Items with counts like 1/rank, visitors uniform, in files of at most PART rows; and the public list of items."""
    import duckdb

    rng = np.random.default_rng(5)
    weights = np.cumsum(1 / np.arange(1, ITEMS + 1))
    names = rng.permutation(ITEMS)
    connection = duckdb.connect()
    for part, start in enumerate(range(0, rows, PART)):
        size = min(PART, rows - start)
        items = names[np.searchsorted(weights / weights[-1], rng.random(size))]
        visits = {"item": items, "visitor": rng.integers(0, users, size)}  # DuckDB finds it by its name
        query = "SELECT item, 'https://example.org/item/' || item AS page, visitor FROM visits"
        connection.execute(f"COPY ({query}) TO '{folder / f'visits-{part:02}.parquet'}'")
        del visits
    pages = f"SELECT i AS item, 'https://example.org/item/' || i AS page FROM range({ITEMS}) t(i)"
    connection.execute(f"COPY ({pages}) TO '{folder / 'pages.parquet'}'")


def private(visits: Any, domain: Any, item: str = "item", **options: Any) -> None:
    top = top_items(visits, item=item, user="visitor", count=COUNT, epsilon=EPSILON, domain=domain, **options)
    assert len(top) == COUNT


def compared(
    engine: str, what: str, ours: Callable[[], object], plain: Callable[[], object], rows: int = ROWS
) -> Result:
    ours_took, plain_took = side_by_side(
        Contender(lambda _: ours()), Contender(lambda _: plain()), rounds=ROUNDS, within=WITHIN
    )
    name = f"private top-{COUNT} of {rows:,} rows, {what}, {engine}"
    peer = "count(distinct) order by limit 100 in the same engine"
    return versus(name, ours_took, plain_took, peer, target="<= 1.1", speed=False)


def _run(visits: Any, query: str) -> object:
    return visits.query("visits", query).fetchall()


def duckdb_results(folder: Path) -> Iterator[Result]:
    import duckdb

    connection = duckdb.connect()
    visits, pages = (connection.read_parquet(str(folder / f"{name}.parquet")) for name in ("visits-*", "pages"))

    def plain(column: str) -> Callable[[], object]:
        query = f"SELECT {column}, count(DISTINCT visitor) AS n FROM visits GROUP BY ALL ORDER BY n DESC LIMIT {COUNT}"
        return partial(_run, visits, query)

    yield compared("DuckDB", "numbers, a list as domain", lambda: private(visits, pages), plain("item"))
    yield compared("DuckDB", "numbers, a size as domain", lambda: private(visits, ITEMS), plain("item"))
    yield compared("DuckDB", "strings, a list as domain", lambda: private(visits, pages, "page"), plain("page"))

    listed = f"read_parquet('{folder / 'pages.parquet'}')"

    def with_list() -> None:
        """What the list alone costs: whether a label is there twice, and the groups that are on it."""
        connection.execute(f"SELECT count(*), count(DISTINCT page) FROM {listed}").fetchall()
        counted = "SELECT page, count(DISTINCT visitor) AS n FROM visits GROUP BY ALL"
        _run(visits, f"SELECT * FROM ({counted}) SEMI JOIN {listed} USING (page) ORDER BY n DESC LIMIT {COUNT}")

    what = "strings, beside the plain query with the list"
    yield compared("DuckDB", what, lambda: private(visits, pages, "page"), with_list)


def polars_results(folder: Path) -> Iterator[Result]:
    import polars

    visits, pages = (polars.scan_parquet(folder / f"{name}.parquet") for name in ("visits-*", "pages"))

    def plain() -> object:
        counted = visits.group_by("item").agg(polars.col("visitor").n_unique().alias("n"))
        return counted.top_k(COUNT, by="n").collect()

    yield compared("Polars", "numbers, a list as domain", lambda: private(visits, pages), plain)


def spark_results(folder: Path) -> Iterator[Result]:
    """On a standalone cluster: a master and two workers of one core, each a process, whose executors have 2 GB."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as sql
    from tests.support.spark_cluster import SETTINGS, standalone_cluster

    settings: dict[str, Any] = SETTINGS | {"spark.executor.memory": "2g", "spark.sql.shuffle.partitions": "8"}
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        print("Spark needs Java, and there is none here", file=sys.stderr)
        return
    with standalone_cluster(folder, memory="2g") as address:
        session = SparkSession.builder.master(address).config(map=settings).getOrCreate()
        visits, pages = (session.read.parquet(str(folder / f"{name}.parquet")) for name in ("visits-*", "pages"))

        def plain() -> object:
            counted = visits.groupBy("item").agg(sql.count_distinct("visitor").alias("n"))
            return counted.orderBy(sql.desc("n")).limit(COUNT).collect()

        yield compared("Spark, two workers", "numbers, a list as domain", lambda: private(visits, pages), plain)
        session.stop()


def memory_results(folder: Path) -> Iterator[Result]:
    ours, plain = (_child("peak", side, str(folder)) for side in ("ours", "plain"))
    yield Result(
        benchmark=f"peak memory, private top-{COUNT} of {ROWS:,} rows, DuckDB in this process",
        ours=float(f"{ours - plain:.4g}"),
        unit="MB above the plain query's",
        target="<= 300",
        judged="ours",
        details={"ours_MB": ours, "plain_MB": plain},
    )


def people_results(folder: Path) -> Iterator[Result]:
    """One person with a million rows, and one with a million items, among four million rows of others."""
    import duckdb

    connection = duckdb.connect()
    others = f"(SELECT item, visitor FROM '{folder}/visits-00.parquet' LIMIT {ROWS // 5})"
    rows, most = ROWS // 5 + ONE, 10
    plain = f"SELECT item, count(DISTINCT visitor) AS n FROM visits GROUP BY ALL ORDER BY n DESC LIMIT {COUNT}"
    # The first ten items of each person: the same work for the engine.
    placed = "SELECT item, row_number() OVER (PARTITION BY visitor ORDER BY hash(item)) AS place FROM pairs"
    cut = f"""WITH pairs AS (SELECT DISTINCT item, visitor FROM visits), placed AS ({placed})
        SELECT item, count(*) AS n FROM placed WHERE place <= {most} GROUP BY ALL ORDER BY n DESC LIMIT {COUNT}"""
    for what, item in (("of one item", "7"), ("of as many items", "i")):
        query = f"SELECT * FROM {others} UNION ALL SELECT {item}, -1 FROM range({ONE}) t(i)"
        connection.execute(f"CREATE OR REPLACE TABLE visits AS {query}")
        visits = connection.table("visits")
        who = f"{ONE:,} {what} by one person"
        for how, bound, peer in (("", None, plain), (f", cut to {most} items", most, cut)):
            ours = partial(private, visits, ITEMS, max_items_per_user=bound)
            yield compared("DuckDB", who + how, ours, partial(_run, visits, peer), rows)


def large_results(folder: Path) -> Iterator[Result]:
    """200 million rows in a program of its own with a bound on memory: time, peak memory, and the time left it told."""
    folder = folder / "large"
    if not folder.exists():
        folder.mkdir()
        make_visits(folder, LARGE, LARGE // 20)
    for file in folder.iterdir():
        with file.open("rb") as opened:  # what is read from the disk now, nobody waits for later
            while opened.read(2**24):
                pass
    for column in ("item", "page"):
        ours, plain = (_child("large", side, str(folder), column) for side in ("ours", "plain"))
        what = f"private top-{COUNT} of {LARGE:,} rows, {'numbers' if column == 'item' else 'strings'}, within {LIMIT}"
        yield Result(
            benchmark=what,
            ours=ours["seconds"],
            peer=plain["seconds"],
            unit="s",
            ratio=float(f"{ours['seconds'] / plain['seconds']:.4g}"),
            target="<= 1.2",
            details={"ratio_is": "times the time of the peer", "peer_name": "count(distinct) within the same limit"},
        )
        peak, told = f"{what}: peak memory of the process", f"{what}: the time left, when told, over what was left"
        yield Result(
            benchmark=peak, ours=ours["peak_MB"], peer=plain["peak_MB"], unit="MB", target="<= 4600", judged="ours"
        )
        yield Result(benchmark=told, ours=ours["told"], unit="median", details={"worst_tenths": ours["tenths"]})


def _child(*arguments: str) -> Any:
    command = [sys.executable, "-m", "benchmarks.tables", "--child", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=_ROOT)
    return json.loads(done.stdout)


def _large(side: str, folder: str, column: str) -> dict[str, Any]:
    import duckdb

    query = (
        f"SELECT {column}, count(DISTINCT visitor) AS n FROM '{folder}/visits-*.parquet' GROUP BY ALL ORDER BY n DESC"
    )
    told: list[tuple[float, float]] = []

    def plain() -> None:
        spill = tempfile.mkdtemp(dir=folder)
        settings: dict[str, Any] = {"memory_limit": LIMIT, "temp_directory": spill, "preserve_insertion_order": False}
        with duckdb.connect(config=settings) as connection:
            connection.execute("SET enable_progress_bar = false")
            connection.execute(query).fetchall()
        shutil.rmtree(spill)

    def ours() -> None:
        table = Table(f"{folder}/visits-*.parquet", memory_limit=LIMIT)
        domain = Path(f"{folder}/pages.parquet:{column}")
        question = Question.asked(item=column, user="visitor", count=COUNT, epsilon=EPSILON, domain=domain)
        release(table, question, report=lambda left: told.append((time.perf_counter(), left)))

    top_items({"item": [1], "visitor": [1]}, item="item", user="visitor", count=1, epsilon=1, domain=9)  # imports
    start = time.perf_counter()
    peak = megabytes_above(ours if side == "ours" else plain)
    end = time.perf_counter()
    ratios = sorted(left / (end - now) for now, left in told if end - now > 2) or [1.0]
    spread = [float(f"{ratios[int(share * (len(ratios) - 1))]:.3g}") for share in (0.1, 0.5, 0.9)]
    return {"seconds": round(end - start, 1), "peak_MB": peak, "told": spread[1], "tenths": [spread[0], spread[2]]}


def _peak(side: str, folder: str) -> float:
    import duckdb

    connection = duckdb.connect()
    visits, pages = (connection.read_parquet(f"{folder}/{name}.parquet") for name in ("visits-*", "pages"))
    query = f"SELECT item, count(DISTINCT visitor) AS n FROM visits GROUP BY ALL ORDER BY n DESC LIMIT {COUNT}"
    small = connection.sql("SELECT 1 AS item, 1 AS visitor")
    top_items(small, item="item", user="visitor", count=1, epsilon=1, domain=9)  # imports
    return megabytes_above(partial(private, visits, pages) if side == "ours" else partial(_run, visits, query))


CHILDREN: dict[str, Callable[..., Any]] = {"large": _large, "peak": _peak}
"""What is measured in a process of its own."""

FIGURES: dict[str, Callable[[Path], Iterator[Result]]] = {
    "duckdb": duckdb_results,
    "polars": polars_results,
    "spark": spark_results,
    "memory": memory_results,
    "people": people_results,
    "large": large_results,
}
ASKED = ("large",)
"""Only where they are named."""


def results(names: Sequence[str] = ()) -> Iterator[Result]:
    """The figures of these names; of none: all but those that must be asked for."""
    names = names or [name for name in FIGURES if name not in ASKED]
    with tempfile.TemporaryDirectory(prefix="sparsegate-bench-") as folder:
        if set(names) - set(ASKED):
            make_visits(Path(folder))
        for name in names:
            yield from FIGURES[name](Path(folder))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("figure", nargs="*", help=f"any of {', '.join(FIGURES)}; all but the last unless named")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)  # this program's own child process
    options = parser.parse_args(arguments)
    if options.child:
        print(json.dumps(CHILDREN[options.child[0]](*options.child[1:])))
        return 0
    if unknown := set(options.figure) - set(FIGURES):
        parser.error(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}")
    for result in results(options.figure):
        print(result.line(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
