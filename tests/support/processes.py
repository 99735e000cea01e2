"""Run a function in the child of a fork and bring back what it returned."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable
from typing import Any


def in_forked_child(work: Callable[[], Any]) -> Any:
    """Fork, run ``work`` in the child, and return its result (or its exception) in the parent."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        # From Python 3.12 on a fork with threads about draws a warning; the child here runs one function and ends.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
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
