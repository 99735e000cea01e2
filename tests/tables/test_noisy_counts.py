"""Noisy counts: the scale that their guarantee needs, and an error bar that keeps its word."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, chi_square_p, discrete_laplace_mass
from tests.tables.conftest import table

from sparsegate.mechanisms.laplace import error_bar
from sparsegate.noise import Seeded
from sparsegate.tables.noisy_counts import answer_scale, noisy_counts
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
    ("touched", "moved"), [(None, 50), (1, 1), (7, 7), (50, 50), (4950, 50)], ids=["users", "rows", "cut", "c", "pairs"]
)
def test_the_scale_is_what_one_person_can_move_in_all(touched: int | None, moved: int) -> None:
    assert answer_scale(count=50, touched=touched, epsilon=Fraction(1, 4)) == 4 * moved


@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(1, 2), Fraction(3), Fraction(500)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_error_bar_is_the_smallest_that_keeps_its_word(scale: Fraction, confidence: float) -> None:
    bar = error_bar(scale, confidence)
    reach = range(-60 * (int(scale) + 1), 60 * (int(scale) + 1) + 1)
    mass = discrete_laplace_mass(float(scale), reach)
    within = sum(p for k, p in mass.items() if abs(k) <= bar)
    assert within >= confidence - 1e-9
    assert bar == 0 or within - mass[bar] - mass[-bar] < confidence


def test_a_count_is_cut_at_zero_after_the_noise() -> None:
    counts = noisy_counts(Seeded(1), [0] * 200, Fraction(4))
    assert min(counts) == 0
    assert 60 < sum(count > 0 for count in counts) < 140
