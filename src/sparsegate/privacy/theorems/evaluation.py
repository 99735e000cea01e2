"""Sections 5 and 6: retraversal, the Zipf data, and a threshold that is taken from the data."""

from __future__ import annotations

import math

import numpy as np

from sparsegate.privacy.enumeration import log_probabilities
from sparsegate.privacy.laws import Floats, NoiseLaw
from sparsegate.privacy.model import Model, build
from sparsegate.privacy.theorems.claim import Claim, ClaimVerdict, Measured, Subject, equals, exceeds, within
from sparsegate.privacy.theorems.measure import listed

_ITEMS, _RECORDS = 10_000, 1_000_000
_NODES = 60  # of the Gauss-Laguerre rule, on each side of zero
_SEED = 2
_DATASETS = 120


def _svt_s(subject: Subject, cutoff: int) -> Model:
    """SVT-S of the evaluation: Alg. 7 for monotonic queries at epsilon = 0.1, split 1:c^(2/3)."""
    ratio = subject.allocation(cutoff, monotonic=True)
    return build(subject.rows["standard"], epsilon=0.1, cutoff=cutoff, monotonic=True, allocation=ratio)


def _laws(model: Model) -> tuple[NoiseLaw, NoiseLaw]:
    assert model.rho is not None
    assert model.nu is not None
    return model.rho, model.nu


def _rho_nodes(rho: NoiseLaw) -> tuple[Floats, Floats]:
    """Values of rho and their weights: Gauss-Laguerre on both sides of zero."""
    x, w = np.polynomial.laguerre.laggauss(_NODES)
    return rho.scale * np.concatenate((-x, x)), np.concatenate((w, w)) / 2


def _raise(subject: Subject) -> Measured:
    """One "D" of the threshold: the scale of nu (Sec. 5), or its standard deviation (Sec. 6)."""
    rho, nu = _laws(_svt_s(subject, 50))
    x, w = _rho_nodes(nu)
    deviation = math.sqrt(float(w @ x**2))
    z, weight = _rho_nodes(rho)
    passes = [[float(weight @ np.exp(nu.log_above(z + k * unit))) for k in (1, 3)] for unit in (nu.scale, deviation)]
    return Measured(
        parts=(equals("standard deviation of ν over its scale", deviation / nu.scale, 1.0),),
        evidence=(
            f"1D is {1:.4f} or {deviation / nu.scale:.4f} scales; a query at T passes 1D, 3D with "
            f"{listed(passes[0], 3)} or {listed(passes[1], 3)}"
        ),
    )


def _ends(subject: Subject) -> Measured:
    """1,000 items whose scores lie 60 noise scales below T: how likely a million passes select none of them."""
    rho, nu = _laws(_svt_s(subject, 25))
    z, weight = _rho_nodes(rho)
    log_each = nu.log_above(z + 60 * nu.scale)
    once = float(weight @ np.exp(log_each))
    none = float(weight @ np.exp(1e9 * np.log1p(-np.exp(log_each))))
    return Measured(
        parts=(
            exceeds("ln Pr[one comparison passes]", math.log(once), -math.inf),
            within("Pr[nothing selected in a million passes], against 1/2", none, 0.5),
        ),
        evidence=f"1,000 items 60 scales below T: nothing selected in a million passes with probability {none:.6f}",
    )


def _zipf(subject: Subject) -> Measured:
    """The share of true top-c items among all that pass, by the two readings of the table of datasets."""
    rank = 1 / np.arange(1.0, _ITEMS + 1)
    readings = {"sum": _RECORDS * rank / rank.sum(), "top": _RECORDS * rank}
    shares: dict[str, list[float]] = {}
    for reading, scores in readings.items():
        shares[reading] = []
        for c in (25, 100, 200):
            rho, nu = _laws(_svt_s(subject, c))
            z, weight = _rho_nodes(rho)
            bar = (scores[c - 1] + scores[c]) / 2
            passing = np.exp(nu.log_above(z + (bar - scores)[:, None])) @ weight
            shares[reading].append(float(passing[:c].sum() / passing.sum()))
    return Measured(
        parts=(
            exceeds("share of true top-25 among the positives, scores that sum to 10^6", shares["sum"][0], 0.5),
            within("share of true top-100 among the positives, scores that sum to 10^6", shares["sum"][1], 0.1),
        ),
        evidence=(
            f"true top among positives, c = 25, 100, 200: {listed(shares['sum'], 2)} if scores sum to 10^6, "
            f"{listed(shares['top'], 2)} if the first is"
        ),
    )


def _oracle(subject: Subject) -> Measured:
    """Random small datasets, one person more, T recomputed from each: the largest loss over all outcomes."""
    rng = np.random.default_rng(_SEED)
    worst = 0.0
    for _ in range(_DATASETS):
        c = int(rng.integers(1, 3))
        model = build(subject.rows["standard"], threshold=0.5, epsilon=1, cutoff=c, monotonic=True)
        counts = rng.integers(0, 3, rng.integers(c + 2, 8)) * rng.choice([1, 10, 60])
        here, there = (_with_oracle(model, q) for q in (counts, counts + rng.integers(0, 2, counts.size)))
        worst = max(worst, float(np.abs(here - there).max()))
    return Measured(
        parts=(within(f"largest loss over {_DATASETS} pairs of datasets", worst, 1.0),),
        evidence=f"largest loss {worst:.4f} of 1 over all outcomes of {_DATASETS} random pairs of datasets",
    )


def _with_oracle(model: Model, counts: Floats) -> Floats:
    falling = np.sort(counts)[::-1]
    bar = (falling[model.cutoff - 1] + falling[model.cutoff]) / 2
    return log_probabilities(model.compare(counts, float(bar), None))


CLAIMS = (
    Claim(
        key="slip-retraversal-raise",
        place="Sec. 5 and 6",
        expected=ClaimVerdict.WRONG,
        measure=_raise,
        statement="T is raised by multiples of ν's scale (Sec. 5), also called its standard deviation (Sec. 6).",
    ),
    Claim(
        key="retraversal-ends",
        place="Sec. 5",
        expected=ClaimVerdict.OVER_CLAIMS,
        measure=_ends,
        statement="One can retraverse the queries until c are selected. (It may take for ever: cap the passes.)",
    ),
    Claim(
        key="zipf",
        place="Sec. 6",
        expected=ClaimVerdict.HOLDS,
        measure=_zipf,
        statement="Zipf data, scores in proportion to 1/i, 10,000 items, 1,000,000 records: SVT fails from c = 100 on.",
    ),
    Claim(
        key="oracle-threshold",
        place="Sec. 6",
        expected=ClaimVerdict.HOLDS,
        measure=_oracle,
        statement="SVT-S at T = mean of the c-th and (c+1)-th true count spends ε, although T is taken from the data.",
    ),
)
