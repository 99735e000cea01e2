"""What it takes until a table is served: seconds, memory and D, at a million and at ten million rows.

From a Parquet file to the measured D: all that a start does before it listens, except for the ledger. Each size is
measured in a process of its own. The seconds are those of the clock; beside them are those of the processor, because a
busy machine stretches the first and not the second. A count is timed, too: the conditions of ``benchmarks.service``.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Result, megabytes_above
from benchmarks.service import conditions, write_table

SIZES = (1_000_000, 10_000_000)
TARGET = {10_000_000: "<= 10"}
COUNTS = 20


def results() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as name:
        for rows in SIZES:
            table = Path(name) / f"{rows}.parquet"
            write_table(table, rows)
            with multiprocessing.get_context("spawn").Pool(1) as alone:
                found = alone.apply(started, (str(table),))
            yield Result(
                benchmark=f"start on {rows:,} rows, D measured",
                ours=found.pop("seconds"),
                unit="s",
                target=TARGET.get(rows),
                judged="ours",
                details=found,
            )


def started(table: str) -> dict[str, float]:
    """The figures of one start."""
    from sparsegate.conditions import read_condition
    from sparsegate.service.data.dataset import ServedTable
    from sparsegate.service.deadline import DelayPlan
    from sparsegate.service.opening import slowdown

    found: dict[str, float] = {}

    def start() -> ServedTable:
        begun, spent = time.perf_counter(), time.process_time()
        data = ServedTable.open([table], user="visitor")
        look = data.look_seconds()
        probe = read_condition("country IS NULL", data.schema)
        slower = slowdown(lambda: data.count(probe), at_once=DelayPlan.places)
        found["delay_s"] = DelayPlan.measured(look=look, commits=0.0, slowdown=slower).delay
        found["seconds"] = round(time.perf_counter() - begun, 2)
        found["cpu_s"] = round(time.process_time() - spent, 2)
        asked = [read_condition(text, data.schema) for text in conditions()[:COUNTS]]
        spent = time.process_time()
        for condition in asked:
            data.count(condition)
        found["count_cpu_ms"] = round(1e3 * (time.process_time() - spent) / COUNTS, 2)
        return data

    found["megabytes"] = megabytes_above(start)
    return found


def main() -> None:
    for result in results():
        print(result.line())


if __name__ == "__main__":
    main()
