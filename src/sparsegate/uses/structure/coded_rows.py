"""Rows of categories as small whole numbers: the place of a value in a public list, or the place of all other values.

Every value has a place. One that the public list lacks (a null, a number where words are expected, a list) takes the
place of the category that was declared for the others, so no error, and no number of rows, depends on what a row holds.
A person counts with one row: the first of theirs in the order in which the categories were listed, whatever the order
in which an engine gives rows; or each row is another person. So adding or removing one person adds or removes one row
and leaves all others. (``tables.online.cell_counts`` has the same rule.) Users whose values are equal are one person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.columns import check_columns, check_unit
from sparsegate.tables.online.categories import Label, category_labels
from sparsegate.uses.category_places import category_places

Codes: TypeAlias = NDArray[np.int64]
"""One row for each person, one column for each attribute."""

MOST_CATEGORIES: Final = 1000
"""Of one attribute: a table of two attributes then has a million cells at most."""

_EXAMPLE: Final = 'pass for instance columns={"country": ["DE", "FR", "other"], "smokes": [0, 1]}'


@dataclass(frozen=True, kw_only=True)
class Attributes:
    """Attributes and their public categories, in the order given; ``others`` is the place of what is in no list.

    >>> given = Attributes.of({"country": ["DE", "FR"], "smokes": [0, 1]}, other={"smokes": 1})
    >>> given.codes({"country": ["FR", None], "smokes": [1, 7]}, unit="row").tolist()
    [[1, 1], [0, 1]]
    """

    names: tuple[str, ...]
    categories: tuple[tuple[Label, ...], ...]
    others: tuple[int, ...]

    @classmethod
    def of(cls, columns: Any, other: Any = None) -> Attributes:
        """Check a mapping of two columns or more to their public categories, and one to those for other values."""
        if not isinstance(columns, Mapping) or len(columns) < 2:
            rule = "must map the names of two columns or more to their public lists of categories"
            raise ParameterError("columns", rule, columns, _EXAMPLE)
        categories = {name: category_labels(name, given) for name, given in columns.items()}
        for name, labels in categories.items():
            if len(labels) > MOST_CATEGORIES:
                rule = f"must list at most {MOST_CATEGORIES} categories of {name!r}"
                raise ParameterError("columns", rule, len(labels), "merge categories")
        others = {} if other is None else other
        if not isinstance(others, Mapping) or not set(others) <= set(categories):
            rule = "must map names of columns to the category that takes all other values"
            raise ParameterError("other", rule, other, 'pass for instance other={"country": "other"}')
        for name, label in others.items():
            if label not in categories[name]:
                raise ParameterError("other", f"must be one of the categories of {name!r}", label, "add it to columns")
        places = tuple(labels.index(others[name]) if name in others else 0 for name, labels in categories.items())
        return cls(names=tuple(categories), categories=tuple(categories.values()), others=places)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many categories each attribute has."""
        return tuple(map(len, self.categories))

    def codes(self, table: Any, *, user: str | None = None, unit: str | None = None) -> Codes:
        """The rows of a table, one for each person; private.

        ``table`` is a mapping of columns, a dataframe that narwhals reads, or a 2-D array whose columns are the
        attributes in their order. ``user`` names the column that says whose row it is; a row that is nobody's is left
        out. What is refused depends on names, types and lengths alone.
        """
        check_unit(user, unit)
        held, types = self._columns(table, user)
        if len({len(column) for column in held.values()}) > 1:
            raise ParameterError("table", "must have columns of one length", next_step="check how it is made")
        places = list(zip(self.names, self.categories, self.others, strict=True))
        for name, labels, _ in places:
            _refuse_type(name, types[name], labels)
        codes = np.stack([category_places(held[name], labels, other=other) for name, labels, other in places], axis=1)
        return codes if user is None else _one_row_each(codes, held[user])

    def _columns(self, table: Any, user: str | None) -> tuple[dict[str, Any], dict[str, str | None]]:
        """The cells of each column that is asked for, and what its type says that they are."""
        if isinstance(table, np.ndarray):
            table = table if np.ma.isMaskedArray(table) else np.asarray(table)  # columns of a matrix are no columns
            if table.ndim != 2 or table.shape[1] != len(self.names):
                rule = f"must be an array of rows with {len(self.names)} columns, those of columns= in their order"
                raise ParameterError("table", rule, table.shape, "or pass a mapping of columns, or a dataframe")
            if user is not None:
                raise ParameterError("user", "must not be given with an array, whose columns have no names", user)
            return dict(zip(self.names, table.T, strict=True)), dict.fromkeys(self.names, _array_type(table))
        wanted = list(dict.fromkeys([*self.names, *([] if user is None else [user])]))  # it may be an attribute, too
        if isinstance(table, Mapping):
            check_columns([name for name in table if isinstance(name, str)], wanted)
            return {name: _flat(table[name]) for name in wanted}, {name: _array_type(table[name]) for name in wanted}
        import narwhals as nw

        try:
            frame: Any = nw.from_native(table)
        except TypeError:
            rule = "must be a mapping of columns, a dataframe or a 2-D array"
            raise ParameterError("table", rule, type(table).__name__, "pass for instance a pandas DataFrame") from None
        check_columns(frame.collect_schema().names(), wanted)
        read = frame.lazy().select(wanted).collect()
        return {name: read[name].to_list() for name in wanted}, {name: _series_type(read[name]) for name in wanted}


def _flat(values: Any) -> Any:
    """The cells of a column: an array of numpy as it is, anything else as a list."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__") or getattr(values, "ndim", 1) != 1:
        raise TableError("every column of the table must be a flat list, array or series; check how it is made")
    return list(values)


def _refuse_type(name: str, held: str | None, labels: Sequence[Label]) -> None:
    """Refuse a column whose type has none of the categories: all of its rows would be other values, without a word.

    A type of the table itself alone: what the cells of a list, or of a column of objects, are is private.
    """
    listed = "text" if isinstance(labels[0], str) else "numbers"
    if held is not None and held != listed:
        raise TableError(f"column {name!r} holds {held}, and its categories are {listed}; cast one of the two")


def _array_type(values: Any) -> str | None:
    kind = values.dtype.kind if isinstance(values, np.ndarray) else "O"
    return "numbers" if kind in "biuf" else "text" if kind == "U" else None


def _series_type(series: Any) -> str | None:
    import narwhals as nw

    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return "numbers"
    if getattr(series.to_native(), "dtype", None) == np.dtype(object):
        return None
    return "text" if series.dtype == nw.String else None  # the categories of pandas may be of any type


def _one_row_each(codes: Codes, users: Any) -> Codes:
    """Of each person's rows the first in the order of the categories. None, not-a-number and the like are nobody."""
    numbers: dict[Any, int] = {}
    owners = np.full(len(codes), -1, dtype=np.int64)
    for place, person in enumerate(users.tolist() if isinstance(users, np.ndarray) else users):
        try:
            if person is not None and bool(person == person):
                owners[place] = numbers.setdefault(person, len(numbers))
        except Exception:  # what will not be compared is nobody; an error would tell of it
            continue
    order = np.lexsort((*codes.T[::-1], owners))
    owners = owners[order]
    first = (owners >= 0) & np.append(True, owners[1:] != owners[:-1])[: len(owners)]
    kept: Codes = codes[order][first]
    return kept
