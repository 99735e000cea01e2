"""Online answers from history: ten thousand counting queries over a domain of 4,096 cells."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measure import Contender, Result, side_by_side
from sparsegate.tables.online import OnlineAnswers

PEOPLE, COLUMNS, QUERIES = 100_000, 12, 10_000
CUTOFF, TOLERANCE, ROUNDS = 60, 3_000, 3


def survey() -> Any:
    """Twelve yes-or-no questions, answered by five kinds of people."""
    import polars

    generator = np.random.default_rng(7)
    kinds = generator.beta(1.5, 3, size=(5, COLUMNS))
    answers = generator.random((PEOPLE, COLUMNS)) < kinds[generator.integers(0, 5, PEOPLE)]
    return polars.DataFrame({f"q{i}": answers[:, i].astype(np.int64) for i in range(COLUMNS)})


def random_queries() -> list[dict[str, int]]:
    """Conjunctions of one to three answers."""
    generator = np.random.default_rng(8)
    queries = []
    for _ in range(QUERIES):
        chosen = generator.choice(COLUMNS, int(generator.integers(1, 4)), replace=False)
        queries.append({f"q{i}": int(generator.integers(0, 2)) for i in chosen})
    return queries


def make(table: Any) -> OnlineAnswers:
    return OnlineAnswers(
        table,
        {f"q{i}": [0, 1] for i in range(COLUMNS)},
        unit="row",
        epsilon=1,
        tolerance=TOLERANCE,
        cutoff=CUTOFF,
        population=PEOPLE,
    )


def results() -> Iterator[Result]:
    table, queries = survey(), random_queries()
    paid: list[int] = []

    def ask_all(_: object) -> None:
        online = make(table)  # counting the cells is part of the time
        paid.append(sum(online.ask(query, unchecked=True).paid for query in queries))

    (timing,) = side_by_side(Contender(ask_all), rounds=ROUNDS)
    yield Result(
        benchmark=f"{QUERIES:,} online answers, {2**COLUMNS:,} cells, {PEOPLE:,} people",
        ours=float(f"{timing.each:.4g}"),
        unit="s",
        target="<= 20",
        judged="ours",
        details={"paid": max(paid), "cutoff": CUTOFF, "epsilon": 1, "rounds": ROUNDS},
    )


def main() -> int:
    for result in results():
        print(result.line(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
