"""An exception at every line of a call: what Ctrl-C, a signal's time-out or a MemoryError can leave behind."""

from __future__ import annotations

import dis
import gc
import random
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
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
    were: a test asks that there were some. Where a ``with`` calls the exit of its lock is no place: no signal is looked
    at between its last line and that call.

    All of it runs in a thread of its own: what Python leaves behind where a tracer raises in the exit of a ``with``, an
    exception that its thread goes on handling, ends with that thread.
    """

    def every_place() -> int:
        place = every
        while True:
            subject = make()
            if not _interrupted(lambda subject=subject: act(subject), place, error, opcodes):  # type: ignore[misc]
                return place - 1
            check(subject)
            place += every

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(every_place).result()


def _interrupted(act: Callable[[], object], place: int, error: type[BaseException], opcodes: bool) -> bool:
    """Whether ``act`` had so many places, and was interrupted at the last of them."""
    left, event_of_interest = place, "opcode" if opcodes else "line"
    fired = False

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(_SOURCE):
            return None
        frame.f_trace_opcodes = opcodes
        leaving = _leaving(frame.f_code)  # once for a call: to find it takes longer than a line

        def inside(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal left, fired
            if event == event_of_interest and not fired and frame.f_lasti not in leaving:
                left -= 1
                if not left:
                    fired = True
                    raise error("interrupted by the test")
            return inside

        return inside

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


@cache
def _leaving(code: CodeType) -> frozenset[int]:
    """Where a ``with`` is left as planned: None three times, and the call of its exit."""
    found, seen = set[int](), list[dis.Instruction]()
    for instruction in dis.get_instructions(code):
        if instruction.opname == "CALL":
            last = [one for one in seen[-5:] if one.opname not in ("PRECALL", "CACHE")][-3:]
            nothing = [one for one in last if one.opname == "LOAD_CONST" and one.argval is None]
            if instruction.arg == 2 and len(nothing) == 3:
                before = seen[seen.index(last[0]) - 1]  # what is returned from inside is put out of the way
                begin = before if before.opname == "SWAP" else last[0]
                found.update(range(begin.offset, instruction.offset + 1))
        if instruction.opname == "NOP":  # where a ``try`` begins, which no handler covers
            found.add(instruction.offset)
        seen.append(instruction)
    return frozenset(found)


def interrupt_by_signal(
    make: Callable[[], Subject],
    act: Callable[[Subject], object],
    check: Callable[[Subject], None],
    *,
    times: int,
    within: float,
    seed: int = 1,
) -> int:
    """Interrupt ``act`` by a real signal, each time after another part of ``within`` seconds; ``check`` what it leaves.

    Says how often the signal came. For the main thread alone: nobody else gets signals. Nothing is collected meanwhile:
    an exception in what others have hung on the collector would be lost.
    """

    armed = False

    def stop(number: int, frame: object) -> None:
        nonlocal armed
        if armed:  # another thread of the process may take a signal, and then it comes late
            armed = False
            raise KeyboardInterrupt("interrupted by the test")

    chance, came = random.Random(seed), 0
    before, collects = signal.signal(signal.SIGALRM, stop), gc.isenabled()
    gc.disable()
    try:
        for _ in range(times):
            subject = make()
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-6, within))
                act(subject)
                armed = False
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                came += 1
            check(subject)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if collects:
            gc.enable()
    return came
