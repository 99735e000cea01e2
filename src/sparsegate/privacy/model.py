"""A row with its noise laws, and answers ready to be compared: what every exact computation starts from.

Given rho = z, the answers of a transcript are independent, so a row's whole behaviour is in two tables: ln Pr[BELOW
| z] and ln Pr[ABOVE | z] of each query. They are smooth in z but for one break per query, at z = q - T (or |e - q|
- T), and one more at z = -T where the noise is inside the absolute value. The public shift kappa of one-sided noise is
a part of T here. A positive that also releases its gap g to the noisy threshold fixes nu at g + T + z - q. All numbers
are floats: in the units of the answers for continuous noise, in lattice steps for lattice noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsegate.errors import ParameterError
from sparsegate.mechanisms.lattice import LIMIT, Lattice
from sparsegate.mechanisms.margin import central_shift
from sparsegate.mechanisms.setting import RunOptions, Setting, only
from sparsegate.mechanisms.variants import Closes, Compared, Released, Scales, Variant, variant
from sparsegate.mechanisms.variants import Noise as NoiseKind
from sparsegate.noise import exact_scale
from sparsegate.privacy.laws import Floats, NoiseLaw
from sparsegate.privacy.quadrature import Points

Noise = Literal["continuous", "lattice"]
Numbers = ArrayLike | Sequence[Fraction]


class ModelOptions(RunOptions, total=False):
    """What a model is built from: the options of a run; the kind of noise; scales instead of epsilon or budget."""

    noise: Noise
    scales: Scales | None


@dataclass(frozen=True, kw_only=True)
class Model:
    """A row's public parameters with the laws of rho, of nu and of fresh answers; None where there is no such noise."""

    row: Variant
    cutoff: int
    monotonic: bool
    scales: Scales
    sensitivity: float
    lattice: Lattice | None
    rho: NoiseLaw | None
    nu: NoiseLaw | None
    fresh: NoiseLaw | None
    shift: float = 0.0

    @property
    def numeric(self) -> bool:
        """Whether a positive carries a number other than its gap."""
        return self.fresh is not None or self.row.released is Released.NOISY_ANSWER

    @property
    def query_support(self) -> tuple[float, float]:
        """The least and the largest nu."""
        return (0.0, 0.0) if self.nu is None else self.nu.support

    def closed(self, below: int, above: int) -> bool:
        """Whether the row stops after this many BELOW and ABOVE."""
        return {
            Closes.NEVER: False,
            Closes.ABOVE: above >= self.cutoff,
            Closes.RARER: min(below, above) >= self.cutoff,
        }[self.row.closes]

    def reachable(self, below: int, above: int) -> bool:
        """Whether some transcript has this many BELOW and ABOVE: the row must not have stopped before the last."""
        before = ((below - 1, above), (below, above - 1))
        return any(min(counts) >= 0 and not self.closed(*counts) for counts in before)

    def compare(self, answers: Numbers, threshold: Numbers, estimates: Numbers | None) -> Comparisons:
        """Answers, thresholds and estimates as floats, or as lattice steps, checked and aligned."""
        if (estimates is None) != (self.row.compared is Compared.ANSWER):
            rule = "must be given exactly where the row compares an error"
            raise ParameterError("estimates", f"{rule}; {self.row.key} compares {self.row.compared.value}")
        q = self._numbers(answers, "answers")
        bar = self._aligned(threshold, q.size, "threshold")
        guess = q if estimates is None else self._aligned(estimates, q.size, "estimates")
        # Differences before floats: large counts may lie close together.
        value = (q - bar) - self.shift if estimates is None else np.abs(guess - q)
        if self.row.compared is Compared.ERROR_NOISE_OUTSIDE:
            value = (value - bar) - self.shift
        columns = {"answer": q, "bar": bar + self.shift, "estimate": guess, "value": value}
        return Comparisons(model=self, **{name: column.astype(np.float64) for name, column in columns.items()})

    def _numbers(self, values: Any, parameter: str) -> NDArray[Any]:
        if self.lattice is not None:
            return self.lattice.steps_many(values, parameter)
        array = np.asarray(values)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iufO"):
            raise ParameterError(parameter, "must be a flat sequence of numbers", next_step="pass a list of numbers")
        try:
            finite = bool(np.isfinite(array.astype(np.float64)).all())
        except (TypeError, ValueError, OverflowError):
            finite = False
        if not finite:
            raise ParameterError(parameter, "must be finite numbers", next_step="replace NaN and infinity")
        # Differences of whole numbers are exact while they fit int64; beyond, floats do not wrap around.
        fits = array.dtype.kind == "i" and bool((np.abs(array.astype(np.float64)) <= LIMIT).all())
        return array.astype(np.int64 if fits else np.float64)

    def _aligned(self, values: Any, count: int, parameter: str) -> NDArray[Any]:
        array = np.asarray(values)
        if array.ndim == 0:
            return np.repeat(self._numbers(array.reshape(1), parameter), count)
        if array.shape != (count,):
            raise ParameterError(
                parameter, f"must be one number or {count} of them", array.shape, "pass one for each answer"
            )
        return self._numbers(array, parameter)

    def released(self, number: Any) -> float:
        """A released number in this model's units; NaN where the lattice has no such point."""
        if self.lattice is None:
            return float(number)
        steps = Fraction(number) / self.lattice.granularity
        return float(steps) if steps.denominator == 1 else math.nan


