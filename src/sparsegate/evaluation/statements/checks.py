"""How each of the paper's statements is checked: results in, a judgement with its numbers out."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median
from typing import TypeVar

from sparsegate.evaluation.statements.findings import Findings, Row

MARGIN = 0.01
"""A difference of rates that matters at all."""

SIGMAS = 4.0
"""A difference that is not chance, in standard errors: false alarm 3e-5 for each comparison."""

SVT_S = ("svt-s-1:1", "svt-s-1:3", "svt-s-1:c", "svt-s-1:c23")
INTERACTIVE = ("svt-dpbook", *SVT_S)

_T = TypeVar("_T")


class Support(enum.Enum):
    """What the results say about a statement."""

    SUPPORTED = "supported"
    NOT_SUPPORTED = "not supported"
    NOT_COMPARABLE = "not comparable"
    NOT_RUN = "not run"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What the results say, and the numbers that it depends on."""

    support: Support
    numbers: str

    @classmethod
    def of(cls, holds: bool, numbers: str) -> Judgement:
        """Supported or not."""
        return cls(support=Support.SUPPORTED if holds else Support.NOT_SUPPORTED, numbers=numbers)


@dataclass(frozen=True, kw_only=True)
class Excess:
    """By how much the error of one row exceeds that of another, and whether that counts."""

    row: Row
    other: Row
    metric: str
    difference: float
    counts: bool

    def __str__(self) -> str:
        return f"{self.difference:+.3f} in {self.metric.upper()} ({self.row.place}, c = {self.row.count})"


def excess(row: Row, other: Row, metric: str = "ser") -> Excess:
    """Compare two rows: an excess counts if it is beyond both the margin and chance."""
    difference = getattr(row, f"{metric}_mean") - getattr(other, f"{metric}_mean")
    chance = SIGMAS * math.hypot(getattr(row, f"{metric}_error"), getattr(other, f"{metric}_error"))
    return Excess(
        row=row, other=other, metric=metric, difference=difference, counts=bool(difference > max(MARGIN, chance))
    )


def largest(found: Iterable[Excess]) -> Excess:
    """The largest excess, those that count first."""
    return max(found, key=lambda one: (one.counts, one.difference))


class Missing(Exception):
    """The results lack what a statement is about; the message says what."""


def _some(found: Iterable[_T], what: str) -> list[_T]:
    """The findings as a list, or Missing where there are none."""
    if not (listed := list(found)):
        raise Missing(f"needs {what}")
    return listed


def _by_dataset(found: Iterable[_T], dataset: Callable[[_T], str], show: Callable[[list[_T]], str]) -> str:
    groups: dict[str, list[_T]] = {}
    for one in found:
        groups.setdefault(dataset(one), []).append(one)
    return "; ".join(f"{name}: {show(group)}" for name, group in groups.items())


def accurate_at_25(findings: Findings) -> Judgement:
    """The highest SER of an interactive method at c = 25."""
    found = (findings.get(dataset, key, 25) for dataset in findings.datasets for key in INTERACTIVE)
    rows = _some((row for row in found if row is not None), "an interactive method at c = 25")
    numbers = _by_dataset(rows, lambda row: row.place, lambda group: _extreme(group, highest=True))
    holds = all(row.ser_mean - SIGMAS * row.ser_error < 0.1 for row in rows)
    return Judgement.of(holds, f"highest SER: {numbers}")


def inaccurate_on_zipf(findings: Findings) -> Judgement:
    """The lowest SER of an interactive method on Zipf from c = 100 on."""
    counts = [count for count in findings.counts if count >= 100]
    found = (findings.get("zipf", key, count) for key in INTERACTIVE for count in counts)
    rows = _some((row for row in found if row is not None), "an interactive method on zipf with c >= 100")
    lowest = _extreme(rows, highest=False)
    holds = all(row.ser_mean + SIGMAS * row.ser_error >= 0.7 for row in rows)
    return Judgement.of(holds, f"lowest SER: {lowest}")


def _extreme(rows: Sequence[Row], *, highest: bool) -> str:
    row = (max if highest else min)(rows, key=lambda row: row.ser_mean)
    return f"{row.ser_mean:.3f} ± {row.ser_error:.3f} ({row.method}, c = {row.count})"


