"""A service on both stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def shop(tmp_path: Path, place: str) -> Iterator[Any]:
    from tests.support.pretend_service import Shop  # imports what is heavy

    made = Shop(tmp_path, place=place)
    yield made
    made.shut()


@pytest.fixture
def keeper(shop: Any) -> Any:
    return shop.keeper()
