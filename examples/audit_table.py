"""The table and the picture of docs/how-to/audit.md: what the auditor certifies for every row, and for other libraries.

    python examples/audit_table.py               the rows: a Markdown table, and docs/pictures/audit.png
    python examples/audit_table.py --peers       opendp and diffprivlib, in .venv-bench (`make bench`): a table

Every audit is at 99 % confidence, with a claimed epsilon of 1 and at most 10 queries.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import sparsegate as sg
from sparsegate.auditor import Verdict, audit

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "audit.png"
BUDGETS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
EPSILON, QUERIES, SEED = 1.0, 10, 1


def audit_row(task: tuple[str, int]) -> Verdict:
    key, samples = task
    # A seed, so that the page can be made again as it is.
    mechanism = sg.VARIANTS[key].for_audit(epsilon=EPSILON, source=sg.Seeded(SEED))
    return audit(mechanism, epsilon=EPSILON, queries=QUERIES, samples=samples, stop_at_violation=False, seed=SEED)


def rows(budgets: tuple[int, ...] = BUDGETS) -> dict[str, list[Verdict]]:
    """Each row with each budget, the largest last."""
    tasks = [(key, samples) for key in sg.VARIANTS for samples in budgets]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        found = iter(pool.map(audit_row, tasks))
        return {key: [next(found) for _ in budgets] for key in sg.VARIANTS}


def true_epsilon(key: str) -> float:
    return sg.privacy.tight_epsilon(key, epsilon=EPSILON, queries=QUERIES)


def peers() -> Iterator[tuple[str, str, Callable[[], Verdict]]]:
    """Name, claim and audit of mechanisms that nobody here wrote, each used as its documentation shows."""
    import opendp.prelude as dp
    from diffprivlib.mechanisms import Exponential, PermuteAndFlip

    dp.enable_features("contrib")
    scores = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64"), dp.max_divergence()
    counts = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="i64"))
    distance = dp.l01inf_distance(dp.absolute_distance(T="i64"))
    noisy_max = dp.m.make_noisy_max(*scores, scale=2.0)
    top_k = dp.m.make_noisy_top_k(*scores, k=3, scale=6.0)
    threshold = dp.m.make_laplace_threshold(counts, distance, scale=1.0, threshold=5)
    opendp = f"opendp {version('opendp')}"

    def selected(measurement: Any) -> Callable[[Any, int], list[Any]]:
        return lambda answers, n: [measurement(answers) for _ in range(n)]

    def chosen(mechanism: Any) -> Callable[[Any, int], list[Any]]:
        def draw(answers: Any, n: int) -> list[Any]:
            made = mechanism(epsilon=EPSILON, sensitivity=1, utility=answers.tolist())
            return [made.randomise() for _ in range(n)]

        return draw

    for name, measurement in (("noisy max", noisy_max), ("noisy top-k, k = 3", top_k)):
        claim = measurement.map(1)
        yield f"{opendp}: {name}", f"ε = {claim:g}", lambda m=measurement: _select(selected(m), m.map(1), 300_000)
    epsilon, delta = threshold.map((1, 1, 1))
    # One person adds or removes one, of one key that is there or one that is new; a threshold of 5 is near.
    pairs = [({}, {"a": 1}), ({"a": 4}, {"a": 5}), ({"a": 5}, {"a": 6}), ({"a": 9}, {"a": 10})]
    yield (
        f"{opendp}: Laplace threshold",
        f"ε = {epsilon:g}, δ = {delta:.4g}",
        lambda: audit(
            threshold,
            batch=False,
            epsilon=epsilon,
            delta=delta,
            neighbours=pairs,
            patterns=False,
            samples=200_000,
            stop_at_violation=False,
        ),
    )
    for kind in (Exponential, PermuteAndFlip):
        name = f"diffprivlib {version('diffprivlib')}: {kind.__name__}"
        yield name, f"ε = {EPSILON:g}", lambda k=kind: _select(chosen(k), EPSILON, 2_000_000)


def _select(mechanism: Callable[[Any, int], list[Any]], epsilon: float, samples: int) -> Verdict:
    # Utilities must not be negative: the answers lie around 100.
    return audit(mechanism, epsilon=epsilon, queries=(2, QUERIES), centre=100, samples=samples, stop_at_violation=False)


def draw(path: Path, found: dict[str, list[Verdict]]) -> None:
    """A panel for each row: the certified bound against runs, the true value and the claim as lines."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 10.5), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(4, 4, sharex=True).flat
    for panel, (key, verdicts) in zip(panels, found.items(), strict=False):
        row, true = sg.VARIANTS[key], true_epsilon(key)
        colour = "#1B7837" if row.private else "#B2182B"
        runs = [verdict.samples for verdict in verdicts]
        panel.plot(runs, [verdict.epsilon_lower for verdict in verdicts], "o-", color=colour, markersize=4)
        panel.axhline(EPSILON, color="black", linewidth=0.8, linestyle=":")
        if true < float("inf"):
            panel.axhline(true, color=colour, linewidth=1.2, linestyle="--")
        panel.set_title(f"{row.algorithm}: {key}\ntrue ε = {true:.4g}".replace("inf", "∞"), fontsize=8.5)
        panel.set_xscale("log")
        shown = [EPSILON, *(verdict.epsilon_lower for verdict in verdicts), *([true] if true < float("inf") else [])]
        panel.set_ylim(0, 1.08 * max(shown))
        panel.tick_params(labelsize=8)
    legend = figure.axes[-1]
    legend.axis("off")
    for label, style, colour in (
        ("certified, sound row", "o-", "#1B7837"),
        ("certified, flawed row", "o-", "#B2182B"),
        ("true ε (10 queries)", "--", "#555555"),
        ("claimed ε = 1", ":", "black"),
    ):
        legend.plot([], [], style, color=colour, label=label, markersize=4)
    legend.legend(loc="center", frameon=False, fontsize=9)
    figure.supxlabel("runs of the mechanism, search included", fontsize=10)
    figure.supylabel("ε certified at 99 %", fontsize=10)
    figure.savefig(path, dpi=130)


def line(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def proven(verdict: Verdict) -> str:
    return "**violates**" if verdict.violates else "none found"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", action="store_true", help="audit other libraries, not the rows")
    if parser.parse_args().peers:
        line("Mechanism", "Claimed", "Certified ε ≥", "Certified δ ≥", "Violation", "Runs")
        line("---", "---", "---", "---", "---", "---")
        for name, claim, run in peers():
            verdict = run()
            delta = f"{verdict.delta_lower:.4g}" if verdict.delta else ""
            line(name, claim, f"{verdict.epsilon_lower:.4f}", delta, proven(verdict), f"{verdict.samples:,}")
        return
    found = rows()
    line("Row", "Paper", "True ε, 10 queries", "Certified ε ≥", "Violation", "Runs")
    line("---", "---", "---", "---", "---", "---")
    for key, verdicts in found.items():
        last, true = verdicts[-1], f"{true_epsilon(key):.4g}".replace("inf", "∞")
        cells = (f"{last.epsilon_lower:.4f}", proven(last), f"{last.samples:,}")
        line(f"`{key}`", sg.VARIANTS[key].algorithm, true, *cells)
    draw(PICTURE, found)


if __name__ == "__main__":
    main()
