"""A row with its noise laws, answers ready to be compared, and quadrature: what every exact computation starts from.

Given rho = z, the answers of a transcript are independent, so a row's whole behaviour is in two tables: ln Pr[BELOW
| z] and ln Pr[ABOVE | z] of each query, smooth in z but for a break or two per query. Every integrand is log-concave:
outside a *window* its mass is below 1e-20; inside, the n-point Gauss rule of each *panel* between breaks, for integers
that of the discrete Chebyshev polynomials, is halved until the last coefficients of f in its polynomials have died
away. Why that is exact: docs/explanation/proofs_in_words/privacy.md. All numbers are floats: in the units of the
answers for continuous noise, in lattice steps for lattice noise; the public shift kappa of one-sided noise is in T.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsegate.budget import Allocation, Budget, Number, check_choice
from sparsegate.errors import ParameterError
from sparsegate.gates.bounds import Setting
from sparsegate.gates.lattice import LIMIT, Lattice
from sparsegate.gates.laws import LAWS, Floats, NoiseLaw
from sparsegate.gates.variants import Closes, Compared, Released, Scales, Variant
from sparsegate.noise import exact_scale


@dataclass(frozen=True, slots=True)
class Points:
    """Points base + offset, kept apart: what is measured from a break near the base stays exact far from zero."""

    base: Floats
    offset: Floats

    @property
    def value(self) -> Floats:
        return self.base + self.offset

    @property
    def size(self) -> int:
        return self.offset.size

    def past(self, breaks: Floats) -> Floats:
        """How far each point lies past each break: a row for each break."""
        return (self.base - breaks[:, None]) + self.offset

    def part(self, chosen: slice | NDArray[np.bool_]) -> Points:
        return Points(self.base[chosen], self.offset[chosen])

    @classmethod
    def at(cls, values: Floats) -> Points:
        return cls(values, np.zeros(values.shape))


LogIntegrand = Callable[[Points], Floats]
DROP = 46.0  # what lies more than e^-46 = 1e-20 below a value inside is left out
FINE = 16  # nodes of a panel
_TOLERANCE = 1e-14  # of the whole, for each panel
_COARSE = 4  # nodes where break points lie so dense that the pieces are short anyway
_MANY = 48  # pieces from which the coarse rule is tried first
_FAN = 33  # points in one round of a search
_NEAR = 20.0  # nats: how near the largest value z0 need be, so that nothing overflows
_DOUBLINGS = 2.0 ** np.arange(-2, 80)


class Panels(NamedTuple):
    """Half-open stretches (start, end]: of reals, or the integers start+1 .. end."""

    start: Floats
    end: Floats

    def part(self, chosen: slice | NDArray[np.bool_]) -> Panels:
        return Panels(self.start[chosen], self.end[chosen])

    def joined(self, more: Panels) -> Panels:
        return Panels(np.concatenate((self.start, more.start)), np.concatenate((self.end, more.end)))


class QuadratureRule(NamedTuple):
    """Nodes and weights, a row for each panel; ``basis`` @ values are coefficients in orthonormal polynomials."""

    nodes: Points
    weights: Floats
    basis: Floats


def gauss(panels: Panels, order: int, *, lattice: bool) -> QuadratureRule:
    """The n-point Gauss rule of each panel; at most n integers are summed one by one, with zero weights as padding.

    >>> rule = gauss(Panels(np.array([0.0]), np.array([1e6])), 4, lattice=True)
    >>> round(float((rule.weights * rule.nodes.value**3).sum()) / sum(k**3 for k in range(1, 10**6 + 1)), 12)
    1.0
    """
    width = panels.end - panels.start
    counts, which = np.unique(width if lattice else 0 * width + np.inf, return_inverse=True)
    unit, share, basis = _golub_welsch(np.maximum(counts, order + 1.0), order)
    # From the panel's start; N integers start one step in.
    offset = ((width + (1.0 if lattice else 0.0)) / 2)[:, None] + width[:, None] / 2 * unit[which]
    weights = width[:, None] * share[which]
    if lattice:
        few, steps = width <= order, np.arange(1.0, order + 1)
        offset[few] = np.minimum(steps, width[few, None])
        weights[few] = steps <= width[few, None]
    return QuadratureRule(Points(np.broadcast_to(panels.start[:, None], offset.shape), offset), weights, basis[which])


def _golub_welsch(counts: Floats, order: int) -> tuple[Floats, Floats, Floats]:
    """Nodes, weights and basis of the uniform measures on N integers, scaled to [-1, 1]; N infinite means Legendre."""
    k = np.arange(1, order)
    off = np.sqrt(k**2 * (1 - (k / counts[:, None]) ** 2) / (4.0 * k**2 - 1))
    jacobi = np.zeros((counts.size, order, order))
    jacobi[:, k, k - 1] = off
    nodes, vectors = np.linalg.eigh(jacobi)  # reads the lower triangle
    first = vectors[:, 0, :]
    return nodes, first**2, vectors * first[:, None, :]


def log_integral(
    log_f: LogIntegrand, breaks: Floats, low: float, high: float, *, lattice: bool, finest: float, layer: float
) -> float:
    """ln of the integral, or of the sum, of a log-concave f over (low, high]; either end may be infinite.

    ``breaks`` are the points between which f is smooth; beside a break ln f bends over the length ``layer``, which a
    long panel would not see; it changes by a nat or so over ``finest``. An empty range gives -inf.
    """
    if lattice:
        low, high = (math.floor(x) if math.isfinite(x) else x for x in (low, high))
    if not low < high:
        return -math.inf
    left, right, top = _window(log_f, breaks, low, high, lattice, finest)
    if top == -math.inf:
        return -math.inf
    inner = breaks[(breaks > left) & (breaks < right)]
    edges = np.unique(np.concatenate(([left], np.floor(inner) if lattice else inner, [right])))
    total = _adapt(log_f, _graded_panels(edges, layer, lattice), top, lattice, layer)
    return top + math.log(total) if total > 0 else -math.inf


def graded(breaks: Floats, tail: float, first: float, *, lattice: bool) -> Panels:
    """Panels that double away from every break point, out to ``tail`` beyond the last: one grid for many integrands.

    A panel at distance x from its break is x long (``first`` long at the break). Away from the breaks ln f is a
    straight line up to terms that fall like e^(-x/scale), so that with ``first`` a few nats long the fine rule
    resolves f on all of them.
    """
    tail = math.ceil(tail) if lattice else tail
    ends = breaks[[0, -1]] + [-tail, tail]
    return _graded_panels(np.concatenate((ends[:1], breaks, ends[1:])), first, lattice)


def _graded_panels(edges: Floats, first: float, lattice: bool) -> Panels:
    """Panels between neighbouring edges that double away from both."""
    first = max(math.floor(first), float(FINE)) if lattice else first
    cuts = [edges]
    for start, end in pairwise(edges):
        doublings = np.arange(max(0, math.ceil(math.log2((end - start) / (2 * first)))), dtype=np.float64)
        if doublings.size or (lattice and end - start > FINE):
            # Halved once more, a run of up to 2n integers is summed one by one, however steep f is there.
            steps = first * np.exp2(doublings)
            cuts += [start + steps, end - steps, np.array([(start + end) / 2])]
    every = np.unique(np.floor(np.concatenate(cuts)) if lattice else np.concatenate(cuts))
    return Panels(every[:-1], every[1:])


def _adapt(log_f: LogIntegrand, panels: Panels, top: float, lattice: bool, layer: float) -> float:
    """The integral of f e^-top, halving panels until the coefficients of each have died away."""
    tolerance = max(_TOLERANCE, 4 * np.finfo(np.float64).eps * abs(top))  # ln f itself is no better than its last bits
    # Only where nothing can bend unseen between few nodes.
    short = (panels.end - panels.start <= layer) & (panels.start.size > _MANY)
    done, order, waiting = 0.0, _COARSE, panels.part(~short)
    panels = panels.part(short)
    while panels.start.size or waiting.start.size:
        rule = gauss(panels, order, lattice=lattice)
        nodes = Points(rule.nodes.base.ravel(), rule.nodes.offset.ravel())
        values = np.exp(log_f(nodes).reshape(rule.weights.shape) - top)
        parts = (rule.weights * values).sum(axis=1)
        good = _error(rule, values, order) * parts <= tolerance * (done + float(parts.sum()))
        if lattice:
            good |= panels.end - panels.start <= order
        done += math.fsum(parts[good])
        bad = panels.part(~good)
        if order == FINE:
            middle = np.floor((bad.start + bad.end) / 2) if lattice else (bad.start + bad.end) / 2
            whole = (middle <= bad.start) | (middle >= bad.end)  # a panel between neighbouring floats cannot be halved
            done += math.fsum(parts[~good][whole])
            bad = Panels(bad.start[~whole], middle[~whole]).joined(Panels(middle[~whole], bad.end[~whole]))
        panels, order, waiting = bad.joined(waiting), FINE, waiting.part(slice(0))
    return done


def _error(rule: QuadratureRule, values: Floats, order: int) -> Floats:
    """The relative error of an n-point Gauss rule, from the rate at which the last coefficients fall: rate^(2n)."""
    coefficients = np.abs(np.einsum("pij,pj->pi", rule.basis[:, [0, -2, -1], :], values))
    first = np.maximum(coefficients[:, 0], 1e-300)
    rates = (coefficients[:, 1] / first) ** (1 / (order - 2)), (coefficients[:, 2] / first) ** (1 / (order - 1))
    rate: Floats = np.minimum(np.maximum(*rates), 10.0)
    return rate ** (2 * order)


def _window(
    log_f: LogIntegrand, breaks: Floats, low: float, high: float, lattice: bool, finest: float
) -> tuple[float, float, float]:
    """(left, right, ln f(z0)): what lies outside (left, right] is negligible, and f(z0) is near the largest value."""
    first = low + 1 if lattice else np.nextafter(low, math.inf)
    out = finest * _DOUBLINGS

    def points(z: Floats) -> Floats:
        return np.unique(np.clip(np.floor(z) if lattice else z, first, high))

    inside = np.unique(np.clip(breaks, low, high))
    some = inside[np.linspace(0, inside.size - 1, min(inside.size, 2 * _FAN)).astype(np.intp)]
    fan = points(np.concatenate((some[0] - out, some, some[-1] + out)))
    while True:
        heights = log_f(Points.at(fan))
        best = int(np.argmax(heights))
        top, beside = float(heights[best]), [max(best - 1, 0), min(best + 1, fan.size - 1)]
        left, right = fan[beside]
        # By concavity the largest value exceeds this one by no more than a few times the drop to its neighbours.
        close = float(heights[beside].min()) >= top - _NEAR
        if close or top == -math.inf or right - left <= (2 if lattice else 1e-15 * abs(left)):
            break
        fan = points(np.append(np.linspace(left, right, _FAN), fan[best]))
    centre = float(fan[best])
    return (
        _edge(log_f, points(np.append(centre - out, low if math.isfinite(low) else centre))[::-1], top, low, points),
        _edge(log_f, points(np.append(centre + out, high if math.isfinite(high) else centre)), top, high, points),
        top,
    )


def _edge(log_f: LogIntegrand, fan: Floats, top: float, limit: float, points: Callable[[Floats], Floats]) -> float:
    """The first point outward at which ln f has fallen by DROP; ``limit`` where it never does."""
    fallen = np.flatnonzero(log_f(Points.at(fan)) <= top - DROP)
    if not fallen.size:
        return limit
    at = int(fallen[0])
    between = points(np.linspace(fan[max(at - 1, 0)], fan[at], _FAN))
    between = between if fan[0] <= fan[at] else between[::-1]
    return float(between[int(np.flatnonzero(log_f(Points.at(between)) <= top - DROP)[0])])


Noise = Literal["continuous", "lattice"]
Numbers = ArrayLike | Sequence[Fraction]


class Public(TypedDict, total=False):
    """What every analysis is told of a row; ``log_probability`` says what each of them is."""

    cutoff: int
    sensitivity: Number
    epsilon: Number | None
    budget: Budget | None
    scales: Scales | None
    allocation: Allocation | None
    monotonic: bool
    granularity: Number | None
    noise: Noise


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

    def closed(self, below: int, above: int) -> bool:
        counted = {Closes.NEVER: -1, Closes.ABOVE: above, Closes.RARER: min(below, above)}
        return counted[self.row.closes] >= self.cutoff

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
            rule = f"must be one number or {count} of them"
            raise ParameterError(parameter, rule, array.shape, "pass one for each answer")
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
        return self.model.row.compared is Compared.ERROR_NOISE_INSIDE

    @property
    def centre(self) -> Floats:
        """The z at which the noiseless comparison flips: ABOVE for z <= centre."""
        return self.value - self.bar if self.inside else self.value

    def breaks(self) -> Floats:
        """Every point at which a table, or the weight of rho or of nu, is not smooth."""
        ends = -self.bar if self.inside else self.bar[:0]
        middles = ((self.model.rho, np.zeros(1)), (self.model.nu, self.centre))
        laws = [(law, middle) for law, middle in middles if law is not None]
        every = np.concatenate(
            (self.centre, ends, [0.0], *(middle + bend for law, middle in laws for bend in law.bends))
        )
        # On the lattice a weight that starts at x is smooth on (x - 1, ...).
        one_sided = self.model.lattice is not None and any(law.side for law, _ in laws)
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
    cutoff: int = 1,
    sensitivity: Number = 1,
    epsilon: Number | None = None,
    budget: Budget | None = None,
    scales: Scales | None = None,
    allocation: Allocation | None = None,
    monotonic: bool = False,
    granularity: Number | None = None,
    noise: Noise = "continuous",
) -> Model:
    """The model of a row: exactly one of ``epsilon``, ``budget`` and ``scales`` sets the noise.

    On the lattice, the step and the scales are those that ``run`` and ``run_many`` use for the same arguments.
    """
    check_choice(noise, "noise", ("continuous", "lattice"))
    setting = Setting.of(locals())
    checked, in_use, on_lattice = setting.row, setting.noise, noise == "lattice"
    if granularity is not None and not on_lattice:
        rule = "must not be given for continuous noise"
        raise ParameterError("granularity", rule, granularity, 'pass noise="lattice"')
    if setting.planned:
        raise ParameterError("epsilon", "or budget or scales must be given, and only one of them", epsilon)
    if in_use.answer is not None and checked.released is not Released.FRESH_ANSWER:
        raise ParameterError("scales", f"must have no answer scale for {checked.key}", in_use)
    if checked.gap and in_use.query is None:
        raise ParameterError("scales", "must have query noise where the gap is released", in_use)
    # Whole numbers or steps, decided as for a run; continuous noise borrows only the check of the sensitivity.
    bar = 0 if np.asarray(threshold).dtype.kind in "iu" else 0.0
    lattice = Lattice.fit(sensitivity=sensitivity, threshold=bar, granularity=granularity)
    unit = Fraction(lattice.sensitivity) if on_lattice else Fraction(sensitivity)
    in_units = [None if s is None else exact_scale(s * unit) if on_lattice else s * unit for s in in_use]
    law = checked.noise.law
    rho, nu, fresh = (
        None if scale is None else kind.density(float(scale), lattice=on_lattice)
        for scale, kind in zip(in_units, (law, law, LAWS["LAPLACE"]), strict=True)
    )
    return Model(
        row=checked,
        cutoff=setting.cutoff,
        monotonic=setting.monotonic,
        scales=in_use,
        sensitivity=float(unit),
        lattice=lattice if on_lattice else None,
        rho=rho,
        nu=nu,
        fresh=fresh,
        shift=law.shift(*in_units[:2], lattice=on_lattice),
    )


_Analysis = TypeVar("_Analysis", bound=Callable[..., Any])


def analysis(function: _Analysis) -> _Analysis:
    """Show the parameters that a function takes as ``**public`` one by one, with their defaults."""
    signature, build_takes = inspect.signature(function), inspect.signature(build).parameters
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "public"]
    shown = signature.replace(parameters=[*own, *(build_takes[name] for name in Public.__annotations__)])
    function.__signature__ = shown  # type: ignore[attr-defined]
    return function
