"""Private top-c, exact, beside numpy's Gumbel trick in floats, OpenDP and diffprivlib."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

import sparsegate as sg
from benchmarks.measure import Contender, Result, Timing, side_by_side, versus

ITEMS, COUNT, MANY, SMALL = 2_290_685, 100, 100_000, 10_000
EPSILON = 0.1
SHAPES = ("uniform", "zipf", "equal", "distinct")
METHODS = ("exponential", "subset", "noisy-scores")


def scores(shape: str, items: int) -> np.ndarray:
    """Scores of one shape in random order, the same at every call."""
    rng = np.random.default_rng(2)
    match shape:
        case "uniform":
            return rng.integers(0, 10**6, items, endpoint=True)
        case "zipf":
            return rng.permutation(10**6 // np.arange(1, items + 1))
        case "equal":
            return np.full(items, 1000)
        case _:
            return rng.permutation(items)


def select(values: np.ndarray, count: int, method: str = METHODS[0]) -> np.ndarray:
    chosen = sg.select_top(values, count=count, epsilon=EPSILON, sensitivity=1, monotonic=True, method=method).indices
    assert chosen is not None
    assert chosen.size == count
    return chosen


def gumbel(values: np.ndarray, count: int) -> np.ndarray:
    """The same law but for rounding, and rounding is what leaks."""
    keys = np.random.default_rng().gumbel(size=values.size) + EPSILON / count * values
    leaders = np.argpartition(keys, keys.size - count)[keys.size - count :]
    return leaders[np.argsort(-keys[leaders])]


def results() -> Iterator[Result]:
    yield from large(COUNT, rounds=11, target="<= 2")
    yield from large(MANY, rounds=7, target="<= 3", warm=False)  # warm from before
    yield from small()


def large(count: int, rounds: int, target: str, warm: bool = True) -> Iterator[Result]:
    inputs = [scores(shape, ITEMS) for shape in SHAPES]
    timings = side_by_side(
        *(Contender(lambda _, v=values, m=method: select(v, count, m)) for method in METHODS for values in inputs),
        *(Contender(lambda _, v=values: gumbel(v, count)) for values in inputs),
        rounds=rounds,
        warm=warm,
        within=30,
    )
    rows = [timings[start : start + len(SHAPES)] for start in range(0, len(timings), len(SHAPES))]
    name, peers = "numpy, Gumbel noise in floats", rows[-1]
    for method, ours in zip(METHODS, rows[:-1], strict=True):
        figure = f"select_top, {method}, {count:,} of {ITEMS:,} scores"
        for shape, timing, peer in zip(SHAPES, ours, peers, strict=True):
            yield versus(f"{figure}, {shape}", timing, peer, name, target=target, speed=False)
        yield spread(figure, ours, peers, name)


def small() -> Iterator[Result]:
    """The peers that are meant for private data, at the same epsilon: two million scores would take them too long."""
    from benchmarks.peers import noisy_top_k, peeled_exponential

    top_k = noisy_top_k(COUNT, EPSILON)
    inputs = [scores(shape, SMALL) for shape in SHAPES]
    for contender in (select, lambda values, _: top_k(values)):  # imports, caches
        contender(scores("equal", SMALL), COUNT)
    timings = side_by_side(
        *(Contender(lambda _, values=values: select(values, COUNT)) for values in inputs),
        *(Contender(lambda _, values=values: top_k(values)) for values in inputs),
        Contender(lambda _: peeled_exponential(inputs[1], COUNT, EPSILON)),
        rounds=3,
        warm=False,
        within=10,
    )
    ours, opendp, diffprivlib = timings[: len(SHAPES)], timings[len(SHAPES) : -1], timings[-1]
    figure, name = f"select_top, {COUNT} of {SMALL:,} scores", "opendp make_noisy_top_k"
    for shape, timing, peer in zip(SHAPES, ours, opendp, strict=True):
        yield versus(f"{figure}, {shape}", timing, peer, name)
    yield spread(figure, ours, opendp, name)
    yield versus(f"{figure}, {SHAPES[1]}", ours[1], diffprivlib, "diffprivlib Exponential (floats), peeled")


def spread(figure: str, ours: list[Timing], peers: list[Timing], peer_name: str) -> Result:
    """How much the time of a call may tell about the scores: the slowest shape over the fastest."""
    medians = [_spread(t.each for t in timings) for timings in (ours, peers)]
    bests = [_spread(min(t.rounds) for t in timings) for timings in (ours, peers)]
    return Result(
        benchmark=f"{figure}, spread",
        ours=medians[0],
        peer=medians[1],
        unit="slowest shape / fastest",
        ratio=float(f"{medians[0] / medians[1]:.4g}"),
        details={
            "ratio_is": "times the spread of the peer",
            "peer_name": peer_name,
            "ours_best": bests[0],
            "peer_best": bests[1],
        },
    )


def _spread(seconds: Iterable[float]) -> float:
    taken = list(seconds)
    return float(f"{max(taken) / min(taken):.4g}")
