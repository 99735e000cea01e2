"""L(m,k), the price of m BELOW and k ABOVE: exact losses never pass the closed form, and reach it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sparsegate as sg
from sparsegate.gates.bounds import outcome_loss
from sparsegate.gates.variants import Noise, Released, Scales
from sparsegate.privacy import loss
from sparsegate.privacy.loss import largest_losses

ROWS = ["standard", "two-sided", "ding-2019", "liu-2024", "exponential-gap"]
# e1, r and a3 without a tie between the terms of a minimum, where the supremum is reached too slowly to be met here.
RATES = [
    ("0.5", "0.14", "0"),
    ("0.5", "0.35", "0"),
    ("0.23", "1", "0"),
    ("0.5", "0.35", "0.2"),
    ("0.3", "0.14", "0.55"),
]
COUNTS = [(m, k) for m in range(5) for k in range(5) if 0 < m + k <= 6]
TOLERANCE = 1e-9


def scales_of(rates: tuple[str, str, str]) -> Scales:
    return Scales(*(1 / Fraction(rate) if float(rate) else None for rate in rates))


def applies(key: str, scales: Scales) -> bool:
    return scales.answer is None or sg.VARIANTS[key].released is Released.FRESH_ANSWER


@pytest.mark.parametrize(("monotonic", "noise"), [(False, "lattice"), (True, "continuous")])
@pytest.mark.parametrize(("key", "rates"), [(k, r) for k in ROWS for r in RATES if applies(k, scales_of(r))])
def test_a_blind_climb_reaches_the_closed_form_and_no_more(
    key: str, rates: tuple[str, str, str], monotonic: bool, noise: Any
) -> None:
    scales = scales_of(rates)
    price = {at: float(outcome_loss(*at, scales, monotonic=monotonic, row=sg.VARIANTS[key])) for at in COUNTS}
    short = COUNTS
    for seed in range(12):  # a climb may end on a lower top: those that did start again
        found = largest_losses(key, short, scales=scales, monotonic=monotonic, noise=noise, restarts=3, seed=seed)
        assert [at for at in short if found[at] > price[at] + TOLERANCE] == []
        short = [at for at in short if found[at] < 0.997 * price[at]]
        if not short:
            return
    assert short == []


def random_pair(rng: np.random.Generator, key: str, scales: Scales, monotonic: bool, n: int) -> tuple[Any, Any, Any]:
    """Neighbours near the threshold and far from it, and a transcript with whatever numbers the row releases."""
    here = np.round(rng.normal(size=n) * 10.0 ** rng.uniform(0, 2.5))
    move = rng.choice([-1.0, 1.0, float(rng.uniform(-1, 1))], n)
    there = here + (np.abs(move) * rng.choice([-1, 1]) if monotonic else move)
    outcome: list[Any] = []
    for answer in here:
        gap = float(np.round(rng.exponential() * 10.0 ** rng.uniform(0, 2), 1))
        released = [gap] if sg.VARIANTS[key].gap else []
        released += [float(answer) + float(rng.normal())] if scales.answer is not None else []
        above: Any = tuple(released) if len(released) == 2 else released[0] if released else True
        outcome.append(above if rng.random() < 0.5 else False)
    return here, there, outcome


def random_excess(key: str, rates: tuple[str, str, str], monotonic: bool, pairs: int, seed: int) -> float:
    """The largest loss minus L(m,k) over random pairs."""
    rng, scales = np.random.default_rng(seed), scales_of(rates)
    worst = -math.inf
    for _ in range(pairs):
        here, there, outcome = random_pair(rng, key, scales, monotonic, int(rng.integers(1, 9)))
        k = sum(entry is not False for entry in outcome)
        price = float(outcome_loss(len(outcome) - k, k, scales, monotonic=monotonic, row=sg.VARIANTS[key]))
        got = loss(key, here, there, outcome, scales=scales, monotonic=monotonic, cutoff=9)
        worst = max(worst, got - price)
    return worst


@pytest.mark.parametrize("pairs", [10, pytest.param(1000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize(("key", "rates"), [(k, r) for k in ROWS for r in RATES if applies(k, scales_of(r))])
def test_random_neighbours_and_numbers_never_pass_the_closed_form(
    key: str, rates: tuple[str, str, str], monotonic: bool, pairs: int
) -> None:
    assert random_excess(key, rates, monotonic, pairs, 1) <= TOLERANCE


def test_one_sided_bounds_are_met_exactly_and_not_only_in_the_limit() -> None:
    scales = Scales(Fraction(2), Fraction(3), None)
    for key in (key for key in ROWS if sg.VARIANTS[key].noise is Noise.EXPONENTIAL):
        for m, k in ((1, 0), (1, 1), (3, 2)):
            entry = 0 if sg.VARIANTS[key].gap else True
            outcome = [False] * m + [entry] * k
            got = loss(key, [50] * m + [0] * k, [51] * m + [-1] * k, outcome, scales=scales, cutoff=9)
            assert got == pytest.approx(float(outcome_loss(m, k, scales, monotonic=False, row=sg.VARIANTS[key])), 1e-12)


def test_the_closed_form_of_other_noise_is_passed() -> None:
    # The twin: 20 % less query noise than the price is for.
    quiet, meant = Scales(Fraction(2), Fraction(4), None), Scales(Fraction(2), Fraction(5), None)
    for key in ROWS:
        found = largest_losses(key, [(4, 2)], scales=quiet)[4, 2]
        assert found > float(outcome_loss(4, 2, meant, monotonic=False, row=sg.VARIANTS[key])) + 0.05
