"""The pages: their commands and blocks run in their order, and their figures are those of the code."""

from __future__ import annotations

import math
import re
import shlex
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command

from sparsegate.ledger.account import rounded_down
from sparsegate.ledger.ledger import Ledger
from sparsegate.mechanisms.sparse_vector import SparseVector

duckdb = pytest.importorskip("duckdb")

DOCS = Path(__file__).parents[2] / "docs"


def test_the_commands_of_the_page_run_in_their_order(command: Command, folder: Path) -> None:
    query = "SELECT 'DE' AS country, '/page/' || range % 90 AS page, range % 500 AS visitor FROM range(9000)"
    duckdb.sql(query).write_parquet("visits.parquet")
    orders = "SELECT 'p' || range % 20 AS product, range % 500 AS customer, range % 90 AS amount FROM range(9000)"
    duckdb.sql(orders).write_csv("orders.csv")
    duckdb.sql("SELECT 'p' || range AS product FROM range(20)").write_csv("products.csv")
    (folder / "countries.csv").write_text("code\nDE\nFR\n")
    blocks = re.findall(r"```sh\n(.*?)```", (DOCS / "how-to" / "top.md").read_text(encoding="utf-8"), re.DOTALL)
    commands = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    assert len(commands) >= 9
    for line in commands:
        name, *arguments = shlex.split(line)
        code, out, err = command(*arguments)
        assert (name, code, err) == ("sparsegate", 0, ""), line
        assert out
    assert Ledger("visits.ledger").statement().remaining.epsilon == 2 + Fraction(1, 4)
    names = {"visits": duckdb.read_parquet("visits.parquet"), "pages": [f"/page/{number}" for number in range(90)]}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / "how-to/top.md").read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)
    assert len(names["top"]) == 50
    assert Ledger("visits.ledger").statement().remaining.epsilon == 1 + Fraction(3, 4)


def test_the_page_of_the_ledger_runs_in_its_order(command: Command, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "how-to" / "ledger.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for language, block in re.findall(r"```(python|sh)\n(.*?)```", page, re.DOTALL):
        if language == "python":
            exec(block, names)
        else:
            assert [command(*shlex.split(line)[1:])[0] for line in block.splitlines()] == [0] * block.count("\n")
    statement = Ledger("visits.ledger").statement()
    kept = Fraction(1, 2) - rounded_down(Fraction(1, 2) - names["gate"].spent)
    assert (statement.spent.epsilon - kept, statement.budget.epsilon) == (1 + Fraction(5, 8), 4)


def test_the_margins_on_the_page_are_those_of_the_gates() -> None:
    page = (DOCS / "how-to" / "threshold.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| cutoff (\d+) \| (\d+) \| (\d+) \| (\d+) \|", page, re.MULTILINE)
    assert len(rows) == 4
    for cutoff, *margins in rows:
        gates = [
            SparseVector(threshold=0, cutoff=int(cutoff), epsilon=epsilon, sensitivity=1, monotonic=True)
            for epsilon in (0.1, 0.5, 1)
        ]
        assert [gate.margin(0.95) for gate in gates] == [int(margin) for margin in margins]


def test_the_shortfalls_on_the_page_follow_its_formula() -> None:
    page = (DOCS / "how-to" / "threshold.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d,]+) \| ([\d,]+) \|$", page, re.MULTILINE)
    assert len(rows) == 3
    for candidates, shortfall in rows:
        exact = 50 / 0.5 * math.log(int(candidates.replace(",", "")) / 0.001)
        assert math.ceil(exact) == int(shortfall.replace(",", ""))
