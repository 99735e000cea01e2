"""A row made ready to run: its lattice and its noise scales in lattice steps, all checked before anything is drawn.

**Theorem (several answers at once).** Ask any n questions, each chosen as one likes after the answers before it, and
let a satisfy n (Pr[T + a is BELOW] + Pr[T - a is ABOVE]) <= 1 - confidence. Then with this confidence every one of the
n whose answer lies a or more from its threshold is answered rightly. Proof: docs/explanation/proofs_in_words/core.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Budget
from sparsegate.errors import ParameterError
from sparsegate.gates.bounds import Setting, tight_loss, transcript_loss
from sparsegate.gates.lattice import Lattice
from sparsegate.gates.laws import Loss
from sparsegate.gates.variants import Closes, Compared, Noise, Scales, Variant
from sparsegate.noise import Secure, Source, exact_scale

if TYPE_CHECKING:
    from sparsegate.gates.per_above import Price

Integers = NDArray[np.int64]

_DIGITS: Final = 60  # enough for scales of 2**48: 1-p keeps 45 digits, and the difference p-q has many left


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Everything public about a run; ``scales`` and the ``shift`` kappa are in lattice steps."""

    row: Variant
    lattice: Lattice
    cutoff: int
    monotonic: bool
    budget: Budget
    scales: Scales
    queries: int | None = None
    shift: int = 0
    price: Price | None = None
    """Of a gate that pays for each ABOVE (``per_above``): then the cutoff is how many of them are expected."""

    @property
    def _per_unit(self) -> Scales:
        step = self.lattice.sensitivity
        return Scales(*(None if scale is None else scale / step for scale in self.scales))

    @property
    def loss(self) -> Loss:
        """The tight epsilon of this run, exactly; math.inf where the row has none."""
        scales, cutoff, monotonic = self._per_unit, self.cutoff, self.monotonic
        return tight_loss(self.row, scales, cutoff=cutoff, monotonic=monotonic, queries=self.queries)

    @property
    def epsilon(self) -> float:
        """The same, rounded."""
        return float(self.loss)

    def margin(self, confidence: float, *, answers: int | None = None) -> int:
        """How many steps from the threshold an answer, or this many at once, is right with this probability."""
        rho, nu, _ = self.scales
        return steps_to_confidence(confidence, rho, nu, noise=self.row.noise, shift=self.shift, answers=answers)

    def with_scales(self, scales: Scales) -> Calibration:
        """The same run with other noise, in lattice steps."""
        return replace(self, scales=scales, shift=_shift(self.row, scales))

    def finished(self, below: Any, above: Any) -> Any:
        """Whether that run has given all the answers it may; for arrays of numbers, where."""
        if self.row.closes is Closes.RARER:
            return (below >= self.cutoff) & (above >= self.cutoff)
        return above >= (self.cutoff if self.row.stops else math.inf)

    def spent(self, rounds: Sequence[tuple[int, int]]) -> Fraction:
        """What these (BELOW, ABOVE) cost, exactly; all of the budget where no bound is known, or with a delta."""
        if self.budget.delta:
            return self.budget.total
        loss = transcript_loss(self.row, self._per_unit, rounds, monotonic=self.monotonic)
        if self.price is not None:
            return Fraction(loss)
        return self.budget.total if loss == math.inf else min(Fraction(loss), self.budget.total)


