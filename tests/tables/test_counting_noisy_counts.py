"""Noisy counts: the scale that their guarantee needs, and an error bar that keeps its word."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.support.goodness import FALSE_ALARM, chi_square_p, discrete_laplace_mass
from tests.tables.conftest import table

from sparsegate.gates.laplace import error_bar, error_bar_all
from sparsegate.noise import Seeded
from sparsegate.tables.counting import answer_scale, noisy_counts
from sparsegate.tables.top import top_items


def test_counts_carry_fresh_discrete_laplace_noise_and_no_other() -> None:
    """Seen through top_items: 24 items with a count of 1000 each, so that the cut at zero is far away."""
    native = table(
        "pyarrow", {"item": list(range(24)) * 1000, "user": [user for user in range(1000) for _ in range(24)]}
    )
    noise = np.array(
        [
            estimate - 1000
            for seed in range(300)
            for estimate in top_items(
                native,
                item="item",
                user="user",
                count=24,
                epsilon=1,
                answers_epsilon=8,
                domain=24,
                source=Seeded(seed),
                not_private=True,
            ).estimates
        ]
    )
    assert chi_square_p(noise, discrete_laplace_mass(3, range(-6, 7))) > FALSE_ALARM
    assert chi_square_p(noise, discrete_laplace_mass(3 * 1.2, range(-6, 7))) < FALSE_ALARM


@pytest.mark.parametrize(
    ("max_items_per_user", "moved"),
    [(None, 50), (1, 1), (7, 7), (50, 50), (4950, 50)],
)
def test_the_scale_is_what_one_person_can_move_in_all(max_items_per_user: int | None, moved: int) -> None:
    assert answer_scale(count=50, max_items_per_user=max_items_per_user, epsilon=Fraction(1, 4)) == 4 * moved


@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(1, 2), Fraction(3), Fraction(500)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_error_bar_is_the_smallest_that_keeps_its_word(scale: Fraction, confidence: float) -> None:
    bar = error_bar(scale, confidence)
    reach = range(-60 * (int(scale) + 1), 60 * (int(scale) + 1) + 1)
    mass = discrete_laplace_mass(float(scale), reach)
    within = sum(p for k, p in mass.items() if abs(k) <= bar)
    assert within >= confidence - 1e-9
    assert bar == 0 or within - mass[bar] - mass[-bar] < confidence


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(500)])
@pytest.mark.parametrize("count", [1, 2, 50, 100_000])
def test_the_bar_of_all_is_the_smallest_that_keeps_its_word(scale: Fraction, count: int) -> None:
    bar = error_bar_all(scale, 0.95, count)
    q = math.exp(-1 / scale)

    def all_within(t: int) -> float:
        return math.exp(count * math.log1p(-2 * q ** (t + 1) / (1 + q)))

    assert all_within(bar) >= 0.95 - 1e-9
    assert bar == 0 or all_within(bar - 1) < 0.95
    assert (bar == error_bar(scale, 0.95)) == (count == 1)


def test_all_counts_of_a_release_are_within_their_bar_together() -> None:
    """In 95 of 100 of 1000 releases of twenty counts; a bar a fifth shorter does not keep that."""
    source, bar = Seeded(5), error_bar_all(Fraction(30), 0.95, 20)
    counts = np.array([noisy_counts(source, [10_000] * 20, Fraction(30)) for _ in range(1000)])
    beyond, beyond_less = ((np.abs(counts - 10_000) > reach).any(axis=1).sum() for reach in (bar, 0.8 * bar))
    assert stats.binom.sf(beyond - 1, 1000, 0.05) > FALSE_ALARM
    assert stats.binom.sf(beyond_less - 1, 1000, 0.05) < FALSE_ALARM


def test_a_count_is_cut_at_zero_after_the_noise() -> None:
    asked = {"item": "item", "unit": "row", "domain": 200, "count": 200, "epsilon": Fraction(1, 4)}
    nobody = table("polars", {"item": [-1]})
    counts = top_items(nobody, **asked, source=Seeded(1), not_private=True).estimates
    assert min(counts) == 0
    assert 60 < sum(count > 0 for count in counts) < 140
