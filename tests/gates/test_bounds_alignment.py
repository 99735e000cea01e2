"""L(m,k) of the rows since the paper, against exact enumeration: every small gate on the lattice, and its neighbours.

Given rho the answers are independent, so an outcome is a multiset of (place, move) pairs: where an answer stands
against T + kappa, less its gap where one is released, and by how much its neighbour's differs. All of them are tried.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from numpy.typing import NDArray

from sparsegate.gates.bounds import Direction, Rates, outcome_loss, round_loss, tight_loss
from sparsegate.gates.variants import VARIANTS, Noise, Scales

Z = np.arange(-260, 261)
PLACES = (-110, -1, 0, 110)  # far, so that the limits are all but reached: no e1 below is near a multiple of its r
MOVES: dict[Direction, tuple[int, ...]] = {"any": (-1, 0, 1), "up": (0, 1), "down": (-1, 0)}
SCALES = [(Fraction(1), Fraction(5, 2)), (Fraction(3), Fraction(1)), (Fraction(2), Fraction(20, 7))]
SHAPES = [(m, k) for m, k in product(range(4), repeat=2) if 0 < m + k <= 4]


def log_mass(noise: Noise, scale: Fraction, x: NDArray[np.int64]) -> NDArray[np.float64]:
    """ln Pr[X = x]."""
    rate = float(1 / scale)
    if noise is Noise.LAPLACE:
        return math.log(math.tanh(rate / 2)) - rate * np.abs(x)
    return np.where(x >= 0, math.log(-math.expm1(-rate)) - rate * np.maximum(x, 0), -np.inf)


def log_tail(noise: Noise, scale: Fraction, x: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ln Pr[X >= x] and ln Pr[X < x]."""
    rate = float(1 / scale)
    if noise is Noise.EXPONENTIAL:
        least = np.maximum(x, 0)
        with np.errstate(divide="ignore"):
            return -rate * least, np.log(-np.expm1(-rate * least))
    far = math.log1p(math.exp(-rate))
    upper = np.where(x > 0, -rate * x - far, np.log1p(-np.exp(np.minimum(-rate * (1 - x), 0) - far)))
    lower = np.where(x <= 0, -rate * (1 - x) - far, np.log1p(-np.exp(np.minimum(-rate * x, 0) - far)))
    return upper, lower


def largest_loss(
    noise: Noise, scales: Scales, m: int, k: int, direction: Direction, *, gap: bool, sign: int = 1
) -> float:
    """The largest ln Pr_D/Pr_D' over all outcomes of m BELOW and k ABOVE; ``sign`` -1 takes rho off the threshold."""
    assert scales.threshold is not None
    assert scales.query is not None
    rho = log_mass(noise, scales.threshold, sign * Z)
    rate = float(1 / scales.answer) if scales.answer else 0.0
    sides = []
    for above in (False, True):
        single = []
        for place, move in product(PLACES, MOVES[direction]):
            pair = []
            for q in (place, place + move):
                upper, lower = log_tail(noise, scales.query, Z - q)
                pair.append((log_mass(noise, scales.query, Z - q) if gap else upper) if above else lower)
            single.append((np.array(pair), rate * abs(move) if above else 0.0))
        sides.append(single)
    best = -math.inf
    below = [_together(chosen) for chosen in combinations_with_replacement(sides[False], m)]
    positive = [_together(chosen) for chosen in combinations_with_replacement(sides[True], k)]
    ups = np.array([both for both, _ in positive])
    paid = np.array([cost for _, cost in positive])
    for both, _ in below:
        with np.errstate(divide="ignore", invalid="ignore"):
            total = np.logaddexp.reduce(ups + both + rho, axis=-1)
            loss = total[:, 0] - total[:, 1] + paid
        best = max(best, *loss[~np.isneginf(total[:, 0])].tolist(), -math.inf)
    return best


def _together(chosen: tuple[tuple[NDArray[np.float64], float], ...]) -> tuple[NDArray[np.float64], float]:
    columns = sum((column for column, _ in chosen), np.zeros((2, Z.size)))
    return columns, sum(cost for _, cost in chosen)


@pytest.mark.parametrize("gap", [False, True], ids=["indicators", "gaps"])
@pytest.mark.parametrize("noise", Noise, ids=lambda noise: noise.name.lower())
@pytest.mark.parametrize("direction", MOVES)
def test_the_loss_of_every_small_gate_is_the_closed_form(direction: Direction, noise: Noise, gap: bool) -> None:
    for (threshold, query), answer, (m, k) in product(SCALES, (None, Fraction(2), Fraction(2, 3)), SHAPES):
        if answer is not None and m + k > 3:
            continue
        scales = Scales(threshold, query, answer)
        a3 = Fraction(0) if answer is None else 1 / answer
        rates = Rates(1 / threshold, 1 / query, a3, False, noise is Noise.EXPONENTIAL, gap)
        found = largest_loss(noise, scales, m, k, direction, gap=gap)
        assert found == pytest.approx(float(round_loss(m, k, rates, direction).loss), abs=1e-5), (scales, m, k)


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("key", ["ding-2019", "liu-2024", "exponential-gap", "two-sided"])
def test_a_whole_gate_costs_what_its_worst_outcome_does(key: str, monotonic: bool) -> None:
    row, scales, cutoff = VARIANTS[key], Scales(Fraction(3), Fraction(5), None), 2
    for n in range(1, 9):
        outcomes = [(n - k, k) for k in range(n + 1) if (min(n - k, k) if key == "two-sided" else k) <= cutoff]
        found = tight_loss(row, scales, cutoff=cutoff, monotonic=monotonic, queries=n)
        assert found == max(outcome_loss(m, k, scales, monotonic=monotonic, row=row) for m, k in outcomes)
    whole = tight_loss(row, scales, cutoff=cutoff, monotonic=monotonic, queries=None)
    assert whole == Fraction(1, 3) + (1 if monotonic else 2) * cutoff * Fraction(1, 5)


def test_a_two_sided_gate_pays_for_the_rarer_answer_alone() -> None:
    scales = Scales(Fraction(3), Fraction(1), None)
    for m, k in SHAPES:
        bound = 1 / 3 + 2 * min(m, k)
        assert largest_loss(Noise.LAPLACE, scales, m, k, "any", gap=False) <= bound + 1e-9
    # Its twins: one-sided noise, and gaps.
    assert largest_loss(Noise.EXPONENTIAL, scales, 1, 3, "any", gap=False) > 1 / 3 + 2 + 1
    assert largest_loss(Noise.LAPLACE, scales, 0, 4, "any", gap=True) > 1 / 3 + 1


def test_exponential_noise_with_a_minus_sign_has_no_bound() -> None:
    scales = Scales(Fraction(3), Fraction(1), None)
    assert largest_loss(Noise.EXPONENTIAL, scales, 1, 1, "any", gap=False, sign=1) < 3
    assert largest_loss(Noise.EXPONENTIAL, scales, 1, 1, "any", gap=False, sign=-1) == math.inf
