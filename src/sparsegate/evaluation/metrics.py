"""How wrong a selection is: the paper's two rates and two more, for every run at once.

With S the selected items and Top_c the c highest, c at most the number of items,

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

from dataclasses import dataclass, fields

import numpy as np

from sparsegate.evaluation.ranked import Floats, Integers, Ladder, Rankable


@dataclass(frozen=True, kw_only=True, eq=False)
class Errors:
    """One number for each run: the rates above, and |S|."""

    ser: Floats
    fnr: Floats
    selected: Floats
    total_ser: Floats
    fpr: Floats

    def summary(self) -> dict[str, float]:
        """Mean and standard deviation (of a sample; NaN for a single run) of everything: ser_mean, ser_std, ..."""
        found = {}
        for field in fields(self):
            rates: Floats = getattr(self, field.name)
            found[f"{field.name}_mean"] = float(rates.mean())
            found[f"{field.name}_std"] = float(rates.std(ddof=1)) if rates.size > 1 else float("nan")
        return found


def measure(scores: Rankable, rungs: Integers, *, count: int) -> Errors:
    """The errors of selections of ``count`` items, given as ``simulate`` returns them.

    >>> errors = measure([9, 5, 5, 1], np.array([[0, 1], [1, 2], [2, -1]]), count=2)
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
    some = np.maximum(selected, 1)
    return Errors(
        ser=1 - total / some * (count / best),
        fnr=(count - correct) / count,
        selected=selected,
        total_ser=1 - total / best,
        fpr=(selected - correct) / some,
    )
