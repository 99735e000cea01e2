"""All outcomes at once: they sum to one, and each is what the single computation says."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sparsegate as sg
from sparsegate.gates.variants import Compared, Scales
from sparsegate.privacy.model import Comparisons, build
from sparsegate.privacy.outcome import log_probabilities, possible_outcomes, transcript

# (rho scale, nu scale, spread of the answers, queries, cutoff)
CASES = [(2, 4, 3, 4, 2), (1, 50, 40, 5, 5), (500, 2, 700, 4, 3), (10**6, 10**6, 10**6, 3, 1), (1, 1, 60, 3, 2)]


def comparisons(key: str, noise: str, case: tuple[int, int, int, int, int]) -> Comparisons:
    rho, nu, spread, n, cutoff = case
    row = sg.VARIANTS[key]
    rng = np.random.default_rng(n * spread)
    scales = Scales(Fraction(rho), Fraction(nu) if row.query_noise.factor else None, None)
    estimates = None if row.compared is Compared.ANSWER else rng.integers(-spread, spread + 1, n)
    model = build(row, cutoff=cutoff, scales=scales, noise=noise)  # type: ignore[arg-type]
    return model.compare(rng.integers(-spread, spread + 1, n), rng.integers(-spread, spread + 1, n), estimates)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("noise", ["continuous", "lattice"])
@pytest.mark.parametrize("key", sg.VARIANTS)
def test_outcomes_sum_to_one_and_agree_with_one_at_a_time(
    key: str, noise: str, case: tuple[int, int, int, int, int]
) -> None:
    ready = comparisons(key, noise, case)
    every = log_probabilities(ready)
    assert math.fsum(np.exp(every)) == pytest.approx(1, abs=1e-10)
    outcomes = possible_outcomes(ready.model, ready.answer.size).outcomes
    chosen = np.random.default_rng(1).choice(len(outcomes), min(6, len(outcomes)), replace=False)
    assert [every[i] for i in chosen] == pytest.approx([transcript(ready, outcomes[i]) for i in chosen], abs=1e-10)


def test_a_row_that_stops_has_the_outcomes_that_end_at_its_cutoff() -> None:
    outcomes = possible_outcomes(build("lyu-2017", cutoff=2, epsilon=1), 3).outcomes
    assert set(outcomes) == {
        (False, False, False),
        (False, False, True),
        (False, True, False),
        (True, False, False),
        (False, True, True),
        (True, False, True),
        (True, True),
    }


def test_a_row_that_never_stops_has_them_all() -> None:
    assert len(possible_outcomes(build("chen-2015", epsilon=1), 10).outcomes) == 1024


def test_more_queries_than_can_be_listed_are_refused() -> None:
    with pytest.raises(sg.ParameterError):
        log_probabilities(build("chen-2015", epsilon=1).compare([0] * 13, 0, None))
