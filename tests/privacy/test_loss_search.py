"""A search that knows nothing of the bounds never beats them, nor do random neighbours; L(m,k) is reached."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sparsegate as sg
from sparsegate.gates.bounds import outcome_loss
from sparsegate.gates.variants import Compared, Released, Scales
from sparsegate.privacy import Found, loss, search, tight_epsilon
from sparsegate.privacy.loss import largest_losses
from sparsegate.privacy.model import build
from sparsegate.privacy.outcome import log_probabilities

TOLERANCE = 1e-9


def thresholds(key: str) -> tuple[int, ...]:
    """Errors are never negative, so that only thresholds far from zero bring out every case."""
    return (0,) if sg.VARIANTS[key].compared is Compared.ANSWER else (0, 120)


def again(key: str, found: Found, **parameters: Any) -> float:
    estimates = None if sg.VARIANTS[key].compared is Compared.ANSWER else 0
    bars = [int(bar) for bar in found.threshold]
    return loss(key, found.answers, found.neighbour, found.outcome, threshold=bars, estimates=estimates, **parameters)


@pytest.mark.parametrize(("monotonic", "noise"), [(False, "lattice"), (True, "continuous")])
@pytest.mark.parametrize("key", sg.VARIANTS)
def test_the_search_never_beats_the_bound_and_comes_close(key: str, monotonic: bool, noise: str) -> None:
    parameters = {"cutoff": 2, "epsilon": 1, "monotonic": monotonic, "noise": noise}
    found = search(key, queries=5, thresholds=thresholds(key), restarts=2, **parameters)
    limit = {key: parameters[key] for key in ("cutoff", "epsilon", "monotonic")}
    assert found.loss <= tight_epsilon(key, queries=5, **limit) + TOLERANCE
    assert found.loss >= 0.9 * tight_epsilon(key, queries=5, **limit) or found.loss == math.inf
    assert again(key, found, **parameters) == pytest.approx(found.loss, abs=1e-9)


@pytest.mark.parametrize("pairs", [20, pytest.param(10_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("noise", ["continuous", "lattice"])
@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("key", [key for key in sg.VARIANTS if sg.VARIANTS[key].private])
def test_random_neighbours_never_beat_the_bound(key: str, monotonic: bool, noise: Any, pairs: int) -> None:
    """All outcomes of random neighbours, some near the threshold and some far from it."""
    rng, row = np.random.default_rng(1), sg.VARIANTS[key]
    for _ in range(pairs):
        n, cutoff = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        model = build(row, cutoff=cutoff, epsilon=1, monotonic=monotonic, noise=noise)
        here, bars, estimates = np.round(rng.normal(size=(3, n)) * 10.0 ** rng.uniform(0, 2.5))
        move = rng.integers(-1, 2, n) * (1 if noise == "lattice" else rng.choice([1, rng.random()], n))
        there = here + (np.abs(move) * rng.choice([-1, 1]) if monotonic else move)
        public = bars * (rng.random() < 0.5), None if row.compared is Compared.ANSWER else estimates
        first, second = (log_probabilities(model.compare(q, *public)) for q in (here, there))
        tight = tight_epsilon(key, cutoff=cutoff, epsilon=1, monotonic=monotonic)
        assert float(np.abs(first - second).max()) <= tight + TOLERANCE


def test_the_search_finds_what_is_known_to_be_broken_and_the_same_with_the_same_seed() -> None:
    assert search("stoddard-2014", queries=2, epsilon=1).loss == math.inf
    assert search("lee-clifton-2014", queries=7, cutoff=3, epsilon=0.1).loss == pytest.approx(0.475, abs=5e-5)
    assert search("lyu-2017", queries=4, epsilon=1, seed=3) == search("lyu-2017", queries=4, epsilon=1, seed=3)
    # rho is a thousand times wider than nu, and the far answers are 30 rho scales away.
    budget = sg.Budget(threshold_epsilon=0.001, query_epsilon=2)
    wide = search("lyu-2017", queries=3, budget=budget, restarts=3)
    assert wide.loss <= tight_epsilon("lyu-2017", queries=3, budget=budget) + TOLERANCE
    assert again("lyu-2017", wide, budget=budget) == pytest.approx(wide.loss, abs=1e-9)
    with pytest.raises(sg.ParameterError) as refused:
        search("lyu-2017", queries=13, epsilon=1)
    assert refused.value.parameter == "queries"


ROWS = ["standard", "two-sided", "ding-2019", "liu-2024", "exponential-gap"]
# e1, r and a3 without a tie between the terms of a minimum, where the supremum is reached too slowly to be met here.
RATES = [("0.5", "0.35", "0"), ("0.3", "0.14", "0.55")]
COUNTS = [(m, k) for m in range(5) for k in range(5) if 0 < m + k <= 6]


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


@pytest.mark.parametrize("pairs", [10, pytest.param(1000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize(("key", "rates"), [(k, r) for k in ROWS for r in RATES if applies(k, scales_of(r))])
def test_random_neighbours_and_numbers_never_pass_the_closed_form(
    key: str, rates: tuple[str, str, str], monotonic: bool, pairs: int
) -> None:
    rng, scales = np.random.default_rng(1), scales_of(rates)
    for _ in range(pairs):
        here, there, outcome = random_pair(rng, key, scales, monotonic, int(rng.integers(1, 9)))
        k = sum(entry is not False for entry in outcome)
        price = float(outcome_loss(len(outcome) - k, k, scales, monotonic=monotonic, row=sg.VARIANTS[key]))
        assert loss(key, here, there, outcome, scales=scales, monotonic=monotonic, cutoff=9) <= price + TOLERANCE


def test_the_closed_form_of_other_noise_is_passed() -> None:
    # The twin: 20 % less query noise than the price is for.
    quiet, meant = Scales(Fraction(2), Fraction(4), None), Scales(Fraction(2), Fraction(5), None)
    for key in ROWS:
        found = largest_losses(key, [(4, 2)], scales=quiet)[4, 2]
        assert found > float(outcome_loss(4, 2, meant, monotonic=False, row=sg.VARIANTS[key])) + 0.05
