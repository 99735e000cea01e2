"""How text files are written: as a table or as baskets, with which separator, in which encoding.

The owner says so, and nothing of it is guessed from rows. Engines read UTF-8. Text in another encoding is written anew
first, by Python's own decoder, into a private folder; so is standard input, which can be read only once.
"""

from __future__ import annotations

import codecs
import io
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.engine_errors import raise_alone
from sparsegate.tables.text_lines import unpacked

FORMATS: Final = {"fimi": "FIMI", "baskets": "baskets"}
"""What ``format`` may say, and the kind of file that it is. Without it the ending of a name tells the kind."""

_CHUNK: Final = 1 << 20


@dataclass(frozen=True, kw_only=True)
class TextForm:
    """What the owner says of how the text files are written; None leaves it to the ending of their names.

    ``format``: "fimi", where each line is a basket and items stand apart by white space; or "baskets", where they stand
    apart by ``separator``, a comma unless given, and may be quoted as in CSV. ``separator``: of baskets, and of the
    columns of a CSV file, where the header line tells it otherwise. ``encoding``: any that Python knows; UTF-8.

    >>> TextForm(format="baskets").cells
    '[ \\\\t]*("(?:[^"]|"")*"|.*?)[ \\\\t]*(?:,|$)'
    """

    format: str | None = None
    separator: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            words = " or ".join(f'"{word}"' for word in FORMATS)
            raise ParameterError("format", f"must be {words}, or left out", self.format)
        if self.separator == r"\t":  # as it is typed in a shell
            object.__setattr__(self, "separator", "\t")
        if self.separator is not None:
            self._check_separator(self.separator)
        if self.encoding is not None:
            try:
                io.TextIOWrapper(io.BytesIO(), encoding=self.encoding)
            except (LookupError, ValueError, TypeError):
                rule, step = "must be an encoding of text that Python knows", 'pass for instance "latin-1" or "utf-16"'
                raise ParameterError("encoding", rule, self.encoding, step) from None

    def _check_separator(self, separator: object) -> None:
        if not isinstance(separator, str) or not 0 < len(separator.encode()) <= 4 or set(separator) & set('"\r\n\0'):
            rule = "must be one to four characters, without quotes and line ends"
            raise ParameterError("separator", rule, separator, 'pass for instance "," or "\\t"')
        if self.format == "fimi":
            rule = 'must not be given with format="fimi", whose items stand apart by white space'
            raise ParameterError("separator", rule, separator, 'pass format="baskets"')

    @property
    def said(self) -> dict[str, str]:
        """What was given, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @property
    def foreign(self) -> str | None:
        """The encoding, where it is not UTF-8."""
        plain = self.encoding is None or codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig")
        return None if plain else self.encoding

    @property
    def cells(self) -> str:
        """A regular expression whose group is one cell of a basket, without the spaces around it.

        It is quoted whole, or anything up to the next separator: each line can be read, and from that line alone.
        """
        return rf'[ \t]*("(?:[^"]|"")*"|.*?)[ \t]*(?:{re.escape(self.separator or ",")}|$)'

    def check(self, file: str, kind: str) -> None:
        """Raise a ParameterError for something said of a file of this kind that is nothing to be said of it."""
        for name, value in self.said.items():
            if kind not in _SAID_OF[name]:
                raise ParameterError(name, f"is for text, and {file} is {kind}", value, "leave it out")
        if self.separator is not None and kind == "JSON":
            raise ParameterError("separator", f"is for CSV and baskets, and {file} is JSON", next_step="leave it out")


TEXT: Final = ("CSV", "JSON", "lines", *FORMATS.values())
_SAID_OF: Final = {"format": FORMATS.values(), "separator": TEXT, "encoding": TEXT}

PLAIN: Final = TextForm()


def keep_stream(stream: IO[bytes], folder: Path, form: TextForm = PLAIN) -> Path:
    """Write a stream to a file of the folder, with the ending that its first bytes tell: CSV unless they say more.

    Where the owner says how it is written, they tell its compression and no more: the rest of them is somebody's own.
    """
    start = stream.read(64)
    ending = _ending(start)
    if form.format is not None and ending in (".parquet", ".json"):
        ending = ".csv"
    file = folder / f"standard-input{ending}"
    with file.open("xb") as kept:
        kept.write(start)
        shutil.copyfileobj(stream, kept, _CHUNK)
    return file


def _ending(start: bytes) -> str:
    first = start.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")
    signs = {b"PAR1": ".parquet", b"{": ".json", b"[": ".json", b"\x1f\x8b": ".csv.gz", b"\x28\xb5\x2f\xfd": ".csv.zst"}
    return next((ending for sign, ending in signs.items() if first.startswith(sign)), ".csv")


def rewritten(file: str, encoding: str, target: Path, shown: str) -> None:
    """Write a text file anew, in UTF-8, as Python decodes it."""
    try:
        with (
            unpacked(file) as raw,
            io.TextIOWrapper(raw, encoding=encoding, newline="") as text,
            target.open("x", encoding="utf-8", newline="") as kept,
        ):
            shutil.copyfileobj(text, kept, _CHUNK)
        return
    except UnicodeError:
        reason = f"{shown} is not written in {encoding}; pass another encoding="
    except OSError:
        reason = f"{shown} cannot be read, or the disk is full"
    raise_alone(TableError(reason))
