"""`sparsegate top --per`: a table of groups, printed in every form, kept whole, and printed again as it was.

Counts lie 20 apart at epsilon 40 for each question, so a wrong selection, or a count 3 off, has a probability below
e**-40.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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


def counts(out: str) -> dict[tuple[Any, str], int]:
    return {(row["group"], row["item"]): round(row["estimate"], -1) for row in json.loads(out)["items"]}


def test_a_group_is_named_once_and_every_group_is_there(command: Command) -> None:
    code, out, err = command(*PAID, "--per", "country", "--groups", "DE,FR,ZZ")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[0][:2] == ["country", "page"]
    assert [line[0] for line in lines[1:7:2]] == ["DE", "FR", "ZZ"]
    assert [line[0] for line in lines[2:6:2]] == ["/pay", "/home"]
    assert "each user is in at most 1 of 3 groups" in " ".join(out.split())


def test_groups_come_from_a_file_and_items_carry_theirs_in_json(command: Command) -> None:
    code, out, _ = command(*PAID, "--per", "country", "--groups", "countries.csv:code", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["schema"] == "sparsegate/top/1"
    assert set(found["groups"]) == {"FR", "DE", "ZZ"}
    assert counts(out) == {
        ("DE", "/home"): 60,
        ("DE", "/pay"): 40,
        ("FR", "/pay"): 20,
        ("FR", "/home"): 0,
        ("ZZ", "/home"): 0,
        ("ZZ", "/pay"): 0,
    }
    assert (found["record"]["per"], found["record"]["groups"], found["record"]["epsilon"]) == ("country", 3, "80")


def test_it_is_charged_once_and_printed_again_as_it_was(command: Command) -> None:
    ledger = ("--ledger", "x.ledger", "--budget", "100", "--dataset", "visits")
    first = command(*PAID, "--per", "country", "--groups", "DE,FR", *ledger)
    assert first[0] == 0
    assert command("ledger", "show", "x.ledger", "--release", "2") == first
    code, out, _ = command("ledger", "show", "x.ledger", "--json")
    assert code == 0
    assert json.loads(out)["spent"]["epsilon"] == "80"
    again = command("ledger", "show", "x.ledger", "--release", "2", "--json")
    assert counts(again[1])["DE", "/home"] == 60


def test_groups_without_an_item_are_named_and_a_picture_shows_the_others(command: Command) -> None:
    observed = (*ASK, "--domain", "observed", "--delta", "1e-3", "--answers-epsilon", "1")
    code, out, _ = command(*observed, "--per", "country", "--groups", "DE,ZZ", "--plot", "x.svg")
    assert code == 0
    assert "nothing selected in ZZ" in " ".join(out.split())
    assert "/home (DE)" in Path("x.svg").read_text()
