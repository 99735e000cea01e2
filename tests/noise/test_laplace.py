"""Floors of exponential variables: the stated error bound, the digits that decide, and what is slow, against mpmath."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import reduce

import mpmath
import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, proportion_p
from tests.support.scripted import Scripted, words64

from sparsegate.noise import Seeded
from sparsegate.noise import laplace as inversion
from sparsegate.noise.laplace import MOST, FloatLaw, _floors, fill_floors, float_law

SCALES = [Fraction(1, 2**20), Fraction(1, 50), Fraction(2, 3), Fraction(1), Fraction(20), Fraction(10**6, 3)]
SCALES += [Fraction(2**20), Fraction(2**20 + 1), Fraction(MOST)]
LAWS = pytest.mark.parametrize("centred", [False, True])
ONES = 2**64 - 1
ENDS = [0, 1, 2, 3, 2**19, 2**20 - 1, 2**20, 2**40, 2**42 - 1, 2**42, 2**53 - 1, 2**53 + 1, 2**62, 2**63 - 1]


def steps(scale: Fraction, centred: bool, numerator: int, bits: int) -> mpmath.mpf:
    """b E + a where U = numerator / 2**bits, to 100 digits."""
    with mpmath.workdps(100):
        b = mpmath.mpf(scale.numerator) / scale.denominator
        share = (1 + mpmath.exp(-1 / b)) / 2 if centred else 1
        return -b * mpmath.log(mpmath.mpf(numerator) / mpmath.mpf(2) ** bits * share)


def words(scale: Fraction, centred: bool) -> np.ndarray:
    """Words of either sign: the ends, random ones, and those on both sides of where the floor changes."""
    with mpmath.workdps(100):
        b = mpmath.mpf(scale.numerator) / scale.denominator
        share = 2 / (1 + mpmath.exp(-1 / b)) if centred else 1
        edges = [int(share * mpmath.exp(-j / b) * 2**63) + move for j in (1, 2, 3, 9, 10**6) for move in (-1, 0, 1)]
    drawn = [word >> 1 for word in Seeded(1).bytes(8 * 100).view("<u8").tolist()]
    magnitudes = [word for word in (*ENDS, *edges, *drawn) if 0 <= word < 2**63]
    return np.array([*magnitudes, *(~word for word in magnitudes)], dtype="<i8")


def floors(drawn: np.ndarray, law: FloatLaw) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """The floors, the distances from them, the nearest integers and the lanes left undecided."""
    out, (y, nearest) = np.empty(drawn.size, dtype=np.int64), np.empty((2, drawn.size))
    slow = _floors(drawn, law, out, y, nearest)
    return out, y, nearest, slow


@pytest.fixture
def doubtful(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Floats that are trusted where they are near an integer's middle only: four lanes of five go the exact way."""
    float_law.cache_clear()
    monkeypatch.setattr(inversion, "_DOUBT", 0.4)
    yield
    float_law.cache_clear()


@LAWS
@pytest.mark.parametrize("scale", SCALES)
def test_the_floats_err_by_less_than_the_doubt_whatever_digits_come(scale, centred):
    law, drawn = float_law(scale, centred), words(scale, centred)
    _, distances, nearest, slow = floors(drawn, law)
    decided = 0
    for lane, word in enumerate(drawn.tolist()):
        if abs(float(word)) < law.smallest:
            assert lane in slow
            continue
        prefix = word if word >= 0 else ~word
        low, high = (steps(scale, centred, prefix + more, 63) - 0.5 for more in (1, 0))
        y = min((nearest[lane] + sign * distances[lane] for sign in (-1, 1)), key=lambda y: abs(y - low))
        assert y - law.doubt < low <= high < y + law.doubt
        assert (lane in slow) == (distances[lane] >= 0.5 - law.doubt)
        decided += lane not in slow
    assert decided > 150


