"""Exponential clocks: every stated error bound against mpmath, at the ends as in the middle."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.noise import Seeded
from sparsegate.noise.clocks import (
    Clock,
    ClockNoise,
    Gumbel,
    OneSided,
    Staircase,
    coarse_logs,
    enclose,
    extreme,
    ring_times,
)
from sparsegate.noise.expansions import interval_arithmetic

EDGES = [
    offset + sign * delta
    for offset in (0, 2**11, 2**40, 2**63, 2**64 - 2**44, 2**64)
    for sign in (-1, 1)
    for delta in (0, 1, 2, 5, 1023, 1024, 1025, 2**20, 2**30)
]
WORDS = np.array(
    sorted({word for word in EDGES if 0 <= word < 2**64} | set(Seeded(1).bytes(8 * 500).view("<u8").tolist())),
    dtype=np.uint64,
)


def time_at(numerator: int, bits: int) -> mpmath.mpf:
    """E where V = numerator / 2**bits, to 100 digits."""
    with mpmath.workdps(100):
        return -mpmath.log(1 - mpmath.mpf(numerator) / mpmath.mpf(2) ** bits)


def test_coarse_logs_are_never_below_and_hardly_above_the_truth():
    coarse = np.empty(WORDS.size)
    coarse_logs(WORDS, coarse)
    for word, log, far in zip(WORDS.tolist(), coarse.tolist(), extreme(WORDS).tolist(), strict=True):
        if word + 1 < 2**64:
            assert log >= mpmath.log(time_at(word + 1, 64)) - 1e-12
        if not far:
            assert log <= mpmath.log(time_at(word, 64)) + 2**-27.9


def test_ring_times_enclose_every_continuation_of_the_word():
    times, relative = ring_times(WORDS)
    for word, time, error in zip(WORDS.tolist(), times.tolist(), relative.tolist(), strict=True):
        if np.isfinite(error):
            assert time * (1 - error) <= time_at(word, 64)
            assert time_at(word + 1, 64) <= time * (1 + error)
        else:
            assert min(word, 2**64 - 1 - word) < 1024


@given(st.integers(1, 2**64 - 2), st.integers(-(10**30), 10**30), st.integers(1, 10**12), st.integers(1, 2**62))
def test_an_enclosure_holds_the_truth_and_shrinks_as_digits_come(word, top, bottom, size):
    source, clock = Seeded(word), Clock(word)
    for bits in (64, 128, 256):
        clock.extend(source, bits + 64)
        low, high = enclose(top, bottom, [(clock, size)], bits, Gumbel().interval)
        with mpmath.workdps(150):
            time = time_at(2 * clock.prefix + 1, clock.bits + 1)
            truth = (mpmath.mpf(top) / bottom - mpmath.log(time / size)) * mpmath.mpf(2) ** bits
            assert low <= truth <= high
        assert high - low <= 4 + 2 ** max(0, 68 - min(word, 2**64 - word).bit_length())


SCALES = [
    Fraction(1, 50),
    Fraction(1, 2),
    Fraction(1),
    Fraction(10),
    Fraction(10**4, 3),
    Fraction(2**14),
    Fraction(10**9),
]
KINDS: list[ClockNoise] = [Gumbel(), OneSided(), *map(Staircase, SCALES)]
DRAWN = Seeded(4).bytes(8 * 150).view("<u8")


def true_noise(kind: ClockNoise, word: int, size: int = 1) -> mpmath.mpf:
    """The noise where V = (word + 1/2) / 2**64 is the clock's number, by bisection of the law for the staircase."""
    time = -mpmath.log(1 - (mpmath.mpf(word) + 0.5) / 2**64) / size
    if isinstance(kind, Gumbel):
        return -mpmath.log(time)
    tail = -mpmath.expm1(-time)
    if isinstance(kind, OneSided):
        return -mpmath.log(tail)
    assert isinstance(kind, Staircase)
    b = mpmath.mpf(kind.scale.numerator) / kind.scale.denominator
    low = -2 * int(b * 60 + 2)
    high = -low
    while high - low > 1:  # the largest k with P[X >= k] >= V
        middle = (low + high) // 2
        low, high = (middle, high) if upper_tail(middle, b) >= tail else (low, middle)
    ahead = (upper_tail(low, b) - tail) / (upper_tail(low, b) - upper_tail(low + 1, b))
    return (low + ahead) * kind.unit.denominator / mpmath.mpf(kind.unit.numerator)


def upper_tail(k: int, b: mpmath.mpf) -> mpmath.mpf:
    """P[X >= k] of discrete Laplace noise."""
    q = mpmath.exp(-1 / b)
    return q**k / (1 + q) if k >= 0 else 1 - q ** (1 - k) / (1 + q)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{type(kind).__name__} {getattr(kind, 'scale', '')}")
@pytest.mark.parametrize("size", [1, 2**62])
def test_floats_and_coarse_numbers_are_within_their_errors(kind, size):
    times, relative = ring_times(DRAWN)
    noise, error = kind.floats(times / size, relative)
    sizes = None if size == 1 else np.full(DRAWN.size, size)
    coarse = np.empty(DRAWN.size)
    kind.coarse(DRAWN, sizes, coarse)
    with mpmath.workdps(60):
        for place, word in enumerate(DRAWN.tolist()):
            truth = true_noise(kind, word, size)
            assert abs(truth - float(noise[place])) <= float(error[place]) < 1e-12 * (1 + abs(float(noise[place])))
            assert -(2.0**-30) < truth - float(coarse[place]) < 2.0**-27


@given(
    st.sampled_from(KINDS),
    st.one_of(
        st.integers(0, 2**12),
        st.integers(2**40, 2**44),
        st.integers(2**63, 2**63 + 2**60),
        st.integers(2**64 - 2**45, 2**64 - 1),
    ),
    st.sampled_from([1, 3, 10**6, 2**62]),
)
def test_words_near_the_ends_and_the_middle_stay_within_bounds(kind, word, size):
    words = np.array([word], dtype=np.uint64)
    times, relative = ring_times(words)
    noise, error = kind.floats(times / size, relative)
    coarse = np.empty(1)
    kind.coarse(words, None if size == 1 else np.array([size]), coarse)
    with mpmath.workdps(60):
        truth = true_noise(kind, word, size)
        assert abs(truth - float(noise[0])) <= float(error[0])
        assert float(coarse[0]) < truth + 2.0**-30 * (1 + abs(truth))  # never far above, whatever the word
        if not extreme(words)[0]:
            assert truth < float(coarse[0]) + 2.0**-27


@given(st.sampled_from(KINDS), st.integers(1, 2**64 - 2), st.sampled_from([1, 10**6]))
def test_intervals_enclose_the_noise_of_every_number_with_these_digits(kind, word, size):
    with mpmath.workdps(60), interval_arithmetic(256) as iv:
        time = -iv.log(iv.mpf([2**64 - word - 1, 2**64 - word]) / iv.mpf(2**64)) / size
        low, high = (mpmath.mpf(end) for end in kind.interval(iv, time)._mpi_)
        assert low <= true_noise(kind, word, size) <= high
        assert high - low <= 2.0**-28 * max(1, abs(low), abs(high)) or min(word, 2**64 - word) < 2**32
