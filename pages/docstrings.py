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
_MODULE = re.compile(r"``?(?:sparsegate\.)?([a-z_]+(?:\.[a-z_]+)+)``?")
_NAME = re.compile(r"``?(?:sg\.|sparsegate\.)?(\w+)((?:\.\w+)?)``?")
_PAGE = re.compile(r"\bdocs/([\w/-]+)\.md\b")

LINKED = {
    name: f"{room.__name__}.{name}"
    for room in (sparsegate.evaluation, sparsegate.privacy, sparsegate)
    for name in room.__all__
    if re.search(r"[A-Z]|[a-z]_[a-z]|^connect|^laplace", name)
}
"""The public names that mean nothing else: where one stands in code, its place in the reference is meant."""


def parameters(docstring: str) -> list[str]:
    """The names that the section of parameters explains."""
    section = _PARAMETERS.search(docstring + "\n")
    found = _PARAMETER.findall(section[1]) if section else []
    return [name for names in found for name in names.split(", ")]


def as_markdown(docstring: str) -> str:
    """The docstring for the site."""
    text = _EXAMPLE.sub(lambda match: f"```pycon\n{match[0]}\n```", docstring)
    text = _PARAMETERS.sub(lambda match: f"**Parameters**\n\n{_listed(match[1])}", text + "\n").rstrip()
    parts = _CODE.split(text)
    parts[::2] = map(_prose, parts[::2])
    parts[1::2] = map(_linked, parts[1::2])
    return "".join(parts)


def _listed(section: str) -> str:
    items = re.sub(r"\n {4,}", " ", section)
    return _PARAMETER.sub(lambda match: f"- **{match[1]}**: ", items)


def _prose(text: str) -> str:
    """Stars between letters are powers and products, and [] at the end of a proof is its end."""
    text = re.sub(r"(?<=[\w)])\*+(?=[\w(])", lambda match: match[0].replace("*", r"\*"), text)
    text = re.sub(r"(?<=[.)*]) \[\]", " ∎", text)
    return _PAGE.sub(r"[docs/\1.md](../../\1.md)", text)


def modules(docstring: str) -> set[str]:
    """The modules that a docstring refers to, as `mechanisms.bounds`: their docstrings have the theorems."""
    return {name for name in _MODULE.findall(docstring) if _is_module(name)}


def with_fields(markdown: str, fields: Mapping[str, str]) -> str:
    """The text of a class with a list of its fields before its example."""
    listed = "\n".join(f"- **{name}**: {' '.join(text.split())}" for name, text in fields.items())
    text, fence, example = markdown.partition("```pycon\n")
    return f"{text.rstrip()}\n\n**Fields**\n\n{listed}\n\n{fence}{example}".rstrip()


def _is_module(name: str) -> bool:
    return (SOURCE / "sparsegate" / name.replace(".", "/")).with_suffix(".py").is_file()


def _linked(code: str) -> str:
    if (module := _MODULE.fullmatch(code)) and _is_module(module[1]):
        return f"[`{module[1]}`][sparsegate.{module[1]}]"
    name = _NAME.fullmatch(code)
    if name is None or name[1] not in LINKED:
        return code
    return f"[`{code.strip('`')}`][{LINKED[name[1]]}{name[2]}]"
