"""`sparsegate serve` as a process of its own, and a sender that floods it from another."""

from __future__ import annotations

import json
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


@contextmanager
def flood(url: str, token: str, gate: str, where: str, *, rate: float) -> Iterator[dict[str, int]]:
    """Another process asks the same again and again, without waiting for answers; how many of each status it got."""
    process = subprocess.Popen(
        [sys.executable, __file__, url, token, gate, str(rate)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    statuses: dict[str, int] = {}
    try:
        print(json.dumps(where), file=process.stdin, flush=True)
        assert process.stdout.readline() == "begun\n"
        yield statuses
        process.stdin.close()
        statuses |= json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


async def _send(url: str, token: str, gate: str, rate: float, where: str) -> dict[str, int]:
    import asyncio
    import threading
    from collections import Counter

    import httpx

    statuses: Counter[str] = Counter()
    over = threading.Event()

    def listen() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=listen, daemon=True).start()

    async with httpx.AsyncClient(
        base_url=url, timeout=60, headers={"Authorization": f"Bearer {token}"}, limits=httpx.Limits(max_connections=60)
    ) as client:

        async def one(number: int) -> None:
            try:
                found = await client.post(
                    f"/v1/gates/{gate}/ask", json={"where": where}, headers={"Idempotency-Key": f"flood {number}"}
                )
                statuses[str(found.status_code)] += 1
            except httpx.HTTPError as error:
                statuses[type(error).__name__] += 1

        tasks: list[asyncio.Task[None]] = []
        while not over.is_set():
            tasks.append(asyncio.create_task(one(len(tasks))))
            await asyncio.sleep(1 / rate)
            if len(tasks) == 5:
                _say("begun")
        for task in tasks:
            task.cancel()
    return dict(statuses)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    import asyncio

    _url, _token, _gate, _rate = sys.argv[1:]
    _where = json.loads(sys.stdin.readline())
    _say(json.dumps(asyncio.run(_send(_url, _token, _gate, float(_rate), _where))))
