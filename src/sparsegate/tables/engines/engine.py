"""The engine a table lives in: what must be asked of it in its own words, and nothing else.

Everything that narwhals can say for all engines is said once, in the modules beside this one. What is left differs:
how a result is kept so that it is computed once, how a small result comes out, how public values go in, and the few
queries where the portable form would be slow. No engine is ever asked for randomness, and no answer relies on the
order in which an engine happens to return rows.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias, TypeVar

import narwhals as nw

from sparsegate.errors import SparsegateError, SparsegateWarning, TableError
from sparsegate.tables.labels import Cell, LabelKind

Frame: TypeAlias = nw.LazyFrame[Any]
Result = TypeVar("Result")

KNOWN: Final = "a pandas, Polars or PyArrow table, a DuckDB relation or a PySpark DataFrame"

SALT: Final = "sparsegate:"
"""Put before a label that is hashed, so that the order of the hashes is nobody else's order."""

SPENT: Final = "noise was drawn, so the release counts as spent"

DIGITS: Final = 15
"""Hexadecimal digits of the hash that are used: 60 bits fit every engine's integers."""

UNUSED: Final = 64 - 4 * DIGITS


class Engine(ABC):
    """One table in its engine, with all that was kept for it there; leaving the context lets go of that."""

    name: str

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        # What could not be let go of dies with the engine; it must not take a finished release with it.
        with suppress(Exception):
            self.close()

    @abstractmethod
    def close(self) -> None:
        """Let go of everything kept."""

    @abstractmethod
    def keep(self, frame: Frame) -> Frame:
        """The same rows, computed at most once however often they are asked for."""

    def candidates(self, labels: Frame) -> Frame:
        """The different ones of public labels of this engine, ready to be joined with more than once."""
        return self.keep(different(labels, "item"))

    def sieve(self, labels: Frame) -> Callable[[Frame], Frame] | None:
        """From rows to those whose item is one of these public labels, which are different, faster than by a join."""
        return None

    def settled(self, counts: Frame) -> Frame:
        """Counts that are about to be narrowed to candidates."""
        return counts

    @abstractmethod
    def rows(self, frame: Frame) -> list[tuple[Any, ...]]:
        """All rows, as Python values, in no particular order: only for results that are small."""

    @abstractmethod
    def bring(self, columns: Mapping[str, Sequence[Cell]]) -> Frame:
        """Public values as a frame of this engine; every column has at least one entry."""

    @abstractmethod
    def joins(self, other: Engine) -> bool:
        """Whether a frame of the other engine can be joined with a frame of this one."""

    def columns(self, item: str, user: str | None = None) -> Frame:
        """The named columns as "item" and "user"; see ``select``."""
        return self.select({"item": item} if user is None else {"item": item, "user": user})

    def select(self, named: Mapping[str, str]) -> Frame:
        """Columns by their aliases, in types that narwhals knows and in which labels are told apart exactly."""
        return self.frame.select(*(nw.col(name).alias(alias) for alias, name in named.items()))

    def item_kind(self, column: str) -> LabelKind | None:
        """What the items of a column are, where narwhals has no type for it."""
        return None

    @abstractmethod
    def cells(self, rows: Frame, column: str, kind: LabelKind) -> Frame:
        """The rows with the cells of this kind in place of what the column held, without a null there before.

        See ``tables.labels``: null for what has no cell, and never an error, whatever the column holds. Whole
        numbers, strings and booleans need nothing of an engine.
        """

    def users_per_item(self, rows: Frame, *within: str) -> Frame:
        """From rows (item, user) without nulls to (item, score): how many different users each item has, exactly.

        With other columns to count ``within``, each of their values by itself.
        """
        return rows.group_by(*within, "item").agg(nw.col("user").n_unique().alias("score"))

    def numbered(self, frame: Frame, order: Sequence[str]) -> Frame:
        """The rows with a column "index": 0, 1, 2, ... by ``order``, whose columns tell all rows apart."""
        return frame.with_row_index("index", order_by=list(order))

    @abstractmethod
    def digests(self, frame: Frame, of: Sequence[str]) -> Frame:
        """The rows with a column "digest" of the named ones, the same numbers in every engine; see ``digest``."""

    def first_per_user(self, rows: Frame, most: int) -> Frame:
        """At most ``most`` of each user's rows (user, item, digest): those that come first by digest, then by item."""
        place = nw.col("digest").cum_count().over("user", order_by=["digest", "item"])
        return rows.with_columns(place.alias("place")).filter(nw.col("place") <= most).drop("place")


def digest(*labels: int | str) -> int:
    """The first bits of SHA-256 of labels: a fixed number that has nothing to do with their meaning.

    >>> digest("/home") == digest("/home"), digest(7, "/home") < 2**60
    (True, True)
    """
    text = SALT + ":".join(map(str, labels))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8]) >> UNUSED


def different(rows: Frame, *columns: str) -> Frame:
    """The different values of the columns; a group-by does it faster than narwhals' ``unique`` on SQL engines."""
    return rows.group_by(*columns).agg(nw.len().alias("times")).select(*columns)


def framed(native: Any) -> Frame:
    """A table of any engine that narwhals knows, as a frame; no query runs."""
    frame: Frame = nw.from_native(native).lazy()
    return frame


def guarded(name: str, action: Callable[[], Result], *, charged: bool = False) -> Result:
    """Do something in an engine; what it raises becomes a TableError that says where, and never what.

    An engine's message may hold a cell. ``charged`` says that noise is drawn, so that the release counts as made.
    """
    try:
        return action()
    except TableError as error:
        if not charged:
            raise
        reason = f"{error}; {SPENT}"
    except (SparsegateError, SparsegateWarning):  # a warning that was made an error, of public labels, before a charge
        raise
    except Exception as error:
        reason = (
            f"{name} could not run a query ({type(error).__name__}); its own message may hold data and is not repeated "
            f"here; {SPENT if charged else 'nothing was spent'}; check that the engine is running and that the columns "
            "can be counted in it"
        )
    # Raised out here, and not where it was caught, the error has no link back to the message left behind.
    raise TableError(reason) from None


def open_engine(table: Any) -> Engine:
    """The engine that the table lives in."""
    try:
        frame = framed(table)
    except (TypeError, AttributeError):
        others = "columns or rows in dicts, a stream of Arrow, or what to read by its path or URL"
        raise TableError(f"data must be {KNOWN}, {others}, and is of type {type(table).__name__}") from None
    except nw.exceptions.DuplicateError:
        raise TableError("data must have no two columns of one name; rename one, or pass the columns needed") from None
    kind = frame.implementation
    if kind.is_pandas() or kind.is_polars() or kind.is_pyarrow():
        from sparsegate.tables.engines.dataframes import InMemory

        return InMemory(frame)
    if kind.is_duckdb():
        from sparsegate.tables.engines.duckdb import Relation

        return Relation(frame)
    if kind.is_pyspark() or kind.is_pyspark_connect():
        from sparsegate.tables.engines.spark import Cluster

        return Cluster(frame)
    raise TableError(f"data must be {KNOWN}; convert this one, of {kind.value}, to one of them")
