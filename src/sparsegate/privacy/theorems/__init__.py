"""The paper as a program that checks itself: every claim of Lyu, Su and Li (2017), measured by exact computation.

A second part, "Beyond", does the same for what came after it, and for what is new here.

``CLAIMS[key].check()`` measures one; ``sparsegate theorems`` measures them all.

>>> finding = CLAIMS["alg-5"].check()
>>> str(finding.verdict), finding.evidence
('holds', "Pr 0.1967 on D, 0 on D'; counts (0,1) → (1,1) already lose inf")
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, ModuleType

from sparsegate.privacy.theorems import (
    background,
    beyond_gates,
    beyond_selections,
    differences,
    evaluation,
    flawed,
    gptt,
    lemma,
    optimizing,
    other_variants,
    svt_or_em,
)
from sparsegate.privacy.theorems.claim import Claim, ClaimFinding, ClaimPart, ClaimVerdict, Subject

_MODULES: Mapping[str, ModuleType] = {
    "Sec. 2: definition, primitives, composition": background,
    "Sec. 3: the table of differences": differences,
    "Sec. 3.1: Lemma 1 and Alg. 1": lemma,
    "Sec. 3.2: Alg. 2 to 6": flawed,
    "Sec. 3.3: GPTT": gptt,
    "Sec. 3.4: other variants": other_variants,
    "Sec. 4: Alg. 7, monotonic queries, allocation": optimizing,
    "Sec. 5: SVT or EM": svt_or_em,
    "Sec. 5 and 6: retraversal, data, threshold": evaluation,
    "Beyond the paper: gates since 2017": beyond_gates,
    "Beyond the paper: selections": beyond_selections,
}

SECTIONS: Mapping[str, tuple[Claim, ...]] = MappingProxyType({title: m.CLAIMS for title, m in _MODULES.items()})
"""The claims by section of the paper, in its order, and those beyond it."""

CLAIMS: Mapping[str, Claim] = MappingProxyType({claim.key: claim for group in SECTIONS.values() for claim in group})
"""Every claim by its key."""

__all__ = ["CLAIMS", "SECTIONS", "Claim", "ClaimFinding", "ClaimPart", "ClaimVerdict", "Subject"]
