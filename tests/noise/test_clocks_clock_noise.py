"""Noise read off clocks: every view of it encloses the real number that mpmath computes from the law itself."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.noise import Seeded
from sparsegate.noise.clocks import ClockNoise, Gumbel, OneSided, Staircase, extreme, ring_times
from sparsegate.noise.expansions import interval_arithmetic

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
WORDS = Seeded(4).bytes(8 * 400).view("<u8")


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


@pytest.mark.turns(3)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{type(kind).__name__} {getattr(kind, 'scale', '')}")
@pytest.mark.parametrize("size", [1, 7, 10**9, 2**62])
def test_floats_and_coarse_numbers_are_within_their_errors(kind: ClockNoise, size: int) -> None:
    times, relative = ring_times(WORDS)
    noise, error = kind.floats(times / size, relative)
    sizes = None if size == 1 else np.full(WORDS.size, size)
    coarse = np.empty(WORDS.size)
    kind.coarse(WORDS, sizes, coarse)
    with mpmath.workdps(60):
        for place, word in enumerate(WORDS.tolist()):
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
def test_words_near_the_ends_and_the_middle_stay_within_bounds(kind: ClockNoise, word: int, size: int) -> None:
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
def test_intervals_enclose_the_noise_of_every_number_with_these_digits(kind, word: int, size: int) -> None:
    with mpmath.workdps(60), interval_arithmetic(256) as iv:
        time = -iv.log(iv.mpf([2**64 - word - 1, 2**64 - word]) / iv.mpf(2**64)) / size
        low, high = (mpmath.mpf(end) for end in kind.interval(iv, time)._mpi_)
        assert low <= true_noise(kind, word, size) <= high
        assert high - low <= 2.0**-28 * max(1, abs(low), abs(high)) or min(word, 2**64 - word) < 2**32


@pytest.mark.parametrize("scale", SCALES)
def test_the_steps_of_the_staircase_begin_where_the_tails_of_the_noise_say(scale: Fraction) -> None:
    kind = Staircase(scale)
    with mpmath.workdps(200):
        b = mpmath.mpf(scale.numerator) / scale.denominator
        for k in (-3, -1, 0, 1, 2):
            tail = upper_tail(k, b)
            with interval_arithmetic(1024) as iv:
                noise = (
                    kind.interval(iv, -iv.log(1 - iv.mpf(tail))) * iv.mpf(kind.unit.numerator) / kind.unit.denominator
                )
                assert abs(mpmath.mpf(noise.mid) - k) < 1e-25 / min(tail, 1 - tail)
