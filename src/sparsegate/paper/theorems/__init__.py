"""The paper as a program that checks itself: every claim of Lyu, Su and Li (2017), measured by exact computation.

A second part, "Beyond", does the same for what came after it, and for what is new here.

``CLAIMS[key].check()`` measures one; ``sparsegate theorems`` measures them all.

>>> finding = CLAIMS["alg-5"].check()
>>> str(finding.verdict), finding.evidence
('holds', "Pr 0.1967 on D, 0 on D'; counts (0,1) → (1,1) already lose inf")
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sparsegate.paper.theorems import analysis, beyond, variants
from sparsegate.paper.theorems.claim import Claim, ClaimFinding, ClaimPart, ClaimVerdict, Subject

SECTIONS: Mapping[str, tuple[Claim, ...]] = MappingProxyType(
    {
        section.title: tuple(section.claims)
        for section in (
            analysis.DEFINITION,
            variants.DIFFERENCES,
            analysis.LEMMA,
            variants.FLAWED,
            variants.GPTT,
            variants.OTHERS,
            analysis.OPTIMIZING,
            analysis.SVT_OR_EM,
            analysis.EVALUATION,
            beyond.GATES,
            beyond.SELECTIONS,
        )
    }
)
"""The claims by section of the paper, in its order, and those beyond it."""

CLAIMS: Mapping[str, Claim] = MappingProxyType({claim.key: claim for group in SECTIONS.values() for claim in group})
"""Every claim by its key."""

__all__ = ["CLAIMS", "SECTIONS", "Claim", "ClaimFinding", "ClaimPart", "ClaimVerdict", "Subject"]
