"""The paper's evaluation at AOL size: the simulator on grouped scores beside a per-item simulation in numpy.

The peer is written as one would write it by hand, with care: the random order is drawn as far as it is needed, noise in
chunks that grow, a run stops at its c-th positive, and a race of clocks needs no logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from benchmarks.measure import Contender, Result, side_by_side
from sparsegate.paper import METHODS, Ladder, Method, load, simulate

EPSILON = 0.1
COUNTS = (25, 100, 300)
RUNS = 100
CHUNK = 1 << 16
TIMED = {"svt-s-1:1": True, "svt-s-1:c23": True, "em": True, "svt-dpbook": False, "svt-retr-3d": False}
"""The methods measured, and whether 100 times the peer's speed is wanted where the peer must visit most items."""


@dataclass
class PerItem:
    """A per-item simulation: ``select(method, count)`` returns the items of one run; ``visits`` counts comparisons."""

    scores: np.ndarray
    rng: np.random.Generator
    visits: int = 0
    _seen: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self._seen = np.zeros(self.scores.size, dtype=np.bool_)

    @classmethod
    def of(cls, ladder: Ladder, seed: int) -> PerItem:
        return cls(np.repeat(ladder.values, ladder.sizes), np.random.default_rng(seed))

    def select(self, method: Method, ladder: Ladder, count: int, epsilon: float) -> np.ndarray:
        noise = method.noise(count=count, epsilon=epsilon)
        threshold = method.raised(ladder.oracle_threshold(count), noise)
        if method.row is None:
            return self._race(count, noise.query)
        if method.row.redraws_threshold:
            return self._redrawn(count, threshold, noise.threshold, noise.query)
        bar = threshold + self.rng.laplace(0, noise.threshold)
        chosen = self._one_pass(count, bar, noise.query)
        passes = 1
        while chosen.size < count and passes < method.passes:
            chosen = self._further_pass(chosen, count, bar, noise.query)
            passes += 1
        return chosen

    def _race(self, count: int, scale: float) -> np.ndarray:
        """Clocks of rate exp(score / scale): the first rings win."""
        self.visits += self.scores.size
        slowness = np.exp((self.scores[count - 1] - self.scores) / scale)  # scores fall: this is the c-th
        rings = self.rng.standard_exponential(self.scores.size)
        rings *= slowness
        return np.argpartition(rings, count)[:count]

    def _one_pass(self, count: int, bar: float, scale: float) -> np.ndarray:
        found, left = [], count
        for items in self._order(4 * count):
            positive = items[self.scores[items] + self.rng.laplace(0, scale, items.size) >= bar]
            found.append(positive[:left])
            left -= found[-1].size
            if left == 0:
                break
        return np.concatenate(found)

    def _further_pass(self, chosen: np.ndarray, count: int, bar: float, scale: float) -> np.ndarray:
        """A pass that most likely goes through everything needs no order; if it overshoots, any subset is as good."""
        self._seen[chosen] = True
        found = []
        for start in range(0, self.scores.size, CHUNK):
            part = self.scores[start : start + CHUNK]
            found.append(start + np.flatnonzero(part + self.rng.laplace(0, scale, part.size) >= bar))
        self.visits += self.scores.size
        positive = np.concatenate(found)
        positive = positive[~self._seen[positive]]
        self._seen[chosen] = False
        if positive.size > count - chosen.size:
            positive = self.rng.choice(positive, count - chosen.size, replace=False)
        return np.concatenate((chosen, positive))

    def _redrawn(self, count: int, threshold: float, rho_scale: float, scale: float) -> np.ndarray:
        found: list[int] = []
        bar = threshold + self.rng.laplace(0, rho_scale)
        for items in self._order(4 * count):
            noisy = self.scores[items] + self.rng.laplace(0, scale, items.size)
            at = 0
            while at < items.size:
                passed = noisy[at:] >= bar
                step = int(passed.argmax())
                if not passed[step]:
                    break
                found.append(int(items[at + step]))
                if len(found) == count:
                    return np.array(found)
                bar = threshold + self.rng.laplace(0, rho_scale)
                at += step + 1
        return np.array(found, dtype=np.int64)

    def _order(self, size: int) -> Iterator[np.ndarray]:
        """All items in random order, a growing chunk at a time; all is shuffled only if much of it is used."""
        drawn: list[np.ndarray] = []
        try:
            total = 0
            while total + size < self.scores.size // 16:
                items = self.rng.integers(self.scores.size, size=size)
                items = items[~self._seen[items]]
                first = np.sort(np.unique(items, return_index=True)[1])
                items = items[first] if first.size < items.size else items
                self._seen[items] = True
                drawn.append(items)
                total += items.size
                self.visits += items.size
                yield items
                size = min(4 * size, CHUNK)
            rest = np.flatnonzero(~self._seen)
            self.rng.shuffle(rest)
            for start in range(0, rest.size, CHUNK):
                self.visits += rest[start : start + CHUNK].size
                yield rest[start : start + CHUNK]
        finally:
            for items in drawn:
                self._seen[items] = False


def results() -> Iterator[Result]:
    ladder = load("aol").ladder
    peer = PerItem.of(ladder, seed=2)
    for key, wanted in TIMED.items():
        for count in COUNTS:
            yield compare(key, count, ladder, peer, wanted)


def compare(key: str, count: int, ladder: Ladder, peer: PerItem, wanted: bool) -> Result:
    method, rng = METHODS[key], np.random.default_rng(1)
    simulate(key, ladder, count=count, epsilon=EPSILON, runs=RUNS, rng=rng)
    peer.visits = 0
    peer.select(method, ladder, count, EPSILON)
    visited = peer.visits / ladder.total
    peer_runs = max(1, min(RUNS, math.ceil(0.25 / max(visited, 1e-4))))
    ours, theirs = side_by_side(
        Contender(lambda _: simulate(key, ladder, count=count, epsilon=EPSILON, runs=RUNS, rng=rng), queries=RUNS),
        Contender(_repeated(lambda: peer.select(method, ladder, count, EPSILON), peer_runs), queries=peer_runs),
        # Dozens of passes over two million items take the peer half a minute: once is enough.
        rounds=1 if visited > 2 else 5,
        warm=visited <= 2,
        within=4,
    )
    return Result(
        benchmark=f"simulation, {ladder.total:,} items, c = {count}, {key}",
        ours=_short(ours.each * 1e3),
        peer=_short(theirs.each * 1e3),
        unit="ms/run",
        ratio=_short(theirs.each / ours.each),
        target=">= 100" if wanted and visited > 0.5 else ">= 1",
        details={
            "ratio_is": "times the speed of the peer",
            "peer_name": "numpy, item by item",
            "peer_visits": _short(visited),
            "rounds": len(ours.rounds),
            "runs_at_a_time": RUNS,
        },
    )


def main() -> None:
    for result in results():
        print(result.line(), flush=True)


def _repeated(call: Callable[[], object], times: int) -> Callable[[object], None]:
    def repeat(_: object) -> None:
        for _ in range(times):
            call()

    return repeat


def _short(value: float) -> float:
    return float(f"{value:.4g}")


if __name__ == "__main__":
    main()
