"""Section 4: the generalised SVT (Alg. 7), its monotonic form, and the split of epsilon."""

from __future__ import annotations

import numpy as np

from sparsegate.budget import Budget
from sparsegate.mechanisms.plan import comparison_variance, plan
from sparsegate.mechanisms.variants import Variant
from sparsegate.privacy.theorems.claim import Claim, ClaimVerdict, Measured, Subject, at_most
from sparsegate.privacy.theorems.measure import ClaimSetting, listed

_GENERAL = (  # cutoff, eps1, eps2, eps3
    (1, 0.5, 0.5, 0),
    (2, 0.25, 0.75, 0),
    (1, 0.2, 0.5, 0.3),
    (2, 0.02, 0.05, 0.03),
)
_ONE_WAY = ((1, 0.5, 0.5, 0), (2, 0.25, 0.75, 0), (3, 0.04, 0.06, 0))
_ONE_WAY_NUMERIC = ((1, 0.2, 0.5, 0.3), (1, 0.5, 0.2, 0.3), (1, 0.4, 0.5, 0.1), (2, 0.3, 0.5, 0.2))


def _settings(row: Variant, table: tuple[tuple[int, float, float, float], ...], monotonic: bool) -> list[ClaimSetting]:
    return [
        ClaimSetting(row=row, cutoff=c, budget=Budget(threshold=e1, queries=e2, answers=e3), monotonic=monotonic)
        for c, e1, e2, e3 in table
    ]


def _name(setting: ClaimSetting) -> str:
    shares = setting.shares
    return (
        f"c = {setting.cutoff}, ε = {float(shares.threshold):g} + {float(shares.queries):g} + {float(shares.answers):g}"
    )


def _alg_7(subject: Subject) -> Measured:
    settings = _settings(subject.rows["standard"], _GENERAL, monotonic=False)
    parts = [at_most(f"loss at {_name(s)}", s.worst(), float(s.shares.total)) for s in settings]
    totals = ", ".join(f"{p.claimed:g}" for p in parts)
    return Measured(
        parts=tuple(parts),
        evidence=f"loss {listed([p.measured for p in parts])} of {totals} (the last two with answers)",
    )


def _monotonic(subject: Subject) -> Measured:
    row = subject.rows["standard"]
    settings = _settings(row, _ONE_WAY, monotonic=True)
    settings.append(ClaimSetting(row=row, budget=Budget(threshold=0.5, queries=0.5), monotonic=True, noise="lattice"))
    parts = [at_most(f"loss at {_name(s)}, {s.noise} noise", s.worst(), float(s.shares.total)) for s in settings]
    return Measured(
        parts=tuple(parts), evidence=f"loss {listed([p.measured for p in parts[:3]])} of 1, 1, 0.1 at c = 1, 2, 3"
    )


def _monotonic_answers(subject: Subject) -> Measured:
    """The bound of Thm. 5, and beside it what is lost: all but the smallest share."""
    settings = _settings(subject.rows["standard"], _ONE_WAY_NUMERIC, monotonic=True)
    parts = [at_most(f"loss at {_name(s)}", s.worst(), float(s.shares.total)) for s in settings]
    spent = [1 - float(min(s.shares.threshold, s.shares.queries, s.shares.answers)) for s in settings]
    return Measured(
        parts=tuple(parts),
        evidence=f"loss {listed([p.measured for p in parts])} of 1; 1 less the smallest share: {listed(spent, 1)}",
    )


def _variance(row: Variant, ratio: float, cutoff: int, monotonic: bool) -> float:
    budget = Budget(threshold=1 / (1 + ratio), queries=ratio / (1 + ratio))
    return comparison_variance(row.scales(budget, cutoff=cutoff, monotonic=monotonic))


def _allocation(monotonic: bool, subject: Subject) -> Measured:
    """2(Delta/eps1)^2 + 2(scale of nu)^2 at the rule's ratio, against the least on a fine grid of ratios."""
    row = subject.rows["standard"]
    parts = []
    for c in (1, 10, 100):
        ratio = float(subject.allocation(c, monotonic=monotonic))
        grid = ratio * np.geomspace(0.2, 5, 801)
        least = min(_variance(row, float(x), c, monotonic) for x in grid)
        parts.append(
            at_most(
                f"variance at 1:{ratio:.4g}, c = {c}, over the least", _variance(row, ratio, c, monotonic) / least, 1.0
            )
        )
    halves = _variance(row, 1.0, 100, monotonic) / _variance(
        row, float(subject.allocation(100, monotonic=monotonic)), 100, monotonic
    )
    few = plan(cutoff=10, epsilon=1, monotonic=monotonic, queries=10)
    unlimited = plan(cutoff=10, epsilon=1, monotonic=monotonic)
    return Measured(
        parts=tuple(parts),
        evidence=(
            f"variance {parts[2].measured:.4f} of the least at c = 100, at 1:1 {halves:.2f}; "
            f"planned for n = c = 10 queries {few.variance / unlimited.variance:.2f}"
        ),
    )


CLAIMS = (
    Claim(
        key="alg-7",
        place="Sec. 4.1, Thm. 4",
        expected=ClaimVerdict.TIGHT,
        measure=_alg_7,
        statement="Alg. 7 (ρ ~ Lap(Δ/ε₁), ν ~ Lap(2cΔ/ε₂), answers + Lap(cΔ/ε₃)) is (ε₁+ε₂+ε₃)-DP.",
    ),
    Claim(
        key="monotonic",
        place="Sec. 4.3, Thm. 5",
        expected=ClaimVerdict.TIGHT,
        measure=_monotonic,
        statement="On monotonic queries ν ~ Lap(cΔ/ε₂) suffices: Alg. 7 without answers is (ε₁+ε₂)-DP.",
    ),
    Claim(
        key="monotonic-answers",
        place="Sec. 4.3, Thm. 5",
        expected=ClaimVerdict.HOLDS,
        measure=_monotonic_answers,
        statement="The same with answers is (ε₁+ε₂+ε₃)-DP. (True, not tight: it is so less the smallest of the three.)",
    ),
    Claim(
        key="allocation",
        place="Sec. 4.2",
        expected=ClaimVerdict.TIGHT,
        measure=lambda s: _allocation(False, s),
        statement="At a given ε₁+ε₂ the comparison's variance is least for ε₁:ε₂ = 1:(2c)^(2/3).",
    ),
    Claim(
        key="allocation-monotonic",
        place="Sec. 4.3",
        expected=ClaimVerdict.TIGHT,
        measure=lambda s: _allocation(True, s),
        statement="On monotonic queries it is least for ε₁:ε₂ = 1:c^(2/3).",
    ),
)
