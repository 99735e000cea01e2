"""Who takes part in a comparison, in which league, and how often."""

from __future__ import annotations

import numpy as np
import pytest

from sparsegate.paper import METHODS, Ladder, SuppliedMethod, measure, simulate
from sparsegate.paper.comparison import COMPARED, LEAGUES, NEAREST, PEERS, contestants, is_peer, run_limit, takes_part


def members(league: str, count: int = 25) -> set[str]:
    (found,) = [one for one in LEAGUES if one.key == league]
    return {key for key in COMPARED if takes_part(found, METHODS[key], count=count, epsilon=0.1)}


def test_nobody_wins_who_costs_more_than_is_asked_for_or_needs_another_promise() -> None:
    flawed = {"alg-3", "alg-4", "alg-5", "alg-6"}
    assert set(COMPARED) - members("delta") == flawed | {"noisy-scores-1", "noisy-scores-10"}
    assert members("delta") - members("pure") == {"gumbel", "svt-delta"}
    assert members("touched") - members("pure") == {"noisy-scores-10"}
    assert members("gate") == {key for key in members("pure") if METHODS[key].interactive}


def test_what_is_claimed_is_true_at_one_positive() -> None:
    assert members("pure", count=1) - members("pure", count=2) == {"alg-4"}


def test_a_method_of_your_own_is_taken_at_its_word() -> None:
    (mine,) = contestants([], [lambda scores, count, epsilon, rng: range(count)], peers=False)
    assert [takes_part(league, mine, count=5, epsilon=0.1) for league in LEAGUES] == [True, True, True, False]


def test_who_has_a_parameter_for_a_delta_takes_part_with_one_too() -> None:
    def loose(scores: object, count: int, epsilon: float, rng: object, delta: float) -> range:
        return range(count)

    given = SuppliedMethod.of(loose)
    both = contestants([], [given], peers=False)
    assert [(one.key, one.delta) for one in both] == [("loose", 0), ("loose-delta-1e-06", 1e-6)]
    leagues = [[takes_part(league, one, count=5, epsilon=0.1) for league in LEAGUES[:2]] for one in both]
    assert leagues == [[True, True], [False, True]]
    (looser,) = contestants([], [given.at_delta(1e-3)], peers=False)
    assert not any(takes_part(league, looser, count=5, epsilon=0.1) for league in LEAGUES)


def test_who_sees_every_score_is_run_less_often() -> None:
    peer, mine = (
        SuppliedMethod.of(PEERS["opendp"], version="1"),
        SuppliedMethod.of(lambda scores, count, epsilon, rng: []),
    )
    assert is_peer(peer)
    assert not is_peer(mine)
    assert [run_limit(METHODS["em"], total=total, count=10, most=800) for total in (10**3, 10**7)] == [800, 800]
    assert [run_limit(mine, total=total, count=10, most=800) for total in (10**3, 10**6, 10**8)] == [800, 20, 4]
    assert [run_limit(peer, total=total, count=10, most=800) for total in (10**3, 10**7)] == [2, 0]


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_is_about_as_far_off_as_the_nearest_of_ours(name: str) -> None:
    """Five standard errors are passed by 6e-7 of samples; at twice the epsilon the same test rejects."""
    pytest.importorskip(name)
    scores = np.round(3000 / np.arange(1, 301) ** 0.7)
    ladder, rng = Ladder.of(scores), np.random.default_rng(1)
    peer = SuppliedMethod.of(PEERS[name])
    theirs = simulate(peer, ladder, count=5, epsilon=0.05, runs=60, rng=rng)
    gaps = []
    for epsilon in (0.05, 0.1):
        ours = simulate(NEAREST[name], ladder, count=5, epsilon=epsilon, runs=20_000, rng=rng)
        one, other = (measure(ladder, rungs, count=5).fnr for rungs in (theirs, ours))
        gaps.append(abs(one.mean() - other.mean()) / (other.std() * np.sqrt(1 / one.size + 1 / other.size)))
    assert gaps[0] < 5 < gaps[1]


def test_opendp_draws_its_noise_anew_for_each_place() -> None:
    """Five standard errors are passed by 6e-7 of samples; noise that is drawn once is rejected."""
    pytest.importorskip("opendp")
    rng, runs, scores = np.random.default_rng(1), 12_000, np.array([3.0, 2.0, 1.0, 0.0])
    peer = PEERS["opendp"]
    theirs = np.mean([sorted(peer.select(scores, 2, 2.0, rng)) == [0, 1] for _ in range(runs)])  # type: ignore[attr-defined]
    noisy = scores + rng.exponential(1.0, (2, 20 * runs, 4))
    first = noisy[0].argmax(axis=1)
    noisy[1, np.arange(20 * runs), first] = -np.inf
    anew = np.mean(first + noisy[1].argmax(axis=1) == 1)
    once = np.mean(simulate("one-shot", scores, count=2, epsilon=2, runs=20 * runs, rng=rng).sum(axis=1) == 1)
    error = np.sqrt(theirs * (1 - theirs) / runs)
    assert abs(theirs - anew) < 5 * error < abs(theirs - once)
