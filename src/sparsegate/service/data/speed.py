"""How long an ask may take at worst, from public numbers: measured on a public block, not on the data.

The time of an ask is bounded by a sum over its steps (``constant_work``): queries, values times the cost of the leaves
on them (``conditions.costs``), rows times the leaves, and the people. How long this machine takes for each is measured
at the start on made-up cells that are as bad as cells can be: as long as they may be, and almost what is looked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sparsegate.conditions import TRUE, Column, Condition, Kind, Schema, read_condition
from sparsegate.service.data.constant_work import Copy, count_owners, parts_of
from sparsegate.tables.workspace import identifier

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

REPEATS: Final = 3
BLOCK: Final = 1_024
_WORST: Final = {
    "repeat('a', {0})": (
        "cell LIKE '%aaaaaaaaab%'",
        "cell LIKE '%a%a%a%b'",
        "cell LIKE '%_aaaaaaab'",
        "length(cell) > 5",
    ),
    "repeat('É', {0})": ("lower(cell) = 'b'", "cell ILIKE '%ééééb%'", "trim(cell) = 'b'"),
    "repeat('1', {0})": ("CAST(cell AS DOUBLE) > 1", "CAST(cell AS DATE) IS NULL"),
    "CAST(i AS VARCHAR)": ("cell = 'b'", "cell IN ('b', 'c', 'd')"),
}
"""Cells of the public length, and the conditions that take longest over them."""
_LOOKS: Final = {Kind.TEXT: "LIKE '%~~~~%'"}


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Seconds that this machine takes at worst."""

    query: float
    """For a query."""
    cost: float
    """For a unit of cost on one value."""
    row: float
    """For the result of one leaf, or one step of their combination, on one row."""
    person: float
    """For one row, when those of each person are put together."""

    def seconds(self, condition: Condition, copy: Copy, rows: str) -> float:
        """The bound for one condition."""
        parts = parts_of(condition, copy, rows)
        dear = sum(part.size * sum(leaf.cost for leaf in part.leaves) for part in parts)
        steps = condition.cost - sum(leaf.cost for leaf in condition.leaves)
        taken = copy.rows * (len(condition.leaves) + steps)
        return self.query * len(parts) + self.cost * dear + self.row * taken + self.person * copy.rows

    def look(self, copy: Copy, rows: str) -> float:
        """The bound for a condition that looks at every column once, at all of it."""
        together = self.person * copy.rows
        return together + sum(
            self.seconds(
                read_condition(f"{identifier(column.name)} {_LOOKS.get(column.kind, 'IS NULL')}", copy.schema),
                copy,
                rows,
            )
            - together
            for column in copy.schema.columns
        )


def measured_speed(engine: DuckDBPyConnection, copy: Copy) -> Speed:
    """Measure it. What is measured on are public sizes and made-up cells."""
    import numpy as np

    block = "memory.main.block"
    schema = Schema((Column("cell", Kind.TEXT),), max_cell=copy.schema.max_cell)
    engine.execute(f"CREATE OR REPLACE TABLE {block} AS SELECT 'a' AS cell FROM range(1)")
    query = _fastest(
        lambda: engine.execute(f"SELECT {_leaf_sql(read_condition('TRUE', schema))} FROM {block}").fetchnumpy()
    )
    cost = 0.0
    for cells, texts in _WORST.items():
        cell = cells.format(schema.max_cell)
        engine.execute(f"CREATE OR REPLACE TABLE {block} AS SELECT {cell} AS cell FROM range({BLOCK}) AS t(i)")
        for text in texts:
            condition = read_condition(text, schema)
            sql = f"SELECT {_leaf_sql(condition)} FROM {block}"
            taken = _fastest(lambda sql=sql: engine.execute(sql).fetchnumpy())  # type: ignore[misc]
            cost = max(cost, (taken - query) / (BLOCK * condition.leaves[0].cost))
    engine.execute(f"DROP TABLE {block}")
    # Codes that jump about: no order of the rows is worse for the memory.
    values = np.zeros(max(coded.size for coded in copy.coded.values()), np.int8)
    codes = (np.arange(copy.rows, dtype=np.int64) * 2_654_435_761 % len(values)).astype(np.int32)
    row = _fastest(lambda: np.maximum(taken := np.take(values, codes, mode="clip"), taken) == TRUE)
    ends = np.linspace(0, copy.rows - 1, copy.people, dtype=np.int64)
    matches = np.zeros(copy.rows, bool)
    person = _fastest(lambda: count_owners(matches, ends))
    return Speed(query=query, cost=cost, row=row / copy.rows, person=person / copy.rows)


def _leaf_sql(condition: Condition) -> str:
    return condition.leaves[0].sql()


def _fastest(work: Callable[[], object]) -> float:
    def once() -> float:
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun

    return min(once() for _ in range(REPEATS))
