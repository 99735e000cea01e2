"""The audit flags what looks like a newer mechanism and is not one, and leaves its sound twin alone.

Each trap differs from its twin in one detail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sparsegate.auditor import audit
from sparsegate.gates.approximate import round_epsilon

Batch = Callable[[np.ndarray, int], Any]


def exponential_gate(seed: int, *, rho_sign: int = 1) -> Batch:
    """c = 1, T = 0, epsilon = 1 split in halves, one-sided noise: which question was ABOVE, or none. Sound: +1."""
    rng = np.random.default_rng(seed)

    def mechanism(answers: np.ndarray, n: int) -> Any:
        rho = rho_sign * rng.exponential(2, (n, 1))
        nu = rng.exponential(4, (n, len(answers)))
        return _first(answers + nu >= rho)

    return mechanism


def gap_gate(seed: int, *, of_below: bool) -> Batch:
    """Laplace noise at epsilon = 1, c = 1, T = 20, and the gap of the ABOVE. Not sound with those of the BELOWs.

    Of all those gaps it tells how many of the first half, plus T, are positive, and of the second half negative.
    """
    rng = np.random.default_rng(seed)

    def mechanism(answers: np.ndarray, n: int) -> Any:
        noisy = answers + rng.laplace(scale=4, size=(n, len(answers))) - rng.laplace(scale=2, size=(n, 1))
        first = _first(noisy >= 20)
        if not of_below:
            return first, np.where(noisy >= 20, noisy, 0).max(axis=1) * (first < len(answers))
        asked, later = np.arange(len(answers)) <= first[:, None], np.arange(len(answers)) >= len(answers) // 2
        return first, (((noisy > 0) ^ later) & asked).sum(axis=1)

    return mechanism


def two_sided_gate(seed: int, *, one_sided: bool) -> Batch:
    """epsilon = 1, c = 1: open until both answers were given once. Sound with Laplace noise."""
    rng = np.random.default_rng(seed)
    draw = rng.exponential if one_sided else rng.laplace

    def mechanism(answers: np.ndarray, n: int) -> Any:
        above = answers + draw(scale=4, size=(n, len(answers))) >= draw(scale=2, size=(n, 1))
        # How many questions had the answer of the first one, and which that was.
        return _first(above != above[:, :1]), above[:, 0]

    return mechanism


def rounds_of_choice(seed: int, *, flip: bool, rounds: int, rate: float) -> Batch:
    """Which of two items wins, ``rounds`` times, with weights exp(rate q): how often it was the second.

    Each round of the exponential mechanism is ``rate``-bounded-range on monotonic scores. Permute-and-flip, the larger
    of rate q + exponential noise, is ``rate``-DP, and not that.
    """
    rng = np.random.default_rng(seed)

    def mechanism(answers: np.ndarray, n: int) -> Any:
        noise = rng.exponential(1, (n, rounds, 2)) if flip else rng.gumbel(size=(n, rounds, 2))
        return (rate * answers[:2] + noise).argmax(axis=2).sum(axis=1)

    return mechanism


def _first(hit: np.ndarray) -> Any:
    """Where each row has its first hit; beyond its end where it has none."""
    return np.where(hit.any(axis=1), hit.argmax(axis=1), hit.shape[1])


def endless_gate(seed: int) -> Batch:
    """Laplace noise at epsilon = 1, c = 1, T = 0, and it never stops."""
    rng = np.random.default_rng(seed)

    def mechanism(answers: np.ndarray, n: int) -> Any:
        noisy = answers + rng.laplace(scale=4, size=(n, len(answers)))
        return noisy >= rng.laplace(scale=2, size=(n, 1))

    return mechanism


def noisy_max(seed: int, *, flip: bool) -> Batch:
    """Which of some counts is largest at epsilon = 1: by exponential noise (permute-and-flip) or by Gumbel noise."""
    rng = np.random.default_rng(seed)
    draw = rng.standard_exponential if flip else rng.gumbel
    return lambda answers, n: (answers + draw(size=(n, len(answers)))).argmax(axis=1)


SAMPLES = 200_000
CHOICES: dict[str, Any] = {"rounds": 40, "rate": 0.3}

TRAPS: dict[str, tuple[Batch, Batch, dict[str, Any]]] = {
    "a minus sign on rho": (exponential_gate(1, rho_sign=-1), exponential_gate(1), {}),
    "gaps of BELOW": (gap_gate(1, of_below=True), gap_gate(1, of_below=False), {"queries": (20, 20)}),
    "exponential noise, two sides": (two_sided_gate(1, one_sided=True), two_sided_gate(1, one_sided=False), {}),
    "permute-and-flip as bounded range": (
        rounds_of_choice(1, flip=True, **CHOICES),
        rounds_of_choice(1, flip=False, **CHOICES),
        {"epsilon": 3.0, "delta": 0.01, "queries": (2, 2), "monotonic": True},
    ),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_is_flagged_and_its_sound_twin_is_not(trap: str) -> None:
    """What is claimed of permute-and-flip is what bounded range would give."""
    assert round_epsilon(epsilon=3.0, delta=0.01, count=CHOICES["rounds"]) >= CHOICES["rate"]
    wrong, right, claim = TRAPS[trap]
    options = {"epsilon": 1.0, "samples": SAMPLES, "seed": 1, "confidence": 0.999, **claim}
    assert audit(wrong, **options).violates
    assert not audit(right, **options).violates


def test_what_adds_up_over_many_answers_is_found_in_few_runs() -> None:
    """A gate that never stops loses 40/4 + 1/2 at 40 questions; no two of its outcomes are alike."""
    verdict = audit(endless_gate(1), epsilon=1.0, queries=40, samples=1_000_000, seed=1)
    assert verdict.violates
    assert verdict.samples < 8_000
    assert len(verdict.witness.answers) == 40


def test_a_noisy_max_that_is_not_bounded_range_does_not_have_the_rho_of_one() -> None:
    """Exponential noise at epsilon = 1: events of 1/2 and 1/2e, with twice the rho of Gumbel noise."""
    options: dict[str, Any] = {"rho": 1 / 8, "queries": 3, "monotonic": True, "samples": 100_000, "seed": 1}
    wrong, right = audit(noisy_max(1, flip=True), **options), audit(noisy_max(1, flip=False), **options)
    assert wrong.violates
    assert "is NOT private at ρ = 0.125" in wrong.sentence
    assert not right.violates
    assert right.renyi_lower is not None
    assert 0.09 < right.renyi_lower <= 1 / 8


def test_a_claim_in_rdp_is_tested_at_its_order() -> None:
    order = 2000.0  # its moments are beyond the largest double
    rng, lie = np.random.default_rng(1), 1 / (1 + np.e)
    p, q = 1 - lie, lie
    hit, miss = (order * np.log(a) + (1 - order) * np.log(b) for a, b in ((p, q), (q, p)))
    true = np.logaddexp(hit, miss) / (order - 1)

    def response(answers: np.ndarray, n: int) -> Any:
        return (answers[0] > 0) ^ (rng.random(n) < lie)

    options: dict[str, Any] = {"neighbours": [((0,), (1,))], "patterns": False, "samples": 200_000, "seed": 1}
    assert audit(response, rdp=(order, 0.9 * true), **options).violates
    verdict = audit(response, rdp=(order, 1.2 * true), **options)
    assert not verdict.violates
    assert verdict.renyi_lower is not None
    assert 0.8 * true < verdict.renyi_lower <= true
