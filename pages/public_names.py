"""The public names, read from the source: what has no docstring, and what has no example."""

from __future__ import annotations

import ast
import builtins
import doctest
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import griffe

from pages.docstrings import SOURCE, as_markdown, modules, parameters, with_fields

_MANY = (griffe.ParameterKind.var_positional, griffe.ParameterKind.var_keyword)
ROOMS = (
    "sparsegate",
    "sparsegate.privacy",
    "sparsegate.paper",
    "sparsegate.testing",
    "sparsegate.uses",
    "sparsegate.variants",
)


class PublicNames(griffe.Extension):
    """For mkdocstrings: docstrings as Markdown, and public names as they are used."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Show docstrings as Markdown, fields as a list, signatures without what is private, functions before modules.

        `sparsegate.auditor.audit` is a function and the module it is in: the function is public.
        """
        for found in _all_objects(pkg):
            if found.docstring is not None:
                found.docstring.value = as_markdown(found.docstring.value, found.module.path)
        for found in _all_objects(pkg):
            if isinstance(found, griffe.Class):
                _list_fields(found)
            elif isinstance(found, griffe.Function):
                _show_signature(found)
            elif isinstance(found, griffe.Attribute) and " for " in str(found.value):
                found.value = None  # how a table is put together is not what it is
        for room in ROOMS:
            module = _room(pkg, room)
            for name in exported(module):
                module.members[name] = griffe.Alias(name, _target(module, name), parent=module)


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
        module = _room(package, room)
        for name in exported(module):
            yield f"{room}.{name}", _target(module, name)


def undocumented(package: griffe.Module, *, besides: Iterable[str] = ()) -> Iterator[str]:
    """What a reader may use and cannot read about: names, methods, and fields that their class does not mention.

    Also parameters that no word is about, and those that are explained and not there. ``besides`` are classes without
    a public name, which nobody makes by hand.
    """
    named = dict(public_names(package))
    shown = {**named, **{path: _final(package[path.partition(".")[2]]) for path in besides}}
    for name, found in shown.items():
        if found.docstring is None:
            yield f"{name} has no docstring"
        elif isinstance(found, griffe.Class):
            yield from (f"{name}.{member} has no docstring" for member in _unsaid(found, shown))
        if name in named and found.docstring is not None and (silent := _silent(found, named)):
            yield f"{name} says nothing about {', '.join(silent)}"
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


def mentioned_modules(package: griffe.Module, *, besides: Iterable[str] = ()) -> list[str]:
    """The modules that docstrings of public names, and of these besides, refer to, and those that theirs refer to."""
    shown = [found for _, found in public_names(package)] + [package[path.partition(".")[2]] for path in besides]
    told = {name for found in shown for each in _shown(found) for name in _modules(each)}
    known: set[str] = set()
    while more := told - known:
        known |= more
        told = {name for path in more for name in _modules(_final(package[path.partition(".")[2]]))}
    return sorted(known)


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


def _shown(found: griffe.Object | griffe.Alias) -> Iterator[griffe.Object]:
    """An object and its public members."""
    yield _final(found)
    yield from (_final(each) for name, each in found.all_members.items() if not name.startswith("_"))


def _modules(found: griffe.Object) -> set[str]:
    return set() if found.docstring is None else modules(found.docstring.value, found.module.path)


def _target(module: griffe.Module, name: str) -> griffe.Object:
    found = _final(module.members[name])  # a module, where a function has a file of its name
    return _final(found.members[name]) if isinstance(found, griffe.Module) else found


def _final(member: griffe.Object | griffe.Alias) -> griffe.Object:
    return member.final_target if isinstance(member, griffe.Alias) else member


def _room(package: griffe.Module, room: str) -> griffe.Module:
    found = package if room == package.path else package[room.removeprefix(f"{package.path}.")]
    assert isinstance(found, griffe.Module)
    return found


def _all_objects(parent: griffe.Object) -> Iterator[griffe.Object]:
    for member in parent.members.values():
        if isinstance(member, griffe.Object):
            yield member
            yield from _all_objects(member)


def _list_fields(found: griffe.Class) -> None:
    """Move the docstrings of fields into that of their class: a field needs no heading."""
    fields = {
        name: member
        for name, member in found.members.items()
        if isinstance(member, griffe.Attribute) and "instance-attribute" in member.labels
    }
    told = {name: member.docstring.value for name, member in fields.items() if member.docstring is not None}
    if told and found.docstring is not None:
        found.docstring.value = with_fields(found.docstring.value, told)
        for name in told:
            fields[name].docstring = None


def _show_signature(found: griffe.Function) -> None:
    """Leave out what only the library itself passes, and show the value of a default and not its name."""
    public = [each for each in found.parameters if not each.name.startswith("_")]
    for each in public:
        with suppress(KeyError, griffe.AliasResolutionError):  # a value, or a name from elsewhere
            named = _final(found.module.members[str(each.default)])
            if isinstance(named, griffe.Attribute) and named.value is not None:
                each.default = named.value
    found.parameters = griffe.Parameters(*public)


def _unsaid(found: griffe.Class, shown: Mapping[str, griffe.Object]) -> Iterator[str]:
    """The public members of a class, inherited ones too, that neither its docstring nor a shown base is about."""
    known = {each.path for each in shown.values()}
    told = (found, *(base for base in found.mro() if base.path in known))
    about = "\n\n".join(each.docstring.value for each in told if each.docstring is not None)
    for name, member in found.all_members.items():
        target = _final(member)
        if name.startswith("_") or target.docstring is not None:
            continue
        # A field may be told of in its class's own words.
        if not (target.is_attribute and (name in parameters(about) or re.search(rf"`{name}\b", about))):
            yield name


def _silent(found: griffe.Object, named: Mapping[str, griffe.Object]) -> list[str]:
    """The parameters that no word of its docstring is about, nor of one whose parameters it says it shares."""
    if not isinstance(found, griffe.Class | griffe.Function):
        return []
    told, known = "", list[griffe.Object]()
    waiting: list[griffe.Object] = [found, *(found.mro() if isinstance(found, griffe.Class) else [])]
    while waiting:
        known.append(each := waiting.pop())
        text = re.sub(r"^(?:>>>|\.\.\.).*$", "", each.docstring.value if each.docstring else "", flags=re.MULTILINE)
        told += text
        shared = {name.rpartition(".")[2] for name in re.findall(r"(?:those of|same as) ``([\w.]+)``", text)}
        other = (one for name, one in named.items() if name.rpartition(".")[2] in shared)
        waiting += [one for one in other if one not in known]
    given = [each.name for each in found.parameters if not each.name.startswith("_") and each.kind not in _MANY]
    fields = {*found.all_members} | {"self"}  # which ``_unsaid`` asks about
    return [name for name in given if name not in fields and not re.search(rf"\b{name}\b", told)]


def _strange(found: griffe.Object) -> set[str]:
    """The parameters that are explained and that neither the function nor the class takes."""
    if found.docstring is None or not isinstance(found, griffe.Class | griffe.Function):
        return set()
    if any(each.kind is griffe.ParameterKind.var_keyword for each in found.parameters):
        return set()  # options that another function names
    return set(parameters(found.docstring.value)) - {each.name for each in found.parameters}
