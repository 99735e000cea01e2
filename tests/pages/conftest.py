"""The site, built once for all tests of a run as `make docs` builds it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.support.browsing import browsing

ROOT = Path(__file__).parents[2]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site. The processes of one run share it: the first that needs it builds it."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder, said = shared / "site", shared / "site.said"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
            environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "REPO_URL": "https://example.org/a/repository"}
            built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
            said.write_text(f"{built.returncode}\n{built.stdout}{built.stderr}")
    assert said.read_text().startswith("0\n"), said.read_text()
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as started:
        yield started


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The site as a reader sees it: over HTTP, below a path."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site.parent)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{site.name}/"
        server.shutdown()
