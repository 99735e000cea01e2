"""Tables of a page: numbers sort by their value, headings stay in sight, and on a phone each row is a card."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

SHORT, LONG = 42, 120
"""A text of fewer letters than SHORT stays on one line; one of more than LONG has a wide column."""


@dataclass(frozen=True, kw_only=True)
class TableCell:
    """A cell of a table: text, or a number that is sorted by its value; ``markup`` stands where the text is HTML.

    A number is sorted as it is shown; one that is not shown in digits alone has its value beside it.

    ``kind`` is a class of the page's style, ``identity`` a name that a link can lead to.
    """

    text: str
    value: float | None = None
    markup: bool = False
    kind: str = ""
    identity: str = ""

    def _sorted_by(self) -> str:
        """The value where the text is not a number to a script; infinity is one to both."""
        if self.value is None or (math.isfinite(self.value) and "," not in self.text):
            return ""
        return repr(self.value).replace("inf", "Infinity")

    def html(self, label: str, *, head: bool = False) -> str:
        """The cell as HTML; ``label`` is shown before it on a phone. A head names its row."""
        if self.value is not None:
            width = "number"
        elif self.markup:
            width = ""
        else:
            width = "name" if len(self.text) < SHORT else "long" if len(self.text) > LONG else "text"
        kinds = " ".join(filter(None, (width, self.kind)))
        attributes = "".join(
            f' {name}="{escape(text)}"'
            for name, text in (
                ("id", self.identity),
                ("class", kinds),
                ("data-value", self._sorted_by()),
                ("data-label", label),
            )
            if text
        )
        tag = "th" if head else "td"
        scope = ' scope="row"' if head else ""
        return f"<{tag}{scope}{attributes}>{self.text if self.markup else escape(self.text)}</{tag}>"


def number(value: float, form: str) -> TableCell:
    """A number in this format; one that rounds to zero has no sign."""
    return TableCell(text=f"{value:{'z' if form.endswith('f') else ''}{form}}", value=float(value))


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    identity: str = "",
    caption: str = "",
    tall: bool = False,
    names: int = 1,
) -> str:
    """A table in a box; a heading that begins with # is that of numbers. A tall one scrolls inside its box.

    The first cells of each row, as many as ``names``, say what the row is about.
    """
    head = "".join(
        f'<th scope="col" class="number">{escape(text[1:])}</th>'
        if text.startswith("#")
        else f'<th scope="col">{escape(text)}</th>'
        for text in heads
    )
    labels = [text.removeprefix("#") for text in heads]
    lines = [[cell if isinstance(cell, TableCell) else TableCell(text=str(cell)) for cell in cells] for cells in rows]
    body = "\n".join(
        "<tr>"
        + "".join(
            cell.html(label, head=place < names) for place, (cell, label) in enumerate(zip(cells, labels, strict=True))
        )
        + "</tr>"
        for cells in lines
    )
    name = f' id="{escape(identity)}"' if identity else ""
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll{" tall" if tall else ""}" tabindex="0"><table class="sortable"{name}>{said}'
        f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )
