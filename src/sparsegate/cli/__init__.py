"""The command line, `sparsegate`: one file per sub-command, each of which parses, calls and prints."""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from typing import NoReturn

from sparsegate.errors import SparsegateError


class _Terminated(SystemExit):
    """SIGTERM, as an exception: folders of temporary data go on the way out."""


def main() -> None:
    """Run the command line: a refusal is one line and exit code 2, Ctrl-C is silent and exit code 130.

    SIGTERM ends the process as it would have, after what is open was closed.
    """
    alone = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, _terminate) if alone else None
    shown, warnings.formatwarning = warnings.formatwarning, _one_line
    try:
        # Here, not above: typer and rich are heavy, and Ctrl-C may come while they load.
        from sparsegate.cli.app import app

        app(prog_name="sparsegate")
    except SparsegateError as error:
        sys.stderr.write(f"sparsegate: {' '.join(str(error).split())}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except _Terminated:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTERM)
    finally:
        warnings.formatwarning = shown
        if alone:
            signal.signal(signal.SIGTERM, before)


def _one_line(message: Warning | str, *_: object, **__: object) -> str:
    return f"sparsegate: {message}\n"


def _terminate(number: int, _: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # a second one must not cut the cleaning short
    raise _Terminated(128 + number)
