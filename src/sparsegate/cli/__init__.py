"""The command line, `sparsegate`: one file per sub-command, each of which parses, calls and prints."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # what loads here loads before Ctrl-C is heard
    from typing import NoReturn


def main() -> None:
    """Run the command line: a refusal is one line and exit code 2, Ctrl-C is one line and exit code 130.

    SIGTERM, and SIGHUP where it was not ignored before, end the process as they would have, after what is open was
    closed. While modules load, Ctrl-C ends it at once: nothing is open, and an exception could surface anywhere, in the
    middle of a library's own import or where Python can only print it.
    """
    try:
        import signal

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _leave)
    except ValueError:  # in a thread: it is not ours to hear
        pass
    except (KeyboardInterrupt, RuntimeError):  # while that was loaded
        _leave()
    from sparsegate.cli.console import run

    run()


def loaded() -> None:
    """From here on Ctrl-C is an exception: something may be open, or paid for."""
    import signal

    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: object) -> "NoReturn":
    try:  # noqa: SIM105 - contextlib would have to be loaded first
        os.write(2, b"sparsegate: interrupted, nothing was spent\n")
    except OSError:  # there is nobody to speak to
        pass
    os._exit(130)
