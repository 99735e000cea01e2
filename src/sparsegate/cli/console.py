"""One run of the command line: what its signals, its refusals and a full or closed standard output end in."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from sparsegate.cli import loaded
from sparsegate.cli.errors import Interrupted, misuse
from sparsegate.errors import SparsegateError


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
    before = {number: signal.signal(number, _end) for number in _ENDING if alone and _heard(number)}
    shown, warnings.formatwarning = warnings.formatwarning, _one_line
    try:
        # Here, not above: typer and rich are heavy, and Ctrl-C may come while they load.
        from sparsegate.cli.app import app

        with _watched_output():
            code = app(prog_name="sparsegate", standalone_mode=False) or 0
            loaded()
            if sys.stdout is not None:
                sys.stdout.flush()
        if code == 130:
            _say("interrupted, nothing was spent")  # while the words were read: later on it is an Interrupted
        sys.exit(code)
    except SparsegateError as error:
        _say(str(error))
        sys.exit(2)
    except (BrokenPipeError, Unwritable) as error:
        if error.errno == errno.EPIPE:  # whoever read it has left
            sys.exit(1)
        _say(f"standard output cannot be written: {error.strerror}; give it a file or a terminal that takes it")
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
        loaded()
        warnings.formatwarning = shown
        for number, handler in before.items():
            signal.signal(number, handler)


def give_up_output() -> None:
    """Let standard output lead nowhere: what is still in its buffer would fail again when Python ends."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
