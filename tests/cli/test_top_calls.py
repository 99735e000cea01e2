"""How much one `sparsegate top` goes through: a question is checked once, and what is asked is made once."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

from tests.cli.conftest import ASK, Command

import sparsegate

SOURCE = str(Path(sparsegate.__file__).parent)


class Calls:
    """Counts the functions of ours that run, but for what a module runs as it is imported."""

    def __init__(self) -> None:
        self.names: Counter[str] = Counter()
        self.files: set[str] = set()
        self._importing = threading.local()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(SOURCE):
            return
        depth = getattr(self._importing, "depth", 0)
        if code.co_name == "<module>":
            self._importing.depth = depth + {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not depth:
            self.names[code.co_qualname] += 1
            self.files.add(code.co_filename)

    def __enter__(self) -> Calls:
        threading.setprofile(self)
        sys.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)


def test_a_question_is_checked_once_and_its_request_made_once(command: Command, folder: Path) -> None:
    with Calls() as calls:
        code, _, err = command("top", "visits.csv", *ASK, "--domain", "pages.csv")
    assert (code, err) == (0, "")
    assert calls.names["exact_epsilon"] <= 12
    assert len(calls.files) <= 45
    assert calls.names["Question.__post_init__"] == calls.names["Request.__post_init__"] == 1
    assert calls.names["Request.prepare"] == 2  # a check before the files are read, and the counts themselves
