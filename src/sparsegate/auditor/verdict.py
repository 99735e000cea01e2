"""What an audit found, as data and as a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from sparsegate.auditor.confidence import Counts
from sparsegate.auditor.neighbours import shown

_SHOWN: Final = 120


@dataclass(frozen=True, kw_only=True)
class Witness:
    """The evidence: two neighbouring inputs, and an event that is likelier on ``answers`` than on ``neighbour``.

    ``counts`` are the runs that certified it. The event was fixed before the first of them.
    """

    answers: Any
    neighbour: Any
    event: str
    counts: Counts


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What an audit proved, at ``confidence``.

    ``epsilon_lower``: no (epsilon, delta) with the claimed delta and a smaller epsilon is true of the mechanism.
    ``delta_lower``: nor is any with the claimed epsilon and a smaller delta. ``violates``: so the claim is false.
    ``samples``: outcomes drawn in all, for the search and for the proof. A verdict that does not violate is no proof of
    privacy: it says what was not found.
    """

    mechanism: str
    epsilon: float
    delta: float
    epsilon_lower: float
    delta_lower: float
    confidence: float
    violates: bool
    witness: Witness
    samples: int
    seconds: float

    @property
    def sentence(self) -> str:
        """The verdict for a person to read."""
        claim = f"ε = {self.epsilon:g}" + (f", δ = {self.delta:g}" if self.delta else "")
        sure = f"with {100 * self.confidence:.6g} % confidence"
        if not self.violates:
            return (
                f"{self.mechanism}: no violation of {claim} found in {self.samples:,} runs; {sure} its ε is at least "
                f"{self.epsilon_lower:.4g}. This is no proof of privacy."
            )
        counts = self.witness.counts
        answers, neighbour = (shown(part, _SHOWN) for part in (self.witness.answers, self.witness.neighbour))
        return (
            f"{self.mechanism} is NOT private at {claim}: {sure} its ε is at least {self.epsilon_lower:.4g}. "
            f"On answers {answers} the outcome was {self.witness.event} in {counts.hits1:,} of "
            f"{counts.trials1:,} runs; on the neighbour {neighbour} in {counts.hits2:,} of "
            f"{counts.trials2:,}."
        )

    def __str__(self) -> str:
        return self.sentence
