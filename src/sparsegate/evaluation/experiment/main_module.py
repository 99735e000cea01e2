"""Workers that do not run the user's script again.

A spawned process imports the main module of its parent before it does anything. A script that starts an experiment
outside of ``if __name__ == "__main__"`` would start it once more in every worker, and Python ends that with pages of
tracebacks. Workers need nothing of that module unless a method was defined there, so it is kept from them; where they
do need it, what is wrong is said in one line.
"""

from __future__ import annotations

import multiprocessing
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

GUARD = (
    "the processes ended as soon as they began: a method is defined in the main module, so each of them imports it; "
    'start the experiment below `if __name__ == "__main__":`, or define the method in a module of its own, or pass '
    "jobs=1"
)


def needs_main(work: object) -> bool:
    """Whether some of the work was defined in the main module, so that workers must import it.

    >>> needs_main([1, "two"])
    False
    """
    return b"__main__" in pickle.dumps(work)


@contextmanager
def main_kept_from_workers() -> Iterator[None]:
    """Processes that are spawned meanwhile do not import the main module: it has no name and no file to import."""
    main = vars(sys.modules["__main__"])
    kept: dict[str, Any] = {name: main[name] for name in ("__spec__", "__file__") if name in main}
    try:
        main.update(dict.fromkeys(kept))
        yield
    finally:
        main.update(kept)


def end_second_start() -> None:
    """End a worker that is importing a script without a guard, silently: its parent says why, with ``GUARD``."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # as multiprocessing itself asks
        raise SystemExit(1)
