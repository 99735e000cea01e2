"""Questions to a gate, one by one and many at once, beside gates built on OpenDP's noise and on numpy's; its margin."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import sparsegate as sg
from benchmarks.measure import Contender, Result, side_by_side, versus
from sparsegate.gates.planning import NoiseName

THRESHOLD, CUTOFF, EPSILON = 100_000, 1000, 0.5
QUESTIONS, QUESTIONS_MANY = 100_000, 3 * 10**6

RUNS, RUN_CUTOFF, RUN_EPSILON = 10**6, 3, 1
RUN_ANSWERS = np.arange(-5, 5)
ROWS = ("standard", "dwork-roth-2014", "roth-2011")  # the plain one; one that redraws rho; one that releases a number


MARGIN_CUTOFFS, MARGIN_EPSILON = (1, 25, 100), 0.1


def gate(kind: type = int, noise: NoiseName = "auto") -> sg.SparseVector:
    """A gate with the noise it takes by itself, which is exponential, or with Laplace noise as its peers have it."""
    return sg.SparseVector(
        threshold=kind(THRESHOLD), cutoff=CUTOFF, epsilon=EPSILON, sensitivity=1, monotonic=True, noise=noise
    )


def scales() -> tuple[float, float]:
    """The noise scales of that gate, so that the peers use the same."""
    budget = gate().budget
    return float(1 / budget.threshold_epsilon), float(CUTOFF / budget.query_epsilon)


def private_answers(size: int) -> np.ndarray:
    """One in ten thousand far above the threshold, the others far below: no gate closes on the way."""
    answers = np.random.default_rng(1).integers(0, THRESHOLD // 4, size)
    answers[500::10_000] = 3 * THRESHOLD
    return answers


def one_by_one(asked: Any, answers: list[Any], **options: object) -> None:
    ask = asked.ask
    if options:
        for answer in answers:
            ask(answer, **options)
    else:
        for answer in answers:
            ask(answer)


def run_many(row: str, runs: int) -> sg.variants.Outcomes:
    return sg.run_many(
        row, RUN_ANSWERS, runs=runs, cutoff=RUN_CUTOFF, epsilon=RUN_EPSILON, monotonic=True, not_private=True
    )


def numpy_ask_many(
    answers: np.ndarray, threshold_scale: float, query_scale: float, noise: NoiseName = "laplace"
) -> np.ndarray:
    """Real-valued noise in floats: fast, and not private."""
    rng = np.random.default_rng()
    draw = partial(rng.laplace, 0) if noise == "laplace" else rng.exponential
    above = answers + draw(query_scale, answers.size) >= THRESHOLD + draw(threshold_scale)
    hits = np.flatnonzero(above)
    return above[: hits[CUTOFF - 1] + 1] if hits.size >= CUTOFF else above


def numpy_run_many(threshold_scale: float, query_scale: float) -> np.ndarray:
    """The standard row, with real-valued noise in floats."""
    rng = np.random.default_rng()
    noisy = RUN_ANSWERS + rng.laplace(0, query_scale, (RUNS, RUN_ANSWERS.size))
    above = noisy >= rng.laplace(0, threshold_scale, (RUNS, 1))
    return above & (np.cumsum(above, axis=1) - above < RUN_CUTOFF)


def results() -> Iterator[Result]:
    yield from ask_results()
    yield from ask_many_results()
    yield from run_many_results()
    yield from margin_results()


def margin_results() -> Iterator[Result]:
    """How close to the threshold 95 % of the answers are right, against Alg. 7: no time, so no rounds."""
    laws: tuple[NoiseName, ...] = ("auto", "laplace")
    for cutoff, monotonic in product(MARGIN_CUTOFFS, (True, False)):
        public: dict[str, Any] = {
            "threshold": 0,
            "cutoff": cutoff,
            "epsilon": MARGIN_EPSILON,
            "sensitivity": 1,
            "monotonic": monotonic,
        }
        ours, peer = (sg.SparseVector(**public, noise=noise).margin() for noise in laws)
        yield Result(
            benchmark=f"margin of a gate, c = {cutoff}, {'monotonic' if monotonic else 'general'}",
            ours=ours,
            peer=peer,
            unit="answers at 95 %",
            ratio=round(ours / peer, 4),
            target="<= 0.72",
            details={"peer_name": "Alg. 7, Laplace noise", "epsilon": MARGIN_EPSILON},
        )


def ask_results() -> Iterator[Result]:
    from benchmarks.peers import AHEAD, OpenDPGate, OpenDPGateAhead

    answers = private_answers(QUESTIONS).tolist()
    few, fewer = answers[:AHEAD], answers[: 5 * AHEAD]
    floats = [float(answer) for answer in fewer]
    public = THRESHOLD, CUTOFF, *scales()
    ours, laplace, opendp, ahead, bars, reals = side_by_side(
        Contender(lambda g: one_by_one(g, answers), gate, len(answers)),
        Contender(lambda g: one_by_one(g, answers), lambda: gate(noise="laplace"), len(answers)),
        Contender(lambda g: one_by_one(g, few), lambda: OpenDPGate(*public), len(few)),
        Contender(lambda g: one_by_one(g, fewer), lambda: OpenDPGateAhead(*public), len(fewer)),
        Contender(lambda g: one_by_one(g, fewer, threshold=90_000), gate, len(fewer)),
        Contender(lambda g: one_by_one(g, floats), lambda: gate(float), len(fewer)),
        rounds=7,
    )
    unit, peer_name = "microseconds/query", "gate on opendp make_laplace, one call a question"
    yield versus("ask, exponential noise", ours, opendp, peer_name, unit=unit, target="<= 1", judged="ours")
    yield versus("ask, exponential noise", ours, laplace, "the same gate with Laplace noise", unit=unit)
    yield versus("ask, Laplace noise", laplace, opendp, peer_name, unit=unit, target="<= 1", judged="ours")
    yield versus("ask", ours, opendp, peer_name, unit=unit, target=">= 80")
    yield versus("ask", ours, ahead, f"gate on opendp make_laplace, noise drawn {AHEAD} ahead", unit=unit)
    yield versus("ask, a threshold for each question", bars, opendp, peer_name, unit=unit, target="<= 2", judged="ours")
    yield versus("ask, float answers", reals, opendp, peer_name, unit=unit, target="<= 2", judged="ours")


def ask_many_results() -> Iterator[Result]:
    answers, public = private_answers(QUESTIONS_MANY), scales()
    laws: tuple[NoiseName, ...] = ("laplace", "exponential")
    for noise in laws:
        ours, peer = side_by_side(
            Contender(lambda g: g.ask_many(answers), partial(gate, noise=noise), answers.size),
            Contender(lambda _, noise=noise: numpy_ask_many(answers, *public, noise), queries=answers.size),
            rounds=9,
        )
        figure, name = f"ask_many, {noise} noise", f"numpy, real-valued {noise} noise in floats"
        yield versus(figure, ours, peer, name, unit="queries/s", target=">= 3e6", judged="ours")
        yield versus(figure, ours, peer, name, unit="queries/s", target=">= 0.7")


def run_many_results() -> Iterator[Result]:
    budget = sg.VARIANTS["standard"].budget(RUN_EPSILON, cutoff=RUN_CUTOFF, monotonic=True)
    public = float(1 / budget.threshold_epsilon), float(RUN_CUTOFF / budget.query_epsilon)
    queries = RUNS * RUN_ANSWERS.size
    *ours, peer = side_by_side(
        *(Contender(lambda _, row=row: run_many(row, RUNS), queries=queries) for row in ROWS),
        Contender(lambda _: numpy_run_many(*public), queries=queries),
        rounds=5,
    )
    name = "numpy, the standard row, real-valued noise in floats"
    for row, timing in zip(ROWS, ours, strict=True):
        figure = f"run_many, {row}, 10^6 runs of 10"
        yield versus(figure, timing, peer, name, unit="queries/s", target=">= 5e6", judged="ours")
