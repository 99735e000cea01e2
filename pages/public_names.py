"""The public names, read from the source: what has no docstring, and what has no example."""

from __future__ import annotations

import ast
import builtins
import doctest
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import griffe

from pages.docstrings import as_markdown, parameters

SOURCE = Path(__file__).parents[1] / "src"
ROOMS = ("sparsegate", "sparsegate.privacy", "sparsegate.evaluation", "sparsegate.testing")


class PublicNames(griffe.Extension):
    """For mkdocstrings: docstrings as Markdown, and a function where a module of the same name hides it."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Show functions in front of modules: `sparsegate.auditor.audit` is both, and the function is public."""
        for room in ROOMS:
            module = pkg if room == pkg.path else pkg[room.removeprefix(f"{pkg.path}.")]
            for name in exported(module):
                target = _target(module, name)
                module.members[name] = griffe.Alias(name, target, parent=module)
                _hide_private_parameters(target)


@cache
def source() -> griffe.Module:
    """The package as it is written."""
    loaded = griffe.load("sparsegate", search_paths=[SOURCE])
    assert isinstance(loaded, griffe.Module)
    return loaded


def exported(module: griffe.Module) -> list[str]:
    """The names of `__all__`."""
    return [str(name).strip("'\"") for name in module.exports or ()]


def public_names(package: griffe.Module) -> Iterator[tuple[str, griffe.Object]]:
    """Every public name as it is imported, `sparsegate.privacy.loss`, and what it is."""
    for room in ROOMS:
        module = package if room == package.path else package[room.removeprefix(f"{package.path}.")]
        for name in exported(module):
            yield f"{room}.{name}", _target(module, name)


def undocumented(package: griffe.Module) -> Iterator[str]:
    """What a reader may use and cannot read about: names, methods, and fields that their class does not mention.

    Also parameters that are explained and not there.
    """
    for name, found in public_names(package):
        if found.docstring is None:
            yield f"{name} has no docstring"
        elif isinstance(found, griffe.Class):
            yield from (f"{name}.{member} has no docstring" for member in _unsaid(found))
        if strange := _strange(found):
            yield f"{name} has no parameter {', '.join(sorted(strange))}"


def without_example(package: griffe.Module) -> Iterator[str]:
    """Public names without an example, and examples that use a name which a reader who pastes them does not have."""
    for name, found in public_names(package):
        code = example(found.docstring)
        if not code:
            yield f"{name} has no example"
        if unknown := free_names(code):
            yield f"{name} uses {', '.join(sorted(unknown))}"


def example(docstring: griffe.Docstring | None) -> str:
    """The code of the examples of a docstring."""
    parsed = doctest.DocTestParser().get_examples("" if docstring is None else docstring.value)
    return "".join(each.source for each in parsed)


def free_names(code: str) -> set[str]:
    """The names that code reads and neither binds nor has from Python."""
    bound, read = set(dir(builtins)), set[str]()
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Name(id=name, ctx=context):
                (read if isinstance(context, ast.Load) else bound).add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.arg(arg=name):
                bound.add(name)
            case ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                bound |= {alias.asname or alias.name.partition(".")[0] for alias in names}
    return read - bound


def _target(module: griffe.Module, name: str) -> griffe.Object:
    found = _final(module.members[name])  # a module, where a function has a file of its name
    return _final(found.members[name]) if isinstance(found, griffe.Module) else found


def _final(member: griffe.Object | griffe.Alias) -> griffe.Object:
    return member.final_target if isinstance(member, griffe.Alias) else member


def _hide_private_parameters(found: griffe.Object) -> None:
    """Leave out of a signature what only the library itself passes."""
    made_by = found.members.get("__init__")
    if isinstance(made_by, griffe.Function):
        public = [each for each in made_by.parameters if not each.name.startswith("_")]
        made_by.parameters = griffe.Parameters(*public)


def _unsaid(found: griffe.Class) -> Iterator[str]:
    """The public members of a class, inherited ones too, that no docstring is about."""
    about = "\n\n".join(each.docstring.value for each in (found, *found.mro()) if each.docstring is not None)
    for name, member in found.all_members.items():
        target = _final(member)
        if name.startswith("_") or target.docstring is not None:
            continue
        # A field may be told of in its class's own words.
        if not (target.is_attribute and (name in parameters(about) or re.search(rf"`{name}\b", about))):
            yield name


def _strange(found: griffe.Object) -> set[str]:
    """The parameters that are explained and that neither the function nor the class takes."""
    if found.docstring is None or not isinstance(found, griffe.Class | griffe.Function):
        return set()
    if any(each.kind is griffe.ParameterKind.var_keyword for each in found.parameters):
        return set()  # options that another function names
    return set(parameters(found.docstring.value)) - {each.name for each in found.parameters}
