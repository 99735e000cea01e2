"""The page on clusters: its job runs as it stands, in the session of the tests, on files of this machine."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sparsegate.ledger.ledger import Ledger

duckdb = pytest.importorskip("duckdb")

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "cluster.md"


def job(folder: Path) -> str:
    """The program on the page, with the places of its data replaced."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for name in ("visits", "pages"):
        block, found = re.subn(rf"s3a://\w+/{name}/", str(folder / f"{name}.parquet"), block)
        assert found == 1
    return str(block)


def test_the_imports_of_the_job_are_there(tmp_path: Path) -> None:
    lines = [line for line in job(tmp_path).splitlines() if line.startswith(("import sparsegate", "from sparsegate"))]
    assert lines
    exec("\n".join(lines), {})


def test_the_job_runs(spark: Any, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    query = "SELECT '/page/' || range % 90 AS page, range % 500 AS visitor FROM range(9000)"
    duckdb.sql(query).write_parquet("visits.parquet")
    duckdb.sql("SELECT '/page/' || range AS page FROM range(200)").write_parquet("pages.parquet")
    Ledger.create("visits.ledger", dataset="visits", budget=1)
    exec(job(tmp_path), {})
    assert "epsilon" in capsys.readouterr().out
    assert Ledger("visits.ledger").statement().remaining.epsilon == Fraction(1, 2)
