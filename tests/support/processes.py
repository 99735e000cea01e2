"""Run a function in the child of a fork and bring back what it returned."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any


def fork_behind_pythons_back() -> int:
    """Fork as a C library would: no handler of Python's runs in the child.

    The interpreter's lock is kept meanwhile, and no other thread asks for it: a child in which a thread that is not
    there holds the lock, or is waited for, would stand still for ever.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    child = int(ctypes.PyDLL(None).fork())
    sys.setswitchinterval(before)
    return child


def in_forked_child(work: Callable[[], Any], fork: Callable[[], int] = os.fork, seconds: int = 60) -> Any:
    """Fork, run ``work`` in the child, and return its result (or its exception) in the parent.

    A child that takes longer than ``seconds`` is killed by its alarm, and the parent's read fails.
    """
    read, write = os.pipe()
    with warnings.catch_warnings():
        # From Python 3.12 on a fork with threads about draws a warning; the child here runs one function and ends.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        try:
            result = work()
        except BaseException as error:
            result = error
        with os.fdopen(write, "wb") as pipe:
            pickle.dump(result, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        result = pickle.load(pipe)
    os.waitpid(child, 0)
    return result
