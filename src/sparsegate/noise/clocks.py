"""Exponential clocks, known to as many digits as a comparison asks for, and the noise that is read off them.

A clock rings at E = -log(1 - V), V uniform on (0, 1); a random 64-bit word w says V lies in [w, w + 1] / 2**64.
Comparisons are made in floats with a proven error bound; where that does not decide, more digits of the same V are
drawn, and intervals decide. The bounds assume that numpy's and the C library's log and log1p err by at most 16 units in
the last place (a test compares them with mpmath). Noise is a falling function of the time A of a ring, or of V =
1 - exp(-A), the probability of a larger noise, so that one race of clocks serves every kind (``selection.race``):

    Gumbel      -log A                              the exponential mechanism, peeled
    OneSided    -log V                              exponential noise of scale one
    Staircase   Z = X + u, in units of its scale    X discrete Laplace, u uniform on (0, 1): u orders equal X

The formula of the staircase is derived in docs/explanation/proofs_in_words/core.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, Protocol

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


Floats = NDArray[np.float64]

_LEAST = 2.0**-116  # below V of the earliest of 2**62 clocks, which is 2**-115
_LAST = np.uint64(2**64 - 2**11)
_SMOOTH = 2.0**14  # from this scale on S(y) differs from y by less than 2**-31 b


class ClockNoise(Protocol):
    """A kind of noise. All its views are in the same units, those of the key that a race compares."""

    def coarse(self, words: NDArray[np.uint64], sizes: NDArray[np.int64] | None, out: Floats) -> None:
        """Write the noise of the first ring of each group: at most 2**-27 below the truth and 2**-30 above.

        For words that ``extreme`` marks it may be far below. ``sizes`` None means one item in each group.
        """

    def floats(self, times: Floats, relative: Floats) -> tuple[Floats, Floats]:
        """The noise at times (1 +- relative), and a bound on its error."""

    def interval(self, iv: Any, time: Any) -> Any:
        """The noise at an interval of times, as an interval."""


class Gumbel:
    """-log A."""

    def coarse(self, words: NDArray[np.uint64], sizes: NDArray[np.int64] | None, out: Floats) -> None:
        coarse_logs(words, out)
        if sizes is not None:
            out -= np.log(sizes)
        np.negative(out, out=out)

    def floats(self, times: Floats, relative: Floats) -> tuple[Floats, Floats]:
        noise = -np.log(times)
        return noise, 1.01 * relative + ROUNDING * (1 + np.abs(noise))

    def interval(self, iv: Any, time: Any) -> Any:
        return -iv.log(time)


class OneSided:
    """-log V: a relative error of A moves it by no more than itself, since A exp(-A) / (1 - exp(-A)) <= 1."""

    def coarse(self, words: NDArray[np.uint64], sizes: NDArray[np.int64] | None, out: Floats) -> None:
        _coarse_tails(words, sizes, out)
        np.log(out, out=out)
        np.negative(out, out=out)

    def floats(self, times: Floats, relative: Floats) -> tuple[Floats, Floats]:
        noise = -np.log(-np.expm1(-times))
        return noise, 1.01 * relative + ROUNDING * (1 + np.abs(noise))

    def interval(self, iv: Any, time: Any) -> Any:
        return -iv.log(1 - iv.exp(-time))


class Staircase:
    """Z of scale b > 0, in units of max(b, 1)."""

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale
        self.unit = max(scale, Fraction(1))
        self._b, self._unit = float(scale), float(self.unit)
        self._step = 1 / self._b
        self._last = math.expm1(-self._step)  # q - 1
        self._log1q = math.log1p(math.exp(-self._step))  # log(1 + q)
        self._middle = math.exp(-self._log1q)

    def coarse(self, words: NDArray[np.uint64], sizes: NDArray[np.int64] | None, out: Floats) -> None:
        _coarse_tails(words, sizes, out)
        below = (out > self._middle).astype(np.float64)
        _turn(out, below)
        np.maximum(out, _LEAST, out=out)
        np.log(out, out=out)
        out += self._log1q
        out *= -self._b
        if self._b < _SMOOTH:
            self._climb(out)
        _turn(out, below)
        out /= self._unit
        if (last := words >= _LAST).any():  # V is rounded up to 1: there is no telling how low the noise is
            out[last] = -np.inf

    def floats(self, times: Floats, relative: Floats) -> tuple[Floats, Floats]:
        tails = -np.expm1(-times)
        below = tails > self._middle
        noise = self._b * (np.where(below, times, -np.log(np.where(below, 1.0, tails))) - self._log1q)
        self._climb(noise)
        _turn(noise, below)
        noise /= self._unit
        # Beyond the middle log(1 - V) = -A itself, whose error is A times the relative one.
        return noise, 1.6 * (1.01 * relative + ROUNDING) * np.maximum(times, 1) + ROUNDING * (1 + np.abs(noise))

    def interval(self, iv: Any, time: Any) -> Any:
        survival = iv.exp(-time)
        stretch = 1 + iv.exp(-iv.mpf(self.scale.denominator) / iv.mpf(self.scale.numerator))
        above, below = ((stretch * share) for share in (1 - survival, survival))
        # The ends one by one: S rises, so each end of the noise comes from one end of V.
        ends = [
            self._stairs(iv, tail.b) if tail.b <= 1 else 1 - self._stairs(iv, rest.a)
            for tail, rest in ((above, below), (iv.mpf(above.a), iv.mpf(below.b)))
        ]
        unit = iv.mpf(self.unit.numerator) / iv.mpf(self.unit.denominator)
        return iv.mpf([ends[0].a, ends[1].b]) / unit

    def _stairs(self, iv: Any, share: Any) -> Any:
        """S(-b log(share)), of a number and not of an interval."""
        b = iv.mpf(self.scale.numerator) / iv.mpf(self.scale.denominator)
        y = -b * iv.log(share)
        low, high = (math.floor(end) for end in (y.a, y.b))
        at = [k + (1 - iv.exp(-(iv.mpf(end) - k) / b)) / (1 - iv.exp(-1 / b)) for k, end in ((low, y.a), (high, y.b))]
        return iv.mpf([at[0].a, at[1].b])

    def _climb(self, y: Floats) -> None:
        """From y to S(y), in place."""
        np.maximum(y, 0, out=y)  # rounding at the middle
        whole = np.floor(y)
        y -= whole
        y *= -self._step
        np.expm1(y, out=y)
        y /= self._last
        y += whole


def _turn(numbers: Floats, below: NDArray[np.float64] | NDArray[np.bool_]) -> None:
    """Write 1 - x for x where ``below`` is one, in place; without a branch, which random numbers would make slow."""
    numbers += below * (1 - 2 * numbers)


def _coarse_tails(words: NDArray[np.uint64], sizes: NDArray[np.int64] | None, out: Floats) -> None:
    """Write V of the first ring, rounded up as ``coarse_logs`` does: above the truth by a factor below 1 + 2**-28."""
    np.add(words >> np.uint64(11), np.uint64(1), out=out, casting="unsafe")
    out *= 2.0**-53
    if sizes is not None:
        with np.errstate(divide="ignore"):
            np.log1p(-out, out=out)
        out /= sizes
        np.expm1(out, out=out)
        np.negative(out, out=out)
