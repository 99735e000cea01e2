"""One score of a holdout, and what one can do with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparsegate.display.bar_chart import bar_chart
from sparsegate.display.plain import plain
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Single

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldoutScore(Single):
    """A score, and where it comes from.

    ``paid``: it is a fresh noisy mean of the holdout, and used up one of the paid answers; else it is the training mean
    itself, which the holdout agrees with. ``margin``: how far from the mean of the holdout it lies at most, with a
    probability of 0.95 over the noise of this question. ``remaining``: how many paid answers are left after it.

    >>> import numpy as np, sparsegate as sg
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> holdout = sg.Holdout(size=10_000, threshold=0.04, cutoff=20, epsilon=1, **seeded)
    >>> right = np.arange(10_000) % 10 < 8  # a model that is right on 80 % of the holdout
    >>> score = holdout.score(0.99, right)  # and on 99 % of its training records
    >>> score.paid, round(score.value, 2), round(score.margin, 2), score.remaining
    (True, 0.8, 0.02, 19)
    >>> sorted(score.to_dict())
    ['margin', 'paid', 'remaining', 'schema', 'value']
    """

    value: float
    """The score."""
    paid: bool
    margin: float
    remaining: int

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, Any]:
        """The score as JSON takes it, by the schema "sparsegate/holdout/1": see docs/reference/json.md."""
        return {"schema": "sparsegate/holdout/1", **{name: plain(self[name]) for name in self.keys()}}

    def sheet(self) -> Sheet:
        """One row."""
        columns = {name: [self[name]] for name in self.keys()}
        return Sheet(title="holdout score", brief="", columns=columns, numbers=frozenset(columns) - {"paid"})

    def plot(self) -> Figure:
        """The score with its margin."""
        said = "paid: from the holdout" if self.paid else "free: the training mean, which the holdout agrees with"
        return bar_chart(
            ["score"],
            [self.value],
            error_bar=self.margin,
            error_bar_all=None,
            title=("holdout score", said),
            caption="the bar holds the mean of the holdout with 95 % probability",
        )
