"""A service for tests: a small table, a ledger in a folder, and an application that is called in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from ssl import SSLContext
from typing import Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal

from sparsegate.ledger.account import BudgetLike
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.data.dataset import ServedTable
from sparsegate.service.deadline import DelayPlan
from sparsegate.service.keeper import Keeper
from sparsegate.service.keys import SealingKey
from sparsegate.service.opening import KeeperTerms
from sparsegate.service.tokens import Role, Tokens
from sparsegate.service.web.admission import Limits
from sparsegate.service.web.connections import ConnectionLimits
from sparsegate.service.web.http import create_app
from sparsegate.service.web.server import guarded_server, listen

_RATES = [f"{which}{what}" for which in ("", "failure_", "open_", "practice_") for what in ("rate", "burst")]
_SHARES = ["share", "share_burst", "listing_share", "listing_burst"]
UNLIMITED = Limits(**dict.fromkeys([*_RATES, *_SHARES], 10**9))
CERTAIN = {"threshold": 100, "cutoff": 3, "epsilon": "100", "queries": None}
"""A gate with so little noise that 300 people are ABOVE and nobody is BELOW, up to a chance of less than 1e-300."""

TOP = {"item": "page", "count": 1, "epsilon": "100", "domain": ["/home", "/pay", "/blog"]}
MANY, NOBODY = "country = 'DE'", "country = 'XX'"


def write_visits(folder: Path) -> Path:
    """300 people in DE, who all see /home and every third of whom sees /pay."""
    file = folder / "visits.csv"
    rows = [f"{person},DE,/home,5" for person in range(300)] + [f"{person},DE,/pay,7" for person in range(0, 300, 3)]
    file.write_text("\n".join(["visitor,country,page,seconds", *rows]) + "\n")
    return file


@dataclass
class Service:
    """A keeper with its tokens, and an application around it in an event loop of its own."""

    keeper: Keeper
    tokens: Tokens
    portal: BlockingPortal
    owner: str
    analyst: str
    limits: Limits = UNLIMITED
    options: dict[str, Any] = field(default_factory=dict)
    app: Any = field(init=False)

    def __post_init__(self) -> None:
        self.app = create_app(self.keeper, self.tokens, limits=self.limits, **self.options)
        self._keys = 0

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = "owner",
        key: str | None = "",
        **more: Any,
    ) -> httpx.Response:
        """One request. ``token`` is a role, a text or None; a POST gets a new key unless one is given."""
        headers = {"X-Request-Id": "test"} | dict(more.pop("headers", {}))
        if token is not None:
            headers["Authorization"] = f"Bearer {getattr(self, token, token)}"
        if method == "POST" and key is not None:
            self._keys += 1
            headers["Idempotency-Key"] = key or f"key {self._keys}"
        if body is not None:
            more["json"] = body
        return self.portal.call(partial(self._send, method, path, headers, more))

    async def _send(self, method: str, path: str, headers: dict[str, str], more: dict[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(app=self.app, client=("192.0.2.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            return await client.request(method, path, headers=headers, timeout=30, **more)

    def open_gate(self, **changes: Any) -> str:
        """The name of a new gate."""
        response = self.send("POST", "/v1/gates", CERTAIN | changes)
        assert response.status_code == 201, response.text
        return str(response.json()["id"])

    def ask(self, gate: str, where: str, **more: Any) -> httpx.Response:
        """A question, of the analyst unless told otherwise."""
        return self.send("POST", f"/v1/gates/{gate}/ask", {"where": where}, **{"token": "analyst"} | more)


@contextmanager
def visits(folder: Path, **source: Any) -> Iterator[ServedTable]:
    """``write_visits``, opened."""
    with ServedTable.open([str(write_visits(folder))], user="visitor", **source) as data:
        yield data


@contextmanager
def serving(
    folder: Path,
    data: ServedTable,
    *,
    epsilon: BudgetLike = 1000,
    delay: float = 0.0,
    pace: DelayPlan | None = None,
    limits: Limits = UNLIMITED,
    **options: Any,
) -> Iterator[Service]:
    """A service with one token for each role, on a ledger of its own in a folder; options are those of its app."""
    ledger = Ledger.create(folder / "visits.ledger", dataset="visits", budget=epsilon)
    tokens = Tokens(ledger, remembered=0)
    owner, analyst = tokens.add("olga", Role.OWNER), tokens.add("anna", Role.ANALYST)
    with start_blocking_portal() as portal:
        key = SealingKey.create(folder / "visits.key")
        keeper = Keeper(ledger, data, key, pace=pace or DelayPlan(delay=delay))
        options.setdefault("terms", KeeperTerms(ledger=ledger, key=key, capacity="9000", delay=delay))
        try:
            service = Service(keeper, tokens, portal, owner, analyst, limits, options)
            with closing(service.app.state.practice):
                yield service
        finally:
            tokens.close()
            keeper.close()
            ledger.close()


@contextmanager
def listening(
    app: Any,
    limits: ConnectionLimits | None = None,
    port: int = 0,
    tls: SSLContext | None = None,
    host: str = "127.0.0.1",
) -> Iterator[str]:
    """The URL of an application behind a real uvicorn, in a thread."""
    sock = listen(host, port)
    server = guarded_server(app, [(sock, tls)], limits)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield f"http://{host}:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        sock.close()


def assert_problem(response: httpx.Response, status: int, kind: str) -> dict[str, Any]:
    """The problem that a response is, which must be of this sort."""
    assert (response.status_code, response.json()["type"]) == (status, kind), response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["status"] == status
    assert response.json()["title"]
    assert response.json()["detail"]
    return dict(response.json())
