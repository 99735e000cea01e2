"""The files of a served dataset: what they held when it was opened, and whether they are still the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sparsegate.errors import TableError
from sparsegate.tables.files import expand

CHUNK: Final = 1 << 20
JOURNALS: Final = ("-wal", ".wal")
"""What SQLite and DuckDB write beside a database before they write into it."""

Stamp = tuple[str, int, int, int, int]


@dataclass(frozen=True, kw_only=True)
class Files:
    """Paths and patterns, and the stamps of the files that they stood for at one moment."""

    patterns: tuple[str, ...]
    stamps: tuple[Stamp, ...]

    @classmethod
    def of(cls, patterns: Sequence[str]) -> Files:
        """The files as they are now; a pattern that stands for none is a TableError."""
        return cls(patterns=tuple(patterns), stamps=_stamps(patterns))

    def now(self) -> Files | None:
        """The files as they are now, from a look at sizes, times and inodes; None where one has vanished."""
        try:
            return Files.of(self.patterns)
        except TableError:
            return None

    def fingerprint(self, *notes: str | None) -> str:
        """A BLAKE2b digest of all that the files hold, in order, and of the notes."""
        digest = hashlib.blake2b(digest_size=32, person=b"sparsegate data")
        for path, *_ in self.stamps:
            content = _digest(path)
            if content is None:
                raise TableError(f"{path} cannot be read; check that it is there, and its permissions")
            digest.update(content)
        for note in notes:
            # A digest has one length, so that no note can pass for another, or for the end of a file.
            digest.update(hashlib.blake2b(b"" if note is None else b"=" + note.encode()).digest())
        return digest.hexdigest()


def _stamps(patterns: Sequence[str]) -> tuple[Stamp, ...]:
    stamps: list[Stamp] = []
    for file in expand(patterns):
        stamp = _stamp(file)
        if stamp is None:
            raise TableError(f"{file} has vanished, or cannot be reached; check the path")
        stamps.append(stamp)
        stamps += (found for ending in JOURNALS if (found := _stamp(file + ending)) and found[1])
    return tuple(stamps)


def _stamp(file: str) -> Stamp | None:
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return file, found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev


def _digest(file: str) -> bytes | None:
    content = hashlib.blake2b()
    try:
        with Path(file).open("rb") as stream:
            while chunk := stream.read(CHUNK):
                content.update(chunk)
    except OSError:
        return None
    return content.digest()
