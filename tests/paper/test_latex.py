"""Tables as LaTeX: every sign is one that LaTeX sets, and every row has as many cells as there are columns."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.made_findings import made_findings

from sparsegate.paper.page import escaped, latex_table, write_tables
from sparsegate.paper.report import Reproduction
from sparsegate.paper.statements import check_all


@pytest.fixture(scope="module")
def tables() -> dict[str, str]:
    found = made_findings()
    return Reproduction(folder=Path(), findings=found, checked=tuple(check_all(found)), readings=None).latex()


def test_a_report_has_its_verdicts_printed_numbers_and_rates_as_tables(tables: dict[str, str]) -> None:
    assert list(tables) == ["verdicts", "printed", "ser-kosarak", "ser-aol", "ser-zipf"]
    assert r"em & 0.000 & 0.050 & 0.261 & 0.380 \\" in tables["ser-zipf"]
    assert tables["verdicts"].count(r"& supported \\") + tables["verdicts"].count(r"& supported \ddag{} \\") == 25
    assert r"until c are selected. \dag{} & Sec. 5" in tables["verdicts"]
    first = re.findall(r"^(\S+) &", tables["ser-zipf"], re.MULTILINE)
    assert first[1:6] == ["svt-dpbook", "svt-s-1:1", "svt-s-1:3", "svt-s-1:c", "svt-s-1:c23"], "as in the paper"
    assert r"kosarak & 50 & svt-dpbook & 0.705 & 0.700 [" in tables["printed"]


def test_numbers_that_were_not_run_have_no_table() -> None:
    found = made_findings().only(["zipf"])
    report = Reproduction(folder=Path(), findings=found, checked=tuple(check_all(found)), readings=None)
    assert list(report.latex()) == ["verdicts", "ser-zipf"]


def test_every_row_has_a_cell_for_each_column_and_no_sign_is_beyond_latex(tables: dict[str, str]) -> None:
    for text in tables.values():
        assert text.isascii()
        (columns,) = set(re.findall(r"\\begin\{tabular\}\{(.*)\}", text))
        width = len(re.sub(r"p\{.*?\}", "p", columns))
        rows = [line for line in text.splitlines() if line.endswith(r" \\")]
        assert {len(re.split(r"(?<!\\)&", row)) for row in rows} == {width}
        assert text.count("{") == text.count("}")
        assert text.count("$") % 2 == 0
        assert [
            text.count(rf"\begin{{{name}}}") - text.count(rf"\end{{{name}}}") for name in ("table", "table*", "tabular")
        ] == [
            0,
            0,
            0,
        ]


def test_what_latex_reads_as_a_command_is_set_as_it_is(tmp_path: Path) -> None:
    assert escaped("a_b & 5% {x} #1 \\ ~") == r"a\_b \& 5\% \{x\} \#1 \textbackslash{} \textasciitilde{}"
    write_tables(tmp_path, {"one": latex_table(["A|p", "c|d"], [("x", None)], caption="5 %", label="tab:one")})
    text = (tmp_path / "tables" / "one.tex").read_text()
    assert text.startswith("% needs \\usepackage{booktabs,graphicx}\n")
    assert r"x & - \\" in text
    assert r"\begin{tabular}{p{0.64\linewidth}r}" in text
    wide = latex_table(["Method", *(f"{c}|d" for c in range(12))], [("em", *range(12))], caption="", label="tab:two")
    assert wide.startswith("\\begin{table*}\n"), "over both columns"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_every_table_fits_on_a_page(tables: dict[str, str], columns: str, tmp_path: Path) -> None:
    many = [("svt-dpbook-monotonic", *[0.5] * 12)] * 22  # as long and as wide as the default report has them
    wide = latex_table(["Method", *(f"{c}|.3f" for c in range(25, 325, 25))], many, caption="All.", label="tab:all")
    write_tables(tmp_path, tables | {"wide": wide})
    inputs = [rf"\input{{tables/{file.name}}}" for file in sorted((tmp_path / "tables").iterdir())]
    begin = rf"\documentclass[{columns}]{{article}}\usepackage{{booktabs,graphicx}}\begin{{document}}"
    (tmp_path / "all.tex").write_text("\n".join([begin, *inputs, r"\end{document}"]))
    subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=batchmode", "all.tex"], cwd=tmp_path, check=True, timeout=60
    )
    log = (tmp_path / "all.log").read_text(errors="replace")
    assert re.findall(r"Overfull.*|.*too large.*", log) == []
    assert len(inputs) == 6


def test_what_does_not_fit_on_a_page_goes_on_in_another_table(tables: dict[str, str]) -> None:
    assert tables["verdicts"].count(r"\begin{table*}") == 2
    assert tables["verdicts"].count(r"\label") == 1
    assert tables["verdicts"].count("Claim & Where & Verdict") == 2
