"""Mechanisms that look like sound ones and are not, as batch callables: each differs from its twin in one detail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Batch = Callable[[np.ndarray, int], Any]


def exponential_gate(seed: int, *, rho_sign: int = 1, nu_sign: int = 1) -> Batch:
    """c = 1, T = 0, epsilon = 1 split in halves, one-sided noise: which question was ABOVE, or none. Sound: both +1."""
    rng = np.random.default_rng(seed)

    def mechanism(answers: np.ndarray, n: int) -> Any:
        rho = rho_sign * rng.exponential(2, (n, 1))
        nu = nu_sign * rng.exponential(4, (n, len(answers)))
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
