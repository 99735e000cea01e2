"""Every field that travels is explained in the description of the service, and every explanation is of a field."""

from __future__ import annotations

from sparsegate.service.web.http import routed_app
from sparsegate.service.web.openapi import MEANINGS

SCHEMAS = routed_app().openapi()["components"]["schemas"]


def test_every_field_has_a_meaning() -> None:
    missing = {
        f"{name}.{field}"
        for name, schema in SCHEMAS.items()
        for field, found in schema["properties"].items()
        if not found.get("description")
    }
    assert missing == set()


def test_every_meaning_is_of_a_field_that_has_none_of_its_own() -> None:
    used = {
        key
        for name, schema in SCHEMAS.items()
        for field, found in schema["properties"].items()
        for key in (f"{name}.{field}", field)
        if MEANINGS.get(key) == found["description"]
    }
    assert {*MEANINGS} - used == set()
