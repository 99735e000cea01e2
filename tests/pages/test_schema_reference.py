"""The page of schemas: every field is explained, every example fits its schema and has no field that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pages.schema_reference import SCHEMAS, schemas_part

from sparsegate.ledger.account import EntryKind

jsonschema_rs = pytest.importorskip("jsonschema_rs")

PART = schemas_part()
NAMES = [one["$ref"].rpartition("/")[2] for one in SCHEMAS["oneOf"]]


def fields_of(schema: dict[str, Any], before: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field, those inside of others too, under a path."""
    for name, field in schema.get("properties", {}).items():
        yield f"{before}{name}", field
        yield from fields_of(field, f"{before}{name}.")
        yield from fields_of(field.get("items", {}), f"{before}{name}.")


def unknown(value: Any, schema: dict[str, Any], before: str = "") -> Iterator[str]:
    """The fields of an example that the schema does not list, where it lists some."""
    if isinstance(value, list):
        for each in value:
            yield from unknown(each, schema.get("items", {}), before)
    elif isinstance(value, dict) and (known := schema.get("properties")):
        for name, inner in value.items():
            if name not in known:
                yield f"{before}{name}"
            yield from unknown(inner, known.get(name, {}), f"{before}{name}.")


def test_every_schema_has_a_section() -> None:
    assert re.findall(r"^## sparsegate/(.*)/1$", PART, re.MULTILINE) == [
        name for name in SCHEMAS["$defs"] if name not in ("amount", "label", "real")
    ]
    assert {*NAMES} == {*SCHEMAS["$defs"]} - {"amount", "label", "real"}


@pytest.mark.parametrize("name", NAMES)
def test_every_field_is_explained_and_every_example_fits(name: str) -> None:
    schema = SCHEMAS["$defs"][name]
    assert [path for path, field in fields_of(schema) if not field.get("description")] == []
    assert schema["description"]
    validator = jsonschema_rs.Draft202012Validator(SCHEMAS)
    for example in schema["examples"]:
        assert example["schema"] == f"sparsegate/{name}/1"
        assert [error.message for error in validator.iter_errors(example)] == []


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("evaluation", "comparison")])
def test_no_example_has_a_field_that_the_table_lacks(name: str) -> None:
    """Rows of experiments have columns for what they measured, and more of them than the table."""
    schema = SCHEMAS["$defs"][name]
    free = {"watch": {"record"}, "alert": {"record"}}.get(name, set())
    found = [path for example in schema["examples"] for path in unknown(example, schema)]
    assert [path for path in found if path.partition(".")[0] not in free] == []


def test_every_kind_of_entry_fits() -> None:
    kinds = SCHEMAS["$defs"]["entry"]["properties"]["kind"]["enum"]
    assert kinds == [kind.value for kind in EntryKind]


def test_a_field_that_is_not_listed_is_noticed() -> None:
    schema = {"properties": {"a": {"type": "array", "items": {"properties": {"b": {}}}}}}
    assert list(unknown({"a": [{"b": 1, "c": 2}], "d": 3}, schema)) == ["a.c", "d"]
