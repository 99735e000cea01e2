"""Draw docs/pictures/leak.png: the tight privacy loss of every published variant against the number of questions.

Run it with `.venv/bin/python examples/leak_picture.py [FILE]`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

import noisegate as ng

QUESTIONS = [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64, 80, 100]
COLOURS = ["#0072B2", "#56B4E9", "#009E73", "#D55E00", "#CC79A7", "#E69F00", "#000000"]
SHOWN = {
    "lyu-2017": "Lyu, Su, Li 2017 (Alg. 1)",
    "dwork-roth-2014": "Dwork, Roth 2014 (Alg. 2)",
    "standard": "Standard SVT (Alg. 7)",
    "roth-2011": "Roth 2011 (Alg. 3)",
    "lee-clifton-2014": "Lee, Clifton 2014 (Alg. 4)",
    "chen-2015": "Chen et al. 2015 (Alg. 6)",
    "stoddard-2014": "Stoddard et al. 2014 (Alg. 5)",
}


def draw(path: Path) -> None:
    """One line a variant; solid where the claim of epsilon-DP is true, dashed where it is not."""
    figure, axes = plt.subplots(figsize=(8, 4.6), layout="constrained")
    for (key, label), colour, marker in zip(SHOWN.items(), COLOURS, "os^vDP*", strict=True):
        losses = [ng.tight_epsilon(key, cutoff=3, epsilon=1, queries=n) for n in QUESTIONS]
        finite = [(n, loss) for n, loss in zip(QUESTIONS, losses, strict=True) if loss < float("inf")]
        style = "-" if ng.VARIANTS[key].private else "--"
        axes.plot(*zip(*finite, strict=True), style, color=colour, marker=marker, markersize=4, label=label,
                  linewidth=5 if key == "lyu-2017" else 1.6)  # fmt: skip  # Alg. 1 lies below Alg. 2
        if len(finite) < len(QUESTIONS):
            axes.annotate("∞ from the second question", finite[-1], xytext=(1.15, 30), color=colour, fontsize=8,
                          arrowprops={"arrowstyle": "<-", "color": colour})  # fmt: skip
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.annotate(
        "claimed: ε = 1", (100, 1), xytext=(0, 4), textcoords="offset points", ha="right", fontsize=8, color="grey"
    )
    axes.set(xscale="log", yscale="log", xlabel="questions asked", ylabel="privacy loss, worst case (exact)")
    axes.set_title(
        "What each variant of the sparse vector technique leaks when it claims ε = 1 (cutoff 3)", fontsize=10
    )
    axes.set_xticks([1, 2, 5, 10, 20, 50, 100], labels=["1", "2", "5", "10", "20", "50", "100"])
    axes.set_yticks([0.1, 0.3, 1, 3, 10, 30], labels=["0.1", "0.3", "1", "3", "10", "30"])
    axes.minorticks_off()
    axes.legend(
        fontsize=8,
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(1, 1),
        title="solid: private, dashed: not",
        title_fontsize=8,
    )
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "docs" / "pictures" / "leak.png")
