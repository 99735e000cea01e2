"""Numbers, exactly noised: the Laplace mechanism on the lattice, and how far off one may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from sparsegate.budget import Charge, Number, Spender, charge, exact_epsilon
from sparsegate.gates.calibration import trusted_source
from sparsegate.gates.lattice import Lattice
from sparsegate.noise import Source, discrete_laplace, exact_scale
from sparsegate.noise.own_settings import own_settings


@own_settings
def laplace(
    count: Any,
    *,
    epsilon: Number,
    sensitivity: Number,
    granularity: Number | None = None,
    ledger: Spender | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> Any:
    """Release private numbers with exact Laplace noise of scale Delta/epsilon: one, or an array of them at once.

    **Theorem** (Dwork, McSherry, Nissim, Smith 2006; discrete: Ghosh, Roughgarden, Sundararajan 2009). If one person
    moves the numbers by at most ``sensitivity`` = Delta *in all*, that is the sum of the absolute moves of the entries
    (the L1 sensitivity of the whole array), the whole result is epsilon-DP. *Proof.* With q = exp(-epsilon/Delta) each
    Pr[result_i = k] is proportional to q**abs(k - count_i), independently. A move by x_i changes it by a factor of at
    most e**(epsilon x_i/Delta), and the x_i add up to Delta. [] So for a histogram in which a person is in one cell
    Delta is 1; in at most m cells, m; where a person may move each of d entries by one, d. How many entries there are
    must be public. Machine-checked: proofs/README.md.

    ``count`` is the number, or an array of them: of numpy (of any shape), a list, or a column of pandas, Polars or
    PyArrow; it comes back as a numpy array. Whole numbers with an int ``sensitivity`` give whole numbers. With a float
    one, or a ``granularity``, numbers are rounded down to a lattice of step at most Delta/1024 (for d entries
    Delta/(1024 d)) first. No value is refused, not even NaN, only a type: see ``lattice``. A ``ledger`` is charged
    before the noise is drawn, and keeps the result. A ``source`` other than ``Secure`` needs ``not_private=True``.

    >>> import sparsegate as sg
    >>> sg.laplace(1234, epsilon=0.5, sensitivity=1, source=sg.Seeded(7), not_private=True)
    1234
    >>> sg.laplace([120, 45, 0], epsilon=0.5, sensitivity=1, source=sg.Seeded(7), not_private=True)
    array([126,  43,   0])
    """
    shape = array_shape(count)
    lattice = Lattice.fit(sensitivity=sensitivity, granularity=granularity, entries=max(entries(shape), 1))
    spent = exact_epsilon(epsilon)
    draw = partial(discrete_laplace, scale=exact_scale(lattice.sensitivity / spent))
    pay = partial(charge, ledger, epsilon=spent)
    noise = f"Laplace noise, sensitivity {sensitivity}"
    return release("laplace", count, shape, lattice, draw, noise, pay, source=source, not_private=not_private)


def array_shape(count: Any) -> tuple[int, ...] | None:
    """The shape of an array, from its type and its length alone; None for one number."""
    if not hasattr(count, "__len__") or isinstance(count, str | bytes) or getattr(count, "ndim", 1) == 0:
        return None
    return count.shape if isinstance(count, np.ndarray) else (len(count),)


def entries(shape: tuple[int, ...] | None) -> int:
    """How many numbers there are."""
    return math.prod(shape or ())


def release(
    name: str,
    count: Any,
    shape: tuple[int, ...] | None,
    lattice: Lattice,
    draw: Callable[..., Any],
    noise: str,
    pay: Callable[..., Charge],
    *,
    source: Source | None,
    not_private: bool,
) -> Any:
    """The numbers with noise: checked, then paid for, then drawn, then kept; ``noise`` is what a ledger says of it."""
    flat = count.reshape(-1) if isinstance(count, np.ndarray) and shape is not None else count
    steps: Any = lattice.private_steps(count, "count") if shape is None else lattice.private_steps_many(flat, "count")
    trusted = trusted_source(source, not_private)
    keep = pay(what=f"{'one number' if shape is None else f'{entries(shape)} numbers'} with {noise}").keep
    if shape is None:
        value = lattice.value(steps + draw(trusted))
        keep({"release": name, "value": value})
        return value
    values = lattice.values(steps + draw(trusted, size=entries(shape))).reshape(shape)
    keep({"release": name, "values": values.tolist()})
    return values


def error_bar(scale: Fraction, confidence: float, *, share: float = 1.0) -> int:
    """The smallest t such that discrete Laplace noise X is beyond t with probability at most share (1 - confidence).

    P[abs(X) > t] = 2 q**(t+1) / (1 + q) with q = exp(-1/scale).
    """
    rate = 1 / float(scale)
    needed = math.log(2 / (share * (1 - confidence) * (1 + math.exp(-rate)))) / rate
    return max(0, math.ceil(needed) - 1)


def error_bar_all(scale: Fraction, confidence: float, count: int) -> int:
    """The smallest t such that ``count`` noises, drawn apart, all lie within t with probability ``confidence`` or more.

    P[all abs(X) <= t] = (1 - P[abs(X) > t])**count, so each may be beyond t with probability 1 - confidence**(1/count).
    """
    beyond = -math.expm1(math.log(confidence) / max(1, count))
    return error_bar(scale, confidence, share=beyond / (1 - confidence))
