"""What online answers say to one query."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineAnswer:
    """An estimate of how many people a query counts, and where it comes from.

    ``paid``: it is a fresh noisy answer, and used up one of the cutoff. ``checked``: the gate held it against the data;
    False where the checks were used up and the public histogram answered alone. ``margin``: how far from the truth it
    lies at most, with a probability of 0.95 over the noise of this question; None for an unchecked answer.
    """

    estimate: float
    paid: bool
    checked: bool
    margin: float | None
