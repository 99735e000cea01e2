"""What can be asked over HTTP: gates, a top-c and the budget; tokens and who asked what; readiness and numbers."""

from __future__ import annotations

import re
from dataclasses import asdict
from functools import partial
from typing import Annotated, Final, cast
from urllib.parse import quote

import anyio.to_thread
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from sparsegate.conditions import Kind
from sparsegate.errors import ConditionError, ParameterError
from sparsegate.ledger.account import exact_text
from sparsegate.service.gate_store import PAGE
from sparsegate.service.gates import GateSpec, preview_view
from sparsegate.service.practice import practice_condition
from sparsegate.service.tokens import LONGEST_NAME, Role, Standing, TokenRecord, Tokens
from sparsegate.service.web import models, problems
from sparsegate.service.web.admission import (
    SHORT,
    Anybody,
    Body,
    Calling,
    GateInPath,
    GateName,
    Owner,
    OwnerCalling,
    Refresh,
    Service,
    ThreadedKeeper,
    link,
)
from sparsegate.service.web.models import MOST_WHOLE, Limit
from sparsegate.service.web.openapi import LISTED, POSTED, READ, TOKEN, fails
from sparsegate.service.web.readiness import METRICS_TYPE, metrics_text

gate_router = APIRouter()


@gate_router.get("/gates", response_model=list[models.GateView], responses=fails(*LISTED, problems.UNKNOWN_GATE))
async def gates(
    service: Service,
    token: Anybody,
    request: Request,
    response: Response,
    closed: Annotated[bool | None, Query(description="Only those that are closed, or only those that are not.")] = None,
    after: Annotated[GateName | None, Query(description="Only those that were opened before this gate.")] = None,
    limit: Limit = PAGE,
) -> list[Body]:
    """Gates, newest first. The header Link says where the next page is."""
    listed = partial(service.keeper.gates, closed=closed, after=after, limit=limit + 1)
    views = (await service.listing.run(token.number, listed))()
    if len(views) > limit:
        link(request, response, "next", after=views[limit - 1]["id"])
    return [service.label(view) for view in views[:limit]]


@gate_router.post(
    "/gates",
    status_code=201,
    response_model=models.GateView,
    responses=fails(*POSTED, problems.FORBIDDEN, problems.BUDGET_EXCEEDED),
)
async def open_gate(
    body: models.OpenGate, service: Service, request: OwnerCalling, http: Request, response: Response
) -> Body:
    """Open a gate; its whole epsilon is reserved at once, or without a cutoff one ABOVE at a time. For owners."""
    opening = partial(service.keeper.open_gate, request, **dict(body))
    # A plan can take a second of the processor. Owners pay for theirs; to practise costs the sender's share.
    view = (await service.planning.run(request.token, opening))() if service.practice else await service.run(opening)
    response.headers["Location"] = f"{http.url.path}/{view['id']}"
    return service.label(view)


@gate_router.post("/preview", response_model=models.GatePreview, responses=fails(*READ))
async def preview(body: models.GateNumbers, service: Service, token: Anybody) -> Body:
    """What a gate would be good for, and what it would cost: from public numbers, and free."""
    statement = await service.run(service.keeper.budget) if token.role is Role.OWNER else None
    look = partial(preview_view, rule=service.keeper.ledger.rule)
    spec = GateSpec.of(**dict(body) | service.keeper.cells_of(body.per, body.cutoff))
    view = (await service.planning.run(token.number, look, spec, statement))()
    return service.label(view)


@gate_router.get("/gates/{id}", response_model=models.GateView, responses=fails(*TOKEN, problems.UNKNOWN_GATE))
async def gate(gate: GateInPath, service: Service, token: Anybody) -> Body:
    """One gate, and how many questions here are before the next of this token."""
    view = await service.run(service.keeper.gate, gate)
    return service.label(view) | {"ahead": service.queues.ahead(gate, token.number)}


@gate_router.delete(
    "/gates/{id}", response_model=models.GateView, responses=fails(*TOKEN, problems.FORBIDDEN, problems.UNKNOWN_GATE)
)
async def close_gate(gate: GateInPath, service: Service, _: Owner) -> Body:
    """Close a gate for good, and give back what it did not use. For owners."""
    return service.label(await service.run(service.keeper.close_gate, gate))


@gate_router.post(
    "/gates/{id}/ask",
    response_model=models.AnswerView,
    responses=fails(*POSTED, problems.CONDITION, problems.UNKNOWN_GATE, problems.GATE_CLOSED, problems.GATE_BUSY),
)
async def ask(gate: GateInPath, body: models.AskGate, service: Service, request: Calling) -> Body:
    """Is the number of people with a matching row above the threshold?"""
    keeper = service.keeper
    as_read = await service.reading.run(request.token, keeper.read, body.where, short=len(body.where) <= SHORT)
    call = partial(keeper.ask, request, gate, body.where, cell=body.cell, as_read=as_read)
    try:
        as_read()
    except ConditionError:
        # It stands in no line: it is refused, or it is given again what it was given while it could be asked.
        return service.label(vars(await service.run(call)))
    async with service.queues.at(gate, request.token):
        return service.label(vars(await service.run(call, ask=True)))


