"""Logarithms of binomial coefficients against mpmath's gamma function, and against integers."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.noise.expansions import interval_arithmetic
from sparsegate.selection.subset import ERROR, log_binomial, log_binomials


def reference(n: int, k: int) -> mpmath.mpf:
    return mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)


CASES = st.one_of(st.integers(0, 100), st.integers(0, 10**7), st.integers(0, 2**62)).flatmap(
    lambda n: st.tuples(
        st.just(n), st.one_of(st.integers(0, n), st.integers(0, min(n, 99)), st.integers(max(0, n - 99), n))
    )
)


@given(CASES)
def test_floats_are_within_their_error(case: tuple[int, int]) -> None:
    n, k = case
    with mpmath.workdps(80):
        exact = reference(n, k)
        assert abs(float(log_binomials(np.array([n]), np.array([k]))[0]) - exact) <= ERROR / 16 * (1 + exact)


def test_small_ones_are_those_of_the_integers() -> None:
    n, k = np.array([(n, k) for n in range(70) for k in range(n + 1)]).T
    exact = [math.log(math.comb(*pair)) for pair in zip(n.tolist(), k.tolist(), strict=True)]
    np.testing.assert_allclose(log_binomials(n, k), exact, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("bits", [128, 512, 2048])
@given(case=CASES)
def test_intervals_hold_the_truth_and_are_narrow(bits: int, case: tuple[int, int]) -> None:
    n, k = case
    with mpmath.workdps(800), interval_arithmetic(bits) as iv:
        found, exact, tiny = log_binomial(iv, n, k), reference(n, k), mpmath.ldexp(1, -2500)
        low, high = mpmath.mpf(found._mpi_[0]), mpmath.mpf(found._mpi_[1])
        assert low - tiny <= exact <= high + tiny
        assert high - low <= mpmath.ldexp(1, 80 - bits)