def ordered(findings: Findings, pairs: Sequence[tuple[str, str]]) -> Judgement:
    """The first of each pair is never worse than the second, and better somewhere."""
    holds, numbers = True, []
    for better, worse in pairs:
        rows = _some(findings.across(better, worse), f"{better} and {worse}")
        against = [excess(a, b) for a, b in rows]
        ahead = [excess(b, a) for a, b in rows]
        failed, won = sum(one.counts for one in against), sum(one.counts for one in ahead)
        holds &= failed == 0 and won > 0
        worst = f", worst {largest(against)}" if failed else ""
        numbers.append(f"{better} vs {worse}: lower in {won}, higher in {failed} of {len(rows)} cases{worst}")
    return Judgement.of(holds, "; ".join(numbers))


def halves(findings: Findings, better: str, worse: str, *, large: bool) -> Judgement:
    """Compare mean SER over the larger or the smaller half of c; FNR is shown beside it."""
    middle = len(findings.counts) // 2
    counts = findings.counts[middle:] if large else findings.counts[:middle]
    pairs = [(a, b) for a, b in findings.across(better, worse) if a.count in counts]
    _some(pairs, f"{better} and {worse} at {'large' if large else 'small'} c")
    shown, ahead = [], []
    for dataset in dict.fromkeys(row.dataset for row, _ in pairs):
        sides = list(zip(*(pair for pair in pairs if pair[0].dataset == dataset), strict=True))
        ser, other_ser = (fmean(row.ser_mean for row in side) for side in sides)
        fnr, other_fnr = (fmean(row.fnr_mean for row in side) for side in sides)
        ahead.append(ser < other_ser)
        shown.append(f"{findings.place(dataset)}: {ser:.3f} vs {other_ser:.3f} (FNR {fnr:.3f} vs {other_fnr:.3f})")
    numbers = "; ".join(shown)
    span = f"c = {counts[0]} to {counts[-1]}"
    return Judgement.of(2 * sum(ahead) > len(ahead), f"{better} vs {worse}, {span}: {numbers}")


def deviates(findings: Findings) -> Judgement:
    """The ratio of standard deviations of SER, 1:c over 1:c^(2/3)."""
    pairs = _some(findings.across("svt-s-1:c", "svt-s-1:c23"), "svt-s-1:c and svt-s-1:c23")
    if any(math.isnan(row.ser_std) for pair in pairs for row in pair):
        raise Missing("needs at least 2 runs")
    ratios = {}
    for dataset in dict.fromkeys(row.dataset for row, _ in pairs):
        wide, narrow = zip(*(pair for pair in pairs if pair[0].dataset == dataset), strict=True)
        ratios[dataset] = fmean(row.ser_std for row in wide) / max(fmean(row.ser_std for row in narrow), 1e-12)
    numbers = "; ".join(f"{findings.place(dataset)}: {ratio:.1f} times" for dataset, ratio in ratios.items())
    return Judgement.of(all(ratio >= 1.2 for ratio in ratios.values()), numbers)


def em_best(findings: Findings) -> Judgement:
    """How far EM is behind any retraversal, and ahead of the best."""
    raises = findings.keys("svt-retr-")
    behind = _some((excess(a, b) for key in raises for a, b in findings.across("em", key)), "em and a svt-retr")
    failed = sum(one.counts for one in behind)
    worst = largest(behind)
    ahead = sum(excess(one.other, one.row).counts for one in behind)
    numbers = (
        f"EM higher in {failed}, lower in {ahead} of {len(behind)} comparisons; most behind {worst.other.method}: "
    )
    return Judgement.of(failed == 0, f"{numbers}{worst}")


def retraversal_alone(findings: Findings) -> Judgement:
    """Differences between retraversal without a raise and plain SVT-S."""
    pairs = _some(findings.across("svt-retr-0d", "svt-s-1:c23"), "svt-retr-0d")
    differences = [max(excess(a, b), excess(b, a), key=lambda one: one.difference) for a, b in pairs]
    failed = sum(one.counts for one in differences)
    numbers = f"differ in {failed} of {len(pairs)} cases; most {largest(differences)}"
    return Judgement.of(failed == 0, numbers)


