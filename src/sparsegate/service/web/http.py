"""The service over HTTP: the application with all its addresses, and what it says where a request cannot be read.

The page is many small files, each of them a route. So all but the first have an address that changes with their
content, and a browser keeps them for good; and they are outside the limit on requests without a token, which many
people may share an address for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, Final

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from sparsegate.service.keeper import Keeper
from sparsegate.service.opening import KeeperTerms
from sparsegate.service.practice import Practice
from sparsegate.service.tokens import Tokens
from sparsegate.service.web import problems, routes
from sparsegate.service.web.admission import PRACTICE, Authentication, Limits, Refresh, ThreadedKeeper, ThreadedPractice
from sparsegate.service.web.middleware import BodyLimit, ErrorBoundary, HostCheck, RequestCounts, RequestLog
from sparsegate.service.web.openapi import describe, methods_at
from sparsegate.service.web.readiness import Readiness, SharedFigures
from sparsegate.service.web.trusted_proxies import ForwardedAddress, TrustedProxies
from sparsegate.tables.release import installed_version

_FIRST: Final = "index.html"
_KEPT: Final = "public, max-age=31536000, immutable"
_KINDS: Final = MappingProxyType(
    {
        ".html": "text/html; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".svg": "image/svg+xml",
    }
)


def page_routes(folder: Traversable | None = None) -> APIRouter:
    """A route for each file of the page; they are read once, and nothing else is served."""
    place = files("sparsegate.service.web").joinpath("page") if folder is None else folder
    contents = {file.name: file.read_bytes() for file in place.iterdir() if PurePath(file.name).suffix in _KINDS}
    version = hashlib.sha256(repr(sorted(contents.items())).encode()).hexdigest()[:16]
    # The first file names two or three others from the root; those find the rest beside them.
    contents[_FIRST] = contents[_FIRST].replace(b'="/', f'="/{version}/'.encode())
    router = APIRouter(include_in_schema=False)
    for name, content in contents.items():
        headers = {"Content-Type": _KINDS[PurePath(name).suffix]}
        if name == _FIRST:
            path = "/"
        else:
            path, headers["Cache-Control"] = f"/{version}/{name}", _KEPT
        router.add_api_route(path, partial(_file, content, headers), methods=["GET"])
    return router


async def _file(content: bytes, headers: dict[str, str]) -> Response:
    return Response(content, headers=headers)


_RULES: Final = {"missing": "must be given", "extra_forbidden": "is not known here"}


def create_app(
    keeper: Keeper,
    tokens: Tokens,
    *,
    limits: Limits | None = None,
    hosts: Collection[str] | None = None,
    metrics_port: int | None = None,
    proxies: TrustedProxies | None = None,
    terms: KeeperTerms | None = None,
    shared: SharedFigures | None = None,
) -> FastAPI:
    """The service as an ASGI application. Whoever made the keeper closes it, and ``state.practice``.

    ``hosts`` are the names it is reached by (None: any); what comes to ``metrics_port`` gets the metrics alone. What
    comes through ``proxies`` is their clients'. With the ``terms`` that the keeper was made from the data can be read
    anew: then ``state.refresh`` is closed too. What is ``shared`` are the figures of several workers, and their folder.
    """
    limits = Limits() if limits is None else limits
    app = routed_app()
    app.state.service, app.state.tokens = ThreadedKeeper(keeper, limits), tokens
    app.state.readiness = Readiness(lambda: app.state.service)
    app.state.counts, app.state.shared = RequestCounts(), shared
    app.state.refresh = None if terms is None else Refresh(app.state, terms, limits)
    served = keeper.dataset
    practice = Practice(served.schema, served.unit, served.cells, folder=None if shared is None else shared.folder)
    app.state.practice = ThreadedPractice(practice, limits, app.state.service)
    # The last one added is the outermost.
    app.add_middleware(BodyLimit, seconds=limits.body_seconds)
    app.add_middleware(
        Authentication, tokens=tokens, limits=limits, metrics_port=metrics_port, page=app.state.page_paths
    )
    if hosts is not None:
        app.add_middleware(HostCheck, hosts=hosts)
    app.add_middleware(ErrorBoundary)
    app.add_middleware(RequestLog, counts=app.state.counts)
    if proxies is not None:
        app.add_middleware(ForwardedAddress, proxies=proxies)
    return app


def routed_app() -> FastAPI:
    """What can be asked, and how it is described, without anything that answers: enough for `openapi()`."""
    app = FastAPI(
        title="sparsegate",
        version=installed_version(),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={RequestValidationError: _invalid, HTTPException: _refused},
    )
    for router in (routes.account_router, routes.gate_router, routes.token_router):
        app.include_router(router, prefix="/v1")
    for router in (routes.practice_schema, routes.gate_router):
        app.include_router(router, prefix=PRACTICE.rstrip("/"))
    app.include_router(routes.operator_router)
    page = page_routes()
    app.include_router(page)
    app.state.page_paths = {route.path for route in page.routes if isinstance(route, APIRoute)}
    app.openapi = describe(app)  # type: ignore[method-assign]
    return app


async def _invalid(_: Request, error: Exception) -> Response:
    """A request that does not fit its model: the first thing that is wrong, without the value."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place, *names = first["loc"]
    if place == "header":
        return problems.problem(problems.KEY_MISSING)
    if first["type"] == "json_invalid":
        return problems.problem(problems.MALFORMED)
    name = str(names[0]) if names else "body"
    rule = _RULES.get(first["type"], first["msg"].replace("Input should be", "must be"))
    members: dict[str, Any] = {"pointer": f"/{name}"} if place == "body" and names else {}
    members |= problems.parameter_members(name, rule)
    return problems.problem(problems.PARAMETER, f"{name} {rule}", **members)


async def _refused(request: Request, error: Exception) -> Response:
    """What the framework refuses: an address, a method, or a body that cannot be read."""
    assert isinstance(error, HTTPException)
    sorts = {404: problems.NOT_FOUND, 405: problems.WRONG_METHOD}
    headers = dict(error.headers or {})
    if "Allow" in headers and (methods := methods_at(request.app.openapi(), request.url.path)):
        headers["Allow"] = ", ".join(methods)  # the framework knows those of one operation alone
    return problems.problem(sorts.get(error.status_code, problems.MALFORMED), headers=headers)
