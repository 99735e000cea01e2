"""Settings that hold for every test, and the two stores of a ledger."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests.support.postgres_cluster import Cluster, as_a_mortal, programs

# A deadline measures the machine, not the code; pytest-timeout catches what hangs.
settings.register_profile("sparsegate", deadline=None)
settings.load_profile("sparsegate")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    found, mortal = programs(), as_a_mortal()
    if found is None:
        pytest.skip("PostgreSQL's server programs (initdb, pg_ctl) are not installed")
    if mortal is None:
        pytest.skip("PostgreSQL does not run as root, and there is no user 'postgres' to run it as")
    folder = Path(tempfile.mkdtemp(prefix="sparsegate-pg-", dir="/tmp"))
    try:
        folder.chmod(0o755)
        if mortal:
            shutil.chown(folder, "postgres")
        running = Cluster(folder, found, mortal)
        yield running
        running.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger can be made: a path, and a URL."""
    if request.param == "sqlite":
        return str(tmp_path / "visits.ledger")
    made: Callable[[], str] = request.getfixturevalue("cluster").database
    return made()
