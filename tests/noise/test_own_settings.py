"""No setting of the process that calls makes a release fail, warn or differ, whatever the private values are.

A refusal that depends on a value tells it, and one after the charge takes what was paid for as well.
"""

from __future__ import annotations

import decimal
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.support.hostile_settings import hostile_settings, plain

import sparsegate as sg
from sparsegate.noise import (
    discrete_gaussian,
    discrete_laplace,
    fill_discrete_gaussian,
    fill_discrete_laplace,
    fill_geometric,
    geometric,
)
from sparsegate.noise.own_settings import own_settings
from sparsegate.selection.select import METHODS
from sparsegate.uses.holdout import agreement

FLOATS = [0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1e-310, 1e308, -1e308, 1.7e308, 1282.0, 1283.0, -745.2, 2.0**53 + 2]
PRIVATE: dict[str, Any] = {
    "floats": [*FLOATS, float("nan"), float("inf"), float("-inf")],
    "array": np.array([*FLOATS, np.nan, np.inf, -np.inf]),
    "halves": np.array([0, 6e-8, -6e-8, 65504, np.nan, np.inf, -np.inf, 1], dtype=np.float16),
    "whole": [0, 1, -1, 1282, 1283, 2**63 - 1, -(2**63), 2**53 + 1, 10**400, -(10**400)],
    "words": np.array([0, 1, 1282, 2**64 - 1, 2**63], dtype=np.uint64),
    "near": [float(score) for score in range(0, 2600, 100)],
    "counts": list(range(0, 2600, 100)),
}
"""Huge, tiny, denormal, negative, not a number, infinite; and some whose weights are beyond all floats."""

SEEDED: Callable[[], dict[str, Any]] = lambda: {"source": sg.Seeded(5), "not_private": True}  # noqa: E731


def selected(method: str, epsilon: float, sensitivity: Any, values: Any) -> Any:
    options: dict[str, Any] = {"threshold": 1000} if method in ("sparse-vector", "retraversal") else {}
    options |= {"delta": 1e-6} if method == "gumbel" else {}
    options |= {"granularity": 2.0**-10} if "granularity" in METHODS[method].options and sensitivity != 1 else {}
    return sg.select_top(
        values,
        count=3,
        epsilon=epsilon,
        sensitivity=sensitivity,
        method=method,
        max_items_per_user=1,
        **options,
        **SEEDED(),
    )


def whole(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, int) for value in values)


def test_every_method_selects_the_same_whatever_the_settings_are():
    def releases() -> Iterator[Any]:
        for method in METHODS:
            for epsilon in (1e-3, 1, 400):
                for values in PRIVATE.values():
                    yield selected(method, epsilon, 1 if whole(values) else 1.0, values)
                    yield selected(method, epsilon, 1e-200, values)

    same(lambda: list(releases()))


GATES: dict[str, dict[str, Any]] = {
    "exponential": {"epsilon": 1},
    "laplace": {"epsilon": 1, "noise": "laplace"},
    "two-sided": {"epsilon": 1, "closes": "rarer"},
    "answers": {"budget": sg.Budget(threshold_epsilon=0.1, query_epsilon=0.5, answer_epsilon=0.4)},
    "planned": {"epsilon": 1, "queries": 5},
    "delta": {"epsilon": 1, "delta": 1e-6, "cutoff": 50},
}


@pytest.mark.parametrize("kind", GATES)
def test_gates_answer_the_same_one_by_one_and_many_at_once(kind):
    def releases() -> Iterator[Any]:
        for name, values in PRIVATE.items():
            sensitivity = 1 if name in ("whole", "counts", "words") else 1.0
            for threshold in (1000, 2) if sensitivity == 1 else (1000.0, 1e-300):
                public: dict[str, Any] = {"cutoff": 4, "threshold": threshold, "sensitivity": sensitivity} | GATES[kind]
                gate = sg.SparseVector(**public, **SEEDED())
                yield [gate.ask(value) for value in values if not gate.closed]
                yield float(gate.spent)
                yield sg.SparseVector(**public, **SEEDED()).ask_many(values)
                if isinstance(values, list):  # of those that numpy would not read as numbers
                    yield sg.SparseVector(**public, **SEEDED()).ask_many(values, threshold=[threshold] * len(values))

    same(lambda: list(releases()))


