"""Gates over HTTP: open, look at, ask and close them, and see beforehand what one would be good for."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from sparsegate.errors import ConditionError
from sparsegate.service.gates import GateSpec, preview_view
from sparsegate.service.pages import PAGE
from sparsegate.service.tokens import Role
from sparsegate.service.web import gate_models as models
from sparsegate.service.web import problems
from sparsegate.service.web.admission import Anybody, Calling, Owner, OwnerCalling
from sparsegate.service.web.fields import MOST_WHOLE, Limit
from sparsegate.service.web.in_threads import Body, GateInPath, GateName, Service, link
from sparsegate.service.web.openapi import LISTED, POSTED, READ, TOKEN, problem_responses
from sparsegate.service.web.queues import SHORT

router = APIRouter()


@router.get("/gates", response_model=list[models.GateView], responses=problem_responses(*LISTED, problems.UNKNOWN_GATE))
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
    found = (await service.listing.run(token.number, listed))()
    if len(found) > limit:
        link(request, response, "next", after=found[limit - 1]["id"])
    return [service.label(view) for view in found[:limit]]


@router.post(
    "/gates",
    status_code=201,
    response_model=models.GateView,
    responses=problem_responses(*POSTED, problems.FORBIDDEN, problems.BUDGET_EXCEEDED),
)
async def open_gate(
    body: models.OpenGate, service: Service, request: OwnerCalling, http: Request, response: Response
) -> Body:
    """Open a gate; its whole epsilon is reserved at once. For owners."""
    opening = partial(service.keeper.open_gate, request, **dict(body))
    # A plan can take a second of the processor. Owners pay for theirs; to practise costs the sender's share.
    view = (await service.planning.run(request.token, opening))() if service.practice else await service.run(opening)
    response.headers["Location"] = f"{http.url.path}/{view['id']}"
    return service.label(view)


@router.post("/preview", response_model=models.Preview, responses=problem_responses(*READ))
async def preview(body: models.AskPreview, service: Service, token: Anybody) -> Body:
    """What a gate would be good for, and what it would cost: from public numbers, and free."""
    left = (await service.run(service.keeper.budget)).remaining.epsilon if token.role is Role.OWNER else None
    view = (await service.planning.run(token.number, preview_view, GateSpec(**dict(body)), left))()
    return service.label(view)


@router.get("/gates/{id}", response_model=models.GateView, responses=problem_responses(*TOKEN, problems.UNKNOWN_GATE))
async def gate(gate: GateInPath, service: Service, _: Anybody) -> Body:
    """One gate."""
    return service.label(await service.run(service.keeper.gate, gate))


@router.delete(
    "/gates/{id}",
    response_model=models.GateView,
    responses=problem_responses(*TOKEN, problems.FORBIDDEN, problems.UNKNOWN_GATE),
)
async def close_gate(gate: GateInPath, service: Service, _: Owner) -> Body:
    """Close a gate for good, and give back what it did not use. For owners."""
    return service.label(await service.run(service.keeper.close_gate, gate))


@router.post(
    "/gates/{id}/ask",
    response_model=models.Answered,
    responses=problem_responses(
        *POSTED, problems.CONDITION, problems.UNKNOWN_GATE, problems.GATE_CLOSED, problems.GATE_BUSY
    ),
)
async def ask(gate: GateInPath, body: models.AskGate, service: Service, request: Calling) -> Body:
    """Is the number of people with a matching row above the threshold?"""
    keeper = service.keeper
    read = await service.reading.run(request.token, keeper.read, body.where, short=len(body.where) <= SHORT)
    try:
        read(body.where)
    except ConditionError:
        # It stands in no line: it is refused, or it is given again what it was given while it could be asked.
        return service.label(asdict(await service.run(keeper.ask, request, gate, body.where, read=read)))
    async with service.queues.at(gate, request.token):
        return service.label(asdict(await service.run(keeper.ask, request, gate, body.where, read=read, ask=True)))


@router.get(
    "/gates/{id}/answers",
    response_model=list[models.PastAnswer],
    responses=problem_responses(*LISTED, problems.UNKNOWN_GATE),
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
    found = await service.run(service.keeper.answers, gate, after=after, before=before, limit=limit + 1)
    if len(found) > limit:
        found = found[:limit] if before is None else found[1:]
        if before is None:
            link(request, response, "next", after=found[-1].number)
        else:
            link(request, response, "prev", before=found[0].number)
    named = ("number", "at", "above", "estimate")
    return [
        {name: getattr(past, name) for name in named}
        | {"where": past.condition, "by": past.by if token.role is Role.OWNER or past.token == token.number else None}
        | {"practice": service.practice}
        for past in found
    ]
