"""What is in the hall: which package, which settings, which neighbours, and what is known of its exact loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from examples.hall.laws import FilterLaw, noisy_max_loss

import sparsegate as sg

SCORES = {"queries": (2, 10), "centre": 100, "samples": 60_000}
"""Two to ten scores around 100, each of which one person may move by one, up or down."""

ONE_NUMBER = {"queries": 1, "samples": 60_000}
"""A number that one person may move by one, up or down."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One implementation in one setting. ``options`` are those of ``sparsegate.audit``.

    ``claims``: what its claim is a number of, "epsilon" or "rho" (zCDP), and so what is certified.
    ``beside``: what pip has to be told as well, where the newest release of a dependency does not go with the package.
    """

    key: str
    package: str
    version: str
    adapter: str
    title: str
    beside: tuple[str, ...] = ()
    claims: str = "epsilon"
    settings: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    exact: Callable[[], float] | None = None
    exact_from: str = "not known"
    replayed: Callable[..., Any] | None = None
    """The same mechanism as a function of answers and ``source``, where the package takes its randomness from one."""

    @property
    def command(self) -> str:
        """What audits this entry alone."""
        return f"python examples/audit_public.py --install --entry {self.key}"


def gate_from(answers: Any, source: sg.Seeded) -> list[bool]:
    """Our own gate as the adapter asks it, with the randomness of a tape."""
    with sg.SparseVector(threshold=0, sensitivity=1, epsilon=1.0, cutoff=2, source=source, not_private=True) as gate:
        return [bool(answer) for answer in gate.ask_many(answers)]


def filter_split(uploads: int, epsilon: float) -> tuple[float, float]:
    """NVFlare's own split of epsilon between threshold and queries, 1 : (2c)^(2/3)."""
    ratio = (2 * uploads) ** (2 / 3)
    return epsilon / (1 + ratio), epsilon * ratio / (1 + ratio)


def filter_loss(uploads: int = 1, coordinates: int = 10, release: float = 1.0) -> float:
    threshold, query = filter_split(uploads, 1.0)
    return FilterLaw(uploads=uploads, threshold=threshold, query=query, release=release).largest(coordinates)


def prefix_loss() -> float:
    """Tumult's gate at alpha = 4: Lap(2) on the threshold, Lap(4) on each prefix sum, stops at the first above."""
    half = sg.Budget(threshold_epsilon=1 / 2, query_epsilon=1 / 4)
    return sg.privacy.tight_epsilon("standard", budget=half, cutoff=1, monotonic=True, queries=30)


def _one_against(own: float, others: float) -> list[float]:
    return [own] + [others] * 9


_FILTER_PAIRS = [
    ([-1.0] * 10, [1.0] * 10),
    (_one_against(-1, 0), _one_against(1, 1)),
]
_BEYOND_THE_CLIP = [([1000.0] * 10, [-1000.0] * 10), ([1000.0] * 10, [0.0] * 10)]
# 45 of 50 readings lie below 10, the others below 20; one more reading, 30, moves the target of the 0.9 quantile.
_READINGS = [1.0] * 45 + [15.0] * 5
# One more person in the last place raises half of the total, rounded down, by one, and no sum before it.
_COUNTS, _ONE_MORE = [2, 0, 0, 1], [2, 0, 0, 2]
_FILTER = {"fraction": 0.1, "epsilon": 1.0, "gamma": 1.0, "tau": 0.1}

