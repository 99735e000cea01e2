"""A pytest plugin that writes down how each test ended, for the runner of mutants.

Exit codes do not tell a test that failed from one that could not be set up or collected.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import Phase, settings

# The same examples each time, and none made shorter: whether a test fails is all that is asked.
settings.register_profile(
    "mutants", deadline=None, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate]
)

_ended: dict[str, str] = {}


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _ended[report.nodeid] = "error"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call":
        _ended[report.nodeid] = report.outcome
    elif report.failed:
        # A test that failed may leave something open: that its end fails, too, takes nothing back.
        if _ended.get(report.nodeid) != "failed":
            _ended[report.nodeid] = "error"
    elif report.skipped:
        _ended[report.nodeid] = "skipped"


def pytest_sessionfinish() -> None:
    Path(os.environ["MUTANTS_RECORD"]).write_text(json.dumps(_ended), encoding="utf-8")
