"""Requests to an ASGI application in this process, in an event loop of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import httpx
from anyio.from_thread import start_blocking_portal


@contextmanager
def calling(app: Any, base_url: str = "http://localhost") -> Iterator[Callable[..., httpx.Response]]:
    """What sends a request: a method, a path, a token or None, and what httpx takes."""

    async def sent(method: str, path: str, token: str | None, more: dict[str, Any]) -> httpx.Response:
        headers = more.pop("headers", {}) | ({} if token is None else {"Authorization": f"Bearer {token}"})
        transport = httpx.ASGITransport(app=app, client=("192.0.2.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url=base_url) as client:
            return await client.request(method, path, headers=headers, timeout=30, **more)

    with start_blocking_portal() as portal:

        def send(method: str, path: str, token: str | None = None, **more: Any) -> httpx.Response:
            return portal.call(partial(sent, method, path, token, more))

        yield send
