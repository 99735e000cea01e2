"""Witnesses: near the tight loss for every row, reproducible through ``loss``; of few queries, too.

Where the supremum over n queries differs from what one would guess:

- noise inside |e - q + nu|: once there is a BELOW, e1 + 2mr is no bound, and n queries cost n r up to e1 + 2cr;
- a redrawn threshold and monotonic queries: all rounds rise or all fall;
- monotonic queries with numbers: only whole positives rise.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import sparsegate as sg
from sparsegate.gates.bounds import tight_loss
from sparsegate.gates.planning import NoiseName
from sparsegate.gates.variants import VARIANTS, Noise, Released, Scales, Variant
from sparsegate.privacy import WorstCase, loss, plan, search, worst_case

NEAR, TOLERANCE = 1e-3, 1e-9


def again(row: str | Variant, witness: WorstCase, **parameters: Any) -> float:
    """The witness's loss, computed from what it says."""
    pair, public = (
        (witness.answers, witness.neighbour),
        {"threshold": witness.threshold, "estimates": witness.estimates},
    )
    return loss(row, *pair, witness.outcome, **public, **parameters)


def holds(row: str | Variant, queries: int | None = None, **parameters: Any) -> WorstCase:
    """A witness within 0.1 % of a finite tight loss and not above it, that ``loss`` confirms."""
    witness = worst_case(row, queries=queries, **parameters)
    assert again(row, witness, **parameters) == pytest.approx(witness.loss, abs=1e-9)
    assert witness.tight * (1 - NEAR) <= witness.loss <= witness.tight + 1e-9
    assert queries is None or len(witness.answers) <= queries
    return witness


@pytest.mark.parametrize("noise", Noise)
def test_the_number_of_an_error_is_part_of_the_witness(noise: Noise) -> None:
    """The row of the holdout and of online answers, with fresh answers beside the comparison."""
    row = replace(VARIANTS["hardt-rothblum-2010-repaired"], released=Released.FRESH_ANSWER, noise=noise)
    budget = sg.Budget(threshold_epsilon=0.25, query_epsilon=0.75, answer_epsilon=0.5)
    assert holds(row, cutoff=2, budget=budget).tight == 1.5


FINITE = [key for key in sg.VARIANTS if math.isfinite(sg.privacy.tight_epsilon(key, epsilon=1))]
INFINITE = [key for key in sg.VARIANTS if key not in FINITE]


@pytest.mark.parametrize(("monotonic", "noise"), [(False, "lattice"), (True, "continuous")])
@pytest.mark.parametrize("key", FINITE)
def test_a_finite_loss_is_reached(key: str, monotonic: bool, noise: str) -> None:
    for cutoff, epsilon in ((1, 1), (25, 0.5)):
        holds(key, cutoff=cutoff, epsilon=epsilon, monotonic=monotonic, noise=noise)
    with pytest.raises(sg.ParameterError, match="at_least"):
        worst_case(key, epsilon=1, at_least=1e3)


@pytest.mark.parametrize(("monotonic", "noise"), [(False, "lattice"), (True, "continuous")])
@pytest.mark.parametrize("key", INFINITE)
def test_an_infinite_loss_passes_any_bound(key: str, monotonic: bool, noise: str) -> None:
    for bound in (1, 30):
        witness = worst_case(key, epsilon=1, monotonic=monotonic, at_least=bound, noise=noise)  # type: ignore[arg-type]
        assert witness.tight == math.inf
        assert witness.loss > bound
        assert again(key, witness, epsilon=1, monotonic=monotonic, noise=noise) == pytest.approx(witness.loss, abs=1e-9)


# Redrawn thresholds with monotonic queries have tests of their own below.
ROWS = [
    (key, monotonic)
    for key in sg.VARIANTS
    for monotonic in (False, True)
    if (key, monotonic) != ("dwork-roth-2014", True)
]


@pytest.mark.parametrize(("key", "monotonic"), ROWS)
@pytest.mark.parametrize("queries", [1, 4])
def test_so_many_queries_reach_their_own_loss(key: str, monotonic: bool, queries: int) -> None:
    parameters = {"cutoff": 2, "epsilon": 1, "monotonic": monotonic}
    if key == "stoddard-2014" and queries > 1:
        assert worst_case(key, queries=queries, **parameters).loss == math.inf
    else:
        holds(key, queries=queries, **parameters)


