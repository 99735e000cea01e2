"""Numbers with exact Gaussian noise: where a person moves many of them, a fraction of what Laplace noise adds.

What normal noise (epsilon, delta) asks for, by its own law: *Theorem* (Balle, Wang 2018, Thm. 8). If one person moves a
vector by at most 1 in Euclidean norm, the vector with independent noise sigma N in each entry, N standard normal, and
whatever is computed of it, as its parts rounded down are (``noise.gaussian.normal_floor``), is (epsilon, delta)-DP if

    Phi(1/(2 sigma) - epsilon sigma) - e**epsilon Phi(-1/(2 sigma) - epsilon sigma) <= delta;

and it is 1/(2 sigma**2)-zCDP. No float decides: ``gaussian_sigma`` is the least whole number of parts of 2**-``PARTS``
that passes with every term bounded from the side that makes it larger.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from sparsegate.budget import (
    Number,
    Spender,
    charge,
    conversion_delta,
    exact_count,
    exact_delta,
    exact_epsilon,
    in_decimals,
)
from sparsegate.errors import ParameterError
from sparsegate.gates.approximate import zcdp_epsilon
from sparsegate.gates.calibration import least_whole
from sparsegate.gates.laplace import array_shape, entries, release
from sparsegate.gates.lattice import Lattice
from sparsegate.noise import Source, discrete_gaussian, exact_square
from sparsegate.noise.expansions import interval_floor
from sparsegate.noise.laplace import MAX_SCALE, MIN_SCALE
from sparsegate.noise.own_settings import own_settings

_MOST = 2**40  # of rho: whoever asks for more has a unit wrong
PARTS = 24  # binary digits of a sigma for (epsilon, delta) behind the point
_MOST_PARTS = 1 << 48
_LEAST_DELTA = Fraction(1, 1 << 1024)
_LARGEST = Fraction(64)  # of epsilon: more asks for hardly less noise, and what is private for less is for more
_GUARD = 64


@own_settings
def gaussian(
    count: Any,
    *,
    sigma: Number | None = None,
    rho: Number | None = None,
    sensitivity: Number,
    max_items_per_user: int = 1,
    delta: Number | None = None,
    granularity: Number | None = None,
    ledger: Spender | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> Any:
    """Release private numbers with exact discrete Gaussian noise of scale ``sigma``, or of the sigma that ``rho`` pays.

    **Theorem** (Canonne, Kamath, Steinke 2020, Prop. 5). If one person moves the numbers by at most Delta in Euclidean
    norm (the root of the sum of the squares of all moves), the whole result is rho-zCDP, rho = Delta**2/(2 sigma**2).
    Delta**2 is ``max_items_per_user`` times ``sensitivity`` squared: say how many entries one person may move, and by
    how much each at most; or, with one item a person, the norm itself. How many entries there are must be public.

    Proof: docs/explanation/proofs_in_words/core.md. (On a lattice sigma is computed for the places, which move by less
    than Delta/g + sqrt(d) in norm.)

    Where a person moves m counts by one, the noise for one rho grows with sqrt(m); that of ``laplace`` for one epsilon
    grows with m: 100 counts a person under (1, 1e-6) have a standard deviation of 45 instead of 141.

    ``count`` is the number, or an array, as in ``laplace``. With a float ``sensitivity``, or a ``granularity``, it is
    rounded down to a lattice as there, of d > 1 entries to steps of at most ``sensitivity``/(1024 sqrt(d)). There is no
    epsilon without a delta: a ``ledger`` that adds needs ``delta`` and is charged the (epsilon, delta) that rho-zCDP
    implies (``gates.approximate``), rounded up, before the noise is drawn. A zCDP ledger is charged that rho and no
    delta at all; ``delta`` is then only for the epsilon that its entry shows, and may be left out. Either keeps the
    result. A ``source`` other than ``Secure`` needs ``not_private=True``.

    >>> import sparsegate as sg
    >>> sg.gaussian(1234, sigma=10, sensitivity=1, source=sg.Seeded(7), not_private=True)
    1236
    >>> options = {"sensitivity": 1, "max_items_per_user": 3, "source": sg.Seeded(7), "not_private": True}
    >>> sg.gaussian([120, 45, 0], rho=0.1, **options)
    array([119,  41,  -2])
    """
    shape = array_shape(count)
    numbers = entries(shape)
    items = exact_count(max_items_per_user, "max_items_per_user")
    root = 1 if numbers <= 1 else math.isqrt(numbers - 1) + 2  # sqrt(d), rounded up, and one
    lattice = Lattice.fit(sensitivity=sensitivity, granularity=granularity, entries=root)
    moved = items * lattice.sensitivity**2
    if (sigma is None) == (rho is None):
        rule, hint = "must be given, or rho, and not both", "pass for instance rho=0.01"
        raise ParameterError("sigma", rule, sigma, hint)
    if sigma is None:
        name, passed, spent = "rho", rho, exact_epsilon(rho, "rho")
        square = moved / (2 * spent)
    else:
        name, passed, square = "sigma", sigma, (exact_epsilon(sigma, "sigma") / lattice.granularity) ** 2
        spent = moved / (2 * square)
    if spent > _MOST or not MIN_SCALE**2 <= square <= MAX_SCALE**2:
        rule = "must be for noise from about a millionth of the sensitivity, and 2**-20 lattice steps, to 2**48 steps"
        raise ParameterError(name, rule, passed, "pass for instance rho=0.01")
    at = conversion_delta(ledger) if delta is None else exact_delta(delta)
    if at is None and ledger is not None:
        rule = "must be given with a ledger that adds epsilons: Gaussian noise has none without it"
        raise ParameterError("delta", rule, delta, "pass for instance delta=1e-6, or use a zCDP ledger")
    epsilon = in_decimals(max(Fraction(zcdp_epsilon(rho=spent, delta=at)), spent)) if at else Fraction(0)
    times = f" in {items} entries" if items > 1 else ""
    noise = f"Gaussian noise, sensitivity {sensitivity}{times}, {float(spent):.6g}-zCDP"
    pay = partial(charge, ledger, epsilon=epsilon, delta=at or 0, rho=spent, rho_delta=0)
    draw = partial(discrete_gaussian, square=exact_square(square))
    return release("gaussian", count, shape, lattice, draw, noise, pay, source=source, not_private=not_private)


def normal_tail(x: Fraction, bits: int) -> tuple[int, int]:
    """Whole numbers around 2**bits Pr[N >= x]; they differ by 2 at most.

    1/2 - phi(x) (x + x**3/3 + x**5/(3 5) + ...) for x >= 0: all terms are positive, each is rounded down and up, and
    once a term is less than half the one before, all that follow are less than the last.
    """
    if x < 0:
        low, high = normal_tail(-x, bits)
        return (1 << bits) - high, (1 << bits) - low
    square = x * x
    guard = _GUARD + math.ceil(square)  # the sum is below e**(x**2/2) 1.26, so that its errors are as much larger
    fine = bits + guard
    top, bottom = square.numerator, square.denominator
    least = (x.numerator << fine) // x.denominator
    most = least + 1
    low = high = odd = 0
    while odd == 0 or most > 1 or 2 * square > odd:
        low, high, odd = low + least, high + most, (odd or 1) + 2
        least, most = least * top // (bottom * odd), -(-most * top // (bottom * odd))
    high += 2 * most
    floors = interval_floor(-square / 2, lambda iv, e: e / iv.sqrt(2 * iv.pi), fine, fine + _GUARD)
    half = 1 << (fine - 1)
    upper = half - (low * floors[0] >> fine)
    lower = half - (-(-high * (floors[1] + 1) >> fine))
    return max(lower >> guard, 0), -(-upper >> guard)


@lru_cache(maxsize=256)
def gaussian_sigma(*, epsilon: Fraction, delta: Fraction) -> Fraction | None:
    """The least sigma of the theorem, in parts of 2**-``PARTS``; None where it is beyond 2**24, or delta too small."""
    if delta < _LEAST_DELTA:
        return None
    epsilon = min(epsilon, _LARGEST)
    bits = (1 / delta).__ceil__().bit_length() + _GUARD
    allowed = math.floor(delta * (1 << bits))
    factor, _ = interval_floor(epsilon, lambda iv, e: e, bits, bits + _GUARD)

    def enough(parts: int) -> bool:
        sigma = Fraction(parts, 1 << PARTS)
        apart, middle = 1 / (2 * sigma), epsilon * sigma
        _, inside = normal_tail(middle - apart, bits)
        outside, _ = normal_tail(middle + apart, bits)
        return inside - (factor * outside >> bits) <= allowed

    start = 1 << (PARTS - 4)
    while not enough(start):
        start *= 2
        if start > _MOST_PARTS:
            return None
    return Fraction(least_whole(enough, start=start), 1 << PARTS)
