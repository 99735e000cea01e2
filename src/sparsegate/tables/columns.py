"""The two columns of a table that are read, checked by name and type and brought to one form.

An item becomes a cell of 64 bits, or a string: see ``tables.labels``; categories are read as what they stand for.
Rows whose item or user is null are dropped, and so are items without a cell, such as whole numbers outside of 64 bits.
What a check says depends on the schema alone, never on a cell.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, Final

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.engines.engine import ColumnType, Engine, Frame
from sparsegate.tables.labels import FLOAT, LabelKind

MOST_LABEL: Final = 2**63 - 1


def read_columns(
    engine: Engine, item: str, user: str | None, value: str | None = None, group: str | None = None
) -> tuple[Frame, LabelKind]:
    """The rows as (item, user), or (item) alone, without nulls; and what the items are.

    With ``value`` the rows have that column, too, as it is: ``tables.sums`` reads it. With ``group``, as labels.
    """
    columns = {"item": item, "user": user, "value": value, "group": group}
    named = {alias: name for alias, name in columns.items() if name is not None}
    check_columns(engine.names, list(named.values()))
    types = engine.types
    kind = label_kind(types[item], item)
    rows = as_labels(engine.select(named).drop_nulls(), kind)
    if user is not None:
        rows = as_people(rows, types[user], user)
    if group is not None:
        rows = as_labels(rows, label_kind(types[group], group, "groups"), "group")
    return rows, kind


def check_columns(names: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise a TableError for the first column that is not there; it lists those with nearly the same name."""
    for column in wanted:
        if column not in names:
            near = near_names(column, names)
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "check its name"
            raise TableError(f"the table has no column {column!r}; {hint}")


def check_unit(user: Any, unit: Any) -> None:
    """Raise a ParameterError unless it is clear whom the guarantee is for: ``user`` names a column, or unit="row"."""
    if user is not None and not isinstance(user, str):
        raise ParameterError("user", "must be the name of a column", user, 'pass for instance user="visitor"')
    if unit not in (None, "user", "row"):
        raise ParameterError("unit", 'must be "row", or left out where user= names a column', unit)
    if user is None and unit != "row":
        rule = "must name the column that says whose row it is: the guarantee is for a person, who may have many rows"
        raise ParameterError("user", rule, next_step='if every row is another person, say so with unit="row"')
    if user is not None and unit == "row":
        raise ParameterError("unit", 'must not be "row" where user= is given', unit, "leave one of them out")


def near_names(name: str, names: Sequence[str]) -> list[str]:
    """The names that are nearly this one, and no others: the first line of a file may be a row, not a header."""
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return [other for other in names if other.lower() == name.lower() and other not in near] + near


def check_table(table: str, names: Sequence[str]) -> None:
    """Raise a ParameterError for a table that a database has not; it lists those with nearly the same name."""
    if table.lower() not in {name.lower() for name in names}:
        near = difflib.get_close_matches(table, names, n=5, cutoff=0.4) or names[:5]
        raise ParameterError("table", "must be a table of the database", table, f"there are: {', '.join(near)}")


def identifier(name: str) -> str:
    """A name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def unlike(name: str, names: Sequence[str]) -> str:
    """A name for a column of our own, like this one and unlike all these, whatever their capitals."""
    while name.lower() in {other.lower() for other in names}:
        name += "'"
    return name


def label_kind(dtype: ColumnType, column: str, what: str = "items") -> LabelKind:
    """What the items, or groups, of a column are, by its type alone."""
    if dtype.kind is None:
        known = "numbers, strings, booleans, bytes, UUIDs, dates, times of day or instants"
        raise TableError(f"the {what} in column {column!r} must be {known}, not {dtype.name}; cast the column first")
    return dtype.kind


def as_labels(rows: Frame, kind: LabelKind, column: str = "item") -> Frame:
    """The rows with a column brought to cells, whole numbers of 64 bits or strings; what has none is dropped."""
    rows = rows.cells(column)
    return rows if kind.range is None else rows.where(f'"{column}" BETWEEN {kind.range[0]} AND {kind.range[1]}')


def check_user(dtype: ColumnType, column: str) -> None:
    """Raise a TableError for users of a type that cannot tell people apart, as floats: not-a-number is nobody."""
    if not dtype.person or dtype.kind is FLOAT:
        rule = "must be of a type that tells people apart exactly, such as whole numbers or strings"
        raise TableError(f"the users in column {column!r} {rule}, not {dtype.name}; cast the column first")


def as_people(rows: Frame, dtype: ColumnType, column: str) -> Frame:
    """The rows with their column "user" as it tells people apart, or a TableError where its type cannot."""
    if dtype.kind is FLOAT:
        return rows.cells("user")  # not-a-number is nobody, and -0.0 is 0.0
    check_user(dtype, column)
    return rows
