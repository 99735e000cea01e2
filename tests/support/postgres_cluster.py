"""A throw-away PostgreSQL cluster, for whatever must hold on both stores."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda place: -float(place.parent.name))


def programs() -> Path | None:
    """Where PostgreSQL's server programs are: on the path, or where Debian keeps them."""
    found = shutil.which("initdb")
    return Path(found).parent if found else next(iter(PLACES), None)


def as_a_mortal() -> list[str] | None:
    """PostgreSQL refuses to run as root: the words to put before a command; None where there is nobody else to be."""
    if os.geteuid() != 0:
        return []
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return None
    return ["runuser", "-u", "postgres", "--"]


class Cluster:
    """A PostgreSQL server on a socket in a folder of its own."""

    def __init__(self, folder: Path, programs: Path, mortal: list[str]) -> None:
        self.folder, self._programs, self._mortal = folder, programs, mortal
        self._data = folder / "data"
        self._run("initdb", "--no-sync", "--auth=trust", "--username=test", "-D", str(self._data))
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self._mortal, str(self._programs / program), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c max_connections=100"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", str(self._data), "-w", "-l", log, "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-D", str(self._data), "-w", "-m", mode, "stop")

    def kill(self) -> None:
        """SIGKILL, to the server and whatever it has started: no clean-up, no last word."""
        note = self._data / "postmaster.pid"
        pid = int(note.read_text().split()[0])
        started = [pid, *children_of(pid)]
        for each in started:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        while any(map(_lives, started)):
            time.sleep(0.01)
        # Where nobody collects the dead, the next server would take them for the living.
        note.unlink()
        (self.folder / ".s.PGSQL.5432.lock").unlink()

    def database(self) -> str:
        """The URL of a new, empty database."""
        import psycopg

        name = f"db{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self._url(name)

    def _url(self, name: str) -> str:
        return f"postgresql://test@/{name}?host={self.folder}"


def children_of(pid: int) -> list[int]:
    """The processes that this one has started."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """A cluster of its own, or a test that is skipped."""
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
        # A cluster has a hundred thousand files: nobody waits until they are gone.
        subprocess.run(["sh", "-c", 'rm -rf "$0" >/dev/null 2>&1 &', str(folder)], check=False)
