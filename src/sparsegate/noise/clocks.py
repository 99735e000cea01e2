"""Exponential clocks, known to as many digits as a comparison asks for.

A clock rings at E = -log(1 - V), V uniform on (0, 1), so that P[E > x] = exp(-x). V is known through the
first digits of its binary expansion: a random 64-bit word w says V lies in [w, w + 1] / 2**64. Comparisons
are made in floats with a proven error bound; where that does not decide, more digits of the same V are
drawn, and remembered, and the comparison is made again in interval arithmetic. Whatever the order of the
comparisons, their outcome is the one of the real numbers E.

Three views of one clock, from coarse to exact:

    coarse_logs   log E within 2**-27.9 for all but the words that ``extreme`` marks, at two logarithms a clock
    ring_times    E with a relative error for each, at most about 2**-47 unless V is very close to 0 or 1
    enclose       x plus noise read off a sum of E_j / m_j, between two integers, in units of 2**-bits for any bits

The floating-point bounds rest on one assumption: numpy's and the C library's log and log1p err by at most
16 units in the last place. (Usual errors are below one; a test compares them with mpmath.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsegate.noise.expansions import interval_arithmetic, scaled_floor
from sparsegate.noise.sources import Source

ROUNDING = 2.0**-47
"""Relative error of a ring time and of its logarithm, besides what the digits of V not yet drawn leave open."""

_FEW = 2.0**10  # a word this close to either end leaves more than a part in a thousand of E open


class Clock:
    """The digits of one V drawn so far: V lies in [prefix, prefix + 1] / 2**bits."""

    __slots__ = ("bits", "prefix")

    def __init__(self, word: int, bits: int = 64) -> None:
        self.prefix = word
        self.bits = bits

    def extend(self, source: Source, bits: int) -> None:
        """Draw digits until at least ``bits`` are known and V is away from 0 and 1, where log E would be infinite."""
        while self.bits < bits or self.prefix == 0 or self.prefix + 1 == 1 << self.bits:
            more = max(64, bits - self.bits)
            self.prefix = self.prefix << more | source.integer(more)
            self.bits += more

    def __repr__(self) -> str:
        return "Clock(...)"  # its digits are noise


def coarse_logs(words: NDArray[np.uint64], out: NDArray[np.float64]) -> None:
    """Write log E for each word, rounded up: above the truth by less than 2**-27.9, below it by rounding alone.

    V is rounded up to v = (floor(w / 2**11) + 1) / 2**53. From V = 2**-24 to 1/2 that moves log E by at most
    1.45 * 2**-29, since d log E / d log V <= 1.45 there; from 1/2 to 1 - 2**-20 by at most 2**-33 / 13.
    Closer to the ends the result may be far above the truth; ``extreme`` marks those words.
    """
    np.add(words >> np.uint64(11), np.uint64(1), out=out, casting="unsafe")
    out *= -(2.0**-53)
    with np.errstate(divide="ignore"):  # v = 1 rings at infinity
        np.log1p(out, out=out)
        np.negative(out, out=out)
        np.log(out, out=out)


def extreme(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """The words for which ``coarse_logs`` may be far above the truth: V < 2**-24 or 1 - V < 2**-20; one in 2**19.9."""
    return (words + np.uint64(1 << 44)) < np.uint64((1 << 44) + (1 << 40))  # addition wraps around


def ring_times(words: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """E for each word, and r such that the truth lies in [E (1 - r), E (1 + r)] whatever the digits of V still to come.

    With m = min(w, 2**64 - 1 - w) and z = (m + 1/2) / 2**64, E is -log1p(-z) for V < 1/2 and -log(z) above.
    The truth is E at some z (1 + theta), |theta| <= 0.5 / (m + 1/2) + 2**-52, and the relative derivative
    of E is at most 1.4427 for z <= 1/2; r is infinite where m < 2**10.
    """
    upper = words >> np.uint64(63) == 1
    near = np.where(upper, ~words, words).astype(np.float64) + 0.5
    z = near * 2.0**-64
    times = -np.where(upper, np.log(z), np.log1p(-z))
    relative = 0.75 / near + ROUNDING
    relative[near < _FEW] = np.inf
    return times, relative


def enclose(
    numerator: int, denominator: int, clocks: Iterable[tuple[Clock, int]], bits: int, noise: Callable[[Any, Any], Any]
) -> tuple[int, int]:
    """Integers around 2**bits * (x + noise(A)), x = numerator / denominator, A the sum of E_j / m_j from ``clocks``.

    ``noise`` takes an interval context and the interval of A. Every step rounds outward; one unit more on either side
    covers a library logarithm that rounds to the wrong side.
    """
    pairs = list(clocks)
    digits = max(bits, *(clock.bits for clock, _ in pairs))
    with interval_arithmetic(digits + 64 + max(0, numerator.bit_length() - denominator.bit_length())) as iv:
        time = iv.mpf(0)
        for clock, waiting in pairs:
            whole = 1 << clock.bits
            survival = iv.mpf([whole - clock.prefix - 1, whole - clock.prefix]) / iv.mpf(whole)
            time -= iv.log(survival) / iv.mpf(waiting)
        low, high = (iv.mpf(numerator) / iv.mpf(denominator) + noise(iv, time))._mpi_
    return scaled_floor(low, bits) - 1, scaled_floor(high, bits) + 2