@pytest.mark.parametrize("key", sg.VARIANTS)
def test_every_row_runs_the_same(key):
    def releases() -> Iterator[Any]:
        row = sg.VARIANTS[key]
        for values in PRIVATE.values():
            guess: Any = {} if row.compared is sg.variants.Compared.ANSWER else {"estimates": [0.5] * len(values)}
            options: dict[str, Any] = {"epsilon": 0.5, "threshold": 3.5, "sensitivity": 1.0, **guess}
            yield sg.run(row, values, **options, **SEEDED())
            out = sg.run_many(row, values, runs=3, **options, **SEEDED())
            yield out.above, out.asked, out.values, out.gaps

    same(lambda: list(releases()))


def test_hidden_labels_agree_the_same():
    labels = [decimal.Decimal("1E+50"), decimal.Decimal("2.50"), *PRIVATE["floats"], *PRIVATE["whole"]]
    same(lambda: agreement(labels, ["1E+50", 2.5, *map(str, PRIVATE["floats"]), *PRIVATE["whole"]]))


def same(release: Callable[[], Any]) -> Any:
    """Release under numpy's and Python's own settings, and then under hostile ones."""
    with np.errstate(all="warn", under="ignore"):
        expected = plain(release())
    assert len(str(expected)) > 3
    for error_state in ("raise", "call"):
        with hostile_settings(error_state):
            found = release()
        assert plain(found) == expected
    return expected


def test_a_release_that_depended_on_the_settings_would_be_noticed():
    """The teeth: each of the settings is hostile to something."""
    with pytest.raises(FloatingPointError):
        same(lambda: np.exp(np.array([1.0, -1e4])))
    with pytest.raises(decimal.DecimalException):
        same(lambda: str(decimal.Decimal(2) / 3))
    with pytest.raises(AssertionError):
        same(lambda: str(decimal.Decimal("1E+50")))
    with pytest.raises((TypeError, AssertionError)):
        same(lambda: str(np.array([1.5, 2.5, 3.5])))


_PUBLIC = {"close", "cost", "dp_event", "facts", "generalisation", "margin", "pause", "preview", "training_only"}
"""Methods that look at public numbers and at what was released alone."""

_BARE = {
    "HoldoutScorer.__init__",  # keeps what it is given
    "PrivateSearchCV.__init__",
    "PrivateSearchCV.predict",  # of the model that was released
    "SelectKBestPrivate.__init__",
    "SparseVector.ask",  # Python's whole numbers alone, in less time than settings take; noise is drawn under our own
}


def charged_calls() -> dict[str, Any]:
    """Every public call that takes a ledger, and every method of what is made with one."""
    found: dict[str, Any] = {}
    public = {name: getattr(room, name) for room in (sg, sg.uses) for name in room.__all__}
    for name, made in public.items():
        if not callable(made) or (isinstance(made, type) and issubclass(made, Exception)):
            continue
        if "ledger" not in inspect.signature(made).parameters and made not in (
            sg.uses.Improvement,
            sg.uses.HoldoutScorer,
        ):
            continue
        if inspect.isfunction(made):
            found[name] = made
            continue
        for word in ("__init__", "__call__", *(word for word in dir(made) if not word.startswith("_"))):
            call = inspect.getattr_static(made, word, None)
            if inspect.isfunction(call) and call.__module__.startswith("sparsegate"):
                found[f"{name}.{word}"] = call
    return found


def test_whatever_is_charged_runs_under_our_own_settings():
    calls = charged_calls()
    assert {"select_top", "OnlineAnswers.ask", "Improvement.__call__", "SparseVector.ask_many"} < calls.keys()
    samplers = (fill_discrete_laplace, fill_geometric, fill_discrete_gaussian, discrete_laplace, geometric)
    ours = own_settings(lambda: None).__code__
    assert all(call.__code__ is ours for call in (*samplers, discrete_gaussian))
    bare = {name for name, call in calls.items() if call.__code__ is not ours}
    assert {name for name in bare if name.partition(".")[2] not in _PUBLIC} == _BARE
