"""The computed probabilities against the frequencies of the real runner.

One chi-square test for each row over all outcomes of three queries, at a false-alarm rate of 1e-6 each; the seeds are
fixed. The same frequencies are held against noise of a scale that is 20 % off, which must be rejected.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, law_p

import sparsegate as sg
from sparsegate.gates.variants import Compared
from sparsegate.privacy import log_probability
from sparsegate.privacy.model import build
from sparsegate.privacy.outcome import log_probabilities, possible_outcomes

RUNS = 60_000
WITH_NUMBERS = ["roth-2011", "hardt-rothblum-2010", "standard", "ding-2019", "exponential-gap"]
ANSWERS, THRESHOLDS, ESTIMATES = [3, -2, 1], [1, 0, 2], [-4, 2, 5]


@pytest.mark.parametrize("key", sg.VARIANTS)
def test_outcomes_come_up_as_often_as_computed(key: str) -> None:
    row = sg.VARIANTS[key]
    estimates = None if row.compared is Compared.ANSWER else ESTIMATES
    public = {"threshold": THRESHOLDS, "estimates": estimates, "cutoff": 2, "epsilon": 1}
    out = sg.run_many(key, ANSWERS, runs=RUNS, source=sg.Seeded(11), not_private=True, **public)
    seen = Counter(tuple(above[:asked]) for above, asked in zip(out.above.tolist(), out.asked.tolist(), strict=True))
    chances = []
    for epsilon in (1, 1.2):
        model = build(row, threshold=THRESHOLDS, cutoff=2, epsilon=epsilon, noise="lattice")
        outcomes = possible_outcomes(model, 3).outcomes
        probabilities = np.exp(log_probabilities(model.compare(ANSWERS, THRESHOLDS, estimates))).tolist()
        chances.append(law_p(seen, dict(zip(outcomes, probabilities, strict=True))))
    assert chances[0] >= FALSE_ALARM > chances[1]


def noise_of(key: str, epsilon: float) -> dict[str, Any]:
    """Noise at this epsilon; the standard row needs a share for its numbers."""
    each = sg.Budget(threshold_epsilon=epsilon, query_epsilon=epsilon, answer_epsilon=epsilon)
    return {"budget": each} if key == "standard" else {"epsilon": epsilon}


@pytest.mark.parametrize("key", WITH_NUMBERS)
def test_numbers_come_up_as_often_as_computed(key: str) -> None:
    """Those released after a BELOW."""
    public = {"threshold": [1, 0], "estimates": ESTIMATES[:2] if key.startswith("hardt") else None}
    out = sg.run_many(key, [2, 0], runs=RUNS, source=sg.Seeded(12), not_private=True, **public, **noise_of(key, 1))
    gap = sg.VARIANTS[key].gap
    released = out.gaps if gap else out.values
    assert released is not None
    seen = Counter(released[~out.above[:, 0] & out.above[:, 1], 1].tolist())
    chances = []
    for epsilon in (1, 1.2):
        law: dict[Hashable, float] = {
            number: math.exp(
                log_probability(key, [2, 0], [False, number], noise="lattice", **public, **noise_of(key, epsilon))
            )
            for number in range(0 if gap else -30, 31)
        }
        counts: dict[Hashable, int] = {number: seen[number] for number in law}
        counts["elsewhere"], law["elsewhere"] = RUNS - sum(counts.values()), 1 - sum(law.values())
        chances.append(law_p(counts, law))
    assert chances[0] >= FALSE_ALARM > chances[1]
