"""A result as a table, and the table as text, HTML, Markdown or CSV. Labels are data: they are escaped everywhere."""

from __future__ import annotations

import csv
import io
import re
import shutil
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import chain, islice
from typing import Any, Final

from sparsegate.display.plain import plain_label, printable, rounded
from sparsegate.errors import SparsegateWarning

_NARROWEST: Final = 20  # a terminal is taken to be at least this wide
_LEAST: Final = 12  # a column of text is folded down to this, and no further
_MARKED = re.compile(r"([\\`*_\[\]<>|~&$#]|:(?=//))")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

# Colours are those of the text around it, so that it looks right on light and on dark.
# The class twice: Jupyter's own rules for tables name two.
STYLE = """<style>
.sparsegate{font:13px/1.5 system-ui,sans-serif;color:inherit;overflow-x:auto}
.sparsegate.sparsegate p{margin:.3em 0}
.sparsegate.sparsegate .title{font-weight:600;font-size:14px}
.sparsegate.sparsegate .brief,.sparsegate.sparsegate summary{opacity:.75}
.sparsegate.sparsegate table{border-collapse:collapse;margin:.4em 0;background:transparent;
color:inherit;font-size:inherit}
.sparsegate.sparsegate tr,.sparsegate.sparsegate tr:nth-child(even),.sparsegate.sparsegate tr:hover{
background:transparent}
.sparsegate.sparsegate th,.sparsegate.sparsegate td{padding:.2em .9em .2em 0;text-align:left;vertical-align:top;
border:0;border-bottom:1px solid rgba(128,128,128,.25);white-space:pre-wrap;overflow-wrap:break-word;max-width:34em}
.sparsegate.sparsegate th{font-weight:600;white-space:nowrap}
.sparsegate.sparsegate thead th{border-bottom-color:rgba(128,128,128,.7)}
.sparsegate.sparsegate .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.sparsegate.sparsegate .bar{min-width:9em;padding-left:.6em}
.sparsegate.sparsegate details{margin:.4em 0}
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
        return zip(*self.columns.values(), strict=True)

    @property
    def _total(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def html(self, *, most: int | None = None) -> str:
        """A piece of HTML with its own style, for a notebook; of long results the first ``most`` rows."""
        total, shown = self._total, list(islice(self.rows, most))
        left = f'<p class="brief">and {total - len(shown):,} more</p>' if total > len(shown) else ""
        largest = max((row[list(self.columns).index(self.bars)] for row in shown), default=0) if self.bars else 0
        head = "".join(f"<th{self._class(name)}>{_html(name)}</th>" for name in self.columns)
        body = "".join(f"<tr>{''.join(self._cells(row, largest))}</tr>" for row in shown)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if total else "<p>nothing</p>"
        facts = "".join(f"<tr><th>{_html(name)}</th><td>{_html(text)}</td></tr>" for name, text in self.about.items())
        about = f"<details><summary>how it was made</summary><table>{facts}</table></details>" if facts else ""
        brief = f'<p class="brief">{_html(self.brief)}</p>' if self.brief else ""
        title = f'<p class="title">{_html(self.title)}</p>'
        return f'{STYLE}<div class="sparsegate">{title}{table}{left}{brief}{about}</div>'

    def text(self, *, most: int | None = None, width: int | None = None) -> str:
        """Plain text that fits a terminal: the title, the first ``most`` rows, and what there is to say of all."""
        from rich.cells import cell_len
        from rich.console import Console
        from rich.table import Table

        width = max(_NARROWEST, shutil.get_terminal_size().columns) if width is None else width
        total, names = self._total, [printable(name) for name in self.columns]
        rows = [[*map(printable, self.texts(row))] for row in islice(self.rows, most)]
        left = total - len(rows)
        widths = [max(map(cell_len, cells)) for cells in zip(names, *rows, strict=True)]
        unseen: list[str] = []
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        # Numbers are not folded, and text only down to a few letters.
        least = [wide if name in self.numbers else min(wide, _LEAST) for name, wide in zip(names, widths, strict=True)]
        if total == 1 and sum(least) + 2 * len(names) - 2 > width:  # a single row that does not fit is a list
            table.show_header, rows = False, [[*fact] for fact in zip(names, rows[0], strict=True)]
            names, least = ["", ""], [0, 0]
        while len(names) > 1 and sum(least[: len(names)]) + 2 * len(names) - 2 > width:
            unseen.insert(0, names.pop())
        for name, narrow in zip(names, least, strict=False):
            side: Any = "right" if name in self.numbers else "left"
            table.add_column(name, justify=side, overflow="fold", min_width=min(narrow, width))
        for row in rows:
            table.add_row(*row[: len(names)])
        out = io.StringIO()
        # Left to itself, rich shows in a notebook what it should write, and nothing is left to return.
        settings: dict[str, Any] = dict.fromkeys(("markup", "highlight", "emoji", "force_jupyter"), False)
        plain = Console(file=out, width=width, color_system=None, **settings)
        more = f"not shown: {', '.join(unseen)}" if unseen else "", f"and {left:,} more" if left else ""
        for part in (printable(self.title), table if total else "nothing", *more, printable(self.brief)):
            if part:
                plain.print(part, overflow="fold")
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())

    def page(self) -> str:
        return _PAGE.format(title=_html(self.title), body=self.html().replace("<details>", "<details open>"))

    def markdown(self) -> str:
        """A table and a list, as GitHub and most others read them."""
        lines = [" | ".join(map(_markdown, self.columns))]
        lines += [" | ".join("---:" if name in self.numbers else "---" for name in self.columns)]
        lines += [" | ".join(_markdown(text) for text in self.texts(row)) for row in self.rows]
        table = "\n".join(f"| {line} |" for line in lines)
        brief = [_markdown(self.brief)] if self.brief else []
        about = "\n".join(f"- {_markdown(name)}: {_markdown(text)}" for name, text in self.about.items())
        return "\n\n".join([f"**{_markdown(self.title)}**", table, *brief, *([about] if about else [])]) + "\n"

    def csv(self, constant: Mapping[str, object] | None = None) -> str:
        """Exactly what there is, for programs; ``constant`` columns are the same in every row.

        One that has the name of another column is called "record NAME": a reader by name would lose one of the two.
        A label stays as it is: a reader must be able to join it with the labels it came from. ``warn_of_formulas`` is
        for those who open it in a spreadsheet.
        """
        fixed = {f"record {name}" if name in self.columns else name: text for name, text in (constant or {}).items()}
        rows = ([*row, *fixed.values()] for row in self.rows)
        return "".join(map(_csv_line, chain([[*self.columns, *fixed]], rows)))

    def warn_of_formulas(self) -> None:
        """Warn where a spreadsheet could take a label for a formula, and run it."""
        texts = {cell for row in self.rows for cell in row if isinstance(cell, str)}
        if risky := sum(text.startswith(_FORMULA) for text in texts):
            risk = f"labels that begin with {', '.join(_FORMULA[:4])} or a tab: {risky}"
            hint = "a spreadsheet may run them as formulas, so import them as text"
            warnings.warn(f"{risk}; {hint}", SparsegateWarning, stacklevel=2)

    def _class(self, name: str) -> str:
        return ' class="n"' if name in self.numbers else ""

    def texts(self, row: Sequence[Any]) -> list[str]:
        return [self._text(name, cell) for name, cell in zip(self.columns, row, strict=True)]

    def _text(self, name: str, cell: Any) -> str:
        if cell is None:
            return "-"
        if name == self.bars and self.precision is not None:
            return rounded(cell, self.precision)
        return _number(cell) if name in self.numbers else str(plain_label(cell))

    def _cells(self, row: Sequence[Any], largest: float) -> Iterable[str]:
        for name, text, cell in zip(self.columns, self.texts(row), row, strict=True):
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
