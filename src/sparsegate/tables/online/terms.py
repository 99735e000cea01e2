"""The public terms of online answers: every parameter but the table, checked before the table is touched."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from sparsegate.budget import Budget, Number, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.calibration import Calibration, calibrate
from sparsegate.mechanisms.lattice import exact_number
from sparsegate.mechanisms.setting import check_one_of
from sparsegate.mechanisms.variants import Scales, Variant
from sparsegate.tables.columns import check_unit
from sparsegate.tables.online.accuracy import STEP, UpdateStep, least_cutoff

MOST_PEOPLE: Final = 2**39
"""This many at the largest weight of a query fit 64 bits."""

_COUNT_SHARE = Fraction(1, 20)  # of epsilon, where a noisy count of the people is needed
_ANSWER_SHARE = Fraction(1, 3)  # of what is left; the gate has the rest


class Terms:
    """What was agreed before a row was read: ``total`` is the epsilon of everything, ``count`` that of a noisy count.

    ``population`` is None where a noisy count takes its place.
    """

    def __init__(
        self,
        row: Variant,
        *,
        cells: int,
        user: Any,
        unit: Any,
        tolerance: Any,
        epsilon: Number | None,
        budget: Budget | None,
        cutoff: int | None,
        population: Any,
        not_private: bool,
    ) -> None:
        check_unit(user, unit)
        self._row = row
        self.population = _check_population(population)
        self.tolerance = _check_tolerance(tolerance)
        self._budget = budget
        self.total, self.count = self._check_epsilon(epsilon)
        if cutoff is None:
            cutoff = self._least_cutoff(cells)
        cutoff = exact_count(cutoff, "cutoff")
        self.calibration: Calibration = calibrate(
            row,
            cutoff=cutoff,
            sensitivity=1,
            budget=self._shares(cutoff),
            threshold=self.tolerance,
            granularity=STEP,
            not_private=not_private,
        )

    @property
    def step(self) -> UpdateStep:
        """How far an update of the histogram goes."""
        cutoff = self.calibration.cutoff
        return UpdateStep.of(tolerance=float(self.tolerance), cutoff=cutoff, scales=self._scales(cutoff))

    def _check_epsilon(self, epsilon: Number | None) -> tuple[Fraction, Fraction]:
        budget, counted = self._budget, self.population is None
        check_one_of(epsilon, budget)
        if budget is None:
            total = exact_epsilon(epsilon)
            return total, total * _COUNT_SHARE if counted else Fraction(0)
        if not isinstance(budget, Budget) or not (budget.threshold and budget.answers):
            rule = "must be a Budget with a share for the threshold, the queries and the answers each"
            raise ParameterError("budget", rule, budget, "pass sg.Budget(threshold=0.1, queries=0.5, answers=0.4)")
        if counted:
            rule = "must be given with a budget, which has no share for a count of the people"
            raise ParameterError("population", rule, next_step="pass epsilon=, or pay for a count with sg.laplace")
        return budget.total, Fraction(0)

    def _shares(self, cutoff: int) -> Budget:
        if self._budget is not None:
            return self._budget
        left = self.total - self.count
        return Budget.allocate(left, cutoff=cutoff, answers=left * _ANSWER_SHARE)

    def _scales(self, cutoff: int) -> Scales:
        return self._row.scales(self._shares(cutoff), cutoff=cutoff, monotonic=False)

    def _least_cutoff(self, cells: int) -> int:
        if self.population is None:
            rule = "must be given where population is not: what is sure to last depends on a public population"
            raise ParameterError("cutoff", rule, next_step="pass for instance cutoff=50, or population=")
        return least_cutoff(
            cells=cells, population=self.population, tolerance=float(self.tolerance), scales=self._scales
        )


def _check_population(population: Any) -> int | None:
    if population is None:
        return None
    people = exact_count(population, "population")
    if people > MOST_PEOPLE:
        raise ParameterError("population", "must not exceed 2**39", people)
    return people


def _check_tolerance(tolerance: Any) -> Fraction:
    exact = exact_number(tolerance)
    if exact is None or not 0 < exact <= MOST_PEOPLE:
        rule = "must be a positive number of people, at most 2**39"
        raise ParameterError("tolerance", rule, tolerance, "pass for instance 2 % of the population")
    return exact
