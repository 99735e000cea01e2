"""Sparse vector over all scores, with and without retraversal: its law against enumeration, and its limits."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, law_p
from tests.support.selection_laws import named, traversed

from sparsegate.gates.bounds import Setting
from sparsegate.gates.calibration import Calibration, calibrate
from sparsegate.gates.variants import VARIANTS
from sparsegate.noise import Seeded
from sparsegate.noise.expansions import tail
from sparsegate.selection import retraversal
from sparsegate.selection.retraversal import Traversal, plan_traversal, traversal_groups
from sparsegate.selection.scores import Scores

RUNS = 2000
SCORES = [0, 4, 4, 7]


def law_of(plan: Traversal, scores: list[int] = SCORES):
    return traversed(
        scores,
        threshold=plan.threshold,
        rho_scale=float(plan.rho_scale),
        nu_scale=float(plan.nu_scale),
        count=plan.count,
        passes=plan.passes,
    )


def observed(scores: Scores, plan: Traversal, seed: int, runs: int = RUNS) -> Counter[tuple[int, ...]]:
    source, seen = Seeded(seed), Counter[tuple[int, ...]]()
    for _ in range(runs):
        groups = traversal_groups(source, scores, scores.values, plan)
        seen[tuple(named(source, scores, groups))] += 1
    return seen


def standard(**changes: Any) -> Calibration:
    public: Any = {"cutoff": 4, "epsilon": 1, "monotonic": True, "allocation": "1:1"} | changes
    return calibrate(Setting(row=VARIANTS["standard"], **public), threshold=10, not_private=False)


@pytest.mark.parametrize(("form", "passes"), [(Scores.each, 1), (Scores.of, 2)])
def test_selections_have_exactly_the_probabilities_of_the_enumeration(form, passes):
    plan = Traversal(count=2, threshold=6, rho_scale=Fraction(3, 2), nu_scale=Fraction(4), passes=passes)
    assert law_p(observed(form(SCORES), plan, seed=passes), law_of(plan)) > FALSE_ALARM


@pytest.mark.parametrize("threshold", [-3, 6])
def test_groups_counted_by_one_binomial_draw_have_the_same_law(threshold, monkeypatch):
    monkeypatch.setattr(retraversal, "_LARGE", 1)
    plan = Traversal(count=2, threshold=threshold, rho_scale=Fraction(3, 2), nu_scale=Fraction(4), passes=2)
    assert law_p(observed(Scores.of(SCORES), plan, seed=3), law_of(plan)) > FALSE_ALARM


@pytest.mark.parametrize(("rho_scale", "nu_scale"), [(5, 1), (1, 5)])
def test_the_same_check_rejects_a_scale_that_is_a_fifth_off(rho_scale, nu_scale):
    # One item, below the threshold by a few times the larger scale: its tail decides.
    right = Traversal(count=1, threshold=10, rho_scale=Fraction(rho_scale), nu_scale=Fraction(nu_scale), passes=1)
    used = replace(right, **{"rho_scale" if rho_scale > nu_scale else "nu_scale": Fraction(4)})
    assert law_p(observed(Scores.each([0]), used, seed=11, runs=8000), law_of(right, [0])) < FALSE_ALARM


def test_scores_at_the_ends_of_the_lattice_do_not_overflow():
    scores = Scores.histogram({-(2**61): 5000, 2**61: 5000, -(2**61) + 1: 2, 2**61 - 1: 2})
    plan = Traversal(count=9000, threshold=0, rho_scale=Fraction(2**48), nu_scale=Fraction(2**48), passes=3)
    groups = traversal_groups(Seeded(1), scores, scores.values, plan)
    assert np.bincount(groups, minlength=4).tolist() == [0, 5000, 0, 2]


def test_the_threshold_rises_by_standard_deviations_of_the_query_noise():
    plan = plan_traversal(standard(), threshold=10, raise_by=Fraction(3), passes=5)
    assert plan.nu_scale == 4 / Fraction(1, 2)
    assert plan.threshold == 10 + math.floor(3 * math.sqrt(2) * 8)
    assert plan_traversal(standard(monotonic=False), threshold=10, raise_by=Fraction(0), passes=5).nu_scale == 16


@pytest.mark.parametrize("k", [1, 2, 17, 1000, 2**40, 2**62])
@pytest.mark.parametrize("x", [Fraction(1, 2**48), Fraction(1, 20), Fraction(7, 3)])
def test_the_tail_expansion_agrees_with_400_bits_of_mpmath(k, x):
    with mpmath.workprec(700):
        q = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
        expected = mpmath.floor(q**k / (1 + q) * mpmath.mpf(2) ** 400)
    assert tail(x, k).prefix(400) == int(expected)
