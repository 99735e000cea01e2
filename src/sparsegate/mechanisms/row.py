"""What one published algorithm is, as data: the columns of the paper's table of differences, and of the rows since."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from sparsegate.budget import Allocation, Budget
from sparsegate.errors import ParameterError


class Compared(enum.Enum):
    """What is held against the noisy threshold T + rho; e is a public estimate of the answer q."""

    ANSWER = "q + nu"
    ERROR_NOISE_INSIDE = "|e - q + nu|"
    ERROR_NOISE_OUTSIDE = "|e - q| + nu"


class Released(enum.Enum):
    """What a positive hands out besides ABOVE, and besides the gap of a row that releases it."""

    NOTHING = "nothing"
    NOISY_ANSWER = "q + nu, the noisy answer that was compared"
    FRESH_ANSWER = "q + fresh noise, if the budget has an answers share"


class Noise(enum.Enum):
    """The law of rho and nu. On the lattice: discrete Laplace, and geometric with Pr[X >= k] = e**(-k/scale)."""

    LAPLACE = "two-sided Laplace"
    EXPONENTIAL = "one-sided exponential, rho and nu both >= 0"


class Closes(enum.Enum):
    """When a row answers no more."""

    NEVER = "never"
    ABOVE = "after c positives"
    RARER = "when it has given both answers c times"


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
    """One published algorithm. ``private`` says whether the claim of epsilon-DP is true.

    ABOVE iff what is compared >= T + rho + kappa. kappa is public: 0 for Laplace noise, and where noise is one-sided
    what centres the comparison (``margin.central_shift``). Where ``gap``, an ABOVE also releases by how much.
    """

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
    gap: bool = False
    noise: Noise = Noise.LAPLACE
    closes: Closes = Closes.ABOVE
    claimed: str
    truth: str
    private: bool
    flaw: str = ""

    def __post_init__(self) -> None:
        if self.private == bool(self.flaw):
            raise ParameterError("flaw", "must be given exactly where the row is not private", self.key)
        inside = self.compared is Compared.ERROR_NOISE_INSIDE
        odd = self.redraws_threshold or inside or self.released is Released.NOISY_ANSWER
        signless = self.gap and self.compared is not Compared.ANSWER  # a gap to |e - q| is no estimate of q
        if signless or (odd and (self.gap or self.noise is not Noise.LAPLACE)):
            rule = "must be that of a row with the noise outside, that draws rho once and releases no compared answer"
            raise ParameterError("gap or noise", rule, self.key, "the loss of any other row is not known")

    @property
    def stops(self) -> bool:
        """Whether there is an end to what it answers."""
        return self.closes is not Closes.NEVER

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
