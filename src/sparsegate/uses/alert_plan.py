"""A gate over the counts of all windows, or a noisy count of each: which of the two an alert takes, and its margin.

Let q_t be the number of people in window t. One person moves every q_t by at most 1, all in one direction, and those of
at most w windows (``windows``). **Theorem.** A gate of sensitivity 1 for monotonic queries over q_1, q_2, ... is eps-DP
for *any* w, fires at most c times, and costs L(m,k) after m quiet windows and k that fired. So is q_t + Lap(w/eps),
drawn afresh for every window, which never closes; n windows cost min(n, w) eps/w. On a zCDP ledger a gate needs no
cutoff, and pays for each window that fires (``gates.per_above``). With ``cells`` there is a gate for each of a public
list, at epsilon/m for a person in at most m of them. A small w wants counts and a large one a gate: the margin decides,
which is public. Proofs, and why nothing lies between: docs/explanation/proofs_in_words/uses.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, Literal

from sparsegate.budget import Cost, Number, check_choice, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.gates.calibration import steps_to_confidence
from sparsegate.gates.cells import most_cells, public_cells
from sparsegate.gates.per_above import Price
from sparsegate.gates.preview import Preview
from sparsegate.gates.sparse_vector import gate_calibration
from sparsegate.noise import exact_scale
from sparsegate.uses.windows import TimeWindows

Method = Literal["auto", "gate", "counts"]
METHODS: Final = ("auto", "gate", "counts")
_WAYS: Final[tuple[Literal["gate", "counts"], ...]] = ("gate", "counts")
CONFIDENCE: Final = 0.95
SIGNS: Final = {"above": 1, "below": -1}
_MOST_PLANNED: Final = 50  # the cutoff up to which a plan for few windows takes less than a second
_MANY: Final = 10**9


@dataclass(frozen=True, kw_only=True)
class AlertPlan:
    """A gate or a noisy count of every window, chosen from public numbers; nothing is drawn or charged."""

    method: Literal["gate", "counts"]
    cutoff: int
    epsilon: Fraction
    moved: int | None
    """w: how many counts one person moves at most; None: all of them."""
    most_windows: int | None
    gate_options: dict[str, Any]
    """The ``SparseVector`` that a gate is made with; of each cell, where there are cells."""
    sign: int = 1
    """-1 where small counts fire: then counts and threshold are negated."""
    cells: tuple[Hashable, ...] = ()
    """The public cells; none: one gate for all people."""
    cells_per_user: int = 1
    price: Price | None = None
    """Where each alarm is paid for: then ``cutoff`` is how many are expected, and ``epsilon`` that of the opening."""

    @classmethod
    def of(
        cls,
        threshold: int,
        cutoff: int | None,
        epsilon: Number | None,
        windows: TimeWindows | None = None,
        windows_per_user: int | None = None,
        most_windows: int | None = None,
        fires: Literal["above", "below"] = "above",
        closes: Literal["above", "rarer"] = "above",
        method: Method = "auto",
        cells: Iterable[Hashable] | int | None = None,
        cells_per_user: int | None = None,
        within: Number | None = None,
        expect: int | None = None,
        **_: object,
    ) -> AlertPlan:
        """The plan of an alert with these parameters, among those of ``Alert``, or a refusal of what is wrong."""
        if windows is not None and not isinstance(windows, TimeWindows):
            raise ParameterError("windows", "must be a TimeWindows", windows, 'sg.uses.TimeWindows(width="5m", ...)')
        check_choice(fires, "fires", SIGNS, "leave it out")
        check_choice(method, "method", METHODS, 'pass method="auto"')
        most_windows = windows.count if most_windows is None and windows is not None else most_windows
        if isinstance(threshold, bool) or not isinstance(threshold, int):
            raise ParameterError("threshold", "must be a whole number of people", threshold, "pass for instance 100")
        sign = SIGNS[fires]
        bounds = {"windows_per_user": windows_per_user, "most_windows": most_windows}
        moved = min((exact_count(w, name) for name, w in bounds.items() if w is not None), default=None)
        if cutoff is None:
            counted, two_sided = method if method == "counts" else None, closes if closes != "above" else None
            refused = {"method": counted, "epsilon": epsilon, "closes": two_sided, "cells": cells}
            public: dict[str, Any] = {"threshold": sign * threshold, "within": within, "expect": expect}
            return cls._paying(public, refused, sign=sign, moved=moved, most_windows=most_windows)
        _refuse(
            {"within": within, "expect": expect},
            "with a cutoff, whose margin follows from epsilon",
            "leave out the cutoff, for a zCDP ledger to pay each alarm",
        )
        public = {"cutoff": exact_count(cutoff, "cutoff"), "epsilon": exact_epsilon(epsilon)}
        listed, shared = _cells(cells, cells_per_user, method=method, windows_per_user=windows_per_user)
        options = {"threshold": sign * threshold, **public, "sensitivity": 1, "monotonic": True, "closes": closes}
        options["epsilon"] /= shared
        if most_windows is not None and most_windows < 2 * cutoff <= 2 * _MOST_PLANNED:
            options["queries"] = most_windows
        public |= {"moved": moved, "most_windows": most_windows, "gate_options": options}
        public |= {"sign": sign, "cells": listed, "cells_per_user": shared}
        gate = cls(method="gate", **public)
        # Where it is known how many windows there are, they decide together: a year has room for many false alarms.
        margin = gate.margin(windows=most_windows)
        if listed or method == "gate" or (method == "auto" and (moved is None or closes == "rarer")):
            return gate
        if moved is None:
            rule = "must not be counts where a person may be in any number of windows: no noise is enough"
            raise ParameterError("method", rule, method, "pass windows_per_user= or most_windows=, or use a gate")
        if closes == "rarer":
            raise ParameterError("closes", "must be left out for counts, which never close", closes)
        counts = cls(method="counts", **public)
        return counts if method == "counts" or counts.margin(windows=most_windows) <= margin else gate

    @classmethod
    def _paying(cls, public: dict[str, Any], refused: Mapping[str, Any], **others: Any) -> AlertPlan:
        """A gate that pays for each alarm; what is ``refused`` is for gates with a cutoff."""
        if public["within"] is None:
            rule = "must be given, or within= in its place for an alert that pays for each alarm"
            raise ParameterError("cutoff", rule, next_step="pass for instance cutoff=25 and epsilon=0.5")
        _refuse(refused, "without a cutoff: one gate pays for each alarm by itself", "leave it out, or pass a cutoff")
        options = {**public, "sensitivity": 1, "monotonic": True}
        calibration = gate_calibration(**options)
        assert calibration.price is not None
        price, cutoff = calibration.price, calibration.cutoff
        return cls(method="gate", gate_options=options, cutoff=cutoff, epsilon=price.opening, price=price, **others)

    @property
    def cost(self) -> Cost:
        """Of noisy counts, of which a person moves w, or of the gates of as many cells as a person is in.

        Each has its part of epsilon, and noise of its own. Where each alarm is paid for, of the opening.
        """
        if self.price is not None:
            return Cost(epsilon=self.price.opening, rho=self.price.opening_rho)
        return self._cost_at(self.epsilon)

    def _cost_at(self, epsilon: Fraction) -> Cost:
        return Cost.of(epsilon, parts=(self.moved or 1) if self.method == "counts" else self.cells_per_user)

    def margin(self, confidence: float = CONFIDENCE, *, windows: int | None = None) -> int:
        """How far from the threshold a count must be for a right answer with this probability; or all of several."""
        if self.method == "gate":
            return gate_calibration(**self.gate_options).margin(confidence, answers=windows)
        assert self.moved is not None
        return steps_to_confidence(confidence, None, exact_scale(self.moved / self.epsilon), answers=windows)

    def preview(self) -> Preview:
        """What the alert will be good for: both ways, and the one that it takes."""
        unbounded = self.moved is None or self.price is not None
        margins = {
            name: None if name == "counts" and unbounded else replace(self, method=name).margin() for name in _WAYS
        }
        margin, windows, number = margins[self.method], self.most_windows, len(self.cells)
        margin_all = None if windows is None else self.margin(windows=windows * max(1, number))
        quiet = self.epsilon
        if self.method == "gate" and self.price is None:
            each = gate_calibration(**self.gate_options).spent([(min(windows or _MANY, _MANY), 0)])
            quiet = self.cells_per_user * each
        right = f"right with 95 % for a count {margin:,} or more from the threshold"
        right += "" if margin_all is None else f", for all windows at once {margin_all:,} or more"
        words = {"gate": f"a gate that fires at most {self.cutoff} times", "counts": "a noisy count of every window"}
        settings: dict[str, Any] = {"method": self.method, "cutoff": self.cutoff, "moved": self.moved}
        cost = self.cost
        if (price := self.price) is not None:
            opening, alarm = price.opening_rho, price.above_rho
            words["gate"] = f"a gate that pays rho {float(alarm):.3g} for each alarm, and {float(opening):.3g} to begin"
            settings |= {"cutoff": None, "expect": self.cutoff, "opening_rho": opening, "alarm_rho": alarm}
            # Of the opening, and of as many alarms as are expected.
            cost = Cost(epsilon=price.opening + self.cutoff * price.above, rho=opening + self.cutoff * alarm)
            aside = ""
        elif number:
            aside = f" ({number:,} cells, a person in {self.cells_per_user:,} of them at most)"
            words["gate"] = f"a gate for each cell, that fires at most {self.cutoff} times"
            right = right.replace("all windows", "all windows of all cells")
            settings |= {"cells": number, "cells_per_user": self.cells_per_user}
        else:
            counts = "noisy counts cannot be used: one person is in any number of windows"
            if not unbounded:
                several = "one window" if self.moved == 1 else f"{self.moved} windows"
                counts = f"noisy counts {margins['counts']:,}, for a person in {several} at most"
            aside = f" (gate {margins['gate']:,}; {counts})"
        return Preview(
            release="alert",
            epsilon=self.epsilon,
            confidence=CONFIDENCE,
            accuracy={"margin": margin, "margin_all": margin_all, "quiet_cost": quiet},
            settings=settings,
            statement=f"{words[self.method]}: {right}{aside}",
            alternatives=tuple(
                {"method": name + " *" * (name == self.method), "margin": value}
                for name, value in margins.items()
                if name == "gate" or not (number or price)
            ),
            cost=cost,
            cost_at=self._cost_at if price is None else None,
        )


def _cells(
    cells: Iterable[Hashable] | int | None, cells_per_user: int | None, *, method: str, windows_per_user: int | None
) -> tuple[tuple[Hashable, ...], int]:
    """The public cells, and in how many of them a person counts; none, and 1, where there are no cells."""
    if cells is None:
        if cells_per_user is not None:
            raise ParameterError("cells_per_user", "needs cells", cells_per_user, "pass cells=, the public list")
        return (), 1
    if method == "counts" or windows_per_user is not None:
        name, value = ("method", method) if method == "counts" else ("windows_per_user", windows_per_user)
        rule = "must be left out with cells, each of which has a gate: a person may be in every window"
        raise ParameterError(name, rule, value, "leave it out")
    listed = tuple(public_cells(cells))
    if any(isinstance(cell, bool) or not isinstance(cell, str | int) for cell in listed):
        raise ParameterError("cells", "must be texts or whole numbers, which a ledger can keep", len(listed))
    return listed, most_cells(1 if cells_per_user is None else cells_per_user, len(listed))


def _refuse(parameters: Mapping[str, object], why: str, step: str) -> None:
    for name, value in parameters.items():
        if value is not None:
            raise ParameterError(name, f"must not be given {why}", value, step)
