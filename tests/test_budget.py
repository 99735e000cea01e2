"""Budgets: exact shares, allocation rules, composition."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import partial

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.budget import Budget, advanced, allocation_ratio, exact_epsilon, pure_rho
from sparsegate.errors import ParameterError


@given(
    st.floats(min_value=1e-6, max_value=100),
    st.integers(1, 1000),
    st.booleans(),
    st.sampled_from(["optimal", "1:1", "1:3", "1:c", 7, 0.3]),
    st.floats(min_value=0, max_value=0.99),
)
def test_shares_add_up_to_exactly_what_was_given(epsilon, cutoff, monotonic, allocation, fraction):
    answers = exact_epsilon(epsilon) * exact_epsilon(fraction, zero=True)
    budget = Budget.allocate(epsilon, cutoff=cutoff, monotonic=monotonic, allocation=allocation, answer_epsilon=answers)
    assert budget.total == exact_epsilon(epsilon)
    assert budget.answer_epsilon == answers
    assert budget.threshold_epsilon > 0
    assert budget.query_epsilon > 0


@pytest.mark.parametrize(
    ("allocation", "monotonic", "ratio"),
    [
        ("1:1", False, 1),
        ("1:3", True, 3),
        ("1:c", False, 64),
        ("optimal", True, 16),
        ("optimal", False, 128 ** (2 / 3)),
    ],
)
def test_the_rules_are_those_of_the_paper(allocation, monotonic, ratio):
    assert float(allocation_ratio(allocation, cutoff=64, monotonic=monotonic)) == pytest.approx(ratio, rel=1e-6)


def test_advanced_composition_is_the_formula_and_never_more_than_the_sum():
    eps, k, delta = 0.01, 10_000, 1e-6
    formula = math.sqrt(2 * k * math.log(1 / delta)) * eps + k * eps * (math.exp(eps) - 1)
    assert advanced(eps, runs=k, delta=delta) == pytest.approx(formula, rel=1e-12)
    for large in (1, 2, 709, 710, 1000, 1e300):
        assert advanced(large, runs=2, delta=1e-6) == pytest.approx(2 * large, rel=1e-12)


SHARES = ("threshold_epsilon", "query_epsilon", "answer_epsilon")


@pytest.mark.parametrize(
    ("parameter", "call"),
    [
        *(
            (share, partial(Budget, **dict.fromkeys(SHARES, 0.1) | {share: bad}))
            for share in SHARES
            for bad in (math.nan, math.inf, -math.inf, -0.1, "0.1", None, True, Decimal("NaN"))
        ),
        ("query_epsilon", partial(Budget, threshold_epsilon=0.1, query_epsilon=0)),
        *(("cutoff", partial(Budget.allocate, 1, cutoff=bad)) for bad in (0, -1, 2.5, 3.0, True, "3", None)),
        *(
            ("allocation", partial(Budget.allocate, 1, cutoff=3, allocation=bad))
            for bad in ("best", "2:1", 0, -1, math.nan)
        ),
        ("answer_epsilon", partial(Budget.allocate, 1, cutoff=3, answer_epsilon=1)),
        *(("delta", partial(advanced, 0.1, runs=5, delta=bad)) for bad in (0, 1, -1, math.nan, "small")),
    ],
)
def test_what_is_no_share_and_no_rule_is_refused(parameter, call):
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("epsilon", ["1e-9", "0.1", "1", "3", "12", "60"])
def test_the_rho_of_what_is_pure_is_that_of_randomised_response(epsilon: str) -> None:
    """It bounds D_alpha / alpha for every order, from above, and is reached next to order one."""
    exact = Fraction(epsilon)
    rho = pure_rho(exact)
    with mpmath.workdps(60):
        e = mpmath.mpf(exact.numerator) / exact.denominator
        charged, least = mpmath.mpf(rho.numerator) / rho.denominator, e * mpmath.tanh(e / 2)
        assert least <= charged <= least * (1 + mpmath.mpf("1e-8"))
        assert rho <= min(exact**2 / 2, exact)
        for alpha in map(mpmath.mpf, ("1.000000001", "1.5", "2", "16", "1000")):
            moment = mpmath.cosh((2 * alpha - 1) * e / 2) / mpmath.cosh(e / 2)
            rate = mpmath.log(moment) / (alpha - 1) / alpha
            assert rate <= charged
            if alpha < 1.1:
                assert rate > charged * mpmath.mpf("0.999999")
    assert pure_rho(exact, 7) == 7 * pure_rho(exact / 7)
