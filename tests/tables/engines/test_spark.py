"""The page on clusters: its job runs as it stands; and a release of a cluster of two workers of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pages.blocks import steps
from tests.support.spark_cluster import standalone_cluster

from sparsegate.ledger.ledger import Ledger

duckdb = pytest.importorskip("duckdb")

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "how-to" / "cluster.md"


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


JOB = """
import sys
import sparsegate as sg
from pyspark.sql import SparkSession
from tests.support.spark_cluster import SETTINGS

settings = SETTINGS | {"spark.sql.shuffle.partitions": "2", "spark.executor.memory": "512m"}
spark = SparkSession.builder.master(sys.argv[1]).config(map=settings).getOrCreate()
rows = [(page, visitor) for page in range(1, 31) for visitor in range(600 // page)]
visits = spark.createDataFrame(rows, "page bigint, visitor bigint")
asked = {"item": "page", "user": "visitor", "count": 8, "epsilon": 0.1, "not_private": True}
top = sg.top_items(visits, **asked, domain=100, source=sg.Seeded(3))
here = sg.top_items(dict(zip(("page", "visitor"), zip(*rows))), **asked, domain=100, source=sg.Seeded(3))
executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1  # the driver is one of them
print(executors, top.items == here.items, visits.rdd.getNumPartitions())
"""


@pytest.mark.soak
def test_a_release_of_a_standalone_cluster_of_two_workers_is_that_of_this_process(tmp_path: Path) -> None:
    """The executors are processes without this library, and the names are those that DuckDB gives for the seed."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and there is none here")
    pytest.importorskip("pyspark", reason="Spark needs the extra [spark]")
    with standalone_cluster(tmp_path) as address:
        job = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", JOB, address], capture_output=True, text=True, cwd=ROOT, timeout=240
        )
    assert job.stdout.split() == ["2", "True", "2"], job.stderr[-2000:]
