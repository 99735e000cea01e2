"""`sparsegate serve` as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_SERVE = "from sparsegate.cli import main; main()"


@contextmanager
def spawned(*arguments: object, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The real server on a free port: its process, its URL, and what it said before it listened."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE, "serve", *map(str, arguments), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"} | environment,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    said = []
    try:
        for line in process.stdout:
            if line.startswith("serving "):
                break
            said.append(line)
        else:
            pytest.fail(process.stderr.read())
        yield process, line.split()[1], "".join(said)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
