"""Section 3: the table of differences (Fig. 2), its footnote, and the four steps that tell the variants apart."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sparsegate.budget import Budget
from sparsegate.mechanisms.variants import Released, Scales, Variant
from sparsegate.privacy.loss import loss
from sparsegate.privacy.outcome import log_probability
from sparsegate.privacy.theorems.claim import NEAR, Claim, ClaimPart, ClaimVerdict, Measured, Subject, equals, exceeds
from sparsegate.privacy.theorems.measure import ABOVE, BELOW, AnswerPair, ClaimSetting, indicators, listed, repeated

_MANY = 2000  # queries of a pair whose loss has no bound
_ENDLESS = 100.0  # what a loss must pass at epsilon = 1 and this many queries to count as unbounded


class _Column(NamedTuple):
    """One algorithm as Fig. 2 prints it; ``loss`` is its last line at epsilon = 1: a constant, and a multiple of c."""

    threshold_share: float
    threshold_scale: str
    redraws: bool
    query_scale: str
    outputs_noisy: bool
    unbounded: bool
    loss: tuple[float, float]


_FIG_2 = {
    "lyu-2017": _Column(0.5, "Δ/ε₁", False, "2cΔ/ε₂", False, False, (1, 0)),
    "dwork-roth-2014": _Column(0.5, "cΔ/ε₁", True, "2cΔ/ε₂", False, False, (1, 0)),
    "roth-2011": _Column(0.5, "Δ/ε₁", False, "cΔ/ε₁", True, False, (math.inf, 0)),
    "lee-clifton-2014": _Column(0.25, "Δ/ε₁", False, "Δ/ε₂", False, False, (0.25, 1.5)),
    "stoddard-2014": _Column(0.5, "Δ/ε₁", False, "0", False, True, (math.inf, 0)),
    "chen-2015": _Column(0.5, "Δ/ε₁", False, "Δ/ε₂", False, True, (math.inf, 0)),
}


def endless_pair(row: Variant, queries: int) -> AnswerPair:
    """The paper's own neighbours for a row without a bound, and this many queries (Thm. 3, 6 and 7)."""
    half = queries // 2
    return {
        "roth-2011": repeated((0, 1, BELOW, queries - 1), (1, 0, 0.0, 1)),
        "stoddard-2014": repeated((0, 1, BELOW, half), (1, 0, ABOVE, half)),
        "chen-2015": repeated((0, 1, BELOW, half), (0, -1, ABOVE, half)),
    }[row.key]


def _cells(row: Variant, column: _Column) -> dict[str, bool]:
    """Line by line: does the row say what Fig. 2 prints?"""
    cutoff = 2
    share = row.budget(1, cutoff=cutoff, monotonic=False).threshold
    printed = column.loss[0] + column.loss[1] * cutoff
    if math.isinf(printed):
        losses = ClaimSetting(row=row, epsilon=1).loss(endless_pair(row, _MANY)) > _ENDLESS
    else:
        losses = math.isclose(ClaimSetting(row=row, cutoff=cutoff, epsilon=1).worst(), printed, rel_tol=NEAR)
    return {
        "ε₁": float(share) == column.threshold_share,
        "scale of ρ": row.threshold_noise.formula("ε₁") == column.threshold_scale,
        "ρ redrawn": row.redraws_threshold == column.redraws,
        "scale of ν": row.query_noise.formula("ε₂") == column.query_scale,
        "outputs q + ν": (row.released is Released.NOISY_ANSWER) == column.outputs_noisy,
        "unbounded ABOVE": row.stops != column.unbounded,
        "privacy": losses,
    }


def _table(subject: Subject) -> Measured:
    parts = [
        ClaimPart(what=f"{row.algorithm}, {line}", measured=float(same), relation="=", claimed=1.0, holds=same)
        for key, column in _FIG_2.items()
        for row in (subject.rows[key],)
        for line, same in _cells(row, column).items()
    ]
    off = [part.what for part in parts if not part.holds]
    evidence = f"{len(parts) - len(off)} of {len(parts)} cells agree" + (f"; not: {'; '.join(off)}" if off else "")
    return Measured(parts=tuple(parts), evidence=evidence)


def _footnote(subject: Subject) -> Measured:
    """ln Pr with thresholds T_i on answers q_i, and with threshold 0 on q_i - T_i, for an outcome of each row."""
    rng = np.random.default_rng(5)
    parts = []
    for key in _FIG_2:
        row = subject.rows[key]
        answers, bars = rng.integers(-9, 9, 6), rng.integers(-9, 9, 6)
        outcome = [BELOW] * 5 + [ABOVE]
        there = log_probability(row, answers, outcome, threshold=bars, epsilon=1)
        here = log_probability(row, answers - bars, outcome, epsilon=1)
        parts.append(equals(f"ln Pr, {row.algorithm}", there, here))
    gap = max(0.0 if p.measured == p.claimed else abs(p.measured - p.claimed) for p in parts)
    return Measured(
        parts=tuple(parts), evidence=f"ln Pr of an outcome of {len(parts)} rows both ways: largest gap {gap:.6f}"
    )


