"""Finished cells on disk, so that an interrupted experiment goes on where it stopped.

A cell is one dataset, method, epsilon and c. Its file is named by a hash of everything its numbers hang on: the
scores themselves, the noise, runs and seed; so a changed parameter never finds a stale cell.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from sparsegate.errors import ParameterError
from sparsegate.evaluation.results import replace_file

Record = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Store:
    """The folder of an experiment; cells are in ``cells`` below it."""

    folder: Path

    @classmethod
    def open(cls, folder: str | Path) -> Store:
        """Make the folder if need be."""
        path = Path(folder)
        try:
            (path / "cells").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ParameterError(
                "out", "must be a folder that can be written", str(folder), str(error.strerror)
            ) from None
        return cls(folder=path)

    def load(self, key: str) -> Record | None:
        """The numbers of a finished cell, or None."""
        try:
            found = json.loads(self._path(key).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def save(self, key: str, record: Record) -> None:
        """Keep the numbers of a cell: whole or not at all."""
        text = json.dumps(record)
        replace_file(self._path(key), lambda path: path.write_text(text, encoding="utf-8"))

    def _path(self, key: str) -> Path:
        return self.folder / "cells" / f"{key}.json"


def stable_hash(*parts: object) -> str:
    """A hash of some numbers and texts that is the same in every process and on every machine."""
    return hashlib.sha256(json.dumps([str(part) for part in parts]).encode()).hexdigest()
