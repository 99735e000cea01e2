"""What the service does is what its OpenAPI says: schemathesis makes up requests, and checks every answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance
from tests.support.serving import Service, listening, serving, visits

from sparsegate.errors import SparsegateError
from sparsegate.service.client import Call, Client, Response
from sparsegate.service.web import problems
from sparsegate.service.web.http import routed_app

DESCRIPTION = routed_app().openapi()
SCHEMAS = DESCRIPTION["components"]["schemas"]
OPERATIONS = [(path, method.upper()) for path, operations in DESCRIPTION["paths"].items() for method in operations]
MODES = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]
CASES = [
    (*operation, mode)
    for operation in OPERATIONS
    for mode in MODES
    if not (operation[0] in ("/v1/health", "/v1/ready") and mode is MODES[1])  # no look at these is wrong
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Any]]:
    folder = tmp_path_factory.mktemp("openapi")
    with visits(folder) as data, serving(folder, data, epsilon=10**9) as made, listening(made.app) as url:
        yield made, schemathesis.openapi.from_url(f"{url}/openapi.json")


@pytest.mark.parametrize(("path", "method", "mode"), CASES)
def test_every_answer_is_one_that_the_description_allows(
    service: tuple[Service, Any], path: str, method: str, mode: Any
) -> None:
    made, schema = service
    headers = {"Authorization": f"Bearer {made.owner}"}
    # Random identifiers are no gates: every other request is about one that is there.
    gates = st.sampled_from([None, made.open_gate(cutoff=10_000)])

    # Practice is the same code around other gates.
    many = 2 if path.startswith("/v1/practice") else 6

    @settings(
        max_examples=many, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None
    )
    @given(case=schema[path][method].as_strategy(generation_mode=mode), gate=gates)
    def tried(case: Any, gate: str | None) -> None:
        if gate is not None and "id" in (case.path_parameters or {}):
            case.path_parameters["id"] = gate
        # What a condition, an amount or a column must be is more than a schema can say: such bodies may be refused.
        # And a query parameter that nobody knows is left alone. (Of all checks of `st run --checks all` one more does
        # not fit: a gate that was deleted is closed, and can still be looked at.)
        unknown = [negative_data_rejection] if method == "GET" else []
        case.call_and_validate(headers=headers, excluded_checks=[positive_data_acceptance, *unknown])

    tried()


def test_every_problem_is_in_the_docs_and_is_raised_as_they_say() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| \d{3} \| `([a-z-]+)` \| .* \| `(\w+)` \|$", page, re.MULTILINE))
    sorts = {sort.type: sort for sort in vars(problems).values() if isinstance(sort, problems.Sort)}
    assert told.keys() == sorts.keys()
    for kind, sort in sorts.items():
        steps = Client(None, retries=0).exchange(Call(path="v1/gates", read=list))
        next(steps)
        with pytest.raises(SparsegateError) as raised:
            steps.send(Response(sort.status, json.dumps(sort.body()).encode()))
        assert type(raised.value).__name__ == told[kind]
        assert f"| {sort.status} | `{kind}` | {sort.title} |" in page


def test_every_field_has_a_meaning_and_every_object_an_example_that_fits_it() -> None:
    fields = {
        f"{name}.{field}": told for name, schema in SCHEMAS.items() for field, told in schema["properties"].items()
    }
    assert [name for name, told in fields.items() if not told.get("description")] == []
    for name, schema in SCHEMAS.items():
        whole = {"components": {"schemas": SCHEMAS}, "$ref": f"#/components/schemas/{name}"}
        jsonschema_rs.validator_for(whole).validate(schema["examples"][0])
