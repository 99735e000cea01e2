"""The exact analyser: all outcomes of ten queries, one outcome of a thousand, a witness, a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.measure import Contender, Result, side_by_side
from sparsegate.privacy import log_probability, search, worst_case
from sparsegate.privacy.loss import worst_outcome
from sparsegate.privacy.model import build

NOISES = ("continuous", "lattice")
SCALES = (1, 10**3, 10**6)


def results() -> Iterator[Result]:
    yield from ten_queries()
    yield from thousand_queries()
    yield from witness_and_search()


def ten_queries() -> Iterator[Result]:
    """1,024 outcomes on D and on D', answers spread over the noise, at every scale."""
    for noise in NOISES:
        for scale in SCALES:
            model = build("chen-2015", epsilon=2 / scale, noise=noise)  # type: ignore[arg-type]
            q = np.round(np.random.default_rng(1).normal(size=10) * 5 * scale).astype(np.int64)
            pair = model.compare(q, 0, None), model.compare(q + np.tile([1, -1], 5), 0, None)
            yield taken(
                f"all 1,024 outcomes of 10 queries on two neighbours, {noise}, scale {scale:,}",
                lambda pair=pair: worst_outcome(*pair),
                target="<= 2000",
            )


def thousand_queries() -> Iterator[Result]:
    """One outcome of 1,000 queries: all equal, and all different, near together and far apart."""
    rng = np.random.default_rng(1)
    shapes = {"equal": np.zeros(1000), "near": rng.uniform(-1, 1, 1000), "far": rng.uniform(-50, 50, 1000)}
    outcome = (rng.random(1000) < 0.1).tolist()
    for noise in NOISES:
        for scale in SCALES:
            for name, shape in shapes.items():
                q = np.round(shape * scale * 2).astype(np.int64)
                yield taken(
                    f"one outcome of 1,000 queries, answers {name}, {noise}, scale {scale:,}",
                    lambda q=q, scale=scale, noise=noise: log_probability(
                        "chen-2015", q, outcome, epsilon=2 / scale, noise=noise
                    ),
                    target="<= 200",
                )


def witness_and_search() -> Iterator[Result]:
    yield taken("worst_case, Alg. 1, cutoff 1,000", lambda: worst_case("lyu-2017", cutoff=1000, epsilon=0.1))
    yield taken("search, Alg. 1, 8 queries", lambda: search("lyu-2017", cutoff=2, epsilon=1, queries=8))


def taken(figure: str, call: Callable[[], Any], target: str | None = None) -> Result:
    (timing,) = side_by_side(Contender(lambda _: call()), rounds=5, within=5)
    return Result(
        benchmark=figure,
        ours=timing.shown("ms"),
        unit="ms",
        target=target,
        judged="ours",
        details={"ours_best": timing.shown("ms", min), "rounds": len(timing.rounds)},
    )


def main() -> None:
    for result in results():
        print(result.line(), flush=True)


if __name__ == "__main__":
    main()
