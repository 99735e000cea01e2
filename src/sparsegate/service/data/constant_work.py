"""Counting people by the same work whatever the data.

An ask takes the same steps for every database of the same public sizes:

    1. the engine works out every leaf of the condition on every value of its column (on every row, if it compares
       columns), without a WHERE, a short circuit or an optimizer that knows the values;
    2. each row takes the result of its value, by its code;
    3. the results of the leaves are combined by arithmetic (``Condition.combine``);
    4. a running sum of the matches is looked up where each person's rows end: it has grown for those who match.

No filter, no hash table, no work for each match. (``logical_or.reduceat`` looks simpler, and stops at the first match
of each person.)

**Public sizes.** The rows, the people and the different values of each column are filled up with nulls to a
``public_size``: at least 4,096, and else one of eight steps to each doubling. Those sizes, and the schema, are treated
as public; the work follows from them and the condition, and so do D and what is refused as too dear. One person more or
less changes a size only where it stands within that person's rows of the edge of a step.

**How long it takes at worst** is a sum over the steps: queries, values times the cost of the leaves on them
(``conditions.costs``), rows times the leaves, and the people. What this machine takes for each is measured at the start
on made-up cells that are as bad as cells can be: as long as they may be, and almost what is looked for (``Speed``).

**What remains** is how long the engine takes over one value: at most the public cost of the condition
(``conditions.costs``), because cells are cut to a public length, and at most a 4,096th of the ask that D allows; for a
person with many values, as many of these. Whose time, and which rows lie near one another in memory, is not hidden from
whoever runs on the same machine; D, which is above all of it, hides it from those who ask.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sparsegate.conditions import TRUE, Column, Condition, Kind, Leaf, Schema, read_condition
from sparsegate.conditions.tree import columns_in
from sparsegate.tables.columns import identifier

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from duckdb import DuckDBPyConnection

LEAST: Final = 4_096
STEPS: Final = 8
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


def public_size(size: int) -> int:
    """The size rounded up to a public one.

    >>> public_size(1), public_size(4_097), public_size(1_000_000)
    (4096, 4608, 1048576)
    """
    step = max(LEAST, 1 << size.bit_length() - 1 if size else 1) // STEPS
    return max(LEAST, -(-size // step) * step)


@dataclass(frozen=True, kw_only=True)
class Coded:
    """One column: a table of its different values, and for each row the place of its value there."""

    table: str
    size: int
    codes: npt.NDArray[np.int32] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A table as it is counted. ``filled`` rows are the owner's secret; the rest, up to ``rows``, is filling."""

    schema: Schema
    unit: str
    """ "user" or "row"."""
    rows: int
    filled: int = field(repr=False)
    ends: npt.NDArray[np.int64] | None = field(repr=False)
    """The last row of each person, filled up with the last row; None where each row is another person."""
    coded: Mapping[str, Coded]
    shown: str
    """The rest of a query, after SELECT, that shows the declared columns and the people."""

    @property
    def people(self) -> int:
        """The public number of people."""
        return self.rows if self.ends is None else len(self.ends)


@dataclass(frozen=True)
class EngineQuery:
    """Leaves that the engine works out in one query: all on one column, or on rows."""

    table: str
    size: int
    column: str | None
    places: tuple[int, ...]
    leaves: tuple[Leaf, ...]


def parts_of(condition: Condition, copy: Copy, rows: str) -> list[EngineQuery]:
    """The queries that a condition takes; ``rows`` is the table that has whole rows."""
    groups: defaultdict[frozenset[str], list[tuple[int, Leaf]]] = defaultdict(list)
    for place, leaf in enumerate(condition.leaves):
        groups[frozenset(column.name for column in columns_in(leaf.node))].append((place, leaf))
    parts = []
    for names, found in groups.items():
        name = next(iter(names)) if len(names) == 1 else None
        table, size = (rows, copy.rows) if name is None else (copy.coded[name].table, copy.coded[name].size)
        places, leaves = zip(*found, strict=True)
        parts.append(EngineQuery(table, size, name, places, leaves))
    return parts


def count_people(condition: Condition, copy: Copy, engine: DuckDBPyConnection, rows: str) -> int:
    """How many people (or rows) have a row that matches, by the steps above."""
    import numpy as np

    results: dict[int, npt.NDArray[np.int8]] = {}
    for part in parts_of(condition, copy, rows):
        for place, worked_out in zip(part.places, _worked_out(part, engine), strict=True):
            if part.column is None:
                results[place] = worked_out
            else:
                results[place] = np.take(worked_out, copy.coded[part.column].codes, mode="clip")
    matches = condition.combine([results[place] for place in range(len(results))]) == TRUE
    matches[copy.filled :] = False
    return count_owners(matches, copy.ends)


def count_owners(matches: npt.NDArray[np.bool_], ends: npt.NDArray[np.int64] | None) -> int:
    """How many people have a row that matches.

    >>> import numpy as np
    >>> count_owners(np.array([True, True, False, False, True]), np.array([1, 3, 4]))
    2
    """
    import numpy as np

    if ends is None:
        return int(np.count_nonzero(matches))
    sums = np.cumsum(matches.view(np.int8), dtype=np.int32)
    return int(np.count_nonzero(np.diff(sums[ends], prepend=0)))


def _worked_out(part: EngineQuery, engine: DuckDBPyConnection) -> Sequence[npt.NDArray[np.int8]]:
    columns = ", ".join(f"{leaf.sql()} AS leaf_{number}" for number, leaf in enumerate(part.leaves))
    found = engine.execute(f"SELECT {columns} FROM {part.table}").fetchnumpy()
    return list(found.values())


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
