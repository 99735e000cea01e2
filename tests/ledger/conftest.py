"""A ledger of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparsegate.ledger.ledger import Ledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "visits.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    return Ledger.create(path, dataset="visits", budget=1)