@pytest.mark.parametrize("shares", [(0.5, 0.3, 0.2), (0.2, 0.3, 0.5), (0.3, 0.5, 0.2)])
@pytest.mark.parametrize("noise", ["continuous", "lattice"])
def test_with_numbers_and_monotonic_queries_the_smallest_share_is_free(
    shares: tuple[float, float, float], noise: str
) -> None:
    budget = sg.Budget(threshold_epsilon=shares[0], query_epsilon=shares[1], answer_epsilon=shares[2])
    for cutoff in (1, 3):
        witness = holds("standard", cutoff=cutoff, budget=budget, monotonic=True, noise=noise)
        assert witness.tight == pytest.approx(1 - min(shares))
        assert holds("standard", cutoff=cutoff, budget=budget, noise=noise).tight == pytest.approx(1)


@pytest.mark.parametrize(("sensitivity", "granularity"), [(0.1, None), (1.5, 1), (3, None)])
@pytest.mark.parametrize("key", ["standard", "hardt-rothblum-2010-repaired", "hardt-rothblum-2010-indicator"])
def test_answers_move_by_the_whole_sensitivity_of_any_lattice(
    key: str, sensitivity: float, granularity: int | None
) -> None:
    options = {"sensitivity": sensitivity, "granularity": granularity, "noise": "lattice"}
    for monotonic in (False, True):
        holds(key, cutoff=2, epsilon=1, monotonic=monotonic, **options)


INSIDE = ("hardt-rothblum-2010-indicator", Scales(Fraction(10), Fraction(2), None), (0, 400), False)
CLOSED = [
    *((*INSIDE, *row) for row in ((4, 1, 0.1), (4, 2, 1.0), (4, 5, 2.5), (4, 7, 3.5), (1, 2, 1.0), (1, 4, 1.1))),
    *(
        ("dwork-roth-2014", Scales(Fraction(rho), Fraction(nu), None), (0,), True, *row)
        for rho, nu, *row in ((2, 4, 2, 3, 0.5), (2, 4, 3, 7, 1.25), (3, 5, 3, 5, 11 / 15), (1, 4, 2, 5, 1.0))
    ),
    *(
        ("standard", Scales(*(1 / Fraction(x) for x in rates)), (0,), True, 1, 3, expected)
        for *rates, expected in (("2.2", "1.7", "0.8", 3.4), ("2.1", "1.6", "1.3", 3.4), ("1.6", "1.2", "0.4", 2.4))
    ),
]
"""With the noise inside every query costs up to the cutoff; redrawn rounds all move in one direction; and only whole
positives rise."""


@pytest.mark.parametrize(("key", "scales", "thresholds", "monotonic", "cutoff", "queries", "expected"), CLOSED)
def test_the_witness_reaches_the_closed_form_and_the_search_does_not_pass_it(
    key, scales, thresholds, monotonic, cutoff, queries, expected
) -> None:
    options = {"scales": scales, "queries": queries, "cutoff": cutoff, "monotonic": monotonic}
    witness = worst_case(key, **options)
    climbed = search(key, thresholds=thresholds, restarts=3, **options)
    assert witness.loss == pytest.approx(expected, rel=1e-3)
    assert max(witness.loss, climbed.loss) <= expected + TOLERANCE
    assert float(tight_loss(VARIANTS[key], **options)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("noise", ["laplace", "exponential", "auto"])
@pytest.mark.parametrize(("cutoff", "queries"), [(1, 1), (1, 6), (3, 4)])
def test_a_plan_of_any_noise_spends_what_it_says_and_no_more(
    cutoff: int, queries: int, noise: NoiseName, monotonic: bool
) -> None:
    for answers in (0, 0.3):
        planned = plan(
            cutoff=cutoff, epsilon=1, monotonic=monotonic, queries=queries, answer_epsilon=answers, noise=noise
        )
        options = {"scales": planned.scales, "cutoff": cutoff, "monotonic": monotonic, "queries": queries}
        found = search(planned.row, restarts=4, **options)
        witness = worst_case(planned.row, **options)
        assert planned.epsilon <= 1
        assert 0.98 * planned.epsilon <= max(found.loss, witness.loss) <= planned.epsilon + TOLERANCE, planned
