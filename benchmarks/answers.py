"""How good the answers are at a given budget, on Kosarak's sample scaled to the size of the whole.

Counts are those of the sample times 9.9, rounded, and items of count 1 up to 41,270; 60 runs with seeds.
SPARSEGATE_KOSARAK names the file of transactions, which is otherwise looked for in ../shared/data.
"""

from __future__ import annotations

import gzip
import math
import os
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.measure import Result
from sparsegate.noise import Seeded
from sparsegate.paper.ranked import Ladder
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import Request
from sparsegate.tables.observed import bar_at, best_accounting, pick_observed, pure

RUNS, SCALED = 60, 9.9
EPSILON, DELTA = Fraction(1, 10), Fraction(1, 10**6)
KOSARAK_ITEMS = 41_270

_DATA = Path(__file__).parents[2] / "shared" / "data"
KOSARAK = Path(os.environ.get("SPARSEGATE_KOSARAK", _DATA / "kosarak-first-100k.dat.gz"))


def item_counts(file: Path) -> list[int]:
    """The count of every item of a file of transactions, the largest first."""
    with gzip.open(file, "rt") as lines:
        return sorted(Counter(item for line in lines for item in set(line.split())).values(), reverse=True)


def scaled_counts() -> list[int]:
    """Those of Kosarak's sample, as if it were the whole."""
    counts = [round(SCALED * count) for count in item_counts(KOSARAK)]
    return counts + [1] * (KOSARAK_ITEMS - len(counts))


def observed(counts: list[int], *, count: int, epsilon: Fraction, target: str) -> Result:
    """Items released from an observed domain that are among the true top; the peer is the accounting by epsilon / c."""
    histogram, least = Counter(counts), counts[count - 1]

    def right(name: str, dbar: int = 10 * count) -> float:
        account = best_accounting if name == "best" else pure
        accounting = account(epsilon=epsilon, delta=DELTA, count=count, max_items_per_user=dbar)
        runs = (pick_observed(Seeded(seed), histogram, dbar=dbar, accounting=accounting) for seed in range(RUNS))
        return sum(score >= least for picks in runs for score, _ in picks) / RUNS

    return Result(
        benchmark=f"observed domain, c = {count}, epsilon = {float(epsilon):g}: released and right",
        ours=round(right("best"), 1),
        peer=round(right("pure"), 1),
        unit="items",
        target=target,
        judged="ours",
        details={"peer_name": "epsilon / c a round", "delta": float(DELTA), "runs": RUNS},
    )


def missed(scores: Scores, *, count: int, runs: int, **options: Any) -> tuple[str, float]:
    """The method that ran, and the mean share of the true top that it missed; ties at the last place count as right."""
    request = Request(count=count, sensitivity=1, monotonic=True, **options)
    least = Ladder.of(scores).score(count)
    rates = []
    for seed in range(runs):
        picked = scores.values[request.pick(scores, Seeded(seed).stream()).groups]
        rates.append(1 - min(int((picked >= least).sum()), count) / count)
    return request.method, sum(rates) / runs


def selected(counts: list[int], *, count: int, target: str, **options: Any) -> Result:
    """The false negative rate of what "auto" takes; the peer is the exponential mechanism."""
    scores = Scores.histogram(dict(Counter(counts)))
    method, ours = missed(scores, count=count, runs=RUNS, epsilon=EPSILON, **options)
    _, peer = missed(scores, count=count, runs=RUNS, epsilon=EPSILON, method="exponential")
    given = "".join(f", {name} = {float(value):g}" for name, value in options.items())
    return Result(
        benchmark=f"auto, c = {count}, epsilon = {float(EPSILON):g}{given}: false negative rate",
        ours=round(ours, 4),
        peer=round(peer, 4),
        unit="missed",
        target=target,
        judged="ours",
        details={"peer_name": "exponential mechanism", "method": method, "runs": RUNS},
    )


def lowest_bar() -> Result:
    """How many people a label needs for even chances; the peer is Laplace noise and a threshold."""
    rate, laplace = float(EPSILON), 0
    while math.exp(-rate * (laplace - 1)) / (1 + math.exp(-rate)) > float(DELTA):  # what one person alone would pass
        laplace += 1
    return Result(
        benchmark="all above a bar: the lowest with even chances, epsilon = 0.1",
        ours=next(above for above in range(1, laplace) if _possible(above)),
        peer=laplace,
        unit="people",
        target="<= 109",
        judged="ours",
        details={"peer_name": "Laplace threshold", "delta": float(DELTA)},
    )


def _possible(above: int) -> bool:
    try:
        bar_at(above, epsilon=EPSILON, delta=DELTA, max_items_per_user=1)
    except ValueError:
        return False
    return True


def results() -> Iterator[Result]:
    yield lowest_bar()
    if not KOSARAK.exists():
        print(f"no Kosarak sample at {KOSARAK}: set SPARSEGATE_KOSARAK", file=sys.stderr)
        return
    counts = scaled_counts()
    yield selected(counts, count=100, target="<= 0.02")
    yield selected(counts, count=300, target="<= 0.01", max_items_per_user=1)
    yield selected(counts, count=200, target="<= 0.06", delta=DELTA)
    yield observed(counts, count=100, epsilon=EPSILON, target=">= 95")
    yield observed(counts, count=300, epsilon=Fraction(1), target=">= 290")
