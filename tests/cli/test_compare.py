"""`sparsegate compare`: options in, maps, JSON and files out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.display import valid

from sparsegate.paper import comparison as module
from sparsegate.paper import uses as measured_uses

SMALL = ("--datasets", "zipf", "--counts", "100", "--epsilon", "0.1", "--no-peers", "--jobs", "1", "--runs", "200")


@pytest.fixture
def compare(command, tmp_path: Path):
    return lambda *arguments: command("compare", *SMALL, "--most-runs", "200", *arguments, "--out", tmp_path / "out")


def test_maps_and_sentences_are_printed_and_files_are_written(compare, tmp_path: Path) -> None:
    code, out, _ = compare("--methods", "em,svt-dpbook,alg-4")
    assert code == 0
    assert "Zipf: who wins, ε" in out
    assert "ε: of 1 cells EM wins 1; 0 ties; 0 undecided" in out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("results.csv", "results.parquet", "results.json", "winners.csv", "winners.parquet"),
        *("manifest.json", "report.html", "figures", "cases"),
    }
    assert all(len(line) <= 100 for line in out.splitlines() if str(tmp_path) not in line)


def test_the_uses_are_measured_on_request(compare, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(module, "USE_EPSILONS", (1,))
    monkeypatch.setattr(module, "USE_RUNS", 8)
    name = "feature selection (SCM14)"
    monkeypatch.setattr(measured_uses, "USES", {name: measured_uses.USES[name]})
    assert compare("--methods", "em", "--uses")[0] == 0
    assert len((tmp_path / "out" / "uses.csv").read_text(encoding="utf-8").splitlines()) == 5
    assert 'id="figure-uses"' in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_mine_is_compared_and_json_is_of_its_schema(compare, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "my_choice.py").write_text("def first(scores, count, epsilon, rng):\n    return range(count)\n")
    monkeypatch.chdir(tmp_path)
    code, out, _ = compare("--methods", "em", "--mine", "my_choice:first", "--json")
    told = json.loads(out)
    assert (code, valid(told)) == (0, True)
    assert [row["method"] for row in told["items"]] == ["em", "first"]
    assert told["winners"][0]["winners"] == ["em"]
    for name in ("nowhere:f", "json", "json:nothing"):
        code, _, err = compare("--mine", name)
        assert (code, err.startswith("sparsegate: --mine must")) == (2, True)
