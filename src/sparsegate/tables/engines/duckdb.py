"""Tables in DuckDB: a relation of any connection, over files, tables or queries."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from sparsegate.tables.columns import identifier
from sparsegate.tables.engines.engine import DIGITS, SALT, Engine, Frame, framed
from sparsegate.tables.labels import TIME, UUID, Cell, LabelKind

if TYPE_CHECKING:
    import duckdb
    from duckdb import Expression


_DOUBLE: Final = """CASE WHEN NOT isnan({0}) THEN
    CAST(CAST(CASE WHEN {0} = 0 THEN 0 ELSE CAST({0} AS DOUBLE) END AS BIT) AS BIGINT) END"""
_CELLS: Final = {
    "varchar": "{}",  # of a UUID
    "decimal": r"regexp_replace(CAST({} AS VARCHAR), '^(-?)\.', '\10.')",  # .5 where its type has no digit before it
    "blob": "lower(hex({}))",
    "float": _DOUBLE,
    "double": _DOUBLE,
    "date": "CAST({} - DATE '1970-01-01' AS BIGINT)",
    "time": "epoch_us({}) * 1000",
    "time_ns": "epoch_ns({})",
    "timestamp_s": "TRY(epoch_us({})) // 1000000",
    "timestamp_ms": "TRY(epoch_ms({}))",
    "timestamp": "TRY(epoch_us({}))",
    "timestamp with time zone": "TRY(epoch_us({}))",
    "timestamp_ns": "TRY(epoch_ns({}))",
}
"""SQL for the cells of a type: see ``tables.labels``."""

MOST_BITS: Final = 2**27
"""Bits that are spent on the public labels at most: 16 MB."""

SPARSEST: Final = 64
"""Bits for each label, at most: as many as the label itself has."""


class Relation(Engine):
    """A DuckDB relation. What is kept becomes a temporary table of its connection, which spills to disk."""

    name = "DuckDB"

    def __init__(self, frame: Frame) -> None:
        super().__init__(frame)
        self._relation: duckdb.DuckDBPyRelation = frame.to_native()
        self._kept: list[str] = []

    def keep(self, frame: Frame) -> Frame:
        return self._from(f"FROM {self._stored(frame.to_native())}")

    def _stored(self, relation: duckdb.DuckDBPyRelation) -> str:
        """The name of a temporary table with the rows of a relation."""
        name = f"sparsegate_{uuid.uuid4().hex}"
        relation.query("sparsegate_kept", f"CREATE TEMP TABLE {name} AS FROM sparsegate_kept")
        self._kept.append(name)
        return f"temp.{name}"

    def candidates(self, labels: Frame) -> Frame:
        kept = self.keep(labels) if _whole(labels) else labels
        if (bits := self._bits(kept)) is not None:
            ((count, ones),) = self.rows(self._from(f"SELECT count, bit_count(bits) FROM {bits[0]}"))
            if count == ones:  # as most lists are, they are different: that costs a sixth of making them so
                return kept
        return super().candidates(kept)

    def _bits(self, labels: Frame) -> tuple[str, int, int] | None:
        """A table with a bit for each whole number from the least label to the greatest, where that is not too many."""
        if not _whole(labels):
            return None
        relation = labels.to_native()
        ((least, most, count),) = relation.aggregate("min(item), max(item), count(*)").fetchall()
        if count == 0 or most - least >= min(SPARSEST * count, MOST_BITS):
            return None
        marked = relation.aggregate(f"bitstring_agg(item, {least}, {most}) AS bits, count(*) AS count")
        return self._stored(marked), least, most

    def sieve(self, labels: Frame) -> Callable[[Frame], Frame] | None:
        if (marked := self._bits(labels)) is None:
            return None
        bits, least, most = marked
        # No item fails, whatever is evaluated first: those outside are moved inside before their bit is looked up.
        place = f"CAST(least(greatest(item, {least}), {most}) - ({least}) AS INTEGER)"
        listed = f"item BETWEEN {least} AND {most} AND get_bit((SELECT bits FROM {bits}), {place}) = 1"
        return lambda rows: framed(rows.to_native().filter(listed))

    def settled(self, counts: Frame) -> Frame:
        # In one query with the counts, the optimizer would narrow the rows, of which there are many times as many.
        return self.keep(counts)

    def rows(self, frame: Frame) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = frame.to_native().fetchall()
        return rows

    def bring(self, columns: Mapping[str, Sequence[Cell]]) -> Frame:
        from duckdb import ConstantExpression, FunctionExpression

        # The connection of a relation cannot be had, and it may be closed to Python's variables. A constant always gets
        # in, and one text is read in a fraction of the time that a list of a million constants would take.
        chosen = []
        for name, values in columns.items():
            kind = "VARCHAR" if isinstance(values[0], str) else "BIGINT"
            text = ConstantExpression(json.dumps(list(values), ensure_ascii=False))
            parsed = FunctionExpression("from_json", text, ConstantExpression(f'["{kind}"]'))
            chosen.append(FunctionExpression("unnest", parsed).alias(name))
        brought = self._from("SELECT 1").to_native().select(*chosen)
        return self.keep(framed(brought.select(*(_exact(name, dtype) for name, dtype in _schema(brought).items()))))

    def joins(self, other: Engine) -> bool:
        import duckdb

        if not isinstance(other, Relation):
            return False
        try:
            self._relation.select(duckdb.ConstantExpression(1)).union(
                other._relation.select(duckdb.ConstantExpression(1))
            )
        except duckdb.Error:  # relations of different connections
            return False
        return True

    def close(self) -> None:
        while self._kept:
            self._relation.query("sparsegate_table", f"DROP TABLE IF EXISTS temp.{self._kept.pop()}")

    def select(self, named: Mapping[str, str]) -> Frame:
        kinds = _schema(self._relation)
        chosen = (_exact(name, kinds[name], alias).alias(alias) for alias, name in named.items())
        return framed(self._relation.select(*chosen))

    def item_kind(self, column: str) -> LabelKind | None:
        return {"uuid": UUID, "time_ns": TIME}.get(str(_schema(self._relation)[column].id))

    def cells(self, rows: Frame, column: str, kind: LabelKind) -> Frame:
        relation, name = rows.to_native(), identifier(column)
        cell = _CELLS[str(_schema(relation)[column].id)].format(name)
        return framed(relation.project(f"* REPLACE ({cell} AS {name})"))

    def users_per_item(self, rows: Frame, *within: str) -> Frame:
        # narwhals adds a term for nulls, of which there are none here, and that would cost a third more time.
        by = ", ".join(identifier(name) for name in (*within, "item"))
        counted = rows.to_native().aggregate(f'{by}, count(DISTINCT "user") AS score', by)
        return framed(counted)

    def digests(self, frame: Frame, of: Sequence[str]) -> Frame:
        text = " || ':' || ".join(f"{identifier(name)}::VARCHAR" for name in of)
        hashed = f"('0x' || substr(sha256('{SALT}' || {text}), 1, {DIGITS}))::BIGINT"
        return framed(frame.to_native().project(f"*, {hashed} AS digest"))

    def _from(self, query: str) -> Frame:
        return framed(self._relation.query("sparsegate_table", query))


def _whole(labels: Frame) -> bool:
    return str(_schema(labels.to_native())["item"]) == "BIGINT"


def _schema(relation: duckdb.DuckDBPyRelation) -> dict[str, Any]:
    return dict(zip(relation.columns, relation.types, strict=True))


def _exact(name: str, dtype: Any, alias: str = "item") -> Expression:
    """A column in which two labels are one only where they are written alike, and people where DuckDB calls them equal.

    A collation, of the column or of the session, would make one group of 'Secret' and 'secret', and then show the
    spelling of one person under the count of many. Of people nothing is shown: they are compared as their column says.
    Values in text, as all columns of a CSV file are, are read as numbers, and are null where they are none.
    """
    from duckdb import ColumnExpression, SQLExpression

    kind = str(dtype.id)
    # narwhals has no UUID; the text of one is as good
    if kind == "varchar" and alias == "value":
        return SQLExpression(f"TRY_CAST({identifier(name)} AS DOUBLE)")
    if kind in ("enum", "uuid") or (kind == "varchar" and alias != "user"):
        return SQLExpression(f'CAST({identifier(name)} AS VARCHAR) COLLATE "binary"').alias(name)
    return ColumnExpression(name)
