"""What a budget buys, by the features that make it last: a section each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import sparsegate as sg
from benchmarks.choice import SAMPLES
from benchmarks.measure import Contender, Result, side_by_side, versus
from sparsegate.budget import Budget
from sparsegate.gates.per_above import Price
from sparsegate.gates.planning import NoiseName
from sparsegate.noise import Seeded
from sparsegate.tables.answers import answer_noise
from sparsegate.tables.choosing import CLIPS, SHARE, choose_clip, largest_worths
from sparsegate.tables.columns import read_columns
from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.observed import reach
from sparsegate.tables.question import Question
from sparsegate.tables.sums import as_values
from sparsegate.tables.weighted import lowest_bar

CELLS, ALARMS, CELLS_PER_USER = 10_000, 500, 3
PEOPLE, EPSILON, CHOICES = 1_000_000, Fraction(1, 10), 2_000
SPREADS = (1.0, 0.5, 1.5, 2.0)
GATE_THRESHOLDS = (0, 100, 200, 400, 800)


def cells() -> Iterator[Result]:
    """Alarms over public cells: a gate for each of them, against one gate for all of them."""
    asked: dict[str, Any] = {"epsilon": 1, "sensitivity": 1, "monotonic": True}
    ours = sg.Gates.preview(cells=CELLS, cells_per_user=CELLS_PER_USER, cutoff=1, **asked).margin
    peer = sg.SparseVector.preview(cutoff=ALARMS, **asked).margin
    yield Result(
        benchmark=f"cells: margin of {ALARMS} alarms over {CELLS:,} cells, a person in {CELLS_PER_USER}, epsilon 1",
        ours=ours,
        peer=peer,
        unit="people",
        ratio=float(f"{ours / peer:.3g}"),
        target="<= 16",
        judged="ours",
        details={"peer_name": f"one gate, cutoff {ALARMS}"},
    )


def clip() -> Iterator[Result]:
    """The error of a sum whose clip is chosen from the data, against fixed clips: log-normal values, a person each."""
    for spread in SPREADS:
        values = np.sort(np.exp(spread * np.random.default_rng(1).standard_normal(PEOPLE)))
        fixed = [2 ** (step / 16) for step in range(-64, 512)]
        best, best_clip = min((mean_error(values, each, EPSILON), each) for each in fixed)
        worths = _worths(values)
        share = EPSILON * SHARE
        source, left = Seeded(1), EPSILON - share
        chosen = [float(choose_clip(source.stream(), worths, share)) for _ in range(CHOICES)]
        errors = [mean_error(values, each, left) for each in chosen]
        ours = float(np.mean(errors))
        gates = [_gate_errors(values, worths, bar, share, left) for bar in GATE_THRESHOLDS]
        by_gate = min(gates, key=lambda each: float(np.median(each)))
        large = mean_error(values, 10 * best_clip, EPSILON)
        what = f"clip: error of a log-normal sum (sigma {spread:g}), {PEOPLE:,} people, epsilon {float(EPSILON):g}"
        details = {
            "chosen": dict(zip(("5 %", "50 %", "95 %"), np.quantile(chosen, (0.05, 0.5, 0.95)).tolist(), strict=True)),
            "median_ratio": round(float(np.median(errors)) / best, 3),
            "gate_median_ratio": round(float(np.median(by_gate)) / best, 3),
            "gate_mean_ratio": float(f"{np.mean(by_gate) / best:.3g}"),
        }
        usual = spread == SPREADS[0]
        yield Result(
            benchmark=what,
            ours=round(ours),
            peer=round(best),
            unit="mean error",
            ratio=round(ours / best, 3),
            target="<= 1.5" if usual else None,
            details={"peer_name": f"the best fixed clip in hindsight, {best_clip:.3g}", **details},
        )
        yield Result(
            benchmark=what,
            ours=round(ours),
            peer=round(large),
            unit="mean error",
            ratio=round(large / ours, 3),
            target=">= 5" if usual else None,
            details={"peer_name": "a clip ten times as large"},
        )


def mean_error(values: NDArray[np.float64], high: float, epsilon: Fraction) -> float:
    """The mean of |Laplace noise of this scale - what is cut off|, for values in rising order."""
    kept = int(np.searchsorted(values, high, side="right"))
    lost = float(values[kept:].sum()) - (values.size - kept) * high
    scale = high / float(epsilon)
    return lost + scale * math.exp(-lost / scale)


def _worths(values: NDArray[np.float64]) -> dict[int, int]:
    with open_engine(pa.table({"item": np.zeros(values.size, dtype=np.int64), "value": values})) as engine:
        rows, _ = read_columns(engine, "item", None, "value")
        return largest_worths(engine, as_values(rows, "value"), None)


def _gate_errors(
    values: NDArray[np.float64], worths: dict[int, int], bar: int, share: Fraction, left: Fraction
) -> list[float]:
    """The same with a gate that asks, for growing clips, whether few enough people are above."""
    above = [sum(worths.values()) - below for below in accumulate(worths.get(place, 0) for place in range(len(CLIPS)))]
    errors = []
    for seed in range(200):
        seeded: dict[str, Any] = {"source": Seeded(seed), "not_private": True}
        gate = sg.SparseVector(threshold=-bar, cutoff=1, epsilon=share, sensitivity=1, monotonic=True, **seeded)
        answers = gate.ask_many([-count for count in above])
        errors.append(mean_error(values, float(CLIPS[len(answers) - 1]), left))
    return errors


GATE_EPSILON, CUTOFF, WITHIN = Fraction(1, 2), 25, 90
QUESTIONS, POSITIVES = 100_000, 20


def gates() -> Iterator[Result]:
    """Gates that pay for each ABOVE: the rho of the same noise, of the same margin, and what a question takes."""
    public: dict[str, Any] = {"threshold": 1000, "sensitivity": 1, "monotonic": True}
    shares = Budget.allocate(GATE_EPSILON, cutoff=CUTOFF, monotonic=True)
    price = Price(opening=shares.threshold_epsilon, above=shares.query_epsilon / CUTOFF)
    yield _rho(
        f"rho of {CUTOFF} ABOVEs, Laplace noise of epsilon {float(GATE_EPSILON)}", price.rho(CUTOFF), GATE_EPSILON
    )
    ours = sg.SparseVector.preview(**public, within=WITHIN)
    peer = sg.SparseVector.preview(**public, within=WITHIN, cutoff=ours.expect)
    rho = ours.opening_rho + ours.expect * ours.above_rho
    yield _rho(f"rho of {ours.expect} ABOVEs, each right with 95 % from {WITHIN} people on", rho, peer.epsilon)
    with TemporaryDirectory() as folder:
        ledger = sg.Ledger.create(f"{folder}/year.ledger", dataset="people", budget=(20, 1e-6))

        def paying() -> sg.SparseVector:
            return sg.SparseVector(**public, within=WITHIN, ledger=ledger)

        def plain(noise: NoiseName = "laplace") -> sg.SparseVector:
            return sg.SparseVector(**public, cutoff=CUTOFF, epsilon=GATE_EPSILON, noise=noise)

        def below(gate: sg.SparseVector) -> None:
            for _ in range(QUESTIONS):
                gate.ask(0)

        def above(gate: sg.SparseVector) -> None:
            for _ in range(POSITIVES):
                gate.ask(10**6)

        ours_below, peer_below, other = side_by_side(
            Contender(below, paying, QUESTIONS),
            Contender(below, plain, QUESTIONS),
            Contender(below, partial(plain, "exponential"), QUESTIONS),
            rounds=7,
        )
        unit, what = "microseconds/query", "gates: a BELOW of a gate that pays for each ABOVE"
        name = "a gate with a cutoff and Laplace noise"
        yield versus(what, ours_below, peer_below, name, unit=unit, speed=False, target="<= 1.1")
        yield versus(what, ours_below, other, "a gate with a cutoff, exponential noise", unit=unit, speed=False)
        ours_above, peer_above = side_by_side(
            Contender(above, paying, POSITIVES), Contender(above, plain, POSITIVES), rounds=5
        )
        yield versus("gates: an ABOVE, with its write to disk", ours_above, peer_above, name, unit=unit, speed=False)
        ledger.close()
        yield _long_ledger(folder, public, above)


def _long_ledger(folder: str, public: dict[str, Any], above: Callable[[sg.SparseVector], None]) -> Result:
    """An ABOVE costs the same however many entries there were."""
    ledgers = []
    for entries in (1_000, 10):
        ledgers.append(sg.Ledger.create(f"{folder}/{entries}.ledger", dataset="people", budget=(20, 1e-6)))
        with ledgers[-1].together() as before:
            for _ in range(entries - 1):
                before.reserve(epsilon=0.001, what="before")

    def paying(ledger: sg.Ledger) -> sg.SparseVector:
        return sg.SparseVector(**public, within=WITHIN, ledger=ledger)

    many, few = side_by_side(*(Contender(above, partial(paying, each), POSITIVES) for each in ledgers), rounds=5)
    for ledger in ledgers:
        ledger.close()
    what, unit = "gates: an ABOVE on a ledger of 1,000 entries", "microseconds/query"
    return versus(what, many, few, "one of 10 entries", unit=unit, speed=False, target="<= 1.5")


def _rho(benchmark: str, ours: Fraction, epsilon: Fraction) -> Result:
    peer = epsilon**2 / 2
    return Result(
        benchmark=f"gates: {benchmark}",
        ours=float(f"{float(ours):.3g}"),
        peer=float(f"{float(peer):.3g}"),
        unit="rho",
        ratio=float(f"{float(ours / peer):.3g}"),
        details={"peer_name": f"epsilon squared over 2, epsilon {float(epsilon):g}"},
    )


MOST_LABELS = (10, 30, 100)
LABELS: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}


def labels() -> Iterator[Result]:
    """Labels of a private domain that are kept, each at its lowest bar: by weights, against shares of epsilon."""
    for name, sample in SAMPLES.items():
        data: Any = sample if sample.exists() else made_up_baskets()
        for most in MOST_LABELS:
            epsilon, delta = Fraction(1), Fraction(1, 10**6)
            weighted = lowest_bar(epsilon=epsilon, delta=delta, max_items_per_user=most)
            shares = reach(epsilon / most, delta / most)
            assert weighted is not None
            assert shares is not None
            kept, above = [], (weighted.above, shares[0])
            for bar in above:
                of: dict[str, Any] = {} if isinstance(data, Path) else {"item": "item", "user": "user"}
                asked: dict[str, Any] = {"above": bar, "max_items_per_user": most, **LABELS, **of}
                kept.append(len(sg.items_above(data, **asked, source=sg.Seeded(1), not_private=True).items))
            yield Result(
                benchmark=f"labels: kept of {name if sample.exists() else 'made-up baskets'}, m = {most}, epsilon 1",
                ours=kept[0],
                peer=kept[1],
                unit="labels",
                ratio=float(f"{kept[0] / max(kept[1], 1):.3g}"),
                target=">= 1",
                judged="ratio",
                details={"peer_name": f"shares of epsilon, from {above[1]:,} people; weights from {above[0]:,}"},
            )


def made_up_baskets() -> dict[str, Any]:
    """Of 100,000 people, with about eight items each of 40,000, which are as popular as 1/rank."""
    random = np.random.default_rng(1)
    sizes = 1 + random.geometric(1 / 7, 100_000)
    shares = 1 / np.arange(1.0, 40_001)
    drawn = random.choice(40_000, sizes.sum(), p=shares / shares.sum())
    return {"item": drawn, "user": np.repeat(np.arange(sizes.size), sizes)}


def observed() -> Iterator[Result]:
    """The top c of a private domain, as it is asked by default, against one selection (Durfee and Rogers)."""
    for name, sample in SAMPLES.items():
        data: Any = sample if sample.exists() else made_up_baskets()
        of: dict[str, Any] = {} if isinstance(data, Path) else {"item": "item", "user": "user"}
        of |= {"domain": "observed", "delta": 1e-6, "source": sg.Seeded(1), "not_private": True}
        for count in (30, 100, 300):
            exact = sg.top_items(data, count=count, epsilon=10**6, dbar=10**5, max_items_per_user=10**4, **of).items
            for most in MOST_LABELS:
                asked: dict[str, Any] = {"count": count, "epsilon": 1, "max_items_per_user": most, **of}
                ours, peer = sg.top_items(data, **asked), sg.top_items(data, method="exponential", **asked)
                right = [len({*exact} & {*each.items}) for each in (ours, peer)]
                data_name = name if sample.exists() else "made-up baskets"
                yield Result(
                    benchmark=f"observed: right of the top {count} of {data_name}, m = {most}, epsilon 1",
                    ours=right[0],
                    peer=right[1],
                    unit="items",
                    ratio=float(f"{right[0] / max(right[1], 1):.3g}"),
                    target=">= 0.9",
                    judged="ratio",
                    details={"peer_name": "one selection", "method": ours.record.method},
                )


def counts() -> Iterator[Result]:
    """The noise of counts that come with a selection, with a delta and without: m of them are one person's."""
    for most in MOST_LABELS:
        asked: dict[str, Any] = {"above": 10**5, "epsilon": 1, "delta": 1e-6, "max_items_per_user": most}
        ours = Question(item="item", user="user", domain="observed", answers_epsilon=1, **asked).answers
        peer = answer_noise(moved=most, sensitivity=1, epsilon=Fraction(1), delta=Fraction(0))
        assert ours is not None
        yield Result(
            benchmark=f"counts: noise of each, m = {most}, epsilon 1, delta 1e-6 for items and counts",
            ours=round(ours.deviation, 1),
            peer=round(peer.deviation, 1),
            unit="standard deviation",
            ratio=float(f"{ours.deviation / peer.deviation:.3g}"),
            target="<= 1",
            judged="ratio",
            details={"peer_name": "Laplace noise", "noise": ours.name},
        )


