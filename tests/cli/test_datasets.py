"""`sparsegate datasets`: the list, and fetching."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparsegate.cli import datasets as module
from sparsegate.paper import PUBLISHED


def test_the_list_says_records_items_and_what_is_a_stand_in(command) -> None:
    code, out, err = command("datasets")
    lines = {line.split()[0]: line.split()[1:4] for line in out.splitlines() if line.split()}
    assert (code, err) == (0, "")
    assert lines["kosarak"] == ["990,002", "41,270", "stand-in"]
    assert lines["zipf"] == ["1,000,000", "10,000", "exact"]
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 80
    rows = json.loads(command("datasets", "--json")[1])
    assert [row["name"] for row in rows] == list(PUBLISHED)
    assert [row["stand_in"] for row in rows] == [True, True, True, False]


def test_fetch_prints_the_path_alone_on_stdout(command, refused, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused("datasets", "fetch", "retail").startswith("dataset must be one of bms-pos, kosarak, aol, zipf")
    monkeypatch.setattr(module, "fetch_file", lambda name, folder: Path(folder) / f"{name}.dat")
    code, out, err = command("datasets", "fetch", "kosarak", "--folder", "cache")
    assert (code, out) == (0, "cache/kosarak.dat\n")
    assert "--data kosarak=cache/kosarak.dat" in err
