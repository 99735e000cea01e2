"""The computed probabilities against the frequencies of the real runner.

One chi-square test for each row over all outcomes of three queries, at a false-alarm rate of 1e-6 each; the seeds are
fixed. Its twin holds the same frequencies against noise of a scale that is 20 % off, which must be rejected.
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

RUNS = 200_000
WITH_NUMBERS = ["roth-2011", "hardt-rothblum-2010", "standard", "ding-2019", "exponential-gap"]
ANSWERS, THRESHOLDS, ESTIMATES = [3, -2, 1], [1, 0, 2], [-4, 2, 5]


def indicator_p(key: str, *, drawn: float, claimed: float, seed: int) -> float:
    """Outcomes drawn at one epsilon, tested against the law at another."""
    row = sg.VARIANTS[key]
    estimates = None if row.compared is Compared.ANSWER else ESTIMATES
    out = sg.run_many(
        key,
        ANSWERS,
        runs=RUNS,
        threshold=THRESHOLDS,
        estimates=estimates,
        cutoff=2,
        epsilon=drawn,
        source=sg.Seeded(seed),
        not_private=True,
    )
    seen = Counter(tuple(above[:asked]) for above, asked in zip(out.above.tolist(), out.asked.tolist(), strict=True))
    model = build(row, threshold=THRESHOLDS, cutoff=2, epsilon=claimed, noise="lattice")
    outcomes = possible_outcomes(model, 3).outcomes
    probabilities = np.exp(log_probabilities(model.compare(ANSWERS, THRESHOLDS, estimates))).tolist()
    return law_p(seen, dict(zip(outcomes, probabilities, strict=True)))


@pytest.mark.parametrize("key", sg.VARIANTS)
def test_outcomes_come_up_as_often_as_computed(key: str) -> None:
    assert indicator_p(key, drawn=1, claimed=1, seed=11) >= FALSE_ALARM


@pytest.mark.parametrize("key", sg.VARIANTS)
def test_a_scale_twenty_percent_off_is_rejected(key: str) -> None:
    assert indicator_p(key, drawn=1, claimed=1.2, seed=11) < FALSE_ALARM


def noise_of(key: str, epsilon: float) -> dict[str, Any]:
    """Noise at this epsilon; the standard row needs a share for its numbers."""
    if key == "standard":
        return {"budget": sg.Budget(threshold_epsilon=epsilon, query_epsilon=epsilon, answer_epsilon=epsilon)}
    return {"epsilon": epsilon}


def number_p(key: str, *, drawn: float, claimed: float, seed: int) -> float:
    """Released numbers after a BELOW, drawn at one epsilon and tested against the law at another."""
    given = {"threshold": [1, 0], "estimates": ESTIMATES[:2] if key.startswith("hardt") else None}
    out = sg.run_many(key, [2, 0], runs=RUNS, source=sg.Seeded(seed), not_private=True, **given, **noise_of(key, drawn))
    gap = sg.VARIANTS[key].gap
    released = out.gaps if gap else out.values
    assert released is not None
    seen = Counter(released[~out.above[:, 0] & out.above[:, 1], 1].tolist())
    given |= {"noise": "lattice", **noise_of(key, claimed)}
    law: dict[Hashable, float] = {
        number: math.exp(log_probability(key, [2, 0], [False, number], **given))
        for number in range(0 if gap else -30, 31)
    }
    elsewhere = {"elsewhere": RUNS - sum(seen[number] for number in law)}
    return law_p({number: seen[number] for number in law} | elsewhere, law | {"elsewhere": 1 - sum(law.values())})


@pytest.mark.parametrize("key", WITH_NUMBERS)
def test_numbers_come_up_as_often_as_computed(key: str) -> None:
    assert number_p(key, drawn=1, claimed=1, seed=12) >= FALSE_ALARM


@pytest.mark.parametrize("key", WITH_NUMBERS)
def test_numbers_of_a_scale_twenty_percent_off_are_rejected(key: str) -> None:
    assert number_p(key, drawn=1, claimed=1.2, seed=12) < FALSE_ALARM
