"""What private prediction costs, and how epsilon is split, from public numbers alone.

One person is in one of s batches and can change that callable's answer for *every* token. So nothing is parallel
here: the gate's loss and that of each paid token add. B is the clip, c the cutoff, e the loss of one paid token,

    e = 2 B / (s temperature),        or  B / (s temperature)  where each callable holds one person alone.

*Pure.* (eps1 + eps2 + c e)-DP; a transcript of m BELOW and k ABOVE costs L(m,k) + k e (``mechanisms.bounds``).

*Zero-concentrated.* A token is a draw of the exponential mechanism, e-bounded-range, and so (e**2/8)-zCDP
(``mechanisms.bounded_range``). A gate that is g-DP is (g**2/2)-zCDP (Bun, Steinke 2016). Together: g**2/2 + c e**2/8.
That tokens are drawn between the gate's answers changes nothing. An interactive g-DP mechanism is an interactive
post-processing of one randomised response at g (Vadhan, Wang 2021): release that first, and what follows are tokens,
each chosen by what came before.

*With delta* the gate is that of ``mechanisms.approximate``, of Laplace noise. **Theorem.** With its R(alpha) =
D_alpha(rho, rho + Delta) + c ln kappa / (alpha - 1), the whole is (epsilon, delta)-DP for each alpha > 1 with

    R(alpha) + alpha c e**2/8 + [ln(1/delta) + (alpha - 1) ln(1 - 1/alpha) - ln alpha] / (alpha - 1) <= epsilon.

*Proof.* Given rho, let P and Q be the laws of two neighbours of all that came out so far. The moment E_Q[(p/q)**alpha]
of the next answer of the gate, divided by kappa if it is ABOVE, is at most 1 (the proof there, which holds for
questions chosen in any way by what came out before, tokens included); that of the next paid token is at most
exp((alpha - 1) alpha e**2/8). So (P/Q)**alpha, divided by kappa for each ABOVE and by that for each token, is a
supermartingale under Q; there are at most c of both, and rho adds its own divergence. [] The first token of an
approximate gate is charged for as all of them: with delta nothing goes back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

from sparsegate.budget import Budget, Number, exact_count, exact_delta, exact_epsilon
from sparsegate.display.plain import exact_text
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Printed
from sparsegate.errors import ParameterError, load_extra
from sparsegate.mechanisms.accounting import Accountant, composed, gate_event, selection_event, waiting_rate
from sparsegate.mechanisms.approximate import approximate_scales, renyi_bound
from sparsegate.mechanisms.bounded_range import conversion, log_inverse
from sparsegate.mechanisms.calibration import Calibration
from sparsegate.mechanisms.lattice import exact_number
from sparsegate.mechanisms.sparse_vector import gate_calibration
from sparsegate.mechanisms.variants import VARIANTS
from sparsegate.noise.expansions import interval_arithmetic, scaled_floor
from sparsegate.noise.geometric import MAX_SCALE, MIN_SCALE
from sparsegate.uses.prediction.prediction_reading import MOST_BATCHES

STEP: Final = Fraction(1, 1024)
"""Distances are whole numbers of these, in batches."""

_TOKENS = Fraction(1, 2)  # the most of a pure epsilon that tokens get
_GATE = (Fraction(9, 10), Fraction(4, 5), Fraction(7, 10))
"""The epsilon of the gate were it alone, as a part of all: moments are squares, so 7/10 leaves half to tokens."""

_CLIP = 2**20  # the largest
_BITS, _DIGITS = 128, 40
_AROUND = math.log(8)  # ln(alpha - 1) is searched this far on both sides of the best order of plain zCDP


@dataclass(frozen=True, kw_only=True, repr=False)
class PredictionTerms(Printed):
    """What a ``PrivatePredictor`` costs and how sure it is of what it does; all of it public.

    ``epsilon`` and ``delta``: the loss of everything that comes out. ``token_epsilon``: e, that of one paid token.
    ``temperature``: what paid tokens are drawn at, where 1 is the mean clipped logits as they are.

    >>> import sparsegate as sg
    >>> terms = sg.PrivatePredictor.preview(batches=500, threshold=0.4, cutoff=20, epsilon=2, clip=5)
    >>> terms.epsilon, terms.token_epsilon, terms.temperature, round(terms.margin(), 3)
    (Fraction(2, 1), Fraction(1, 50), 1.0, 0.086)
    """

    batches: int
    """s, how many callables there are."""
    threshold: Fraction
    """The distance from the public model above which a token is paid for."""
    cutoff: int
    """How many tokens can be paid for."""
    epsilon: Fraction
    delta: Fraction
    token_epsilon: Fraction
    temperature: float
    calibration: Calibration
    """The noise of the gate."""

    def margin(self, confidence: float = 0.95) -> float:
        """How far from the threshold a distance must be to be taken as what it is with this probability."""
        return float(self.calibration.margin(confidence) * STEP / self.batches)

    @cached_property
    def zcdp(self) -> float:
        """The rho of zero-concentrated privacy of everything, rounded up."""
        gate, tokens = self.calibration, self.cutoff * self.token_epsilon**2 / 8
        if not self.delta:
            return math.nextafter(float(gate.budget.total**2 / 2 + tokens), math.inf)
        assert gate.scales.threshold is not None
        rho = (gate.lattice.sensitivity / gate.scales.threshold) ** 2 / 2
        return (float(rho + tokens) + waiting_rate(gate)) * (1 + 1e-12)

    def dp_event(self, accountant: Accountant = "rdp") -> Any:
        """Everything that comes out, as an event of Google's ``dp_accounting``: see docs/how-to/dp_sgd.md."""
        gate, each = gate_event(self.calibration, accountant), self.token_epsilon
        whole = {"delta": Fraction(0), "accountant": accountant}
        if accountant == "rdp":
            tokens = selection_event("exponential", epsilon=self.cutoff * each, count=self.cutoff, **whole)  # type: ignore[arg-type]
        else:
            one = selection_event("exponential", epsilon=each, count=1, **whole)  # type: ignore[arg-type]
            tokens = load_extra("dp_accounting.dp_event", extra="accounting").SelfComposedDpEvent(one, self.cutoff)
        return composed([gate, tokens])

    def sheet(self) -> Sheet:
        """One row, with the margin of the gate."""
        found = super().sheet()
        paid = f"ε = {exact_text(self.epsilon)}" + (f", δ = {exact_text(self.delta)}" if self.delta else "")
        columns = {**found.columns, "margin": [self.margin()]}
        return replace(
            found,
            title=f"private prediction, {paid}",
            brief=f"margin: a distance so far from the threshold is told apart with 95 %; {self.batches:,} batches",
            columns=columns,
            numbers=found.numbers | {"margin"},
        )

    def spent(self, *, gate: Fraction, paid: int) -> Fraction:
        """What has been spent where the gate has spent this much and this many tokens are paid for."""
        return gate if self.delta else gate + paid * self.token_epsilon


