"""`sparsegate methods`: ours and those of installed packages, by key."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint, EntryPoints

from tests.support.display import valid

from sparsegate.paper import METHODS
from sparsegate.paper import methods as installed_methods


def test_every_method_is_listed_and_nothing_is_imported(command, monkeypatch) -> None:
    """Two packages: one with a key of its own, one with the key of ours; neither can be imported."""
    points = EntryPoints(EntryPoint(key, f"nowhere:{key}", installed_methods.GROUP) for key in ("em", "theirs"))
    monkeypatch.setattr(installed_methods, "entry_points", lambda group: points.select(group=group))
    code, out, err = command("methods")
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in reversed(out.splitlines()) if line.split()}
    assert (code, err) == (0, "")
    assert set(METHODS) <= set(lines)
    assert (lines["em"], lines["subset"], lines["alg-4"]) == ("* EM all", "Subset all", "Alg. 4, as claimed one")
    assert lines["theirs"].startswith("nowhere:theirs")
    assert "nowhere:em, : hidden, the key is ours" in " ".join(out.split())
    assert max(map(len, map(str.rstrip, out.splitlines()))) <= 80
    rows = json.loads(command("methods", "--json")[1])
    assert [row["key"] for row in rows] == [*METHODS, "em", "theirs"]
    assert [row["source"] for row in rows[-2:]] == ["nowhere:em", "nowhere:theirs"]
    assert valid(*rows)
