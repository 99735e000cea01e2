"""What the best of K private runs costs, by the law of K: the picture of docs/how-to/tuning.md. Computed, not sampled.

python examples/tuning_cost.py [FILE.png]
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

from matplotlib.figure import Figure

from sparsegate.uses.run_cost import RunCost, RunLaw, best_of

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "tuning.png"
EACH, DELTA = RunCost.gaussian(4.53), Fraction(1, 10**6)
MEANS = (2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300)
LINES = {"logarithmic": ("#0072B2", "o"), "geometric": ("#009E73", "D"), "poisson": ("#D55E00", "v")}


def draw_cost(path: Path) -> None:
    """The epsilon of tuning against the mean number of runs, and how good a candidate is tried."""
    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    cost, share = figure.subplots(1, 2)
    for name, (colour, marker) in LINES.items():
        laws = [RunLaw.of(name, mean) for mean in MEANS]
        epsilons = [float(best_of(EACH, law, DELTA).epsilon) for law in laws]
        cost.plot(MEANS, epsilons, color=colour, marker=marker, markersize=3, label=name)
        share.plot(MEANS, [100 * law.top(0.95) for law in laws], color=colour, marker=marker, markersize=3, label=name)
    cost.plot(MEANS, [EACH.composed(mean, DELTA) for mean in MEANS], color="#000000", linestyle="--", label="all seen")
    cost.axhline(EACH.composed(1, DELTA), color="#888888", linewidth=1, linestyle=":", label="one run")
    cost.set(ylabel="epsilon of the whole, delta 1e-6", ylim=(0, 14), title="What the best of K costs")
    share.set(ylabel="among the best ... % of candidates", ylim=(0, 100), title="What is tried with 95 %")
    for axes in (cost, share):
        axes.set(xscale="log", xlabel="runs in the mean")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    draw_cost(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
