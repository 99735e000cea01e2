"""The picture docs/pictures/plan.png: what planning for n questions gains. Computed from closed forms, not sampled.

python examples/plan_picture.py
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from sparsegate import VARIANTS, Budget
from sparsegate.gates.planning import comparison_variance
from sparsegate.privacy import plan

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "plan.png"


def draw_plan(path: Path, cutoff: int = 10, epsilon: int = 1) -> None:
    """The standard deviation of a comparison against n/c: planned for n questions, Alg. 7, and no threshold noise."""
    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    counts = sorted({max(1, round(cutoff * factor / 10)) for factor in range(1, 61)})
    for axes, monotonic in zip(panels, (False, True), strict=True):
        budget = Budget.allocate(epsilon, cutoff=cutoff, monotonic=monotonic)
        standard = comparison_variance(VARIANTS["standard"].scales(budget, cutoff=cutoff, monotonic=monotonic)) ** 0.5
        plans = [plan(cutoff=cutoff, epsilon=epsilon, monotonic=monotonic, queries=n).variance ** 0.5 for n in counts]
        ratio = [n / cutoff for n in counts]
        plain = [2**0.5 * n / float(budget.total) for n in counts]
        axes.plot(ratio, plans, color="#0072B2", linewidth=3, label="planned for n questions")
        axes.axhline(standard, color="#009E73", linestyle="--", label="Alg. 7, optimal split")
        axes.plot(ratio, plain, color="#E69F00", linestyle=":", label="no threshold noise, scale nΔ/ε")
        axes.set(xlabel="questions per positive, n/c", title="monotonic queries" if monotonic else "any queries")
        axes.set_ylim(0, 2 * standard if monotonic else 1.4 * standard)
    panels[0].set_ylabel("standard deviation of a comparison, in Δ")
    panels[1].legend(fontsize=8, frameon=False, loc="upper right")
    title = f"Knowing the number of questions buys accuracy (cutoff {cutoff}, ε = {float(budget.total):g})"
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    draw_plan(PICTURE)
