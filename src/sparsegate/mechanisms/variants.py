"""The paper's table of differences as data: one row for each published algorithm, and for what came after the paper.

The streaming runner, the batch runner, the exact analyser and the simulator all interpret these rows; none of them
knows an algorithm by name. Numbering is that of Lyu, Su, Li, *Understanding the Sparse Vector Technique for
Differential Privacy* (PVLDB 10(6), 2017). Where the paper's listing and its table disagree, Alg. 2
follows the table (nu ~ Lap(2c Delta/eps2), every rho ~ Lap(c Delta/eps1)), which costs eps1 + eps2 at any split, and
Alg. 3 the listing (nu ~ Lap(c Delta/eps2)).

Of Alg. 1, eps and, monotonic, 3 eps/4. Machine-checked: `halves_gate_is_private`, `halves_gate_monotonic`
(proofs/standard_gate.v).
Of Alg. 2, eps1 + eps2 and, monotonic, eps1 + eps2/2. Machine-checked: `dwork_roth_gate_sums_to_one`,
`dwork_roth_gate_is_private`, `dwork_roth_gate_monotonic` (proofs/redrawn_gate.v).
Of Alg. 3, not private. Machine-checked: `algorithm_3_is_not_private` (proofs/released_noise.v).
Of Alg. 4, not private at its epsilon, whatever c. Machine-checked: `algorithm_4_is_not_private`
(proofs/noise_not_scaled.v).
Of Alg. 5, not private. Machine-checked: `algorithm_5_is_not_private` (proofs/no_query_noise.v).
Of Alg. 6 and GPTT, not private. Machine-checked: `algorithm_6_is_not_private`, `gptt_is_not_private`
(proofs/no_cutoff.v).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sparsegate.errors import unknown_key
from sparsegate.mechanisms.row import Closes, Compared, Noise, Released, Scale, Scales, Variant

__all__ = ["VARIANTS", "Closes", "Compared", "Noise", "Released", "Scale", "Scales", "Variant", "variant"]

_ONE, _C, _TWO_C, _NONE = (
    Scale(factor=1),
    Scale(factor=1, per_cutoff=True),
    Scale(factor=2, per_cutoff=True),
    Scale(factor=0),
)

_LSL = "Lyu, Su, Li: Understanding the Sparse Vector Technique for Differential Privacy, PVLDB 10(6), 2017"
_DING = (
    "Ding, Wang, Zhang, Kifer: Free gap information from the differentially private sparse vector and noisy max "
    "mechanisms, PVLDB 13(3), 2019"
)
_LIU = (
    "Liu, Wang, Liu, Li, Chen: Accuracy-enhanced sparse vector technique with exponential noise and optimal threshold "
    "correction (preprint: Unleash the power of ellipsis), PVLDB 18(2), 2024"
)
_HR = (
    "Hardt, Rothblum: A multiplicative weights mechanism, FOCS 2010; "
    "Roth, Roughgarden: Interactive privacy via the median mechanism, STOC 2010"
)

_ROWS = (
    Variant(
        key="standard",
        algorithm="Alg. 7",
        title="Standard SVT",
        citation=_LSL,
        allocation="optimal",
        threshold_noise=_ONE,
        query_noise=_TWO_C,
        query_noise_monotonic=_C,
        released=Released.FRESH_ANSWER,
        claimed="ε₁+ε₂+ε₃",
        truth="ε₁+ε₂+ε₃; monotonic: less the smallest of the three",
        private=True,
    ),
    Variant(
        key="lyu-2017",
        algorithm="Alg. 1",
        title="Lyu, Su, Li 2017",
        citation=_LSL,
        allocation="1:1",
        threshold_noise=_ONE,
        query_noise=_TWO_C,
        query_noise_monotonic=_TWO_C,
        claimed="ε",
        truth="ε; monotonic 3ε/4",
        private=True,
    ),
    Variant(
        key="dwork-roth-2014",
        algorithm="Alg. 2",
        title="Dwork, Roth 2014",
        citation="Dwork, Roth: The Algorithmic Foundations of Differential Privacy, 2014",
        allocation="1:1",
        threshold_noise=_C,
        redraws_threshold=True,
        query_noise=_TWO_C,
        query_noise_monotonic=_TWO_C,
        claimed="ε",
        truth="ε; monotonic 3ε/4",
        private=True,
    ),
    Variant(
        key="roth-2011",
        algorithm="Alg. 3",
        title="Roth 2011 (lecture notes)",
        citation="Roth: The sparse vector technique, lecture notes, 2011",
        allocation="1:1",
        threshold_noise=_ONE,
        query_noise=_C,
        query_noise_monotonic=_C,
        released=Released.NOISY_ANSWER,
        claimed="ε",
        truth="∞: (m+k)ε/(2c) for m BELOW and k ABOVE; its indicators alone 3ε/2",
        private=False,
        flaw=(
            "it releases the noisy answer that passed the test, which reveals where the noisy threshold "
            "cannot be, so every BELOW costs"
        ),
    ),
    Variant(
        key="lee-clifton-2014",
        algorithm="Alg. 4",
        title="Lee, Clifton 2014",
        citation=("Lee, Clifton: Top-k frequent itemsets via differentially private FP-trees, KDD 2014"),
        allocation="1:3",
        threshold_noise=_ONE,
        query_noise=_ONE,
        query_noise_monotonic=_ONE,
        claimed="ε",
        truth="(1+6c)ε/4; monotonic (1+3c)ε/4",
        private=False,
        flaw=(
            "its query noise does not grow with the cutoff c, so each of the c positives costs as much as "
            "one was meant to"
        ),
    ),
    Variant(
        key="stoddard-2014",
        algorithm="Alg. 5",
        title="Stoddard, Chen, Machanavajjhala 2014",
        citation=(
            "Stoddard, Chen, Machanavajjhala: Differentially private algorithms for empirical machine learning, 2014"
        ),
        allocation="1:1",
        threshold_noise=_ONE,
        query_noise=_NONE,
        query_noise_monotonic=_NONE,
        closes=Closes.NEVER,
        claimed="ε",
        truth="∞ after two queries",
        private=False,
        flaw=(
            "it adds no noise to the answers, so some outcomes of two queries are possible on one dataset "
            "and impossible on its neighbour"
        ),
    ),
    Variant(
        key="chen-2015",
        algorithm="Alg. 6",
        title="Chen, Xiao, Zhang, Xu 2015",
        citation=(
            "Chen, Xiao, Zhang, Xu: Differentially private high-dimensional data publication via "
            "sampling-based inference, KDD 2015"
        ),
        allocation="1:1",
        threshold_noise=_ONE,
        query_noise=_ONE,
        query_noise_monotonic=_ONE,
        closes=Closes.NEVER,
        claimed="ε",
        truth="∞: nε/2 after n queries",
        private=False,
        flaw="it never stops after positives and its noise does not grow with them, so the loss grows with every query",
    ),
    Variant(
        key="gptt",
        algorithm="GPTT",
        title="Generalized private threshold testing",
        citation=("Chen, Machanavajjhala: On the privacy properties of variants on the sparse vector technique, 2015"),
        allocation="1:1",
        threshold_noise=_ONE,
        query_noise=_ONE,
        query_noise_monotonic=_ONE,
        closes=Closes.NEVER,
        claimed="not private",
        truth="∞: nε₂ after an even number n of queries",
        private=False,
        flaw="it never stops after positives, so the loss grows with every query",
    ),
    Variant(
        key="hardt-rothblum-2010",
        algorithm="HR10/RR10",
        title="Hardt, Rothblum 2010; Roth, Roughgarden 2010",
        citation=_HR,
        allocation="1:1",
        threshold_noise=_ONE,
        query_noise=_TWO_C,
        query_noise_monotonic=_TWO_C,
        compared=Compared.ERROR_NOISE_INSIDE,
        released=Released.NOISY_ANSWER,
        claimed="ε",
        truth="∞: (m+k)ε/(4c) for m BELOW and k ABOVE",
        private=False,
        flaw=(
            "it releases the noisy answer that passed the test, which reveals where the noisy threshold "
            "cannot be, so every BELOW costs"
        ),
    ),
    Variant(
        key="hardt-rothblum-2010-indicator",
        algorithm="HR10/RR10",
        title="the same test, releasing ABOVE or BELOW alone",
        citation=_HR,
        allocation="1:1",
        threshold_noise=_ONE,
        query_noise=_TWO_C,
        query_noise_monotonic=_TWO_C,
        compared=Compared.ERROR_NOISE_INSIDE,
        claimed="not private (Lyu, Su, Li)",
        truth="ε",
        private=True,
    ),
    Variant(
        key="hardt-rothblum-2010-repaired",
        algorithm="HR10/RR10",
        title="the same test with the noise outside the absolute value",
        citation=_LSL,
        allocation="1:1",
        threshold_noise=_ONE,
        query_noise=_TWO_C,
        query_noise_monotonic=_TWO_C,
        compared=Compared.ERROR_NOISE_OUTSIDE,
        claimed="ε",
        truth="ε",
        private=True,
    ),
    Variant(
        key="ding-2019",
        algorithm="Ding+ 19",
        title="Ding, Wang, Zhang, Kifer 2019: standard SVT with the gap",
        citation=_DING,
        allocation="optimal",
        threshold_noise=_ONE,
        query_noise=_TWO_C,
        query_noise_monotonic=_C,
        released=Released.FRESH_ANSWER,
        gap=True,
        claimed="ε₁+ε₂+ε₃",
        truth="ε₁+ε₂+ε₃; monotonic: less the smallest of the three",
        private=True,
    ),
    Variant(
        key="liu-2024",
        algorithm="Liu+ 24",
        title="Liu, Wang, Liu, Li, Chen 2024: exponential noise",
        citation=_LIU,
        allocation="optimal",
        threshold_noise=_ONE,
        query_noise=_TWO_C,
        query_noise_monotonic=_C,
        noise=Noise.EXPONENTIAL,
        claimed="ε₁+ε₂",
        truth="ε₁+ε₂",
        private=True,
    ),
    Variant(
        key="exponential-gap",
        algorithm="both",
        title="exponential noise, with the gap: the gate of this library",
        citation=f"{_LIU}; {_DING}",
        allocation="optimal",
        threshold_noise=_ONE,
        query_noise=_TWO_C,
        query_noise_monotonic=_C,
        released=Released.FRESH_ANSWER,
        gap=True,
        noise=Noise.EXPONENTIAL,
        claimed="ε₁+ε₂+ε₃",
        truth="ε₁+ε₂+ε₃; monotonic: less the smallest of the three",
        private=True,
    ),
    Variant(
        key="two-sided",
        algorithm="new",
        title="standard SVT that closes when both answers were given c times",
        citation=f"the tight loss of {_LSL}, which does not tell the two answers apart",
        allocation="optimal",
        threshold_noise=_ONE,
        query_noise=_TWO_C,
        query_noise_monotonic=_C,
        closes=Closes.RARER,
        claimed="ε₁+ε₂",
        truth="ε₁+ε₂, for Laplace noise and indicators only",
        private=True,
    ),
)

VARIANTS: Mapping[str, Variant] = MappingProxyType({row.key: row for row in _ROWS})
"""Every published algorithm, sound and flawed, as a row of data by its key.

>>> import sparsegate as sg
>>> row = sg.VARIANTS["chen-2015"]
>>> row.algorithm, row.private, row.closes.name
('Alg. 6', False, 'NEVER')
>>> [key for key, row in sg.VARIANTS.items() if row.private is False][:3]
['roth-2011', 'lee-clifton-2014', 'stoddard-2014']
"""


def variant(row: Variant | str) -> Variant:
    """A row, given itself or its key."""
    if isinstance(row, Variant):
        return row
    if row not in VARIANTS:
        raise unknown_key("row", "must be a Variant, or the key of one", row, VARIANTS, "see `sparsegate variants`")
    return VARIANTS[row]
