"""What a page says that its reader has installed: it runs with that, and with no other extra of ours.

Whoever writes a page has everything. Where a block needs pandas and the page does not say so, it fails here as it would
for a reader.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires

from pages.blocks import ROOT

EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]

MODULES = {"scikit-learn": "sklearn"}
"""The name that a package is imported by, where it is not its own."""

HIDING = """
import sys
from importlib.machinery import PathFinder


class Installed(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {hidden} else super().find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Installed
"""
"""A `sitecustomize` with which Python does not find the modules in ``hidden``."""


def said(page: str) -> set[str]:
    """The packages that a page tells its reader to install.

    >>> sorted(said("`pip install '.[evaluation,plots]' pytest`"))
    ['matplotlib', 'pyarrow', 'pytest']
    """
    found: set[str] = set()
    for words in re.findall(r"\bpip install\s+([^`\n]+)", page):
        for word in shlex.split(words):
            ours = re.fullmatch(r"(?:sparsegate|\.\.?)\[([\w,]+)\]", word)
            found |= _extras(ours[1].split(",")) if ours else {_package(word)}
    return found


def hidden(page: str) -> set[str]:
    """The modules that our extras bring and that a reader of this page need not have."""
    theirs = {_module(package) for package in _with_dependencies(said(page))}
    return {_module(package) for package in _extras(EXTRAS)} - theirs


def _extras(names: Iterable[str]) -> set[str]:
    if unknown := {*names} - EXTRAS.keys():
        raise ValueError(f"there is no extra {', '.join(sorted(unknown))}")
    return {_package(requirement) for name in names for requirement in EXTRAS[name]} - {"sparsegate"}


def _package(requirement: str) -> str:
    name = re.match(r"[\w.-]*", requirement)
    assert name
    return name[0].lower().replace("_", "-")


def _module(package: str) -> str:
    return MODULES.get(package, package.replace("-", "_"))


def _with_dependencies(packages: Iterable[str]) -> set[str]:
    found, todo = set[str](), [*packages]
    while todo:
        if (package := todo.pop()) in found:
            continue
        found.add(package)
        try:
            needed = requires(package) or []
        except (PackageNotFoundError, ValueError):
            continue
        todo += [_package(each) for each in needed if "extra ==" not in each]
    return found
