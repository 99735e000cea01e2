"""Which process is this? Noise drawn ahead dies, and sources take new keys, in the child of every fork.

Two processes that draw the same noise answer neighbouring questions with it, and the difference of the answers is
private data without noise. So everything that holds noise remembers the ``MARK`` of the process it was born in and
compares it before every draw. The mark stands in a page of memory that Linux wipes in the child of a fork, also of one
made outside Python (``MADV_WIPEONFORK``). Elsewhere ``os.register_at_fork`` wipes it, and a fork
behind Python's back is noticed when a source next refills, by the process id.

What no program can notice from inside is a copy of the whole machine: two virtual machines resumed from one snapshot
go on with the same keys, the same noise drawn ahead and the same threshold noise. Make gates after a snapshot.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import threading
from typing import Final

_WIPE_ON_FORK: Final = 18  # <linux/mman.h>; Python's mmap does not name it


def _marked_page() -> memoryview:
    if sys.platform != "linux":
        return memoryview(bytearray(8)).cast("Q")
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a kernel before 4.14
        page.madvise(_WIPE_ON_FORK)
    return memoryview(page).cast("Q")


MARK: Final = _marked_page()
"""``MARK[0]`` is this process's number, or 0 in a child that has not taken one yet."""

_taken = 0
_process = 0
_locks: dict[int, threading.Lock] = {}


def renewal() -> threading.Lock:
    """The lock under which a child renews keys and locks: one that no thread of the parent can hold."""
    return _locks.setdefault(os.getpid(), threading.Lock())


def birthmark() -> int:
    """The mark of this process, for what is born in it."""
    global _taken, _process
    if not MARK[0]:
        with renewal():
            if not MARK[0]:
                _taken, _process = _taken + 1, os.getpid()  # a mark that no ancestor had
                MARK[0] = _taken
    return int(MARK[0])


def check_process() -> None:
    """Wipe the mark where the process id has changed and nobody said so."""
    if os.getpid() != _process:
        _wipe()


def _wipe() -> None:
    MARK[0] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_wipe)
