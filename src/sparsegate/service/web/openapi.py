"""The description of the service: OpenAPI, made from the models, with an example of every object."""

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


def example_of(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """An object made of the examples of its fields, and of the objects among ``schemas`` that they refer to."""
    example = {}
    for name, field in schema["properties"].items():
        inner = re.search(r"'\$ref': '#/[^']*/(\w+)'", str(field))
        if "examples" in field:
            example[name] = field["examples"][0]
        elif inner and "properties" in schemas[inner[1]]:
            value = example_of(schemas[inner[1]], schemas)
            example[name] = [value] if field.get("type") == "array" else value
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

LISTED: Final = (*TOKEN, problems.PARAMETER)  # what can happen to every request for a list

READ: Final = (*TOKEN, problems.MALFORMED, problems.TOO_SLOW, problems.TOO_LARGE, problems.NOT_JSON, problems.PARAMETER)
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


def fails(*sorts: Sort) -> dict[int | str, dict[str, Any]]:
    """The problems that an operation can answer with, by status, each with an example."""
    by_status: defaultdict[int, list[Sort]] = defaultdict(list)
    for sort in (*sorts, *_EVERYWHERE):
        by_status[sort.status].append(sort)
    return {
        status: {
            "description": "; or: ".join(sort.title for sort in at_status),
            "content": {
                MEDIA_TYPE: {
                    "schema": {"$ref": "#/components/schemas/Problem"},
                    "examples": {
                        sort.type: {"summary": sort.title, "value": sort.body(**_PLACES.get(sort.type, {}))}
                        for sort in at_status
                    },
                }
            },
        }
        for status, at_status in by_status.items()
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
            for schema in schemas.values():
                schema.setdefault("examples", [example_of(schema, schemas)])
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