def best_raise(findings: Findings) -> Judgement:
    """For each raise, by how much the best one beats it at worst."""
    raises = [key for key in findings.keys("svt-retr-") if key != "svt-retr-0d"]
    if len(raises) < 2:
        raise Missing("needs two svt-retr or more")
    cases = _some(findings.across(*raises), " and ".join(raises))
    regrets: dict[str, list[Excess]] = {key: [] for key in raises}
    for rows in cases:
        for metric in ("ser", "fnr"):
            best = min(rows, key=lambda row: float(getattr(row, f"{metric}_mean")))
            for row in rows:
                regrets[row.method].append(excess(row, best, metric))
    worst = {key: largest(found) for key, found in regrets.items()}
    numbers = "most behind the best: " + "; ".join(f"{key} {one}" for key, one in worst.items())
    return Judgement.of(all(one.counts for one in worst.values()), numbers)


def fnr_is_fpr(findings: Findings) -> Judgement:
    """The largest difference of FNR and FPR where every run selected c."""
    full = _some((row for row in findings.rows.values() if row.selected_mean == row.count), "a case with c selected")
    most = max(abs(row.fnr_mean - row.fpr_mean) for row in full)
    return Judgement.of(most < 1e-9, f"{len(full)} cases, largest difference {most:.1g}")


def fnr_with_ser(findings: Findings) -> Judgement:
    """Spearman's rank correlation over the cases of each dataset."""
    from scipy.stats import spearmanr

    found = {}
    for dataset in findings.datasets:
        rows = [row for row in findings.rows.values() if row.dataset == dataset]
        pairs = {(row.ser_mean, row.fnr_mean) for row in rows}
        if len(rows) > 2 and all(len(set(side)) > 1 for side in zip(*pairs, strict=True)):
            result = spearmanr([row.ser_mean for row in rows], [row.fnr_mean for row in rows])
            found[dataset] = float(result.statistic)
    _some(found, "three cases or more of a dataset")
    numbers = "; ".join(f"{findings.place(dataset)}: {value:.3f}" for dataset, value in found.items())
    return Judgement.of(min(found.values()) >= 0.9, f"rank correlation {numbers}")


def epsilon_over_c(findings: Findings) -> Judgement:
    """Differences of SER between cases of one dataset and method that share eps/c."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in findings.rows.values():
        groups.setdefault((row.dataset, row.method, f"{row.epsilon / row.count:.9g}"), []).append(row)
    pairs = _some((pair for group in groups.values() for pair in combinations(group, 2)), "cases of the same eps/c")
    differences = [abs(a.ser_mean - b.ser_mean) for a, b in pairs]
    most, (a, b) = max(zip(differences, pairs, strict=True), key=lambda one: one[0])
    numbers = (
        f"{len(pairs)} pairs, mean difference {fmean(differences):.3f}; most {most:.3f} ({a.place}, {a.method}: "
        f"SER {a.ser_mean:.3f} at ε = {a.epsilon:g}, c = {a.count}; "
        f"{b.ser_mean:.3f} at ε = {b.epsilon:g}, c = {b.count})"
    )
    return Judgement.of(fmean(differences) <= 0.05, numbers)


def threshold_noise(findings: Findings) -> Judgement:
    """The share of DPBook's distance to SVT-S 1:1 that each change removes, where that distance is at least 0.1."""
    shares = {}
    for key in ("svt-alg1", "svt-dpbook-once", "svt-dpbook-monotonic"):
        found = [
            (book.ser_mean - changed.ser_mean) / (book.ser_mean - plain.ser_mean)
            for book, changed, plain in findings.across("svt-dpbook", key, "svt-s-1:1")
            if book.ser_mean - plain.ser_mean >= 0.1
        ]
        if found:
            shares[key] = (median(found), len(found))
    if "svt-alg1" not in shares:
        raise Missing("needs svt-alg1, svt-dpbook and svt-s-1:1 where the last two differ")
    names = {"svt-alg1": "ρ of Alg. 1", "svt-dpbook-once": "ρ drawn once", "svt-dpbook-monotonic": "ν halved"}
    numbers = "; ".join(f"{names[key]}: {share:.0%}" for key, (share, _) in shares.items())
    cases = shares["svt-alg1"][1]
    return Judgement.of(shares["svt-alg1"][0] >= 0.5, f"share removed, median of {cases} cases: {numbers}")
