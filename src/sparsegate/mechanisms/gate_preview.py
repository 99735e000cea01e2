"""What a gate will be good for, from public numbers alone: to be seen before anything is charged.

The margin at other epsilons needs no other plan. Every loss is a sum of rates, that is of 1/scale (``bounds``), so the
noise that is best for f * epsilon is that for epsilon with all scales divided by f. (Not with a delta, where the loss
is no such sum; then there is no curve.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from sparsegate.errors import ParameterError
from sparsegate.mechanisms.calibration import Calibration
from sparsegate.mechanisms.gap import Estimator
from sparsegate.mechanisms.row import Scales
from sparsegate.noise import exact_scale

_FACTORS: Final = tuple(Fraction(tenths, 10) for tenths in (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100))
"""Of epsilon: round numbers from a tenth to ten times, about as far from one another as a plot shows."""


@dataclass(frozen=True, kw_only=True)
class GatePreview:
    """How far answers can be trusted, in units of the answer.

    An answer that is ``margin`` from the threshold is on the right side with ``confidence``; with ``margin_all`` as
    many at once as ``answers`` says. ``standard_error`` is that of the estimate of an ABOVE, None where it carries
    none.
    """

    confidence: float
    margin: float
    margin_all: float
    answers: int
    standard_error: float | None

    @classmethod
    def of(cls, calibration: Calibration, *, confidence: float = 0.95) -> GatePreview:
        """Of all the questions that the gate was planned for; where there is no plan, of as many as its cutoff.

        (Over any number of questions there is no such bound: ask often enough just below the threshold, and one of the
        answers is ABOVE.)
        """
        lattice = calibration.lattice
        answers = calibration.cutoff if calibration.queries is None else calibration.queries
        estimator = Estimator.of(calibration.row, calibration.scales)
        return cls(
            confidence=confidence,
            margin=lattice.value(calibration.margin(confidence)),
            margin_all=lattice.value(calibration.margin(confidence, answers=answers)),
            answers=answers,
            standard_error=None if estimator is None else estimator.standard_error * float(lattice.granularity),
        )

    def warning(self, threshold: float) -> str:
        """What makes a gate at this threshold of little use, and what to do about it: sentences, or nothing."""
        found = []
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


def _shown(error: float) -> str:
    """With three digits at least, and rounded up from a hundred on: an error is not told smaller than it is."""
    return f"{math.ceil(error):,}" if error >= 100 else f"{error:.3g}"


def margin_curve(calibration: Calibration, *, confidence: float = 0.95) -> list[tuple[Fraction, float]]:
    """(epsilon, margin) of the same gate at a tenth of its epsilon, and up to ten times that.

    Where no lattice carries the noise there is no point.
    """
    found = []
    for factor in () if calibration.budget.delta else _FACTORS:
        try:
            scales = Scales(*(None if scale is None else exact_scale(scale / factor) for scale in calibration.scales))
        except ParameterError:
            continue
        margin = calibration.with_scales(scales).margin(confidence)
        found.append((calibration.budget.total * factor, calibration.lattice.value(margin)))
    return found
