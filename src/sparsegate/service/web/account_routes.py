"""What is not about one gate: what is served, what was spent, and a top-c."""

from __future__ import annotations

from fastapi import APIRouter, Request

from sparsegate.conditions import Kind
from sparsegate.errors import ParameterError
from sparsegate.service.practice import practice_condition
from sparsegate.service.web import account_models, models, problems
from sparsegate.service.web.admission import Anybody, Owner, OwnerCalling
from sparsegate.service.web.in_threads import Body, Service
from sparsegate.service.web.openapi import POSTED, TOKEN, problem_responses

router, practice_schema = APIRouter(), APIRouter()


@router.get("/health", response_model=models.Health, responses=problem_responses())
async def health(request: Request) -> Body:
    """Whether the service is up."""
    return {"status": "ok", "version": request.app.version}


@practice_schema.get("/schema", response_model=models.Served, responses=problem_responses(*TOKEN))
@router.get("/schema", response_model=models.Served, responses=problem_responses(*TOKEN))
async def schema(service: Service, _: Anybody) -> Body:
    """What may be asked about: the declared columns."""
    keeper = service.keeper
    columns = [
        {"name": column.name, "kind": column.kind.value}
        | ({"example": practice_condition(column)} if service.practice else {})
        for column in keeper.dataset.schema.columns
    ]
    served = keeper.dataset
    public = {"unit": served.unit, "delay": keeper.pace.delay, "max_cell": served.schema.max_cell}
    public |= {"columns": columns, "left_out": served.schema.unreadable}
    return {"dataset": keeper.ledger.dataset, **public, "practice": service.practice}


@router.get(
    "/budget", response_model=account_models.BudgetStatement, responses=problem_responses(*TOKEN, problems.FORBIDDEN)
)
async def budget(service: Service, _: Owner) -> Body:
    """What was allowed, spent and left; for owners."""
    return account_models.statement_view(await service.run(service.keeper.budget))


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
    async with service.queues.at("top", request.token):
        return await service.run(service.keeper.top, request, question, ask=True)
