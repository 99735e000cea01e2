"""The description of the service: OpenAPI, made from the models, with a meaning and an example for every field.

What a field means, and an example of it, are in two tables, by its name: a name means one thing, but for the objects
named there. A field that says what it means in its model says it there. A test finds a field without a meaning, and an
entry without a field.
"""

from __future__ import annotations

import re
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


EXAMPLES: Final[dict[str, Any]] = {
    "above": True,
    "added_at": "2030-01-01T12:00:00+00:00",
    "asked": 3,
    "at": "2030-01-01T12:00:03+00:00",
    "because": None,
    "by": "anna",
    "changed": True,
    "closed": False,
    "closes": "above",
    "confidence": 0.95,
    "cost": "0.5",
    "cursor": "2030-01-01T12:00:03+00:00_1_4",
    "cutoff": 25,
    "dataset": "visits",
    "delay": 0.05,
    "delta": "0",
    "description": "Asked by the team that made it.",
    "domain": ["/home", "/pay", "/cart"],
    "epsilon": "0.5",
    "error_bar": None,
    "error_bar_all": None,
    "estimate": 1870,
    "expires_at": None,
    "gate": "g-0123456789abcdef",
    "gate_name": "Visits to the new page",
    "given_back": "0",
    "id": "g-0123456789abcdef",
    "item": "page",
    "kind": "spend",
    "last_used_at": None,
    "lost": 0,
    "margin": 92.0,
    "margin_all": 272.0,
    "max_cell": 1000,
    "most_above": 100,
    "most_epsilon": "1",
    "name": "anna",
    "noise": "exponential",
    "number": 4,
    "of": None,
    "opened_at": "2030-01-01T12:00:00+00:00",
    "opened_by": "olga",
    "positives": 1,
    "queries": None,
    "record": {"epsilon": "0.5", "delta": "0", "method": "subset", "ordered": False, "unit": "user", "count": 2},
    "remaining": 24,
    "reserved": "0.447625",
    "revoked_at": None,
    "role": "analyst",
    "schema": "sparsegate/top/1",
    "spent": "0.052375",
    "standard_error": 59.0,
    "threshold": 1000,
    "token": "sg_" + "A" * 43,
    "unit": "user",
    "version": "0.1.0",
    "warning": None,
    "what": "gate: threshold 1000, cutoff 25, unit user",
    "where": "country = 'DE'",
    "AddToken.expires": "30d",
    "AddToken.most_above": 100,
    "AskRefresh.close_gates": True,
    "AskTop.count": 2,
    "CanAnswer.status": "ready",
    "CurvePoint.epsilon": 0.5,
    "DeclaredColumn.kind": "text",
    "DeclaredColumn.name": "country",
    "GatePreview.remaining": "1.5",
    "GateView.name": "Visits to the new page",
    "Health.status": "ok",
    "OpenGate.name": "Visits to the new page",
    "Quota.above": 3,
    "Served.left_out": ["photo"],
    "TopRow.item": "/home",
}
"""As ``MEANINGS``. Of what may be left out an example has what is named with its object here."""


def explain(schemas: Mapping[str, Any]) -> None:
    """Add the meaning of every field that does not say it itself, and an example of every object."""
    for name, schema in schemas.items():
        for field, described in schema["properties"].items():
            meaning = MEANINGS.get(f"{name}.{field}") or MEANINGS.get(field)
            if "description" not in described and meaning:
                described["description"] = meaning
        schema.setdefault("examples", [_example(name, schemas)])


def _example(name: str, schemas: Mapping[str, Any]) -> dict[str, Any]:
    schema, example = schemas[name], {}
    for field, described in schema["properties"].items():
        value = EXAMPLES.get(f"{name}.{field}", EXAMPLES.get(field))
        inner = re.search(r"#/components/schemas/(\w+)", str(described))
        if inner:
            value = _example(inner[1], schemas)
            value = [value] if described.get("type") == "array" else value
        if field in schema.get("required", ()) or f"{name}.{field}" in EXAMPLES:
            example[field] = value
    return example


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
    matching = (methods for form, methods in description["paths"].items() if compile_path(form)[0].fullmatch(path))
    return sorted({method.upper() for methods in matching for method in methods})
