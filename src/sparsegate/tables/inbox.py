"""The files that an owner means, as the engine can read them: standard input kept, other encodings written in UTF-8.

What is written for that lies in the private folder of the workspace, and goes with it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from sparsegate.errors import TableError
from sparsegate.tables.csv_rows import RegularRows, write_rows
from sparsegate.tables.engine_errors import quiet
from sparsegate.tables.files import expand, kind_of, listed
from sparsegate.tables.text_files import TextForm, keep_stream, rewritten
from sparsegate.tables.text_lines import look_through, write_lines

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
            files += [self._standard_input(form)] if pattern == STANDARD_INPUT else expand([pattern])
        self.meant = files
        if form.foreign is not None:
            files = [self._rewritten(file, form, form.foreign) for file in files]
        return files

    def _standard_input(self, form: TextForm) -> str:
        if self._shown:
            raise TableError("standard input can be read only once; name it once")
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:  # a notebook, or a program without one
            raise TableError("standard input cannot be read here; name a file")
        with quiet("standard input cannot be read"):
            kept = str(keep_stream(stream, self._folder, form))
        self._shown[kept] = "standard input"
        return kept

    def _rewritten(self, file: str, form: TextForm, encoding: str) -> str:
        kind_of(file, form)  # refuses what is no text
        shown, target = self.shown(file), self.beside(file)
        rewritten(file, encoding, target, shown)
        return str(target)

    def beside(self, file: str) -> Path:
        """A path for what is read in place of a file."""
        place = self._folder / f"file-{len(self._shown)}"
        place.mkdir()
        target = place / re.sub(r"\.(gz|zst)$", "", Path(file).name, flags=re.IGNORECASE)
        self._shown[str(target)] = self.shown(file)
        return target

    def lines(self, file: str, kind: str, go_on: Callable[[], None], *, whole: bool = False) -> str:
        """The file to read: another one where a line of it cannot be read, unless it must be read as a whole."""
        odd = look_through(file, kind, shown=self.shown(file), go_on=go_on)
        if not odd or whole:
            return file
        target = self.beside(file)
        write_lines(file, kind, target)
        return str(target)

    def rows(self, file: str, delimiter: str, cells: int, go_on: Callable[[], None]) -> tuple[str, bool]:
        """The regular CSV file to read, and whether it must be read in one piece; see ``tables.csv_rows``."""
        seen = RegularRows(delimiter, cells)
        look_through(file, "CSV", shown=self.shown(file), take=seen.take, go_on=go_on)
        seen.end()
        if seen.regular:
            return file, seen.breaks or seen.long
        target, shown = self.beside(file), self.shown(file)
        breaks, long = write_rows(file, target, delimiter=delimiter, cells=cells, shown=shown, go_on=go_on)
        return str(target), breaks or long

    def clear(self) -> None:
        """Remove what was written, when it was read for the last time."""
        for file in self._shown:
            Path(file).unlink(missing_ok=True)

    def shown(self, *files: str) -> str:
        """The files as an error names them."""
        return listed([self._shown.get(file, file) for file in files])
