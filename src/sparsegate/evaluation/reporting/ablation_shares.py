"""What makes SVT-DPBook lose: how much of its distance to SVT-S 1:1 each single change removes."""

from __future__ import annotations

from functools import reduce
from operator import add

from sparsegate.evaluation.reporting.charts import BarChart, ChartBar
from sparsegate.evaluation.reporting.line_styles import LINE_STYLES
from sparsegate.evaluation.statements.decisions import Quantity, Term
from sparsegate.evaluation.statements.findings import Findings, Row

CHANGES = ("svt-dpbook-monotonic", "svt-alg1", "svt-dpbook-once")
"""SVT-DPBook with one part changed; ``line_styles`` has the name of each change."""

DISTANCE = 0.1
"""Where SVT-DPBook and SVT-S 1:1 are nearer than this in SER there is nothing to explain."""

VIEW = "share of the distance removed"


def removed_shares(findings: Findings) -> dict[str, dict[str, Quantity]]:
    """By change and dataset: the sum over c of SER(book) - SER(changed), over that of SER(book) - SER(SVT-S 1:1).

    Over every c where the latter difference is more than ``DISTANCE``. All datasets together are "".
    """
    shares: dict[str, dict[str, Quantity]] = {}
    for key in CHANGES:
        gone: dict[str, list[tuple[Quantity, Quantity]]] = {}
        for dataset, cases in findings.beside("svt-dpbook", key, "svt-s-1:1").items():
            for book, changed, plain in cases:
                if book.ser_mean - plain.ser_mean > DISTANCE:
                    pair = (_mean(book) - _mean(changed), _mean(book) - _mean(plain))
                    gone.setdefault(dataset, []).append(pair)
                    gone.setdefault("", []).append(pair)
        if gone:
            shares[key] = {name: _ratio(pairs) for name, pairs in gone.items()}
    return shares


def _mean(row: Row) -> Quantity:
    return Quantity(value=row.ser_mean, terms={(row.cell, "ser"): Term(row.ser_error)})


def _ratio(pairs: list[tuple[Quantity, Quantity]]) -> Quantity:
    above: Quantity = reduce(add, (pair[0] for pair in pairs))
    below: Quantity = reduce(add, (pair[1] for pair in pairs))
    return above / below


def share_chart(shares: dict[str, dict[str, Quantity]], dataset: str, title: str) -> BarChart | None:
    """A bar for each change on one dataset, or on all of them; None where nothing is to be explained there."""
    bars = tuple(
        ChartBar(
            label=LINE_STYLES[key].label,
            value=by_dataset[dataset].value,
            text=_percent(by_dataset[dataset].value),
            error=by_dataset[dataset].error,
            style=LINE_STYLES[key],
        )
        for key, by_dataset in shares.items()
        if dataset in by_dataset
    )
    return BarChart(title=f"{title}: {VIEW}", bars=bars, high=1.0) if bars else None


def _percent(share: float) -> str:
    return f"{round(100 * share):d} %".replace("-", "−")  # a minus, not a hyphen


def ablation_sentence(shares: dict[str, dict[str, Quantity]]) -> str:
    """What the changes remove, in one sentence; empty without the experiment."""
    if not shares:
        return ""
    parts = [
        f"{LINE_STYLES[key].label} {_percent(one[''].value)} ± {_percent(one[''].error)}" for key, one in shares.items()
    ]
    return f"Of the distance in SER between SVT-DPBook and SVT-S 1:1, one change alone removes: {', '.join(parts)}."
