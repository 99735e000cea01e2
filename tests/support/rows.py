"""Rows to count, and ways to write and ask them."""

from __future__ import annotations

import datetime
import random
from pathlib import Path
from typing import Any

import duckdb

from sparsegate.conditions import read_condition
from sparsegate.service.data.dataset import ServedTable

SECRET = "SECRET-CELL"
COLUMNS = ["visitor", "page", "seconds", "score", "paid", "day"]
Row = tuple[str | None, str | None, int | None, float | None, bool | None, datetime.date | None]


def some_rows(count: int = 3_000) -> list[Row]:
    chance = random.Random(7)

    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.1 else value

    return [
        (
            maybe(f"v{chance.randrange(400)}"),
            maybe(chance.choice(["/", "/pay", "/cart", "", "it's", "naïve"])),
            maybe(chance.randrange(100)),
            maybe(chance.choice([0.5, -1.0, float("inf"), 2.25])),
            maybe(chance.random() < 0.5),
            maybe(datetime.date(2024, 1, 1) + datetime.timedelta(chance.randrange(60))),
        )
        for _ in range(count)
    ]


ROWS = some_rows()


def write(path: Path, query: str) -> str:
    relation = duckdb.sql(query)
    assert relation is not None
    relation.write_parquet(str(path))
    return str(path)


def ask(dataset: ServedTable, text: str) -> int:
    return dataset.count(read_condition(text, dataset.schema))
