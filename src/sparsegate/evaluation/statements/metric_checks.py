"""Checks of what the paper says about its measures, FNR and SER, and about eps/c as the one thing that matters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from sparsegate.evaluation.statements.comparisons import judged, some
from sparsegate.evaluation.statements.decisions import Decision, Quantity, above, at_most, mean_of, rate
from sparsegate.evaluation.statements.findings import Findings, Row
from sparsegate.evaluation.statements.judgements import Judgement, Support

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
            support = Support.SUPPORTED if most < 1e-9 else Support.NOT_SUPPORTED
            decision = Decision(support=support, cells=tuple(row.cell for row in rows))
            places[dataset] = (decision, f"{len(rows)} cases, largest difference {most:.1g}")
    return judged(findings, some(places, "a case with c selected"))


def fnr_with_ser(findings: Findings) -> Judgement:
    """Spearman's rank correlation over the cases of each dataset; its error by bootstrap, each mean moved by its own.

    With r close to 1 its law is skew, so the rule is applied to Fisher's transform, artanh r.
    """
    places = {}
    for dataset in findings.datasets:
        rows = [row for row in findings.rows.values() if row.dataset == dataset]
        if len(rows) > 2 and all(len({getattr(row, name) for row in rows}) > 1 for name in ("ser_mean", "fnr_mean")):
            correlation = _rank_correlation(rows)
            decision = above(correlation, math.atanh(TOGETHER))
            places[dataset] = (decision, f"{math.tanh(correlation.value):.3f}")
    some(places, "three cases or more of a dataset")
    return judged(findings, places, head="rank correlation ")


def _rank_correlation(rows: Sequence[Row]) -> Quantity:
    from scipy.stats import rankdata

    quantities = [[rate(row, metric) for row in rows] for metric in ("ser", "fnr")]
    means, errors = (
        np.array([[getattr(one, name) for one in side] for side in quantities]) for name in ("value", "error")
    )
    noise = np.random.default_rng(0).standard_normal((BOOTSTRAPS, *means.shape))
    noise[0] = 0.0
    drawn = means + np.where(np.isfinite(errors), errors, 1.0) * noise
    ranks = rankdata(drawn, axis=-1)
    centred = ranks - ranks.mean(axis=-1, keepdims=True)
    products = (centred[:, 0] * centred[:, 1]).sum(axis=-1)
    norms = np.sqrt((centred**2).sum(axis=-1).prod(axis=-1))
    found = np.arctanh(np.clip(products / np.maximum(norms, 1e-12), -1 + 1e-12, 1 - 1e-12))
    share = math.sqrt(float(np.mean((found[1:] - found[0]) ** 2)) / len(rows))  # bias included: noise hides a relation
    return Quantity(value=float(found[0]), terms={(row.cell, "rank"): share for row in rows})


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
