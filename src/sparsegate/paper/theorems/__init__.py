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

from sparsegate.paper.theorems import analysis, beyond, evaluation, variants
from sparsegate.paper.theorems.claim import Claim, ClaimFinding, ClaimPart, ClaimVerdict, Subject

SECTIONS: Mapping[str, tuple[Claim, ...]] = MappingProxyType(
    {
        "Sec. 2: definition, primitives, composition": analysis.CLAIMS,
        "Sec. 3: the table of differences": variants.CLAIMS,
        "Sec. 3.1: Lemma 1 and Alg. 1": analysis.LEMMA_CLAIMS,
        "Sec. 3.2: Alg. 2 to 6": variants.FLAWED_CLAIMS,
        "Sec. 3.3: GPTT": variants.GPTT_CLAIMS,
        "Sec. 3.4: other variants": variants.OTHER_VARIANTS_CLAIMS,
        "Sec. 4: Alg. 7, monotonic queries, allocation": analysis.OPTIMIZING_CLAIMS,
        "Sec. 5: SVT or EM": analysis.SVT_OR_EM_CLAIMS,
        "Sec. 5 and 6: retraversal, data, threshold": evaluation.CLAIMS,
        "Beyond the paper: gates since 2017": beyond.CLAIMS,
        "Beyond the paper: selections": beyond.BEYOND_SELECTIONS_CLAIMS,
    }
)
"""The claims by section of the paper, in its order, and those beyond it."""

CLAIMS: Mapping[str, Claim] = MappingProxyType({claim.key: claim for group in SECTIONS.values() for claim in group})
"""Every claim by its key."""

__all__ = ["CLAIMS", "SECTIONS", "Claim", "ClaimFinding", "ClaimPart", "ClaimVerdict", "Subject"]
