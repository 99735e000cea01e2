"""A service, on SQLite or on both stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Any]:
    from tests.support.pretend_service import Shop  # imports what is heavy

    made = Shop(tmp_path)
    yield made
    made.shut()


@pytest.fixture
def shop_on_both(tmp_path: Path, place: str) -> Iterator[Any]:
    """What a store decides must hold on SQLite and on PostgreSQL: such tests have it in place of ``shop``."""
    from tests.support.pretend_service import Shop

    made = Shop(tmp_path, place=place)
    yield made
    made.shut()


@pytest.fixture
def keeper(shop: Any) -> Any:
    return shop.keeper()
