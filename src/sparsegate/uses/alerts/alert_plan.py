"""A gate, or a noisy count for every window? Both are eps-DP; which answers better follows from public numbers.

Let q_t be the number of people in window t. One person moves every q_t by at most 1, all in one direction, and those
of at most w windows (``windows``; w may be unbounded, and is at most N where there are N windows in all).

**Theorem (gate).** A gate of sensitivity 1 for monotonic queries over q_1, q_2, ... is eps-DP for *any* w, fires at
most c times, and a transcript of m quiet windows and k that fired costs L(m,k) <= eps; m quiet ones alone cost eps1.
*Proof.* The alignment of ``mechanisms.bounds`` asks of each q_t to move by at most 1, and nothing about how many of
them move: rho is shifted once for all windows. (Coq has checked that for these gates: exponential_gap_is_free,
laplace_gap_is_free and two_sided_gate_is_private in proofs/.) A gate on -q_t against -T is the same: -q_t is monotonic
as well. []

**Theorem (counts).** q_t + Lap(w/eps), drawn afresh for every window, is eps-DP, never closes, and gives every count;
of it "is that at least T?" is post-processing. n windows cost min(n, w) eps/w. *Proof.* The probability of the whole
sequence is the product over windows; a move of q_t by 1 changes its factor by at most exp(eps/w), no move leaves it as
it is, and at most min(n, w) of them move. (Checked, too: laplace_answers_are_private.) []

**Nothing lies between.** The second coupling, which moves no threshold noise, holds on a gate with Laplace noise, too:
its loss is at most w r, where r = 1/b and b is the scale of nu. (With exponential noise it bounds nothing: a BELOW
that moves up may leave the support.) So a Laplace gate is min(w r, eps1 + c r)-DP. It is eps-DP if w r <= eps, and
then its threshold noise protects nothing and can be left out, which is a noisy count; or if eps1 + c r <= eps, and then
w protects nothing. A mixture has the worst of both.

So a small w wants counts and a large one a gate. The margin decides: how far from T a count must be for a right answer
with 95 %. For counts it is that of noise w/eps, (w/eps) ln 10; for a gate that of rho - nu, with nu of scale c/eps2.
They cross at w = 2, 5, 9, 19, 36, 69 for c = 1, 5, 10, 25, 50, 100: about 0.7 c, at every epsilon below 1.
Where N is known the margins are those of all N windows at once, and where it is less than 2c a gate is planned for N
windows (``mechanisms.plan``).

**One window is not a year.** At the margin one quiet window in twenty fires. For few false alarms put the threshold
``margin_all`` above what is normal: with c = 10 and epsilon = 1 that is 22 for one window and 91 for a day of 288.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

from sparsegate.budget import Number, exact_count, exact_epsilon
from sparsegate.display.plain import exact_text
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Printed
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.margin import steps_to_confidence
from sparsegate.mechanisms.sparse_vector import gate_calibration
from sparsegate.noise import exact_scale

Method = Literal["auto", "gate", "counts"]
METHODS: Final = ("auto", "gate", "counts")
CONFIDENCE: Final = 0.95
_MOST_PLANNED: Final = 50  # the cutoff up to which a plan for few windows takes less than a second
_MANY: Final = 10**9


@dataclass(frozen=True, kw_only=True, repr=False)
class AlertPlan(Printed):
    """Which method an alert uses, and why: public numbers alone.

    ``margin`` is that of the method, ``gate_margin`` and ``counts_margin`` those of both; None: it cannot be used.
    ``margin_all`` is that at which all windows are right at once, with 95 %; None where nobody said how many there are.
    ``quiet_cost`` is what windows cost that never fire, however many.

    >>> import sparsegate as sg
    >>> plan = sg.Alert(threshold=100, cutoff=10, epsilon=0.5, windows_per_user=3).plan
    >>> plan.method, plan.margin, plan.gate_margin
    ('counts', 15, 43)
    >>> print(plan.sentence)
    a noisy count of every window: right with 95 % for a count 15 or more from the threshold (gate 43; noisy ...
    """

    method: Literal["gate", "counts"]
    """What the alert runs."""
    cutoff: int
    """How often it may fire."""
    epsilon: Fraction
    """What all of it may cost."""
    moved: int | None
    """w: how many counts one person moves at most; None: all of them."""
    gate_margin: int
    counts_margin: int | None
    margin_all: int | None
    quiet_cost: Fraction
    gate_options: dict[str, Any]
    """The ``SparseVector`` that a gate is made with."""

    @property
    def margin(self) -> int:
        """How far from the threshold a count must be for a right answer with 95 %."""
        return self.gate_margin if self.counts_margin is None or self.method == "gate" else self.counts_margin

    @property
    def sentence(self) -> str:
        """The choice in words."""
        mine = f"right with 95 % for a count {self.margin:,} or more from the threshold"
        if self.margin_all is not None:
            mine += f", for all windows at once {self.margin_all:,} or more"
        gate, counts = (
            f"gate {self.gate_margin:,}",
            "noisy counts cannot be used: one person is in any number of windows",
        )
        if self.counts_margin is not None:
            windows = "one window" if self.moved == 1 else f"{self.moved} windows"
            counts = f"noisy counts {self.counts_margin:,}, for a person in {windows} at most"
        words = {"gate": f"a gate that fires at most {self.cutoff} times", "counts": "a noisy count of every window"}
        return f"{words[self.method]}: {mine} ({gate}; {counts})"

    def sheet(self) -> Sheet:
        """A row for each of the two methods; the one that runs has a star."""
        margins = {"gate": self.gate_margin, "counts": self.counts_margin}
        columns: dict[str, list[Any]] = {
            "method": [name + " *" * (name == self.method) for name in margins],
            "margin": list(margins.values()),
        }
        title = f"alert by {self.method}, ε = {exact_text(self.epsilon)}"
        return Sheet(title=title, brief=self.sentence, columns=columns, numbers=frozenset({"margin"}))

    def cost(self, *, asked: int) -> Fraction:
        """What this many windows cost with noisy counts."""
        assert self.moved is not None
        return min(asked, self.moved) * self.epsilon / self.moved


def plan_alert(
    *,
    threshold: int,
    cutoff: int,
    epsilon: Number,
    windows_per_user: int | None = None,
    most_windows: int | None = None,
    closes: Literal["above", "rarer"] = "above",
    method: Method = "auto",
) -> AlertPlan:
    """Choose between a gate and noisy counts from public numbers; nothing is drawn or charged.

    >>> plan_alert(threshold=100, cutoff=10, epsilon=0.5).sentence
    'a gate that fires at most 10 times: right with 95 % for a count 43 or more from the threshold (gate 43; noisy ...
    >>> [plan_alert(threshold=100, cutoff=10, epsilon=0.5, windows_per_user=w).method for w in (9, 10)]
    ['counts', 'gate']
    """
    if isinstance(threshold, bool) or not isinstance(threshold, int):
        raise ParameterError("threshold", "must be a whole number of people", threshold, "pass for instance 100")
    if method not in METHODS:
        raise ParameterError("method", f"must be one of {', '.join(METHODS)}", method, 'pass method="auto"')
    cutoff, total = exact_count(cutoff, "cutoff"), exact_epsilon(epsilon)
    given = {"windows_per_user": windows_per_user, "most_windows": most_windows}
    bounds = [exact_count(value, name) for name, value in given.items() if value is not None]
    moved = min(bounds, default=None)
    options: dict[str, Any] = {
        "threshold": threshold,
        "cutoff": cutoff,
        "epsilon": total,
        "sensitivity": 1,
        "monotonic": True,
        "closes": closes,
    }
    if most_windows is not None and most_windows < 2 * cutoff <= 2 * _MOST_PLANNED:
        options["queries"] = most_windows
    calibration = gate_calibration(**options)

    def of_counts(answers: int | None) -> int | None:
        scale = None if moved is None else exact_scale(moved / total)
        return None if scale is None else steps_to_confidence(CONFIDENCE, None, scale, answers=answers)

    gate_margin, counts_margin = calibration.margin(CONFIDENCE), of_counts(None)
    # Where it is known how many windows there are, they decide together: a year has room for many false alarms.
    margins: dict[str, Any] = {
        "gate": calibration.margin(CONFIDENCE, answers=most_windows),
        "counts": of_counts(most_windows),
    }
    if method == "counts" and counts_margin is None:
        rule = "must not be counts where a person may be in any number of windows: no noise is enough"
        raise ParameterError("method", rule, method, "pass windows_per_user= or most_windows=, or use a gate")
    if method == "counts" and closes == "rarer":
        raise ParameterError("closes", "must be left out for counts, which never close", closes)
    if method == "auto":
        better = margins["counts"] is not None and margins["counts"] <= margins["gate"] and closes == "above"
        method = "counts" if better else "gate"
    quiet = total
    if method == "gate":
        quiet = calibration.spent([(min(most_windows or _MANY, _MANY), 0)])
    return AlertPlan(
        method=method,
        cutoff=cutoff,
        epsilon=total,
        moved=moved,
        gate_margin=gate_margin,
        counts_margin=counts_margin,
        margin_all=None if most_windows is None else margins[method],
        quiet_cost=quiet,
        gate_options=options,
    )
