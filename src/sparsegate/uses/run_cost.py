"""What the best of K private runs costs, where K is random: the theorem, its bounds, and the noise that a run needs.

A *run* trains once: it draws a candidate from one fixed law, trains and scores it; all of that, also the score, has the
cost that is declared (``RunCost``). *Tuning* draws K from a public law (``RunLaw``), makes K runs, and gives the best
alone. f(x) = E[x**K] and f'(x) are in closed form for a truncated negative binomial law (eta > -1 and
0 < gamma < 1; eta = 0 is the logarithmic one, 1 the geometric one) and for Poisson's.

**Theorem.** Let 1 - u be the chance of something that is computed from a run, u' the same on the neighbour, T such that
f'(u) <= exp(T) f'(u') for every such pair, L = ln(E[K] + P[K = 0]), delta(e) the privacy profile of a run. Tuning is

  (profile)   (e + T, E[K] delta(e))-DP for every e >= 0,
  (Renyi)     (a, D_a + T + L/(a-1))-RDP for every a > 1, where a run is (a, D_a)-RDP.

T = (1+eta) ln c for the least c with delta(ln c) <= (c-1) gamma/(1-gamma); mu delta(0) for Poisson. Where a run is
rho-zCDP, tuning is r-zCDP, r = rho + T + 2 sqrt(rho L). Bounds hold for every e, c and order, so that only the choice
among them is a matter of floats. Proofs: docs/explanation/proofs_in_words/uses.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import (
    Cost,
    Number,
    check_choice,
    exact_count,
    exact_decimal,
    exact_delta,
    exact_epsilon,
    in_decimals,
    pure_rho,
)
from sparsegate.errors import ParameterError, load_extra
from sparsegate.gates.approximate import zcdp_epsilon
from sparsegate.noise import Source
from sparsegate.noise.expansions import interval_arithmetic, scaled_floor

Runs = Literal["logarithmic", "geometric", "poisson", "negative-binomial"]
Profile = Callable[[float], float]

ETA: Final[Mapping[str, int | None]] = {"logarithmic": 0, "geometric": 1, "poisson": None, "negative-binomial": None}
_UP: Final = 1 + 1e-6
_ORDERS: Final = 1 + np.geomspace(1e-3, 1e6, 1500)
_FINEST: Final = 64  # halvings of an interval
_LEAST_MEAN, _MOST_MEAN = Fraction(1_000_001, 1_000_000), 10**4
_SPARE: Final = 64  # bits


@dataclass(frozen=True, kw_only=True)
class RunCost:
    """What one run costs: training a candidate and scoring it, the same bound for every candidate.

    Make one of what you know: ``pure`` (epsilon), ``zcdp`` (rho), ``gaussian`` (noise multiplier), ``renyi`` (a curve),
    ``dp_sgd`` (noise multiplier, sample rate and steps, as for Opacus) or ``event`` (of ``dp_accounting``); ``within``
    finds the least noise with which tuning as a whole keeps to an epsilon.

    >>> import sparsegate as sg
    >>> sg.uses.RunCost.gaussian(4.3)
    RunCost(Gaussian noise of multiplier 4.3)
    >>> run = sg.uses.RunCost.within("noise_multiplier", epsilon=2, delta=1e-6, mean=100)
    >>> round(run.noise_multiplier, 2)
    3.75
    """

    what: str
    """What it is, in words."""
    orders: NDArray[np.float64] = field(repr=False)
    """Orders a > 1 of which the Renyi divergence is known,"""
    divergences: NDArray[np.float64] = field(repr=False)
    """and a bound of it at each."""
    profile: Profile = field(repr=False)
    """delta(e) for e >= 0, or more: it never grows."""
    pure_epsilon: Fraction | None = None
    """The epsilon of a run that is epsilon-DP."""
    rho: Fraction | None = None
    """The rho of a run that is rho-zCDP."""
    noise_multiplier: float | None = None
    """Of Gaussian noise or DP-SGD."""

    @classmethod
    def pure(cls, epsilon: Number) -> Self:
        """Of a run that is epsilon-DP: no worse than randomised response (``gates.accounting``)."""
        exact = exact_epsilon(epsilon)
        e = float(exact)
        return cls(
            what=f"epsilon {e:g}",
            orders=_ORDERS,
            divergences=(_log_cosh((2 * _ORDERS - 1) * e / 2) - _log_cosh(np.array(e / 2))) / (_ORDERS - 1),
            profile=lambda t: max(0.0, -math.expm1(t - e)) / (1 + math.exp(-e)),
            pure_epsilon=exact,
            rho=pure_rho(exact),
        )

    @classmethod
    def zcdp(cls, rho: Number) -> Self:
        """Of a run that is rho-zCDP."""
        exact = exact_epsilon(rho, "rho")
        run = cls._by_curve(f"rho {float(exact):.6g}", _ORDERS, float(exact) * _ORDERS)
        return replace(run, rho=exact)

    @classmethod
    def gaussian(cls, noise_multiplier: Number) -> Self:
        """Of a run with Gaussian noise of this many times the sensitivity: an exact profile (``gates.gaussian``)."""
        exact = exact_epsilon(noise_multiplier, "noise_multiplier")
        sigma, rho = float(exact), 1 / (2 * exact * exact)
        return replace(
            cls.zcdp(rho),
            what=f"Gaussian noise of multiplier {sigma:.6g}",
            profile=partial(_gaussian_profile, sigma),
            noise_multiplier=sigma,
        )

    @classmethod
    def renyi(cls, curve: Mapping[Number, Number] | Callable[[float], float]) -> Self:
        """Of a run whose Renyi divergence of each order > 1 is at most this: a mapping of orders, or a function."""
        points = curve.items() if isinstance(curve, Mapping) else ((a, curve(float(a))) for a in _ORDERS[::5])
        exact = [(exact_decimal(order), exact_decimal(bound)) for order, bound in points if bound != math.inf]
        if not exact or any(order is None or order <= 1 or bound is None or bound < 0 for order, bound in exact):
            rule = "must say of orders above 1 a divergence of at least 0"
            raise ParameterError("curve", rule, next_step="pass for instance {2: 0.1, 8: 0.4, 32: 1.6}")
        orders, bounds = np.array([[float(part or 0) for part in point] for point in exact]).T
        return cls._by_curve("a Renyi curve", orders, bounds)

    @classmethod
    def event(cls, event: Any) -> Self:
        """Of a run that is this event of ``dp_accounting``; the extra [accounting] brings it."""
        rdp = load_extra("dp_accounting.rdp", extra="accounting").RdpAccountant().compose(event)
        run = cls._by_curve(type(event).__name__, *(np.array(part, dtype=float) for part in (rdp.orders, rdp.rdp)))
        pld = load_extra("dp_accounting.pld", extra="accounting").PLDAccountant()
        return replace(run, profile=pld.compose(event).get_delta) if pld.supports(event) else run

    @classmethod
    def dp_sgd(cls, noise_multiplier: Number, *, sample_rate: Number, steps: int) -> Self:
        """Of so many steps of DP-SGD, each on a Poisson sample, by the settings of Opacus or another library.

        ``sample_rate`` is the chance of an example to be in a batch: ``1 / len(loader)`` of Opacus's private loader.
        """
        events = load_extra("dp_accounting", extra="accounting")
        sigma = float(exact_epsilon(noise_multiplier, "noise_multiplier"))
        rate = float(exact_delta(sample_rate, "sample_rate", example="0.01"))
        step = events.PoissonSampledDpEvent(rate, events.GaussianDpEvent(sigma))
        run = cls.event(events.SelfComposedDpEvent(step, exact_count(steps, "steps")))
        what = f"DP-SGD, noise multiplier {sigma:.6g}, sample rate {rate:g}, {steps:,} steps"
        return replace(run, what=what, noise_multiplier=sigma)

    @classmethod
    def within(
        cls,
        by: Literal["noise_multiplier", "rho", "epsilon"],
        *,
        epsilon: Number,
        delta: Number = 0,
        runs: Runs = "logarithmic",
        mean: Number,
        eta: Number | None = None,
        sample_rate: Number | None = None,
        steps: int | None = None,
    ) -> RunCost:
        """The run of least noise with which tuning costs at most (epsilon, delta); with ``steps``, of DP-SGD.

        >>> import sparsegate as sg
        >>> options = {"epsilon": 2, "delta": 1e-6, "runs": "geometric", "mean": 30}
        >>> [sg.uses.RunCost.within(by, **options).what for by in ("rho", "epsilon")]
        ['rho 0.0281...', 'epsilon 0.698...']
        """
        check_choice(by, "by", ("noise_multiplier", "rho", "epsilon"))
        law, most, allowed = RunLaw.of(runs, mean, eta), exact_epsilon(epsilon), exact_delta(delta, zero=True)
        if (sample_rate is None) != (steps is None) or (steps is not None and by != "noise_multiplier"):
            rule = "must be given with sample_rate, and by='noise_multiplier'"
            raise ParameterError("steps", rule, steps, "pass both for DP-SGD, or neither")
        if by != "epsilon" and not allowed:
            raise ParameterError("delta", f"must be given for {by}", delta, "pass for instance delta=1e-6")

        def run_at(noise: float) -> RunCost:  # a short number: people copy it
            digits = Fraction(f"{noise:.5e}")
            if by != "noise_multiplier":
                return cls.zcdp(in_decimals(1 / (2 * digits**2))) if by == "rho" else cls.pure(in_decimals(1 / digits))
            return (
                cls.gaussian(digits) if steps is None else cls.dp_sgd(digits, sample_rate=sample_rate or 0, steps=steps)
            )

        def fits(noise: float) -> bool:
            return best_of(run_at(noise), law, allowed).epsilon <= most

        # An event takes seconds, and its noise is seldom below a half: there a thousandth part is near enough.
        low, close = (2.0**-10, 1 + 2e-6) if steps is None else (0.5, 1 + 1e-3)
        high = 2 * low
        while not fits(high):
            low, high = high, 2 * high
            if high > 2.0**20:
                raise ParameterError(
                    "epsilon", "is met by no noise below 2**20", epsilon, "allow more, or a smaller mean"
                )
        while high / low > close:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if fits(middle) else (middle, high)
        return run_at(high)

    @classmethod
    def _by_curve(cls, what: str, orders: NDArray[np.float64], bounds: NDArray[np.float64]) -> Self:
        known = (orders > 1) & np.isfinite(bounds)
        orders, bounds = orders[known], np.maximum(bounds[known], 0)
        return cls(what=what, orders=orders, divergences=bounds, profile=partial(_curve_profile, orders, bounds))

    def composed(self, times: int, delta: Fraction) -> float:
        """The epsilon of a fixed number of runs whose results are all seen: what the theorem saves."""
        adding = math.inf if self.pure_epsilon is None else float(times * self.pure_epsilon)
        if not delta:
            return adding
        if self.rho is not None:
            return min(adding, zcdp_epsilon(rho=times * self.rho, delta=delta))
        return min(adding, _converted(self.orders, times * self.divergences, delta))

    def __repr__(self) -> str:
        return f"RunCost({self.what})"


def _log_cosh(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.abs(x) + np.log1p(np.exp(-2 * np.abs(x))) - math.log(2))


def _gaussian_profile(sigma: float, e: float) -> float:
    from scipy.special import log_ndtr, ndtr

    above, below = 1 / (2 * sigma) - e * sigma, -1 / (2 * sigma) - e * sigma
    return float(max(0.0, ndtr(above) - math.exp(min(e + float(log_ndtr(below)), 0.0))))


def _curve_profile(orders: NDArray[np.float64], bounds: NDArray[np.float64], e: float) -> float:
    """delta(e) of a Renyi curve (Canonne, Kamath, Steinke 2020, Prop. 12), at most 1."""
    logs = (orders - 1) * (bounds - e + np.log1p(-1 / orders)) - np.log(orders)
    return min(1.0, math.exp(min(float(logs.min()), 0.0)))


def _converted(orders: NDArray[np.float64], bounds: NDArray[np.float64], delta: Fraction) -> float:
    """The epsilon at delta of a Renyi curve: the same proposition."""
    inverse = math.log(delta.denominator) - math.log(delta.numerator)
    return max(0.0, float((bounds + (inverse - np.log(orders)) / (orders - 1) + np.log1p(-1 / orders)).min()))


@dataclass(frozen=True, kw_only=True)
class RunLaw:
    """The public law of K: a truncated negative binomial (``eta``, ``gamma``), or Poisson, where both are None."""

    name: str
    mean: Fraction
    """E[K], rounded up."""
    eta: Fraction | None = None
    gamma: Fraction | None = None

    @classmethod
    def of(cls, runs: object, mean: object, eta: object = None) -> Self:
        """The law of this name and mean; ``eta`` is for "negative-binomial" alone."""
        if isinstance(runs, int | float | Fraction | np.number):
            rule = "must be a law of a random and secret number of runs: the best of a fixed number is not covered"
            raise ParameterError(
                "runs", rule, runs, f'pass runs="logarithmic", mean={runs}; or compose and pay for all'
            )
        check_choice(runs, "runs", ETA, "the number of runs must be random")
        exact = exact_decimal(mean)
        if exact is None or not _LEAST_MEAN <= exact <= _MOST_MEAN:
            rule = f"must be above 1 ({float(_LEAST_MEAN)} at least) and at most {_MOST_MEAN:,}"
            raise ParameterError("mean", rule, mean, "pass for instance mean=30")
        shape = exact_decimal(eta) if runs == "negative-binomial" else ETA[str(runs)]
        if runs == "negative-binomial" and (shape is None or not Fraction(-1, 2) <= shape <= 100):
            raise ParameterError("eta", "must be from -0.5 to 100", eta, "0 is logarithmic, 1 geometric")
        if runs != "negative-binomial" and eta is not None:
            raise ParameterError("eta", f"must not be given for {runs!r}", eta, 'pass runs="negative-binomial"')
        if shape is None:
            return cls(name="poisson", mean=exact)
        shape = Fraction(shape)
        low, high = 1e-12, 1.0
        for _ in range(_FINEST):  # a larger gamma has a smaller mean
            middle = math.sqrt(low * high)
            low, high = (middle, high) if _mean(float(shape), middle) > exact else (low, middle)
        gamma = 1 / exact if shape == 1 else Fraction(high).limit_denominator(10**15)
        reached = exact if shape == 1 else in_decimals(Fraction(_mean(float(shape), float(gamma)) * _UP), digits=8)
        return cls(name=str(runs), mean=reached, eta=shape, gamma=gamma)

    def generating(self, x: float) -> float:
        """f(x) = E[x**K]."""
        if self.eta is None or self.gamma is None:
            return math.exp(float(self.mean) * (x - 1))
        eta, gamma = float(self.eta), float(self.gamma)
        rest = 1 - (1 - gamma) * x
        return math.log(rest) / math.log(gamma) if eta == 0 else float((rest**-eta - 1) / (gamma**-eta - 1))

    def top(self, confidence: float) -> float:
        """The q such that with this confidence a candidate of the best share q of the law is tried.

        None of K is with probability f(1-q).
        """
        return _least(lambda share: self.generating(1 - share) <= 1 - confidence, 1.0)

    def at_most_one(self) -> float:
        """P[K <= 1] = f(0) + f'(0)."""
        mean = float(self.mean)
        if self.eta is None or self.gamma is None:
            return (1 + mean) * math.exp(-mean)
        return float(mean * float(self.gamma) ** float(1 + self.eta))

    def draw(self, source: Source) -> int:
        """K, exactly: the k at which the sum of the probabilities passes a uniform number U.

        Sums are kept between whole numbers, and U is known through its first digits. Where these do not decide, more of
        the same U are drawn: given ideal bits the law is exactly the one above.

        >>> from sparsegate.noise import Seeded
        >>> source = Seeded(1)
        >>> [RunLaw.of("geometric", 10).draw(source) for _ in range(8)]
        [14, 1, 16, 2, 5, 5, 8, 3]
        """
        bits = 128
        digits = source.integer(bits)
        while (drawn := self._inverted(digits, bits)) is None:
            digits, bits = digits << 64 | source.integer(64), bits + 64
        return drawn

    def _inverted(self, digits: int, bits: int) -> int | None:
        """The k that the digits decide on; None where they do not."""
        # The first probability of a Poisson law is exp(-mean): as many more bits keep it known to as many digits.
        fine = bits + _SPARE + (2 * math.ceil(self.mean) if self.eta is None else 0)
        below, above = digits << (fine - bits), (digits + 1) << (fine - bits)
        least = most = 0
        for k, low, high in self._probabilities(fine):
            if most <= below and above <= least + low:
                return k
            least, most = least + low, most + high
            if most > below or not low:
                break
        return None

    def _probabilities(self, fine: int) -> Iterator[tuple[int, int, int]]:
        """Each k with whole numbers around 2**fine P[K = k]."""
        k = 0 if self.eta is None else 1
        low, high = _first_between(self, fine)
        while True:
            yield k, low, high
            k += 1
            ratio = self.mean / k if self.eta is None else (1 - (self.gamma or 0)) * (k - 1 + self.eta) / k
            low = low * ratio.numerator // ratio.denominator
            high = -(-high * ratio.numerator // ratio.denominator)


@lru_cache(maxsize=64)
def _first_between(law: RunLaw, fine: int) -> tuple[int, int]:
    """Whole numbers around 2**fine times the first probability."""
    with interval_arithmetic(fine + _SPARE) as iv:

        def exact(x: Fraction) -> Any:
            return iv.mpf(x.numerator) / iv.mpf(x.denominator)

        if law.eta is None or law.gamma is None:
            first = iv.exp(-exact(law.mean))
        else:
            log = -iv.log(exact(law.gamma))
            rest = iv.exp(exact(law.eta) * log) - 1 if law.eta else log
            first = exact((1 - law.gamma) * (law.eta or 1)) / rest
        low, high = (scaled_floor(end, fine) for end in first._mpi_)
    return max(low - 1, 0), high + 2


def _mean(eta: float, gamma: float) -> float:
    """E[K] = f'(1)."""
    log = -math.log(gamma)
    return (1 - gamma) / gamma * (eta / -math.expm1(-eta * log) if eta else 1 / log)


def _shift(run: RunCost, law: RunLaw) -> float:
    """T."""
    if law.eta is None or law.gamma is None:
        return float(law.mean) * run.profile(0.0)
    gamma = float(law.gamma)
    most = float(((1 - 1 / run.orders) * run.divergences - math.log(gamma) / run.orders).min())
    if run.pure_epsilon is not None:
        most = min(most, float(run.pure_epsilon))
    return float(1 + law.eta) * _least(lambda t: run.profile(t) <= math.expm1(t) * gamma / (1 - gamma), most)


def _least(meets: Callable[[float], bool], most: float) -> float:
    """The least number that meets it, from above; ``most`` is known to."""
    low, high = 0.0, most
    if math.isinf(most):
        high = 1.0
        while not meets(high):
            low, high = high, 2 * high
            if high > 1e6:
                return math.inf
    for _ in range(_FINEST):
        middle = (low + high) / 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high


def best_of(run: RunCost, law: RunLaw, delta: Fraction) -> Cost:
    """What the best of K such runs costs at this delta, by the better of the two bounds; epsilon is rounded up.

    Theorem 2 of Papernot and Steinke, which knows a run by its Renyi divergences alone, has 1.97 here:

    >>> from sparsegate.uses.run_cost import RunCost, RunLaw, best_of
    >>> law = RunLaw.of("logarithmic", 100)
    >>> round(float(best_of(RunCost.zcdp(0.024356), law, Fraction(1, 10**6)).epsilon), 2)
    1.78
    """
    pure = math.inf if run.pure_epsilon is None else float(run.pure_epsilon)
    mean, shift = float(law.mean), _shift(run, law)
    log_mean = math.log(mean + (law.generating(0) if law.eta is None else 0))
    epsilon = pure + shift
    if delta:
        orders, allowed, shifts = run.orders, float(delta / law.mean), np.array(shift)
        if law.eta is None:
            steps = np.log1p(1 / (orders - 1))
            shifts = np.minimum(shift, mean * np.array([run.profile(step) for step in steps]))
        by_renyi = _converted(orders, run.divergences + shifts + log_mean / (orders - 1), delta)
        epsilon = min(shift + _least(lambda e: run.profile(e) <= allowed, pure), by_renyi)
    if not math.isfinite(epsilon):
        rule = "must be given, or more: a run has no epsilon without it" if not delta else "is too small for this run"
        raise ParameterError("delta", rule, float(delta), "pass for instance delta=1e-6")
    whole = Cost.of(_raised(epsilon), delta)
    proved = [] if run.pure_epsilon is None else [pure_rho(_raised(pure + shift))]
    if run.rho is not None:
        proved.append(run.rho + _raised(shift + 2 * math.sqrt(float(run.rho) * log_mean)))
    return replace(whole, rho=min(proved), rho_delta=Fraction(0)) if proved else whole


def _raised(bound: float) -> Fraction:
    """A bound of floats as an exact number, above whatever they rounded away."""
    return in_decimals(Fraction(bound * _UP), digits=8)
