"""Checks of what the paper says about its measures, FNR and SER, and about eps/c as the one thing that matters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from sparsegate.evaluation.methods import DEFAULT_METHODS
from sparsegate.evaluation.statements.comparisons import judged, some
from sparsegate.evaluation.statements.decisions import Decision, Quantity, Term, above, at_most, mean_of, rate
from sparsegate.evaluation.statements.findings import Findings, Row
from sparsegate.evaluation.statements.judgements import Judgement

TOGETHER = 0.9
"""Rates that go together: a rank correlation of more than this."""

MOSTLY = 0.05
"""Mostly a matter of eps/c: SER differs by at most this on average, where eps/c is the same."""

BOOTSTRAPS = 200


def fnr_is_fpr(findings: Findings) -> Judgement:
    """The largest difference of FNR and FPR where every run selected c: an identity, so no interval is needed."""
    places = {}
    for dataset in findings.datasets:
        rows = [row for row in findings.rows.values() if row.dataset == dataset and row.selected_mean == row.count]
        if rows:
            most = max(abs(row.fnr_mean - row.fpr_mean) for row in rows)
            decision = Decision.sure(most < 1e-9, tuple(row.cell for row in rows))
            places[dataset] = (decision, f"{len(rows)} cases, largest difference {most:.1g}")
    return judged(findings, some(places, "a case with c selected"))


def fnr_with_ser(findings: Findings) -> Judgement:
    """Spearman's rank correlation over the paper's cases of each dataset."""
    places = {}
    for dataset in findings.datasets:
        found = (findings.get(dataset, key, count) for key in DEFAULT_METHODS for count in findings.counts)
        rows = [row for row in found if row is not None]
        if len(rows) > 2 and all(len({getattr(row, name) for row in rows}) > 1 for name in ("ser_mean", "fnr_mean")):
            correlation = _rank_correlation(rows)
            text = f"{correlation.value:.3f} ± {correlation.error:.3f}"
            places[dataset] = (above(correlation, TOGETHER), text)
    some(places, "three cases or more of a dataset")
    return judged(findings, places, head="rank correlation ")


def _rank_correlation(rows: Sequence[Row]) -> Quantity:
    """The correlation with an error by bootstrap: each mean moved by its standard error, and by what one run can do.

    So a mean of runs that were all the same moves, too, by 1/n of the way to 1. What moves is taken from the
    correlation found, not from its mean: noise hides a relation, and that bias counts.
    """
    from scipy.stats import rankdata

    means = np.array([[row.ser_mean for row in rows], [row.fnr_mean for row in rows]])
    seen = np.array([[row.ser_error for row in rows], [row.fnr_error for row in rows]])
    errors = np.hypot(seen, (1 - np.clip(means, 0.0, 1.0)) / np.array([row.runs for row in rows]))
    noise = np.random.default_rng(0).standard_normal((BOOTSTRAPS + 1, *means.shape))
    noise[0] = 0.0
    ranks = rankdata(means + errors * noise, axis=-1)
    centred = ranks - ranks.mean(axis=-1, keepdims=True)
    products = (centred[:, 0] * centred[:, 1]).sum(axis=-1)
    found = products / np.sqrt((centred**2).sum(axis=-1).prod(axis=-1))
    error = math.sqrt(float(np.mean((found[1:] - found[0]) ** 2))) if min(row.runs for row in rows) > 1 else math.inf
    weights = np.hypot(*errors) + 1e-12  # a row has its share by how far its means move
    shares = (weights / np.linalg.norm(weights)).tolist()
    terms = {(row.cell, "rank"): Term(error * share) for row, share in zip(rows, shares, strict=True)}
    return Quantity(value=float(found[0]), terms=terms)


def epsilon_over_c(findings: Findings) -> Judgement:
    """Differences of SER between cases of one dataset and method that share eps/c: the mean of their sizes."""
    groups: dict[str, dict[tuple[str, str], list[Row]]] = {}
    for row in findings.rows.values():
        share = f"{row.epsilon / row.count:.9g}"
        groups.setdefault(row.dataset, {}).setdefault((row.method, share), []).append(row)
    places = {}
    for dataset, found in groups.items():
        pairs = [
            sorted(pair, key=lambda row: -row.ser_mean) for rows in found.values() for pair in combinations(rows, 2)
        ]
        if pairs:
            differences = [rate(a) - rate(b) for a, b in pairs]
            mean = mean_of(differences)
            a, b = max(pairs, key=lambda pair: pair[0].ser_mean - pair[1].ser_mean)
            text = (
                f"{len(pairs)} pairs, mean difference {mean.value:.3f} ± {mean.error:.3f}; most ({a.method}) "
                f"{a.ser_mean:.3f} at ε = {a.epsilon:g}, c = {a.count} and {b.ser_mean:.3f} at ε = {b.epsilon:g}, "
                f"c = {b.count}"
            )
            places[dataset] = (at_most(mean, MOSTLY), text)
    return judged(findings, some(places, "cases of the same eps/c"))
