"""`sparsegate methods`: ours and those of installed packages, by key."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint, EntryPoints
from importlib.resources import files

import jsonschema_rs
import pytest

from sparsegate.paper import METHODS
from sparsegate.paper import methods as installed_methods


@pytest.fixture(autouse=True)
def two_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """One with a key of its own, one with the key of ours; neither can be imported."""
    points = EntryPoints(EntryPoint(key, f"nowhere:{key}", installed_methods.GROUP) for key in ("em", "theirs"))
    monkeypatch.setattr(installed_methods, "entry_points", lambda group: points.select(group=group))


def test_the_list_has_every_method_and_fits_eighty_columns(command) -> None:
    code, out, err = command("methods")
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in reversed(out.splitlines()) if line.split()}
    assert (code, err) == (0, "")
    assert set(METHODS) <= set(lines)
    assert (lines["em"], lines["subset"], lines["alg-4"]) == ("* EM all", "Subset all", "Alg. 4, as claimed one")
    assert lines["theirs"].startswith("nowhere:theirs")
    assert "nowhere:em, : hidden, the key is ours" in " ".join(out.split())
    assert max(map(len, map(str.rstrip, out.splitlines()))) <= 80


def test_json_holds_the_same_and_imports_nothing(command) -> None:
    code, out, _ = command("methods", "--json")
    rows = json.loads(out)
    schema = json.loads(files("sparsegate.display").joinpath("schemas.json").read_text(encoding="utf-8"))
    assert code == 0
    assert [row["key"] for row in rows] == [*METHODS, "em", "theirs"]
    assert [row["source"] for row in rows[-2:]] == ["nowhere:em", "nowhere:theirs"]
    assert all(map(jsonschema_rs.validator_for(schema).is_valid, rows))
