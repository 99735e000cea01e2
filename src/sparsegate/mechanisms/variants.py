"""The paper's table of differences as data: one row for each published algorithm.

The streaming runner, the batch runner, the exact analyser and the simulator all interpret these rows; none of them
knows an algorithm by name. Numbering is that of Lyu, Su, Li, *Understanding the Sparse Vector Technique for
Differential Privacy* (PVLDB 10(6), 2017). Where the paper's listing and its table disagree, the row follows the
listing generalised to any split (Alg. 2: nu ~ Lap(2c Delta/eps2), every rho ~ Lap(c Delta/eps1); Alg. 3: nu ~
Lap(c Delta/eps2)).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from sparsegate.budget import Allocation, Budget
from sparsegate.errors import ParameterError


class Compared(enum.Enum):
    """What is held against the noisy threshold T + rho; e is a public estimate of the answer q."""

    ANSWER = "q + nu"
    ERROR_NOISE_INSIDE = "|e - q + nu|"
    ERROR_NOISE_OUTSIDE = "|e - q| + nu"


class Released(enum.Enum):
    """What a positive hands out besides ABOVE. (Releasing the gap to the threshold would be one more member.)"""

    NOTHING = "nothing"
    NOISY_ANSWER = "q + nu, the noisy answer that was compared"
    FRESH_ANSWER = "q + fresh noise, if the budget has an answers share"


class Noise(enum.Enum):
    """The law of rho and nu. (One-sided exponential noise would be one more member.)"""

    LAPLACE = "two-sided Laplace"


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A noise scale: factor * Delta / share, times the cutoff c where ``per_cutoff``. Factor 0 means no noise."""

    factor: int
    per_cutoff: bool = False

    def multiple(self, cutoff: int) -> int:
        """The scale in units of Delta / share."""
        return self.factor * cutoff if self.per_cutoff else self.factor

    def formula(self, share: str) -> str:
        """The scale as text: "2cΔ/ε₂"."""
        if not self.factor:
            return "0"
        factor = str(self.factor) if self.factor > 1 else ""
        return f"{factor}{'c' if self.per_cutoff else ''}Δ/{share}"


class Scales(NamedTuple):
    """Noise scales in units of the sensitivity; None stands for no noise (answers: nothing numeric is released)."""

    threshold: Fraction | None
    query: Fraction | None
    answer: Fraction | None


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One published algorithm. ``private`` says whether the claim of epsilon-DP is true."""

    key: str
    algorithm: str
    title: str
    citation: str
    allocation: Allocation
    threshold_noise: Scale
    redraws_threshold: bool = False
    query_noise: Scale
    query_noise_monotonic: Scale
    compared: Compared = Compared.ANSWER
    released: Released = Released.NOTHING
    noise: Noise = Noise.LAPLACE
    stops: bool = True
    claimed: str
    truth: str
    private: bool
    flaw: str = ""

    def __post_init__(self) -> None:
        if self.private == bool(self.flaw):
            raise ParameterError("flaw", "must be given exactly where the row is not private", self.key)

    def budget(self, epsilon: object, *, cutoff: int, monotonic: bool, allocation: Allocation | None = None) -> Budget:
        """Split epsilon as the authors did, or by another ``allocation``."""
        chosen = self.allocation if allocation is None else allocation
        return Budget.allocate(epsilon, cutoff=cutoff, monotonic=monotonic, allocation=chosen)  # type: ignore[arg-type]

    def scales(self, budget: Budget, *, cutoff: int, monotonic: bool) -> Scales:
        """The noise scales of this row, in units of the sensitivity, as exact rationals."""
        if budget.answers and self.released is not Released.FRESH_ANSWER:
            raise ParameterError(
                "answers",
                f"must be 0 for {self.key}, which releases {self.released.value}",
                budget.answers,
                'use VARIANTS["standard"] for numeric answers',
            )
        query = self.query_noise_monotonic if monotonic else self.query_noise
        multiple = query.multiple(cutoff)
        return Scales(
            threshold=self.threshold_noise.multiple(cutoff) / budget.threshold if budget.threshold else None,
            query=multiple / budget.queries if multiple else None,
            answer=cutoff / budget.answers if budget.answers else None,
        )

    def require_private(self, not_private: bool) -> None:
        """Refuse to run a flawed row unless the caller has said that privacy is not wanted."""
        if not self.private and not not_private:
            raise ParameterError(
                "not_private", f"must be True to run {self.key}: {self.flaw}", next_step='use VARIANTS["standard"]'
            )


_ONE, _C, _TWO_C, _NONE = (
    Scale(factor=1),
    Scale(factor=1, per_cutoff=True),
    Scale(factor=2, per_cutoff=True),
    Scale(factor=0),
)

_LSL = "Lyu, Su, Li: Understanding the Sparse Vector Technique for Differential Privacy, PVLDB 10(6), 2017"
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
        stops=False,
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
        stops=False,
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
        stops=False,
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
)

VARIANTS: Mapping[str, Variant] = MappingProxyType({row.key: row for row in _ROWS})
"""Every row by its key."""


def variant(row: Variant | str) -> Variant:
    """A row, given itself or its key."""
    if isinstance(row, Variant):
        return row
    if row not in VARIANTS:
        raise ParameterError(
            "row", f"must be a Variant or one of {', '.join(VARIANTS)}", row, "see `sparsegate variants`"
        )
    return VARIANTS[row]
