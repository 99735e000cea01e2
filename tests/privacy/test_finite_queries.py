"""Few queries: where the supremum over n queries differs from what one would guess.

- noise inside |e - q + nu|: once there is a BELOW, e1 + 2mr is no bound, and n queries cost n r up to e1 + 2cr;
- a redrawn threshold and monotonic queries: all rounds rise or all fall;
- monotonic queries with numbers: only whole positives rise.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsegate.gates.bounds import outcome_loss, tight_loss
from sparsegate.gates.planning import NoiseName
from sparsegate.gates.variants import VARIANTS, Scales
from sparsegate.privacy import plan, search, worst_case

TOLERANCE = 1e-9


def confirm(
    key: str,
    scales: Scales,
    expected: float,
    *,
    queries: int,
    cutoff: int,
    monotonic: bool = False,
    thresholds: tuple[int, ...] = (0,),
) -> None:
    """The witness reaches the expected loss, the search does not pass it, and the closed form says the same."""
    tight = tight_loss(VARIANTS[key], scales, cutoff=cutoff, monotonic=monotonic, queries=queries)
    witness = worst_case(key, scales=scales, queries=queries, cutoff=cutoff, monotonic=monotonic)
    found = search(
        key, scales=scales, queries=queries, cutoff=cutoff, monotonic=monotonic, thresholds=thresholds, restarts=3
    )
    assert witness.loss == pytest.approx(expected, rel=1e-3)
    assert max(witness.loss, found.loss) <= expected + TOLERANCE
    assert float(tight) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("queries", "expected"), [(1, 0.1), (2, 1.0), (3, 1.5), (5, 2.5), (7, 3.5)])
def test_with_the_noise_inside_every_query_costs(queries: int, expected: float) -> None:
    scales = Scales(Fraction(10), Fraction(2), None)
    confirm("hardt-rothblum-2010-indicator", scales, expected, queries=queries, cutoff=4, thresholds=(0, 400))


@pytest.mark.parametrize(("queries", "expected"), [(2, 1.0), (3, 1.1), (4, 1.1)])
def test_with_the_noise_inside_the_cutoff_still_limits(queries: int, expected: float) -> None:
    scales = Scales(Fraction(10), Fraction(2), None)
    confirm("hardt-rothblum-2010-indicator", scales, expected, queries=queries, cutoff=1, thresholds=(0, 400))


@pytest.mark.parametrize(
    ("rho", "nu", "cutoff", "queries", "expected"),
    [(2, 4, 2, 3, 0.5), (2, 4, 3, 4, 0.75), (2, 4, 3, 7, 1.25), (3, 5, 3, 5, 11 / 15), (1, 4, 2, 5, 1.0)],
)
def test_redrawn_rounds_all_move_in_one_direction(
    rho: int, nu: int, cutoff: int, queries: int, expected: float
) -> None:
    scales = Scales(Fraction(rho), Fraction(nu), None)
    confirm("dwork-roth-2014", scales, expected, queries=queries, cutoff=cutoff, monotonic=True)


@pytest.mark.parametrize(
    ("e1", "r", "a3", "cutoff", "queries", "expected"),
    [("2.2", "1.7", "0.8", 1, 3, 3.4), ("2.1", "1.6", "1.3", 1, 3, 3.4), ("1.6", "1.2", "0.4", 1, 3, 2.4)],
)
def test_only_whole_positives_rise(e1: str, r: str, a3: str, cutoff: int, queries: int, expected: float) -> None:
    scales = Scales(*(1 / Fraction(x) for x in (e1, r, a3)))
    confirm("standard", scales, expected, queries=queries, cutoff=cutoff, monotonic=True)


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


@pytest.mark.parametrize(("cutoff", "queries", "answers"), [(1, 3, 0.3), (2, 5, 0.3), (2, 3, 0.1), (3, 5, 0.6)])
def test_a_plan_with_numbers_spends_all_it_may(cutoff: int, queries: int, answers: float) -> None:
    planned = plan(cutoff=cutoff, epsilon=1, monotonic=True, queries=queries, answer_epsilon=answers)
    found = search("standard", scales=planned.scales, cutoff=cutoff, monotonic=True, queries=queries, restarts=4)
    assert found.loss <= 1 + TOLERANCE
    assert found.loss >= 0.99


def test_ten_of_twelve_monotonic_queries_want_less_threshold_noise_than_query_noise() -> None:
    scales = Scales(Fraction(7, 3), Fraction(7), None)
    planned = plan(cutoff=10, epsilon=1, monotonic=True, queries=12).scales
    assert [float(scale) for scale in planned[:2]] == pytest.approx([7 / 3, 7], rel=1e-6)  # type: ignore[arg-type]
    confirm("standard", scales, 1.0, queries=12, cutoff=10, monotonic=True)


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize(("e1", "r"), [(Fraction(1, 2), Fraction(1, 4)), (Fraction(1, 5), Fraction(1, 2))])
def test_every_mixture_of_answers_obeys_its_own_bound(e1: Fraction, r: Fraction, monotonic: bool) -> None:
    scales = Scales(1 / e1, 1 / r, None)
    for n in (2, 3, 5):
        best = max(float(outcome_loss(n - k, k, scales, monotonic=monotonic)) for k in range(n + 1))
        found = search("chen-2015", scales=scales, queries=n, monotonic=monotonic, restarts=3)
        assert 0.98 * best <= found.loss <= best + TOLERANCE
