"""The exception tree, and messages that help without giving data away."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
import re
import shlex
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

from sparsegate import errors
from sparsegate.errors import ParameterError, SparsegateError

TREE = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, Exception) and not issubclass(kind, Warning)
]
ROOT = Path(__file__).parents[1]


def error_classes(sources: Iterable[str]) -> set[str]:
    """The names of all classes that descend from SparsegateError, wherever they are defined."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
    }
    found = {"SparsegateError"}
    while more := {name for name, parents in bases.items() if parents & found} - found:
        found |= more
    return found


def documented_errors(page: str) -> list[str]:
    """The errors of the page's table that have a meaning and a next step."""
    return re.findall(r"^\| `(\w+)` \| [^|]+\. \| [^|]+\. \|$", page, flags=re.MULTILINE)


def test_the_page_of_errors_has_every_error_with_its_meaning_and_the_next_step():
    sources = (file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    assert sorted(documented_errors(page)) == sorted(error_classes(sources))


def test_an_error_without_a_next_step_or_far_from_the_root_is_caught():
    assert documented_errors("| `Lost` | It is lost. |  |\n| `Found` | It is found. | Keep it. |\n") == ["Found"]
    sources = ["class Far(Near): ...\nclass Other(Exception): ...", "class Near(SparsegateError, ValueError): ..."]
    assert error_classes(sources) == {"SparsegateError", "Near", "Far"}


@pytest.mark.parametrize("kind", TREE)
def test_every_error_has_one_root_a_docstring_and_a_place_in_the_drawing(kind):
    assert issubclass(kind, SparsegateError)
    assert kind.__doc__
    assert kind.__name__ in (errors.__doc__ or "")


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr today")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((-1, "pass e.g. 7"), "seed must be whole, got -1; pass e.g. 7"),
        ((), "seed must be whole"),
        ((None,), "seed must be whole, got None"),
        (("",), "seed must be whole, got ''"),
        ((float("nan"),), "seed must be whole, got nan"),
        (("x" * 1000,), "seed must be whole, got '" + "x" * 78 + "…"),
        ((Unprintable(),), "seed must be whole, got <Unprintable>"),
    ],
)
def test_a_message_names_parameter_rule_value_and_next_step(value, message):
    error = ParameterError("seed", "must be whole", *value)
    assert isinstance(error, ValueError)
    assert str(error) == message


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize("value", [3, lambda: None], ids=["plain", "unpicklable"])
def test_a_parameter_error_survives_pickling_and_copying(clone, value):
    error = ParameterError("seed", "must be a whole number", value, "pass for instance Seeded(7)")
    again = clone(error)
    assert type(again) is ParameterError
    assert str(again) == str(error)
    assert vars(again) == vars(error)


DECLARED = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"][
    "optional-dependencies"
]


@pytest.mark.parametrize("extra", sorted(DECLARED.keys() - {"dev"}))
def test_what_to_install_are_the_packages_that_the_extra_declares(extra):
    """By their own names: that works from a checkout and from a wheel, and before this library is published."""
    program, verb, *needs = shlex.split(errors.install_line(extra))
    assert (program, verb) == ("pip", "install")
    assert sorted(needs) == sorted(DECLARED[extra])