@gate_router.get(
    "/gates/{id}/answers", response_model=list[models.PastAnswer], responses=fails(*LISTED, problems.UNKNOWN_GATE)
)
async def answers(
    gate: GateInPath,
    service: Service,
    token: Anybody,
    request: Request,
    response: Response,
    after: Annotated[int, Query(ge=0, le=MOST_WHOLE, description="Only those with a larger number.")] = 0,
    before: Annotated[
        int | None, Query(ge=1, le=MOST_WHOLE, description="Only those with a smaller number, the last ones first.")
    ] = None,
    limit: Limit = PAGE,
) -> list[Body]:
    """Answers of a gate that have left, oldest first: the first ones; with `before`, the last ones before that.

    The header Link says where the next page is, or with `before` the one before it.
    """
    page = await service.run(service.keeper.answers, gate, after=after, before=before, limit=limit + 1)
    if len(page) > limit:
        page = page[:limit] if before is None else page[1:]
        if before is None:
            link(request, response, "next", after=page[-1].number)
        else:
            link(request, response, "prev", before=page[0].number)
    named = ("number", "at", "above", "estimate")
    return [
        {name: getattr(past, name) for name in named}
        | {"where": past.condition, "by": past.by if token.role is Role.OWNER or past.token == token.number else None}
        | {"practice": service.practice}
        for past in page
    ]


account_router, practice_schema = APIRouter(), APIRouter()


@account_router.get("/health", response_model=models.Health, responses=fails())
async def health(request: Request) -> Body:
    """Whether the service is up."""
    return {"status": "ok", "version": request.app.version}


@practice_schema.get("/schema", response_model=models.Served, responses=fails(*TOKEN))
@account_router.get("/schema", response_model=models.Served, responses=fails(*TOKEN))
async def schema(service: Service, _: Anybody) -> Body:
    """What may be asked about: the declared columns."""
    keeper, served = service.keeper, service.keeper.dataset
    columns = [
        {"name": column.name, "kind": column.kind.value, "cells_per_user": served.cells.get(column.name)}
        | ({"example": practice_condition(column)} if service.practice else {})
        for column in served.schema.columns
    ]
    public = {"unit": served.unit, "delay": keeper.pace.delay, "max_cell": served.schema.max_cell}
    public |= {"rule": keeper.ledger.rule, "columns": columns, "left_out": served.schema.unreadable}
    return {"dataset": keeper.ledger.dataset, **public, "practice": service.practice}


@account_router.get("/budget", response_model=models.BudgetStatement, responses=fails(*TOKEN, problems.FORBIDDEN))
async def budget(service: Service, _: Owner) -> Body:
    """What was allowed, spent and left; for owners."""
    statement = (await service.run(service.keeper.budget)).to_dict()
    gates = await service.run(service.keeper.gate_entries)
    return statement | {"entries": [entry | {"gate": gates.get(entry["number"])} for entry in statement["entries"]]}


@account_router.post(
    "/top",
    response_model=models.Top,
    response_model_exclude_unset=True,
    responses=fails(*POSTED, problems.FORBIDDEN, problems.BUDGET_EXCEEDED, problems.GATE_BUSY, problems.REQUEST_LOST),
)
async def top(body: models.AskTop, service: Service, request: OwnerCalling) -> Body:
    """A private top-c of one column. For owners."""
    column = service.keeper.dataset.schema.find(body.item)
    if column is None or column.kind not in (Kind.TEXT, Kind.INTEGER):
        raise ParameterError("item", "must be a declared column of text or integers", body.item, "see /v1/schema")
    question = {name: value for name, value in dict(body).items() if value is not None}
    async with service.queues.at("top", request.token):
        return await service.run(service.keeper.top, request, question, ask=True)


operator_router = APIRouter()


@operator_router.get(
    "/v1/ready", response_model=models.CanAnswer, responses=fails(problems.NOT_READY, problems.LEDGER_UNAVAILABLE)
)
async def ready(request: Request) -> Body:
    """Whether requests should be sent here: the ledger, the data and the disk are as they must be."""
    if await request.app.state.readiness.trouble():
        raise problems.Refused(problems.NOT_READY)
    return {"status": "ready"}


@operator_router.post(
    "/v1/refresh",
    response_model=models.Refreshed,
    responses=fails(*READ, problems.FORBIDDEN, problems.BUDGET_EXCEEDED, problems.DATA_UNAVAILABLE),
)
async def refresh(body: models.AskRefresh, request: Request, _: Owner) -> Body:
    """Read the data anew. Where it has changed, gates that are open on the old copy close for good. For owners."""
    refresh: Refresh | None = request.app.state.refresh
    if request.app.state.shared is not None:
        rule = "must be 1 where the data is read anew: each worker has a copy of its own"
        raise ParameterError("workers", rule, next_step="restart the service, or run it with --workers 1")
    if refresh is None:
        raise problems.Refused(problems.NOT_FOUND)
    changed = await anyio.to_thread.run_sync(partial(refresh.now, close_gates=body.close_gates))
    return {"changed": changed, "delay": request.app.state.service.keeper.pace.delay}


