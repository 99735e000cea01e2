"""The audit flags what looks like a newer mechanism and is not one, and leaves its sound twin alone."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.traps import Batch, exponential_gate, gap_gate, rounds_of_choice, two_sided_gate

from sparsegate.auditor import audit
from sparsegate.gates.approximate import round_epsilon

SAMPLES = 300_000
CHOICES = {"rounds": 40, "rate": 0.3}

TRAPS: dict[str, tuple[Batch, Batch, dict[str, Any]]] = {
    "a minus sign on rho": (exponential_gate(1, rho_sign=-1), exponential_gate(1), {}),
    "a minus sign on nu": (exponential_gate(1, nu_sign=-1), exponential_gate(1), {}),
    "gaps of BELOW": (gap_gate(1, of_below=True), gap_gate(1, of_below=False), {"queries": (20, 20)}),
    "a two-sided gate with exponential noise": (
        two_sided_gate(1, one_sided=True),
        two_sided_gate(1, one_sided=False),
        {},
    ),
    "permute-and-flip as bounded range": (
        rounds_of_choice(1, flip=True, **CHOICES),
        rounds_of_choice(1, flip=False, **CHOICES),
        {"epsilon": 3.0, "delta": 0.01, "queries": (2, 2), "monotonic": True},
    ),
}


def test_the_claim_about_permute_and_flip_is_what_bounded_range_would_give() -> None:
    assert round_epsilon(epsilon=3.0, delta=0.01, count=int(CHOICES["rounds"])) >= CHOICES["rate"]


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_is_flagged_and_its_sound_twin_is_not(trap: str) -> None:
    wrong, right, claim = TRAPS[trap]
    options = {"epsilon": 1.0, "samples": SAMPLES, "seed": 1, "confidence": 0.999, **claim}
    assert audit(wrong, **options).violates
    assert not audit(right, **options).violates
