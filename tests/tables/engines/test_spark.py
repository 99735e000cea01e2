"""The page on clusters: its job runs as it stands, in the session of the tests, on files of this machine."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pages.blocks import steps

from sparsegate.ledger.ledger import Ledger

duckdb = pytest.importorskip("duckdb")

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "cluster.md"


def test_the_job_of_the_page_runs(spark: Any, tmp_path: Path, monkeypatch, capsys) -> None:
    """In the session at hand, which goes on for other tests; `make soak` runs it as the page says."""
    monkeypatch.chdir(tmp_path)
    data, job = (step.code for step in steps(PAGE.read_text(encoding="utf-8")) if step.language in {"python", "file"})
    exec(data, {})
    for name in ("visits.parquet", "pages.parquet"):  # the session started in another folder
        assert f'"{name}"' in job
        job = job.replace(f'"{name}"', repr(str(tmp_path / name)))
    exec(job.replace("spark.stop()", ""), {})
    assert "('/page/1', '/page/2', '/page/3', '/page/4', '/page/5')" in capsys.readouterr().out
    assert Ledger("visits.ledger").statement().remaining.epsilon == Fraction(3, 2)
