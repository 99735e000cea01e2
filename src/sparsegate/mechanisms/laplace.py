"""One number, exactly noised: the Laplace mechanism on the lattice, and how far off it may be."""

from __future__ import annotations

import math
from fractions import Fraction

from sparsegate.budget import Number, Spender, charge, exact_epsilon
from sparsegate.mechanisms.calibration import trusted_source
from sparsegate.mechanisms.lattice import Lattice
from sparsegate.noise import Source, discrete_laplace, exact_scale


def laplace(
    count: Number,
    *,
    epsilon: Number,
    sensitivity: Number,
    granularity: Number | None = None,
    ledger: Spender | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> int | float:
    """Release one private number with exact Laplace noise of scale Delta/epsilon.

    **Theorem** (Dwork, McSherry, Nissim, Smith 2006; discrete: Ghosh, Roughgarden, Sundararajan 2009). If one
    person moves the number by at most ``sensitivity`` = Delta, the result is epsilon-DP: with q =
    exp(-epsilon/Delta), Pr[result = k] is proportional to q**abs(k - count), and a shift by Delta changes it by a
    factor of at most e**epsilon.

    An int with an int sensitivity gives an int. A float is rounded down to a lattice of step at most Delta/1024
    first; the type of ``sensitivity``, a public number, decides which, never the private number. A ``ledger`` is
    charged before the noise is drawn, and keeps the result.

    >>> import sparsegate as sg
    >>> sg.laplace(1234, epsilon=0.5, sensitivity=1, source=sg.Seeded(7), not_private=True)
    1234
    """
    lattice = Lattice.fit(sensitivity=sensitivity, granularity=granularity)
    spent = exact_epsilon(epsilon)
    scale = exact_scale(lattice.sensitivity / spent)
    steps = lattice.private_steps(count, "count")
    noise = trusted_source(source, not_private)
    keep = charge(ledger, epsilon=spent, what=f"one number with Laplace noise, sensitivity {sensitivity}").keep
    value = lattice.value(steps + discrete_laplace(noise, scale))
    keep({"release": "laplace", "value": value})
    return value


def error_bar(scale: Fraction, confidence: float, *, share: float = 1.0) -> int:
    """The smallest t such that discrete Laplace noise X is beyond t with probability at most share (1 - confidence).

    P[abs(X) > t] = 2 q**(t+1) / (1 + q) with q = exp(-1/scale).

    >>> error_bar(Fraction(100), 0.95), error_bar(Fraction(1, 10), 0.95)
    (300, 0)
    """
    rate = 1 / float(scale)
    needed = math.log(2 / (share * (1 - confidence) * (1 + math.exp(-rate)))) / rate
    return max(0, math.ceil(needed) - 1)


def error_bar_all(scale: Fraction, confidence: float, count: int) -> int:
    """The smallest t such that ``count`` noises, drawn apart, all lie within t with probability ``confidence`` or more.

    P[all abs(X) <= t] = (1 - P[abs(X) > t])**count, so each may be beyond t with probability 1 - confidence**(1/count).

    >>> error_bar_all(Fraction(100), 0.95, 1), error_bar_all(Fraction(100), 0.95, 50)
    (300, 688)
    """
    beyond = -math.expm1(math.log(confidence) / max(1, count))
    return error_bar(scale, confidence, share=beyond / (1 - confidence))
