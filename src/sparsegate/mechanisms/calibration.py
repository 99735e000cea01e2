"""A row made ready to run: its lattice and its noise scales in lattice steps, all checked before anything is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Allocation, Budget, Number, exact_count
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.bounds import tight_loss
from sparsegate.mechanisms.lattice import Lattice
from sparsegate.mechanisms.variants import Compared, Scales, Variant, variant
from sparsegate.noise import Secure, Source, exact_scale

Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Everything public about a run. ``scales`` are in lattice steps; None means no noise of that kind."""

    row: Variant
    lattice: Lattice
    cutoff: int
    monotonic: bool
    budget: Budget
    scales: Scales
    queries: int | None = None

    @property
    def positives_allowed(self) -> int | None:
        """The cutoff, or None for a row that never stops."""
        return self.cutoff if self.row.stops else None

    @property
    def epsilon(self) -> float:
        """The tight epsilon of this run; math.inf where the row has none."""
        step = self.lattice.sensitivity
        per_unit = Scales(*(None if scale is None else scale / step for scale in self.scales))
        loss = tight_loss(self.row, per_unit, cutoff=self.cutoff, monotonic=self.monotonic, queries=self.queries)
        return float(loss)


def calibrate(
    row: Variant | str,
    *,
    cutoff: int,
    sensitivity: Number,
    epsilon: Number | None,
    budget: Budget | None,
    monotonic: bool,
    allocation: Allocation | None,
    threshold: object,
    granularity: Number | None,
    not_private: bool,
    scales: Scales | None = None,
    queries: int | None = None,
) -> Calibration:
    """Check every public parameter of a run and fix its lattice and scales.

    ``scales``, in units of the sensitivity, overrides those of the row: a plan for ``queries`` questions brings its
    own.
    """
    row = variant(row)
    row.require_private(not_private)
    cutoff = exact_count(cutoff, "cutoff")
    if not isinstance(monotonic, bool | np.bool_):
        raise ParameterError("monotonic", "must be True or False", monotonic, "pass True only for one-way changes")
    if (epsilon is None) == (budget is None):
        raise ParameterError("epsilon", "or budget must be given, and not both", epsilon, "pass one of the two")
    if budget is None:
        budget = row.budget(epsilon, cutoff=cutoff, monotonic=bool(monotonic), allocation=allocation)
    elif allocation is not None:
        raise ParameterError("allocation", "must not be given with a budget, which is split already", allocation)
    if not isinstance(budget, Budget):
        raise ParameterError("budget", "must be a Budget", budget, "pass sg.Budget(threshold=0.1, queries=0.4)")
    if not budget.threshold and queries is None:
        raise ParameterError(
            "threshold share",
            "must be positive: without threshold noise every BELOW costs, too",
            0,
            "pass queries=n to plan for n questions",
        )
    lattice = Lattice.fit(sensitivity=sensitivity, threshold=threshold, granularity=granularity)
    per_unit = scales or row.scales(budget, cutoff=cutoff, monotonic=bool(monotonic))
    in_steps = Scales(*(None if scale is None else exact_scale(scale * lattice.sensitivity) for scale in per_unit))
    calibration = Calibration(
        row=row,
        lattice=lattice,
        cutoff=cutoff,
        monotonic=bool(monotonic),
        budget=budget,
        scales=in_steps,
        queries=queries,
    )
    if row.private and Fraction(calibration.epsilon) > budget.total * (1 + Fraction(1, 10**12)):
        raise ParameterError("budget", "must cover the tight loss of the scales", float(budget.total), "pass epsilon=")
    return calibration


def trusted_source(source: Source | None, not_private: bool) -> Source:
    """The source to draw from: fresh operating-system randomness unless the caller has waived privacy."""
    if source is None:
        return Secure()
    if not isinstance(source, Source):
        raise ParameterError("source", "must be a Source", source, "pass sg.Secure() or leave it out")
    if not source.private and not not_private:
        raise ParameterError(
            "not_private",
            "must be True to draw from a seeded source: whoever knows the seed knows the noise",
            next_step="leave source out for a private run",
        )
    return source.stream()


def aligned(values: object, count: int, steps: Callable[[object], Integers], parameter: str) -> Integers:
    """One lattice value for each of ``count`` queries, from one number or from as many."""
    if np.ndim(values) == 0:  # type: ignore[arg-type]
        return np.full(count, int(steps([values])[0]), dtype=np.int64)
    if len(values) != count:  # type: ignore[arg-type]
        rule = f"must be one number or {count} of them"
        raise ParameterError(parameter, rule, len(values), "pass one for each answer")  # type: ignore[arg-type]
    return steps(values)


def compared_value(row: Variant, answer: Integers, nu: Integers | int, estimate: Integers | None) -> Integers:
    """What is held against T + rho; works on integers and on arrays alike."""
    if row.compared is Compared.ANSWER:
        return answer + nu
    assert estimate is not None
    if row.compared is Compared.ERROR_NOISE_INSIDE:
        return abs(estimate - (answer + nu))
    return abs(estimate - answer) + nu
