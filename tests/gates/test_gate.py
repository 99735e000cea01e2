"""A gate is a secret: it is not copied, dies at a fork, is shared by threads, and shows its noise nowhere."""

from __future__ import annotations

import copy
import math
import os
import pickle
from typing import Any

import pytest
from tests.support.processes import in_forked_child
from tests.support.threads import at_once

import sparsegate as sg
from sparsegate.gates.gate import Gate


def made(cutoff: int = 3) -> sg.SparseVector:
    return sg.SparseVector(threshold=0, cutoff=cutoff, epsilon=1, sensitivity=1)


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, pickle.dumps, lambda gate: gate.__getstate__()])
def test_a_gate_is_never_copied(clone: Any) -> None:
    with pytest.raises(sg.SparsegateError, match="neither copied nor pickled"):
        clone(made())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("method", ["ask", "ask_many"])
def test_a_gate_is_dead_in_another_process_even_if_it_was_locked(method: str) -> None:
    gate = made()
    gate.ask(5)

    def use() -> str:
        try:
            getattr(gate, method)([1] if method == "ask_many" else 1)
        except sg.GateClosed as error:
            return str(error)
        return "answered"

    with gate._lock:
        assert "another process" in in_forked_child(use)
    gate.ask(-(10**6))


def test_threads_share_one_cutoff() -> None:
    gate = made(cutoff=500)

    def ask(_: int) -> int:
        mine = 0
        try:
            while True:
                mine += bool(gate.ask(10**6))
        except sg.GateClosed:
            return mine

    assert sum(at_once(ask, range(8))) == 500
    assert gate.positives == 500


def _refusal(call: Any) -> str:
    """The message of a refused call, and the local variables of every frame below the call."""
    with pytest.raises(sg.SparsegateError) as caught:
        call()
    frames = [entry.frame.f_locals for entry in caught.traceback[1:]]
    assert len(frames) >= 2
    return str(caught.value) + repr(frames)


def test_no_repr_error_or_traceback_shows_noise() -> None:
    """A gate whose noise is made recognisable: a large prime stands in every rho and nu."""
    mark = 982_451_653
    gate = made(cutoff=1)
    gate._rho = mark
    gate._nu._waiting = [mark] * 50  # type: ignore[union-attr]
    texts = [repr(gate), repr(gate._nu), str(gate), repr(gate._calibration)]
    for bad in (math.nan, 1.5, 3.0, "many", None, True):  # by their type, on an integer gate
        texts.append(_refusal(lambda bad=bad: gate.ask(bad)))  # type: ignore[misc]
        texts.append(_refusal(lambda bad=bad: gate.ask_many([1, bad])))  # type: ignore[misc]
    gate.close()
    texts.append(_refusal(lambda: gate.ask(1)))
    assert len(texts) > 10
    assert not any(str(mark) in text for text in texts)


def test_a_closed_gate_stays_closed_and_with_closes_it() -> None:
    with made() as gate:
        gate.ask(0)
    assert gate.closed
    with pytest.raises(sg.GateClosed, match="closed by hand"):
        gate.ask(0)


def test_an_answer_is_a_frozen_truth_value() -> None:
    assert sg.ABOVE
    assert not sg.BELOW
    assert sg.Answer(True) == sg.ABOVE
    with pytest.raises(AttributeError):
        sg.ABOVE.above = False  # type: ignore[misc]


def test_the_gate_of_a_flawed_row_is_the_same_class() -> None:
    assert issubclass(sg.SparseVector, Gate)
