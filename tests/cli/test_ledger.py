"""`sparsegate ledger`: what it shows and exports, and that a budget is raised on record."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import pytest

from sparsegate.ledger.ledger import Ledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "visits.ledger"
    ledger = Ledger.create(path, dataset="visits", budget=2, budget_delta=1e-6)
    ledger.spend(epsilon=0.5, what="top 50 of page, unit user, method exponential, domain list")
    ledger.spend(epsilon=Fraction(1, 3), delta=1e-7, what="[bold]not markup[/bold]")
    return path


def test_show_says_what_is_spent_and_what_remains(command, path: Path) -> None:
    code, out, err = command("ledger", "show", path)
    assert (code, err) == (0, "")
    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.strip()}
    assert lines["dataset"] == ["visits"]
    assert lines["budget"] == ["epsilon", "2,", "delta", "0.000001"]
    assert lines["spent"] == ["epsilon", "5/6,", "delta", "0.0000001"]
    assert lines["remaining"] == ["epsilon", "7/6,", "delta", "0.0000009"]
    assert "[bold]not markup[/bold]" in out


def test_show_fits_eighty_columns(command, path: Path) -> None:
    assert max(len(line.rstrip()) for line in command("ledger", "show", path)[1].splitlines()) <= 80


def test_show_json_holds_the_sums_and_every_entry_exactly(command, path: Path) -> None:
    shown = json.loads(command("ledger", "show", path, "--json")[1])
    assert shown["spent"] == {"epsilon": "5/6", "delta": "0.0000001"}
    assert [entry["epsilon"] for entry in shown["entries"]] == ["2", "0.5", "1/3"]


def test_export_is_csv_and_json_is_the_same(command, path: Path) -> None:
    rows = list(csv.DictReader(command("ledger", "export", path)[1].splitlines()))
    records = json.loads(command("ledger", "export", path, "--json")[1])
    assert rows == [{name: str(value) for name, value in record.items()} for record in records]
    assert [row["kind"] for row in rows] == ["budget", "spend", "spend"]


def test_raise_is_recorded_with_its_reason(command, path: Path) -> None:
    code, out, _ = command("ledger", "raise", path, "--budget", "3", "--why", "agreed on 3 May")
    assert (code, out) == (0, "visits: the budget is now epsilon 3, delta 0.000001\n")
    assert Ledger(path).entries()[-1].what == "agreed on 3 May"


@pytest.mark.parametrize("budget", ["1", "2", "nan", "-1"])
def test_a_budget_that_is_not_larger_is_refused(command, path: Path, budget: str) -> None:
    code, out, err = command("ledger", "raise", path, "--budget", budget, "--why", "a slip")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert len(Ledger(path).entries()) == 3


@pytest.mark.parametrize("verb", ["show", "export"])
def test_a_ledger_that_is_missing_or_something_else_is_one_line(command, tmp_path: Path, verb: str) -> None:
    other = tmp_path / "other"
    other.write_text("SECRET,1\n")
    for file in (tmp_path / "missing", other):
        code, out, err = command("ledger", verb, file)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "SECRET" not in err