@dataclass(frozen=True, kw_only=True)
class Comparisons:
    """One entry for each query: q, T, e, and ``value``: q - T, |e - q| - T, or |e - q| where the noise is inside.

    T contains the shift kappa.
    """

    model: Model
    answer: Floats
    bar: Floats
    estimate: Floats
    value: Floats

    def __getitem__(self, chosen: slice | NDArray[Any]) -> Comparisons:
        columns = ("answer", "bar", "estimate", "value")
        return replace(self, **{name: getattr(self, name)[chosen] for name in columns})

    @property
    def inside(self) -> bool:
        """Whether the noise is inside the absolute value."""
        return self.model.row.compared is Compared.ERROR_NOISE_INSIDE

    @property
    def centre(self) -> Floats:
        """The z at which the noiseless comparison flips: ABOVE for z <= centre."""
        return self.value - self.bar if self.inside else self.value

    def breaks(self) -> Floats:
        """Every point at which a table, or the weight of rho or of nu, is not smooth."""
        ends = -self.bar if self.inside else self.bar[:0]
        every = np.concatenate((self.centre, ends, [0.0]))
        # On the lattice a weight that starts at x is smooth on (x - 1, ...).
        laws = (self.model.rho, self.model.nu)
        one_sided = self.model.lattice is not None and any(law is not None and law.side for law in laws)
        return np.unique(np.concatenate((every, every - 1)) if one_sided else every)

    def log_below(self, z: Points) -> Floats:
        """ln Pr[BELOW | rho = z], a row for each query."""
        nu, past = self.model.nu, z.past(self.centre)
        if nu is None:
            return np.where(past > 0, 0.0, -np.inf)
        return nu.log_inside(z.past(-self.bar), self.value[:, None], past) if self.inside else nu.log_below(past)

    def log_above(self, z: Points) -> Floats:
        """ln Pr[ABOVE | rho = z], a row for each query."""
        nu, past = self.model.nu, z.past(self.centre)
        if nu is None:
            return np.where(past <= 0, 0.0, -np.inf)
        return nu.log_outside(z.past(-self.bar), self.value[:, None], past) if self.inside else nu.log_above(past)

    def log_gap(self, z: Points) -> Floats:
        """ln of the weight of nu that makes the gap 0 given rho = z, a row for each query."""
        nu, past = self.model.nu, z.past(self.centre)
        return np.where(past == 0, 0.0, -np.inf) if nu is None else nu.log_weight(past)


def build(
    row: Variant | str,
    *,
    threshold: ArrayLike = 0,
    noise: Noise = "continuous",
    scales: Scales | None = None,
    **options: Unpack[RunOptions],
) -> Model:
    """Resolve every public parameter: exactly one of ``epsilon``, ``budget`` and ``scales`` sets the noise.

    On the lattice, the step and the scales are those that ``run`` and ``run_many`` use for the same arguments.
    """
    only("build", RunOptions, options)
    if noise not in ("continuous", "lattice"):
        raise ParameterError("noise", 'must be "continuous" or "lattice"', noise)
    setting = Setting(row=variant(row), scales=scales, **options)
    if setting.granularity is not None and noise != "lattice":
        rule = "must not be given for continuous noise"
        raise ParameterError("granularity", rule, setting.granularity, 'pass noise="lattice"')
    if scales is not None and setting.budget is not None:
        rule = "or budget or scales must be given, and only one of them"
        raise ParameterError("epsilon", rule, setting.epsilon)
    if scales is not None and scales.answer is not None and setting.row.released is not Released.FRESH_ANSWER:
        raise ParameterError("scales", f"must have no answer scale for {setting.row.key}", scales)
    # Whole numbers or steps, decided as for a run; continuous noise borrows only the check of the sensitivity.
    whole = np.asarray(threshold).dtype.kind in "iu"
    lattice = Lattice.fit(
        sensitivity=setting.sensitivity, threshold=0 if whole else 0.0, granularity=setting.granularity
    )
    on_lattice = noise == "lattice"
    unit = Fraction(lattice.sensitivity) if on_lattice else Fraction(setting.sensitivity)

    if setting.row.gap and setting.noise.query is None:
        raise ParameterError("scales", "must have query noise where the gap is released", setting.noise)
    in_units = [None if s is None else exact_scale(s * unit) if on_lattice else s * unit for s in setting.noise]
    one_sided, shift = setting.row.noise is NoiseKind.EXPONENTIAL, 0.0
    if one_sided:
        kappa = central_shift(Scales(*in_units), lattice=on_lattice)
        shift = round(kappa) if on_lattice else kappa
    sides: tuple[Literal[0, 1], ...] = (1, 1, 0) if one_sided else (0, 0, 0)
    rho, nu, fresh = (
        None if scale is None else NoiseLaw(scale=float(scale), lattice=on_lattice, side=side)
        for scale, side in zip(in_units, sides, strict=True)
    )
    return Model(
        row=setting.row,
        cutoff=setting.cutoff,
        monotonic=setting.monotonic,
        scales=setting.noise,
        sensitivity=float(unit),
        lattice=lattice if on_lattice else None,
        rho=rho,
        nu=nu,
        fresh=fresh,
        shift=shift,
    )