ENTRIES = (
    Entry(
        key="sparsegate-gate",
        package="sparsegate",
        version=sg.__version__,
        adapter="sparsegate",
        title="SparseVector, c = 2",
        settings={"epsilon": 1.0, "cutoff": 2},
        options={"queries": 10, "samples": 30_000},
        exact=lambda: sg.privacy.tight_epsilon("standard", epsilon=1, cutoff=2, queries=10),
        exact_from="row `standard`, 10 queries",
        replayed=gate_from,
    ),
    Entry(
        key="nvflare-2.9.0",
        package="nvflare",
        version="2.9.0",
        adapter="nvflare",
        title="SVTPrivacy, 10 coordinates, c = 1",
        settings={**_FILTER, "epsilon_release": 1.0},
        options={"neighbours": _FILTER_PAIRS, "patterns": False, "samples": 50_000},
        exact=filter_loss,
        exact_from="its law, the largest of many pairs; at most 2 by the theorem below",
    ),
    Entry(
        key="nvflare-2.7.3",
        package="nvflare",
        version="2.7.3",
        adapter="nvflare",
        title="SVTPrivacy, 10 coordinates, c = 1",
        settings={**_FILTER, "noise_var": 0.1},
        options={"neighbours": _BEYOND_THE_CLIP, "patterns": False, "samples": 30_000},
        exact=lambda: math.inf,
        exact_from="clipped after the noise, not before",
    ),
    Entry(
        key="tmlt-core-prefix-sums",
        package="tmlt.core",
        version="0.20.0",
        adapter="tmlt.core",
        title="SparseVectorPrefixSums, alpha = 4",
        settings={"alpha": 4, "threshold_fraction": 0.5},
        options={"neighbours": [(_COUNTS, _ONE_MORE)], "patterns": False, "samples": 30_000, "call_timeout": 1200.0},
        exact=prefix_loss,
        exact_from="row `standard`, queries all move one way, 30 queries",
    ),
    Entry(
        key="eeprivacy-quantile",
        package="eeprivacy",
        version="0.0.5",
        adapter="eeprivacy",
        title="PrivateQuantile, 0.9 (report noisy max)",
        settings={"epsilon": 1.0, "quantile": 0.9, "options": [10.0, 11.0, 12.0, 13.0, 20.0]},
        options={"neighbours": [(_READINGS, [*_READINGS, 30.0])], "patterns": False, "samples": 100_000},
        exact=lambda: round(noisy_max_loss(1e9, 1.8), 6),
        exact_from="noisy max, scores that move by 0.9 either way",
    ),
    Entry(
        key="opendp-noisy-max",
        package="opendp",
        version="0.16.0",
        adapter="opendp",
        title="noisy max, scale 2",
        settings={"scale": 2.0},
        options=SCORES,
        exact=lambda: 1.0,
        exact_from="noisy max: 2Δ/scale",
    ),
    Entry(
        key="opendp-noisy-top-k",
        package="opendp",
        version="0.16.0",
        adapter="opendp",
        title="noisy top-k, k = 3, scale 6",
        settings={"scale": 6.0, "k": 3},
        options={**SCORES, "queries": (4, 10)},
    ),
    Entry(
        key="diffprivlib-exponential",
        package="diffprivlib",
        version="0.6.6",
        adapter="diffprivlib",
        beside=("scikit-learn<1.9",),
        title="Exponential",
        settings={"mechanism": "Exponential", "epsilon": 1.0},
        options=SCORES,
        exact=lambda: 1.0,
        exact_from="exponential mechanism: ε",
    ),
    Entry(
        key="diffprivlib-permute-and-flip",
        package="diffprivlib",
        version="0.6.6",
        adapter="diffprivlib",
        beside=("scikit-learn<1.9",),
        title="PermuteAndFlip",
        settings={"mechanism": "PermuteAndFlip", "epsilon": 1.0},
        options=SCORES,
        exact=lambda: 1.0,
        exact_from="permute-and-flip: ε",
    ),
    Entry(
        key="pipeline-dp-exponential",
        package="pipeline-dp",
        version="0.3.1",
        adapter="pipeline-dp",
        title="ExponentialMechanism",
        settings={"epsilon": 1.0},
        options=SCORES,
        exact=lambda: 1.0,
        exact_from="exponential mechanism: ε",
    ),
    Entry(
        key="opendp-laplace",
        package="opendp",
        version="0.16.0",
        adapter="opendp-numbers",
        title="Laplace on whole numbers, scale 1",
        settings={"kind": "laplace", "scale": 1.0},
        options=ONE_NUMBER,
        exact=lambda: 1.0,
        exact_from="discrete Laplace: Δ/scale",
    ),
    Entry(
        key="opendp-laplace-threshold",
        package="opendp",
        version="0.16.0",
        adapter="opendp-numbers",
        title="Laplace threshold 5, scale 1, δ = 0.004926",
        settings={"kind": "laplace_threshold", "scale": 1.0, "threshold": 5},
        options={"neighbours": [({}, {"a": 1})], "patterns": False, "samples": 60_000, "delta": 0.004926},
        exact=lambda: math.inf,
        exact_from="the key of one person, in one of 75 runs: no ε at this δ",
    ),
    Entry(
        key="opendp-gaussian",
        package="opendp",
        version="0.16.0",
        adapter="opendp-numbers",
        title="Gaussian on whole numbers, scale 1",
        settings={"kind": "gaussian", "scale": 1.0, "measure": "zero_concentrated_divergence"},
        options=ONE_NUMBER,
        claims="rho",
        exact=lambda: 0.5,
        exact_from="discrete Gaussian: Δ²/(2 scale²)",
    ),
    Entry(
        key="opendp-noisy-max-zcdp",
        package="opendp",
        version="0.16.0",
        adapter="opendp-numbers",
        title="noisy max for zCDP, scale 2",
        settings={"kind": "noisy_max", "scale": 2.0, "measure": "zero_concentrated_divergence"},
        options={**SCORES, "queries": (2, 4)},
        claims="rho",
        exact=lambda: 1 / 8,
        exact_from="Gumbel noise: bounded range, ε²/8",
    ),
    Entry(
        key="diffprivlib-laplace",
        package="diffprivlib",
        version="0.6.6",
        adapter="diffprivlib-number",
        beside=("scikit-learn<1.9",),
        title="Laplace, sensitivity 1",
        settings={"mechanism": "Laplace", "epsilon": 1.0, "sensitivity": 1},
        options=ONE_NUMBER,
        exact=lambda: 1.0,
        exact_from="Laplace: ε",
    ),
    Entry(
        key="diffprivlib-geometric",
        package="diffprivlib",
        version="0.6.6",
        adapter="diffprivlib-number",
        beside=("scikit-learn<1.9",),
        title="Geometric, sensitivity 1",
        settings={"mechanism": "Geometric", "epsilon": 1.0, "sensitivity": 1},
        options=ONE_NUMBER,
        exact=lambda: 1.0,
        exact_from="geometric: ε",
    ),
    Entry(
        key="diffprivlib-staircase",
        package="diffprivlib",
        version="0.6.6",
        adapter="diffprivlib-number",
        beside=("scikit-learn<1.9",),
        title="Staircase, sensitivity 1",
        settings={"mechanism": "Staircase", "epsilon": 1.0, "sensitivity": 1},
        options=ONE_NUMBER,
        exact=lambda: 1.0,
        exact_from="staircase: ε",
    ),
    Entry(
        key="python-dp-count",
        package="python-dp",
        version="1.1.5rc4",
        adapter="python-dp",
        title="Count",
        settings={"epsilon": 1.0},
        options={**ONE_NUMBER, "centre": 100},
        exact=lambda: 1.0,
        exact_from="Laplace on a grid: ε",
    ),
)