PLANS: tuple[tuple[str, int, dict[str, Any], str], ...] = (
    ("365 top-10 at 0.1, exponential", 365, {"count": 10, "epsilon": 0.1, "method": "exponential"}, "<= 1.41"),
    ("30 top-50 at 0.5, exponential", 30, {"count": 50, "epsilon": 0.5, "method": "exponential"}, "<= 0.88"),
    ("100 subsets at 0.1", 100, {"count": 10, "epsilon": 0.1, "method": "subset"}, "<= 2.43"),
    ("365 pure releases at 0.1", 365, {"count": 10, "epsilon": 0.1, "method": "one-shot"}, "<= 11.1"),
    ("30 pure releases at 0.5: better added", 30, {"count": 10, "epsilon": 0.5, "method": "one-shot"}, ""),
)


def releases() -> Iterator[Result]:
    """What a plan of equal releases costs on a zCDP ledger at delta 1e-6, against adding their epsilons."""
    for name, times, asked, target in PLANS:
        series = sg.preview(**asked, domain=1000, times=times).series
        assert series is not None
        ours, added = round(series.zcdp_epsilon, 4), float(series.cost.epsilon)
        yield Result(
            benchmark=f"releases: {name}",
            ours=ours,
            peer=added,
            unit="epsilon",
            ratio=float(f"{ours / added:.3g}"),
            target=target or None,
            judged="ours",
            details={"peer_name": "adding epsilons", "better": series.better},
        )


SECTIONS = (releases, cells, clip, gates, labels, observed, counts)


def results() -> Iterator[Result]:
    for section in SECTIONS:
        yield from section()
