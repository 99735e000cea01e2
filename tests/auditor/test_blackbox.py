"""The mechanism is called fairly, and what goes wrong with it is said with its name."""

from __future__ import annotations

import functools
import threading
import time

import numpy as np
import pytest

from sparsegate.auditor import audit
from sparsegate.auditor.blackbox import BlackBox, name_of, takes_count
from sparsegate.errors import ParameterError


class Single:
    def __call__(self, answers: np.ndarray) -> int:
        return len(answers)


class Batch:
    def method(self, answers: np.ndarray, n: int) -> list[int]:
        return [len(answers)] * n


def with_extras(answers: np.ndarray, epsilon: float = 1.0, *, seed: int = 0) -> int:
    return 0


@pytest.mark.parametrize(
    ("mechanism", "batch", "name"),
    [
        (Single(), False, "test_blackbox.Single"),
        (Batch().method, True, "test_blackbox.Batch.method"),
        (with_extras, False, "test_blackbox.with_extras"),
        (functools.partial(with_extras, epsilon=2), False, "test_blackbox.with_extras"),
        (functools.partial(lambda epsilon, answers, n: [0] * n, 1.0), True, "test_blackbox.<lambda>"),
        (lambda *answers: 0, False, "test_blackbox.<lambda>"),
        (sum, False, "builtins.sum"),
    ],
)
def test_two_needed_positional_parameters_make_a_batch_and_names_lead_to_the_code(mechanism, batch, name) -> None:
    assert takes_count(mechanism) is batch
    assert name_of(mechanism).endswith(name)


def draw(mechanism: object, answers: object, count: int, *, batch: bool | None = None, timeout: float = 5.0) -> object:
    with BlackBox(mechanism, batch=batch, call_timeout=timeout) as box:  # type: ignore[arg-type]
        return box.draw(answers, count)


def test_a_batch_mechanism_is_called_once_and_a_single_one_for_each_outcome() -> None:
    assert draw(Single(), np.zeros(3), 4) == [3, 3, 3, 3]
    assert draw(Batch().method, np.zeros(2), 3) == [2, 2, 2]
    assert draw(lambda answers, n=1: [n] * n, np.zeros(1), 3, batch=True) == [3, 3, 3]  # the caller overrules


def test_a_mechanism_may_change_its_answers_without_harm() -> None:
    def spoil(answers: np.ndarray) -> int:
        answers += 1
        return int(answers[0])

    assert draw(spoil, np.zeros(1, dtype=int), 3) == [1, 1, 1]
    assert draw(lambda table: len(table) + len(table.popitem()), {"a": 1}, 2) == [3, 3]


def test_a_mechanism_may_write_every_outcome_into_the_same_array() -> None:
    buffer, log = np.zeros(1, dtype=int), []

    def count(answers: np.ndarray) -> np.ndarray:
        buffer[0] += 1
        return buffer

    def listed(answers: np.ndarray) -> list[int]:
        log.append(len(log))
        return log

    assert [int(outcome[0]) for outcome in draw(count, np.zeros(1), 3)] == [1, 2, 3]  # type: ignore[attr-defined]
    assert draw(listed, np.zeros(1), 3) == [[0], [0, 1], [0, 1, 2]]
    assert draw(lambda answers: {"a": 1}.keys(), np.zeros(1), 1) == [{"a"}]  # cannot be copied


def leave(answers: np.ndarray, n: int = 0) -> int:
    """No mechanism may end the process."""
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (lambda answers: 1 / 0, r"<lambda> raised ZeroDivisionError: division by zero \(on \["),
        (leave, "leave raised SystemExit"),
        (lambda answers: None, "returned None"),
        (lambda answers, n: [1] * (n - 1), "returned 0 instead of 1"),
        (lambda answers: object(), "returned an object"),
        (lambda answers: time.sleep(30), r"within call_timeout=0.3 seconds, but .*<lambda> did not"),
    ],
)
def test_a_mechanism_that_does_not_work_is_named(mechanism, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as refused:
        audit(mechanism, epsilon=1.0, samples=1000, call_timeout=0.3)
    assert "test_blackbox." in str(refused.value)


def test_an_endless_loop_in_python_is_given_up_and_ended_and_slow_calls_that_come_back_are_waited_for() -> None:
    ended = threading.Event()

    def spin(answers: np.ndarray) -> int:
        try:
            while True:
                pass
        finally:
            ended.set()

    with pytest.raises(ParameterError, match="spin did not"):
        draw(spin, np.zeros(1), 1, timeout=0.2)
    assert ended.wait(10)
    assert draw(lambda answers: time.sleep(0.3) or 1, np.zeros(1), 4, timeout=0.9) == [1, 1, 1, 1]
