"""What a gate will be good for, from public numbers alone: to be seen before anything is charged.

The margin at other epsilons needs no other plan. Every loss is a sum of rates, that is of 1/scale (``bounds``), so the
noise that is best for f * epsilon is that for epsilon with all scales divided by f. (Not with a delta, where the loss
is no such sum; then there is no curve.) The margin at other cutoffs is that of a gate made for each.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from sparsegate.display.charts import new_figure
from sparsegate.display.plain import amount_text
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Tabular
from sparsegate.errors import ParameterError
from sparsegate.gates.calibration import Calibration
from sparsegate.gates.gate import Estimator
from sparsegate.gates.lattice import exact_number
from sparsegate.gates.variants import Scales
from sparsegate.noise import exact_scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_FACTORS: Final = tuple(Fraction(tenths, 10) for tenths in (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100))
"""Of epsilon: round numbers from a tenth to ten times, about as far from one another as a plot shows."""

_CUTOFF_FACTORS: Final = tuple(Fraction(tenths, 10) for tenths in (1, 2, 5, 10, 20, 50, 100))
"""Of the cutoff. Fewer: each of them is a gate, and may be a plan."""

_DIGITS: Final = 3  # of an epsilon that was asked for by its margin


@dataclass(frozen=True, kw_only=True, repr=False)
class GatePreview(Tabular):
    """How far answers can be trusted, in units of the answer, at this ``cost``, an epsilon, and ``delta``.

    An answer that is ``margin`` from the threshold is on the right side with ``confidence``; with ``margin_all`` as
    many at once as ``answers`` says. ``standard_error`` is that of the estimate of an ABOVE, None where it carries
    none. ``by_epsilon`` and ``by_cutoff`` are the margins of the same gate with another epsilon or cutoff.

    >>> import sparsegate as sg
    >>> seen = sg.SparseVector.preview(threshold=1000, cutoff=25, epsilon=0.5, sensitivity=1, monotonic=True)
    >>> seen.margin, seen.margin_all, seen.cost
    (92, 272, Fraction(1, 2))
    >>> [(float(epsilon), margin) for epsilon, margin in seen.by_epsilon if epsilon >= 1]
    [(1.0, 46), (1.5, 31), (2.5, 19), (3.5, 14), (5.0, 10)]
    """

    threshold: float | None = None
    """The threshold, where one was given."""
    cutoff: int
    """How many ABOVE the gate gives."""
    cost: Fraction
    delta: Fraction = Fraction(0)
    noise: str
    """"exponential" or "laplace"."""
    confidence: float
    margin: float
    margin_all: float
    answers: int
    standard_error: float | None
    _made: Calibration = field(compare=False)
    _at_cutoff: Callable[[int], Calibration] | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls,
        calibration: Calibration,
        *,
        threshold: Any = None,
        confidence: float = 0.95,
        at_cutoff: Callable[[int], Calibration] | None = None,
    ) -> GatePreview:
        """Of all the questions that the gate was planned for; where there is no plan, of as many as its cutoff.

        (Over any number of questions there is no such bound: ask often enough just below the threshold, and one of the
        answers is ABOVE.) ``at_cutoff`` makes the same gate with another cutoff, or refuses to.
        """
        lattice = calibration.lattice
        answers = calibration.cutoff if calibration.queries is None else calibration.queries
        estimator = Estimator.of(calibration.row, calibration.scales)
        return cls(
            threshold=None if threshold is None else lattice.value(lattice.steps(threshold)),
            cutoff=calibration.cutoff,
            cost=calibration.budget.total,
            delta=calibration.budget.delta,
            noise=calibration.row.noise.name.lower(),
            confidence=confidence,
            margin=lattice.value(calibration.margin(confidence)),
            margin_all=lattice.value(calibration.margin(confidence, answers=answers)),
            answers=answers,
            standard_error=None if estimator is None else estimator.standard_error * float(lattice.granularity),
            _made=calibration,
            _at_cutoff=at_cutoff,
        )

    @cached_property
    def by_epsilon(self) -> tuple[tuple[Fraction, float], ...]:
        """(epsilon, margin) of the same gate at a tenth of its epsilon, and up to ten times that; none with a delta.

        Where no lattice carries the noise there is no point.
        """
        found = []
        for factor in () if self.delta else _FACTORS:
            with contextlib.suppress(ParameterError):
                found.append((self.cost * factor, self._margin(_scaled(self._made, factor))))
        return tuple(found)

    @cached_property
    def by_cutoff(self) -> tuple[tuple[int, float], ...]:
        """(cutoff, margin) of gates with a tenth of its cutoff, and up to ten times that; none with a delta.

        A cutoff for which a plan would take long has no point.
        """
        if self.delta or self._at_cutoff is None:
            return ()
        found = []
        for cutoff in sorted({max(1, round(self.cutoff * factor)) for factor in _CUTOFF_FACTORS}):
            with contextlib.suppress(ParameterError):
                made = self._made if cutoff == self.cutoff else self._at_cutoff(cutoff)
                found.append((cutoff, self._margin(made)))
        return tuple(found)

    def _margin(self, made: Calibration) -> float:
        return made.lattice.value(made.margin(self.confidence))

    @property
    def warning(self) -> str:
        """What makes a gate at this threshold of little use, and what to do about it: sentences, or nothing."""
        found, threshold = [], math.inf if self.threshold is None else self.threshold
        if self.margin > threshold:
            found.append(
                f"The margin, {_shown(self.margin)}, is larger than the threshold, {threshold:,.15g}: this gate often "
                "cannot tell a count at the threshold from 0."
            )
        if self.standard_error is not None and self.standard_error > threshold:
            found.append(
                f"The standard error of an estimate, {_shown(self.standard_error)}, is larger than the threshold, "
                f"{threshold:,.15g}: an estimate says little."
            )
        return " ".join([*found, "Take a larger epsilon, a smaller cutoff or a larger threshold."] if found else [])

    @property
    def statement(self) -> str:
        """The preview for a person to read."""
        paid = f"ε = {amount_text(self.cost)}" + (f", δ = {amount_text(self.delta)}" if self.delta else "")
        bar = "the threshold" if self.threshold is None else f"the threshold {self.threshold:,.15g}"
        sure = f"{100 * self.confidence:.6g} %"
        said = (
            f"{paid}, cutoff {self.cutoff:,}: an answer {_shown(self.margin)} or more from {bar} is right with {sure}; "
            f"any {self.answers:,} of them at once, {_shown(self.margin_all)} or more."
        )
        if self.standard_error is not None:
            said += f" An ABOVE carries an estimate with a standard error of {_shown(self.standard_error)}."
        return " ".join(filter(None, [said, self.warning]))

    def to_dict(self) -> dict[str, Any]:
        """The preview as JSON takes it, by the schema "sparsegate/gate-preview/1"."""
        plain = {name: getattr(self, name) for name in ("margin", "margin_all", "answers", "standard_error")}
        return {
            "schema": "sparsegate/gate-preview/1",
            "threshold": self.threshold,
            "cutoff": self.cutoff,
            "epsilon": amount_text(self.cost),
            "delta": amount_text(self.delta),
            "noise": self.noise,
            "confidence": self.confidence,
            **plain,
            "warning": self.warning or None,
            "by_epsilon": [{"epsilon": amount_text(epsilon), "margin": margin} for epsilon, margin in self.by_epsilon],
            "by_cutoff": [{"cutoff": cutoff, "margin": margin} for cutoff, margin in self.by_cutoff],
        }

    def sheet(self) -> Sheet:
        """The margins of this gate with other epsilons, and with other cutoffs."""
        points = [(float(epsilon), self.cutoff, margin) for epsilon, margin in self.by_epsilon]
        points += [(float(self.cost), cutoff, margin) for cutoff, margin in self.by_cutoff]
        columns = ("epsilon", "cutoff", "margin")
        hidden = {"schema", "by_epsilon", "by_cutoff"}
        return Sheet(
            title="What the gate will be good for",
            brief=self.statement,
            columns={name: [point[place] for point in points] for place, name in enumerate(columns)},
            numbers=frozenset(columns),
            about={name.replace("_", " "): said for name, said in self.to_dict().items() if name not in hidden},
        )

    def plot(self) -> Figure:
        """The margin against epsilon, and against the cutoff; the threshold is the dashed line."""
        figure = new_figure(8, 3)
        panels = figure.subplots(1, 2, sharey=True)
        curves: dict[str, Any] = {"epsilon": (self.cost, self.by_epsilon), "cutoff": (self.cutoff, self.by_cutoff)}
        for axes, (name, (chosen, curve)) in zip(panels, curves.items(), strict=True):
            axes.plot([float(x) for x, _ in curve], [margin for _, margin in curve], color="#4c78a8")
            axes.plot(float(chosen), self.margin, "o", color="#222222")
            side = {"xytext": (6, 4), "ha": "left"} if name == "epsilon" else {"xytext": (-6, 4), "ha": "right"}
            point = (float(chosen), self.margin)
            axes.annotate(f"± {_shown(self.margin)}", point, textcoords="offset points", **side)
            if self.threshold is not None and self.threshold > 0:
                axes.axhline(self.threshold, color="#888888", linestyle="--", linewidth=1, label="threshold")
                axes.legend(frameon=False, fontsize=8)
            axes.set(xscale="log", yscale="log", xlabel=f"{name} of the gate")
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_formatter("")
            axes.spines[["top", "right"]].set_visible(False)
        panels[0].yaxis.set_major_formatter("{x:,g}")
        panels[0].set_ylabel(f"margin ±, {100 * self.confidence:.6g} %")
        return figure  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<GatePreview: {self.statement}>"


def least_epsilon(within: object, *, confidence: float, made: Callable[[Fraction], Calibration]) -> Fraction:
    """The least epsilon, of three digits, whose gate has a margin of at most ``within``.

    A margin never grows with epsilon, so doubling and halving find it, on the noise of one plan (see above).
    """
    wanted, one = exact_number(within), made(Fraction(1))
    if wanted is None or wanted < one.lattice.granularity:
        rule = f"must be a number of at least {float(one.lattice.granularity):g}, the least margin of all"
        raise ParameterError("within", rule, within, "pass for instance within=100")
    steps = math.floor(wanted / one.lattice.granularity)
    size = 9 * 10 ** (_DIGITS - 1)  # of a decade

    def at(place: int) -> Fraction:  # ..., 0.998, 0.999, 1, 1.01, ...
        decade, digits = divmod(place, size)
        return Fraction((digits + 10 ** (_DIGITS - 1)) * Fraction(10) ** (decade - _DIGITS + 1))

    def enough(place: int) -> bool:
        try:
            return _scaled(one, at(place)).margin(confidence) <= steps
        except ParameterError:  # no lattice carries as much noise
            if place > 0:
                raise
            return False

    high = step = 1
    while not enough(high):
        high, step = high + step, 2 * step
    low, step = high - 1, 1
    while enough(low):
        high, low, step = low, low - step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    while made(at(high)).margin(confidence) > steps:  # a plan of its own is rounded in its last digits
        high += 1
    return at(high)


def _scaled(made: Calibration, factor: Fraction) -> Calibration:
    """The same gate at this many times its epsilon."""
    return made.with_scales(Scales(*(None if s is None else exact_scale(s / factor) for s in made.scales)))


def _shown(error: float) -> str:
    """With three digits at least, and rounded up from a hundred on: an error is not told smaller than it is."""
    return f"{math.ceil(error):,}" if error >= 100 else f"{error:.3g}"
