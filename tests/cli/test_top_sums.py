"""`sparsegate top --value`: sums are printed in the units of their column, from files of text as well.

/docs has ten orders of 100 or more, /home a hundred of 1; at epsilon 3,000 for a clip of 100 the noise that it would
take to confuse them has a probability below exp(-1000).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Command

pytest.importorskip("duckdb")

ASK = ("--item", "page", "--user", "who", "-c", "1", "--epsilon", "3000", "--value", "amount", "--clip", "0,100")


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"/home,h{n},1.00" for n in range(100)] + [f"/docs,d{n},{10**n}00" for n in range(10)]
    rows += ["/blog,b1,", "/blog,b2,free", "/blog,b3,nan"]
    Path("orders.csv").write_text("page,who,amount\n" + "\n".join(rows) + "\n")
    Path("pages.txt").write_text("/home\n/docs\n/blog\n")


@pytest.mark.usefixtures("orders")
def test_sums_are_printed_in_the_units_of_their_column(command: Command) -> None:
    code, out, err = command("top", "orders.csv", *ASK, "--domain", "pages.txt", "--answers-epsilon", "3000")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["page", "amount", "±", "0.100"]
    assert lines[1].split()[0] == "/docs"
    assert float(lines[1].split()[1].replace(",", "")) == pytest.approx(1000, abs=2)
    assert "± 0.100 for each sum" in " ".join(out.split())
    record = {line.split("  ")[0]: line for line in lines}
    assert record["sensitivity"].split()[-1] == "100"


@pytest.mark.usefixtures("orders")
def test_the_record_has_the_clip_and_a_count_needs_none(command: Command) -> None:
    _, out, _ = command("top", "orders.csv", *ASK, "--domain", "pages.txt", "--json", "--granularity", "0.01")
    record = json.loads(out)["record"]
    expected = {"value": "amount", "clip": [0, 100], "granularity": 0.01, "sensitivity": 100}
    assert {name: record[name] for name in expected} == expected
    _, out, _ = command("top", "orders.csv", *ASK[:-4], "--domain", "pages.txt", "--json")
    assert json.loads(out)["items"][0]["item"] == "/home"
    assert not expected.keys() & json.loads(out)["record"].keys()
