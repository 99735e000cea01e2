"""Tables for a paper: LaTeX that needs ``booktabs`` and nothing else, one file a table."""

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


def latex_table(heads: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str, label: str) -> str:
    """A table; a heading with a format, "SER|.3f", is one of numbers, as of ``page.table``; "|p" one of long text."""
    split = [head.partition("|") for head in heads]
    wide = sum(form == "p" for _, _, form in split)
    share = (0.64 - 0.08 * (len(heads) - wide)) / max(wide, 1)  # of the line, what the other columns leave
    columns = "".join(f"p{{{share:.2f}\\linewidth}}" if form == "p" else "r" if bar else "l" for _, bar, form in split)
    lines = [
        " & ".join(
            escaped(table_cell(value, "" if form == "p" else form).text)
            for value, (_, _, form) in zip(values, split, strict=True)
        )
        for values in rows
    ]
    head = " & ".join(escaped(name) for name, _, _ in split)
    body = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", rf"{head} \\", r"\midrule"]
    body += [*(rf"{line} \\" for line in lines), r"\bottomrule", r"\end{tabular}"]
    # Twelve values of c are too many for one column of two.
    table, small = ("table*", [r"\small\setlength{\tabcolsep}{4pt}"]) if len(heads) > 8 else ("table", [])
    return "\n".join(
        [
            rf"\begin{{{table}}}",
            r"\centering",
            *small,
            *body,
            rf"\caption{{{escaped(caption)}}}\label{{{label}}}",
            rf"\end{{{table}}}",
            "",
        ]
    )


def write_tables(folder: Path, tables: Mapping[str, str]) -> None:
    """Write each table as ``tables/NAME.tex`` below a folder."""
    (folder / "tables").mkdir(exist_ok=True)
    for name, text in tables.items():
        replace_text(folder / "tables" / f"{name}.tex", f"% needs \\usepackage{{booktabs}}\n{text}")
