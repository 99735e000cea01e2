"""Requests that spend at once, and what was answered: whoever sends one again gets the same answer."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select, update

from sparsegate.ledger.database_schema import REQUESTS
from sparsegate.service.gates import KeyReused, Request, RequestLost


def place(request: Request, path: str) -> tuple[Any, ...]:
    """Where a request is kept: under its token, its path and its key."""
    return REQUESTS.c.token == request.token, REQUESTS.c.path == path, REQUESTS.c.key == request.key


def recalled(connection: Connection, request: Request, path: str) -> str | None:
    """What was answered to this request before; None: it is new. One that was cut short after its charge is lost."""
    found = connection.execute(select(REQUESTS.c.body, REQUESTS.c.response).where(*place(request, path))).one_or_none()
    if found is None:
        return None
    if found.body != request.body:
        raise KeyReused
    if found.response is None:
        raise RequestLost
    return str(found.response)


def finish(connection: Connection, request: Request, path: str, response: str) -> None:
    """Keep what is answered."""
    connection.execute(update(REQUESTS).where(*place(request, path)).values(response=response))
