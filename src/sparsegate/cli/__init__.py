"""The command line, `sparsegate`: one file per sub-command, each of which parses, calls and prints."""

from __future__ import annotations

import io
import signal
import sys
import threading
import warnings
from contextlib import suppress
from typing import NoReturn

from sparsegate.cli.wording import Interrupted, misuse
from sparsegate.errors import SparsegateError


class _Ended(SystemExit):
    """A signal that ends the process, as an exception: folders of temporary data go on the way out."""


def main() -> None:
    """Run the command line: a refusal is one line and exit code 2, Ctrl-C is one line and exit code 130.

    SIGTERM, and SIGHUP where it was not ignored before, end the process as they would have, after what is open was
    closed.
    """
    if sys.stderr is None:  # as after `2>&-`: there is nobody to speak to
        sys.stderr = io.StringIO()
    for stream in (sys.stdout, sys.stderr):  # where there is no ε, its number is better than a traceback
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    alone = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, _end) for number in _ENDING if alone and _heard(number)}
    shown, warnings.formatwarning = warnings.formatwarning, _one_line
    try:
        # Here, not above: typer and rich are heavy, and Ctrl-C may come while they load.
        from sparsegate.cli.app import app

        if (code := app(prog_name="sparsegate", standalone_mode=False) or 0) == 130:
            _say("interrupted, nothing was spent")  # while the words were read: later on it is an Interrupted
        sys.exit(code)
    except SparsegateError as error:
        _say(str(error))
        sys.exit(2)
    except BaseException as error:
        # Python wraps what is raised while a class is made, and a library is loading for much of the time.
        stopped = error.__cause__ if isinstance(error, RuntimeError) else error
        if isinstance(stopped, KeyboardInterrupt):  # before the sub-command ran: there it becomes an Interrupted
            _say("interrupted, nothing was spent")
            sys.exit(130)
        if isinstance(stopped, Interrupted):
            _say(str(stopped) or "interrupted")
            sys.exit(130)
        if (misused := misuse(error)) is not None:
            if misused:
                _say(misused)
            sys.exit(2)
        if not isinstance(stopped, _Ended):
            raise
        number = int(stopped.code or 0)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    finally:
        warnings.formatwarning = shown
        for number, handler in before.items():
            signal.signal(number, handler)


def _heard(number: signal.Signals) -> bool:
    return signal.getsignal(number) is not signal.SIG_IGN  # nohup ignores SIGHUP


def _say(text: str) -> None:
    with suppress(OSError):  # the terminal may be gone
        sys.stderr.write(f"sparsegate: {' '.join(text.split())}\n")


def _one_line(message: Warning | str, *_: object, **__: object) -> str:
    return f"sparsegate: {message}\n"


def _end(number: int, _: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # a second one must not cut the cleaning short
    raise _Ended(number)


_ENDING = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
