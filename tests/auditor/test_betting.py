"""Bets that a private mechanism cannot win: exactly, on every path; and nearly as strong as tests of a fixed size."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.audited import too_many

from sparsegate.auditor.betting import Bets, ClaimLadder, DPLadder, RenyiLadder, rungs

LEVEL = 0.2


def on_every_path(ladder: ClaimLadder, p1: float, p2: float, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the money on each rung after this many pairs in two rounds, and how likely each rung falls.

    The second round goes on with the first, without a horizon.
    """
    mean, falls = 0.0, 0.0
    chances = {(True, True): p1 * p2, (True, False): p1 * (1 - p2), (False, True): (1 - p1) * p2}
    chances[False, False] = 1 - sum(chances.values())
    for path in itertools.product(chances.items(), repeat=pairs):
        bets, chance = Bets([ladder]), 1.0
        for place, ((one, other), part) in enumerate(path):
            if place in (0, 2):
                bets.open_round(0.4 if place == 0 else 1.0, 0.7, 0.2, settled=place)
            stakes = bets.stakes(pairs - place if place < 2 else None)
            bets.settle(stakes, np.array([one]), np.array([other]))
            chance *= part
        mean, falls = mean + chance * bets._money, falls + chance * bets.fallen
    return np.asarray(mean), np.asarray(falls)


@pytest.mark.parametrize(
    ("ladder", "p1", "p2"),
    [
        (DPLadder(values=np.array([0.5, 1.0, 2.0]), level=LEVEL), 0.2 * math.e, 0.2),
        (DPLadder(values=np.array([0.5, 1.0, 2.0]), level=LEVEL, delta=0.1), 0.1 * math.e + 0.1, 0.1),
        (DPLadder(values=np.array([0.1, 0.3, 0.6]), level=LEVEL, epsilon=1.0), 0.1 * math.e + 0.3, 0.1),
    ],
)
def test_on_the_edge_of_a_claim_money_keeps_its_mean_and_seldom_reaches_the_goal(
    ladder: ClaimLadder, p1: float, p2: float
) -> None:
    mean, falls = on_every_path(ladder, p1, p2, 4)
    assert mean[1] == pytest.approx(1.0)
    assert mean[0] > 1.0 > mean[2]
    assert falls[1] <= LEVEL


