"""A database of each kind that is known by name, for all tests of a module."""

from __future__ import annotations

import pytest
from tests.support.in_database import Store, sqlite_store


@pytest.fixture(scope="module", params=["PostgreSQL", "SQLite"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Store:
    if request.param == "SQLite":
        return sqlite_store(tmp_path_factory.mktemp("sqlite"))
    return Store(request.getfixturevalue("cluster").database())


@pytest.fixture(scope="module")
def postgres(request: pytest.FixtureRequest) -> Store:
    return Store(request.getfixturevalue("cluster").database())
