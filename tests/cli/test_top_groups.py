"""`sparsegate top --per`: a table of groups, printed in every form, kept whole, and printed again as it was.

Counts lie 20 apart at epsilon 40 for each question, so a wrong selection, or a count 3 off, has a probability below
e**-40.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Command

CELLS = {("DE", "2024-01-31", "/home"): 60, ("DE", "2024-02-01", "/pay"): 40, ("FR", "2024-02-01", "/pay"): 20}
ASK = ("top", "visits.csv", "--item", "page", "--user", "visitor", "-c", "2", "--epsilon", "40")
PAID = (*ASK, "--domain", "pages.txt", "--answers-epsilon", "40")


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [",".join((*cell, f"{cell[0]}{cell[2]}{n}")) for cell, people in CELLS.items() for n in range(people)]
    Path("visits.csv").write_text("country,day,page,visitor\n" + "\n".join(rows) + "\n")
    Path("pages.txt").write_text("/home\n/pay\n")
    Path("countries.csv").write_text("code,name\nFR,France\nDE,Germany\nZZ,Nowhere\n")


@pytest.mark.parametrize("groups", ["DE,FR,ZZ", "countries.csv:code"])
def test_every_group_is_there_charged_once_and_printed_again_as_it_was(command: Command, groups: str) -> None:
    ledger = ("--ledger", "x.ledger", "--budget", "100", "--dataset", "visits")
    first = command(*PAID, "--per", "country", "--groups", groups, *ledger)
    assert (first[0], first[2]) == (0, "")
    lines = [line.split() for line in first[1].splitlines()]
    assert lines[0][:2] == ["country", "page"]
    assert {line[0] for line in lines[1:7:2]} == {"DE", "FR", "ZZ"}  # a group is named once
    assert command("ledger", "show", "x.ledger", "--release", "2") == first
    again = json.loads(command("ledger", "show", "x.ledger", "--release", "2", "--json")[1])
    counts = {(row["group"], row["item"]): round(row["estimate"], -1) for row in again["items"] if row["estimate"] > 9}
    assert counts == {(country, page): people for (country, _, page), people in CELLS.items()} | {("DE", "/pay"): 40}
    assert (again["record"]["per"], again["record"]["groups"], again["record"]["epsilon"]) == ("country", 3, "80")


def test_groups_without_an_item_are_named_and_a_picture_shows_the_others(command: Command) -> None:
    observed = (*ASK, "--domain", "observed", "--delta", "1e-3", "--answers-epsilon", "1")
    code, out, _ = command(*observed, "--per", "country", "--groups", "DE,ZZ", "--plot", "x.svg")
    assert code == 0
    assert "nothing selected in ZZ" in " ".join(out.split())
    assert "/home (DE)" in Path("x.svg").read_text()
