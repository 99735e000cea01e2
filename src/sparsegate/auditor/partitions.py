"""Ways to cut the space of outcomes into numbered cells; an event is a set of cells.

- *Atoms*: a cell for each outcome that was seen more than once, and one for all others.
- *Bins*: a cell for each value of the discrete part, cut further along the numeric columns.
- *Slices*, in a file of their own: a classifier learns to tell the samples apart, and its score is cut into cells.

A partition is learned from training samples and then fixed: ``cells`` is a function of the outcome alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from sparsegate.auditor.encoding import BITS, UNKNOWN, Integers, Reals, Sample, Shape, outcome_text

Cells = NDArray[np.intp]
Keys = NDArray[np.uint64]
_DENSE: Final = 1 << 16
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_MOST_ATOMS: Final = 1 << 13
_FREQUENT: Final = 1 / 500
_MOST_GROUPS: Final = 256
_FEW_VALUES: Final = 12
_RUNS_A_CELL: Final = 100
_CUTS: Final = 63


def keys(word: Integers, columns: Reals) -> Keys:
    """One key for each outcome, equal for equal outcomes; two different ones share a key once in 10^19.

    A collision merges two outcomes into one: it can hide an event, but cannot make a bound wrong. Without columns the
    key is the word.
    """
    key = word.astype(np.uint64)
    for column in columns.T:
        # -0.0 is 0.0, and there is one NaN.
        bits = np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)
        # Small whole numbers have all their bits at the top, where a product would lose them.
        key = (key ^ (key >> np.uint64(29)) ^ bits ^ (bits >> np.uint64(32))) * _ODD
    return key


class Lookup:
    """The place of a key in a sorted list, or the length of the list for a key that is not in it."""

    def __init__(self, known: Keys) -> None:
        self.known = known
        self._dense: Cells | None = None
        if known.size and int(known[-1] - known[0]) < _DENSE:
            # Bits of one shape: a table with a place for each is quicker than a search.
            self._dense = np.full(_DENSE + 1, known.size, dtype=np.intp)
            self._dense[(known - known[0]).astype(np.intp)] = np.arange(known.size)

    def __call__(self, wanted: Keys) -> Cells:
        """The places of the keys."""
        if not self.known.size:
            return np.zeros(wanted.size, dtype=np.intp)
        if self._dense is not None:
            # What is smaller than the first wraps around, to beyond the table.
            place: Cells = self._dense[np.minimum(wanted - self.known[0], np.uint64(_DENSE)).astype(np.intp)]
            return place
        place = np.minimum(np.searchsorted(self.known, wanted), self.known.size - 1)
        return np.where(self.known[place] == wanted, place, self.known.size)


class Partition(Protocol):
    """Numbers the cell of each outcome, from 0 to ``size`` - 1."""

    @property
    def size(self) -> int: ...

    def cells(self, sample: Sample) -> Cells: ...

    def words(self, chosen: list[int], shapes: list[Shape]) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Atoms:
    """A cell for each frequent outcome, the last one for all the rest."""

    width: int
    lookup: Lookup
    examples: Sample
    distinct: int

    @property
    def complete(self) -> bool:
        """Whether all distinct outcomes could be listed, were there runs enough."""
        return self.distinct <= _MOST_ATOMS

    @staticmethod
    def learned(sample: Sample) -> Atoms:
        """The outcomes that came up more than once; of those with numbers only the frequent ones: bins do the rest."""
        found, first, count = np.unique(keys(sample.word, sample.columns), return_index=True, return_counts=True)
        keep = np.flatnonzero(count > max(1, len(sample) * _FREQUENT if sample.columns.shape[1] else 1))
        if keep.size > _MOST_ATOMS:
            keep = np.sort(keep[np.argsort(-count[keep], kind="stable")[:_MOST_ATOMS]])
        examples = Sample(word=sample.word[first[keep]], columns=sample.columns[first[keep]])
        width = sample.columns.shape[1]
        return Atoms(width=width, lookup=Lookup(found[keep]), examples=examples, distinct=found.size)

    @property
    def size(self) -> int:
        """Atoms, and the rest."""
        return self.lookup.known.size + 1

    def cells(self, sample: Sample) -> Cells:
        """The place among the atoms."""
        return self.lookup(keys(sample.word, sample.wide(self.width)))

    def words(self, chosen: list[int], shapes: list[Shape]) -> str:
        """The atoms themselves, three of them at most."""
        atoms = [cell for cell in chosen if cell < self.size - 1]
        texts = [_outcome(int(self.examples.word[a]), self.examples.columns[a], shapes) for a in atoms]
        return _either(texts, "outcomes", rest=self.size - 1 in chosen)


@dataclass(frozen=True, kw_only=True)
class Group:
    """Outcomes that agree in their discrete part; ``cuts`` slice some numeric columns, cells count from ``first``."""

    word: int
    columns: Reals
    cuts: tuple[tuple[int, Reals], ...]
    first: int

    @property
    def size(self) -> int:
        """Cells of this group."""
        return int(np.prod([cut.size + 1 for _, cut in self.cuts], dtype=np.int64))


@dataclass(frozen=True, kw_only=True)
class Bins:
    """Groups by the discrete part, each cut along its numeric columns; the last cell is for all the rest.

    ``blunt`` says that some group varies in several numbers at once, where a grid is coarse and a score may do better.
    """

    width: int
    discrete: NDArray[np.intp]
    lookup: Lookup
    groups: tuple[Group, ...]
    blunt: bool

    @staticmethod
    def learned(sample: Sample) -> Bins | None:
        """None where no column is numeric: then the atoms say it all."""
        columns = sample.columns
        few = np.array([np.unique(column[:4096]).size <= _FEW_VALUES for column in columns.T], dtype=np.bool_)
        if few.all():
            return None
        discrete = np.flatnonzero(few)
        found, inverse, count = np.unique(
            _discrete_keys(sample.word, columns, discrete), return_inverse=True, return_counts=True
        )
        keep = np.sort(np.argsort(-count, kind="stable")[:_MOST_GROUPS])
        groups: list[Group] = []
        first, blunt = 0, False
        for number in keep:
            rows = np.flatnonzero(inverse == number)
            varying = [int(c) for c in np.flatnonzero(~few) if np.unique(columns[rows[:256], c]).size > 1]
            cells = int(min(max(rows.size / _RUNS_A_CELL, 4), _CUTS + 1))
            group = Group(
                word=int(sample.word[rows[0]]),
                columns=columns[rows[0]],
                first=first,
                cuts=_cuts(columns[rows], varying, cells),
            )
            groups.append(group)
            first, blunt = first + group.size, blunt or len(varying) > 1
        return Bins(
            width=columns.shape[1], discrete=discrete, lookup=Lookup(found[keep]), groups=tuple(groups), blunt=blunt
        )

    @property
    def size(self) -> int:
        """The cells of all groups, and the rest."""
        return self.groups[-1].first + self.groups[-1].size + 1

    def cells(self, sample: Sample) -> Cells:
        """The group by lookup, the cell inside it by its cuts."""
        columns = sample.wide(self.width)
        place = self.lookup(_discrete_keys(sample.word, columns, self.discrete))
        result = np.full(len(sample), self.size - 1, dtype=np.intp)
        for number, group in enumerate(self.groups):
            rows = np.flatnonzero(place == number)
            inside = np.zeros(rows.size, dtype=np.intp)
            for column, cut in group.cuts:
                inside = inside * (cut.size + 1) + np.searchsorted(cut, columns[rows, column])
            result[rows] = group.first + inside
        return result

    def words(self, chosen: list[int], shapes: list[Shape]) -> str:
        """The groups, and the ranges of their numbers."""
        texts: list[str] = []
        for group in self.groups:
            inside = [cell - group.first for cell in chosen if group.first <= cell < group.first + group.size]
            if inside:
                outcome = _outcome(group.word, group.columns, shapes, {column for column, _ in group.cuts})
                texts.append(f"{outcome} with {_ranges(group, inside)}" if group.cuts else outcome)
        return _either(texts, "kinds", rest=self.size - 1 in chosen)


def _discrete_keys(word: Integers, columns: Reals, discrete: NDArray[np.intp]) -> NDArray[np.uint64]:
    return keys(word, columns[:, discrete])


def _cuts(columns: Reals, varying: list[int], cells: int) -> tuple[tuple[int, Reals], ...]:
    """Quantiles of the columns that vary in this group: a fine cut of one, a coarse grid of two or three."""
    if not 1 <= len(varying) <= 3:
        return ()
    each = max(2, round(cells ** (1 / len(varying))))
    found = []
    for column in varying:
        values = columns[:, column]
        values = values[np.isfinite(values)]
        if values.size:
            # A cut at an observed value: it belongs to the cell below, so a value of large mass ends a cell.
            found.append((column, np.unique(np.quantile(values, np.arange(1, each) / each, method="lower"))))
    return tuple(found)


def _outcome(word: int, columns: Reals, shapes: list[Shape], blank: set[int] | frozenset[int] = frozenset()) -> str:
    return "anything unknown" if word == UNKNOWN else outcome_text(shapes[word >> BITS], word, columns, blank)


def _either(texts: list[str], kind: str, *, rest: bool) -> str:
    said = texts if len(texts) <= 3 else [*texts[:2], f"one of {len(texts) - 2} other {kind}"]
    return " or ".join([*said, *(["an outcome too rare to be listed"] if rest else [])])


def _ranges(group: Group, inside: list[int]) -> str:
    if len(group.cuts) > 1:
        return f"its numbers x in {len(inside)} of {group.size} boxes"
    edges = np.concatenate([[-np.inf], group.cuts[0][1], [np.inf]])
    runs: list[list[float]] = []
    for cell in sorted(inside):
        if runs and runs[-1][1] == edges[cell]:
            runs[-1][1] = float(edges[cell + 1])
        else:
            runs.append([float(edges[cell]), float(edges[cell + 1])])
    texts = [range_of(low, high) for low, high in runs]
    return " or ".join(texts) if len(texts) <= 3 else f"x in one of {len(texts)} ranges"


def range_of(low: float, high: float) -> str:
    """The range (low, high] in words.

    >>> range_of(1.5, 2.0), range_of(float("-inf"), 2.0)
    ('1.5 < x <= 2', 'x <= 2')
    """
    if np.isfinite(low) and np.isfinite(high):
        return f"{low:.6g} < x <= {high:.6g}"
    if np.isfinite(high):
        return f"x <= {high:.6g}"
    return f"x > {low:.6g}" if np.isfinite(low) else "any x"
