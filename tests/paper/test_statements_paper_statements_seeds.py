"""Every verdict of the default reproduction is decided, and is the same whatever the seed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from sparsegate.paper import run
from sparsegate.paper.experiments import MOST_RUNS
from sparsegate.paper.findings import Support, load_findings
from sparsegate.paper.statements import STATEMENTS, check_all

REFUTED = {
    "accurate-at-25",
    "best-raise",
    "epsilon-over-c",
    "dpbook-threshold-noise",
    "5d",
    "retraversal-deals-with-it",
    "alg-2-worse",
    "c-400",
    "c-140106",
}
"""What the results on Zipf and the stand-ins do not support; the uses of the Introduction are run by the command."""


def test_the_page_on_reproduction_has_these_verdicts() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "reproduce.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]*) \| ((?:not )?supported)[ ;|]", page, re.MULTILINE)
    said = {key: verdict for named, verdict in rows for key in re.findall("`([^`]+)`", named)}
    stated = {one.key for one in STATEMENTS if one.kind == "statement"} - {"uses-less-accurate"}
    assert said == {key: "not supported" if key in REFUTED else "supported" for key in stated}


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_a_verdict_does_not_depend_on_the_seed(tmp_path: Path, seed: int) -> None:
    run(seed=seed, jobs=os.cpu_count() or 1, out=tmp_path, further=True, most_runs=MOST_RUNS)
    checked = [one for one in check_all(load_findings(tmp_path)) if one.judgement.support is not Support.NOT_RUN]
    said = {one.statement.key: one.judgement.support for one in checked if one.statement.kind == "statement"}
    expected = {key: Support.NOT_SUPPORTED if key in REFUTED else Support.SUPPORTED for key in said}
    assert said == expected
    assert set(said) >= REFUTED
    own = {one.judgement.support for one in checked if one.statement.kind == "self-check"}
    assert own == {Support.SUPPORTED, Support.NOT_COMPARABLE}
