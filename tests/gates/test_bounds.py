"""Closed forms against MATH: the table of tight losses, and what finite query counts do to it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsegate as sg
from sparsegate.gates.bounds import Setting, outcome_loss, tight_epsilon, tight_loss
from sparsegate.gates.calibration import calibrate
from sparsegate.gates.planning import comparison_variance, plan
from sparsegate.gates.variants import VARIANTS, Scales

TABLE = {  # at epsilon one: in general, and monotonic
    "lyu-2017": (lambda c: 1, lambda c: 0.75),
    "dwork-roth-2014": (lambda c: 1, lambda c: 0.75),
    "lee-clifton-2014": (lambda c: (1 + 6 * c) / 4, lambda c: (1 + 3 * c) / 4),
    **dict.fromkeys(("standard", "hardt-rothblum-2010-indicator", "hardt-rothblum-2010-repaired"), (lambda c: 1,) * 2),
    **dict.fromkeys(
        ("roth-2011", "stoddard-2014", "chen-2015", "gptt", "hardt-rothblum-2010"), (lambda c: math.inf,) * 2
    ),
}


@pytest.mark.parametrize("key", TABLE)
@pytest.mark.parametrize("monotonic", [False, True])
def test_the_tight_loss_at_epsilon_one(key, monotonic):
    for cutoff in (1, 2, 3, 50):
        expected = pytest.approx(TABLE[key][monotonic](cutoff))
        assert tight_epsilon(key, cutoff=cutoff, epsilon=1, monotonic=monotonic) == expected


@pytest.mark.parametrize("row", VARIANTS.values(), ids=VARIANTS.keys())
@pytest.mark.parametrize("monotonic", [False, True])
def test_a_row_is_called_private_exactly_where_its_tight_loss_says_so(row, monotonic):
    loss = max(tight_epsilon(row, cutoff=c, epsilon=1, monotonic=monotonic) for c in (1, 2, 7))
    assert row.private == (loss <= 1)


@pytest.mark.parametrize("shares", [(0.1, 0.4, 0.5), (0.3, 0.3, 0.4), (0.5, 0.2, 0.3), (0.2, 0.7, 0.1)])
def test_monotonic_queries_get_the_smallest_share_back(shares):
    budget = sg.Budget(threshold_epsilon=shares[0], query_epsilon=shares[1], answer_epsilon=shares[2])
    assert tight_epsilon("standard", cutoff=4, budget=budget) == pytest.approx(1)
    assert tight_epsilon("standard", cutoff=4, budget=budget, monotonic=True) == pytest.approx(1 - min(shares))


SPLITS = st.sampled_from(["1:1", "1:3", "optimal", 9])


@given(st.sampled_from(sorted(VARIANTS)), st.integers(1, 6), st.booleans(), st.integers(1, 40), SPLITS)
def test_more_queries_never_leak_less_and_never_more_than_no_limit(key, cutoff, monotonic, n, allocation):
    options = {"cutoff": cutoff, "epsilon": 1, "monotonic": monotonic, "allocation": allocation}
    fewer, more = (tight_epsilon(key, queries=q, **options) for q in (n, n + 1))
    assert fewer <= more + 1e-12
    assert more <= tight_epsilon(key, **options) + 1e-12


@given(st.integers(1, 5), st.integers(1, 9), st.fractions(Fraction(1, 10), 4), st.fractions(Fraction(1, 10), 4))
def test_the_dynamic_programme_of_redrawn_rounds_finds_the_best_of_all_transcripts(cutoff, n, rho, nu):
    """Against brute force over every shape of transcript of up to nine queries."""
    scales, best = Scales(rho, nu, None), Fraction(0)
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


LIMITS = st.one_of(st.none(), st.integers(1, 120))


@settings(max_examples=40)
@given(st.integers(1, 40), st.floats(0.01, 5), st.booleans(), LIMITS, st.sampled_from([0, 0.2, 0.6]))
def test_a_plan_spends_exactly_epsilon_and_never_has_more_variance_than_the_paper(
    cutoff, epsilon, monotonic, queries, answers
):
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


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("key", ["standard", "ding-2019", "liu-2024", "exponential-gap", "two-sided"])
def test_a_whole_gate_costs_what_its_worst_outcome_does(key, monotonic):
    """Also around the n from which no outcome is left out."""
    row = VARIANTS[key]
    for cutoff, rho, nu in ((2, Fraction(3), Fraction(5)), (3, Fraction(2), Fraction(9, 2))):
        scales = Scales(rho, nu, None)
        for n in range(1, 14):
            outcomes = [(n - k, k) for k in range(n + 1) if (min(n - k, k) if key == "two-sided" else k) <= cutoff]
            found = tight_loss(row, scales, cutoff=cutoff, monotonic=monotonic, queries=n)
            assert found == max(outcome_loss(m, k, scales, monotonic=monotonic, row=row) for m, k in outcomes), n
        whole = tight_loss(row, scales, cutoff=cutoff, monotonic=monotonic, queries=None)
        assert whole == 1 / rho + (1 if monotonic else 2) * cutoff / nu


@pytest.mark.parametrize("short", [Fraction(0), Fraction(1, 10**30)])
def test_noise_is_paid_for_to_the_last_digit(short):
    scales = Scales(Fraction(2), Fraction(6), None)  # 1/2 + 3/6
    budget = sg.Budget(threshold_epsilon=0.5, query_epsilon=Fraction(1, 2) - short)
    setting = Setting(row=VARIANTS["standard"], cutoff=3, monotonic=True, scales=scales, budget=budget)
    if not short:
        assert calibrate(setting, threshold=0, not_private=False).loss == 1
        return
    with pytest.raises(sg.ParameterError) as caught:
        calibrate(setting, threshold=0, not_private=False)
    assert caught.value.parameter == "budget"
