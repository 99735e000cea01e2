"""What happens between POST ask and the answer is read in few files."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from tests.support.serving import MANY, serving, visits

import sparsegate

ROOT = str(Path(sparsegate.__file__).parent)
MOST_FILES = 28


def test_an_ask_passes_through_few_files(tmp_path: Path) -> None:
    """Those with a function that runs while a question is answered; a property or a lambda counts, too."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            files.add(frame.f_code.co_filename.removeprefix(ROOT))

    with visits(tmp_path) as data:
        threading.setprofile(note)
        try:
            with serving(tmp_path, data, delay=0.2) as service:
                gate = service.open_gate()
                assert service.ask(gate, MANY).json()["above"]
                files.clear()
                sys.setprofile(note)
                assert service.ask(gate, MANY).json()["above"]
                sys.setprofile(None)
        finally:
            threading.setprofile(None)  # type: ignore[arg-type]
            sys.setprofile(None)
        assert 10 < len(files) <= MOST_FILES, sorted(files)
