"""True scores from the highest down, and how wrong a selection from them is: the paper's two rates and two more.

Items with equal scores are exchangeable, so a rung is a distinct score and the number of items that have it. With S the
selected items and Top_c the c highest, c at most the number of items,

    FNR       = |Top_c \\ S| / c                                   false negative rate
    FPR       = |S \\ Top_c| / |S|                                 false positive rate; 0 if S is empty
    SER       = 1 - mean score of S / mean score of Top_c         score error rate; 1 if S is empty
    total SER = 1 - total score of S / total score of Top_c

*Ties.* Where several items share the c-th score, several sets are a true top c. The one that agrees best with S
counts: an item tied with the c-th score is correct, up to the number of places there are for such items. So FNR =
FPR whenever c items are selected.

*Short answers.* A mean does not punish them: fewer than c items, all high, have a negative SER. The total does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import exact_count
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Printed
from sparsegate.errors import ParameterError
from sparsegate.selection.scores import Scores, ScoresLike

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Rankable: TypeAlias = "Ladder | ScoresLike"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Ladder:
    """Rung g holds ``sizes[g]`` items of score ``values[g]``; scores fall strictly; ``starts[g]`` items stand above it.

    >>> import sparsegate as sg
    >>> sg.paper.Ladder.of([7, 3, 7, 7]).values.tolist()
    [7.0, 3.0]
    """

    values: Floats
    sizes: Integers
    starts: Integers

    @classmethod
    def of(cls, scores: Rankable) -> Ladder:
        """Rank an array, a mapping, a ``Scores``, or a ladder, which is returned as it is."""
        if isinstance(scores, Ladder):
            return scores
        grouped = Scores.each(scores)
        values, rung = np.unique(grouped.values.astype(np.float64), return_inverse=True)
        sizes = np.zeros(values.size, dtype=np.int64)
        np.add.at(sizes, rung, grouped.multiplicities)
        sizes = sizes[::-1].copy()
        return cls(values=values[::-1].copy(), sizes=sizes, starts=np.cumsum(sizes) - sizes)

    @property
    def total(self) -> int:
        """The number of items, n."""
        return int(self.starts[-1] + self.sizes[-1])

    def rungs(self, items: Integers) -> Integers:
        """The rung of each item, where items are numbered from 0 at the top."""
        rungs: Integers = np.searchsorted(self.starts, items, side="right") - 1
        return rungs

    def rungs_of(self, scores: Floats) -> Integers:
        """The rung of each score; all must be there."""
        rungs: Integers = self.values.size - 1 - np.searchsorted(self.values[::-1], scores)
        return rungs

    def score(self, rank: int) -> float:
        """The rank-th highest score; rank 1 is the highest."""
        return float(self.values[np.searchsorted(self.starts, rank - 1, side="right") - 1])

    def highest(self, count: int) -> Floats:
        """The ``count`` highest scores, falling."""
        return np.repeat(self.values, np.minimum(self.sizes, np.maximum(count - self.starts, 0)))

    def check_count(self, count: object) -> int:
        """Read c; the oracle threshold needs the (c+1)-th score, so c must be less than the number of items."""
        wanted = exact_count(count, "count")
        if wanted >= self.total:
            raise ParameterError(
                "count", f"must be less than the number of items, {self.total}", wanted, "select fewer"
            )
        return wanted

    def oracle_threshold(self, count: int) -> float:
        """T = the mean of the c-th and the (c+1)-th highest true score: an oracle, so whatever uses it is not private.

        >>> import sparsegate as sg
        >>> sg.paper.Ladder.of([10, 8, 5, 1]).oracle_threshold(2)
        6.5
        """
        count = self.check_count(count)
        return (self.score(count) + self.score(count + 1)) / 2

    def __repr__(self) -> str:
        return f"Ladder({self.values.size} rungs, {self.total} items)"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Errors(Printed):
    """One number for each run: the rates of ``paper.ranked``, and |S|.

    >>> from sparsegate import paper
    >>> scores = [90, 80, 30, 20, 10]
    >>> chosen = paper.simulate("em", scores, count=2, epsilon=0.1, runs=100, rng=1)
    >>> errors = paper.measure(scores, chosen, count=2)
    >>> errors.fnr.size, round(errors.summary()["fnr_mean"], 3)
    (100, 0.07)
    """

    ser: Floats
    """The score error rate."""
    fnr: Floats
    """The false negative rate."""
    selected: Floats
    """How many were selected."""
    total_ser: Floats
    """The error rate of the total score."""
    fpr: Floats
    """The false positive rate."""

    @classmethod
    def joined(cls, parts: Sequence[Errors]) -> Errors:
        """The runs of all parts, in their order."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    def summary(self) -> dict[str, float]:
        """Mean and standard deviation (of a sample; NaN for a single run) of everything: ser_mean, ser_std, ..."""
        summary = {}
        for field in fields(self):
            rates: Floats = getattr(self, field.name)
            summary[f"{field.name}_mean"] = float(rates.mean())
            summary[f"{field.name}_std"] = float(rates.std(ddof=1)) if rates.size > 1 else float("nan")
        return summary

    def sheet(self) -> Sheet:
        """A row for each rate: its mean, and its standard deviation over the runs."""
        summary, names = self.summary(), [field.name for field in fields(self)]
        columns: dict[str, list[Any]] = {
            "rate": names,
            **{what: [summary[f"{name}_{what}"] for name in names] for what in ("mean", "std")},
        }
        return Sheet(title=f"errors of {self.ser.size:,} runs", columns=columns, numbers=frozenset({"mean", "std"}))


def measure(scores: Rankable, rungs: Integers, *, count: int) -> Errors:
    """The errors of selections of ``count`` items, given as ``simulate`` returns them.

    ``scores`` are those that were selected from. ``rungs`` has a row for each run, and in it the place of each selected
    score among the distinct ones, the highest first; -1 where fewer were selected.

    >>> import numpy as np, sparsegate as sg
    >>> errors = sg.paper.measure([9, 5, 5, 1], np.array([[0, 1], [1, 2], [2, -1]]), count=2)
    >>> errors.fnr.tolist(), errors.fpr.tolist(), errors.selected.tolist()
    ([0.0, 0.5, 1.0], [0.0, 0.5, 1.0], [2.0, 2.0, 1.0])
    """
    ladder = Ladder.of(scores)
    taken = rungs >= 0
    selected = taken.sum(axis=1).astype(np.float64)
    total = np.where(taken, ladder.values[rungs], 0.0).sum(axis=1)
    last = int(np.searchsorted(ladder.starts, count, side="left")) - 1  # the rung of the c-th score
    above = (taken & (rungs < last)).sum(axis=1)
    tied = np.minimum((rungs == last).sum(axis=1), count - int(ladder.starts[last]))
    correct = above + tied
    best = float(ladder.highest(count).sum())
    if best <= 0:
        raise ParameterError("scores", f"must have {count} highest that sum to more than 0: SER is a share of that")
    some = np.maximum(selected, 1)
    return Errors(
        ser=1 - total / some * (count / best),
        fnr=(count - correct) / count,
        selected=selected,
        total_ser=1 - total / best,
        fpr=(selected - correct) / some,
    )
