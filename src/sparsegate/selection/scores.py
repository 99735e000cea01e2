"""Scores as groups: a mechanism sees only scores, and items with equal scores are exchangeable.

A ``Scores`` value is a list of groups (score, how many items have it) plus what names an item of a group once a
mechanism has picked it. Two million items with a thousand distinct counts are a thousand groups. Groups need not have
distinct scores: ``Scores.each`` makes every item a group of its own, which saves the sort.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsegate.errors import ParameterError
from sparsegate.gates.lattice import exact_array, plain_number
from sparsegate.noise import Source, uniform_subset
from sparsegate.noise.own_settings import own_settings

Values: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
ScoresLike: TypeAlias = "Scores | Mapping[Any, int] | Mapping[Any, float] | ArrayLike"

_MIN, _MAX = -(2**63), 2**63 - 1
_LARGEST = 2.0**1022  # no difference of two, and no noise beside it, is beyond all floats
_MOST = 2**62  # items in all, so that every running total fits int64


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Scores:
    """Groups of items with one score each: group g holds ``multiplicities[g]`` items of score ``values[g]``.

    Parameters
    ----------
    values: the score of each group; whole numbers stay int64, everything else is float64.
    multiplicities: how many items each group holds, n_g >= 1; they sum to at most 2**62.
    items: the name of each item, where each is a group of its own, such as the labels of a series; None without names.

    >>> from sparsegate.selection.scores import Scores
    >>> scores = Scores.of([7, 3, 7, 7])
    >>> scores.values.tolist(), scores.multiplicities.tolist(), scores.total
    ([3, 7], [1, 3], 4)
    >>> scores
    Scores(2 groups, 4 items)
    """

    values: Values
    multiplicities: NDArray[np.int64]
    items: tuple[Hashable, ...] | None = None

    @own_settings
    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _numbers(self.values))
        object.__setattr__(self, "multiplicities", _sizes(self.multiplicities, self.values.size))
        if self.items is not None and len(self.items) != self.total:
            raise ParameterError("items", "must have one entry for each item", len(self.items))

    @classmethod
    @own_settings
    def of(cls, scores: ScoresLike) -> Scores:
        """Group an array of scores, or a mapping from items to scores, by equal score; their items have no names."""
        if isinstance(scores, Scores):
            return scores
        values, sizes = np.unique(cls.each(scores).values, return_counts=True)
        return cls(values=cast(Values, values), multiplicities=sizes)

    @classmethod
    @own_settings
    def each(cls, scores: ScoresLike) -> Scores:
        """Take every item of an array or a mapping as a group of its own; a ``Scores`` is returned as it is."""
        if isinstance(scores, Scores):
            return scores
        items = tuple(scores) if isinstance(scores, Mapping) else _index(scores)
        values = _numbers(list(scores.values()) if isinstance(scores, Mapping) else scores)
        # One number repeated by a stride of zero: a million ones cost eight bytes.
        return cls(values=values, multiplicities=np.broadcast_to(np.int64(1), values.shape), items=items)

    @classmethod
    @own_settings
    def histogram(cls, counts: Mapping[int, int] | Mapping[float, int]) -> Scores:
        """Take a mapping from each score to the number of items that have it."""
        sizes: list[object] = list(counts.values())
        if not all(isinstance(size, int | np.integer) and not isinstance(size, bool) for size in sizes):
            raise _bad_multiplicities()
        return cls(values=_numbers(list(counts)), multiplicities=_sizes(sizes, len(sizes)))

    @property
    def total(self) -> int:
        """The number of items, n."""
        return self.values.size if self.single else int(self.multiplicities.sum())

    @property
    def single(self) -> bool:
        """Whether every item is a group of its own, known without a look at the sizes."""
        return self.multiplicities.strides == (0,)

    def draw_members(self, source: Source, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which member of its group each pick is: uniform without replacement, numbered from 0 in each group.

        Groups drawn one after the other, and then these members, are drawn as single items would be.
        Machine-checked: proofs/README.md.
        """
        members = np.zeros(groups.size, dtype=np.int64)
        if self.single:
            return members
        by_group = np.argsort(groups, kind="stable")
        chosen, picked = np.unique(groups, return_counts=True)
        sizes = self.multiplicities[chosen].tolist()
        start = 0
        for size, count in zip(sizes, picked.tolist(), strict=True):
            members[by_group[start : start + count]] = uniform_subset(source, size, count)
            start += count
        return members

    def __repr__(self) -> str:
        return f"Scores({self.values.size} groups, {self.total} items)"  # the scores themselves are private


def _index(scores: object) -> tuple[Hashable, ...] | None:
    """The labels of a series of pandas; None for what has no labels, or only its positions 0, 1, 2, ..."""
    index = getattr(scores, "index", None)
    if index is None or not hasattr(index, "is_unique"):
        return None
    if getattr(index, "start", None) == 0 and index.step == 1:
        return None
    if not index.is_unique:
        raise ParameterError("scores", "must have each label once in its index", next_step="add up what is one item")
    return tuple(index.tolist())


def _numbers(values: object) -> Values:
    """Scores as int64 or float64. Their types decide which, and no value is refused: see ``gates.lattice``.

    Whole numbers beyond int64 are clamped to it, floats beyond 2**1022 to that, and NaN is read as minus infinity;
    where floats are among them, whole numbers beyond 2**53 in size are clamped to that, since numpy would round them
    and move two scores one apart by two. Clamping never moves two scores further apart.
    """
    array = exact_array(values, "scores")  # type: ignore[arg-type]
    if array.size == 0:
        raise ParameterError("scores", "must hold at least one score", next_step="pass the score of every candidate")
    if array.dtype.kind == "O":
        array = _mixed(array.tolist())
    if array.dtype.kind == "f":
        array = np.fmin(np.fmax(array, -_LARGEST), _LARGEST)
    numbers = cast(Values, np.minimum(array, _MAX).astype(np.int64) if array.dtype.kind == "u" else array.view())
    numbers.flags.writeable = False
    return numbers


def _mixed(values: list[object]) -> Values:
    plain = [plain_number(value) for value in values]
    kinds = set(map(type, plain))
    if not kinds <= {int, float}:
        rule = "must be whole numbers or floats"
        raise ParameterError("scores", rule, next_step="convert them with numpy's astype")
    if kinds == {int}:
        return np.array([max(_MIN, min(_MAX, number)) for number in plain], dtype=np.int64)
    exact = (max(-(2**53), min(2**53, number)) if type(number) is int else number for number in plain)
    return np.fromiter(exact, dtype=np.float64, count=len(plain))


def _sizes(sizes: object, groups: int) -> NDArray[np.int64]:
    try:
        array = np.asarray(sizes)
    except (ValueError, OverflowError):
        raise _bad_multiplicities() from None
    if array.shape != (groups,) or array.dtype.kind not in "iu" or int(array.min()) < 1:
        raise _bad_multiplicities()
    if float(array.sum(dtype=np.float64)) > _MOST:
        raise ParameterError("multiplicities", "must sum to at most 2**62", next_step="count fewer candidates")
    numbers = array.astype(np.int64, copy=False).view()
    numbers.flags.writeable = False
    return numbers


def _bad_multiplicities() -> ParameterError:
    hint = "say how many items have each score, and leave out scores nobody has"
    return ParameterError("multiplicities", "must be one whole number of at least 1 for each score", next_step=hint)
