"""Figures that stand in the prose of a page, and not in what a block prints: each sentence is made here again.

A page's blocks are run by ``python -m pages run``, and the lines that it quotes of ``sparsegate theorems`` are compared
by tests/paper/test_theorems.py. What a sentence says by itself has a row here: the page, the sentence with a place for
each figure, and what computes them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

import sparsegate as sg
from sparsegate.gates.approximate import approximate_scales
from sparsegate.gates.calibration import steps_to_confidence
from sparsegate.gates.planning import comparison_variance
from sparsegate.gates.variants import Noise, Scales
from sparsegate.noise.laplace import MOST

ROOT = Path(__file__).parent.parent
FINE = 10_000  # lattice steps of a scale: what is left of the lattice is below the last figure that is printed


class Figure(NamedTuple):
    """A sentence of a page with a place for each figure, and what makes them."""

    page: str
    sentence: str
    made: Callable[[], tuple[float, ...]]

    def stands(self, values: tuple[float, ...]) -> bool:
        """Whether the page says the sentence with these values."""
        text = " ".join((ROOT / self.page).read_text(encoding="utf-8").split())
        return self.sentence.format(*values) in text


def alg_7(cutoff: int, epsilon: float = 1, *, monotonic: bool = True) -> Scales:
    """The scales of Alg. 7 with the split 1:(sc)^(2/3), in units of Delta."""
    factor = cutoff if monotonic else 2 * cutoff
    first = epsilon / (1 + factor ** (2 / 3))
    return Scales(Fraction(1 / first), Fraction(factor / (epsilon - first)), None)


def margin_ratio(cutoff: int, *, monotonic: bool, median: bool = False) -> float:
    """The margin at 95 % with exponential noise, over that with Laplace noise of the same scales."""
    gate = alg_7(cutoff, 1 / FINE, monotonic=monotonic)
    rho, nu = gate.threshold, gate.query
    assert rho is not None
    assert nu is not None
    shift = round(float(nu) * math.log(2 * nu / (nu + rho)) if median else Noise.EXPONENTIAL.law.shift(rho, nu))
    wide = steps_to_confidence(0.95, rho, nu, noise=Noise.EXPONENTIAL, shift=shift)
    return wide / steps_to_confidence(0.95, rho, nu)


def blended(cutoff: int, noise: Noise) -> float:
    """The variance of a gap blended with a fresh answer by inverse variance, over the fresh one's; eps3 = eps/2."""
    gate = alg_7(cutoff, 0.5 / FINE)
    fresh = Noise.LAPLACE.law.moments(Fraction(2 * cutoff * FINE))[1]
    gap = noise.law.moments(gate.threshold)[1] + noise.law.moments(gate.query)[1]
    return gap / (gap + fresh)


CUTOFFS = (10, 50, 100, 300)


def deviations(delta: Fraction | None = None) -> tuple[float, ...]:
    """The standard deviation of nu - rho at epsilon 1, monotonic, for four cutoffs; with a delta, of its scales."""
    with_delta = partial(
        approximate_scales, epsilon=Fraction(1), delta=delta or Fraction(1), sensitivity=1, monotonic=True
    )
    made = [with_delta(cutoff=c) if delta else alg_7(c) for c in CUTOFFS]
    return tuple(math.sqrt(comparison_variance(scales)) for scales in made if scales)


def margins(cutoff: int) -> tuple[float, float]:
    """The margins at 95 % and epsilon 1, with a delta and without."""
    preview = partial(sg.SparseVector.preview, cutoff=cutoff, epsilon=1, sensitivity=1, monotonic=True)
    return preview(delta=1e-6).margin, preview().margin


def planned() -> tuple[float, ...]:
    """The scales and the variance of the plan for 10 questions and 10 ABOVE, plain noise, and Alg. 7."""
    plan = sg.privacy.plan(cutoff=10, epsilon=1, monotonic=True, queries=10)
    assert plan.scales.threshold is not None
    assert plan.scales.query is not None
    return (
        *(float(plan.scales.threshold), float(plan.scales.query), plan.variance),
        *(2 * 10**2, comparison_variance(alg_7(10))),
    )


