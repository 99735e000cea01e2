"""One virtual environment for each package and version, and a process in it that answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from types import TracebackType
from typing import Any

ADAPTERS = Path(__file__).with_name("adapters.py")
SOURCE = Path(__file__).parent.parent.parent / "src"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sparsegate-hall"
_SAID = 300


class Unavailable(Exception):
    """A package cannot be had here: the message says why."""


def interpreter(
    package: str, version: str, *, install: bool, cache: Path = CACHE, beside: tuple[str, ...] = ()
) -> Path:
    """The Python of a package's environment, made and filled where ``install`` allows it.

    A file named ``ready`` is written last, so that an installation that was cut short is made again.
    """
    if package == "sparsegate":
        return Path(sys.executable)
    home = cache / f"{package}-{version}-py{sys.version_info[0]}.{sys.version_info[1]}"
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if (home / "ready").exists():
        return python
    if not install:
        raise Unavailable(f"not installed: run again with --install to make {home}")
    try:
        venv.create(home, with_pip=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as failure:
        raise Unavailable(f"no virtual environment could be made in {home}: {failure}") from failure
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, f"{package}=={version}", *beside], capture_output=True, text=True, check=False)
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip failed"]
        raise Unavailable(f"cannot be installed on Python {sys.version_info[0]}.{sys.version_info[1]}: {last[-1]}")
    (home / "ready").touch()
    return python


class Worker:
    """A mechanism that runs in another process: ``worker(data, n)`` is a list of n outcomes. A context manager."""

    def __init__(self, python: Path, adapter: str, settings: dict[str, Any], *, folder: Path = SOURCE) -> None:
        # A file, not a pipe that nobody empties: what a package says must not stop it.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [str(python), str(ADAPTERS), adapter, json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            encoding="utf-8",
            # Only sparsegate's own gate, and a test's module, are looked for in this folder.
            env={**os.environ, "PYTHONPATH": str(folder) if adapter in {"sparsegate", "module"} else ""},
        )
        try:
            self.claim = float(self._read()["claim"])
        except BaseException:
            self.close()
            raise

    def __call__(self, data: Any, runs: int) -> list[Any]:
        """Fresh outcomes for one input."""
        assert self._process.stdin
        plain = data.tolist() if hasattr(data, "tolist") else data
        self._process.stdin.write(json.dumps({"data": plain, "runs": runs}) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> Any:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            self._said.seek(0)
            said = self._said.read().decode(errors="replace").strip().splitlines()
            raise Unavailable(f"its process ended: {said[-1][:_SAID] if said else 'without a word'}")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._said.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