@LAWS
@pytest.mark.parametrize("scale", SCALES[::4])
def test_a_draw_is_the_floor_of_all_its_digits(scale, centred):
    drawn = words(scale, centred)
    for further in (0, 1, 2**63, ONES - 1, ONES):
        for word in drawn.tolist():
            digits = [further, 2**63 + 5, 12345, 2**40]  # more than one where U is still next to 0 or 1
            source, out = Scripted([np.array([word], dtype="<i8"), *digits]), np.empty(1, dtype=np.int64)
            fill_floors(source, scale, out, centred=centred)
            prefix = reduce(lambda prefix, digit: prefix << 64 | digit, digits, word if word >= 0 else ~word)
            value = int(steps(scale, centred, 2 * prefix + 1, 64 + 64 * len(digits)))
            assert out[0] == (-value if centred and word < 0 else value)


@LAWS
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(20), Fraction(2**20)])
@pytest.mark.parametrize("place", [1, 2, 7])
def test_digits_still_to_come_decide_at_a_boundary(scale, centred, place):
    """U stands on exp(-place/b) with all its digits so far: smaller ones after them take the draw over it."""
    with mpmath.workdps(100):
        b = mpmath.mpf(scale.numerator) / scale.denominator
        share = 2 / (1 + mpmath.exp(-1 / b)) if centred else 1
        edge = int(share * mpmath.exp(-place / b) * mpmath.mpf(2) ** 191)
    first, second, third = edge >> 128, edge >> 64 & ONES, edge & ONES
    for more, value in (
        ([second - 1], place),
        ([second + 1], place - 1),
        ([second, third - 1], place),
        ([second, third + 1], place - 1),
    ):
        source, out = Scripted([words64(first), *more]), np.empty(1, dtype=np.int64)
        fill_floors(source, scale, out, centred=centred)
        assert out.tolist() == [value]
        assert source.left == 0


@LAWS
@pytest.mark.parametrize("scale", SCALES)
def test_draws_do_not_depend_on_how_much_is_left_to_the_intervals(scale, centred, request):
    fast, exact = np.empty((2, 2000), dtype=np.int64)
    fill_floors(Seeded(3), scale, fast, centred=centred)
    request.getfixturevalue("doubtful")
    counted: list[int] = []
    real = inversion._exact_floor
    request.getfixturevalue("monkeypatch").setattr(
        inversion, "_exact_floor", lambda *args: counted.append(1) or real(*args)
    )
    fill_floors(Seeded(3), scale, exact, centred=centred)
    assert np.array_equal(fast, exact)
    assert scale < 1 or len(counted) > 1000


@LAWS
def test_whether_a_lane_is_slow_says_nothing_about_its_value(centred):
    """Given the draw k, y is near the middle with one probability, for every k >= 1; exact binomial test, rate 1e-6.

    That of k = 0 is the same where the law is geometric, and less by 2 q / (1 + q), for small doubts, where it is not.

    At a doubt of 1/16 it can be counted. The twin: a doubt in proportion to y, as floats would suggest.
    """
    scale, doubt = Fraction(2), 1 / 16
    law = float_law(scale, centred)._replace(doubt=doubt)
    drawn = Seeded(5).bytes(8 << 19).view("<i8")
    out, y, nearest, slow = floors(drawn, law)
    undecided = np.zeros(out.size, dtype=np.bool_)
    undecided[slow] = True
    proportional = y >= 0.5 - doubt * (1 + np.abs(nearest)) / 4
    near = -math.expm1(-doubt / 2) * (1 + math.exp(-(1 - doubt) / 2)) / -math.expm1(-1 / 2)
    least = float(steps(scale, centred, 1, 0))  # a
    missing = 1 - math.exp((least - 1) / 2)
    at_zero = (math.exp((least + doubt - 1) / 2) - math.exp((least - 1) / 2)) / missing
    for k in range(9):
        those = out == k
        assert (
            proportion_p(int(undecided[those].sum()), int(those.sum()), at_zero if centred and not k else near)
            > FALSE_ALARM
        )
        if k in (1, 8):
            assert proportion_p(int(proportional[those].sum()), int(those.sum()), near) < FALSE_ALARM
