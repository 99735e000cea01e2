"""Exact laws of small selections: against sums over all noise, and against what the mechanisms themselves draw."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable

import pytest
from tests.support.selection_laws import peeled as peeled_before

from sparsegate.gates.laws import NoiseLaw
from sparsegate.privacy.selections import (
    Scores,
    Selection,
    SelectionLaw,
    neighbours,
    noisy_order,
    one_shot,
    peeled,
    subset_weights,
    worst_selection,
)

LAPLACE = NoiseLaw(scale=1.5, lattice=True)
EXPONENTIAL = NoiseLaw(scale=1.5, lattice=True, side=1)
FAR = 40  # more than 25 scales


def summed(scores: Scores, count: int, noise: NoiseLaw, reach: int) -> SelectionLaw:
    """Every noise vector up to ``reach``, every way to break its ties."""
    p = math.exp(-1 / noise.scale)
    peak = (1 - p) / (1 + p) if noise.side == 0 else 1 - p
    masses = {x: peak * p ** abs(x) for x in range(-reach, reach + 1) if x * noise.side >= 0}
    law: defaultdict[Selection, float] = defaultdict(float)
    for noises in itertools.product(masses, repeat=len(scores)):
        weight = math.prod(masses[x] for x in noises)
        noisy = [score + x for score, x in zip(scores, noises, strict=True)]
        orders = [
            o
            for o in itertools.permutations(range(len(scores)))
            if all(noisy[a] >= noisy[b] for a, b in itertools.pairwise(o))
        ]
        for order in orders:
            law[order[:count]] += weight / len(orders)
    return law


@pytest.mark.parametrize("noise", [LAPLACE, EXPONENTIAL], ids=["laplace", "exponential"])
@pytest.mark.parametrize(("scores", "count"), [((0, 1), 1), ((2, 0, 1), 1), ((0, 0, 2), 2), ((1, 3, 0), 3)])
def test_noisy_orders_are_sums_over_all_noise_with_ties_at_random(scores: Scores, count: int, noise: NoiseLaw) -> None:
    noise = NoiseLaw(scale=0.8, lattice=True, side=noise.side)
    by_hand = summed(scores, count, noise, 14 if noise.side == 0 else 24)
    law = noisy_order(scores, count, noise)
    assert set(law) == set(by_hand)
    assert [law[order] for order in by_hand] == pytest.approx(list(by_hand.values()), abs=1e-7)
    assert math.fsum(law.values()) == pytest.approx(1, abs=1e-12)


def test_one_shot_in_the_continuum_is_the_limit_of_ever_finer_lattices_and_agrees_with_permute_and_flip() -> None:
    # Richardson: the lattice with ties at random errs by the square of its step.
    scores, rate = (2, 0, 1), 0.6
    coarse, fine = (
        noisy_order(tuple(step * s for s in scores), 2, NoiseLaw(scale=step / rate, lattice=True, side=1))
        for step in (8, 16)
    )
    law = one_shot(scores, 2, rate)
    assert [law[o] for o in law] == pytest.approx([(4 * fine[o] - coarse[o]) / 3 for o in law], rel=1e-5)
    assert math.fsum(law.values()) == pytest.approx(1, abs=1e-12)
    # Permute-and-flip: items in random order, each taken with probability exp(rate (score - best)).
    chances = [math.exp(rate * (s - max(scores))) for s in scores]
    by_hand: defaultdict[Selection, float] = defaultdict(float)
    for order in itertools.permutations(range(3)):
        left = 1 / 6
        for item in order:
            by_hand[item,] += left * chances[item]
            left *= 1 - chances[item]
    assert dict(one_shot(scores, 1, rate)) == pytest.approx(dict(by_hand), abs=1e-12)


def test_one_shot_keeps_its_digits_far_away() -> None:
    # The second of (0, 60) wins unless its noise is beaten by 60 rates: half of exp(-60).
    assert one_shot((0, 60), 1, 1.0)[0,] == pytest.approx(0.5 * math.exp(-60), rel=1e-12)


def test_peeling_and_sets_have_their_weights() -> None:
    weights = [math.exp(0.3 * s) for s in (4, 0, 1, -2)]
    assert dict(peeled((4, 0, 1, -2), 2, 0.3)) == pytest.approx(dict(peeled_before(weights, 2)))
    law = subset_weights((5, 3, 0), 2, 0.5)
    ratio = law[frozenset({0, 1})] / law[frozenset({0, 2})]
    assert ratio == pytest.approx(math.exp(0.5 * ((3 - 0) + (3 - 0))))


def test_neighbours_move_as_many_scores_as_one_person_can() -> None:
    assert Counter(neighbours((0, 5), touched=1, one_way=True)) == Counter([(1, 5), (0, 6)])
    assert len(list(neighbours((0, 5, 9), touched=2, one_way=False))) == 18
    assert len(list(neighbours((0, 5, 9), touched=None, one_way=True))) == 7


def ordered(noise: NoiseLaw, count: int) -> Callable[[Scores], SelectionLaw]:
    return lambda scores: noisy_order(scores, count, noise)


@pytest.mark.parametrize(
    ("items", "count", "touched", "one_way", "rates"),
    [(3, 1, 1, True, 1), (4, 2, 1, True, 1), (4, 2, 2, False, 2), (3, 1, None, False, 2)],
)
def test_laplace_noise_costs_what_one_person_touches_or_what_is_selected(
    items: int, count: int, touched: int | None, one_way: bool, rates: int
) -> None:
    worst = worst_selection(ordered(LAPLACE, count), (-FAR, 0, FAR), items=items, touched=touched, one_way=one_way)
    assert 0.97 * rates <= worst.loss * LAPLACE.scale <= rates + 1e-9