def played(bets: Bets, p: float, q: float, horizon: int, rng: np.random.Generator, least: int) -> Bets:
    """All pairs to the horizon, in batches that get smaller; a rung that fell ends it where there is only one."""
    bets.open_round(1.0, p, q)
    left = horizon
    while left and not bets.fallen.all():
        batch, stakes = min(max(left // 8, least), left), bets.stakes(left)
        bets.settle(stakes, rng.random(batch) < p, rng.random(batch) < q)
        left -= batch
    return bets


def test_a_bet_that_aims_at_a_horizon_is_nearly_as_strong_as_a_test_of_that_size() -> None:
    # A loss at which the test of a fixed size, that knows the variance, rejects at 1 % in 4 of 5 cases.
    rng, q, horizon = np.random.default_rng(1), 0.1, 10_000
    p = q + (2.326 + 0.842) * math.sqrt(2 * q * (1 - q) / horizon)
    ladder = DPLadder(values=np.array([0.0]), level=0.01)
    wins = sum(bool(played(Bets([ladder]), p, q, horizon, rng, 32).fallen[0]) for _ in range(100))
    assert wins >= 60  # of 80 expected


def test_a_rare_event_with_a_large_ratio_proves_nearly_all_of_it_on_every_rung() -> None:
    # As chen-2015 had it: with stakes of mean / sigma^2 the bounds are 2.2 and 2.0, of 3.3.
    p, q = 0.0179, 0.00067
    bets = Bets([DPLadder(values=rungs(1.0, 30.0), level=0.0095)])
    assert 2.9 < played(bets, p, q, 400_000, np.random.default_rng(1), 64).bounds()[0] < math.log(p / q)


def test_the_bound_is_the_last_rung_before_the_first_that_stands() -> None:
    bets = Bets(
        [
            DPLadder(values=np.array([0.0, 1.0, 2.0]), level=0.1),
            DPLadder(values=np.array([0.2, 0.4]), level=0.1, epsilon=1.0),
        ]
    )
    assert bets.bounds() == [0.0, 0.0]
    bets.fallen[:] = [True, False, True, True, True]
    assert bets.bounds() == [0.0, 0.4]
    bets.fallen[1] = True
    assert bets.bounds() == [2.0, 0.4]


def test_each_ladder_has_a_goal_of_its_own_level() -> None:
    ladders = [DPLadder(values=np.zeros(1), level=level) for level in (0.5, 0.001)]
    bets = Bets(ladders)
    bets.open_round(1.0, 0.9, 0.1)
    for _ in range(4):
        bets.settle(bets.stakes(4), np.array([True]), np.array([False]))
    assert bets.fallen.tolist() == [True, False]


def test_a_bet_without_a_horizon_grows_as_fast_as_the_best_stake_and_keeps_its_money_on_the_edge() -> None:
    """From 20,000 pairs on, 80,000 more: within 1 of the growth of the best constant stake; little is lost at e."""
    rng = np.random.default_rng(3)
    for true, least in ((1.03, None), (1.0, -1.5)):
        q = 0.2
        p, growth, best = q * math.exp(true), [], []
        for _ in range(30):
            bets = Bets([DPLadder(values=np.array([1.0]), level=1e-9)])
            first, second = rng.random(100_000) < p, rng.random(100_000) < q
            bets.open_round(1.0, float(first[:20_000].mean()), float(second[:20_000].mean()), settled=20_000)
            for start in range(20_000, 100_000, 2000):
                batch = slice(start, start + 2000)
                bets.settle(bets.stakes(None), first[batch], second[batch])
            growth.append(float(bets._log_stake[0]))
            gains = first[20_000:] - math.e * second[20_000:]
            stake = (p - math.e * q) / np.mean(gains**2)
            best.append(float(np.log1p(stake * gains).sum()))
        assert np.mean(growth) > (np.mean(best) - 1 if least is None else least)


def worst_rho(p: float, q: float) -> float:
    """The least rho for which two events of these chances are allowed, by orders up to the largest that is tried."""
    orders = np.concatenate([1 + np.geomspace(1e-4, 1, 200), np.geomspace(2, 65, 400)])
    hit, miss = (orders * math.log(a) + (1 - orders) * math.log(b) for a, b in ((p, q), (1 - p, 1 - q)))
    return float(np.max(np.logaddexp(hit, miss) / (orders - 1) / orders))


CHANCES = st.floats(0.001, 0.999)


@given(p=CHANCES, q=CHANCES, p1=CHANCES, p2=CHANCES)
def test_what_a_rho_allows_lies_below_the_line_that_is_bet_on(p: float, q: float, p1: float, p2: float) -> None:
    rho = worst_rho(p, q) * (1 + 1e-6) + 1e-9
    ladder = RenyiLadder(values=np.array([rho]), level=LEVEL)
    ratio, delta = ladder.lines(max(p1, p2), min(p1, p2))
    assert p <= ratio[0] * q + delta[0] + 1e-9


@given(p=CHANCES, q=CHANCES)
@settings(max_examples=40)
def test_what_a_rho_forbids_lies_above_the_line_that_is_bet_on(p: float, q: float) -> None:
    # The orders tried are few, so a fifth is left between what is allowed and what is caught.
    p, q = max(p, q), min(p, q)
    ladder = RenyiLadder(values=np.array([worst_rho(p, q) / 1.2]), level=LEVEL)
    ratio, delta = ladder.lines(p, q)
    assert p - q < 1e-3 or p > ratio[0] * q + delta[0]


def test_tight_mechanisms_lose_their_bets_as_often_as_stated_and_leaky_ones_do_not() -> None:
    """Bets on events whose ratio is exactly e: the rung 1 falls 1 time in 5 at most, for 1.2 oftener."""
    rng, runs, falls = np.random.default_rng(7), 500, {1.0: 0, 1.2: 0}
    for true in falls:
        p, q = math.exp(true) / (1 + math.exp(true)), 1 / (1 + math.exp(true))
        for _ in range(runs):
            bets = Bets([DPLadder(values=np.array([1.0]), level=LEVEL)])
            falls[true] += bool(played(bets, p, q, 400, rng, 20).fallen[0])
    assert not too_many(falls[1.0], runs, LEVEL)
    assert falls[1.0] > runs * LEVEL / 2  # the level is used
    assert too_many(falls[1.2], runs, LEVEL)
