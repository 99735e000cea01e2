"""Tables for a paper: LaTeX that needs ``booktabs`` and ``graphicx``, one file a table; they fit on their pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sparsegate.paper.page import table_cell
from sparsegate.paper.results import replace_text

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
    left = 0.72 - 0.08 * (len(heads) - len(long))
    shares = {place: left * length / max(sum(long.values()), 1) for place, length in long.items()}
    columns = "".join(
        f"p{{{shares[place]:.2f}\\linewidth}}" if place in shares else "r" if bar else "l"
        for place, (_, bar, _) in enumerate(split)
    )
    lines = [rf"{' & '.join(map(escaped, row))} \\" for row in cells]
    head = " & ".join(escaped(name) for name, _, _ in split)
    # Twelve values of c, or long texts, are too many for one column of two.
    table = "table*" if long or len(heads) > 8 else "table"
    parts = range(0, max(len(lines), 1), MOST_ROWS if long else max(len(lines), 1))
    return "\n".join(
        line
        for start in parts
        for line in (
            rf"\begin{{{table}}}",
            r"\centering\small\setlength{\tabcolsep}{3pt}",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            rf"{head} \\",
            r"\midrule",
            *lines[start : start + parts.step],
            r"\bottomrule",
            r"\end{tabular}}",
            rf"\caption{{{escaped(caption)}}}\label{{{label}}}"
            if not start
            else r"\addtocounter{table}{-1}\caption{Continued.}",
            rf"\end{{{table}}}",
            "",
        )
    )


def write_tables(folder: Path, tables: Mapping[str, str]) -> None:
    """Write each table as ``tables/NAME.tex`` below a folder."""
    (folder / "tables").mkdir(exist_ok=True)
    for name, text in tables.items():
        replace_text(folder / "tables" / f"{name}.tex", f"% needs \\usepackage{{booktabs,graphicx}}\n{text}")
