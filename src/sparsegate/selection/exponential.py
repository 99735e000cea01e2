"""The exponential mechanism, peeled count times, and one-shot selection: both are races of exponential clocks.

**Peeling.** Each round selects item i among those left with probability proportional to exp(a s_i), where

    a = epsilon / (2 c Delta)    in general,        a = epsilon / (c Delta)    for monotonic scores.

*Theorem* (McSherry, Talwar 2007; monotonic: Lyu, Su, Li 2017, Sec. 5). If one person changes every score by at most
Delta, the c items in their order are epsilon-DP. **One-shot selection** puts exponential noise of scale c Delta /
epsilon (2 c Delta / epsilon in general) on every score, once, and takes the c largest. *Theorem.* They are epsilon-DP
in their order; for c = 1 this is permute-and-flip. *Time*: the passes over all groups depend on their number and on c,
not on the scores; the race that follows, on what is released and on noise. Proofs:
docs/explanation/proofs_in_words/core.md. Machine-checked: proofs/README.md.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Number, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.gates.lattice import exact_number
from sparsegate.noise import Source
from sparsegate.noise.clocks import ClockNoise, Gumbel, OneSided, extreme
from sparsegate.selection.race import FAR, Lanes, Race, largest
from sparsegate.selection.scores import Scores, Values

SLACK = 2.0**-25
"""A coarse key k errs by less than SLACK (1 + |k|) / 2: 2**-27 from the noise, 2**-50 (250 + |k|) from rounding."""

_NEAR = 128  # how far, in keys, the reference may lie below the count-th largest score
_CHUNK = 1 << 15  # groups at a time: their temporaries stay in the caches
_EXTREME_RATE = 10**300  # float64 carries a, and a (s - r) for the differences that matter


def selection_rate(*, epsilon: Number, count: int, sensitivity: Number, monotonic: bool) -> Fraction:
    """The exact factor a of a score in its log-weight."""
    delta = exact_number(sensitivity)
    if delta is None or delta <= 0:
        raise ParameterError("sensitivity", "must be a positive finite number", sensitivity, "pass 1 for counts")
    rate = exact_epsilon(epsilon) / ((1 if monotonic else 2) * count * delta)
    if not Fraction(1, _EXTREME_RATE) <= rate <= _EXTREME_RATE:
        rule = "divided by count times sensitivity must lie between 1e-300 and 1e300"
        raise ParameterError("epsilon", rule, epsilon, "rescale scores and sensitivity")
    return rate


def exponential_groups(source: Source, scores: Scores, *, rate: Fraction, count: int) -> NDArray[np.int64]:
    """Select ``count`` items, 1 <= count <= scores.total: the group of each, in the order selected."""
    return largest_noisy(source, scores, rate=rate, count=count, noise=Gumbel()).groups


class Leaders(NamedTuple):
    """The items with the largest keys, largest first: their groups, and their places among the rings of a race."""

    groups: NDArray[np.int64]
    race: Race
    rings: NDArray[np.intp]


def largest_noisy(
    source: Source, scores: Scores, *, rate: Fraction, count: int, noise: ClockNoise, apart: bool = False
) -> Leaders:
    """The ``count`` items of largest rate * score + noise, exactly; ``apart``: told apart also within a group."""
    # Digits of whole scores that are worth less than the noise are left out: r need not be exact.
    spare = sum(rate * 2 ** (16 * k) <= _NEAR for k in (1, 2, 3)) if scores.values.dtype.kind == "i" else 0
    sizes = None if scores.single else scores.multiplicities
    reference = largest(scores.values, count, sizes=sizes, digits=4 - spare)
    words, keys = _first_keys(source, scores, rate, reference, noise)
    survivors = _survivors(words, keys, count)
    del keys
    values = scores.values[survivors]
    up, down = reference.as_integer_ratio()

    def exact(lane: int) -> tuple[int, int]:
        top, bottom = values[lane].item().as_integer_ratio()
        return rate.numerator * (top * down - up * bottom), rate.denominator * bottom * down

    weights = np.empty(survivors.size)
    log_weights(values, reference, float(rate), weights)
    lanes = Lanes(sizes=scores.multiplicities[survivors], weights=weights, exact=exact)
    race = Race(source, lanes, words[survivors], noise)
    rings = race.first(count, apart=apart)
    return Leaders(survivors[race.lane[rings]], race, rings)


def _first_keys(
    source: Source, scores: Scores, rate: Fraction, reference: int | float, noise: ClockNoise
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """One word for each group, and the coarse key of its first ring: a (s - r) + noise."""
    size = scores.values.size
    words: NDArray[np.uint64] = source.bytes(8 * size).view("<u8")
    keys = np.empty(size)
    read = np.empty(min(_CHUNK, size))
    factor = float(rate)
    for start in range(0, size, _CHUNK):
        part = slice(start, start + _CHUNK)
        key = keys[part]
        noise.coarse(words[part], None if scores.single else scores.multiplicities[part], read[: key.size])
        log_weights(scores.values[part], reference, factor, key)
        key += read[: key.size]
    return words, keys


def log_weights(values: Values, reference: int | float, factor: float, out: NDArray[np.float64]) -> None:
    """Write a (s - r); it is cut at +-FAR, which an overflow means as well, so that no infinity - infinity follows.

    Of floats what lies far below the noise 1/a is rounded to a multiple of 2**-53/a, which moves a key by 2**-52 at
    most: products with numbers that are almost zero (subnormal) take many times as long on some processors.
    """
    with np.errstate(over="ignore", under="ignore"):
        if isinstance(reference, float):
            np.subtract(values, reference, out=out)
            out += 1 / factor
            out -= 1 / factor
        else:  # the difference of two int64 may not fit int64
            whole = cast("NDArray[np.int64]", values)
            np.multiply((whole >> 32) - (reference >> 32), 2.0**32, out=out)
            out += (whole & 0xFFFFFFFF) - (reference & 0xFFFFFFFF)
        out *= factor
    np.clip(out, -FAR, FAR, out=out)


def _survivors(words: NDArray[np.uint64], keys: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """The groups whose first ring may be among the first ``count`` rings.

    A coarse key is never above the truth by more than SLACK (1 + |key|) / 2, and ``count`` coarse keys reach the
    cut, so ``count`` true keys lie above cut - SLACK (1 + |cut|) / 2. A group that beats one of them has a coarse
    key above cut - SLACK (1 + |cut|), unless its word is extreme: then its coarse key may be far too low, and it
    survives for that.
    """
    if keys.size <= count:
        return np.arange(keys.size)
    cut = largest(keys, count, digits=2)  # rounded down by less than 2**-20 |cut|
    near = keys >= cut - SLACK * (1 + abs(cut))
    near |= extreme(words)
    return np.flatnonzero(near)


def one_shot_groups(source: Source, scores: Scores, *, rate: Fraction, count: int) -> NDArray[np.int64]:
    """Select ``count`` items, 1 <= count <= scores.total: the group of each, in the order selected; rate = 1/b."""
    return largest_noisy(source, scores, rate=rate, count=count, noise=OneSided()).groups
