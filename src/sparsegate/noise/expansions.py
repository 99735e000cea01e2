"""Binary expansions of probabilities, as many digits as a draw asks for and every one of them certain.

A probability p in [0, 1] is known through ``prefix(bits) = floor(p * 2**bits)``. For a rational p that is integer
division. For the transcendental ones below, an interval [lo, hi] that contains p is computed with outward rounding
and refined until both ends agree on the digits asked for. The refinement ends: for rational x != 0, exp(x) is
transcendental (Lindemann), so p is never a dyadic number that the interval would straddle for ever.

    decay(x)    = exp(-x)                 ratio of a geometric variable
    logistic(x) = 1 / (1 + exp(x))        a binary digit of a geometric variable is one with this probability
    centre(x)   = (1-exp(-x))/(1+exp(-x)) a discrete Laplace variable is zero with this probability
    tail(x, k)  = exp(-kx) / (1+exp(-x))  a discrete Laplace variable is at least k >= 1 with this probability

Machine-checked: proofs/README.md.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from typing import Any

_STEP = 256  # bits computed at a time: one evaluation serves all but one in 2**192 draws


class Expansion:
    """The binary digits of a probability, computed on demand."""

    def __init__(self, floor: Callable[[int], int]) -> None:
        self._floor = floor
        self._known = (-1, 0)  # bits and floor(p * 2**bits), in one tuple: threads see a consistent pair
        self._digits16: list[int] = []

    def prefix(self, bits: int) -> int:
        """floor(p * 2**bits)."""
        known, value = self._known
        if bits > known:
            known = max(1, -(-bits // _STEP)) * _STEP
            value = self._floor(known)
            self._known = (known, value)
        return value >> (known - bits)

    def digit(self, index: int, width: int) -> int:
        """Return digit number ``index`` of the expansion in base 2**width."""
        return self.prefix(width * (index + 1)) & ((1 << width) - 1)

    def digit16(self, index: int) -> int:
        """Return digit number ``index`` in base 2**16, remembered for the inner loop of the batch samplers."""
        digits = self._digits16  # looked up once: another thread may put a shorter list in its place
        if index >= len(digits):
            self._digits16 = digits = [self.digit(i, 16) for i in range(index + 1)]
        return digits[index]


def rational(p: Fraction) -> Expansion:
    """The expansion of a rational probability."""
    return Expansion(lambda bits: (p.numerator << bits) // p.denominator)


@lru_cache(maxsize=4096)
def decay(x: Fraction) -> Expansion:
    """exp(-x) for x > 0."""
    return _transcendental(x, lambda iv, e: 1 / e)


@lru_cache(maxsize=4096)
def logistic(x: Fraction) -> Expansion:
    """1 / (1 + exp(x)) for x > 0."""
    return _transcendental(x, lambda iv, e: 1 / (1 + e))


@lru_cache(maxsize=4096)
def centre(x: Fraction) -> Expansion:
    """(1 - exp(-x)) / (1 + exp(-x)) for x > 0."""
    return _transcendental(x, lambda iv, e: (e - 1) / (e + 1))


def tail(x: Fraction, k: int) -> Expansion:
    """P[X >= k], k >= 1, X discrete Laplace of scale 1/x. Not remembered: k is where a secret threshold stands."""
    return _transcendental(x, lambda iv, e: 1 / (e ** (k - 1) * (e + 1)))


def _transcendental(x: Fraction, of_exponential: Callable[[Any, Any], Any]) -> Expansion:
    def floor(bits: int) -> int:
        guard = 64
        while True:
            low, high = interval_floor(x, of_exponential, bits, bits + guard)
            # p lies strictly between 0 and 1, however close: without this, p = 1 - exp(-10**6) would ask for a
            # million bits.
            low, high = max(low, 0), min(high, (1 << bits) - 1)
            if low == high:
                return low
            guard *= 2

    return Expansion(floor)


_interval_lock = threading.RLock()

if hasattr(os, "register_at_fork"):
    # A fork waits until no thread computes: a child must inherit neither a lock that is held for ever nor mpmath's
    # remembered constants half written.
    os.register_at_fork(
        before=_interval_lock.acquire, after_in_parent=_interval_lock.release, after_in_child=_interval_lock.release
    )


@contextmanager
def interval_arithmetic(precision: int) -> Iterator[Any]:
    """An interval context of our own of this many bits, for one thread at a time: mpmath's constants are shared."""
    with _interval_lock:
        context = _interval_context()
        context.prec = precision
        yield context


@lru_cache(maxsize=1)
def _interval_context() -> Any:
    from mpmath import MPIntervalContext  # heavy, and only needed once a law is fixed

    return MPIntervalContext()


def interval_floor(
    x: Fraction, of_exponential: Callable[[Any, Any], Any], bits: int, precision: int
) -> tuple[int, int]:
    """Floors of both ends of ``of_exponential(exp(x)) * 2**bits``, computed outward at ``precision`` bits."""
    with interval_arithmetic(precision + max(0, x.numerator.bit_length() - x.denominator.bit_length())) as iv:
        value = of_exponential(iv, iv.exp(iv.mpf(x.numerator) / iv.mpf(x.denominator)))
        low, high = value._mpi_
    return scaled_floor(low, bits), scaled_floor(high, bits)


def scaled_floor(raw: tuple[int, int, int, int], bits: int) -> int:
    """floor(x * 2**bits) of a finite mpmath number in its raw form (sign, mantissa, exponent, bit count)."""
    sign, mantissa, exponent, _ = raw
    shift = exponent + bits
    value = -int(mantissa) if sign else int(mantissa)
    return value << shift if shift >= 0 else value >> -shift
