"""The engine a table lives in, and the few questions that tables are asked: DuckDB in this process, or Spark.

A ``Frame`` is rows that are worked out when they are needed. What is done with it is said in SQL that both engines read
alike: names in double quotes where they are words of SQL (``"user"``, ``"group"``), ``>>`` to divide whole numbers by a
power of two. What is left differs, and is the ``Engine``. No engine is ever asked for randomness, and no answer relies
on the order in which an engine happens to return rows.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Self, TypeVar

from sparsegate.errors import SparsegateError, SparsegateWarning, TableError
from sparsegate.tables.engine_errors import NO_MEMORY, raise_alone
from sparsegate.tables.labels import FLOAT, INTEGER, Cell, LabelKind

Result = TypeVar("Result")

SALT: Final = "sparsegate:"
"""Put before a label that is hashed, so that the order of the hashes is nobody else's order."""

DIGITS: Final = 15
"""Hexadecimal digits of the hash that are used: 60 bits fit every engine's integers."""


@dataclass(frozen=True, kw_only=True)
class ColumnType:
    """What the type of a column says.

    ``name`` is how an error calls it, without what it holds: the values of an enumeration are data. ``kind`` is what
    its values are as labels (None: none); ``cell`` is SQL for their cells (``tables.labels``): null for what has none,
    and never an error, whatever the column holds. ``person``: people are told apart exactly.
    """

    name: str
    kind: LabelKind | None = None
    cell: str = "{0}"
    person: bool = True
    numeric: bool = False

    @classmethod
    def of(cls, name: str, kind: LabelKind | None, cell: str) -> ColumnType:
        """A type that an engine has in its table of cells, or has not."""
        return cls(name=name, kind=kind, cell=cell, person=kind is not None, numeric=kind in (INTEGER, FLOAT))


class Frame(ABC):
    """Rows of an engine; see above."""

    def __init__(self, native: Any) -> None:
        self.native = native

    @property
    def columns(self) -> list[str]:
        return list(self.native.columns)

    @abstractmethod
    def collect_schema(self) -> dict[str, ColumnType]: ...

    @abstractmethod
    def select(self, *columns: str) -> Frame:
        """Columns, by their names or as ``expression AS name``."""

    @abstractmethod
    def where(self, condition: str) -> Frame: ...

    @abstractmethod
    def group(self, *by: str, **aggregates: str) -> Frame:
        """One row for each of the different values of the columns ``by``, and what is worked out of its rows."""

    @abstractmethod
    def join(self, other: Frame, *on: str, how: str = "inner") -> Frame:
        """The rows with those of another frame that have the same values; ``how`` may be "semi" or "anti", too."""

    @abstractmethod
    def union(self, other: Frame) -> Frame: ...

    @abstractmethod
    def order(self, *by: str) -> Frame: ...

    def with_columns(self, **expressions: str) -> Frame:
        kept = [name for name in self.columns if name not in expressions]
        return self.select(*kept, *(f'{sql} AS "{name}"' for name, sql in expressions.items()))

    def rename(self, **names: str) -> Frame:
        return self.select(*(f'"{name}" AS "{names.get(name, name)}"' for name in self.columns))

    def drop_nulls(self) -> Frame:
        return self.where(" AND ".join(f'"{name}" IS NOT NULL' for name in self.columns))

    def cells(self, column: str) -> Frame:
        """The rows with the cells of the column in its place; those without a cell are dropped."""
        cell = self.collect_schema()[column].cell.format(f'"{column}"')
        return self.with_columns(**{column: cell}).where(f'"{column}" IS NOT NULL')


class Engine(ABC):
    """One table in its engine, with all that was kept for it there; leaving the context lets go of that."""

    name: str

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # What could not be let go of dies with the engine; it must not take a finished release with it.
        with suppress(Exception):
            self.close()

    @property
    def types(self) -> dict[str, ColumnType]:
        return self.frame.collect_schema()

    @property
    def names(self) -> list[str]:
        return self.frame.columns

    @abstractmethod
    def select(self, named: Mapping[str, str]) -> Frame:
        """Columns by their aliases, in which labels are told apart exactly, and people as their column does."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything kept."""

    @abstractmethod
    def keep(self, frame: Frame) -> Frame:
        """The same rows, computed at most once however often they are asked for."""

    @abstractmethod
    def rows(self, frame: Frame) -> list[tuple[Any, ...]]:
        """All rows, as Python values, in no particular order: only for results that are small."""

    @abstractmethod
    def bring(self, columns: Mapping[str, Sequence[Cell]]) -> Frame:
        """Public values as a frame of this engine; every column has at least one entry."""

    def beside(self, table: Any) -> Engine:
        """The engine of a public table: such that ``joins`` it, where that is possible."""
        return open_engine(table)

    @abstractmethod
    def joins(self, other: Engine) -> bool:
        """Whether a frame of the other engine can be joined with a frame of this one."""

    @abstractmethod
    def digest(self, *columns: str) -> str:
        """SQL for ``digest`` of columns: the same numbers in every engine."""

    @abstractmethod
    def numbered(self, frame: Frame, *order: str) -> Frame:
        """The rows with a column "index": 0, 1, 2, ... by ``order``, whose columns tell all rows apart."""

    def candidates(self, labels: Frame) -> Frame:
        """The different ones of public labels of this engine, ready to be joined with more than once."""
        return self.keep(labels.group("item"))

    def among(self, frame: Frame, column: str, numbers: Sequence[int]) -> Frame:
        """The rows in which a column has one of these numbers."""
        if len(numbers) <= 1000:
            return frame.where(f'"{column}" IN ({", ".join(map(str, numbers))})')
        return frame.join(self.bring({column: numbers}), column, how="semi")


def digest(*labels: int | str) -> int:
    """The first bits of SHA-256 of labels.

    >>> digest("/home") == digest("/home"), digest(7, "/home") < 2**60
    (True, True)
    """
    text = SALT + ":".join(map(str, labels))
    return int(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS], 16)


def guarded(name: str, action: Callable[[], Result], *, charged: bool = False) -> Result:
    """Do something in an engine; of what it raises, which may hold a cell, a TableError says where, and never what.

    ``charged``: noise is drawn, so that the release counts as made.
    """
    spent = "noise was drawn, so the release counts as spent" if charged else "nothing was spent"
    try:
        return action()
    except TableError as error:
        if not charged:
            raise
        raise_alone(TableError(f"{error}; {spent}"))
    except (SparsegateError, SparsegateWarning):  # a warning that was made an error, of public labels, before a charge
        raise
    except Exception as error:
        trouble = type(error).__name__
        step = "check that the engine is running and that the columns can be counted in it"
        reason = f"{name} could not run a query ({trouble}); its own message may hold data and is not repeated here"
        raise_alone(TableError(f"{reason}; {spent}; {NO_MEMORY if trouble == 'OutOfMemoryException' else step}"))


def open_engine(table: Any) -> Engine:
    """The engine that the table lives in: Spark, that of a DuckDB relation, and for all others a new DuckDB."""
    if isinstance(table, Engine):
        return table
    if type(table).__module__.partition(".")[0] == "pyspark":
        from sparsegate.tables.engines.spark import Cluster

        return Cluster(table)
    from sparsegate.tables.engines.duckdb import Relation
    from sparsegate.tables.python_tables import read_table

    return Relation(table) if type(table).__name__ == "DuckDBPyRelation" else read_table(table)