def prediction_terms(
    *,
    batches: int,
    threshold: Number,
    cutoff: int,
    epsilon: Number,
    delta: Number = 0,
    clip: Number = 10,
    temperature: Number = 1,
    alone: bool = False,
    not_private: bool = False,
) -> PredictionTerms:
    """Check the public numbers and split epsilon; the parameters are those of ``PrivatePredictor``.

    Tokens get what the temperature needs, but at most half of epsilon: then the temperature is higher. With delta, an
    approximate gate is taken where tokens are drawn no hotter and the margin is less; otherwise no delta is charged.

    >>> terms = prediction_terms(batches=500, threshold=0.4, cutoff=20, epsilon=2, clip=5)
    >>> terms.token_epsilon, terms.temperature, round(terms.margin(), 3)
    (Fraction(1, 50), 1.0, 0.086)
    """
    s, c, total = exact_count(batches, "batches"), exact_count(cutoff, "cutoff"), exact_epsilon(epsilon)
    if s > MOST_BATCHES:
        raise ParameterError("batches", f"must be at most {MOST_BATCHES}", s)
    bar = exact_number(threshold)
    if bar is None or not 0 < bar < 1:
        rule = "must lie strictly between 0 and 1: it is a distance between two distributions"
        raise ParameterError("threshold", rule, threshold, "pass for instance threshold=0.4")
    if not isinstance(alone, bool):
        raise ParameterError("alone", "must be True or False", alone, "pass True only for one person to a callable")
    width = exact_epsilon(clip, "clip")
    if not 1 <= width * _CLIP <= _CLIP**2:
        raise ParameterError("clip", f"must lie between 1/{_CLIP} and {_CLIP}", clip, "pass for instance clip=10")
    reach = (1 if alone else 2) * width / s
    needed = reach / exact_epsilon(temperature, "temperature")
    each = min(needed, total * _TOKENS / c)
    pure = PredictionTerms(
        batches=s,
        threshold=bar,
        cutoff=c,
        epsilon=total,
        delta=Fraction(0),
        token_epsilon=each,
        temperature=float(reach / each),
        calibration=gate_calibration(
            threshold=s * bar,
            cutoff=c,
            sensitivity=1,
            granularity=STEP,
            budget=Budget.allocate(total - c * each, cutoff=c),
            not_private=not_private,
        ),
    )
    if not exact_delta(delta, zero=True):
        return pure
    found = _approximate(pure, exact_delta(delta), reach=reach, needed=needed)
    if found is None or found.temperature > pure.temperature or found.margin() >= pure.margin():
        return pure
    return found


