"""Work that is paid for is finished: Ctrl-C, SIGTERM and SIGHUP wait for it, and are heard when it is kept."""

from __future__ import annotations

import signal
import threading
from types import TracebackType
from typing import Any, Final, Self

_ENDING: Final = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


class PaidWork:
    """A stretch of the main thread in which signals do what they did, until ``pay`` is called, and then wait.

    An engine may turn what a handler raises into an error of its own (SQLite does, where a function of ours is
    running), so at the end a signal that came is heard again. Signals that no handler of Python's has are left alone.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._came: int | None = None
        self._paid = False

    def pay(self) -> None:
        """From here on signals wait."""
        self._paid = True

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _ENDING:
                if callable(signal.getsignal(number)):
                    self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._came is not None and not isinstance(error, KeyboardInterrupt | SystemExit):
            self._before[self._came](self._came, None)

    def _hear(self, number: int, frame: object) -> None:
        self._came = number
        if not self._paid:
            self._before[number](number, frame)
