"""One run of the command line: what its signals, its refusals and a full or closed standard output end in."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, Final, NoReturn

from sparsegate.cli import loaded
from sparsegate.errors import ParameterError, SparsegateError

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
    "SPARSEGATE_TOKEN": "The token that `sparsegate mcp --service` sends, where there is no --token-file.",
    "SPARSEGATE_MCP_TOKEN": "What clients of `sparsegate mcp --http` must send; where it is not set, nothing.",
    "NO_COLOR": "If it is not empty: no colours.",
    "COLUMNS": "How wide tables and the help are; else as wide as the terminal, and 80 where there is none.",
}


class Interrupted(BaseException):
    """Ctrl-C, under a name that typer lets through with its text."""


def in_options(command: Any) -> Callable[..., Any]:
    """The function of a command; what it refuses names options where Python has parameters."""
    callback = command.callback
    options = {each.name: name for each in command.params for name in each.opts if name.startswith("--")}
    if "input_format" in options:
        options["format"] = options["input_format"]  # as the library calls it

    @wraps(callback)
    def run(*values: Any, **named: Any) -> Any:
        try:
            return callback(*values, **named)
        except KeyboardInterrupt as stopped:
            raise Interrupted(*stopped.args) from None
        except SparsegateError as error:
            text = refusal(error, options)
        raise SparsegateError(text) from None

    return run


def refusal(error: SparsegateError, options: Mapping[str, str]) -> str:
    """An error that names options where Python has parameters; a value is repeated as it was typed.

    >>> error = ParameterError("epsilon", "must be positive", -1, "pass epsilon=0.5 as usual")
    >>> refusal(error, {"epsilon": "--epsilon"})
    '--epsilon must be positive, got -1; pass --epsilon 0.5 as usual'
    """
    if not isinstance(error, ParameterError):
        return _with_options(str(error), options)
    step = f"; {error.next_step}" if error.next_step else ""
    value = str(error).removeprefix(f"{error.parameter} {error.rule}").removesuffix(step)
    name = options.get(error.parameter, error.parameter)
    return f"{name} {_with_options(error.rule, options)}{value}{_with_options(step, options)}"


def _with_options(text: str, options: Mapping[str, str]) -> str:
    """The text with `--name value` for each word `name=value` that is an option."""
    words = []
    for word in text.split(" "):
        name, equals, value = word.partition("=")
        known = bool(equals) and name in options
        words.append(options[name] + (value if value in ("", ",", ";") else f" {value}") if known else word)
    return " ".join(words)


def misuse(error: BaseException) -> str | None:
    """What is said of words that are no command; "" where its help was printed; None of any other error."""
    if not hasattr(error, "format_message"):
        return None
    if type(error).__name__ == "NoArgsIsHelpError":
        return ""
    text, context = error.format_message(), getattr(error, "ctx", None)
    step = "" if context is None else f" See `{context.command_path} --help`."
    return f"{text if text.endswith(('.', '?')) else f'{text}.'}{step}"


class _Ended(SystemExit):
    """A signal that ends the process, as an exception: folders of temporary data go on the way out."""


class Unwritable(OSError):
    """Standard output cannot be written."""


class _Output(io.TextIOWrapper):
    """Standard output whose failures can be told from those of other files. A closed pipe is told by Python itself."""

    def write(self, text: str, /) -> int:
        with _told():
            return super().write(text)

    def flush(self) -> None:
        with _told():
            super().flush()


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Unwritable(error.errno, error.strerror) from None


@contextmanager
def _watched_output() -> Iterator[None]:
    before = sys.stdout
    if not isinstance(before, io.TextIOWrapper):
        yield
        return
    before.flush()
    same: Any = {"encoding": before.encoding, "errors": before.errors, "line_buffering": before.line_buffering}
    sys.stdout = watched = _Output(before.buffer, **same, write_through=before.write_through)
    try:
        yield
    except (BrokenPipeError, Unwritable):
        give_up_output()
        raise
    finally:
        sys.stdout = before
        watched.detach()


def run() -> None:
    """What ``sparsegate.cli.main`` does once Ctrl-C is heard."""
    if sys.stderr is None:  # as after `2>&-`: there is nobody to speak to
        sys.stderr = io.StringIO()
    for stream in (sys.stdout, sys.stderr):  # where there is no ε, its number is better than a traceback
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    alone = threading.current_thread() is threading.main_thread()
    heard = [number for number in _ENDING if alone and signal.getsignal(number) is not signal.SIG_IGN]  # as by nohup
    before = {number: signal.signal(number, _end) for number in heard}
    shown, warnings.formatwarning = warnings.formatwarning, lambda message, *_, **__: f"sparsegate: {message}\n"
    text, code = "", 0
    try:
        # Here, not above: typer and rich are heavy, and Ctrl-C may come while they load.
        from sparsegate.cli.app import app

        with _watched_output():
            code = app(prog_name="sparsegate", standalone_mode=False) or 0
            loaded()
            if sys.stdout is not None:
                sys.stdout.flush()
        if code == 130:  # while the words were read: later on it is an Interrupted
            text = "interrupted, nothing was spent"
    except SparsegateError as error:
        text, code = str(error), 2
    except (BrokenPipeError, Unwritable) as error:
        text, code = (
            f"standard output cannot be written: {error.strerror}; give it a file or a terminal that takes it",
            2,
        )
        if error.errno == errno.EPIPE:  # whoever read it has left
            text, code = "", 1
    except BaseException as error:
        # Python wraps what is raised while a class is made, and a library is loading for much of the time.
        stopped = error.__cause__ if isinstance(error, RuntimeError) else error
        if isinstance(stopped, KeyboardInterrupt):  # before the sub-command ran: there it becomes an Interrupted
            text, code = "interrupted, nothing was spent", 130
        elif isinstance(stopped, Interrupted):
            text, code = str(stopped) or "interrupted", 130
        elif (misused := misuse(error)) is not None:
            text, code = misused, 2
        elif isinstance(stopped, _Ended):
            signal.signal(int(stopped.code or 0), signal.SIG_DFL)
            signal.raise_signal(int(stopped.code or 0))
        else:
            raise
    finally:
        loaded()
        warnings.formatwarning = shown
        for number, handler in before.items():
            signal.signal(number, handler)
    if text:
        with suppress(OSError):  # the terminal may be gone
            sys.stderr.write(f"sparsegate: {' '.join(text.split())}\n")
    sys.exit(code)


def give_up_output() -> None:
    """Let standard output lead nowhere: what is still in its buffer would fail again when Python ends."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end(number: int, _: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # a second one must not cut the cleaning short
    raise _Ended(number)


_ENDING = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
