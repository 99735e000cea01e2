"""Who asks: whose token this is, the tokens that an owner gives out, and who asked what."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Annotated, Final
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from sparsegate.errors import ParameterError
from sparsegate.ledger.account import exact_text
from sparsegate.service.quotas import Standing
from sparsegate.service.tokens import LONGEST_NAME, TokenRecord, Tokens
from sparsegate.service.web import problems, token_models
from sparsegate.service.web.admission import Anybody, Owner
from sparsegate.service.web.fields import Limit
from sparsegate.service.web.in_threads import Body, Service, ThreadedKeeper, link
from sparsegate.service.web.openapi import LISTED, READ, TOKEN, problem_responses

router = APIRouter()

_CURSOR: Final = re.compile(r"[0-9T:+.-]{1,40}_[0-9]{1,9}_[0-9]{1,9}", re.ASCII)


async def _tokens(request: Request) -> Tokens:
    tokens: Tokens = request.app.state.tokens
    return tokens


def _cursor(text: str) -> str:
    if not _CURSOR.fullmatch(text):
        raise PydanticCustomError("cursor", "must be the cursor of a line that was given before")
    return text


TokensOfService = Annotated[Tokens, Depends(_tokens)]


@router.get("/whoami", response_model=token_models.WhoAmI, responses=problem_responses(*TOKEN))
async def whoami(service: Service, token: Anybody) -> Body:
    """Whose token this is, what it may do, and what it has used."""
    used = await service.run(service.keeper.standing, token.number)
    return {"name": token.name, "role": token.role, "expires_at": token.expires_at, "quota": _quota(used)}


@router.get(
    "/tokens", response_model=list[token_models.TokenView], responses=problem_responses(*TOKEN, problems.FORBIDDEN)
)
async def tokens(service: Service, tokens: TokensOfService, _: Owner) -> list[Body]:
    """All tokens that were ever made, oldest first. For owners."""
    return await service.run(lambda: [_view(service, record) for record in tokens.list()])


@router.post(
    "/tokens",
    status_code=201,
    response_model=token_models.NewToken,
    responses=problem_responses(*READ, problems.FORBIDDEN),
)
async def add_token(
    body: token_models.AddToken, service: Service, tokens: TokensOfService, owner: Owner, response: Response
) -> Body:
    """Make a token. Its text is answered this once; if it is lost, revoke the token and make another. For owners."""
    text = await service.run(tokens.add, **dict(body), maker=owner.number)
    response.headers["Location"] = f"/v1/tokens/{quote(body.name, safe='')}"
    return {"token": text, **await service.run(_found, service, tokens, body.name)}


@router.delete(
    "/tokens/{name:path}",
    response_model=token_models.TokenView,
    responses=problem_responses(*TOKEN, problems.FORBIDDEN, problems.UNKNOWN_TOKEN),
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
    return await service.run(_found, service, tokens, name)


@router.get(
    "/activity",
    response_model=list[token_models.ActivityLine],
    responses=problem_responses(*LISTED, problems.FORBIDDEN),
)
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
    found = await service.run(service.keeper.activity, after=after, limit=limit + 1)
    if len(found) > limit:
        link(request, response, "next", after=found[limit - 1].cursor)
    return [asdict(each) | {"where": each.condition} for each in found[:limit]]


def _found(service: ThreadedKeeper, tokens: Tokens, name: str) -> Body:
    return next(_view(service, record) for record in tokens.list() if record.name == name)


def _view(service: ThreadedKeeper, record: TokenRecord) -> Body:
    view = asdict(record)
    bounded = record.most_above is not None or record.most_epsilon is not None
    return view | {"quota": _quota(service.keeper.standing(record.number)) if bounded else None}


def _quota(used: Standing) -> Body:
    most = None if used.most_epsilon is None else exact_text(used.most_epsilon)
    return asdict(used) | {"most_epsilon": most, "epsilon": exact_text(used.epsilon)}
