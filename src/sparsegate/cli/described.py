"""What there is to say about a command, read from the command once: for `--help`, for the manual and for the site."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from sparsegate.cli.panels import PANELS

ARGUMENTS: Final = "Arguments"
_VALUES: Final = {int: "N", float: "NUMBER"}
"""What an option takes, where it has no word of its own for that; texts and paths have one."""


@dataclass(frozen=True, kw_only=True)
class DescribedOption:
    """An option, or an argument: `-c, --count N`, what it is for, and what holds where it is left out."""

    short: str
    long: str
    value: str
    help: str
    notes: tuple[str, ...]
    required: bool

    @property
    def names(self) -> str:
        """All its names, and its value."""
        names = ", ".join(name for name in (self.short, self.long) if name)
        return f"{names} {self.value}".strip()

    @property
    def sentence(self) -> str:
        """Its help, and the notes in brackets."""
        return " ".join([self.help, *(f"[{note}]" for note in self.notes)]).strip()


@dataclass(frozen=True, kw_only=True)
class DescribedCommand:
    """A command: how it is called, what it does, its options in their groups, and the commands below it."""

    words: str
    paragraphs: tuple[str, ...]
    panels: Mapping[str, tuple[DescribedOption, ...]] = field(default_factory=dict)
    below: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    alone: bool = True

    @property
    def name(self) -> str:
        """As it is typed."""
        return f"sparsegate {self.words}".strip()

    @property
    def usage(self) -> str:
        """Its arguments, the options that it needs, and a word for the others.

        >>> from sparsegate.cli.app import described
        >>> described("token revoke").usage
        'sparsegate token revoke NAME --ledger FILE|URL'
        """
        parts = [self.name]
        parts += [one.value if one.required else f"[{one.value}]" for one in self.panels.get(ARGUMENTS, ())]
        options = [one for title, group in self.panels.items() if title != ARGUMENTS for one in group]
        parts += [f"{one.long} {one.value}" for one in options if one.required]
        parts += ["[OPTIONS]"] if any(not one.required for one in options) else []
        if self.below:
            parts.append("[COMMAND]" if self.alone else "COMMAND")
        return " ".join(parts)


def describe(command: Any, words: str, below: Mapping[str, Mapping[str, str]] | None = None) -> DescribedCommand:
    """Say all about a command that has these ``words`` after `sparsegate`; ``below`` is what a list says of others."""
    hints = {} if command.callback is None else get_type_hints(command.callback, include_extras=True)
    shown = {one.name: _option(one, hints.get(one.name)) for one in command.params if not getattr(one, "hidden", False)}
    arguments = tuple(shown[one.name] for one in command.params if one.param_type_name == "argument")
    panels = {ARGUMENTS: arguments} if arguments else {}
    for title, names in PANELS.get(words, {}).items():
        panels[title] = tuple(shown[name] for name in names if name in shown)
    if below is None and (parts := getattr(command, "commands", {})):
        below = {"Commands": {name: first_sentence(part.help or "") for name, part in parts.items()}}
    return DescribedCommand(
        words=words,
        paragraphs=tuple(" ".join(part.split()) for part in inspect.cleandoc(command.help or "").split("\n\n")),
        panels=panels,
        below=below or {},
        alone=getattr(command, "invoke_without_command", False),
    )


def first_sentence(text: str) -> str:
    """What a list of commands says of one.

    >>> first_sentence("Raise the budget, on record. A budget is never lowered.")
    'Raise the budget, on record.'
    """
    (first, *_) = inspect.cleandoc(text).split("\n\n")
    return re.split(r"(?<=[.?]) (?=[A-Z])", " ".join(first.split()))[0]


def _option(parameter: Any, hint: Any) -> DescribedOption:
    kind, info = _kind(hint)
    value = parameter.metavar or ("" if kind is bool else _VALUES.get(kind, ""))
    if parameter.param_type_name == "argument":
        short, long = "", ""
    else:
        long = "/".join(name for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("--"))
        short = next((name for name in parameter.opts if not name.startswith("--")), "")
    return DescribedOption(
        short=short,
        long=long,
        value=value,
        help=" ".join((parameter.help or "").split()),
        notes=tuple(_notes(parameter, info, flag=kind is bool)),
        required=parameter.required,
    )


def _kind(hint: Any) -> tuple[Any, Any]:
    """The type of one value, and what typer was told of it."""
    info = None
    while (origin := get_origin(hint)) is not None:
        if origin is Annotated:
            info = hint.__metadata__[0]
        hint = next(part for part in get_args(hint) if part is not NoneType)
    return hint, info


def _notes(parameter: Any, info: Any, *, flag: bool) -> Iterator[str]:
    least, most = getattr(info, "min", None), getattr(info, "max", None)
    if least is not None:
        yield f"{least:g} to {most:g}" if most is not None else f"{least:g} or more"
    if parameter.envvar and parameter.show_envvar:
        yield f"environment: {parameter.envvar}"
    if parameter.required and parameter.param_type_name == "option":
        yield "required"
    elif isinstance(parameter.show_default, str):
        yield f"default: {parameter.show_default}"
    elif parameter.show_default and not flag and parameter.default not in (None, [], ()):
        default = parameter.default
        yield f"default: {default:g}" if isinstance(default, float) else f"default: {default}"
