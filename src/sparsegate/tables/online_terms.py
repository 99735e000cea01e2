"""The public terms of online answers, checked before the table is touched: how far answers may be off, and how many
of them must be paid for.

Scales are in people: rho has scale b1, the noise nu of a comparison b2, a paid answer b3; T is the tolerance, and kappa
the public shift of the comparison. rho and nu are geometric, at least 0, and such a variable of scale b exceeds t with
probability at most exp(-t/b), as a discrete Laplace one does in absolute value. So with probability 1 - beta all of
the following holds for k questions and c paid answers:

    rho <= b1 ln(3/beta),   every nu <= b2 ln(3k/beta),   every paid answer is off by at most z = b3 ln(3c/beta).

Then an unpaid answer is within T + kappa + b1 ln(3/beta) + 4g of the truth (g: the lattice step, for what is rounded to
it), because nu only ever raises an error; and a positive has an error of at least d = T + kappa - b2 ln(3k/beta) - 4g,
because rho only ever raises the threshold. Let d > z. For a gap y between the estimate and the released answer the
histogram is moved by max(y d/(d+z), y - z): not past the truth, which is at least max(d, y - z) away, and by at least
x = d (d-z)/(d+z). By the progress of the histogram (``tables.online``) there are then at most
n**2 ln(cells + 1) / (2 x**2) positives, and a cutoff above that is never reached.

Such a tolerance is large, because it must serve any data and any questions. For a smaller one, where d <= z, nothing is
proved about the number of positives, and the step takes for d the tolerance, and for z what a paid answer is off by at
most with probability 0.95. Privacy depends on neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from sparsegate.budget import Budget, Number, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.gates.bounds import Setting, check_one_of
from sparsegate.gates.calibration import Calibration, calibrate
from sparsegate.gates.lattice import exact_number
from sparsegate.gates.margin import central_shift
from sparsegate.gates.variants import Scales, Variant

BETA: Final = 0.05
"""The probability with which the bounds above may fail."""

PLANNED: Final = 10_000
"""k: the number of questions that a cutoff is derived for. Privacy has no such limit."""

STEP: Final = Fraction(1, 1024)
"""The lattice that answers, estimates, the tolerance and all noise live on, in people."""

_MOST_CUTOFF: Final = 10**6

Noise = Callable[[int], Scales]
"""From a cutoff to the scales of its gate, in people."""


@dataclass(frozen=True)
class UpdateStep:
    """How far an update goes: ``error`` is d, ``certain`` is z, ``proved`` whether d > z holds as in the theorem."""

    error: float
    certain: float
    proved: bool

    @classmethod
    def of(cls, *, tolerance: float, cutoff: int, scales: Scales) -> UpdateStep:
        """The step for noise of such scales, in people."""
        _, b2, b3 = (float(scale or 0) for scale in scales)
        shift = central_shift(scales, lattice=False)
        error = tolerance + shift - b2 * math.log(3 * PLANNED / BETA) - 4 * float(STEP)
        certain = b3 * math.log(3 * cutoff / BETA)
        if error > certain:
            return cls(error, certain, True)
        return cls(tolerance, b3 * math.log(1 / BETA), False)

    def toward(self, gap: float) -> float:
        """By how much to move for a gap between the estimate and a released answer.

        >>> UpdateStep(300.0, 100.0, True).toward(-400.0), UpdateStep(300.0, 100.0, True).toward(1000.0)
        (-300.0, 900.0)
        """
        return math.copysign(max(abs(gap) * self.error / (self.error + self.certain), abs(gap) - self.certain), gap)

    def updates(self, *, cells: int, population: int) -> float:
        """The most positives there can be, with probability 1 - beta; infinity where nothing is proved."""
        if not self.proved:
            return math.inf
        least = self.error * (self.error - self.certain) / (self.error + self.certain)
        return population**2 * math.log(cells + 1) / (2 * least**2)


def least_cutoff(*, cells: int, population: int, tolerance: float, scales: Noise) -> int:
    """The smallest cutoff that is never reached; a ParameterError that names a feasible tolerance where there is none.

    More positives mean more noise, and more noise means more positives: the smallest fixed point, from below.
    """
    cutoff = _fixed_point(cells=cells, population=population, tolerance=tolerance, scales=scales)
    if cutoff is None:
        low, high = tolerance, max(tolerance, 1.0)
        while _fixed_point(cells=cells, population=population, tolerance=high, scales=scales) is None:
            low, high = high, 2 * high
        while high > 1.01 * low:
            middle = math.sqrt(low * high)
            feasible = _fixed_point(cells=cells, population=population, tolerance=middle, scales=scales) is not None
            low, high = (low, middle) if feasible else (middle, high)
        rule = (
            f"must be given, or else a tolerance of at least {math.ceil(high):,}: below that no cutoff is sure to last"
        )
        raise ParameterError("cutoff", rule, next_step="pass for instance cutoff=50; most data need far fewer updates")
    return cutoff


def _fixed_point(*, cells: int, population: int, tolerance: float, scales: Noise) -> int | None:
    cutoff = 1
    while cutoff <= _MOST_CUTOFF:
        step = UpdateStep.of(tolerance=tolerance, cutoff=cutoff, scales=scales(cutoff))
        most = step.updates(cells=cells, population=population)
        if most < cutoff:
            return cutoff
        if math.isinf(most):
            return None
        cutoff = max(cutoff + 1, math.floor(most) + 1)
    return None


MOST_PEOPLE: Final = 2**39
"""This many at the largest weight of a query fit 64 bits."""

_COUNT_SHARE = Fraction(1, 20)  # of epsilon, where a noisy count of the people is needed
_ANSWER_SHARE = Fraction(1, 3)  # of what is left; the gate has the rest


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What was agreed before a row was read: ``total`` is the epsilon of everything, ``count`` that of a noisy count.

    ``population`` is None where a noisy count takes its place, and ``step`` how far an update of the histogram goes.
    """

    calibration: Calibration
    tolerance: Fraction
    population: int | None
    total: Fraction
    count: Fraction
    step: UpdateStep

    @classmethod
    def of(
        cls,
        row: Variant,
        *,
        cells: int,
        tolerance: Any,
        epsilon: Number | None,
        budget: Budget | None,
        cutoff: int | None,
        population: Any,
        not_private: bool,
    ) -> Terms:
        """Check the parameters of ``OnlineAnswers``; where no cutoff is given, derive it."""
        people = None if population is None else exact_count(population, "population")
        if people is not None and people > MOST_PEOPLE:
            raise ParameterError("population", "must not exceed 2**39", people)
        exact = exact_number(tolerance)
        if exact is None or not 0 < exact <= MOST_PEOPLE:
            rule = "must be a positive number of people, at most 2**39"
            raise ParameterError("tolerance", rule, tolerance, "pass for instance 2 % of the population")
        total, count = _price(epsilon, budget, counted=people is None)

        def shares(cutoff: int) -> Budget:
            left = total - count
            return budget or Budget.allocate(left, cutoff=cutoff, answer_epsilon=left * _ANSWER_SHARE)

        def scales(cutoff: int) -> Scales:
            return row.scales(shares(cutoff), cutoff=cutoff, monotonic=False)

        if cutoff is None and people is None:
            rule = "must be given where population is not: what is sure to last depends on a public population"
            raise ParameterError("cutoff", rule, next_step="pass for instance cutoff=50, or population=")
        if cutoff is None and people is not None:
            cutoff = least_cutoff(cells=cells, population=people, tolerance=float(exact), scales=scales)
        cutoff = exact_count(cutoff, "cutoff")
        setting = Setting(row=row, cutoff=cutoff, budget=shares(cutoff), granularity=STEP)
        calibration = calibrate(setting, threshold=exact, not_private=not_private)
        step = UpdateStep.of(tolerance=float(exact), cutoff=cutoff, scales=scales(cutoff))
        return cls(calibration=calibration, tolerance=exact, population=people, total=total, count=count, step=step)


def _price(epsilon: Number | None, budget: Budget | None, *, counted: bool) -> tuple[Fraction, Fraction]:
    """The epsilon of everything, and that of a noisy count of the people where they are ``counted``."""
    check_one_of(epsilon, budget)
    if budget is None:
        total = exact_epsilon(epsilon)
        return total, total * _COUNT_SHARE if counted else Fraction(0)
    if not isinstance(budget, Budget) or not (budget.threshold_epsilon and budget.answer_epsilon):
        rule = "must be a Budget with a share for the threshold, the queries and the answers each"
        step = "pass sg.Budget(threshold_epsilon=0.1, query_epsilon=0.5, answer_epsilon=0.4)"
        raise ParameterError("budget", rule, budget, step)
    if counted:
        rule = "must be given with a budget, which has no share for a count of the people"
        raise ParameterError("population", rule, next_step="pass epsilon=, or pay for a count with sg.laplace")
    return budget.total, Fraction(0)
