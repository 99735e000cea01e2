"""Peak memory of everything the other modules time, each in a fresh process, above its input."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import sparsegate as sg
from benchmarks import gate, noise, select
from benchmarks.measure import Result, megabytes_above
from sparsegate.noise import discrete_laplace

TARGET = "<= 200"
_ROOT = Path(__file__).parents[1]


class Case(NamedTuple):
    """What to measure: ``call(make())``; the peer is called on the same input in another process."""

    make: Callable[[], np.ndarray]
    call: Callable[[np.ndarray], object]
    peer: Callable[[np.ndarray], object] | None = None


def _none() -> np.ndarray:
    return np.empty(0)


CASES = {
    **{
        f"discrete Laplace, 10^6 draws, scale {name}": Case(
            _none,
            lambda _, scale=scale: discrete_laplace(sg.Secure(), scale, noise.BATCH),
            lambda _, scale=scale: np.random.default_rng().laplace(0, scale, noise.BATCH),
        )
        for name, scale in noise.SCALES.items()
    },
    "ask, 10^5 questions": Case(
        partial(gate.private_answers, gate.QUESTIONS), lambda answers: gate.one_by_one(gate.gate(), answers.tolist())
    ),
    "ask_many, 3 * 10^6 questions": Case(
        partial(gate.private_answers, gate.QUESTIONS_MANY),
        lambda answers: gate.gate().ask_many(answers),
        lambda answers: gate.numpy_ask_many(answers, *gate.scales()),
    ),
    **{
        f"run_many, {row}, 10^6 runs of 10": Case(_none, lambda _, row=row: gate.run_many(row, gate.RUNS))
        for row in gate.ROWS
    },
    "run_many, standard, 10^7 runs of 10": Case(_none, lambda _: gate.run_many("standard", 10 * gate.RUNS)),
    **{
        f"select_top, {select.COUNT} of {select.ITEMS:,} scores, {shape}": Case(
            partial(select.scores, shape, select.ITEMS),
            lambda values: select.select(values, select.COUNT),
            lambda values: select.gumbel(values, select.COUNT),
        )
        for shape in select.SHAPES
    },
    **{
        f"select_top, {select.MANY:,} of {select.ITEMS:,} scores, {shape}": Case(
            partial(select.scores, shape, select.ITEMS), lambda values: select.select(values, select.MANY)
        )
        for shape in ("zipf", "distinct")
    },
}


def results() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input.npy"
        for name, case in CASES.items():
            values = case.make()
            np.save(path, values)
            ours = _in_fresh_process(name, "ours", path)
            peer = _in_fresh_process(name, "peer", path) if case.peer else None
            yield Result(
                benchmark=f"peak memory, {name}",
                ours=ours,
                peer=peer,
                unit="MB above the input",
                ratio=float(f"{ours / peer:.4g}") if peer else None,
                target=TARGET,
                judged="ours",
                details={"input_MB": round(values.nbytes / 1e6, 1)}
                | ({"ratio_is": "times the memory of the peer", "peer_name": "numpy, floats"} if peer else {}),
            )


def _in_fresh_process(name: str, side: str, path: Path) -> float:
    command = [sys.executable, "-m", "benchmarks.memory", name, side, str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=_ROOT)
    return float(json.loads(done.stdout))


def _main(name: str, side: str, path: str) -> None:
    case = CASES[name]
    call = case.call if side == "ours" else case.peer
    assert call is not None
    values = np.load(path)  # straight into its array
    print(json.dumps(megabytes_above(lambda: call(values))))


if __name__ == "__main__":
    _main(*sys.argv[1:])
