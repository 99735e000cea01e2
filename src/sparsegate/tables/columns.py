"""The two columns of a table that are read, checked by name and type and brought to one form.

A label is a whole number or a string; categories are read as strings. Rows whose item or user is null are dropped, and
so are whole numbers outside of 64 bits. What a check says depends on the schema alone, never on a cell.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, Final

import narwhals as nw

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.engines.engine import Engine, Frame

MOST_LABEL: Final = 2**63 - 1

INTEGER, STRING = "whole numbers", "strings"


def read_columns(
    engine: Engine, item: str, user: str | None, value: str | None = None, group: str | None = None
) -> tuple[Frame, str]:
    """The rows as (item, user), or (item) alone, without nulls; and whether the items are INTEGER or STRING.

    With ``value`` the rows have that column, too, as it is: ``tables.sums`` reads it. With ``group``, as labels.
    """
    given = {"item": item, "user": user, "value": value, "group": group}
    named = {alias: name for alias, name in given.items() if name is not None}
    check_columns(engine.frame.collect_schema().names(), list(named.values()))
    chosen = engine.select(named)
    types = chosen.collect_schema()
    kind = label_kind(types["item"], item)
    if user is not None:
        check_user(types["user"], user)
    rows = as_labels(chosen.drop_nulls(), kind)
    if group is not None:
        rows = as_labels(rows, label_kind(types["group"], group, "groups"), "group")
    return rows, kind


def check_columns(there: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise a TableError for the first column that is not there; it lists those with nearly the same name."""
    for column in wanted:
        if column not in there:
            near = near_names(column, there)
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "check its name"
            raise TableError(f"the table has no column {column!r}; {hint}")


def check_unit(user: Any, unit: Any) -> None:
    """Raise a ParameterError unless it is clear whom the guarantee is for: ``user`` names a column, or unit="row"."""
    if user is not None and not isinstance(user, str):
        raise ParameterError("user", "must be the name of a column", user, 'pass for instance user="visitor"')
    if unit not in (None, "user", "row"):
        raise ParameterError("unit", 'must be "row", or left out where user= names a column', unit)
    if user is None and unit != "row":
        raise ParameterError(
            "user",
            "must name the column that says whose row it is, because the guarantee is for a person and one "
            "person may have many rows",
            next_step='if every row is another person, say so with unit="row"',
        )
    if user is not None and unit == "row":
        raise ParameterError("unit", 'must not be "row" where user= is given', unit, "leave one of them out")


def near_names(name: str, there: Sequence[str]) -> list[str]:
    """The names that are nearly this one, and no others: the first line of a file may be a row, not a header.

    >>> near_names("Page", ["page", "pages", "visitor"])
    ['page', 'pages']
    """
    near = difflib.get_close_matches(name, there, n=3, cutoff=0.5)
    return [other for other in there if other.lower() == name.lower() and other not in near] + near


def check_table(table: str, there: Sequence[str]) -> None:
    """Raise a ParameterError for a table that a database has not; it lists those with nearly the same name."""
    if table.lower() not in {name.lower() for name in there}:
        near = difflib.get_close_matches(table, there, n=5, cutoff=0.4) or there[:5]
        raise ParameterError("table", "must be a table of the database", table, f"there are: {', '.join(near)}")


def identifier(name: str) -> str:
    """A name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def unlike(name: str, there: Sequence[str]) -> str:
    """A name for a column of our own, like this one and unlike all that are there, whatever their capitals.

    >>> unlike("person", ["Person", "page"])
    "person'"
    """
    while name.lower() in {other.lower() for other in there}:
        name += "'"
    return name


def label_kind(dtype: Any, column: str, what: str = "items") -> str:
    """INTEGER or STRING, by the type of the column alone."""
    if dtype.is_integer():
        return INTEGER
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return STRING
    raise TableError(
        f"the {what} in column {column!r} must be whole numbers or strings, not {_shown(dtype)}; {_cast(dtype)}"
    )


def as_labels(rows: Frame, kind: str, column: str = "item") -> Frame:
    """Bring a column to Int64 or String; a whole number that does not fit is dropped."""
    dtype, label = rows.collect_schema()[column], nw.col(column)
    if kind == STRING:
        return rows if dtype == nw.String else rows.with_columns(label.cast(nw.String))
    if dtype == nw.Int64:
        return rows
    if dtype in (nw.UInt64, nw.UInt128):
        rows = rows.filter(label <= MOST_LABEL)
    elif dtype == nw.Int128:
        rows = rows.filter(label.is_between(-MOST_LABEL - 1, MOST_LABEL))
    return rows.with_columns(label.cast(nw.Int64))


def check_user(dtype: Any, column: str) -> None:
    """Raise a TableError for users of a type that cannot tell people apart."""
    # Two floats that are told apart may be one person, and not-a-number is nobody.
    if dtype.is_float() or dtype.is_nested() or dtype in (nw.Object, nw.Unknown):
        raise TableError(
            f"the users in column {column!r} must be of a type that tells people apart exactly, such as whole numbers "
            f"or strings, not {_shown(dtype)}; {_cast(dtype)}"
        )


def _shown(dtype: Any) -> str:
    """The name of a type without what it holds: the categories of an Enum are data."""
    return type(dtype).__name__ if not isinstance(dtype, type) else dtype.__name__


def _cast(dtype: Any) -> str:
    """What to do; pandas turns whole numbers into floats where one of them is missing."""
    return "cast the column first" + (', in pandas with astype("Int64")' if dtype.is_float() else "")
