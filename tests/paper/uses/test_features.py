"""The ways that are compared: what each truly costs, and that each chooses as its mechanism does."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, Law, law_p
from tests.support.selection_laws import laplace_tail, subsets

import sparsegate as sg
from sparsegate.paper.uses.features import WAYS, choose_many, compare_choices

SCORES = [30, 24, 22, 20, 4]
ALL: dict[str, Any] = {"k": 2, "epsilon": 0.5, "sensitivity": 1, "monotonic": True, "runs": 1200}


@pytest.mark.parametrize("monotonic", [True, False])
def test_every_way_says_what_it_truly_costs(monotonic: bool) -> None:
    rows = compare_choices(SCORES, k=2, epsilons=[0.3], sensitivity=1, monotonic=monotonic, runs=2)
    costs = {row.way: row.true_epsilon for row in rows}
    assert (costs.pop("best"), costs.pop("stoddard-2014"), costs.pop("chance")) == (math.inf, math.inf, 0.0)
    for key in ("standard", "liu-2024"):
        assert costs[key] == sg.privacy.tight_epsilon(key, cutoff=2, epsilon=0.3, monotonic=monotonic)
    assert set(costs.values()) == {row.epsilon for row in rows} == {0.3}


def counted(way: str, **options: Any) -> Counter[Any]:
    return Counter(tuple(np.flatnonzero(row).tolist()) for row in choose_many(way, SCORES, **(ALL | options)))


def test_subset_has_the_law_of_the_method_of_that_name() -> None:
    law = subsets(SCORES, 2, Fraction(1, 4))
    observed = counted("subset")
    assert law_p(observed, law) > FALSE_ALARM
    assert law_p(observed, subsets(SCORES, 2, Fraction(1, 4) * Fraction(5, 6))) < FALSE_ALARM


def each_law(share: float, k: int) -> Law:
    """What passes d gates whose threshold noise has scale 1/share, given that fewer than k pass."""
    bar = (SCORES[k - 1] + SCORES[k] + 1) // 2
    tails = [laplace_tail(bar - score, 1 / share) for score in SCORES]  # Pr[score >= bar + rho]
    law: dict[Hashable, float] = {}
    for above in itertools.product((False, True), repeat=len(SCORES)):
        if sum(above) < k:
            law[above] = math.prod(tail if said else 1 - tail for tail, said in zip(tails, above, strict=True))
    whole = math.fsum(law.values())
    return {above: mass / whole for above, mass in law.items()}


def test_a_gate_of_its_own_for_each_feature_adds_up_to_epsilon() -> None:
    """One question costs what its threshold noise hides, so each of d gates has epsilon/d."""
    passed = choose_many("stoddard-2014-each", SCORES, **(ALL | {"k": 4, "runs": 40_000}))
    observed = Counter(tuple(row) for row in passed.tolist() if sum(row) < 4)  # there nothing is left out by lot
    assert law_p(observed, each_law(0.5 / 5, 4)) > FALSE_ALARM
    assert law_p(observed, each_law(0.5 / 5 * 1.2, 4)) < FALSE_ALARM


def test_the_flawed_gate_says_what_its_threshold_noise_alone_decides() -> None:
    """Without noise on the scores whatever passes is a head of the ranking: impossible outcomes are what leaks."""
    passed = choose_many("stoddard-2014", SCORES, **(ALL | {"k": 4}))
    tops = {tuple(row) for row in passed.tolist() if sum(row) < 4}
    assert tops <= {(False,) * 5, *((tuple(place <= last for place in range(5))) for last in range(3))}
    assert len(tops) > 2


def test_a_seed_gives_the_same_rows_again_and_recall_grows_with_epsilon() -> None:
    options: dict[str, Any] = {"k": 2, "epsilons": [0.01, 10], "sensitivity": 1, "monotonic": True, "runs": 25}
    rows = compare_choices(SCORES, **options)
    assert rows == compare_choices(SCORES, **options)
    assert {row.way for row in rows} == set(WAYS)
    by_way = {way: [row.recall for row in rows if row.way == way] for way in WAYS}
    assert by_way["best"] == [1.0, 1.0]
    for way in ("stoddard-2014-each", "standard", "liu-2024", "one-shot", "subset"):
        assert by_way[way][0] < 0.75 < by_way[way][1]
    assert all(0 <= row.kept <= 1 for row in rows)


@pytest.mark.parametrize(
    ("scores", "options", "parameter"),
    [
        ([1.5, 2.5, 1.0], {}, "scores"),
        ([1, 2], {}, "scores"),
        ([[1, 2, 3]], {}, "scores"),
        (SCORES, {"way": "guess"}, "way"),
        (SCORES, {"k": 0}, "k"),
        (SCORES, {"runs": 0}, "runs"),
        (SCORES, {"sensitivity": 0.5}, "sensitivity"),
        (SCORES, {"epsilon": -1}, "epsilon"),
    ],
)
def test_a_wrong_parameter_is_named(scores: Any, options: dict[str, Any], parameter: str) -> None:
    given = {"way": "subset", "k": 2, "epsilon": 1, "sensitivity": 1} | options
    with pytest.raises(sg.ParameterError) as refused:
        choose_many(given.pop("way"), scores, **given)
    assert refused.value.parameter == parameter
