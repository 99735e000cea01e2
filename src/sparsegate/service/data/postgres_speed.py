"""How long a count in PostgreSQL takes at worst, from public numbers.

**Shown sizes** are the rows of the table and the characters of each text column, as they are read, in cells of the
public length: a person of s rows adds at most s to each. They are drawn, and charged, as ``filling`` says.

**The bound.** The cost of a leaf on a cell (``conditions.operations``, and ``extra_cost`` for what takes longer in
PostgreSQL) is a concave function of its length: a constant, and a part for each character, perhaps of the shorter of
two texts. So over all rows it comes to at most the rows times its cost at the mean length (Jensen). To that are added
reading the table once, which is measured, and putting together the rows of each person. What a unit of cost takes is
measured at the start, in the database, on made-up cells that are as bad as cells can be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection

from sparsegate.conditions import Column, Condition, Kind, Schema, read_condition
from sparsegate.conditions.operations import PARTS, WINDOWS, cost_of
from sparsegate.conditions.postgres_sql import Folding, postgres_leaves
from sparsegate.conditions.tree import Apply, Literal, Node, children, columns_in
from sparsegate.service.data.constant_work import fastest_of
from sparsegate.service.data.copying import ROWS, TEXT, Size, public_size
from sparsegate.tables.columns import identifier
from sparsegate.tables.databases.postgres import DatabaseTable

BLOCK: Final = 10_000
LONG: Final = 100
"""The characters of a made-up cell: enough for what a character takes to show, and for what a cell takes, too."""
PATTERN, TRIMMED = 6, 100
"""For each character of a cell, times those of a pattern that is tried at every place; and that may be a blank."""
_EXTRA: Final = {
    **dict.fromkeys("+-", 500),
    **dict.fromkeys("*/", 1_000),
    **dict.fromkeys(PARTS, 300),
    **dict.fromkeys(WINDOWS, 1_500),
}
"""Arithmetic that tells what would overflow (``postgres_sql``), and parts of dates, which are decimals there."""
WIDE: Final = 200
"""For each side of a comparison with a whole number of more than 64 bits, which is a decimal there."""
LEAST_COST: Final = 1e-9
"""What a unit of cost takes at least: it was meant as a nanosecond."""
_WORST: Final = {
    f"repeat('a', {LONG})": (
        "cell LIKE '%aaaaaaaaab%'",
        "cell LIKE '%baaaaaaaaa%'",
        "cell LIKE '%a%a%a%b'",
        "cell LIKE '%_aaaaaaab'",
        "length(cell) > 5",
        f"cell = '{'a' * LONG}'",
        "trim(cell) = 'b'",
    ),
    f"repeat(chr(12288), {LONG})": ("trim(cell) = 'b'", "rtrim(cell) = 'b'"),
    f"repeat('😀', {LONG})": (f"cell LIKE '%b{'😀' * 9}%'", f"cell LIKE '%_{'😀' * 9}b'"),
    "i::text": ("cell = 'b'", "cell IN ('b', 'c', 'd')", "cell IS NULL", "starts_with(cell, 'b')"),
}
_FOLDED: Final = {f"repeat('É', {LONG})": ("lower(cell) = 'b'", "cell ILIKE '%ééééb%'")}
_NUMBERS: Final = {
    "i::float8": ("number > 1", "number IN (1, 2, 3)"),
    "1e300::float8 * i": ("number * number > 1", "number / 0.1 > 1", "number + number > 1"),
    "1e-300::float8 / i": ("number * number > 1", "CAST(number AS FLOAT) = 1", "CAST(number AS INTEGER) > 1"),
}
_LOOKS: Final = {Kind.TEXT: "LIKE '%~~~~%'"}


def extra_cost(node: Node, length: int) -> int:
    """What a node, and all below it, costs in PostgreSQL beyond its public cost, for texts of this length."""
    own = 0
    match node:
        case Apply("contains" | "segments" | "wildcards", (_, pattern)):
            own = PATTERN * length * _pattern_length(pattern)
        case Apply("trim" | "ltrim" | "rtrim"):
            own = TRIMMED * length
        case Apply(operation, sides):
            own = _EXTRA.get(operation, 0) + (WIDE * len(sides) if any(map(_wide, sides)) else 0)
    return own + sum(extra_cost(each, length) for each in children(node))


def _wide(node: Node) -> bool:
    return isinstance(node, Literal) and isinstance(node.constant, int) and not -(2**63) <= node.constant < 2**63


def _pattern_length(node: Node) -> int:
    return len(str(node.constant)) if isinstance(node, Literal) else _pattern_length(children(node)[0])


def _characters_of(column: str) -> str:
    return f"characters of {column}"


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes as they are shown."""

    rows: int
    characters: Mapping[str, int]

    @staticmethod
    def counted(rows: int, characters: Mapping[str, int], schema: Schema) -> dict[str, Size]:
        """What is drawn from: the rows, and characters in cells of the public length, rounded up."""
        cells = {_characters_of(name): Size(-(-count // schema.max_cell), TEXT) for name, count in characters.items()}
        return {ROWS: Size(rows), **cells}

    @classmethod
    def public(cls, shown: Mapping[str, int], schema: Schema) -> Sizes:
        """From what is shown of them."""
        texts = (column.name for column in schema.columns if column.kind is Kind.TEXT)
        return cls(
            rows=public_size(shown[ROWS]),
            characters={name: shown[_characters_of(name)] * schema.max_cell for name in texts},
        )

    def mean(self, node: Node) -> int:
        """The mean length, rounded up, of the text column in the node where it is greatest."""
        counted = [self.characters.get(column.name, 0) for column in columns_in(node)]
        return -(-max(counted, default=0) // self.rows) or 1


@dataclass(frozen=True, kw_only=True)
class DatabaseSpeed:
    """Seconds that this database takes at worst."""

    sizes: Sizes
    schema: Schema
    query: float
    """For a query, and for reading the table once."""
    cost: float
    """For a unit of cost on one row."""
    row: float
    """For one row, when those of each person are put together."""
    step: float = field(default=50e-9)
    """For one step of the combination of leaves on one row."""

    def seconds(self, condition: Condition) -> float:
        """The bound for one condition."""
        dear = 0
        for leaf in condition.leaves:
            length = min(self.sizes.mean(leaf.node), self.schema.max_cell)
            dear += cost_of(leaf.node, length) + extra_cost(leaf.node, length)
        steps = condition.cost - sum(leaf.cost for leaf in condition.leaves)
        return self.query + self.sizes.rows * (self.cost * dear + self.row + self.step * steps)

    def look(self) -> float:
        """The bound for a condition that looks at every column once, at all of it."""
        once = self.seconds(read_condition("TRUE", self.schema))
        tests = (f"{identifier(each.name)} {_LOOKS.get(each.kind, 'IS NULL')}" for each in self.schema.columns)
        return once + sum(self.seconds(read_condition(test, self.schema)) - once for test in tests)


def measured_database(
    connection: Connection, table: DatabaseTable, sizes: Sizes, folding: Folding | None
) -> DatabaseSpeed:
    """Measure it, on public sizes and made-up cells; of the table itself only how long it takes to read it."""

    def fastest(sql: str) -> float:
        return fastest_of(lambda: connection.exec_driver_sql(sql).scalar_one())

    # Every column is found in every row, and none is looked at: whether it is null does not depend on what it holds.
    columns = ", ".join(f"t.{identifier(column.name)}" for column in table.schema.columns)
    read = fastest(f"SELECT sum(num_nulls({columns})) FROM {table.place} AS t")
    bare = fastest(f"SELECT sum(x) FROM (SELECT 1 AS x FROM generate_series(1, {BLOCK}) AS i OFFSET 0) AS leaf")
    cost = LEAST_COST
    texts = _WORST if folding is None else _WORST | _FOLDED
    for kind, name, worst in ((Kind.TEXT, "cell", texts), (Kind.REAL, "number", _NUMBERS)):
        made_up = Schema((Column(name, kind),), max_cell=LONG)
        for cell, conditions in worst.items():
            collated = f'{cell} COLLATE "C"' if kind is Kind.TEXT else cell
            for words in conditions:
                condition = read_condition(words, made_up)
                (sql,) = postgres_leaves(condition, {name: "cells.x"}, folding)
                block = f"(SELECT {collated} AS x FROM generate_series(1, {BLOCK}) AS i OFFSET 0) AS cells"
                taken = fastest(f"SELECT sum(x) FROM (SELECT {sql} AS x FROM {block} OFFSET 0) AS leaf")
                (leaf,) = condition.leaves
                cost = max(cost, (taken - bare) / (BLOCK * (leaf.cost + extra_cost(leaf.node, LONG))))
    many = min(sizes.rows, 100_000)
    label = "i" if table.person is None else "'somebody-with-a-long-name-' || i"
    people = f"SELECT {label} AS person, max(i) AS found FROM generate_series(1, {many}) AS i GROUP BY 1"
    row = fastest(f"SELECT count(*) FROM ({people}) AS people WHERE found > 1") / many
    return DatabaseSpeed(sizes=sizes, schema=table.schema, query=read + bare, cost=cost, row=row)
