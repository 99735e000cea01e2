"""Counting people by the same work whatever the data.

An ask takes the same steps for every database of the same shown sizes:

    1. the engine works out every leaf of the condition on every value of its column (on every row, if it compares
       columns), without a WHERE, a short circuit or an optimizer that knows the values;
    2. what concerns one column alone is combined by arithmetic, still on its values (``Condition.combine``);
    3. each row takes the result of its value, by its code, and the results of the columns are combined;
    4. one addition tells who has a row that matches (below).

No filter, no hash table, no work for each match or person. (``logical_or.reduceat`` looks simpler, and stops at the
first match of each person.) Nearly all of it runs without the interpreter's lock, so counts use all cores.

**Shown sizes.** The rows and the different values of each column are filled up to sizes that were drawn, and paid for,
and so may be seen (``copying``); the schema is public. The work follows from them and the condition, and so do D and
what is refused as too dear.

**How long it takes at worst** is a sum over the steps: queries, values times the cost of the leaves on them
(``conditions.operations``), rows times the leaves, and the people. What this machine takes for each is measured at
the start on made-up cells that are as bad as cells can be: as long as they may be, and almost what is looked for
(``Speed``).

**What remains** is what the engine takes for the same number of cells and characters: a pattern is looked for longer
where its beginning is everywhere, and a number takes longer where it does not fit a type. For one value it is at most
the public cost of the condition (``conditions.operations``), because cells are cut to a public length, and at most a
4,096th of the ask that D allows; for a person with many values, as many of these. Whose time, and which rows lie near
one another in memory, is not hidden from whoever runs on the same machine; D, which is above all of it, hides it from
those who ask.

**One addition.** The rows of a person are a run of bits, and one addition tests all runs. ``ends`` has a bit for the
last row of each person, ``matches`` one for each row that matches. Let I be ones everywhere but at the ends, and add:
(matches AND I) + I. Within a run the low part is x + (2^k - 1), where x holds the matches of all of its rows but the
last: it carries into the bit of the end just where x > 0. Both summands are 0 at the end itself, so the bit there is
the carry, and nothing carries on into the next run. So a person has a match where that bit of the sum, or of
``matches``, is set. (Rows after the last end belong to nobody, and carry into no end.)

It is one addition of a number with a bit for each row. In words of 64 bits a word hands a carry to the next where its
own sum overflows; or, where its sum is all ones, where it was handed one. That is what the last word before it that is
not all ones says, and a running maximum finds it: the same steps whatever the bits, and whoever has how many rows.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from sparsegate.conditions import TRUE, UNKNOWN, Column, Condition, Kind, Leaf, Schema, read_condition
from sparsegate.conditions.tree import columns_in
from sparsegate.tables.columns import identifier

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from duckdb import DuckDBPyConnection

    Words: TypeAlias = npt.NDArray[np.uint64]

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
    "CAST(i AS VARCHAR)": ("cell = 'b'", "cell IN ('b', 'c', 'd')"),
}
"""Cells of the public length, and the conditions that take longest over them."""
_LOOKS: Final = {Kind.TEXT: "LIKE '%~~~~%'"}


@dataclass(frozen=True, kw_only=True)
class Coded:
    """One column: the table that has its different values, and for each row the place of its value there."""

    table: str
    size: int
    codes: npt.NDArray[np.intp] = field(repr=False)
    """As wide as the machine's addresses: narrower ones would be widened at every ask."""


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A table as it is counted: the rows in the order of their people, and filling after them."""

    schema: Schema
    unit: str
    """ "user" or "row"."""
    rows: int
    """With what fills them up."""
    ends: Words = field(repr=False)
    """The last row of each person; see above."""
    order: npt.NDArray[np.intp] = field(repr=False)
    """Where each row is in the table that has whole rows."""
    coded: Mapping[str, Coded]
    shown: str
    """The rest of a query, after SELECT, that shows the declared columns and the people."""
    kept: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict, repr=False)
    """By a column of cells: the rows that count in the cell which they are in (``copying.rows_of_cells``)."""


@dataclass(frozen=True)
class EngineQuery:
    """Leaves that the engine works out in one query: on the values in one table, or on rows."""

    table: str
    size: int
    places: tuple[int, ...]
    leaves: tuple[Leaf, ...]


def parts_of(condition: Condition, copy: Copy, rows: str) -> list[EngineQuery]:
    """The queries that a condition takes; ``rows`` is the table that has whole rows."""
    tables: defaultdict[tuple[str, int], list[tuple[int, Leaf]]] = defaultdict(list)
    for place, leaf in enumerate(condition.leaves):
        # A leaf without a column has one value wherever it is worked out.
        names = {column.name for column in columns_in(leaf.node)} or {next(iter(copy.coded))}
        coded = copy.coded[next(iter(names))]
        tables[(coded.table, coded.size) if len(names) == 1 else (rows, copy.rows)].append((place, leaf))
    return [EngineQuery(*table, *zip(*found, strict=True)) for table, found in tables.items()]


def count_people(
    condition: Condition, copy: Copy, engine: DuckDBPyConnection, rows: str, *, per: str | None = None
) -> int:
    """How many people (or rows) have a row that matches, by the steps above; with ``per``, of the rows kept there."""
    import numpy as np

    results: dict[int, npt.NDArray[np.int8]] = {}
    for part in parts_of(condition, copy, rows):
        tests = ", ".join(
            f"{leaf.truth()} AS leaf_{place}" for place, leaf in zip(part.places, part.leaves, strict=True)
        )
        found = engine.execute(f"SELECT {tests} FROM {part.table}").fetchnumpy()
        for place, leaf, tested in zip(part.places, part.leaves, found.values(), strict=True):
            columns = set(columns_in(leaf.node))
            values = np.where(np.ma.getmaskarray(tested), np.int8(UNKNOWN), TRUE * np.ma.getdata(tested).view(np.int8))
            results[place] = (
                values if len(columns) == 1 else np.take(values, copy.order, mode="clip") if columns else values[:1]
            )

    def spread(name: str, values: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
        return np.take(values, copy.coded[name].codes, mode="clip")

    value = condition.combine([results[place] for place in range(len(results))], spread)
    matches = np.broadcast_to(value == TRUE, copy.rows)
    return count_owners(matches if per is None else matches & copy.kept[per], copy.ends)


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Seconds that this machine takes at worst."""

    query: float
    """For a query, or a leaf more in one."""
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
        return self.query * len(condition.leaves) + self.cost * dear + self.row * taken + self.person * copy.rows

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
    """Measure it. What is measured on are shown sizes and made-up cells."""
    import numpy as np

    block = "memory.main.block"
    schema = Schema((Column("cell", Kind.TEXT),), max_cell=copy.schema.max_cell)
    engine.execute(f"CREATE OR REPLACE TABLE {block} AS SELECT 'a' AS cell FROM range(1)")
    least = f"SELECT {_leaf_sql(read_condition('cell IS NULL', schema))} FROM {block}"
    query = fastest_of(lambda: engine.execute(least).fetchnumpy())
    cost = 0.0
    for cells, texts in _WORST.items():
        cell = cells.format(schema.max_cell)
        engine.execute(f"CREATE OR REPLACE TABLE {block} AS SELECT {cell} AS cell FROM range({BLOCK}) AS t(i)")
        for text in texts:
            condition = read_condition(text, schema)
            sql = f"SELECT {_leaf_sql(condition)} FROM {block}"
            taken = fastest_of(lambda sql=sql: engine.execute(sql).fetchnumpy())  # type: ignore[misc]
            cost = max(cost, (taken - query) / (BLOCK * condition.leaves[0].cost))
    engine.execute(f"DROP TABLE {block}")
    # Codes that jump about: no order of the rows is worse for the memory.
    values = np.zeros(max(coded.size for coded in copy.coded.values()), np.int8)
    codes = np.arange(copy.rows) * 2_654_435_761 % len(values)
    row = fastest_of(lambda: np.maximum(taken := np.take(values, codes, mode="clip"), taken) == TRUE)
    ends, matches = last_rows(np.arange(copy.rows) // 3, copy.rows), np.zeros(copy.rows, bool)
    person = fastest_of(lambda: count_owners(matches, ends))
    return Speed(query=query, cost=cost, row=row / copy.rows, person=person / copy.rows)


def _leaf_sql(condition: Condition) -> str:
    return condition.leaves[0].truth()


def fastest_of(work: Callable[[], object]) -> float:
    """Seconds; the least of a few."""

    def once() -> float:
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun

    return min(once() for _ in range(REPEATS))


WORD: Final = 64
"""The rows are filled up to a multiple of this."""


def packed(bits: npt.NDArray[np.bool_]) -> Words:
    """64 rows to a word, the first in the lowest bit."""
    import numpy as np

    return np.packbits(bits, bitorder="little").view("<u8")


def last_rows(owners: npt.NDArray[np.int64], rows: int) -> Words:
    """The ends, from the numbers of the people in the order of the rows; filled up to ``rows`` with nobody's rows."""
    import numpy as np

    ends = np.zeros(rows, bool)
    ends[: len(owners)] = np.diff(owners, append=-1) != 0
    return packed(ends)


def count_owners(matches: npt.NDArray[np.bool_], ends: Words) -> int:
    """How many people have a row that matches.

    >>> import numpy as np
    >>> match = np.zeros(64, bool)
    >>> match[[0, 1, 4, 9]] = True
    >>> count_owners(match, last_rows(np.array([7, 7, 3, 3, 5]), 64))
    2
    """
    import numpy as np

    found, inside = packed(matches), ~ends
    sums = (found & inside) + inside
    overflows, passes_on = sums < inside, sums == ~np.uint64(0)
    last = np.maximum.accumulate(np.where(passes_on, 0, np.arange(len(sums))))
    sums[1:] += overflows[last[:-1]]
    return int(np.bitwise_count((sums | found) & ends).sum())
