"""Every public name is documented and has an example that runs where a reader pastes it; what is not is found."""

from __future__ import annotations

import doctest
import html
import re
from pathlib import Path

import griffe
import markdown
import pytest
from pages.api_pages import BESIDES
from pages.docstrings import as_markdown

from pages import public_names

CONSTANTS = {
    name: found
    for name, found in public_names.public_names(public_names.source())
    if isinstance(found, griffe.Attribute)
}

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

class Hidden:
    """It has a ``veiled``, and is not shown."""
    veiled: int

class Besides(Hidden):
    """Shown, without a public name."""
    blank: int
'''

RICH = '''
from dataclasses import dataclass
__all__ = ["Kept", "made"]
_MANY = 5

@dataclass(kw_only=True)
class Kept:
    """What is kept.

    >>> 1
    1
    """
    many: int
    """How many."""
    _own: int = 0

def made(many: int = _MANY, _own: int = 0):
    """Made."""
'''


@pytest.fixture
def poor(tmp_path: Path) -> griffe.Module:
    folder = tmp_path / "sparsegate"
    folder.mkdir()
    (folder / "__init__.py").write_text(POOR)
    for room in ("privacy", "paper", "testing", "uses", "variants"):
        (folder / f"{room}.py").write_text("__all__ = []\n")
    loaded = griffe.load("sparsegate", search_paths=[tmp_path])
    assert isinstance(loaded, griffe.Module)
    return loaded


def test_every_public_name_and_all_it_has_are_documented() -> None:
    assert list(public_names.undocumented(public_names.source(), besides=BESIDES)) == []


def test_every_public_name_has_an_example_with_all_that_it_uses() -> None:
    assert list(public_names.without_example(public_names.source())) == []


def test_the_examples_of_constants_run() -> None:
    """Those of functions and classes run as doctests; Python keeps no docstring of a constant."""
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for name, found in public_names.public_names(public_names.source()):
        if isinstance(found, griffe.Attribute) and found.docstring is not None:
            runner.run(doctest.DocTestParser().get_doctest(found.docstring.value, {}, name, None, None))
    assert runner.summarize(verbose=False).failed == 0
    assert runner.tries > 8


def test_what_is_not_documented_is_caught(poor: griffe.Module) -> None:
    assert sorted(public_names.undocumented(poor, besides=["sparsegate.Besides"])) == [
        "sparsegate.Besides.blank has no docstring",
        "sparsegate.Besides.veiled has no docstring",
        "sparsegate.Half says nothing about opaque",
        "sparsegate.Half.method has no docstring",
        "sparsegate.Half.unsaid has no docstring",
        "sparsegate.Undocumented has no docstring",
        "sparsegate.shared says nothing about hidden",
        "sparsegate.told has no parameter colour",
    ]


def test_what_has_no_example_is_caught(poor: griffe.Module) -> None:
    assert sorted(public_names.without_example(poor)) == [
        "sparsegate.Half uses Half",
        "sparsegate.Undocumented has no example",
        "sparsegate.constant has no example",
        "sparsegate.told uses w",
    ]


def test_the_site_lists_fields_and_shows_what_a_caller_passes(tmp_path: Path) -> None:
    (tmp_path / "sparsegate").mkdir()
    for room in ("__init__", "privacy", "paper", "testing", "uses", "variants"):
        (tmp_path / "sparsegate" / f"{room}.py").write_text(RICH if room == "__init__" else "__all__ = []\n")
    extensions = griffe.load_extensions("dataclasses", public_names.PublicNames)
    package = griffe.load("sparsegate", search_paths=[tmp_path], extensions=extensions)
    docstring = package["Kept"].docstring
    assert docstring.value == "What is kept.\n\n**Fields**\n\n- **many**: How many.\n\n```pycon\n>>> 1\n1\n```"
    assert package["Kept.many"].docstring is None
    assert [each.name for each in package["Kept"].parameters] == ["self", "many"]
    assert [(each.name, str(each.default)) for each in package["made"].parameters] == [("many", "5")]


def test_modules_are_found_through_the_docstrings_that_refer_to_them() -> None:
    found = public_names.mentioned_modules(public_names.source())
    assert "sparsegate.gates.bounds" in found
    assert "sparsegate.selection.race" in found  # of which only other modules speak
    assert "sparsegate.tables.csv_rows" in found
    assert "sparsegate.tables.counting" not in found


def test_a_function_is_found_behind_the_module_of_its_name() -> None:
    named = dict(public_names.public_names(public_names.source()))
    assert named["sparsegate.audit"].path == "sparsegate.auditor.audit.audit"
    assert named["sparsegate.privacy.loss"].is_function


def test_markdown_mangles_no_formula() -> None:
    """Powers in prose and formulas that stand alone come out of Markdown as they were written."""
    package = public_names.source()
    modules = [package[name.partition(".")[2]] for name in public_names.mentioned_modules(package)]
    shown = [found for _, found in public_names.public_names(package)] + modules
    lost, powers = [], 0
    for found in shown:
        text = found.docstring.value
        page = markdown.markdown(as_markdown(text, found.module.path), extensions=["pymdownx.superfences", "tables"])
        seen = html.unescape(re.sub(r"<[^>]+>", "", page))
        alone = html.unescape("".join(re.findall(r"<pre.*?</pre>", page, flags=re.DOTALL)))
        prose = re.sub(r"^(?: {4}|>>>|\.\.\.).*$", "", text, flags=re.MULTILINE)
        written = re.findall(r"[\w)]\*\*[\w(/.-]+", prose)
        powers += len(written)
        lost += [f"{found.path}: {power}" for power in written if power not in seen]
        formulas = re.findall(r"\n\n((?: {4}.+\n?)+)", text)
        lost += [f"{found.path}: {line}" for each in formulas for line in each.split("\n") if line.strip() not in alone]
    assert lost == []
    assert powers > 30
