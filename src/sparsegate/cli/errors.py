"""Errors in the words of the command line: `--max-items-per-user 3` for what Python calls `max_items_per_user=3`.

The rooms below speak Python, whose names the options have. So each name that an error gives to a parameter becomes the
option of that name, if the command has one. What the caller typed is repeated as it was typed.

What an exit code of `sparsegate` means, and what it reads of the environment: for the manual and the site.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from sparsegate.errors import ParameterError, SparsegateError

_ASSIGNED = re.compile(
    r"""\b(?P<name>[a-z]\w*)=(?P<value>"[^"\s]*"|'[^'\s]*'|\([^()]*\)|[^\s,;:="'()]*[^\s,;:="'().])?"""
)
_ALONE = re.compile(r"(?P<before>\b(?:without|given with|leave) )(?P<name>[a-z]+)\b(?![=_])")
_LONG = re.compile(r"(?<![\w.-])[a-z]+(?:_[a-z]+)+(?![\w(.=])")


class Interrupted(BaseException):
    """Ctrl-C, under a name that typer lets through with its text."""


def in_options(text: str, options: Mapping[str, str]) -> str:
    """A text about parameters as one about options.

    >>> options = {"max_items": "--max-items", "domain": "--domain"}
    >>> in_options('pass max_items=3, or domain="observed"; max_items is new', options)
    'give --max-items 3, or --domain observed; --max-items is new'
    """

    def assigned(found: re.Match[str]) -> str:
        option, value = options.get(found["name"]), (found["value"] or "").strip("\"'")
        if value.startswith("("):
            value = value.strip("()").replace(", ", ",")
        # What is left in quotes has blanks in it, and needs them.
        quoted = found.string[found.end() :].startswith(("'", '"'))
        return found[0] if option is None else f"{option} {value}" if value or quoted else option

    named = _LONG.sub(lambda found: options.get(found[0], found[0]), _ASSIGNED.sub(assigned, text))
    named = _ALONE.sub(lambda found: found["before"] + options.get(found["name"], found["name"]), named)
    return re.sub(r"\bpass\b", "give", named)


def refusal(error: SparsegateError, options: Mapping[str, str]) -> str:
    """What a command says of an error: one line."""
    text = str(error)
    if isinstance(error, ParameterError):
        begin, end = f"{error.parameter} {error.rule}", f"; {error.next_step}" if error.next_step else ""
        given = text.removeprefix(begin).removesuffix(end)
        named = options.get(error.parameter, error.parameter)
        text = f"{named} {in_options(error.rule, options)}{given}{in_options(end, options)}"
    else:
        text = in_options(text, options)
    return " ".join(text.split())


def misuse(error: BaseException) -> str | None:
    """What is said of a command that cannot be read; "" where its help was printed; None of any other error.

    Typer's own way to say it is a box of five lines.
    """
    if not hasattr(error, "format_message"):
        return None
    if type(error).__name__ == "NoArgsIsHelpError":
        return ""
    said = error.format_message()
    context = getattr(error, "ctx", None)
    step = "" if context is None else f" See `{context.command_path} --help`."
    return f"{said if said.endswith(('.', '?')) else f'{said}.'}{step}"


def speak(command: Any) -> None:
    """Let a command, and each of its sub-commands, say its refusals in its own words."""
    for part in getattr(command, "commands", {}).values():
        speak(part)
    if command.callback is not None:
        command.callback = _spoken(command.callback, options_of(command))


def options_of(command: Any) -> dict[str, str]:
    """The long options of a command by the name of their parameter, and by their own name in Python's spelling."""
    found: dict[str, str] = {}
    for parameter in command.params:
        long = [option for option in parameter.opts if option.startswith("--")]
        if long:
            found |= dict.fromkeys([parameter.name, long[0].lstrip("-").replace("-", "_")], long[0])
    return found


def _spoken(callback: Callable[..., Any], options: Mapping[str, str]) -> Callable[..., Any]:
    @functools.wraps(callback)
    def speaking(*given: Any, **named: Any) -> Any:
        try:
            return callback(*given, **named)
        except KeyboardInterrupt as stopped:
            raise Interrupted(*stopped.args) from None
        except SparsegateError as error:
            said = refusal(error, options)
        raise SparsegateError(said) from None

    return speaking


EXIT_CODES: Final = {
    "0": "What was asked is done.",
    "1": (
        "It is done, and what was checked does not hold: `audit` proved a leak, `theorems` measured another verdict "
        "than the documented one, a self-check of `reproduce` is not met. Also: whoever read standard output left "
        "before its end."
    ),
    "2": "It was refused: an option, a file, a ledger or the budget. One line on standard error says what to do.",
    "130": "Ctrl-C. One line on standard error says what was spent, where something can be.",
    "143, 129": "SIGTERM, SIGHUP: ended by the signal, after what was open was closed.",
}

ENVIRONMENT: Final = {
    "SPARSEGATE_SERVE_NAME": (
        "The option NAME of `sparsegate serve`, such as SPARSEGATE_SERVE_PORT=8460. An option on the command line "
        "comes first. A password in the URL of a database belongs here and not there."
    ),
    "SPARSEGATE_WEBHOOK": "`--webhook` of `sparsegate watch`.",
    "NO_COLOR": "If it is not empty: no colours.",
    "COLUMNS": "How wide tables and the help are; else as wide as the terminal, and 80 where there is none.",
}
