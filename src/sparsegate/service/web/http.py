"""The service over HTTP: each address, who may use it, and which method of the keeper it calls.

A keeper blocks: an ask sleeps until its answer may leave. So every call runs in a thread, questions and the rest in
separate pools, and nobody who only looks has to wait behind those who ask.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Any, Final, TypeVar

import anyio
import anyio.to_thread
from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from sparsegate.conditions import Kind
from sparsegate.errors import ParameterError, UnknownGate
from sparsegate.service.keeper import Keeper
from sparsegate.service.tokens import Tokens
from sparsegate.service.web import models, problems
from sparsegate.service.web.admission import Anybody, Authentication, Calling, GateQueues, Limits, Owner, OwnerCalling
from sparsegate.service.web.middleware import BodyLimit, ErrorBoundary
from sparsegate.service.web.openapi import POSTED, TOKEN, describe, problem_responses
from sparsegate.tables.release import installed_version

_Result = TypeVar("_Result")

_LOOKERS: Final = 16
_RULES: Final = {"missing": "must be given", "extra_forbidden": "is not known here"}
_GATE: Final = re.compile(r"g-[0-9a-f]{16}", re.ASCII)


class _Service:
    """A keeper, seen from the event loop."""

    def __init__(self, keeper: Keeper, limits: Limits) -> None:
        self.keeper = keeper
        self.queues = GateQueues(waiting=limits.waiting, patience=keeper.pace.patience, delay=keeper.pace.delay)
        self._askers = anyio.CapacityLimiter(limits.asks)
        self._lookers = anyio.CapacityLimiter(_LOOKERS)

    async def run(self, method: Callable[..., _Result], *args: Any, ask: bool = False, **options: Any) -> _Result:
        limiter = self._askers if ask else self._lookers
        return await anyio.to_thread.run_sync(partial(method, *args, **options), limiter=limiter)


async def _service(request: Request) -> _Service:
    service: _Service = request.app.state.service
    return service


async def _gate(id: Annotated[str, Path(description="The name of a gate.", examples=["g-0123456789abcdef"])]) -> str:
    # Reject malformed names before the lookup: databases differ in what a text may hold.
    if not _GATE.fullmatch(id):
        raise UnknownGate
    return id


Service = Annotated[_Service, Depends(_service)]
GateName = Annotated[str, Depends(_gate)]
Body = dict[str, Any]

router = APIRouter(prefix="/v1")


@router.get("/health", response_model=models.Health, responses=problem_responses(problems.TOO_MANY))
async def health(request: Request) -> Body:
    """Whether the service is up."""
    return {"status": "ok", "version": request.app.version}


@router.get("/schema", response_model=models.Served, responses=problem_responses(*TOKEN))
async def schema(service: Service, _: Anybody) -> Body:
    """What may be asked about: the declared columns."""
    keeper = service.keeper
    columns = [{"name": column.name, "kind": column.kind.value} for column in keeper.dataset.schema.columns]
    served = keeper.dataset
    public = {"unit": served.unit, "delay": keeper.pace.delay, "max_cell": served.schema.max_cell}
    return {"dataset": keeper.ledger.dataset, **public, "columns": columns}


@router.get("/budget", response_model=models.BudgetStatement, responses=problem_responses(*TOKEN, problems.FORBIDDEN))
async def budget(service: Service, _: Owner) -> Body:
    """What was allowed, spent and left; for owners."""
    return models.statement_view(await service.run(service.keeper.budget))


@router.get("/gates", response_model=list[models.GateView], responses=problem_responses(*TOKEN))
async def gates(service: Service, _: Anybody) -> list[Body]:
    """All gates, newest first."""
    return await service.run(service.keeper.gates)


@router.post(
    "/gates",
    status_code=201,
    response_model=models.GateView,
    responses=problem_responses(*POSTED, problems.FORBIDDEN, problems.BUDGET_EXCEEDED),
)
async def open_gate(body: models.OpenGate, service: Service, request: OwnerCalling, response: Response) -> Body:
    """Open a gate; its whole epsilon is reserved at once. For owners."""
    view = await service.run(service.keeper.open_gate, request, **dict(body))
    response.headers["Location"] = f"/v1/gates/{view['id']}"
    return view


@router.get("/gates/{id}", response_model=models.GateView, responses=problem_responses(*TOKEN, problems.UNKNOWN_GATE))
async def gate(gate: GateName, service: Service, _: Anybody) -> Body:
    """One gate."""
    return await service.run(service.keeper.gate, gate)


@router.delete(
    "/gates/{id}",
    response_model=models.GateView,
    responses=problem_responses(*TOKEN, problems.FORBIDDEN, problems.UNKNOWN_GATE),
)
async def close_gate(gate: GateName, service: Service, _: Owner) -> Body:
    """Close a gate for good, and give back what it did not use. For owners."""
    return await service.run(service.keeper.close_gate, gate)


@router.post(
    "/gates/{id}/ask",
    response_model=models.Answered,
    responses=problem_responses(
        *POSTED, problems.CONDITION, problems.UNKNOWN_GATE, problems.GATE_CLOSED, problems.GATE_BUSY
    ),
)
async def ask(gate: GateName, body: models.AskGate, service: Service, request: Calling) -> Body:
    """Is the number of people with a matching row above the threshold?"""
    async with service.queues.at(gate):
        return asdict(await service.run(service.keeper.ask, request, gate, body.where, ask=True))


@router.get(
    "/gates/{id}/answers",
    response_model=list[models.PastAnswer],
    responses=problem_responses(*TOKEN, problems.UNKNOWN_GATE, problems.PARAMETER),
)
async def answers(
    gate: GateName,
    service: Service,
    _: Anybody,
    after: Annotated[int, Query(ge=0, le=models.MOST_WHOLE, description="Only those with a larger number.")] = 0,
) -> list[Body]:
    """Up to a thousand answers of a gate that have left, oldest first."""
    found = await service.run(service.keeper.answers, gate, after=after)
    named = ("number", "at", "above", "estimate")
    return [{name: getattr(past, name) for name in named} | {"where": past.condition} for past in found]


@router.post(
    "/top",
    response_model=models.Top,
    responses=problem_responses(
        *POSTED, problems.FORBIDDEN, problems.BUDGET_EXCEEDED, problems.GATE_BUSY, problems.REQUEST_LOST
    ),
)
async def top(body: models.AskTop, service: Service, request: OwnerCalling) -> Body:
    """A private top-c of one column. For owners."""
    column = service.keeper.dataset.schema.find(body.item)
    if column is None or column.kind not in (Kind.TEXT, Kind.INTEGER):
        raise ParameterError("item", "must be a declared column of text or integers", body.item, "see /v1/schema")
    question = {name: value for name, value in dict(body).items() if value is not None}
    async with service.queues.at("top"):
        return await service.run(service.keeper.top, request, question, ask=True)


_PAGE_KINDS: Final = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def page_routes(folder: Traversable | None = None) -> APIRouter:
    """A route for each file of the page, index.html at the root; they are read once, and nothing else is served."""
    place = files("sparsegate.service.web").joinpath("page") if folder is None else folder
    router = APIRouter(include_in_schema=False)
    for file in place.iterdir():
        kind = _PAGE_KINDS.get(file.name.rpartition(".")[2])
        if kind is not None:
            path = "/" if file.name == "index.html" else f"/{file.name}"
            router.add_api_route(path, partial(_page_file, file.read_bytes(), kind), methods=["GET"])
    return router


async def _page_file(content: bytes, kind: str) -> Response:
    return Response(content, headers={"Content-Type": kind})


def create_app(keeper: Keeper, tokens: Tokens, *, limits: Limits | None = None) -> FastAPI:
    """The service as an ASGI application. Whoever made the keeper closes it."""
    limits = Limits() if limits is None else limits
    app = FastAPI(
        title="sparsegate",
        version=installed_version(),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={RequestValidationError: _invalid, HTTPException: _refused},
    )
    app.state.service = _Service(keeper, limits)
    app.include_router(router)
    app.include_router(page_routes())
    app.openapi = describe(app)  # type: ignore[method-assign]
    # The last one added is the outermost.
    app.add_middleware(BodyLimit, seconds=limits.body_seconds)
    app.add_middleware(Authentication, tokens=tokens, limits=limits)
    app.add_middleware(ErrorBoundary)
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


async def _refused(_: Request, error: Exception) -> Response:
    """What the framework refuses: an address, a method, or a body that cannot be read."""
    assert isinstance(error, HTTPException)
    sorts = {404: problems.NOT_FOUND, 405: problems.WRONG_METHOD}
    return problems.problem(sorts.get(error.status_code, problems.MALFORMED), headers=error.headers)
