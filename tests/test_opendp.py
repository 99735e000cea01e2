"""Measurements of OpenDP with our mechanisms in them: what they answer, what they refuse, that their maps hold."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sparsegate.errors import ParameterError, SparsegateError
from sparsegate.opendp import make_above_threshold, make_top
from sparsegate.selection.exponential import selection_rate

dp = pytest.importorskip("opendp.prelude", reason="needs the extra opendp")
dp.enable_features("contrib", "honest-but-curious")
WHOLE, PEOPLE = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
PURE, ZCDP = dp.max_divergence(), dp.zero_concentrated_divergence()
COUNT = (WHOLE, PEOPLE) >> dp.t.then_count()
ALL, ONE_WAY, TOGETHER = dp.linf_distance(T=int), dp.linf_distance(T=int, monotonic=True), dp.l1_distance(T=int)


def gate(measure: Any = PURE, **changed: Any) -> Any:
    asked = {"d_in": 1, "threshold": 100, "cutoff": 2, "epsilon": 1, "monotonic": True}
    return make_above_threshold(WHOLE, PEOPLE, measure, **asked | changed)


@pytest.mark.parametrize(
    "query",
    [
        (WHOLE, PEOPLE) >> dp.t.then_clamp((0, 5)) >> dp.t.then_sum(),  # moves by 5
        COUNT >> dp.m.then_laplace(1.0),
        (WHOLE, PEOPLE) >> dp.t.then_count_by_categories(categories=[7, 8], null_category=False),
        (dp.vector_domain(dp.atom_domain(T=str)), PEOPLE) >> dp.t.then_count(),
        lambda data: 17,
        17,
    ],
)
def test_a_query_that_may_move_further_is_refused_and_costs_nothing(query: Any) -> None:
    asked = gate()([1] * 300)
    with pytest.raises(dp.OpenDPException, match="query must"):
        asked(query)
    assert [asked(COUNT), asked(COUNT)] == [True, True]
    with pytest.raises(dp.OpenDPException, match="closed"):
        asked(COUNT)


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.7, 0.9])
def test_what_a_room_holds_pays_for_as_much(epsilon: float) -> None:
    """0.3 is less than the decimal that it prints as: of that the map would be more than the room."""
    tally = (WHOLE, PEOPLE) >> dp.t.then_count_by_categories(categories=[7, 8], null_category=False)
    top = tally >> make_top(tally.output_domain, tally.output_metric, PURE, count=1, epsilon=epsilon)
    room = dp.c.make_adaptive_composition(WHOLE, PEOPLE, PURE, d_in=1, d_mids=[epsilon, epsilon])([7] * 900)
    assert room(top) == [0]
    assert room(gate(epsilon=epsilon))(COUNT) is True


def test_maps_are_rounded_up_and_grow_with_the_distance() -> None:
    third = make_top(WHOLE, ALL, PURE, count=2, epsilon=Fraction(1, 3))
    assert all(Fraction(third.map(d)) >= Fraction(d, 3) for d in range(1, 60))
    assert third.map(4) <= 4 / 3 * (1 + 1e-15)
    squared = make_top(WHOLE, ONE_WAY, ZCDP, count=2, epsilon=1)
    assert [squared.map(d) for d in (1, 2, 3)] == [1 / 8, 4 / 8, 9 / 8]


def peeled(scores: list[int], count: int, rate: float) -> dict[tuple[int, ...], float]:
    """The law of the peeled exponential mechanism: the probability of each sequence of places."""
    law = {}
    for places in itertools.permutations(range(len(scores)), count):
        chance, left = 1.0, list(range(len(scores)))
        for place in places:
            weights = np.exp([rate * scores[each] for each in left])
            chance *= math.exp(rate * scores[place]) / weights.sum()
            left.remove(place)
        law[places] = chance
    return law


@pytest.mark.parametrize(("metric", "one_way"), [(ALL, False), (ONE_WAY, True), (TOGETHER, True)])
@pytest.mark.parametrize("distance", [1, 2, 3])
def test_the_map_of_a_selection_holds_for_every_neighbour_and_half_of_it_does_not(
    metric: Any, one_way: bool, distance: int
) -> None:
    """All neighbours of small scores, by the exact law; both divergences at the distance, and zCDP at some orders."""
    epsilon, count = 1, 2
    rate = float(selection_rate(epsilon=Fraction(epsilon), count=count, sensitivity=1, monotonic=one_way))
    pure = make_top(WHOLE, metric, PURE, count=count, epsilon=epsilon, ordered=True, method="exponential").map(distance)
    rho = make_top(WHOLE, metric, ZCDP, count=count, epsilon=epsilon, ordered=True, method="exponential").map(distance)
    base = [2, 1, 0]
    worst, spread = 0.0, 0.0
    for move in itertools.product(range(-distance, distance + 1), repeat=3):
        together = sum(map(abs, move)) <= distance
        directed = min(move) >= 0 or max(move) <= 0
        if (metric is TOGETHER and not together) or (metric is ONE_WAY and not directed):
            continue
        law, other = peeled(base, count, rate), peeled([a + b for a, b in zip(base, move, strict=True)], count, rate)
        worst = max(worst, *(abs(math.log(law[places] / other[places])) for places in law))
        for order in (1.5, 2.0, 8.0):
            moment = sum(law[places] ** order * other[places] ** (1 - order) for places in law)
            spread = max(spread, math.log(moment) / (order - 1) / order)
    assert worst <= pure * (1 + 1e-12)
    assert spread <= rho * (1 + 1e-12)
    if metric is not TOGETHER:
        assert worst > pure / 2


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: make_top(WHOLE, PEOPLE, PURE, count=1, epsilon=1), "input_metric"),
        (lambda: make_top(dp.vector_domain(dp.atom_domain(T=float)), ALL, PURE, count=1, epsilon=1), "input_domain"),
        (lambda: make_top(WHOLE, ALL, dp.approximate(PURE), count=1, epsilon=1), "output_measure"),
        (lambda: make_top(WHOLE, ALL, PURE, count=1, epsilon=float("nan")), "epsilon"),
        (lambda: make_top(WHOLE, ALL, PURE, count=1, epsilon=1, method="gumbel"), "delta"),
        (lambda: gate(dp.approximate(PURE)), "output_measure"),
        (lambda: gate(sensitivity=0), "sensitivity"),
        (lambda: gate(monotonic=1), "monotonic"),
        (lambda: gate(cutoff=0), "cutoff"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_made(make: Any, parameter: str) -> None:
    with pytest.raises(ParameterError) as refused:
        make()
    assert refused.value.parameter == parameter


def test_without_opendp_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opendp", None)
    monkeypatch.setitem(__import__("sys").modules, "opendp.prelude", None)
    with pytest.raises(SparsegateError, match="opendp"):
        make_top(WHOLE, ALL, PURE, count=1, epsilon=1)
