"""A map as inline SVG: a cell for each pair of values, with letters in it, so that no colour has to be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sparsegate.evaluation.reporting.line_styles import LineStyle

WIDTH, LEFT, BOTTOM, HEIGHT = 360.0, 40.0, 34.0, 30.0
"""Of the map, of the space for the names of rows and columns, and of a cell."""


@dataclass(frozen=True, kw_only=True)
class MapCell:
    """A cell: ``text`` large and ``note`` small in it, ``says`` where the pointer is; no colour without a ``style``.

    Where more may belong in it, it is not ``sure``, and its colour is pale.
    """

    text: str
    note: str = ""
    says: str = ""
    style: LineStyle | None = None
    sure: bool = True


@dataclass(frozen=True, kw_only=True)
class MapChart:
    """``cells`` from top to bottom and from left to right, with a name for each row and column."""

    title: str
    columns: Sequence[str]
    rows: Sequence[str]
    cells: Sequence[Sequence[MapCell]]
    x_label: str
    y_label: str

    def svg(self) -> str:
        """The map as an SVG element."""
        wide, height = (WIDTH - LEFT - 2) / len(self.columns), HEIGHT * len(self.rows) + BOTTOM + 12
        parts = [f'<text class="axis" x="2" y="9">{escape(self.y_label)}</text>']
        for place, name in enumerate(self.rows):
            middle = 14 + HEIGHT * (place + 0.5)
            parts.append(f'<text x="{LEFT - 5:g}" y="{middle + 3.5:.1f}" text-anchor="end">{escape(name)}</text>')
            parts += [
                _cell(cell, LEFT + wide * number, 14 + HEIGHT * place, wide)
                for number, cell in enumerate(self.cells[place])
            ]
        below = 14 + HEIGHT * len(self.rows)
        parts += [_below(name, LEFT + wide * (place + 0.5), below + 14) for place, name in enumerate(self.columns)]
        parts.append(_below(self.x_label, (LEFT + WIDTH) / 2, below + 29, kind="axis"))
        body, name = "".join(parts), escape(self.title)
        return f'<svg class="chart" viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{name}">{body}</svg>'


def _below(text: str, middle: float, down: float, kind: str = "") -> str:
    shown = f' class="{kind}"' if kind else ""
    return f'<text{shown} x="{middle:.1f}" y="{down:.1f}" text-anchor="middle">{escape(text)}</text>'


def _cell(cell: MapCell, left: float, top: float, wide: float) -> str:
    colours = f' style="--light:{cell.style.light};--dark:{cell.style.dark}"' if cell.style else ""
    kind = "tile" + ("" if cell.style else " plain") + ("" if cell.sure else " open")
    middle = left + wide / 2
    note = f'<text class="note" x="{middle:.1f}" y="{top + 24:.1f}">{escape(cell.note)}</text>' if cell.note else ""
    return (
        f'<g class="{kind}"{colours}><title>{escape(cell.says)}</title>'
        f'<rect x="{left + 1:.1f}" y="{top + 1:.1f}" width="{wide - 2:.1f}" height="{HEIGHT - 2:.1f}" rx="3"/>'
        f'<text x="{middle:.1f}" y="{top + (14 if note else 18):.1f}">{escape(cell.text)}</text>{note}</g>'
    )
