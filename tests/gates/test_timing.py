"""The time of a call must not tell one person: neighbouring inputs, timed side by side."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.timing import duel

import sparsegate as sg

ITEMS = 200_000
ROUNDS, MANY = 40, 1_500


def with_one(values: NDArray[Any], value: float) -> NDArray[Any]:
    changed = values.copy()
    changed[values.size // 2] = value
    return changed


ZEROS, ALIKE = np.zeros(ITEMS, dtype=np.int64), np.full(ITEMS, 2**16 - 1)
NEIGHBOURS = {
    "one person at one item": (ZEROS, with_one(ZEROS, 1)),
    "one person at all items": (ZEROS, ZEROS + 1),
    "half of the items change a digit": (ALIKE, ALIKE + np.arange(ITEMS) % 2),
    "all items change a machine digit": (np.full(ITEMS, 2**30 - 1), np.full(ITEMS, 2**30)),
    "every second item ties with the next": (np.arange(ITEMS), np.arange(ITEMS) | 1),
    "one person at one float": (np.zeros(ITEMS), with_one(np.zeros(ITEMS), 1.0)),
    "the smallest float there is": (np.zeros(ITEMS), with_one(np.zeros(ITEMS), 5e-324)),
}
METHODS: dict[str, dict[str, Any]] = {
    "exponential": {},
    "subset": {},
    "sparse-vector": {"threshold": 5, "granularity": 1},
    "retraversal": {"threshold": 5, "granularity": 1, "max_passes": 2},
}


def selecting(method: str, count: int) -> Callable[[NDArray[Any]], object]:
    options = METHODS[method]
    return lambda scores: sg.select_top(
        scores, count=count, epsilon=1, sensitivity=1, monotonic=True, method=method, **options
    )


@pytest.mark.parametrize("method", METHODS)
def test_the_time_of_a_selection_does_not_tell_one_person(method):
    assert not duel(selecting(method, 10), *NEIGHBOURS["one person at one item"], rounds=ROUNDS).leaks


def test_the_same_duel_rejects_a_partition_of_the_scores():
    """What a selection of the reference by ``np.partition`` would tell."""
    assert duel(lambda scores: np.partition(scores, ITEMS - 10), *NEIGHBOURS["one person at one item"], rounds=60).leaks


@pytest.mark.soak
@pytest.mark.parametrize("pair", NEIGHBOURS)
@pytest.mark.parametrize("count", [1, 2_000])
@pytest.mark.parametrize("method", [method for method in METHODS if method != "subset"])  # docs/how-to/choose.md
def test_many_timings_do_not_tell_neighbours_apart(method, count, pair):
    assert not duel(selecting(method, count), *NEIGHBOURS[pair], rounds=MANY).leaks


def gate(sensitivity: float, threshold: float) -> sg.SparseVector:
    return sg.SparseVector(threshold=threshold, cutoff=10**6, epsilon=1, sensitivity=sensitivity, monotonic=True)


WHOLE, REAL = gate(1, 10**12), gate(1.0, 1e12)


ANSWERS = [(WHOLE, 0, 1), (WHOLE, -(2**61), -(2**61) - 1), (REAL, 0.0, 1.0), (REAL, -(2.0**61), float("nan"))]
"""Neighbouring answers: in the middle, and where the lattice ends (an answer beyond it counts as its end)."""


def instructions(call: Callable[[], object]) -> int:
    """How many instructions of the interpreter a call takes: its time as far as no other load has a part in it."""
    counted = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal counted
        frame.f_trace_opcodes = True
        counted += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return counted


def work(ask: Callable[[Any], object], answer: Any) -> int:
    """The median of five: one that finds its noise used up draws the next thousand."""
    return sorted(instructions(lambda: ask(answer)) for _ in range(5))[2]


@pytest.mark.parametrize(("asked", "first", "second"), ANSWERS)
def test_an_answer_changes_next_to_nothing_of_the_work_of_a_question(asked, first, second):
    """Of 160 instructions and more; the end of the lattice costs a comparison and a sign, 0.0 a comparison."""
    one, other = work(asked.ask, first), work(asked.ask, second)
    assert one > 100
    assert abs(one - other) <= 2


def test_the_same_count_rejects_a_question_that_looks_twice_at_an_answer_above_zero():
    def ask(answer: int) -> None:
        WHOLE.ask(max(-answer, answer - 5) if answer > 0 else answer)

    assert abs(work(ask, 1) - work(ask, 0)) > 2
