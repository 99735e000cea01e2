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
