"""A leaderboard over HTTP: teams post predictions, and the labels stay here behind a reusable holdout.

**What a team learns.** The score of what it posted, whether that was paid for and how many paid answers are left: the
transcript of ``holdout``, whose theorem allows that the "training score" is any number that the team says. The
rest is computed from such scores or public: who has sent which score, and the terms. A submission that comes again, by
whomever, is answered as it was the first time, at no cost. How long an answer takes depends on whether it was paid for
(that is written to disk), which the answer says, and on the length of what was posted; labels are compared in the same
steps whatever they are.

Tokens, their rates, the limits on bodies and the log of requests are those of the service: ``admission``,
``middleware``, ``request_log``.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Collection
from typing import Annotated, Any, Final

import anyio
import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request
from pydantic import BaseModel, ConfigDict, Field

from sparsegate.display.plain import exact_text
from sparsegate.errors import QuotaExceeded
from sparsegate.service.tokens import Tokens
from sparsegate.service.web.admission import Anybody, Authentication, Limits
from sparsegate.service.web.http import HANDLERS
from sparsegate.service.web.middleware import BODY_BYTES, BodyLimit, ErrorBoundary, HostCheck, RequestLog
from sparsegate.service.web.trusted_proxies import ForwardedAddress, TrustedProxies
from sparsegate.tables.release import installed_version
from sparsegate.uses.holdout import Holdout, HoldoutScore
from sparsegate.uses.holdout_scoring import HiddenLabels

_BYTES_A_RECORD: Final = 64
_MOST_REMEMBERED: Final = 100_000

router = APIRouter()


class Submission(BaseModel):
    """Predictions for all records, in their order, and the score that the team has on data of its own."""

    model_config = ConfigDict(extra="forbid")

    predictions: list[Any]
    training_score: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]


class Leaderboard:
    """A holdout, its labels, and the best score of each team since the start."""

    def __init__(self, holdout: Holdout, labels: HiddenLabels) -> None:
        self.holdout, self._labels = holdout, labels
        self._turn = threading.Lock()
        self._given: dict[bytes, HoldoutScore] = {}
        self._best: dict[str, HoldoutScore] = {}

    def submit(
        self, team: str, predictions: list[Any], training_score: float, *, most: int | None = None
    ) -> HoldoutScore:
        """The score of a submission; one that was answered before gets the same answer.

        A team that has got its ``most`` paid scores is refused: whether the next would be paid for nobody knows before.
        """
        right = self._labels.agreement(predictions)
        posted = hashlib.sha256(json.dumps([training_score, predictions]).encode()).digest()
        with self._turn:
            score = self._given.get(posted)
            if score is None:
                if most is not None and self.holdout.paid_by.get(team, 0) >= most:
                    raise QuotaExceeded(
                        f"this token may be given {most} paid scores in all, and has them; nothing was spent; send "
                        "again what was answered before, or ask for another token"
                    )
                score = self.holdout.score(training_score, right, by=team)
                if len(self._given) < _MOST_REMEMBERED:
                    self._given[posted] = score
            if team not in self._best or score.value > self._best[team].value:
                self._best[team] = score
            return score

    def standing(self) -> dict[str, Any]:
        """The public terms, what is left, and the teams by their best score."""
        terms = self.holdout.terms
        with self._turn:
            ranked = sorted(self._best.items(), key=lambda one: (-one[1].value, one[0]))
        return {
            "size": terms.size,
            "threshold": terms.threshold,
            "cutoff": terms.cutoff,
            "epsilon": exact_text(terms.epsilon),
            "remaining": self.holdout.remaining,
            "closed": self.holdout.closed,
            "teams": [
                {"team": team, "value": best.value, "margin": best.margin, "paid": best.paid} for team, best in ranked
            ],
        }


@router.post("/v1/scores")
async def score(request: Request, token: Anybody, submission: Submission) -> dict[str, Any]:
    """Score predictions against the labels that nobody sees."""
    state = request.app.state

    def submit() -> HoldoutScore:
        most = next((one.most_above for one in state.tokens.list() if one.number == token.number), None)
        board: Leaderboard = state.board
        return board.submit(token.name, submission.predictions, submission.training_score, most=most)

    scored = await anyio.to_thread.run_sync(submit, limiter=state.scoring)
    return scored.to_dict()


@router.get("/v1/board")
async def board(request: Request, _: Anybody) -> dict[str, Any]:
    """Who stands where, and how many answers can still be paid for."""
    shown: dict[str, Any] = await anyio.to_thread.run_sync(request.app.state.board.standing)
    return shown


@router.get("/v1/health")
async def health() -> dict[str, str]:
    """Whether anybody is there."""
    return {"status": "ok"}


def leaderboard_app(
    board: Leaderboard,
    tokens: Tokens,
    *,
    limits: Limits | None = None,
    hosts: Collection[str] | None = None,
    proxies: TrustedProxies | None = None,
) -> FastAPI:
    """The leaderboard as an ASGI application. Whoever made the holdout closes it."""
    limits = Limits(rate=2, burst=20) if limits is None else limits
    app = FastAPI(
        title="sparsegate leaderboard",
        version=installed_version(),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers=dict(HANDLERS),
    )
    app.state.board, app.state.tokens, app.state.scoring = board, tokens, anyio.CapacityLimiter(2)
    app.include_router(router)
    # The last one added is the outermost.
    most = BODY_BYTES + _BYTES_A_RECORD * board.holdout.terms.size
    app.add_middleware(BodyLimit, seconds=limits.body_seconds, most=most)
    app.add_middleware(Authentication, tokens=tokens, limits=limits)
    if hosts is not None:
        app.add_middleware(HostCheck, hosts=hosts)
    app.add_middleware(ErrorBoundary)
    app.add_middleware(RequestLog)
    if proxies is not None:
        app.add_middleware(ForwardedAddress, proxies=proxies)
    return app
