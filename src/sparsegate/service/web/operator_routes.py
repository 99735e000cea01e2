"""For whoever runs the service: is it ready, and its numbers."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from sparsegate.service.tokens import Role
from sparsegate.service.web import metrics as numbers
from sparsegate.service.web import models, problems
from sparsegate.service.web.in_threads import Body
from sparsegate.service.web.openapi import problem_responses

router = APIRouter()


@router.get(
    "/v1/ready",
    response_model=models.CanAnswer,
    responses=problem_responses(problems.NOT_READY, problems.LEDGER_UNAVAILABLE),
)
async def ready(request: Request) -> Body:
    """Whether requests should be sent here: the ledger, the data and the disk are as they must be."""
    if await request.app.state.readiness.trouble():
        raise problems.Refused(problems.NOT_READY)
    return {"status": "ready"}


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """Numbers for Prometheus. For owners; or for anybody, on a port of its own on this machine."""
    token = getattr(request.state, "token", None)
    if token is not None and token.role is not Role.OWNER:
        raise problems.Refused(problems.FORBIDDEN)
    app = request.app.state
    return Response(await app.service.run(app.metrics.text), headers={"Content-Type": numbers.MEDIA_TYPE})
