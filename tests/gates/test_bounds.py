"""Closed forms against MATH: the table of tight losses, and what finite query counts do to it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparsegate as sg
from sparsegate.gates.bounds import outcome_loss, tight_epsilon, tight_loss
from sparsegate.gates.planning import comparison_variance, plan
from sparsegate.gates.variants import VARIANTS, Scales

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


@pytest.mark.parametrize(("queries", "loss"), [(2, 1), (4, 2), (8, 4), (12, 6)])
def test_chen_after_n_queries(queries: int, loss: float) -> None:
    assert tight_epsilon("chen-2015", epsilon=1, queries=queries) == pytest.approx(loss)


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


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"epsilon": 1, "budget": sg.Budget(threshold_epsilon=1, query_epsilon=1)},
        {"budget": sg.Budget(threshold_epsilon=1, query_epsilon=1), "allocation": "1:3"},
        {"epsilon": 1, "queries": 0},
    ],
)
def test_bad_parameters_are_named(bad: dict[str, object]) -> None:
    with pytest.raises(sg.ParameterError):
        tight_epsilon("standard", **bad)  # type: ignore[arg-type]


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


def test_few_questions_want_no_threshold_noise() -> None:
    few, many = plan(cutoff=10, epsilon=1, queries=15), plan(cutoff=10, epsilon=1, queries=200)
    assert few.scales == Scales(None, Fraction(15), None)
    assert many.scales.threshold is not None


@pytest.mark.parametrize("epsilon", [4.4180051265113995e-151, 1e-16, 1e16, 1e300])
@pytest.mark.parametrize("queries", [1, 11_936])
def test_an_epsilon_beyond_all_noise_is_refused_by_name(epsilon: float, queries: int) -> None:
    with pytest.raises(sg.ParameterError, match=r"epsilon must lie between 1e-15 and 1e\+15"):
        sg.SparseVector(threshold=1, cutoff=384, epsilon=epsilon, queries=queries, sensitivity=1, monotonic=True)


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
