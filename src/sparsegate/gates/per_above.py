"""A gate that pays for each ABOVE when it gives it, for ever: what its opening and each ABOVE cost a zCDP ledger.

rho ~ discrete Laplace of scale t once, nu ~ discrete Laplace of scale b for each question, ABOVE iff q + nu >= T + rho;
s = 2, or 1 where one person moves all answers one way; Delta whole lattice steps. Let e = Delta/t and r = s Delta/b.

**Theorem.** On a zCDP ledger (``ledger.account``) such a gate may be charged e tanh(e/2) when it is opened, nothing for
a BELOW, and for each ABOVE w(r) = min(r, r**2 - r**3/3 + r**4/12). It needs no cutoff. Questions may be chosen by all
that was seen before, of this gate, of others and of any release, and be asked in any order among them, if w was within
what the ledger had left *before* each question. *Proof*, in docs/explanation/theory.md: with rho seen at the opening
each question is one toss of a coin, whose divergence is at most that of w. Not in Coq.

It needs that which way monotonic queries move follows from the two datasets, that only ABOVE and BELOW leave, and that
what is reserved is not given back while a question is under way: a question cut short counts as an ABOVE.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from sparsegate.budget import Budget, Cost, Meter, pure_rho
from sparsegate.errors import ParameterError
from sparsegate.gates.calibration import Calibration, steps_to_confidence
from sparsegate.gates.lattice import Lattice, exact_number
from sparsegate.gates.planning import golden_minimum
from sparsegate.gates.preview import Preview, gate_preview, least_epsilon
from sparsegate.gates.variants import VARIANTS, Closes, Scales
from sparsegate.noise import exact_scale

EXPECTED: Final = 10
MOST_EXPECTED: Final = 10**9
CONFIDENCE: Final = 0.95  # of the margin that is asked for: that of ``SparseVector.margin``
_RATIOS: Final = (math.log(1e-2), math.log(1e4))  # ln(e/r) is searched here
_MOST_OPENING: Final = Fraction(10**5)  # there is no noise for much more
_HALVINGS: Final = 50
_DIGITS: Final = 12


@dataclass(frozen=True, kw_only=True)
class Price:
    """What a gate costs: ``opening`` and ``above`` are e and r of the theorem; in rho, rounded up to twelve digits."""

    opening: Fraction
    above: Fraction

    @property
    def opening_rho(self) -> Fraction:
        """e tanh(e/2)."""
        return _rounded_up(pure_rho(self.opening))

    @property
    def above_rho(self) -> Fraction:
        """w(r)."""
        r = self.above
        return _rounded_up(min(r, r**2 - r**3 / 3 + r**4 / 12))

    def rho(self, positives: int) -> Fraction:
        """What a gate costs that gives this many ABOVE."""
        return self.opening_rho + positives * self.above_rho

    def open_meter(self, ledger: object, what: str) -> Meter:
        """Charge the opening to a zCDP ledger, and reserve the first ABOVE."""
        opening, each = (self.opening, self.opening_rho), (self.above, self.above_rho)
        meter: Meter = zcdp_ledger(ledger).open_meter(opening=opening, each=each, what=what)
        return meter


def _rounded_up(rho: Fraction) -> Fraction:
    unit = Fraction(10) ** (_DIGITS - len(str(rho.numerator)) + len(str(rho.denominator)))
    return math.ceil(rho * unit) / unit


def per_above_calibration(
    *, lattice: Lattice, monotonic: bool, within: object, expect: int, confidence: float = CONFIDENCE
) -> Calibration:
    """The gate of about the least cost of ``expect`` ABOVEs whose margin is at most ``within``."""
    wanted = exact_number(within)
    if wanted is None or wanted < lattice.granularity:
        rule = f"must be a number of at least {float(lattice.granularity):g}, the least margin of all"
        raise ParameterError("within", rule, within, "pass for instance within=100")
    price = _least_price(math.floor(wanted / lattice.granularity), lattice.sensitivity, monotonic, expect, confidence)
    if price is None:
        rule = "must be the margin of noise between 2**-20 and 2**48 steps"
        raise ParameterError("within", rule, within, "ask for another one")
    return Calibration(
        row=replace(VARIANTS["standard"], closes=Closes.NEVER),
        lattice=lattice,
        cutoff=expect,
        monotonic=monotonic,
        budget=Budget(threshold_epsilon=price.opening, query_epsilon=price.above),
        scales=_scales(price, lattice.sensitivity, monotonic),
        price=price,
    )


@lru_cache(maxsize=256)
def _least_price(within: int, sensitivity: int, monotonic: bool, expect: int, confidence: float) -> Price | None:
    """The price of noise whose margin is ``within`` steps; e/r is that of continuous noise, which has no lattice."""
    ratio = Fraction(math.exp(golden_minimum(lambda x: _cost(x, monotonic, expect, confidence), *_RATIOS)))
    ratio = Fraction(f"{float(ratio):.3g}")

    def price(above: Fraction) -> Price:
        return Price(opening=min(ratio * above, _MOST_OPENING), above=above)

    def enough(above: Fraction) -> bool:
        return steps_to_confidence(confidence, *_scales(price(above), sensitivity, monotonic)[:2]) <= within

    above = least_epsilon(enough)
    return None if above is None else price(above)


def _scales(price: Price, sensitivity: int, monotonic: bool) -> Scales:
    """t = Delta/e and b = s Delta/r, in lattice steps."""
    shift = sensitivity * (2 - monotonic)
    return Scales(exact_scale(sensitivity / price.opening), exact_scale(shift / price.above), None)


def _cost(log_ratio: float, monotonic: bool, expect: int, confidence: float) -> float:
    """(e**2/2 + n r**2) times the square of the margin, for continuous noise with b = 1: it is the same at any b."""
    r = float(2 - monotonic)
    e = r * math.exp(log_ratio)
    t = 1 / e if abs(e - 1) > 1e-6 else 1 + 1e-6

    def wrong(a: float) -> float:  # Pr[rho - nu > a]
        return (t * t * math.exp(-a / t) - math.exp(-a)) / (2 * (t * t - 1))

    low, high = 0.0, 50 * (1 + t)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if wrong(middle) > 1 - confidence else (low, middle)
    return (e * e / 2 + expect * r * r) * high * high


def per_above_preview(
    calibration: Calibration, *, threshold: object, confidence: float, ledger: object = None
) -> Preview:
    """What such a gate is good for, what it costs, and how many ABOVE a ledger would pay for; nothing is charged."""
    price = calibration.price
    assert price is not None
    margins = gate_preview(calibration, threshold=threshold, confidence=confidence)
    above = None if ledger is None else _paid_for(price, zcdp_ledger(ledger))
    paid = (
        f"rho {float(price.opening_rho):.3g} to open it and {float(price.above_rho):.3g} for each ABOVE, nothing for a "
        f"BELOW: {margins.statement.partition(': ')[2]}"
    )
    if above is not None:
        paid += f" What the ledger has left pays for {f'that and {above:,} ABOVE' if above else 'none of that'}."
    costs = {"expect": calibration.cutoff, "opening_rho": price.opening_rho, "above_rho": price.above_rho}
    settings = {name: value for name, value in margins.settings.items() if name != "cutoff"}
    epsilon = price.opening + calibration.cutoff * price.above
    return replace(
        margins,
        epsilon=epsilon,
        cost=Cost(epsilon=epsilon, rho=price.opening_rho + calibration.cutoff * price.above_rho),
        cost_at=None,  # such a gate is asked for by its margin
        settings={**settings, **costs, "above_paid": above},
        statement=paid,
        make_curves=tuple,
    )


def zcdp_ledger(ledger: object) -> Any:
    """The ledger, if each ABOVE can be paid from it."""
    if getattr(ledger, "rule", None) != "zcdp" or not hasattr(ledger, "open_meter"):
        rule = "must be an open zCDP ledger where each ABOVE is paid for when it is given"
        raise ParameterError(
            "ledger", rule, ledger, "open one that was made with a delta, or pass cutoff= and epsilon="
        )
    return ledger


def _paid_for(price: Price, ledger: Any) -> int:
    """How many ABOVE a ledger pays for now, after the opening; 0 where it cannot open a gate."""
    left: Fraction = ledger.statement().remaining.rho - price.opening_rho
    return max(math.floor(left / price.above_rho), 0)
