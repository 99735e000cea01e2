"""What a block may need beyond the library and its extras, and whether it is here."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True, kw_only=True)
class Need:
    """One word after ``needs:``. Without a check it is met nowhere that the pages are run."""

    reason: str
    """Why a block is skipped where the need is not met."""
    met: Callable[[], bool] | None = None


def _postgres() -> bool:
    from tests.support.postgres_cluster import as_a_mortal, programs

    return programs() is not None and as_a_mortal() is not None


NEEDS = {
    "docker": Need(reason="starts containers"),
    "root": Need(reason="changes the machine: users, services, files of the system"),
    "network": Need(reason="fetches from other hosts"),
    "checkout": Need(reason="is for a checkout of the repository, and changes it"),
    "service": Need(reason="asks a service, a database or a model that only the reader has"),
    "minutes": Need(reason="takes minutes"),
    "java": Need(
        reason="Java and PySpark are not here", met=lambda: bool(shutil.which("java") and find_spec("pyspark"))
    ),
    "postgres": Need(reason="the programs of PostgreSQL are not here, or nobody to run them as", met=_postgres),
    "accounting": Need(reason="dp-accounting is not here", met=lambda: find_spec("dp_accounting") is not None),
    "autodp": Need(reason="autodp is not here", met=lambda: find_spec("autodp") is not None),
    "chromium": Need(reason="chromium is not here", met=lambda: shutil.which("chromium") is not None),
}

NEVER = frozenset({"docker", "root", "network", "checkout", "service"})
"""Blocks that need one of these are run by no test."""


def unmet(words: tuple[str, ...], *, minutes: bool = False) -> str | None:
    """Why a block with these needs does not run here; None where it does. ``minutes``: there is time for long ones."""
    for word in words:
        if word not in NEEDS:
            raise ValueError(f"needs: {word!r} is not one of {', '.join(NEEDS)}")
        if word == "minutes" and minutes:
            continue
        need = NEEDS[word]
        if need.met is None or not need.met():
            return need.reason
    return None


@contextmanager
def provided(words: set[str]) -> Iterator[dict[str, str]]:
    """What makes needs met while a page runs, as variables of the environment: for ``postgres``, a new server."""
    if "postgres" not in words or unmet(("postgres",)):
        yield {}
        return
    from tests.support.postgres_cluster import running_cluster

    with running_cluster() as cluster:
        yield {"PGHOST": str(cluster.folder), "PGUSER": "test", "PGDATABASE": "postgres"}
