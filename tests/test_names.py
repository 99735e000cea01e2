"""One name, one meaning: files, classes and tests; and every public callable names its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath as P
from typing import Any

import pytest
from tests.support import names

import sparsegate as sg
from sparsegate import testing
from sparsegate.gates.preview import Preview


@pytest.mark.parametrize(
    ("first", "second", "wrong"),
    [
        ("class Law: ...", "class Law: ...", 1),
        ("class Law: ...", "def f():\n    class Law: ...", 1),
        ("class _Law: ...", "class _Law: ...", 0),
        ("class Law: ...", "class Laws: ...", 0),
    ],
)
def test_two_classes_with_one_name_are_caught(first: str, second: str, wrong: int) -> None:
    assert len(names.repeated_classes({P("noise/laws.py"): first, P("privacy/rules.py"): second})) == wrong


@pytest.mark.parametrize(
    ("test", "wrong"),
    [
        ("tests/noise/test_sources.py", 0),
        ("tests/noise/test_sources_after_a_fork.py", 0),
        ("tests/noise/test_sourcest.py", 1),
        ("tests/noise/test_fountains.py", 1),
        ("tests/test_sources.py", 1),
        ("tests/tables/test_engines.py", 0),
    ],
)
def test_a_test_that_mirrors_no_module_is_caught(test: str, wrong: int) -> None:
    paths = [P("noise/sources.py"), P("tables/engines/spark.py")]
    listed = map(P, names.CROSS_MODULE)
    assert len(names.tests_without_module([*listed, P(test)], paths)) == wrong


def test_a_place_on_the_list_that_is_not_needed_is_caught() -> None:
    (needless, *others) = sorted(names.CROSS_MODULE)
    wrong = names.tests_without_module(map(P, others), [])
    assert wrong == [f"{needless}: needs no place in CROSS_MODULE"]


def public_callables() -> Iterator[tuple[str, Callable[..., object]]]:
    """Functions, classes and the methods of classes that users are given: by their full names."""
    for module in (sg, sg.uses, sg.variants, sg.privacy, sg.paper, testing):
        for name in module.__all__:
            value = getattr(module, name)
            full = f"{module.__name__}.{name}"
            if isinstance(value, type) and issubclass(value, Exception):
                continue
            if callable(value):
                yield full, value
            if isinstance(value, type):
                for key, method in inspect.getmembers_static(value):
                    if not key.startswith("_") and inspect.isroutine(method) and _ours(getattr(value, key)):
                        yield f"{full}.{key}", getattr(value, key)


def _ours(method: object) -> bool:
    """Whether it is of this library, and not of scikit-learn or of Python."""
    return str(getattr(method, "__module__", "")).startswith("sparsegate")


def test_the_signature_of_every_public_callable_shows_every_parameter() -> None:
    unnamed = [
        name
        for name, value in public_callables()
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(value).parameters.values())
    ]
    assert not unnamed


PREVIEWS = {
    **dict.fromkeys(("items_above", "top_items", "top_sums"), sg.preview),
    "frequent_itemsets": sg.uses.preview_itemsets,
    "dependency_tree": sg.uses.preview_tree,
    "improved": sg.uses.Improvement.preview,
    **dict.fromkeys(("tune", "PrivateSearchCV"), sg.uses.preview_tuning),
}
"""Of functions; a class that releases has its own, as ``preview``."""

NO_PREVIEW = {
    "laplace": "its noise is what is asked for",
    "gaussian": "its noise is what is asked for",
    "select_top": "sg.preview, of counts that one person moves by one",
    "session": "each of its releases has one",
    "gate": "of a row of the paper, for research",
}
PRIVATE = {"data", "table", "private", "public"}
TRAINED = {"train", "candidates", "weights", "default", "estimator", "param_distributions", "validation", "scoring"}
"""What is trained, which costs the same whatever it is."""
UNREAD = {"ledger", "refund", "source", "not_private"}  # a preview may take them, so that all can be passed


def releasing() -> Iterator[tuple[str, Callable[..., object]]]:
    for name, value in public_callables():
        last = name.rpartition(".")[2]
        if "ledger" in inspect.signature(value).parameters and not last.startswith("preview"):
            yield last, value


@pytest.mark.parametrize(("name", "release"), [*releasing()])
def test_whatever_takes_a_ledger_has_a_preview_of_the_same_parameters(name: str, release: Any) -> None:
    """So that the public numbers of a release can be passed to its preview first, and none is forgotten."""
    if name in NO_PREVIEW:
        return
    preview = PREVIEWS.get(name) or release.preview
    assert inspect.signature(preview, eval_str=True).return_annotation is Preview
    takes = inspect.signature(preview).parameters
    if "self" not in takes:  # an instance has its parameters
        assert not inspect.signature(release).parameters.keys() - takes.keys() - PRIVATE - TRAINED - UNREAD


def test_no_preview_is_excused_that_is_there() -> None:
    assert not NO_PREVIEW.keys() - dict(releasing()).keys()
    assert not [name for name, value in releasing() if name in NO_PREVIEW and hasattr(value, "preview")]
