"""An exception at every line of a call: what Ctrl-C, a signal's time-out or a MemoryError can leave behind."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import sparsegate

Subject = TypeVar("Subject")
_SOURCE = str(Path(sparsegate.__file__).parent)


def interrupt_everywhere(
    make: Callable[[], Subject],
    act: Callable[[Subject], object],
    check: Callable[[Subject], None],
    *,
    error: type[BaseException] = KeyboardInterrupt,
    opcodes: bool = False,
    every: int = 1,
) -> int:
    """Interrupt ``act`` at its first line inside the library, then at its second, ...; ``check`` what each leaves.

    ``make`` gives a new subject each time. With ``opcodes`` the places are those between two instructions, where a real
    signal arrives; ``every`` takes each n-th place. Ends when ``act`` meets no more places, and says how many there
    were: a test asks that there were some.
    """
    place = every
    while True:
        subject = make()
        if not _interrupted(lambda subject=subject: act(subject), place, error, opcodes):  # type: ignore[misc]
            return place - 1
        check(subject)
        place += every


def _interrupted(act: Callable[[], object], place: int, error: type[BaseException], opcodes: bool) -> bool:
    """Whether ``act`` had so many places, and was interrupted at the last of them."""
    left, event_of_interest = place, "opcode" if opcodes else "line"
    fired = False

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left, fired
        if not frame.f_code.co_filename.startswith(_SOURCE):
            return None
        frame.f_trace_opcodes = opcodes
        if event == event_of_interest and not fired:
            left -= 1
            if not left:
                fired = True
                raise error("interrupted by the test")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    except error:
        if not fired:
            raise
    finally:
        sys.settrace(before)
    return fired
