"""Closed forms against MATH: the table of tight losses, and what finite query counts do to it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import sparsegate as sg
from sparsegate.gates.bounds import Direction, Rates, Setting, outcome_loss, round_loss, tight_epsilon, tight_loss
from sparsegate.gates.calibration import calibrate
from sparsegate.gates.planning import comparison_variance, plan
from sparsegate.gates.variants import VARIANTS, Noise, Scales

TABLE = [
    ("lyu-2017", False, lambda c: 1),
    ("lyu-2017", True, lambda c: 0.75),
    ("dwork-roth-2014", False, lambda c: 1),
    ("dwork-roth-2014", True, lambda c: 0.75),
    ("roth-2011", False, lambda c: math.inf),
    ("roth-2011", True, lambda c: math.inf),
    ("lee-clifton-2014", False, lambda c: (1 + 6 * c) / 4),
    ("lee-clifton-2014", True, lambda c: (1 + 3 * c) / 4),
    ("stoddard-2014", False, lambda c: math.inf),
    ("stoddard-2014", True, lambda c: math.inf),
    ("chen-2015", False, lambda c: math.inf),
    ("gptt", True, lambda c: math.inf),
    ("standard", False, lambda c: 1),
    ("standard", True, lambda c: 1),
    ("hardt-rothblum-2010", False, lambda c: math.inf),
    ("hardt-rothblum-2010-indicator", True, lambda c: 1),
    ("hardt-rothblum-2010-repaired", False, lambda c: 1),
    ("hardt-rothblum-2010-repaired", True, lambda c: 1),
]


@pytest.mark.parametrize(("key", "monotonic", "expected"), TABLE)
@pytest.mark.parametrize("cutoff", [1, 2, 3, 50])
def test_the_tight_loss_at_epsilon_one(key: str, monotonic: bool, expected: object, cutoff: int) -> None:
    assert tight_epsilon(key, cutoff=cutoff, epsilon=1, monotonic=monotonic) == pytest.approx(expected(cutoff))  # type: ignore[operator]


@pytest.mark.parametrize("row", VARIANTS.values(), ids=VARIANTS.keys())
@pytest.mark.parametrize("monotonic", [False, True])
def test_a_row_is_called_private_exactly_where_its_tight_loss_says_so(
    row: sg.variants.Variant, monotonic: bool
) -> None:
    loss = max(tight_epsilon(row, cutoff=c, epsilon=1, monotonic=monotonic) for c in (1, 2, 7))
    assert row.private == (loss <= 1)


@pytest.mark.parametrize("shares", [(0.1, 0.4, 0.5), (0.3, 0.3, 0.4), (0.5, 0.2, 0.3), (0.2, 0.7, 0.1)])
def test_monotonic_queries_get_the_smallest_share_back(shares: tuple[float, float, float]) -> None:
    budget = sg.Budget(threshold_epsilon=shares[0], query_epsilon=shares[1], answer_epsilon=shares[2])
    assert tight_epsilon("standard", cutoff=4, budget=budget) == pytest.approx(1)
    assert tight_epsilon("standard", cutoff=4, budget=budget, monotonic=True) == pytest.approx(1 - min(shares))


def test_a_redrawn_threshold_with_room_for_every_round_is_not_searched() -> None:
    assert tight_epsilon("dwork-roth-2014", cutoff=1000, epsilon=1, queries=10**6) == 1
    assert tight_epsilon("dwork-roth-2014", cutoff=3, epsilon=1, queries=11) == pytest.approx(11 / 12)


@given(st.integers(1, 30), st.fractions(Fraction(1, 100), 3), st.fractions(Fraction(1, 100), 3))
def test_gptt_follows_its_closed_form(n: int, e1: Fraction, e2: Fraction) -> None:
    budget = sg.Budget(threshold_epsilon=e1, query_epsilon=e2)
    expected = n * e2 if n % 2 == 0 else min(n * e2, e1 + (n - 1) * e2)
    assert tight_epsilon("gptt", budget=budget, queries=n) == pytest.approx(float(expected))


@given(
    st.sampled_from(sorted(VARIANTS)),
    st.integers(1, 6),
    st.booleans(),
    st.integers(1, 40),
    st.sampled_from(["1:1", "1:3", "optimal", 9]),
)
def test_more_queries_never_leak_less_and_never_more_than_no_limit(
    key: str, cutoff: int, monotonic: bool, n: int, allocation: object
) -> None:
    options = {"cutoff": cutoff, "epsilon": 1, "monotonic": monotonic, "allocation": allocation}
    fewer, more = (tight_epsilon(key, queries=q, **options) for q in (n, n + 1))  # type: ignore[arg-type]
    assert fewer <= more + 1e-12
    assert more <= tight_epsilon(key, **options) + 1e-12  # type: ignore[arg-type]


@given(st.integers(1, 5), st.integers(1, 14), st.fractions(Fraction(1, 10), 4), st.fractions(Fraction(1, 10), 4))
def test_the_dynamic_programme_of_redrawn_rounds_finds_the_best_of_all_transcripts(
    cutoff: int, n: int, rho: Fraction, nu: Fraction
) -> None:
    """Against brute force over every shape of transcript of up to n <= 14 queries."""
    scales = Scales(rho, nu, None)
    best = Fraction(0)
    n = min(n, 9)
    for transcript in product([False, True], repeat=n):
        if sum(transcript) > cutoff or (sum(transcript) == cutoff and not transcript[-1]):
            continue
        loss, below = Fraction(0), 0
        for above in transcript:
            if above:
                loss += Fraction(outcome_loss(below, 1, scales, monotonic=False))
                below = 0
            else:
                below += 1
        loss += Fraction(outcome_loss(below, 0, scales, monotonic=False))
        best = max(best, loss)
    row = VARIANTS["dwork-roth-2014"]
    found = max(Fraction(tight_loss(row, scales, cutoff=cutoff, monotonic=False, queries=q)) for q in range(1, n + 1))
    assert found >= best
    if cutoff >= n:
        assert found == best


@given(
    st.integers(1, 40),
    st.floats(0.01, 5),
    st.booleans(),
    st.one_of(st.none(), st.integers(1, 120)),
    st.sampled_from([0, 0.2, 0.6]),
)
def test_a_plan_spends_exactly_epsilon_and_never_has_more_variance_than_the_paper(
    cutoff: int, epsilon: float, monotonic: bool, queries: int | None, answers: float
) -> None:
    share = answers * epsilon
    planned = plan(cutoff=cutoff, epsilon=epsilon, monotonic=monotonic, queries=queries, answer_epsilon=share)
    loss = tight_loss(VARIANTS["standard"], planned.scales, cutoff=cutoff, monotonic=monotonic, queries=queries)
    assert loss <= Fraction(repr(epsilon))
    assert float(loss) == pytest.approx(epsilon, rel=1e-6)
    assert answers or loss == Fraction(repr(epsilon))
    assert all(scale is None or scale > 0 for scale in planned.scales)
    budget = sg.Budget.allocate(epsilon, cutoff=cutoff, monotonic=monotonic, answer_epsilon=share)
    standard = VARIANTS["standard"].scales(budget, cutoff=cutoff, monotonic=monotonic)
    assert planned.variance <= comparison_variance(standard) * (1 + 1e-6)


@pytest.mark.parametrize("options", [{}, {"queries": 3}, {"queries": 300, "monotonic": True, "cutoff": 5}])
def test_a_plan_that_leaves_next_to_nothing_for_the_gate_has_positive_scales(options: dict[str, int]) -> None:
    planned = plan(**({"cutoff": 1, "epsilon": 1, "answer_epsilon": 0.9999} | options))  # type: ignore[arg-type]
    assert all(scale is None or scale > 0 for scale in planned.scales)
    assert float(planned.epsilon) == pytest.approx(1)


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("key", ["standard", "ding-2019", "exponential-gap", "two-sided"])
def test_a_limit_that_leaves_room_for_every_below_is_none(key: str, monotonic: bool) -> None:
    """Around the n from which no outcome is left out: the largest L(m,k) of all, one by one."""
    cutoff, scales = 3, Scales(Fraction(2), Fraction(9, 2), None)
    for queries in range(1, 14):
        most = min(cutoff, queries)
        counts = {*range(most + 1), *(range(queries - most, queries + 1) if key == "two-sided" else ())}
        outcomes = [outcome_loss(queries - k, k, scales, monotonic=monotonic, row=VARIANTS[key]) for k in counts]
        found = tight_loss(VARIANTS[key], scales, cutoff=cutoff, monotonic=monotonic, queries=queries)
        assert found == max(outcomes), queries


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


@pytest.mark.parametrize("short", [Fraction(0), Fraction(1, 10**30)])
def test_noise_is_paid_for_to_the_last_digit(short: Fraction) -> None:
    scales = Scales(Fraction(2), Fraction(6), None)  # 1/2 + 3/6
    budget = sg.Budget(threshold_epsilon=0.5, query_epsilon=Fraction(1, 2) - short)
    parameters = {"cutoff": 3, "sensitivity": 1, "monotonic": True, "scales": scales, "budget": budget}
    if not short:
        assert calibrate(Setting(row=sg.VARIANTS["standard"], **parameters), threshold=0, not_private=False).loss == 1
        return
    with pytest.raises(sg.ParameterError) as caught:
        calibrate(Setting(row=sg.VARIANTS["standard"], **parameters), threshold=0, not_private=False)
    assert caught.value.parameter == "budget"
