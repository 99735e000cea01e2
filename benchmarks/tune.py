"""What the best of K private runs costs: ours, by Theorem 2 of Papernot and Steinke (2022), and all of them seen."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from benchmarks.measure import Result
from sparsegate.gates.approximate import zcdp_rho
from sparsegate.gates.gaussian import gaussian_sigma
from sparsegate.uses.run_cost import RunCost, RunLaw, best_of

DELTA = Fraction(1, 10**6)
THEOREM_2 = {"logarithmic": (1.67, 1.83, 1.97), "geometric": (2.00, 2.25, 2.49)}
MEANS = (10, 30, 100)


def theorem(rho: float, law: RunLaw) -> float:
    """Their epsilon for rho-zCDP runs at ``DELTA``: the second order is least at sqrt(ln(1/gamma)/rho)."""
    assert law.eta is not None
    assert law.gamma is not None
    orders = 1 + np.geomspace(0.1, 1e4, 4000)
    other = float(1 + law.eta) * (2 * math.sqrt(-rho * math.log(float(law.gamma))) - rho)
    bounds = rho * orders + other + math.log(float(law.mean)) / (orders - 1)
    log_inverse = -math.log(float(DELTA))
    return float((bounds + (log_inverse - np.log(orders)) / (orders - 1) + np.log1p(-1 / orders)).min())


def results() -> Iterator[Result]:
    """Each run (1, 1e-6): as rho-zCDP, and as Gaussian noise of the same rho, whose profile is known."""
    run = RunCost.zcdp(zcdp_rho(epsilon=Fraction(1), delta=DELTA))
    assert run.rho is not None
    gaussian = RunCost.gaussian(math.sqrt(1 / (2 * float(run.rho))))
    for name, figures in THEOREM_2.items():
        for mean, figure in zip(MEANS, figures, strict=True):
            law = RunLaw.of(name, mean)
            ours, theirs = float(best_of(run, law, DELTA).epsilon), theorem(float(run.rho), law)
            yield Result(
                benchmark=f"tune: best of {mean} runs of (1, 1e-6), {name}",
                ours=round(ours, 4),
                peer=round(theirs, 4),
                unit="epsilon",
                ratio=float(f"{ours / theirs:.3g}"),
                target=f"<= {figure}",
                judged="ours",
                details={
                    "peer_name": "Theorem 2",
                    "gaussian": round(float(best_of(gaussian, law, DELTA).epsilon), 4),
                    "composed": round(run.composed(mean, DELTA), 2),
                },
            )
    solved = RunCost.within("noise_multiplier", epsilon=2, delta=DELTA, runs="logarithmic", mean=100)
    alone = gaussian_sigma(epsilon=Fraction(2), delta=DELTA)
    assert solved.noise_multiplier is not None
    assert alone is not None
    yield Result(
        benchmark="tune: noise multiplier with which the best of 100 runs costs (2, 1e-6)",
        ours=round(solved.noise_multiplier, 4),
        peer=round(float(alone), 4),
        unit="sensitivities",
        ratio=float(f"{solved.noise_multiplier / float(alone):.3g}"),
        details={"peer_name": "one run that costs (2, 1e-6)"},
    )
