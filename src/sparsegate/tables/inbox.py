"""The files that an owner means, as the engine can read them: standard input kept, other encodings written in UTF-8.

What is written for that lies in the private folder of the workspace, and goes with it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sparsegate.errors import TableError
from sparsegate.tables.engine_errors import quiet
from sparsegate.tables.files import expand, kind_of, listed
from sparsegate.tables.text_files import TextForm, is_utf8, keep_stream, rewritten

STANDARD_INPUT: Final = "-"


class Inbox:
    """Files that were received in a folder, and how errors name them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shown: dict[str, str] = {}
        self.meant: list[str] = []
        """The owner's own files, whatever is read in their place."""

    def receive(self, patterns: Sequence[str], form: TextForm) -> list[str]:
        """The paths to read."""
        files: list[str] = []
        for pattern in patterns:
            files += [self._standard_input()] if pattern == STANDARD_INPUT else expand([pattern])
        self.meant = files
        if form.foreign is not None:
            files = [self._rewritten(file, form, form.foreign) for file in files]
        return files

    def _standard_input(self) -> str:
        if self._shown:
            raise TableError("standard input can be read only once; name it once")
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:  # a notebook, or a program without one
            raise TableError("standard input cannot be read here; name a file")
        with quiet("standard input cannot be read"):
            kept = str(keep_stream(stream, self._folder))
        self._shown[kept] = "standard input"
        return kept

    def _rewritten(self, file: str, form: TextForm, encoding: str) -> str:
        kind_of(file, form)  # refuses what is no text
        place = self._folder / f"file-{len(self._shown)}"
        place.mkdir()
        target, shown = place / Path(file).name.removesuffix(".gz"), self.shown(file)
        rewritten(file, encoding, target, shown)
        self._shown[str(target)] = shown
        return str(target)

    def clear(self) -> None:
        """Remove what was written, when it was read for the last time."""
        for file in self._shown:
            Path(file).unlink(missing_ok=True)

    def shown(self, *files: str) -> str:
        """The files as an error names them."""
        return listed([self._shown.get(file, file) for file in files])

    def no_text(self, files: Sequence[str]) -> str | None:
        """The first of the files that is not UTF-8, as an error names it."""
        return next((self.shown(file) for file in files if not is_utf8(file)), None)
