"""Divergences of pairs against a second computation, and the bounds that no pair may pass."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import sparsegate as sg
from sparsegate.gates.variants import Scales
from sparsegate.privacy import delta, renyi, tight_epsilon, worst_case

INDICATORS = ["standard", "lyu-2017", "dwork-roth-2014"]  # private rows that compare the answer and say no numbers
ORDERS = [1.2, 2, 8, 40]
PAIRS = [([0, 0, 0], [1, -1, 1]), ([9, 9, 9, 9, 0], [10, 10, 10, 10, -1]), ([3, -2, 0, 5], [2, -3, -1, 4])]


def outcome_probabilities(answers, *, t, b, cutoff):
    """Pr of every outcome on the lattice, by plain sums over rho."""
    z = np.arange(-int(50 * t), int(50 * t) + 1)
    rho, p = math.tanh(0.5 / t) * np.exp(-np.abs(z) / t), math.exp(-1 / b)
    out = []
    for outcome in itertools.product((False, True), repeat=len(answers)):
        if sum(outcome[:-1]) >= cutoff:
            continue
        weight = rho.copy()
        for said, answer in zip(outcome, answers, strict=True):
            x = z - answer  # ABOVE iff nu >= x
            tail = np.exp(-np.where(x > 0, x, 1 - x) / b) / (1 + p)
            weight *= np.where((x > 0) == said, tail, 1 - tail)
        out.append(weight.sum())
    return np.array(out)


@pytest.mark.parametrize(("answers", "neighbour"), PAIRS)
def test_both_are_sums_over_outcomes(answers, neighbour):
    scales, cutoff = Scales(Fraction(3), Fraction(4), None), len(answers)  # closes after the last query or not at all
    options = {"scales": scales, "cutoff": cutoff, "noise": "lattice"}
    p, q = (outcome_probabilities(values, t=3.0, b=4.0, cutoff=cutoff) for values in (answers, neighbour))
    for alpha in (1.5, 6.0):
        expected = max(math.log((x**alpha * y ** (1 - alpha)).sum()) for x, y in ((p, q), (q, p))) / (alpha - 1)
        assert renyi("standard", alpha, answers, neighbour, **options) == pytest.approx(expected, rel=1e-8)
    for at in (0, 0.1, 0.3):
        expected = max(np.maximum(0, x - math.exp(at) * y).sum() for x, y in ((p, q), (q, p)))
        assert delta("standard", at, answers, neighbour, **options) == pytest.approx(expected, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("row", INDICATORS)
@pytest.mark.parametrize(("noise", "cutoff"), [("continuous", 1), ("lattice", 3)])
def test_no_pair_passes_the_bound(row, noise, cutoff):
    for (answers, neighbour), alpha in itertools.product(PAIRS, ORDERS):
        options = {"epsilon": 2, "cutoff": cutoff, "noise": noise}
        exact = renyi(row, alpha, answers, neighbour, **options)
        bound = renyi(row, alpha, **options)
        assert 0 < exact <= bound <= tight_epsilon(row, epsilon=2, cutoff=cutoff) * (1 + 1e-12)
        assert exact <= renyi(row, alpha, queries=len(answers), **options)


def test_the_bound_has_teeth():
    """At a high order the divergence is the largest loss, and a witness of it passes the bound at 20 % less noise."""
    witness = worst_case("lyu-2017", epsilon=1, queries=6)
    pair = [[float(x) for x in side] for side in (witness.answers, witness.neighbour)]
    honest = Scales(Fraction(2), Fraction(4), None)
    less = Scales(Fraction(8, 5), Fraction(16, 5), None)
    bound = renyi("lyu-2017", 2000, scales=honest)
    assert 0.95 * bound < renyi("lyu-2017", 2000, *pair, scales=honest) <= bound
    assert renyi("lyu-2017", 2000, *pair, scales=less) > bound


def test_a_row_without_query_noise_has_no_divergence():
    assert renyi("stoddard-2014", 2, [0, 1], [1, 0], epsilon=1) == math.inf
    assert renyi("stoddard-2014", 2, epsilon=1) == math.inf
    assert delta("stoddard-2014", 5, [0, 1], [1, 0], epsilon=1) > 0.1
    assert delta("lyu-2017", 10**4, [9, 0], [10, -1], epsilon=1) == 0


def test_the_pure_bound_is_that_of_randomised_response():
    spent = renyi("dwork-roth-2014", 3, epsilon=1)  # it redraws rho: the other bound is not for it
    keep, flip = math.e / (1 + math.e), 1 / (1 + math.e)
    assert spent == pytest.approx(math.log(keep**3 * flip**-2 + flip**3 * keep**-2) / 2, rel=1e-12)


@pytest.mark.parametrize("row", ["two-sided", "ding-2019", "liu-2024", "exponential-gap", "dwork-roth-2014"])
def test_the_bound_of_many_above_is_for_no_other_row(row):
    """These close later, say numbers, have other noise or draw rho again: what is left is that they are pure."""
    spent = tight_epsilon(row, epsilon=1, cutoff=300, monotonic=True)
    pure = math.log((math.exp(9 * spent) + math.exp(-8 * spent)) / (1 + math.exp(spent))) / 8
    assert renyi(row, 9, epsilon=1, cutoff=300, monotonic=True) == pytest.approx(pure, rel=1e-9)
    assert renyi("standard", 9, epsilon=1, cutoff=300, monotonic=True) < 0.1 * pure


@pytest.mark.parametrize(
    ("ask", "parameter"),
    [
        *((lambda alpha=alpha: renyi("standard", alpha, epsilon=1), "alpha") for alpha in (1, 0, -1, math.inf, "2")),
        (lambda: renyi("standard", 2, [1], epsilon=1), "neighbour"),
        (lambda: renyi("standard", 2, [1], [2], queries=1, epsilon=1), "queries"),
        (lambda: renyi("ding-2019", 2, [1], [2], epsilon=1), "row"),
        (lambda: renyi("exponential-gap", 2, [1], [2], epsilon=1), "row"),
        (lambda: delta("roth-2011", 1, [1], [2], epsilon=1), "row"),
        (lambda: delta("standard", 1, [1], [9], epsilon=1), "neighbour"),
    ],
)
def test_refusals_name_the_parameter(ask, parameter):
    with pytest.raises(sg.ParameterError) as refused:
        ask()
    assert refused.value.parameter == parameter