def slow_draws() -> tuple[float, float]:
    """Where a draw may take longer, in scales, and one in how many does: noise.laplace, words below 2**t."""
    bits = 63 - 20 - math.ceil(math.log2(MOST))
    return math.floor(2 * bits * math.log(2)) / 2, 2**bits


def flawed() -> tuple[int, int]:
    """How many rows there are, and how many lose more than epsilon."""
    lost = [sg.privacy.tight_epsilon(key, cutoff=3, epsilon=1, queries=40) for key in sg.VARIANTS]
    return len(lost), sum(loss > 1 + 1e-9 for loss in lost)


DELTA = Fraction(1, 10**6)
THEORY = "docs/explanation/theory.md"
FIGURES = [
    Figure(
        THEORY,
        "is {:.3f} (c = 1) to {:.3f} (c = 100) of that of Alg. 7 for monotonic queries, "
        "and {:.3f} to {:.3f} for general ones",
        lambda: tuple(margin_ratio(c, monotonic=one_way) for one_way in (True, False) for c in (1, 100)),
    ),
    Figure(
        THEORY,
        "for monotonic queries {:.3f} at c = 1, {:.3f} at c = 25, {:.3f} at c = 100",
        lambda: tuple(margin_ratio(c, monotonic=True, median=True) for c in (1, 25, 100)),
    ),
    Figure(
        THEORY,
        "it has {:.2f} of the variance of that one alone at c = 25 and {:.2f} at c = 100 "
        "(with Laplace noise {:.2f} and {:.2f})",
        lambda: tuple(blended(c, noise) for noise in (Noise.EXPONENTIAL, Noise.LAPLACE) for c in (25, 100)),
    ),
    Figure(
        THEORY,
        "at n = c = 10, ρ ~ Lap({:.0f}Δ/ε) and ν ~ Lap({:.0f}Δ/ε) have variance {:.0f} (Δ/ε)², "
        "plain noise {:.0f}, Alg. 7 {:.0f}",
        planned,
    ),
    Figure(THEORY, "| Alg. 7 | {:.1f} | {:.1f} | {:.1f} | {:.1f} |", deviations),
    Figure(THEORY, "| (ε, δ) | {:.1f} | {:.1f} | {:.1f} | {:.1f} |", lambda: deviations(DELTA)),
    Figure(
        THEORY,
        "| ratio | {:.2f} | {:.2f} | {:.2f} | {:.2f} |",
        lambda: tuple(pure / small for pure, small in zip(deviations(), deviations(DELTA), strict=True)),
    ),
    Figure(
        THEORY,
        "the margin at 95 % is {:.0f} to {:.0f} at c = 100 and {:.0f} to {:.0f} at c = 300",
        lambda: (*margins(100), *margins(300)),
    ),
    Figure(
        "docs/explanation/errata.md",
        "the factor adds {:.0f} % to the noise of a comparison",
        lambda: (100 * (math.hypot(2, 4) / math.hypot(2 / 25, 4) - 1),),  # rho and nu of Alg. 2 and Alg. 1, c = 25
    ),
    Figure(
        "docs/explanation/not_covered.md",
        "a draw that is more than {} times its scale, at most one in {:,}, may take longer",
        slow_draws,
    ),
]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: f"{Path(figure.page).stem}: {figure.sentence[:40]}")
def test_a_sentence_has_the_figures_that_a_computation_makes(figure: Figure) -> None:
    values = figure.made()
    assert figure.stands(values), figure.sentence.format(*values)
    assert not figure.stands(tuple(1.2 * value for value in values)), "the sentence stands with any figure"


def test_the_number_of_variants_and_of_flawed_ones_is_told_in_words() -> None:
    assert flawed() == (15, 6)
    for page in ("README.md", "docs/explanation/svt_in_pictures.md"):
        text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        assert re.search(r"fifteen (variants|rows)[^.]*\bsix\b", text), page
