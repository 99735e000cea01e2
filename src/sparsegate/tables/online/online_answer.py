"""One online answer, and what one can do with it."""

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
class OnlineAnswer(Single):
    """An estimate of how many people a query counts, and where it comes from.

    ``paid``: it is a fresh noisy answer, and used up one of the cutoff. ``checked``: the gate held it against the data;
    False where the checks were used up and the public histogram answered alone. ``margin``: how far from the truth it
    lies at most, with a probability of 0.95 over the noise of this question; None for an unchecked answer. ``note``:
    what to know about everybody it counts, None where there is nothing; it is a function of public numbers.

    >>> import sparsegate as sg
    >>> people = {"country": ["DE"] * 6000 + ["FR"] * 3000}
    >>> asked = {"unit": "row", "epsilon": 1, "tolerance": 500, "cutoff": 10, "population": 9000}
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> online = sg.OnlineAnswers(people, {"country": ["DE", "FR"]}, **asked, **seeded)
    >>> answer = online.ask({"country": "DE"})
    >>> answer.paid, round(answer.estimate, 1), round(answer.margin, 1)
    (True, 6016.4, 89.9)
    >>> again = online.ask({"country": "DE"})  # answered from what is known by now
    >>> again.paid, again.checked
    (False, True)
    """

    estimate: float
    """About how many people the query counts."""
    paid: bool
    checked: bool
    margin: float | None
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON takes it, by the schema "sparsegate/online/1": see docs/reference/json.md."""
        return {"schema": "sparsegate/online/1", **{name: plain(self[name]) for name in self.keys()}}

    def sheet(self) -> Sheet:
        """One row."""
        columns = {name: [self[name]] for name in self.keys() if name != "note"}
        numbers = frozenset({"estimate", "margin"})
        return Sheet(title="online answer", brief=self.note or "", columns=columns, numbers=numbers)

    def plot(self) -> Figure:
        """The estimate, with its margin where it has one."""
        said = f"{'paid' if self.paid else 'free'}, {'checked' if self.checked else 'not checked'}"
        caption = "people" + ("" if self.margin is None else "; the bar holds with 95 % probability")
        return bar_chart(
            ["estimate"],
            [self.estimate],
            error_bar=self.margin,
            error_bar_all=None,
            title=("online answer", said),
            caption=caption,
        )
