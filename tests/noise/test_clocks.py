"""Exponential clocks: every stated error bound against mpmath, at the ends as in the middle."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.noise import Seeded
from sparsegate.noise.clocks import Clock, Gumbel, coarse_logs, enclose, extreme, ring_times

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


def test_coarse_logs_are_never_below_and_hardly_above_the_truth() -> None:
    coarse = np.empty(WORDS.size)
    coarse_logs(WORDS, coarse)
    for word, log, far in zip(WORDS.tolist(), coarse.tolist(), extreme(WORDS).tolist(), strict=True):
        if word + 1 < 2**64:
            assert log >= mpmath.log(time_at(word + 1, 64)) - 1e-12
        if not far:
            assert log <= mpmath.log(time_at(word, 64)) + 2**-27.9


def test_extreme_words_are_those_at_the_ends() -> None:
    words = np.array([0, 2**40 - 1, 2**40, 2**63, 2**64 - 2**44 - 1, 2**64 - 2**44, 2**64 - 1], dtype=np.uint64)
    assert extreme(words).tolist() == [True, True, False, False, False, True, True]


def test_ring_times_enclose_every_continuation_of_the_word() -> None:
    times, relative = ring_times(WORDS)
    for word, time, error in zip(WORDS.tolist(), times.tolist(), relative.tolist(), strict=True):
        if np.isfinite(error):
            assert time * (1 - error) <= time_at(word, 64)
            assert time_at(word + 1, 64) <= time * (1 + error)
        else:
            assert min(word, 2**64 - 1 - word) < 1024


@given(st.integers(1, 2**64 - 2), st.integers(-(10**30), 10**30), st.integers(1, 10**12), st.integers(1, 2**62))
def test_an_enclosure_holds_the_truth_and_shrinks_as_digits_come(word: int, top: int, bottom: int, size: int) -> None:
    source, clock = Seeded(word), Clock(word)
    for bits in (64, 128, 256):
        clock.extend(source, bits + 64)
        low, high = enclose(top, bottom, [(clock, size)], bits, Gumbel().interval)
        with mpmath.workdps(150):
            time = time_at(2 * clock.prefix + 1, clock.bits + 1)
            truth = (mpmath.mpf(top) / bottom - mpmath.log(time / size)) * mpmath.mpf(2) ** bits
            assert low <= truth <= high
        assert high - low <= 4 + 2 ** max(0, 68 - min(word, 2**64 - word).bit_length())


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_a_clock_at_either_end_draws_digits_until_it_is_away_from_it(word: int) -> None:
    clock = Clock(word)
    clock.extend(Seeded(1), 1)
    assert clock.prefix >> (clock.bits - 64) == word
    assert 0 < clock.prefix < 2**clock.bits - 1


def test_digits_once_drawn_stay() -> None:
    source, clock = Seeded(1), Clock(12345)
    clock.extend(source, 200)
    known, bits = clock.prefix, clock.bits
    clock.extend(source, 300)
    assert clock.prefix >> (clock.bits - bits) == known
    assert "12345" not in repr(clock)
