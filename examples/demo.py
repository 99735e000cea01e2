"""A gate and a top-c selection on data made here: what the private answers look like beside the true ones.

Run it with `make demo`. The data is invented; the noise is real, so every run differs.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

import sparsegate as sg

ITEMS, THRESHOLD, CUTOFF = 2_000, 1_500, 5


def visits() -> dict[str, int]:
    """Daily visitors of invented pages: a few are popular, most are not."""
    generator = np.random.default_rng(2017)
    counts = generator.poisson(60_000 / np.arange(1, ITEMS + 1) ** 0.9)
    return {f"/page/{rank}": int(count) for rank, count in enumerate(counts)}


def watch(counts: dict[str, int], console: Console) -> None:
    """Ask a gate about one page after another; only the pages above the threshold cost anything."""
    gate = sg.SparseVector(threshold=THRESHOLD, cutoff=CUTOFF, epsilon=0.5, sensitivity=1, monotonic=True)
    table = Table(title=f"A gate at {THRESHOLD:,} visitors, epsilon 0.5, {CUTOFF} positives")
    for column in ("page", "true count (secret)", "the gate says", "right?"):
        table.add_column(column, justify="left" if column == "page" else "right")
    order = list(counts)
    np.random.default_rng(1).shuffle(order)
    below = 0
    for page in order:
        if gate.closed:
            break
        answer = gate.ask(counts[page])
        below += not answer
        if answer:
            said = f"ABOVE, about {answer.estimate:,}"
            table.add_row(page, f"{counts[page]:,}", said, "yes" if counts[page] >= THRESHOLD else "no")
    console.print(table)
    margin = gate.margin(0.95)
    console.print(f"{below:,} answers of BELOW cost nothing more.")
    console.print(f"Beyond {THRESHOLD:,} ± {margin:,} it is right 95 % of the time.\n")


def publish(counts: dict[str, int], console: Console) -> None:
    """Publish the ten most visited pages, as a set."""
    chosen = sg.select_top(counts, count=10, epsilon=0.5, sensitivity=1, monotonic=True)
    truth = sorted(counts, key=lambda page: counts[page], reverse=True)
    table = Table(title="Top ten of 2,000 pages, epsilon 0.5 for the whole set")
    for column in ("selected", "true rank (secret)", "true count (secret)"):
        table.add_column(column, justify="left" if column == "selected" else "right")
    for page in chosen.items or ():
        table.add_row(str(page), f"{truth.index(str(page)) + 1}", f"{counts[str(page)]:,}")
    console.print(table)


if __name__ == "__main__":
    out = Console()
    made = visits()
    watch(made, out)
    publish(made, out)
