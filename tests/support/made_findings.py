"""Results as the paper describes them, made up: every one of its statements is supported by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sparsegate.paper.checks import RAISES
from sparsegate.paper.decisions import Judgement, Support
from sparsegate.paper.results import CLAIMED, CORRECTED, Findings, Row, UseRow
from sparsegate.paper.statements import STATEMENTS, VALUES, check_all

COUNTS = (25, 50, 100, 200)
KINDS = {"kosarak": "stand-in", "aol": "stand-in", "zipf": "exact"}
SER = {
    "svt-dpbook": (0.09, 0.70, 0.96, 0.98),
    "svt-s-1:1": (0.08, 0.45, 0.93, 0.97),
    "svt-s-1:3": (0.06, 0.40, 0.90, 0.96),
    "svt-s-1:c": (0.05, 0.30, 0.75, 0.80),
    "svt-s-1:c23": (0.02, 0.25, 0.80, 0.90),
    "svt-retr-0d": (0.02, 0.25, 0.80, 0.90),
    "svt-retr-1d": (0.01, 0.10, 0.40, 0.50),
    "svt-retr-2d": (0.02, 0.12, 0.35, 0.45),
    "svt-retr-3d": (0.03, 0.14, 0.31, 0.41),
    "svt-retr-4d": (0.04, 0.16, 0.30, 0.40),
    "svt-retr-5d": (0.05, 0.18, 0.29, 0.39),
    "em": (0.00, 0.05, 0.28, 0.38),
    "svt-alg1": (0.085, 0.50, 0.94, 0.975),
    "alg-4": (0.0, 0.0, 0.0, 0.0),
    "svt-s-half-t": (0.5, 0.7, 0.90, 0.95),
    "svt-s-double-t": (0.5, 0.7, 0.90, 0.95),
    "svt-s-double-t-retr": (0.02, 0.25, 0.80, 0.90),
    "svt-dpbook-once": (0.09, 0.65, 0.95, 0.98),
    "svt-dpbook-monotonic": (0.09, 0.66, 0.95, 0.98),
}
"""The error of each method at each c; FNR is a little more."""


def made_findings() -> Findings:
    """Three datasets, four values of c, and at c = 100 half and twice the epsilon, where only eps/c matters."""
    rows = [_row(name, key, count, 0.1, SER[key][i]) for name in KINDS for key in SER for i, count in enumerate(COUNTS)]
    rows += [
        _row(name, key, 100, epsilon, SER[key][same])
        for name in KINDS
        for key in ("svt-dpbook", "em")
        for epsilon, same in ((0.05, 3), (0.2, 1))
    ]
    rows += [_row(name, "em", 400, 0.1, 0.6) for name in KINDS]
    rows.append(_row("aol", "em", 140_106, 0.1, 0.6))
    findings = Findings(
        rows={row.cell: row for row in rows},
        scores={name: [1000.0 / rank for rank in range(1, 301)] for name in KINDS},
        manifest={"parameters": {"epsilon": [0.1], "counts": list(COUNTS), "runs": 100, "seed": 0}},
        datasets={
            name: {"name": name, "title": name, "kind": kind, "stand_in": kind == "stand-in"}
            for name, kind in KINDS.items()
        },
        methods={key: {"key": key} for key in SER},
        uses=tuple(
            use_row(use, mechanism, mean)
            for use in ("itemsets", "features", "pairs")
            for mechanism, mean in ((CLAIMED, 0.1), (CORRECTED, 0.5))
        ),
    )
    for value in VALUES:
        if value.dataset == "zipf":
            same = ("svt-s-1:c23", "svt-retr-0d") if value.method == "svt-s-1:c23" else (value.method,)
            findings = tampered(findings, _at("zipf", same, value.count), ser_mean=value.ser)
    return findings


def use_row(use: str, mechanism: str, mean: float, *, epsilon: float = 0.1, runs: int = 400) -> UseRow:
    """A use of the Introduction with one mechanism."""
    return UseRow(
        use=use,
        data="made",
        mechanism=mechanism,
        way="some",
        claimed_epsilon=epsilon,
        true_epsilon=9 * epsilon if mechanism == CLAIMED else epsilon,
        measure="missed",
        mean=mean,
        std=0.1,
        runs=runs,
        seed=0,
    )


def tampered(findings: Findings, wanted: Callable[[Row], bool], **changes: Any) -> Findings:
    """The findings with other numbers in some rows."""
    rows = {key: replace(row, **changes) if wanted(row) else row for key, row in findings.rows.items()}
    return replace(findings, rows=rows)


def judgement(findings: Findings, key: str) -> Judgement:
    """What the findings say about one statement."""
    (statement,) = (statement for statement in STATEMENTS if statement.key == key)
    return statement.check(findings)


def verdict_on(findings: Findings, key: str) -> Support:
    """The verdict on one statement."""
    return judgement(findings, key).support


def supports(findings: Findings) -> dict[str, Support]:
    """The verdict on each statement by its key."""
    return {one.statement.key: one.judgement.support for one in check_all(findings)}


def _at(dataset: str, methods: tuple[str, ...], count: int) -> Callable[[Row], bool]:
    return lambda row: row.dataset == dataset and row.method in methods and (row.count, row.epsilon) == (count, 0.1)


def _row(dataset: str, method: str, count: int, epsilon: float, ser: float) -> Row:
    deviation = 0.1 if method == "svt-s-1:c" else 0.05
    return Row(
        dataset=dataset,
        stand_in=KINDS[dataset] == "stand-in",
        method=method,
        epsilon=epsilon,
        count=count,
        runs=10**5,
        ser_mean=ser,
        ser_std=deviation,
        fnr_mean=ser + 0.005,
        fnr_std=deviation,
        fpr_mean=ser + 0.005,
        fpr_std=deviation,
        ser_least=0.0,
        total_ser_mean=ser - 0.03 if method in RAISES else ser,
        total_ser_std=deviation,
        selected_mean=count * (0.5 if method == "svt-s-double-t" else 1.0),
        seconds=0.0,
    )
