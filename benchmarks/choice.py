"""What the rule of method="auto" gives away: the false negative rate of every method it may take, and its regret."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from benchmarks.answers import DELTA, item_counts, missed, scaled_counts
from benchmarks.measure import Result
from benchmarks.tables import KOSARAK
from sparsegate.evaluation.datasets import load
from sparsegate.mechanisms.scores import Scores

BMS_POS = KOSARAK.with_name("bms-pos-first-100k.dat.gz")
RUNS = 10
EPSILONS = (Fraction(1, 100), Fraction(1, 10), Fraction(1))
COUNTS = (10, 50, 100, 200, 300, 1000)
TOUCHED = (1, 3, 10, 30, 100, None)


def data() -> dict[str, Scores]:
    """The samples of Kosarak and of BMS-POS where they are there, Zipf, and the stand-ins."""
    samples = {"kosarak sample": (KOSARAK, scaled_counts), "bms-pos sample": (BMS_POS, lambda: item_counts(BMS_POS))}
    found = {name: Scores.histogram(dict(Counter(read()))) for name, (file, read) in samples.items() if file.exists()}
    for name in ("zipf", "bms-pos", "kosarak"):
        ladder = load(name).ladder
        counts: Counter[int] = Counter()
        for value, size in zip(ladder.values.tolist(), ladder.sizes.tolist(), strict=True):
            counts[round(value)] += size
        found[name] = Scores.histogram(dict(counts))
    return found


def ways(touched: int | None, delta: Fraction) -> dict[str, dict[str, Any]]:
    """The options of each method that these public numbers allow, and of auto."""
    found: dict[str, dict[str, Any]] = {name: {"method": name} for name in ("exponential", "one-shot", "subset")}
    found["noisy-scores"] = {"method": "noisy-scores", "touched": touched}
    if delta:
        found["gumbel"] = {"method": "gumbel", "delta": delta}
    return found | {"auto": {"method": "auto", "touched": touched, "delta": delta}}


def results() -> Iterator[Result]:
    for name, scores in data().items():
        known: dict[tuple[Any, ...], float] = {}
        for delta in (Fraction(0), DELTA):
            regrets = []
            for epsilon, count, touched in ((e, c, m) for e in EPSILONS for c in COUNTS for m in TOUCHED):
                rates, taken = {}, ""
                for way, options in ways(touched, delta).items():
                    key = (way if way != "auto" else None, epsilon, count, *options.items())
                    if key not in known:
                        taken, known[key] = missed(scores, count=count, runs=RUNS, epsilon=epsilon, **options)
                    rates[way] = known[key]
                regrets.append((rates["auto"] - min(rates.values()), float(epsilon), count, touched, taken))
                shown = "  ".join(f"{way} {rate:.3f}" for way, rate in rates.items())
                print(f"{name:15}{float(epsilon):6g}{count:6}{touched or '-':>5}  {shown}", file=sys.stderr)
            worst = max(regrets, key=lambda each: each[0])
            yield Result(
                benchmark=f"auto on {name}{', delta = 1e-6' if delta else ''}: worst regret of the false negative rate",
                ours=round(worst[0], 3),
                peer=round(sum(each[0] for each in regrets) / len(regrets), 4),
                unit="missed",
                details={"peer_name": "its mean", "at": worst[1:], "runs": RUNS},
            )
