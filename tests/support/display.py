"""A small release, to convert, show and draw."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema_rs
from pages.records import json_schema

import sparsegate as sg
from sparsegate.tables.release import TopItems

PAGES = ["/home", "/docs", "/blog", "/jobs"]


def release(*, item: str = "page", **options: Any) -> TopItems:
    """Top pages of a thousand people; epsilon is so large that nothing depends on chance."""
    visits = [(page, user) for place, page in enumerate(PAGES) for user in range(1000 // (place + 1))]
    table = {item: [page for page, _ in visits], "visitor": [user for _, user in visits]}
    asked = {"count": 3, "epsilon": 30, "domain": PAGES, "source": sg.Seeded(1), "not_private": True}
    import pyarrow

    return sg.top_items(pyarrow.table(table), item=item, user="visitor", **{**asked, **options})


@cache
def _schema() -> Any:
    schema = json_schema()
    for part in schema["$defs"].values():
        if "properties" in part:
            part.setdefault("additionalProperties", False)
    return jsonschema_rs.validator_for(schema)


def valid(*results: Any) -> bool:
    """Whether each of these, as JSON, is what its schema says, with no field that is not declared there."""
    return all(_schema().is_valid(json.loads(json.dumps(result, allow_nan=False))) for result in results)