def _approximate(
    pure: PredictionTerms, delta: Fraction, *, reach: Fraction, needed: Fraction
) -> PredictionTerms | None:
    """The same under (epsilon, delta): the most for the gate that leaves tokens what they need; None: none found."""
    gate, total, found = pure.calibration, pure.epsilon, None
    for share in _GATE:
        scales = approximate_scales(
            epsilon=total * share,
            delta=delta,
            sensitivity=gate.lattice.sensitivity,
            cutoff=gate.cutoff,
            monotonic=False,
        )
        if scales is None or not all(MIN_SCALE <= scale <= MAX_SCALE for scale in scales if scale is not None):
            continue
        budget = Budget(threshold=0, queries=total, delta=delta)
        noised = replace(gate, row=VARIANTS["standard"], scales=scales, shift=0, budget=budget)
        each = min(needed, _left_to_tokens(noised, total, delta))
        if each:
            found = replace(pure, delta=delta, token_epsilon=each, temperature=float(reach / each), calibration=noised)
        if each == needed:
            break
    return found


def _left_to_tokens(gate: Calibration, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest e found that the theorem allows beside this gate, rounded down; 0 for none."""
    from mpmath import fp
    from scipy.optimize import minimize_scalar

    asked = log_inverse(delta)

    def divergence(alpha: Fraction) -> float:
        return renyi_bound(
            alpha, scales=gate.scales, sensitivity=gate.lattice.sensitivity, cutoff=gate.cutoff, monotonic=False
        )

    def lost(x: float) -> float:
        alpha = 1 + math.exp(x)
        return -(float(epsilon) - float(conversion(fp, alpha, asked)) - divergence(Fraction(alpha))) / alpha

    middle = math.log(2 * asked / float(epsilon))
    bounds = (middle - _AROUND, middle + _AROUND)
    best = minimize_scalar(lost, bounds=bounds, method="bounded", options={"maxiter": 20})
    order = 1 + Fraction(math.exp(best.x))
    with interval_arithmetic(_BITS) as iv:
        alpha = iv.mpf(order.numerator) / iv.mpf(order.denominator)
        added = conversion(iv, alpha, iv.log(iv.mpf(delta.denominator) / iv.mpf(delta.numerator)))
        room = iv.mpf(epsilon.numerator) / iv.mpf(epsilon.denominator) - added - iv.mpf(divergence(order))
        low = scaled_floor((8 * room / (alpha * gate.cutoff))._mpi_[0], 2 * _BITS)
    root = math.isqrt(max(low, 0))
    spare = max(root.bit_length() - _DIGITS, 0)
    return Fraction(root >> spare << spare, 1 << _BITS)
