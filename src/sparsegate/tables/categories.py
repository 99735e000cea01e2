"""A public categorical domain: the product of some columns' categories, and counting queries over its cells.

A cell is one category for each column; cells are numbered as numpy numbers an array of the shape (categories of the
first column, categories of the second, ...). A query gives each cell a weight from 0 to 1, and its answer is the sum of
the weights of the people: 0 and 1 count a set of cells. Weights are whole numbers of steps of 2**-24, so that the
answer is computed in integers, and one person moves it by at most one exactly. Everything here is public.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import ParameterError
from sparsegate.tables.columns import MOST_LABEL

Integers: TypeAlias = NDArray[np.int64]
Label: TypeAlias = int | str

WEIGHT_BITS: Final = 24
"""A weight is a whole number of steps of 2**-24; 2**39 people at weight one fit 64 bits."""

MOST_CELLS: Final = 2**22
"""The histogram is held in memory: eight bytes a cell, a few times over."""

_EXAMPLE: Final = 'for instance columns={"country": ["DE", "FR"], "age": range(100)}'


@dataclass(frozen=True, kw_only=True)
class Cells:
    """The domain: the names of the columns, and for each its different categories, in the order given.

    >>> cells = Cells.of({"country": ["DE", "FR"], "smokes": [0, 1]})
    >>> cells.size, cells.steps({"country": "FR"}).tolist() == [0, 0, 2**24, 2**24]
    (4, True)
    """

    names: tuple[str, ...]
    categories: tuple[tuple[Label, ...], ...]

    @classmethod
    def of(cls, columns: Any) -> Cells:
        """Check a mapping from the names of columns to their public categories."""
        if not isinstance(columns, Mapping) or not columns:
            rule = "must map the name of each column to its public list of categories"
            raise ParameterError("columns", rule, columns, f"pass {_EXAMPLE}")
        categories = tuple(category_labels(name, listed) for name, listed in columns.items())
        size = math.prod(map(len, categories))
        if size > MOST_CELLS:
            rule = f"must span at most 2**22 cells, and these span {size:,}"
            raise ParameterError("columns", rule, next_step="leave a column out, or merge categories")
        return cls(names=tuple(columns), categories=categories)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many categories each column has."""
        return tuple(map(len, self.categories))

    @property
    def size(self) -> int:
        """How many cells there are."""
        return math.prod(self.shape)

    def whole(self, place: int) -> bool:
        """Whether the categories of a column are whole numbers, and not strings."""
        return isinstance(self.categories[place][0], int)

    @cached_property
    def _codes(self) -> dict[str, dict[Label, int]]:
        listed = zip(self.names, self.categories, strict=True)
        return {name: {label: code for code, label in enumerate(labels)} for name, labels in listed}

    def steps(self, query: Any) -> Integers:
        """The weight of each cell, in steps of 2**-24: of a mapping to wanted categories, or of an array of weights."""
        if isinstance(query, Mapping):
            return self._chosen(query)
        return self._weights(query)

    def _chosen(self, query: Mapping[Any, Any]) -> Integers:
        for name in query:
            if name not in self._codes:
                raise ParameterError("query", f"must name columns of the domain: {_near(name, self.names)}", name)
        chosen = np.ones(1, dtype=np.bool_)
        for name, labels in zip(reversed(self.names), reversed(self.categories), strict=True):
            # From the last column on, so that what is copied comes in ever longer runs.
            if name in query:
                chosen = np.multiply.outer(self._mask(name, query[name]), chosen).reshape(-1)
            else:
                chosen = np.tile(chosen, len(labels))
        return chosen.astype(np.int64) << WEIGHT_BITS

    def _mask(self, name: str, wanted: Any) -> NDArray[np.bool_]:
        codes = self._codes[name]
        several = isinstance(wanted, Iterable) and not isinstance(wanted, str | bytes | Mapping)
        labels = list(wanted) if several else [wanted]
        if not labels:
            raise ParameterError("query", f"must name at least one category of {name!r}", wanted, "or leave it out")
        mask = np.zeros(len(codes), dtype=np.bool_)
        for label in labels:
            label = label.item() if isinstance(label, np.generic) else label
            code = codes.get(label) if isinstance(label, int | str) and not isinstance(label, bool) else None
            if code is None:
                raise ParameterError("query", f"must name categories of {name!r}: {_near(label, codes)}", label)
            mask[code] = True
        return mask

    def _weights(self, query: Any) -> Integers:
        rule = f"must map columns to categories, or be an array of {self.size} weights from 0 to 1, one for each cell"
        try:
            array = np.asarray(query)
        except ValueError:  # ragged nesting
            array = np.empty(0)
        if array.dtype.kind not in "biuf" or array.shape not in ((self.size,), self.shape):
            raise ParameterError("query", rule, query, 'pass for instance {"country": ["DE", "FR"]}')
        weights = array.reshape(-1).astype(np.float64)
        if not ((weights >= 0) & (weights <= 1)).all():
            raise ParameterError("query", rule, next_step="a count of people weighs none more than one; rescale")
        return np.rint(np.ldexp(weights, WEIGHT_BITS)).astype(np.int64)


def category_labels(name: Any, listed: Any) -> tuple[Label, ...]:
    """The public categories of a column, checked: whole numbers of 64 bits or strings, each of them once."""
    if not isinstance(name, str):
        raise ParameterError("columns", "must have names of columns as keys", name, f"pass {_EXAMPLE}")
    if isinstance(listed, str | bytes | Mapping) or not isinstance(listed, Collection | np.ndarray) or not len(listed):
        raise ParameterError("columns", f"must list the categories of {name!r}", listed, f"pass {_EXAMPLE}")
    if isinstance(listed, set | frozenset):
        rule = f"must list the categories of {name!r} in an order, which a set has not"
        raise ParameterError("columns", rule, listed, "pass a list")
    labels = tuple(label.item() if isinstance(label, np.generic) else label for label in listed)
    whole = all(isinstance(label, int) and not isinstance(label, bool) and abs(label) <= MOST_LABEL for label in labels)
    if not whole and not all(isinstance(label, str) for label in labels):
        rule = f"must list whole numbers of 64 bits or strings, and not both, as categories of {name!r}"
        raise ParameterError("columns", rule, listed)
    if len(set(labels)) != len(labels):
        raise ParameterError("columns", f"must list each category of {name!r} once", listed)
    return labels


def _near(wanted: Any, there: Iterable[Any]) -> str:
    near = difflib.get_close_matches(str(wanted), list(map(str, there)), n=3, cutoff=0.5)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else "see what was passed as columns="
