"""How many files of ours a question passes through: a reader must be able to follow one."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tests.support.serving import serving, visits

import sparsegate

ROOT = Path(sparsegate.__file__).parent
MOST, MOST_FIRST = 42, 47


class Trace:
    """The files of the package in which a function was called while it was on, in any thread made after it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files: set[str] = set()
        self.on = False
        threading.setprofile(self._called)
        monkeypatch.setattr(threading, "_profile_hook", self._called)

    def _called(self, frame: FrameType, event: str, _: Any) -> None:
        if self.on and event == "call" and frame.f_code.co_filename.startswith(str(ROOT)):
            self.files.add(str(Path(frame.f_code.co_filename).relative_to(ROOT)))

    def __enter__(self) -> Trace:
        self.files, self.on = set(), True
        return self

    def __exit__(self, *_: object) -> None:
        self.on = False


def test_a_question_passes_through_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = Trace(monkeypatch)
    before = sys.getprofile()
    with visits(tmp_path) as data, serving(tmp_path, data, delay=2) as service:
        gate = service.open_gate()
        for most in (MOST_FIRST, MOST):  # noise is drawn ahead, for many questions, at the first one
            with trace:
                assert service.ask(gate, "country = 'DE' AND seconds LIKE '7%'").status_code == 200
            files = sorted(trace.files)
            assert "service/keeper.py" in files
            assert "gates/gate.py" in files
            assert "ledger/database.py" in files
            assert len(files) <= most, files
    sys.setprofile(before)
    threading.setprofile(None)  # type: ignore[arg-type]
