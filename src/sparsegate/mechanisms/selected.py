"""What a private selection gives, and what one can do with it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Budget
from sparsegate.display.bar_chart import bar_chart
from sparsegate.display.chosen import ChosenTable, published_items
from sparsegate.display.plain import amount_text, plain_label
from sparsegate.display.sheet import Sheet
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.accounting import Accountant, selection_event
from sparsegate.mechanisms.selection_methods import METHODS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Selection(ChosenTable):
    """What was selected. This, and nothing else of the run, may be released.

    ``indices`` are positions in the array that was given; ``items`` the keys of the mapping, or the labels of
    the series. The other is None. They are in the order selected, or sorted where ``method`` selects a set. Methods
    with a threshold may select fewer than asked for. ``delta`` is what was used of the delta given: 0
    unless ``method`` is "gumbel".

    ``estimates`` are the noisy scores of the selected, one for each, where they come free; else None. They are those
    that selected: a high one may be high by its noise. Of the estimates, ``confidence`` is the share expected to lie
    within ``error_bar`` of the true score, however the scores lie, and the probability with which all of them lie
    within ``error_bar_all`` (``mechanisms.noisy_scores``).

    >>> import sparsegate as sg
    >>> pages = {"/home": 9120, "/pay": 4021, "/help": 15, "/jobs": 640}
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> asked = {"count": 2, "sensitivity": 1, "monotonic": True, "touched": 1}  # each visit is of one page
    >>> top = sg.select_top(pages, epsilon=1, **asked, **seeded)
    >>> top.items, top.estimates.tolist(), top.error_bar, top.method
    (('/home', '/pay'), [9120, 4021], 3, 'noisy-scores')
    >>> for item, estimate in top:
    ...     print(item, estimate)
    /home 9120
    /pay 4021
    """

    method: str
    budget: Budget
    """What it cost."""
    delta: Fraction = Fraction(0)
    indices: NDArray[np.int64] | None = None
    items: tuple[Hashable, ...] | None = None
    estimates: NDArray[np.int64] | NDArray[np.float64] | None = None
    error_bar: int | float | None = None
    error_bar_all: int | float | None = None
    confidence: float = CONFIDENCE

    def _labels(self) -> Sequence[Any]:
        return (() if self.indices is None else self.indices.tolist()) if self.items is None else self.items

    @property
    def _kind(self) -> str:
        return "item" if self.indices is None else "index"

    def to_dict(self) -> dict[str, Any]:
        """The selection as JSON takes it, by the schema "sparsegate/selection/1": see docs/reference/json.md."""
        ordered = METHODS[self.method].ordered
        return {
            "schema": "sparsegate/selection/1",
            "method": self.method,
            "epsilon": amount_text(self.budget.total),
            "delta": amount_text(self.delta),
            "ordered": ordered,
            "labels": self._kind,
            "items": published_items(self, ranked=ordered),
            "error_bar": self.error_bar,
            "error_bar_all": self.error_bar_all,
            "confidence": self.confidence,
        }

    def sheet(self) -> Sheet:
        """The selection as a table."""
        found, estimated = self.to_dict(), self.estimates is not None
        columns: dict[str, list[Any]] = {"rank": list(range(1, len(self) + 1))} if found["ordered"] else {}
        columns[self._kind] = list(self._labels())
        if self.estimates is not None:
            columns["estimate"] = self.estimates.tolist()
        hidden = {"schema", "items", "labels", "ordered"}
        hidden |= set() if estimated else {"error_bar", "error_bar_all", "confidence"}
        return Sheet(
            title=f"top {len(self)}, ε = {found['epsilon']}",
            columns=columns,
            numbers=frozenset({"rank", "estimate"} & set(columns)),
            bars="estimate" if estimated else None,
            precision=self.error_bar,
            about={name.replace("_", " "): said for name, said in found.items() if name not in hidden},
        )

    def plot(self) -> Figure:
        """One bar for each item, with the error bars of each and of all, where estimates came with the selection."""
        if self.estimates is None:
            step = "method='noisy-scores' with touched= gives them"
            raise ParameterError("plot", "needs estimates to draw", next_step=step)
        return bar_chart(
            [str(plain_label(label)) for label in self._labels()],
            self.estimates.tolist(),
            error_bar=self.error_bar,
            error_bar_all=self.error_bar_all,
            title=("selection", f"top {len(self)}, ε = {amount_text(self.budget.total)}"),
            caption=f"noisy score; bars hold for all at once (thin) and for each (thick), {100 * self.confidence:g} %",
        )

    def dp_event(self, accountant: Accountant = "rdp") -> Any:
        """This selection as an event of Google's ``dp_accounting``, for its accountant "rdp" or "pld"."""
        spent = {"epsilon": self.budget.total, "delta": self.delta, "count": len(self)}
        return selection_event(self.method, **spent, accountant=accountant)  # type: ignore[arg-type]
