"""Methods of one's own: what is one, how it is called, under which name, and when its cases are kept."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from sparsegate.errors import ParameterError
from sparsegate.paper import Progress, SuppliedMethod, run
from sparsegate.paper.findings import load_findings
from sparsegate.paper.methods import method, methods_of
from sparsegate.paper.report import method_table
from sparsegate.paper.workers import WorkerPool

Given = Any
GRID = {"datasets": ["zipf"], "counts": [5], "runs": 3}


def peeled(scores: Given, count: int, epsilon: float, rng: np.random.Generator) -> Given:
    return (scores + rng.gumbel(0, count / epsilon, scores.size)).argsort()[-count:]


@dataclass
class Louder:
    """Equal ones are equal, so that it has no hash."""

    times: float = 1.0
    title = "Louder"
    version = 3

    def select(self, scores: Given, count: int, epsilon: float, rng: np.random.Generator) -> Given:
        return peeled(scores, count, epsilon / self.times, rng)


def numbers(**options: Any) -> list[dict[str, Any]]:
    return run(**GRID | options).to_arrow().drop_columns(["seconds"]).to_pylist()


def test_a_function_is_a_method_by_its_name() -> None:
    found = run(**GRID, methods=["em", peeled])
    assert found["method"] == ["em", "peeled"]
    assert found["selected_mean"] == [5, 5]


def test_an_object_says_how_it_is_called() -> None:
    found = method(Louder())
    assert (found.key, found.title, found.kept) == ("Louder", "Louder", True)
    assert SuppliedMethod.of(Louder(), key="loud", title="Loud", version=None).kept is False


def fails(scores: Given, count: int, epsilon: float, rng: np.random.Generator) -> Given:
    raise ZeroDivisionError("no score")


def test_other_processes_give_the_same_numbers_and_the_same_errors() -> None:
    with WorkerPool(2) as pool:
        assert numbers(methods=[peeled, Louder()], pool=pool, seed=4) == numbers(methods=[peeled, Louder()], seed=4)
        messages = []
        for options in ({"pool": pool}, {}):
            with pytest.raises(
                ParameterError, match=r"^method fails must not raise ZeroDivisionError.*, on zipf$"
            ) as caught:
                numbers(methods=fails, **options)
            assert str(caught.value).endswith(f"; {caught.value.next_step}")
            messages.append(str(caught.value))
    assert messages[0] == messages[1]


def by_other_names(values: Given, k: int, eps: float, generator: np.random.Generator) -> Given:
    return peeled(values, k, eps, generator)


def in_another_order(rng: np.random.Generator, epsilon: float, count: int, scores: Given) -> Given:
    return peeled(scores, count, epsilon, rng)


def by_name_alone(*, scores: Given, epsilon: float, count: int, rng: np.random.Generator) -> Given:
    return peeled(scores, count, epsilon, rng)


@pytest.mark.parametrize("given", [by_other_names, in_another_order, by_name_alone])
def test_arguments_go_by_name_or_by_place(given: Given) -> None:
    (found,) = numbers(methods=[SuppliedMethod.of(given, key="peeled")])
    assert [found] == numbers(methods=[peeled])


def half_renamed(scores: Given, epsilon: float, k: int, rng: np.random.Generator) -> Given:
    return peeled(scores, k, epsilon, rng)


@pytest.mark.parametrize("given", [half_renamed, lambda: 0, lambda scores, count, epsilon, rng, more: 0])
def test_a_signature_that_takes_something_else_is_refused(given: Given) -> None:
    with pytest.raises(ParameterError, match=r"must take \(scores, count, epsilon, rng\), got \["):
        run(**GRID, methods=[given])


def test_a_function_that_hides_its_parameters_gets_them_by_place() -> None:
    assert SuppliedMethod.of(max).caller()(count=2, scores=7, epsilon=1, rng=0) == 7


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "method must be a key, a function, or an object with select"),
        (None, "method must be a key, a function, or an object with select"),
        (Louder, "method must be a function or an object, not a class"),
        (
            SuppliedMethod.of(peeled, key="em"),
            "methods must have a key each, and none the key of one of ours, got 'em'",
        ),
    ],
)
def test_what_is_no_method_is_refused(given: Given, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        run(**GRID, methods=[given])


@pytest.mark.parametrize("key", ["", "a,b", "two words", "<b>", 7])
def test_a_key_that_tables_cannot_hold_is_refused(key: object) -> None:
    with pytest.raises(ParameterError, match=r"^method must have a key of letters"):
        SuppliedMethod.of(peeled, key=key)


def test_two_methods_of_one_key_are_refused_and_a_repeated_one_is_not() -> None:
    with pytest.raises(ParameterError, match=r"^methods must have a key each.* got 'lambda'"):
        methods_of([lambda scores, count, epsilon, rng: [0], lambda scores, count, epsilon, rng: [1]])
    assert len(methods_of(["em", "em"])) == 1


def test_delta_is_given_to_who_has_a_parameter_for_it() -> None:
    seen: list[float] = []

    def approximate(scores: Given, count: int, epsilon: float, rng: np.random.Generator, delta: float) -> Given:
        seen.append(delta)
        return range(count)

    given = SuppliedMethod.of(approximate)
    assert (given.takes_delta, SuppliedMethod.of(peeled).takes_delta) == (True, False)
    found = run(**GRID | {"runs": 1}, methods=[given, given.at_delta(1e-6)])
    assert seen == [0.0, 1e-6]
    assert found["method"] == ["approximate", "approximate-delta-1e-06"]
    with pytest.raises(ParameterError, match=r"^method peeled must have a parameter delta"):
        SuppliedMethod.of(peeled, delta=1e-6)


@dataclass
class Remembers:
    """Selects fewer with every call, and is as new in every case."""

    version = 1
    calls: int = 0

    def select(self, scores: Given, count: int, epsilon: float, rng: np.random.Generator) -> Given:
        self.calls += 1
        return range(count - self.calls)


def test_what_an_object_remembers_changes_no_other_case(tmp_path: Path) -> None:
    given = Remembers()
    assert run(**GRID | {"counts": [5, 6]}, methods=given, out=tmp_path)["selected_mean"] == [3, 4]
    assert given.calls == 0


def test_no_statement_of_the_paper_is_about_somebody_elses_method(tmp_path: Path) -> None:
    run(**GRID, methods=["svt-s-1:1", SuppliedMethod.of(peeled, key="svt-s-mine")], out=tmp_path)
    assert load_findings(tmp_path).keys("svt-s-") == ["svt-s-1:1"]


def test_a_lambda_runs_in_one_process_and_is_refused_for_two() -> None:
    first = SuppliedMethod.of(lambda scores, count, epsilon, rng: range(count), key="first")
    assert run(**GRID, methods=[first])["selected_mean"] == [5]
    with pytest.raises(ParameterError, match=r"^jobs must be 1 for the method first, which another process cannot"):
        run(**GRID, methods=[first], jobs=2)


@pytest.mark.parametrize(("about", "there"), [({}, False), ({"__file__": "script.py"}, True)])
def test_a_function_of_a_notebook_needs_one_process(monkeypatch: Any, about: dict[str, str], there: bool) -> None:
    main = ModuleType("__main__")
    vars(main).update(about)
    exec("def mine(scores, count, epsilon, rng): return range(count)", vars(main))
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert (SuppliedMethod.of(vars(main)["mine"]).pickled is not None) is there


@pytest.mark.parametrize(
    ("again", "resumed"), [(Louder(), 1), (Louder(2.0), 0), (SuppliedMethod.of(Louder(), version="4"), 0)]
)
def test_a_finished_case_is_found_by_version_and_state(tmp_path: Path, again: Given, resumed: int) -> None:
    run(**GRID, methods=[Louder()], out=tmp_path)
    steps: list[Progress] = []
    run(**GRID, methods=[again], out=tmp_path, progress=steps.append)
    assert steps[-1].resumed == resumed


def test_a_method_without_a_version_is_computed_anew(tmp_path: Path) -> None:
    steps: list[Progress] = []
    for _ in range(2):
        run(**GRID, methods=["em", peeled], out=tmp_path, progress=steps.append)
    assert steps[-1].resumed == 1
    assert len(list((tmp_path / "cases").iterdir())) == 1


def test_the_manifest_and_the_report_say_whose_it_is(tmp_path: Path) -> None:
    run(**GRID, methods=[Louder()], out=tmp_path)
    (found,) = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))["methods"]
    assert found["source"].endswith("test_methods_supplied_methods:Louder")
    assert (found["key"], found["version"], found["row"]) == ("Louder", "3", None)
    assert f"Supplied: {found['source']}, 3<" in method_table(load_findings(tmp_path))
