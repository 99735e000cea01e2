"""A docstring of the library as Markdown: examples in fences, parameters as a list, formulas as they are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import sparsegate

SOURCE = Path(__file__).parents[1] / "src"

_PARAMETERS = re.compile(r"(?<=\n\n)Parameters\n-+\n((?:.+\n?)+)")
_PARAMETER = re.compile(r"^(\w+(?:, \w+)*) ?: ", re.MULTILINE)
_EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)
_CODE = re.compile(r"(^ {4}[^\n]*$|^```.*?^```$|``[^`]+``|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_MODULE = re.compile(r"``?(?:sparsegate\.)?([a-z_]+(?:\.[a-z_]+)+|[a-z]+_[a-z_]+)``?")
_NAME = re.compile(r"``?(?:sg\.|sparsegate\.)?(\w+)((?:\.\w+)?)``?")
_PAGE = re.compile(r"\bdocs/([\w/-]+)\.md\b")

LINKED = {
    name: f"{room.__name__}.{name}"
    for room in (sparsegate.variants, sparsegate.uses, sparsegate.paper, sparsegate.privacy, sparsegate)
    for name in room.__all__
    if re.search(r"[A-Z]|[a-z]_[a-z]|^connect|^laplace|^gaussian", name)
}
"""The public names that mean nothing else: where one stands in code, its place in the reference is meant."""


def parameters(docstring: str) -> list[str]:
    """The names that the section of parameters explains."""
    section = _PARAMETERS.search(docstring + "\n")
    found = _PARAMETER.findall(section[1]) if section else []
    return [name for names in found for name in names.split(", ")]


def as_markdown(docstring: str, module: str = "sparsegate") -> str:
    """The docstring for the site; it stands in this module."""
    parts = _CODE.split(_arranged(docstring))
    parts[::2] = map(_prose, parts[::2])
    parts[1::2] = (_linked(code, module) for code in parts[1::2])
    return "".join(parts)


def _arranged(docstring: str) -> str:
    """Examples in fences, and parameters as a list."""
    text = _EXAMPLE.sub(lambda match: f"```pycon\n{match[0]}\n```", docstring)
    return _PARAMETERS.sub(lambda match: f"**Parameters**\n\n{_listed(match[1])}", text + "\n").rstrip()


def _listed(section: str) -> str:
    items = re.sub(r"\n {4,}", " ", section)
    return _PARAMETER.sub(lambda match: f"- **{match[1]}**: ", items)


def _prose(text: str) -> str:
    """Stars between letters are powers and products, and [] at the end of a proof is its end."""
    text = re.sub(r"(?<=[\w)])\*+(?=[\w(])", lambda match: match[0].replace("*", r"\*"), text)
    text = re.sub(r"(?<=[.)*]) \[\]", " ∎", text)
    return _PAGE.sub(r"[docs/\1.md](../../\1.md)", text)


def modules(docstring: str, module: str = "sparsegate") -> set[str]:
    """The modules that a docstring refers to, by their whole names: their own docstrings have the theorems."""
    found = (_module(code, module) for code in _CODE.findall(_arranged(docstring)))
    return {name for name in found if name is not None}


def with_fields(markdown: str, fields: Mapping[str, str]) -> str:
    """The text of a class with a list of its fields before its example."""
    listed = "\n".join(f"- **{name}**: {' '.join(text.split())}" for name, text in fields.items())
    text, fence, example = markdown.partition("```pycon\n")
    return f"{text.rstrip()}\n\n**Fields**\n\n{listed}\n\n{fence}{example}".rstrip()


def _module(code: str, module: str) -> str | None:
    """The module that code names: `gates.bounds`, or `tree_model` in a module beside it."""
    named = _MODULE.fullmatch(code)
    if named is None or named[1] in LINKED:
        return None
    whole = f"sparsegate.{named[1]}" if "." in named[1] else f"{module.rpartition('.')[0]}.{named[1]}"
    return whole if SOURCE.joinpath(*whole.split(".")).with_suffix(".py").is_file() else None


def _linked(code: str, module: str) -> str:
    if (place := _module(code, module)) is not None:
        return f"[`{place.partition('.')[2]}`][{place}]"
    name = _NAME.fullmatch(code)
    if name is None or name[1] not in LINKED:
        return code
    return f"[`{code.strip('`')}`][{LINKED[name[1]]}{name[2]}]"