@operator_router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """Numbers for Prometheus. For owners; or for anybody, on a port of its own on this machine."""
    token = getattr(request.state, "token", None)
    if token is not None and token.role is not Role.OWNER:
        raise problems.Refused(problems.FORBIDDEN)
    app = request.app.state
    text = await app.service.run(metrics_text, app)
    return Response(text, headers={"Content-Type": METRICS_TYPE})


token_router = APIRouter()

_CURSOR: Final = re.compile(r"[0-9T:+.-]{1,40}_[0-9]{1,9}_[0-9]{1,9}", re.ASCII)


def _cursor(text: str) -> str:
    if not _CURSOR.fullmatch(text):
        raise PydanticCustomError("cursor", "must be the cursor of a line that was given before")
    return text


async def _tokens(request: Request) -> Tokens:
    return cast(Tokens, request.app.state.tokens)


TokensOfService = Annotated[Tokens, Depends(_tokens)]


@token_router.get("/whoami", response_model=models.WhoAmI, responses=fails(*TOKEN))
async def whoami(service: Service, token: Anybody) -> Body:
    """Whose token this is, what it may do, and what it has used."""
    used = await service.run(service.keeper.standing, token.number)
    return {"name": token.name, "role": token.role, "expires_at": token.expires_at, "quota": _quota(used)}


@token_router.get("/tokens", response_model=list[models.TokenView], responses=fails(*TOKEN, problems.FORBIDDEN))
async def tokens(service: Service, tokens: TokensOfService, _: Owner) -> list[Body]:
    """All tokens that were ever made, oldest first. For owners."""
    return await service.run(lambda: [_view(service, record) for record in tokens.list()])


@token_router.post(
    "/tokens", status_code=201, response_model=models.NewToken, responses=fails(*READ, problems.FORBIDDEN)
)
async def add_token(
    body: models.AddToken, service: Service, tokens: TokensOfService, owner: Owner, response: Response
) -> Body:
    """Make a token. Its text is answered this once; if it is lost, revoke the token and make another. For owners."""
    text = await service.run(tokens.add, **dict(body), maker=owner.number)
    response.headers["Location"] = f"/v1/tokens/{quote(body.name, safe='')}"
    return {"token": text, **await service.run(_record_of, service, tokens, body.name)}


@token_router.delete(
    "/tokens/{name:path}",
    response_model=models.TokenView,
    responses=fails(*TOKEN, problems.FORBIDDEN, problems.UNKNOWN_TOKEN),
)
async def revoke_token(
    name: Annotated[str, Path(description="That of a token.", examples=["anna"])],
    service: Service,
    tokens: TokensOfService,
    _: Owner,
) -> Body:
    """Stop a token for good; its name stays taken. For owners."""
    if not (name.isprintable() and len(name) <= LONGEST_NAME):  # databases differ in what a text may hold
        raise problems.Refused(problems.UNKNOWN_TOKEN)
    try:
        await service.run(tokens.revoke, name)
    except ParameterError:
        raise problems.Refused(problems.UNKNOWN_TOKEN) from None
    return await service.run(_record_of, service, tokens, name)


@token_router.get("/activity", response_model=list[models.ActivityLine], responses=fails(*LISTED, problems.FORBIDDEN))
async def activity(
    service: Service,
    _: Owner,
    request: Request,
    response: Response,
    after: Annotated[
        Annotated[str, AfterValidator(_cursor)] | None, Query(description="Only what is older than this cursor.")
    ] = None,
    limit: Limit = 100,
) -> list[Body]:
    """Who asked what, at all gates, newest first: the answers that have left. For owners."""
    lines = await service.run(service.keeper.activity, after=after, limit=limit + 1)
    if len(lines) > limit:
        link(request, response, "next", after=lines[limit - 1].cursor)
    return [asdict(each) | {"where": each.condition} for each in lines[:limit]]


def _record_of(service: ThreadedKeeper, tokens: Tokens, name: str) -> Body:
    return next(_view(service, record) for record in tokens.list() if record.name == name)


def _view(service: ThreadedKeeper, record: TokenRecord) -> Body:
    view = asdict(record)
    bounded = record.most_above is not None or record.most_epsilon is not None
    return view | {"quota": _quota(service.keeper.standing(record.number)) if bounded else None}


def _quota(used: Standing) -> Body:
    most = None if used.most_epsilon is None else exact_text(used.most_epsilon)
    return asdict(used) | {"most_epsilon": most, "epsilon": exact_text(used.epsilon)}
