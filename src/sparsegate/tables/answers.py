"""The noise of the counts, or sums, that are released with a selection: Laplace, or Gaussian where that is much less.

Let one person move at most r of the selected numbers, each by at most s: r is 1 where a person is a row, which is of
one item; otherwise c, or the most candidates that a person can have where that is bounded below c; s is 1 for counts.
The selection and these answers are one after the other: epsilons and deltas add.

**Laplace**: fresh discrete Laplace noise of scale r s / eps3. *Theorem* (Dwork, McSherry, Nissim, Smith 2006; Ghosh,
Roughgarden, Sundararajan 2009): for any fixed items this is eps3-differentially private. In zCDP the noise of each of
the r numbers is (eps3 / r)-DP, and their rhos add (``budget.pure_rho``).

**Gaussian**: each number with fresh normal noise sigma N, rounded to the nearest whole number; sigma = sqrt(r) s times
that of ``gates.gaussian`` for (eps3, delta3), rounded up. *Theorem.* For any fixed items this is (eps3, delta3)-DP, and
r s**2 / (2 sigma**2)-zCDP. Proof: docs/explanation/proofs_in_words/table_releases.md.

Where there is a delta, and half of it makes Gaussian noise at most seven tenths of the other, that half goes to the
counts, and the selection has the rest; else the selection has all of delta.

**On a zCDP ledger** no delta is needed: eps3 then is an epsilon at the delta d at which that ledger makes one of its
rho, as its budget is. Noise for (eps3, d) is taken where it is at most seven tenths of the other, and what the ledger
counts is r s**2 / (2 sigma**2), and no delta at all. All of the delta of the release is left to its selection.

All of this follows from public numbers, and is recorded. Noise that took part in the selection is not used again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from sparsegate.budget import Cost
from sparsegate.gates.gaussian import gaussian_sigma
from sparsegate.gates.laplace import error_bar, error_bar_all
from sparsegate.noise import Source, discrete_laplace, exact_scale
from sparsegate.noise.gaussian import normal_floor

_DIGITS: Final = 16  # binary digits of Gaussian noise behind the point, before it is rounded
_MOST: Final = 2**48

WORTHWHILE: Final = Fraction(7, 10)
"""The share of Laplace noise up to which less noise is worth half of delta."""


@dataclass(frozen=True, kw_only=True)
class AnswerNoise:
    """What each of the selected numbers gets, in steps: of ``scale`` b, or sigma, at this ``cost``."""

    name: str
    scale: Fraction
    cost: Cost

    @property
    def deviation(self) -> float:
        if self.gaussian:
            return math.hypot(float(self.scale), 12**-0.5)
        ratio = math.exp(-1 / self.scale)
        return math.sqrt(2 * ratio) / -math.expm1(-1 / self.scale)

    @property
    def gaussian(self) -> bool:
        return self.name == GAUSSIAN

    def noisy(self, source: Source, numbers: Sequence[int]) -> tuple[int, ...]:
        if self.gaussian:
            fine = normal_floor(source, int(self.scale * 2**_DIGITS), len(numbers))
            noise = (fine + 2 ** (_DIGITS - 1)) >> _DIGITS
        else:
            noise = discrete_laplace(source, self.scale, len(numbers))
        return tuple(number + extra for number, extra in zip(numbers, noise.tolist(), strict=True))

    def error_bars(self, confidence: float, items: int) -> tuple[int, int]:
        """Within how much of the truth each number is with this probability, and all of so many together."""
        if not self.gaussian:
            return error_bar(self.scale, confidence), error_bar_all(self.scale, confidence, items)
        together = -math.expm1(math.log(confidence) / max(items, 1))
        return self._bar(1 - confidence), self._bar(together)

    def _bar(self, beyond: float) -> int:
        """The smallest t such that abs(noise) > t, which is sigma abs(N) >= t + 1/2, has at most this probability."""
        from scipy.special import ndtri  # heavy, and only needed here

        return max(0, math.ceil(-float(ndtri(beyond / 2)) * float(self.scale) * (1 + 1e-12) - 0.5))


LAPLACE: Final = "laplace"
GAUSSIAN: Final = "gaussian"


def answer_noise(*, moved: int, sensitivity: int, epsilon: Fraction, delta: Fraction) -> AnswerNoise:
    """The noise for numbers of which one person moves ``moved``, with at most this delta.

    >>> options = {"sensitivity": 1, "epsilon": Fraction(1), "delta": Fraction(1, 10**6)}
    >>> [(noise.name, round(noise.deviation, 1)) for m in (5, 100) for noise in [answer_noise(moved=m, **options)]]
    [('laplace', 7.1), ('gaussian', 42.2)]
    """
    scale = exact_scale(moved * sensitivity / epsilon)
    laplace = AnswerNoise(name=LAPLACE, scale=scale, cost=Cost.of(epsilon, parts=moved))
    least = gaussian_sigma(epsilon=epsilon, delta=delta) if delta else None
    if least is None:
        return laplace
    square = moved * sensitivity**2
    parts = math.isqrt(math.ceil(square * least**2 * 4**_DIGITS) - 1) + 1
    sigma = Fraction(parts, 2**_DIGITS)
    if parts > _MOST or sigma**2 > WORTHWHILE**2 * 2 * scale**2:
        return laplace
    cost = Cost(epsilon=epsilon, delta=delta, rho=square / (2 * sigma**2))
    return AnswerNoise(name=GAUSSIAN, scale=sigma, cost=cost)