def _slip_step_3(subject: Subject) -> Measured:
    """Step 3 of the list names Alg. 1 where it describes Alg. 3."""
    named, meant = subject.rows["lyu-2017"], subject.rows["roth-2011"]
    most = ClaimSetting(row=named, epsilon=1).worst()
    other = ClaimSetting(row=meant, epsilon=1).loss(endless_pair(meant, 11))
    outputs = float(named.released is Released.NOISY_ANSWER)
    return Measured(
        parts=(
            equals("Alg. 1 outputs q + ν (1: yes)", outputs, 1.0),
            exceeds("loss of Alg. 1, against ε", most, 1.0),
        ),
        evidence=f"Alg. 1 loses {most:.4f} and outputs no number; Alg. 3 loses {other:.4f} after 11 queries",
    )


def _slip_alg_2(subject: Subject) -> Measured:
    """c rounds, each with its own rho. Listing: nu 2c/e1, first rho c/e1, later ones c/e2. Table: 2c/e2 and c/e1."""
    row, c = subject.rows["dwork-roth-2014"], 2

    def total(shares: Budget, listing: bool) -> float:
        e1, e2 = shares.threshold, shares.queries
        rounds = [(e1, e1), *[(e2, e1)] * (c - 1)] if listing else [(e1, e2)] * c
        return sum(_round_loss(row, Scales(c / rho, 2 * c / nu, None)) for rho, nu in rounds)

    equal, skewed = Budget(threshold=0.5, queries=0.5), Budget(threshold=0.75, queries=0.25)
    listing, table = ([total(shares, reading) for shares in (equal, skewed)] for reading in (True, False))
    return Measured(
        parts=(
            equals("loss at ε₁ = ε₂: listing, against table", round(listing[0], 6), round(table[0], 6)),
            equals("loss at ε₁ = 3ε₂: listing, against table", round(listing[1], 6), round(table[1], 6)),
        ),
        evidence=f"ε₁:ε₂ = 1:1 and 3:1, ε = 1, c = 2: listing {listed(listing)}, table {listed(table)}",
    )


def _round_loss(row: Variant, scales: Scales) -> float:
    """The loss of one round that ends in an ABOVE, far from the threshold."""
    assert scales.threshold is not None
    assert scales.query is not None
    far = 40 * math.ceil(scales.threshold + scales.query)
    below = 2 + math.ceil(scales.query / scales.threshold)
    pair = repeated((far, far + 1, BELOW, below), (0, -1, ABOVE, 1))
    return loss(row, pair.answers, pair.neighbour, pair.outcome, scales=scales)


def _slip_alg_3(subject: Subject) -> Measured:
    """Indicators alone, at a split where eps1 is not eps2: the table's c/eps1 against the listing's c/eps2."""
    row = indicators(subject.rows["roth-2011"])

    def readings(shares: Budget) -> tuple[float, float]:
        e1 = 1 / shares.threshold
        return tuple(_round_loss(row, Scales(e1, 1 / nu, None)) for nu in (shares.queries, shares.threshold))  # type: ignore[return-value]

    even = readings(Budget(threshold=0.5, queries=0.5))
    skewed = readings(Budget(threshold=0.25, queries=0.75))
    return Measured(
        parts=(
            equals("indicator loss at ε₁ = ε₂: table, against listing", even[1], even[0]),
            equals("indicator loss at 3ε₁ = ε₂: table, against listing", skewed[1], skewed[0]),
        ),
        evidence=(
            f"ε₁:ε₂ = 1:1 and 1:3, ε = 1: listing {listed([even[0], skewed[0]])}, table {listed([even[1], skewed[1]])}"
        ),
    )


CLAIMS = (
    Claim(
        key="fig-2",
        place="Sec. 3, Fig. 2",
        expected=ClaimVerdict.OVER_CLAIMS,
        measure=_table,
        statement="The table of differences: shares, scales, redrawing, output, stop and privacy of Alg. 1 to 6.",
    ),
    Claim(
        key="one-threshold",
        place="Sec. 3, footnote",
        expected=ClaimVerdict.HOLDS,
        measure=_footnote,
        statement="Thresholds T_i on queries q_i are threshold 0 on q_i - T_i: one threshold suffices.",
    ),
    Claim(
        key="slip-step-3",
        place="Sec. 3, step 3",
        expected=ClaimVerdict.WRONG,
        measure=_slip_step_3,
        statement="Alg. 1 outputs the noisy answer instead of ABOVE, which makes it non-private. (Alg. 3 is meant.)",
    ),
    Claim(
        key="slip-alg-2-scales",
        place="Sec. 3, Alg. 2 and Fig. 2",
        expected=ClaimVerdict.OVER_CLAIMS,
        measure=_slip_alg_2,
        statement="Listing (ν 2cΔ/ε₁, later ρ cΔ/ε₂) and table (ν 2cΔ/ε₂, ρ cΔ/ε₁) are one Alg. 2.",
    ),
    Claim(
        key="slip-alg-3-scales",
        place="Sec. 3, Alg. 3 and Fig. 2",
        expected=ClaimVerdict.OVER_CLAIMS,
        measure=_slip_alg_3,
        statement="Listing (ν cΔ/ε₂) and table (ν cΔ/ε₁) are one Alg. 3.",
    ),
)
