"""A result as a table, and the table as text, HTML, Markdown or CSV. Labels are data: they are escaped everywhere.

A table as plain text that fits a terminal: for `print`, for logs, for an issue.

Columns that are too wide together are folded, those of text first, down to a few letters; where that is not enough, a
single row is written as a list, and of several rows the last columns are left out and named. No character is lost, and
none steers the terminal.
"""

from __future__ import annotations

import csv
import io
import re
import shutil
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import chain, islice, zip_longest
from typing import Any, Final
from unicodedata import combining, east_asian_width

from sparsegate.display.plain import plain_label, printable, rounded
from sparsegate.errors import SparsegateWarning

_GAP: Final = "  "
_LEAST: Final = 12  # a column of text is folded down to this, and no further
_NARROWEST: Final = 20  # a terminal is taken to be at least this wide


def terminal_width() -> int:
    """How wide a line may be: COLUMNS, or the terminal, or 80."""
    return max(_NARROWEST, shutil.get_terminal_size().columns)


def text_table(headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str], width: int) -> str:
    """The cells below their headings, ``numbers`` to the right, in lines of at most ``width``.

    >>> rows = [["/home", "9,120"], ["/a page of a long name", "15"]]
    >>> print(text_table(["page", "estimate"], rows, ["estimate"], 22))
    page          estimate
    /home            9,120
    /a page of a        15
    long name
    """
    cells = [[printable(cell) for cell in row] for row in [headings, *rows]]
    widths = [min(max(map(cell_width, column)), width) for column in zip(*cells, strict=True)]
    text = [place for place, name in enumerate(headings) if name not in numbers]
    while _total(widths) > width and (wide := [place for place in text if widths[place] > _LEAST]):
        widest = max(wide, key=lambda place: widths[place])
        widths[widest] -= 1
    if _total(widths) <= width:
        return "\n".join(_line(row, widths, text) for row in cells)
    if len(rows) == 1:
        return fact_lines(zip(headings, rows[0], strict=True), width)
    shown = len(widths)
    while shown > 1 and _total(widths[:shown]) > width:
        shown -= 1
    table = "\n".join(_line(row[:shown], widths[:shown], text) for row in cells)
    left = f"not shown: {', '.join(headings[shown:])}"
    return "\n".join([table, *(folded(left, width) if shown < len(headings) else [])])


