"""Every public name is documented, has an example that runs as pasted, and a place in the reference."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import griffe
import pytest
from pages.api_pages import BESIDES, SUBJECTS, api_page, theorems_page
from pages.docstrings import as_markdown, modules, parameters, with_fields

from pages import public_names

POOR = '''
__all__ = ["Undocumented", "Half", "told", "constant", "shared"]

class Undocumented: ...

class Half:
    """It has ``said``.

    >>> Half()
    """
    said: int
    unsaid: int
    def __init__(self, said, opaque): ...
    def method(self): ...
    def _own(self): ...

def told(value):
    """What.

    Parameters
    ----------
    value : it.
    colour : of nothing.

    >>> from x import told, y as z
    >>> told(z, w)
    """

constant = 1
"""One."""

def shared(value, hidden, *many, _own, **more):
    """Its parameters are those of ``told``.

    >>> 1  # hidden
    """
'''


def test_every_public_name_is_documented_and_has_an_example_with_all_that_it_uses() -> None:
    package = public_names.source()
    assert list(public_names.undocumented(package, besides=BESIDES)) == []
    assert list(public_names.without_example(package)) == []


def test_what_is_not_documented_or_has_no_example_is_caught(tmp_path: Path) -> None:
    (tmp_path / "sparsegate").mkdir()
    for room in public_names.ROOMS:
        name = room.partition(".")[2] or "__init__"
        (tmp_path / "sparsegate" / f"{name}.py").write_text(POOR if name == "__init__" else "__all__ = []\n")
    poor = griffe.load("sparsegate", search_paths=[tmp_path])
    assert isinstance(poor, griffe.Module)
    assert sorted(public_names.undocumented(poor)) == [
        "sparsegate.Half says nothing about opaque",
        "sparsegate.Half.method has no docstring",
        "sparsegate.Half.unsaid has no docstring",
        "sparsegate.Undocumented has no docstring",
        "sparsegate.shared says nothing about hidden",
        "sparsegate.told has no parameter colour",
    ]
    assert sorted(public_names.without_example(poor)) == [
        "sparsegate.Half uses Half",
        "sparsegate.Undocumented has no example",
        "sparsegate.constant has no example",
        "sparsegate.told uses w",
    ]


def test_the_examples_of_constants_run() -> None:
    """Those of functions and classes run as doctests; Python keeps no docstring of a constant."""
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for name, value in public_names.public_names(public_names.source()):
        if isinstance(value, griffe.Attribute) and value.docstring is not None:
            runner.run(doctest.DocTestParser().get_doctest(value.docstring.value, {}, name, None, None))
    assert runner.summarize(verbose=False).failed == 0
    assert runner.tries > 8


def test_the_subjects_hold_every_public_name_once() -> None:
    placed = [f"{subject.room}.{name}" for subject in SUBJECTS.values() for name in subject.names]
    assert sorted(placed) == sorted(name for name, _ in public_names.public_names(public_names.source()))
    client = re.findall(r"^::: (.*)$", api_page(SUBJECTS["client"]), re.MULTILINE)
    assert client == ["sparsegate.connect", *SUBJECTS["client"].others]
    assert "::: sparsegate.gates.bounds\n" in theorems_page()
    assert "::: sparsegate.cli" not in theorems_page()


@pytest.mark.parametrize(
    ("written", "on_the_site"),
    [
        ("it is e**2/8 and k**2", r"it is e\*\*2/8 and k\*\*2"),
        ("*Proof.* By (1)*(2). []", r"*Proof.* By (1)\*(2). ∎"),
        ("    e**2 * ``Budget``", "    e**2 * ``Budget``"),
        ("``a**b`` and ``sg.Ledger``", "``a**b`` and [`sg.Ledger`][sparsegate.Ledger]"),
        ("see docs/reference/json.md.", "see [docs/reference/json.md](../../reference/json.md)."),
        ("``gates.bounds``", "[`gates.bounds`][sparsegate.gates.bounds]"),
        (
            "What.\n\nParameters\n----------\nlow, high : the ends,\n    as in 0 : 1.\n\n>>> 1\n1\n",
            "What.\n\n**Parameters**\n\n- **low, high**: the ends, as in 0 : 1.\n\n```pycon\n>>> 1\n1\n```",
        ),
    ],
)
def test_a_docstring_keeps_its_formulas_and_its_names_are_links(written: str, on_the_site: str) -> None:
    assert as_markdown(written, "sparsegate.uses.alerts") == on_the_site
    assert parameters("What.\n\nParameters\n----------\nlow, high : the ends.\n") == ["low", "high"]
    assert modules("By ``windows`` and ``gates.bounds``.", "sparsegate.uses.alerts") >= {"sparsegate.gates.bounds"}
    fields = with_fields("What.\n\n```pycon\n>>> 1\n```", {"one": "The\nfirst."})
    assert fields == "What.\n\n**Fields**\n\n- **one**: The first.\n\n```pycon\n>>> 1\n```"
