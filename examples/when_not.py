"""Where a gate is the wrong tool, and what the right one gives: the first table of docs/explanation/when_not.md.

    python examples/when_not.py

The data are invented, so the noise comes from a seed. In the first case the gate is given thresholds that nobody knows:
the count of the last that is wanted, and the best of some multiples of it, once it is known how they end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import sparsegate as sg
from sparsegate.gates.laplace import error_bar, error_bar_all
from sparsegate.noise import exact_scale

RUNS = 100
CONFIDENCE = 0.95


def free(seed: int) -> Any:
    return {"source": sg.Seeded(seed), "not_private": True}


def known_candidates() -> tuple[str, str, str]:
    """The top 50 of 10,000 pages, whose names are known before anything is asked."""
    counts = np.sort((200_000 / np.arange(1, 10_001) ** 1.05).astype(np.int64))[::-1]
    order, count = np.random.default_rng(1).permutation(counts.size), 50
    options: Any = {"count": count, "sensitivity": 1, "monotonic": True}

    def found(epsilon: float, **method: Any) -> float:
        runs = [
            sg.select_top(counts[order], epsilon=epsilon, **options, **method, **free(seed)).indices
            for seed in range(RUNS)
        ]
        return float(np.mean([(order[chosen] < count).sum() / count for chosen in runs if chosen is not None]))

    def by_gate(epsilon: float, times: float) -> float:
        return found(epsilon, method="sparse-vector", threshold=int(times * counts[count - 1]))

    def best(epsilon: float) -> float:
        return max(by_gate(epsilon, times) for times in (1, 1.25, 1.5, 2, 3, 4))

    little, at = 0.05, 0.1
    return (
        "the top 50 of 10,000 known pages, ε = 0.1",
        f"gate: with the 50th count as its bar finds {100 * by_gate(at, 1):.0f} % of them, "
        f"with the best of six bars {100 * best(at):.0f} % ({100 * best(little):.0f} % at ε = 0.05)",
        f"`select_top`: finds {100 * found(at):.0f} % ({100 * found(little):.0f} %), and needs no bar",
    )


def mostly_above() -> tuple[str, str, str]:
    """Two hundred counts, nearly all of them above: a person may be in all of them."""
    public: Any = {"epsilon": 1, "sensitivity": 1, "monotonic": True}
    gate = sg.SparseVector.preview(cutoff=190, **public).margin
    rarer = sg.SparseVector.preview(cutoff=10, closes="rarer", **public).margin
    return (
        "which of 200 counts are above the bar, where all but 10 are; ε = 1",
        f"gate of cutoff 190: right {gate:,.0f} or more from the bar",
        f'the two-sided gate, `cutoff=10, closes="rarer"`: right {rarer:,.0f} or more from it',
    )


def one_bin_each() -> tuple[str, str, str]:
    """A histogram of a thousand bins, of which each person is in one."""
    gate = sg.SparseVector.preview(cutoff=20, epsilon=1, sensitivity=1, monotonic=True).margin
    noise, all_of_them = error_bar(exact_scale(1), CONFIDENCE), error_bar_all(exact_scale(1), CONFIDENCE, 1000)
    return (
        "which of 1,000 bins hold more than 100 people, each person in one bin; 20 do; ε = 1",
        f"gate: right {gate:,.0f} or more from 100",
        f"`laplace` on all 1,000 at once: right {noise} or more from it; all 1,000 together within ± {all_of_them}",
    )


def every_answer() -> tuple[str, str, str]:
    """Thirty counts that are all to be published."""
    shares = sg.Budget(threshold_epsilon=0.1, query_epsilon=0.4, answer_epsilon=0.5)
    gate = sg.SparseVector.preview(cutoff=30, budget=shares, sensitivity=1, monotonic=True)
    assert gate.standard_error is not None
    noise = 2**0.5 * 30
    return (
        "30 counts that are all wanted, a person may be in all of them; ε = 1",
        f"gate with an answers share: standard error {gate.standard_error:,.0f}, of those above the bar alone",
        f"`laplace` on all 30: standard error {noise:,.0f}",
    )


def half_above() -> tuple[str, str, str]:
    """Two hundred counts, half of them above: a person may be in all of them."""
    gate = sg.SparseVector.preview(cutoff=100, epsilon=1, sensitivity=1, monotonic=True).margin
    noise = error_bar(exact_scale(200), CONFIDENCE - (1 - CONFIDENCE))  # what is wrong on one side alone is an error
    return (
        "which of 200 counts are above the bar, where 100 are; ε = 1",
        f"gate: right {gate:,.0f} or more from the bar",
        f"`laplace` on all 200: right {noise:,.0f} or more from it, and tells every count",
    )


def deciles() -> tuple[str, str, str]:
    """The nine deciles of 10,000 incomes among 2,000 possible values."""
    generator = np.random.default_rng(1)
    incomes = np.minimum(generator.lognormal(6, 0.5, 10_000), 1999).astype(np.int64)
    below = np.cumsum(np.bincount(incomes, minlength=2000))
    by_gate, by_choice = [], []
    for seed in range(RUNS):
        # One person more or less moves (10 - k) below - k above by 10 - k or k, at most 9.
        gate = sg.SparseVector(threshold=0, cutoff=9, epsilon=1, sensitivity=9, **free(seed))
        k, noise = 1, sg.Seeded(1000 + seed)
        for place, count in enumerate(below.tolist()):
            if not gate.closed and gate.ask(10 * count - k * incomes.size):
                by_gate.append(abs(int(below[place]) - k * incomes.size / 10))
                k += 1
        assert k == 10, "the gate has told all nine"
        for k in range(1, 10):
            scores = -np.abs(10 * below - k * incomes.size)
            options: Any = {"count": 1, "epsilon": 1 / 9, "sensitivity": max(k, 10 - k), "source": noise}
            chosen = sg.select_top(scores, **options, not_private=True).indices
            assert chosen is not None
            by_choice.append(abs(int(below[chosen[0]]) - k * incomes.size / 10))
    (gate_off, gate_error), (choice_off, choice_error) = averaged(by_gate), averaged(by_choice)
    return (
        "the nine deciles of 10,000 incomes, 2,000 values; ε = 1",
        f"gate that walks up the values: off by {gate_off:.0f} ± {gate_error:.0f} people on average",
        f"`select_top` for each decile: off by {choice_off:.0f} ± {choice_error:.0f}",
    )


def averaged(off: list[float]) -> tuple[float, float]:
    """The mean over all runs, and two standard errors of it, from run to run."""
    runs = np.mean(np.reshape(off, (RUNS, -1)), axis=1)
    return float(np.mean(runs)), float(2 * np.std(runs, ddof=1) / RUNS**0.5)


CASES: dict[str, tuple[Callable[[], tuple[str, str, str]], ...]] = {
    "A gate is the wrong tool": (known_candidates, every_answer, one_bin_each, mostly_above),
    "A gate is not the wrong tool, though it is often said": (half_above, deciles),
}


def main() -> None:
    for title, cases in CASES.items():
        print(f"{title}:\n\n| Problem | A gate gives | The other gives |\n| --- | --- | --- |")
        for case in cases:
            print(f"| {' | '.join(case())} |", flush=True)
        print()


if __name__ == "__main__":
    main()
