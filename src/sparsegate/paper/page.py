"""A page of results: one HTML file that needs nothing beside it, with sections, figures, tables and links to files.

Tables for a paper are LaTeX that needs ``booktabs`` and ``graphicx``, one file a table; they fit on their pages.

No script, style or picture comes from elsewhere, and what a figure shows is chosen without a script. In tables numbers
sort by their value and headings stay in sight; on a phone each row is a card.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from sparsegate.paper.results import replace_text

if TYPE_CHECKING:
    from sparsegate.paper.charts import BarChart, LineChart, MapChart

MOST_VIEWS = 6  # A figure has at most this many views to choose from
SHORT, LONG = 42, 120  # A text of fewer letters than SHORT stays on one line; one of more than LONG has a wide column

_VOID = frozenset({"input", "br"})


def element(tag: str, /, *content: str, **attributes: object) -> str:
    """An element of HTML or SVG around some markup; floats have one digit, and "" and False leave an attribute out.

    >>> element("a", escape("R & D"), href="#x", class_="soft", download=True, id="")
    '<a href="#x" class="soft" download>R &amp; D</a>'
    """
    parts = [tag]
    for key, value in attributes.items():
        if value is not False and value != "":
            text = f"{value:.1f}" if isinstance(value, float) else str(value)
            shown = key.removesuffix("_").replace("_", "-")
            parts.append(shown if value is True else f'{shown}="{escape(text)}"')
    start = f"<{' '.join(parts)}>"
    return start if tag in _VOID else f"{start}{''.join(content)}</{tag}>"


def file_links(names: Mapping[str, str]) -> str:
    """Links to files beside the page, by their text."""
    return " ".join(element("a", escape(text), href=place, download=True) for text, place in names.items())


def definitions(entries: Mapping[str, object]) -> str:
    """Names with what each of them is, as a list."""
    return element(
        "dl", *(element("dt", escape(name)) + element("dd", escape(str(text))) for name, text in entries.items())
    )


@dataclass(frozen=True, kw_only=True)
class TableCell:
    """A cell of a table: text, or a number that is sorted by its value; ``markup`` stands where the text is HTML.

    ``kind`` is a class of the page's style, ``identity`` a name that a link can lead to.
    """

    text: str
    value: float | None = None
    markup: bool = False
    kind: str = ""
    identity: str = ""

    def html(self, label: str, *, head: bool = False) -> str:
        """The cell as HTML; ``label`` is shown before it on a phone. A head names its row."""
        width = "" if self.markup else "name" if len(self.text) < SHORT else "long" if len(self.text) > LONG else "text"
        shown_as_is = self.value is None or (math.isfinite(self.value) and "," not in self.text)
        return element(
            "th" if head else "td",
            self.text if self.markup else escape(self.text),
            scope="row" if head else "",
            id=self.identity,
            class_=" ".join(filter(None, (width if self.value is None else "number", self.kind))),
            data_value="" if shown_as_is else repr(self.value).replace("inf", "Infinity"),  # a number for the script
            data_label=label,
        )


def table_cell(value: object, form: str = "") -> TableCell:
    """A cell of a value: with a format, a number, "-" where there is none. What rounds to zero has no sign."""
    if isinstance(value, TableCell):
        return value
    if not form:
        return TableCell(text=str(value))
    if not isinstance(value, int | float) or math.isnan(value):
        return TableCell(text="-")
    text = "∞" if math.isinf(value) else f"{value:{'z' if form.endswith('f') else ''}{form}}"
    return TableCell(text=text, value=float(value))


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    identity: str = "",
    tall: bool = False,
    names: int = 1,
    kind: str = "sortable",
) -> str:
    """A table in a box; a heading with a format, "SER|.3f", is that of numbers. A tall one scrolls inside its box.

    The first cells of each row, as many as ``names``, say what the row is about.
    """
    split = [text.partition("|") for text in heads]
    head = [
        # What stands in brackets has a line of its own.
        element("th", re.sub(r" (\(.*)", r"<br><small>\1</small>", escape(label)), scope="col", class_=bar and "number")
        for label, bar, _ in split
    ]
    lines = []
    for values in rows:
        cells = (table_cell(value, form) for value, (_, _, form) in zip(values, split, strict=True))
        labelled = enumerate(zip(cells, split, strict=True))
        lines.append(element("tr", *(cell.html(label, head=at < names) for at, (cell, (label, _, _)) in labelled)))
    parts = element("thead", element("tr", *head)) + element("tbody", "\n", "\n".join(lines), "\n")
    box = element("table", parts, class_=kind, id=identity)
    return element("div", box, class_="scroll tall" if tall else "scroll", tabindex=0)


@dataclass(frozen=True, kw_only=True)
class FigurePanel:
    """One chart for each view, below a title; ``identity`` is the name a link leads to, ``note`` is HTML below it.

    ``dataset`` says what it is about, where that is a dataset; ``absent`` stands in the place of a view it lacks.
    """

    title: str
    charts: Mapping[str, LineChart | BarChart | MapChart]
    dataset: str = ""
    identity: str = ""
    note: str = ""
    absent: str = "Not run here."


@dataclass(frozen=True, kw_only=True)
class PageFigure:
    """Panels that share their views; the first view is shown, the reader may choose another.

    ``files`` are links by their text, relative to the page; ``note`` is HTML below the caption.
    """

    name: str
    title: str
    caption: str
    panels: tuple[FigurePanel, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    def html(self) -> str:
        if not self.panels:
            return ""
        views = list(dict.fromkeys(view for panel in self.panels for view in panel.charts))
        buttons = [
            element("input", type="radio", name=f"view-{self.name}", id=name, class_=f"view-{place}", checked=not place)
            + element("label", escape(view), for_=name)
            for place, view in enumerate(views)
            for name in [f"view-{self.name}-{place}"]
            if len(views) > 1
        ]
        panels = []
        for panel in self.panels:
            absent = element("p", escape(panel.absent))
            shown = (panel.charts[view].svg() if view in panel.charts else absent for view in views)
            inside = (element("div", chart, class_=f"show-{place}") for place, chart in enumerate(shown))
            title = element("h4", escape(panel.title))
            panels.append(element("div", title, *inside, panel.note, class_="panel", id=panel.identity))
        return element(
            "figure",
            element("figcaption", element("h3", escape(self.title)), element("p", escape(self.caption)), self.note),
            *buttons,
            element("span", file_links(self.files), class_="files"),
            element("div", *panels, class_="panels one" if len(panels) == 1 else "panels"),
            id=f"figure-{self.name}",
        )


def render_page(name: str, *, title: str, parts: Mapping[str, object]) -> str:
    """A whole page: the sections of a file, with ``parts`` in their places; one whose own part is "" is left out."""
    body = _text(name)
    for key in (key for key, part in parts.items() if part == ""):
        body = re.sub(rf'<section id="{key}".*?</section>\n*', "", body, flags=re.DOTALL)
    shown = re.findall('<section id="(.*?)" data-link="(.*?)"', body)
    links = "".join(element("a", text, href=f"#{key}") for key, text in shown)
    # What the radio buttons of a figure show and hide is in rules, so that no script is needed.
    views = "".join(
        f".view-{view}:checked ~ .panels .show-{view} {{ display: block; }}\n"
        f".view-{view}:checked ~ .panels .show-0 {{ display: none; }}\n"
        for view in range(1, MOST_VIEWS)
    )
    return Template(_text("report_page.html")).substitute(
        title=escape(title),
        style=_text("report_page.css") + views,
        script=_text("report_page.js"),
        body=Template(body).substitute(parts, title=escape(title), links=links),
    )


def _text(name: str) -> str:
    return files("sparsegate.paper").joinpath(name).read_text(encoding="utf-8")


_SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "±": r"$\pm$",
    "≥": r"$\ge$",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "ν": r"$\nu$",
    "ρ": r"$\rho$",
    "Δ": r"$\Delta$",
    "₁": "$_1$",
    "×": r"$\times$",
    "−": "$-$",
    "∞": r"$\infty$",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
}


def escaped(text: str) -> str:
    """A text as LaTeX sets it."""
    parts = re.split(r"(c\^\(2/3\))", text)
    plain = ("".join(_SPECIAL.get(sign, sign) for sign in part) for part in parts[::2])
    return "$c^{2/3}$".join(plain)


MOST_ROWS = 13  # rows of long text that fit on a page


def latex_table(heads: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str, label: str) -> str:
    """A table; a heading with a format, "SER|.3f", is one of numbers, as of ``page.table``; "|p" one of long text.

    A table that is wider than the page is set smaller. One of more long texts than fit on a page goes on in another.
    """
    split = [head.partition("|") for head in heads]
    cells = [
        [table_cell(value, "" if form == "p" else form).text for value, (_, _, form) in zip(values, split, strict=True)]
        for values in rows
    ]
    # Long texts share what the other columns leave of the line, by the root of how long they are.
    long = {place: sum(len(row[place]) for row in cells) ** 0.5 for place, head in enumerate(split) if head[2] == "p"}
    left = (0.72 - 0.08 * (len(heads) - len(long))) / max(sum(long.values()), 1)
    columns = "".join(
        f"p{{{left * long[place]:.2f}\\linewidth}}" if place in long else "r" if bar else "l"
        for place, (_, bar, _) in enumerate(split)
    )
    lines = [rf"{' & '.join(map(escaped, row))} \\" for row in cells]
    # Twelve values of c, or long texts, are too many for one column of two.
    table = "table*" if long or len(heads) > 8 else "table"
    begin = (
        rf"\begin{{{table}}}",
        r"\centering\small\setlength{\tabcolsep}{3pt}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        rf"{' & '.join(escaped(name) for name, _, _ in split)} \\",
        r"\midrule",
    )
    captions = rf"\caption{{{escaped(caption)}}}\label{{{label}}}", r"\addtocounter{table}{-1}\caption{Continued.}"
    parts = []
    step = MOST_ROWS if long else max(len(lines), 1)
    for start in range(0, max(len(lines), 1), step):
        end = r"\bottomrule", r"\end{tabular}}", captions[bool(start)], rf"\end{{{table}}}", ""
        parts += [*begin, *lines[start : start + step], *end]
    return "\n".join(parts)


def write_tables(folder: Path, tables: Mapping[str, str]) -> None:
    """Write each table as ``tables/NAME.tex`` below a folder."""
    (folder / "tables").mkdir(exist_ok=True)
    for name, text in tables.items():
        replace_text(folder / "tables" / f"{name}.tex", f"% needs \\usepackage{{booktabs,graphicx}}\n{text}")
