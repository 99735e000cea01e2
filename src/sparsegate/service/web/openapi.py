"""The description of the service: OpenAPI, with an example for every request, every response and every problem.

What fields mean, in the description of the service: a name means one thing, but for the objects named here.

A field that says it in its model says it there. A test finds a field without a meaning, and a meaning without a field.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import compile_path

from sparsegate.service.web import problems
from sparsegate.service.web.models import Problem
from sparsegate.service.web.problems import MEDIA_TYPE, Sort

MEANINGS: Final = {
    "above": "Whether it was ABOVE; null where the answer was lost.",
    "added_at": "When it was made: ISO 8601, UTC.",
    "answers_epsilon": "Spend this much more on noisy counts of what is selected.",
    "asked": "How many questions it was asked.",
    "at": "When: ISO 8601, UTC.",
    "budget": "What may be spent in all, for ever.",
    "closed": "Whether it answers no more.",
    "closes": 'Closes after `cutoff` ABOVE ("above"), or when both answers were given so often ("rarer").',
    "columns": "What may be asked about.",
    "confidence": "The probability with which margins and error bars hold.",
    "cutoff": "How many ABOVE it gives before it closes.",
    "dataset": "What the data is called.",
    "dbar": 'With "observed": how many items take part; ten times `count` unless given.',
    "delta": "The delta: an exact decimal.",
    "description": "What it is for.",
    "detail": "What happened, and the next step, in words.",
    "end": "Where the part of the condition that is wrong ends.",
    "entries": "Every entry, the oldest first.",
    "epsilon": "The privacy loss: an exact decimal.",
    "estimate": "Of an ABOVE: about how many people match; else null.",
    "expires_at": "From when on it lets nobody in; null: never.",
    "gate": "The id of the gate.",
    "gate_name": "What people call the gate.",
    "given_back": "What closed gates did not use, in all.",
    "id": "Its name in addresses.",
    "item": "The item; of sets a list of items.",
    "items": "What was selected.",
    "kind": "What it does: sets the budget, spends, reserves for a gate, gives back, or charges what a backup forgot.",
    "lost": "How many of its answers nobody can see; each counts as an ABOVE.",
    "margin": "How far from the threshold a count must be to be answered rightly with `confidence`.",
    "max_items_per_user": "Count this many items of each person at most: less noise.",
    "near": "Columns that may have been meant.",
    "next_step": "What to do about it.",
    "noise": "Auto is exponential; with `queries` the one of less variance.",
    "number": "Which question of the gate it is, from 1.",
    "opened_at": "When it was opened: ISO 8601, UTC.",
    "parameter": "Which parameter breaks its rule.",
    "pointer": "Where that parameter is in the body that was sent (RFC 6901).",
    "practice": "Whether it is made up, to practise on, and free.",
    "queries": "How many questions it is planned for; null: any number.",
    "quota": "What the token may have, and had.",
    "record": "The public parameters of the release, and what it cost.",
    "remaining": "How many more ABOVE it can give.",
    "revoked_at": "When it was revoked; null where it was not.",
    "role": "`analyst` asks; `owner` also opens gates, releases tops and sees the budget.",
    "rule": "The rule that it breaks.",
    "schema": "The kind and version of this object.",
    "spent": "What the gate's answers have cost so far: an exact decimal.",
    "standard_error": "The standard error of the estimate, where there is one.",
    "start": "Where the part of the condition that is wrong begins.",
    "threshold": "The PUBLIC number of people that counts are compared with.",
    "title": "The kind of problem in words.",
    "token": "The token itself.",
    "type": "The kind of problem.",
    "unit": "Whom the counts protect: people, or rows.",
    "version": "The version of sparsegate.",
    "what": "What was released, or why the budget changed.",
    "where": "The condition that was asked.",
    "CanAnswer.status": "Always the same: a service that cannot answer says 503.",
    "Health.status": "Always the same: it is up.",
    "Problem.status": "The HTTP status.",
    "BudgetStatement.remaining": "What may still be spent.",
    "CurvePoint.epsilon": "The epsilon.",
    "DeclaredColumn.kind": "What its cells are.",
    "DeclaredColumn.name": "What it is called in conditions.",
    "LedgerEntry.number": "Which entry it is, from 1.",
    "TokenView.name": "Whose token it is.",
    "NewToken.name": "Whose token it is.",
    "WhoAmI.name": "Whose token it is.",
    "AskTop.threshold": "A PUBLIC count, for the methods sparse-vector and retraversal.",
    "AskTop.epsilon": "The privacy loss of the selection.",
    "AskTop.delta": 'Needed with "observed"; elsewhere it may buy less noise.',
}
"""By the name of a field, or of an object and its field."""


def explain(schemas: Mapping[str, Any]) -> None:
    """Add the meaning of every field that does not say it itself."""
    for name, schema in schemas.items():
        for field, found in schema["properties"].items():
            said = MEANINGS.get(f"{name}.{field}") or MEANINGS.get(field)
            if "description" not in found and said:
                found["description"] = said


DESCRIPTION: Final = (
    "Gates over one private dataset: is the number of people who match a condition above a threshold? "
    "Every error is problem+json; `type` tells which."
)

_PLACES: Final[dict[str, dict[str, Any]]] = {
    "parameter": {"pointer": "/cutoff", **problems.parameter_members("cutoff", "must be at least 1")},
    "condition": {"pointer": "/where", "start": 0, "end": 6, "near": ["country"]},
}
_EVERYWHERE: Final = (problems.INTERNAL, problems.NO_ROOM)
TOKEN: Final = (problems.UNAUTHENTICATED, problems.TOO_MANY, problems.LEDGER_UNAVAILABLE)
"""What can happen to every request that needs a token."""

LISTED: Final = (*TOKEN, problems.PARAMETER)
"""What can happen to every request for a list."""

READ: Final = (
    *TOKEN,
    problems.MALFORMED,
    problems.TOO_SLOW,
    problems.TOO_LARGE,
    problems.NOT_JSON,
    problems.PARAMETER,
)
"""What can happen to every request with a body."""

POSTED: Final = (
    *READ,
    problems.KEY_MISSING,
    problems.KEY_REUSED,
    problems.QUOTA_EXCEEDED,
    problems.OUTCOME_LOST,
    problems.DATA_UNAVAILABLE,
)
"""What can happen to every request that changes something, and so has a key."""


def problem_responses(*sorts: Sort) -> dict[int | str, dict[str, Any]]:
    """The problems that an operation can answer with, by status, each with an example."""
    by_status: defaultdict[int, list[Sort]] = defaultdict(list)
    for sort in (*sorts, *_EVERYWHERE):
        by_status[sort.status].append(sort)
    return {
        status: {
            "description": "; or: ".join(sort.title for sort in there),
            "content": {
                MEDIA_TYPE: {
                    "schema": {"$ref": "#/components/schemas/Problem"},
                    "examples": {
                        sort.type: {"summary": sort.title, "value": sort.body(**_PLACES.get(sort.type, {}))}
                        for sort in there
                    },
                }
            },
        }
        for status, there in by_status.items()
    }


def describe(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """The description of an app, made once. FastAPI adds a 422 of its own shape to all that takes a parameter."""
    made: dict[str, Any] = {}

    def description() -> dict[str, Any]:
        if not made:
            made.update(get_openapi(title=app.title, version=app.version, description=DESCRIPTION, routes=app.routes))
            schemas = made["components"]["schemas"]
            for foreign in ("HTTPValidationError", "ValidationError"):
                schemas.pop(foreign, None)
            schemas["Problem"] = Problem.model_json_schema()
            schemas["Problem"]["examples"] = [problems.CONDITION.body(**_PLACES["condition"])]
            explain(schemas)
            for operations in made["paths"].values():
                for operation in operations.values():
                    if MEDIA_TYPE not in operation["responses"].get("422", {"content": {MEDIA_TYPE: 0}})["content"]:
                        del operation["responses"]["422"]
        return made

    return description


def methods_at(description: dict[str, Any], path: str) -> list[str]:
    """The methods that an address takes, by the description; none where it is not in there."""
    there = (found for form, found in description["paths"].items() if compile_path(form)[0].fullmatch(path))
    return sorted({method.upper() for operations in there for method in operations})
