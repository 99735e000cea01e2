"""The page of the service has every operation and object of its OpenAPI, and its requests are read by curl as meant."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from pages.blocks import fences
from pages.hooks import anchor
from pages.http_reference import PRACTICE, http_part, openapi_file

PART = http_part()
DESCRIPTION = json.loads(openapi_file())
OPERATIONS = [(method.upper(), path) for path, found in DESCRIPTION["paths"].items() for method in found]


def test_every_operation_and_every_object_has_a_section() -> None:
    headings = re.findall(r"^### (.*)$", PART, re.MULTILINE)
    real = [f"{method} {path}" for method, path in OPERATIONS if not path.startswith(PRACTICE)]
    assert headings == [*real, "To practise", *DESCRIPTION["components"]["schemas"]]
    practised = [f"- `{method} {path}`" for method, path in OPERATIONS if path.startswith(PRACTICE)]
    assert len(practised) == 8
    assert [line for line in practised if line not in PART] == []


def test_practice_answers_the_same_requests() -> None:
    paths = DESCRIPTION["paths"]
    for method, path in OPERATIONS:
        if path.startswith(PRACTICE):
            real, practised = (paths[one][method.lower()] for one in (path.replace(PRACTICE, "/v1"), path))
            assert real.get("requestBody") == practised.get("requestBody")
            assert real.get("parameters") == practised.get("parameters")


def test_its_links_lead_to_sections_that_are_there() -> None:
    headings = {anchor(heading, "-") for heading in re.findall(r"^#+ (.*)$", PART, re.MULTILINE)}
    targets = re.findall(r"\]\(#([^)]*)\)", PART)
    assert len(targets) > 25
    assert {*targets} - headings == set()


def test_every_request_is_what_the_shell_makes_of_it(tmp_path: Path) -> None:
    """A curl that prints its arguments and its input stands in for the real one."""
    curl = tmp_path / "curl"
    print_all = 'for word in "$@"; do printf "%s\\n" "$word"; done; case "$*" in *@-*) cat;; esac; echo --'
    curl.write_text(f"#!/bin/sh\n{print_all}\n")
    curl.chmod(0o755)
    (tmp_path / "uuidgen").write_text("#!/bin/sh\necho a-key\n")
    (tmp_path / "uuidgen").chmod(0o755)
    blocks = ["\n".join(fence.lines) for fence in fences(PART) if fence.language == "sh"]
    done = subprocess.run(
        ["bash", "-euc", "\n".join(blocks)],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "URL": "http://here", "TOKEN": "sg_x"},
        capture_output=True,
        text=True,
        check=True,
    )
    calls = [call.splitlines() for call in done.stdout.removesuffix("--\n").split("--\n")]
    assert len(calls) == sum(not path.startswith(PRACTICE) for _, path in OPERATIONS)
    assert not any("{" in word for call in calls for word in call if word.startswith("http"))
    bodies = [json.loads(call[-1]) for call in calls if "@-" in call]
    assert {"where": "country = 'DE' AND page IN ('/pay', '/cart')"} in bodies
    assert ["http://here/v1/health"] in calls
    assert sum("Idempotency-Key: a-key" in call for call in calls) == 3


def test_every_json_of_the_page_is_json() -> None:
    blocks = ["\n".join(fence.lines) for fence in fences(PART) if fence.language == "json"]
    assert len(blocks) > 30
    assert all(json.loads(block) for block in blocks)


def test_every_request_object_field_and_parameter_is_explained() -> None:
    operations = [found for path in DESCRIPTION["paths"].values() for found in path.values()]
    objects = DESCRIPTION["components"]["schemas"]
    told = [
        *((operation["operationId"], operation) for operation in operations),
        *((f"?{one['name']}", one) for operation in operations for one in operation.get("parameters", [])),
        *objects.items(),
        *((f"{name}.{field}", one) for name, model in objects.items() for field, one in model["properties"].items()),
    ]
    assert [name for name, one in told if not one.get("description")] == []
    assert len(told) > 100
