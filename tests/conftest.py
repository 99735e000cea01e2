"""Settings that hold for every test, and the two stores of a ledger."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tests.support.postgres_cluster import Cluster, running_cluster

from sparsegate.ledger.ledger import Ledger

gc.disable()  # until all is imported
# A deadline measures the machine, not the code; pytest-timeout catches what hangs. CI tries the same cases at every
# run, so that red means a change, and half as many; elsewhere each run tries others.
settings.register_profile(
    "sparsegate", deadline=None, derandomize="CI" in os.environ, max_examples=50 if "CI" in os.environ else 100
)
settings.load_profile("sparsegate")

# Whoever is started by `nohup`, or in the background of a script, ignores Ctrl-C, and so do its children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with running_cluster() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger can be made: a path, and a URL."""
    if request.param == "sqlite":
        return str(tmp_path / "visits.ledger")
    made: Callable[[], str] = request.getfixturevalue("cluster").database
    return made()


@pytest.fixture
def again(tmp_path: Path) -> Callable[[], Ledger]:
    """Makes a new ledger each time: the more entries one has, the more lines there are to interrupt it at."""
    Ledger.create(tmp_path / "empty.ledger", dataset="visits", budget=10).close()
    made = itertools.count()

    def copied() -> Ledger:
        place = tmp_path / f"{next(made)}.ledger"
        shutil.copy(tmp_path / "empty.ledger", place)
        return Ledger(place, patience=0.5)

    return copied


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All that needs Spark comes first, so in one process: another session takes half a minute to grow warm."""
    items.sort(key=lambda item: not (item.nodeid.startswith("tests/tables") and "spark" in item.nodeid))


def pytest_collection_finish() -> None:
    """What was imported stays, and the garbage collector need not walk through all of it again and again."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    gc.unfreeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Many tests wait, for a clock or a server: one process more uses what the others leave idle."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests that stand together run in one process, so that a fixture or a cache of theirs is made once."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)