def calibrate(setting: Setting, *, threshold: object, not_private: bool) -> Calibration:
    """Fix the lattice and the scales of a run, and check that what it pays covers its loss."""
    row, budget = setting.row, setting.budget
    row.require_private(not_private)
    assert budget is not None
    if not budget.threshold_epsilon and setting.queries is None:
        rule = "must be positive: without threshold noise every BELOW costs, too"
        raise ParameterError("threshold share", rule, 0, "pass queries=n to plan for n questions")
    lattice = Lattice.fit(sensitivity=setting.sensitivity, threshold=threshold, granularity=setting.granularity)
    in_steps = Scales(*(None if scale is None else exact_scale(scale * lattice.sensitivity) for scale in setting.noise))
    calibration = Calibration(
        row=row,
        lattice=lattice,
        cutoff=setting.cutoff,
        monotonic=setting.monotonic,
        budget=budget,
        scales=in_steps,
        queries=setting.queries,
        shift=_shift(row, in_steps),
    )
    if not not_private or row.private:
        loss = calibration.loss
        if row.private and loss > budget.total:
            rule = "must cover the tight loss of the scales"
            raise ParameterError("budget", rule, float(budget.total), "pass epsilon=")
        row.require_private(not_private, loss=loss, paid=budget.total)
    return calibration


def _shift(row: Variant, scales: Scales) -> int:
    return int(row.noise.law.shift(scales.threshold, scales.query))


def least_whole(enough: Callable[[int], bool], *, start: int = 1) -> int:
    """The least whole number from 1 on that is enough, as all are beyond it; ``start`` is looked at first."""
    high = start
    while not enough(high):
        high *= 2
    low = high // 2 + 1
    return low + bisect_left(range(low, high), True, key=enough)


def trusted_source(source: Source | None, not_private: bool) -> Source:
    """The source to draw from: fresh operating-system randomness unless the caller has waived privacy."""
    if source is None:
        return Secure()
    if not isinstance(source, Source):
        raise ParameterError("source", "must be a Source", source, "pass sg.Secure() or leave it out")
    if not source.private and not not_private:
        rule = "must be True to draw from a seeded source: whoever knows the seed knows the noise"
        raise ParameterError("not_private", rule, next_step="leave source out for a private run")
    return source.stream()


def aligned(values: Any, count: int, lattice: Lattice, parameter: str) -> Integers:
    """The place of a public number for each of ``count`` queries, from one number or from as many."""
    if np.ndim(values) == 0:
        return np.full(count, int(lattice.steps_many([values], parameter)[0]), dtype=np.int64)
    if len(values) != count:
        raise ParameterError(parameter, f"must be one number or {count} of them", len(values), "pass one for each")
    return lattice.steps_many(values, parameter)


def compared_value(row: Variant, answer: Integers, nu: Integers | int, estimate: Integers | None) -> Integers:
    """What is held against T + rho; works on integers and on arrays alike."""
    if row.compared is Compared.ANSWER:
        return answer + nu
    assert estimate is not None
    if row.compared is Compared.ERROR_NOISE_INSIDE:
        return abs(estimate - (answer + nu))
    return abs(estimate - answer) + nu


def steps_to_confidence(
    confidence: float,
    threshold_scale: Fraction | None,
    query_scale: Fraction | None,
    *,
    noise: Noise = Noise.LAPLACE,
    shift: int = 0,
    answers: int | None = None,
) -> int:
    """The smallest whole a >= 1 such that T + a is ABOVE and T - a is BELOW, each with this probability or more.

    Pr[rho - nu + kappa <= a] >= confidence and Pr[nu - rho - kappa <= a - 1] >= confidence: the worse of the two. With
    ``answers`` it is the a of the theorem above, for this many answers at once.
    """
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0.5 <= confidence < 1:
        raise ParameterError("confidence", "must lie from 0.5 to below 1", confidence, "pass for instance 0.95")
    import mpmath

    law = noise.law

    with mpmath.workdps(_DIGITS):
        p, q = (
            mpmath.exp(-mpmath.mpf(s.denominator) / s.numerator) if s else 0 for s in (threshold_scale, query_scale)
        )
        allowed = (1 - mpmath.mpf(confidence)) / (answers or 1)
        either = max if answers is None else mpmath.fadd

        def enough(a: int) -> bool:
            return bool(either(law.tail(p, q, a - shift), law.tail(q, p, a + shift - 1)) <= allowed)

        return least_whole(enough)