def fact_lines(facts: Iterable[tuple[str, str]], width: int) -> str:
    """A line for each name and what there is to say about it.

    >>> print(fact_lines([("epsilon", "1"), ("noise", "exponential")], 80))
    epsilon  1
    noise    exponential
    """
    said = [(printable(name), printable(text)) for name, text in facts]
    side = min(max((cell_width(name) for name, _ in said), default=0), width // 2)
    return "\n".join(_line(each, [side, width - side - len(_GAP)], (0, 1)) for each in said)


def folded(text: str, width: int) -> list[str]:
    """The text in lines of at most this width, broken between words where it can be.

    >>> folded("what was released, or why", 10), folded("abcdefgh", 5)
    (['what was', 'released,', 'or why'], ['abcde', 'fgh'])
    """
    if cell_width(text) <= width:
        return [text]
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_width(joined) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        for mark in word:
            if cell_width(lines[-1] + mark) > width and lines[-1]:
                lines.append("")
            lines[-1] += mark
    return lines


def cell_width(text: str) -> int:
    """How many columns of a terminal a text takes: a wide letter takes two, an accent on its own none.

    >>> cell_width("abc"), cell_width("東京"), cell_width("e\\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(0 if combining(mark) else 1 + (east_asian_width(mark) in "WF") for mark in text)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _line(row: Sequence[str], widths: Sequence[int], text: Collection[int]) -> str:
    """A row: as many lines as its longest cell."""
    parts = [folded(cell, width) for cell, width in zip(row, widths, strict=True)]
    lines = []
    for pieces in zip_longest(*parts, fillvalue=""):
        padded = []
        for place, (piece, width) in enumerate(zip(pieces, widths, strict=True)):
            blank = " " * (width - cell_width(piece))
            padded.append(piece + blank if place in text else blank + piece)
        lines.append(_GAP.join(padded).rstrip())
    return "\n".join(lines)


_MARKED = re.compile(r"([\\`*_\[\]<>|~&$#]|:(?=//))")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

# Colours are those of the text around it, so that it looks right on light and on dark.
STYLE = """<style>
.sparsegate{font:13px/1.5 system-ui,sans-serif;color:inherit;overflow-x:auto}
.sparsegate p{margin:.3em 0}
.sparsegate .title{font-weight:600;font-size:14px}
.sparsegate .brief,.sparsegate summary{opacity:.75}
.sparsegate table{border-collapse:collapse;margin:.4em 0;background:transparent;color:inherit;font-size:inherit}
.sparsegate tr,.sparsegate tr:nth-child(even),.sparsegate tr:hover{background:transparent}
.sparsegate th,.sparsegate td{padding:.2em .9em .2em 0;text-align:left;vertical-align:top;border:0;
border-bottom:1px solid rgba(128,128,128,.25);white-space:pre-wrap;overflow-wrap:break-word;max-width:34em}
.sparsegate th{font-weight:600;white-space:nowrap}
.sparsegate thead th{border-bottom-color:rgba(128,128,128,.7)}
.sparsegate .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.sparsegate .bar{min-width:9em;padding-left:.6em}
.sparsegate details{margin:.4em 0}
</style>"""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>{title}</title>
<style>body{{margin:2em auto;max-width:60em;padding:0 1em}}</style></head><body>
{body}
</body></html>
"""


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Named columns of one length, and what there is to say about all rows.

    ``numbers`` are the columns that hold quantities, which labels do not, also where they are whole numbers; ``bars``
    is the one whose size HTML shows behind its numbers, to two digits of ``precision``.
    """

    title: str
    brief: str = ""
    columns: Mapping[str, Sequence[Any]]
    numbers: frozenset[str] = frozenset()
    bars: str | None = None
    precision: float | None = None
    about: Mapping[str, object] = field(default_factory=dict)

    @property
    def rows(self) -> Iterable[tuple[Any, ...]]:
        """The cells of each row."""
        return zip(*self.columns.values(), strict=True)

    def html(self, *, most: int | None = None) -> str:
        """A piece of HTML with its own style, for a notebook; of long results the first ``most`` rows."""
        total = len(next(iter(self.columns.values()), ()))
        shown = list(islice(self.rows, most))
        left = f'<p class="brief">and {total - len(shown):,} more</p>' if total > len(shown) else ""
        largest = max((row[list(self.columns).index(self.bars)] for row in shown), default=0) if self.bars else 0
        head = "".join(f"<th{self._class(name)}>{_html(name)}</th>" for name in self.columns)
        body = "".join(f"<tr>{''.join(self._cells(row, largest))}</tr>" for row in shown)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if total else "<p>nothing</p>"
        facts = "".join(f"<tr><th>{_html(name)}</th><td>{_html(said)}</td></tr>" for name, said in self.about.items())
        about = f"<details><summary>how it was made</summary><table>{facts}</table></details>" if facts else ""
        brief = f'<p class="brief">{_html(self.brief)}</p>' if self.brief else ""
        title = f'<p class="title">{_html(self.title)}</p>'
        return f'{STYLE}<div class="sparsegate">{title}{table}{left}{brief}{about}</div>'

    def text(self, *, most: int | None = None, width: int | None = None) -> str:
        """Plain text that fits a terminal: the title, the first ``most`` rows, and what there is to say of all."""
        width = terminal_width() if width is None else width
        total = len(next(iter(self.columns.values()), ()))
        shown = [self._texts(row) for row in islice(self.rows, most)]
        table = text_table(list(self.columns), shown, self.numbers, width) if total else "nothing"
        left = [f"and {total - len(shown):,} more"] if total > len(shown) else []
        brief = folded(printable(self.brief), width) if self.brief else []
        return "\n".join([*folded(printable(self.title), width), table, *left, *brief])

    def page(self) -> str:
        """A whole page of HTML."""
        return _PAGE.format(title=_html(self.title), body=self.html().replace("<details>", "<details open>"))

    def markdown(self) -> str:
        """A table and a list, as GitHub and most others read them."""
        lines = [" | ".join(map(_markdown, self.columns))]
        lines += [" | ".join("---:" if name in self.numbers else "---" for name in self.columns)]
        lines += [" | ".join(_markdown(text) for text in self._texts(row)) for row in self.rows]
        table = "\n".join(f"| {line} |" for line in lines)
        brief = [_markdown(self.brief)] if self.brief else []
        about = "\n".join(f"- {_markdown(name)}: {_markdown(said)}" for name, said in self.about.items())
        return "\n\n".join([f"**{_markdown(self.title)}**", table, *brief, *([about] if about else [])]) + "\n"

    def csv(self, constant: Mapping[str, object] | None = None) -> str:
        """Exactly what there is, for programs; ``constant`` columns are the same in every row.

        One that has the name of another column is called "record NAME": a reader by name would lose one of the two.
        A label stays as it is: a reader must be able to join it with the labels it came from. ``warn_of_formulas`` is
        for those who open it in a spreadsheet.
        """
        fixed = {f"record {name}" if name in self.columns else name: said for name, said in (constant or {}).items()}
        rows = ([*row, *fixed.values()] for row in self.rows)
        return "".join(map(_csv_line, chain([[*self.columns, *fixed]], rows)))

    def warn_of_formulas(self) -> None:
        """Warn where a spreadsheet could take a label for a formula, and run it."""
        texts = {cell for row in self.rows for cell in row if isinstance(cell, str)}
        if risky := sum(text.startswith(_FORMULA) for text in texts):
            said = f"labels that begin with {', '.join(_FORMULA[:4])} or a tab: {risky}"
            hint = "a spreadsheet may run them as formulas, so import them as text"
            warnings.warn(f"{said}; {hint}", SparsegateWarning, stacklevel=2)

    def _class(self, name: str) -> str:
        return ' class="n"' if name in self.numbers else ""

    def _texts(self, row: Sequence[Any]) -> list[str]:
        return [self._text(name, cell) for name, cell in zip(self.columns, row, strict=True)]

    def _text(self, name: str, cell: Any) -> str:
        if cell is None:
            return "-"
        if name == self.bars and self.precision is not None:
            return rounded(cell, self.precision)
        return _number(cell) if name in self.numbers else str(plain_label(cell))

    def _cells(self, row: Sequence[Any], largest: float) -> Iterable[str]:
        for name, text, cell in zip(self.columns, self._texts(row), row, strict=True):
            if name == self.bars and largest > 0:
                share = max(0.0, 100 * cell / largest)
                colour = f"linear-gradient(90deg,rgba(76,120,168,.35) {share:.1f}%,transparent {share:.1f}%)"
                yield f'<td class="n bar" style="background:{colour}">{_html(text)}</td>'
            else:
                yield f"<td{self._class(name)}>{_html(text)}</td>"


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _html(value: object) -> str:
    return escape(printable(value))


def _markdown(value: object) -> str:
    return _MARKED.sub(r"\\\1", printable(value))


def _csv_line(cells: Sequence[object]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)  # quotes what ends in either of these, as readers take both
    return out.getvalue().removesuffix("\r\n") + "\n"
