"""What is asked of a table in a database, and what a dialect must say about its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    TextClause,
    TextualSelect,
    literal,
    literal_column,
    select,
    text,
)

from sparsegate.tables.labels import LabelKind


@dataclass(frozen=True, kw_only=True)
class AskedRows:
    """A table, or a query, and the columns of it that are counted."""

    table: str | None
    sql: str | None
    item: str
    user: str | None
    where: str | None = None
    value: str | None = None
    max_cell: int | None = None
    """How many characters of an item are read; None for all."""

    @property
    def columns(self) -> list[str]:
        """The names that must be there."""
        return [name for name in (self.item, self.user, self.value) if name is not None]


class DialectRows(Protocol):
    """The rows of a table in the words of one dialect. All about it is public."""

    kind: LabelKind
    """What items are: INTEGER or STRING of ``tables.labels``."""

    def rows(self) -> Select[Any]:
        """The rows (item, person), or (item), and their value where one is asked for.

        Items are compared and put in order by their code points.
        """

    def candidates(self, labels: Sequence[Any]) -> Select[Any] | TextualSelect:
        """Public labels as rows (item)."""

    def digest(self, *columns: str) -> ColumnElement[int]:
        """``engines.engine.digest`` of columns of a query."""


def rows_of(place: str, columns: dict[str, str], condition: str = "") -> Select[Any]:
    """Rows in the words of a dialect: SQL for each column by its name, from a place, where a condition holds."""
    labelled: list[ColumnElement[Any]] = [literal_column(sql).label(name) for name, sql in columns.items()]
    chosen: Select[Any] = select(*labelled).select_from(written(place))
    return chosen.where(literal_column(condition)) if condition else chosen


def written(sql: str) -> TextClause:
    """SQL as it is: what looks like the name of a parameter is none."""
    return text(sql.replace(":", r"\:"))


def names_at(connection: Connection, place: str) -> list[str]:
    """The columns there, told without a row."""
    # A statement with a parameter is one, or none: no driver takes a second one behind it.
    empty: Select[Any] = select(literal_column("*")).select_from(written(place)).where(literal(1) == literal(0))
    return list(connection.execute(empty).keys())
