"""The service over HTTP, as Markdown: every operation of its OpenAPI, and every object that goes in or out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pages.command_reference import prose
from pages.schema_tables import SchemaWords, json_block
from sparsegate.service.web.http import routed_app

PRACTICE = "/v1/practice"


def openapi_file() -> str:
    """The description itself, for tools."""
    return json.dumps(routed_app().openapi(), indent=1) + "\n"


def http_part() -> str:
    """A section for each operation, and one for each object."""
    description = routed_app().openapi()
    models = description["components"]["schemas"]
    operations = [
        (method.upper(), path, operation)
        for path, found in description["paths"].items()
        for method, operation in found.items()
    ]
    lines = ["## Requests", "", "For tools: [openapi.json](openapi.json).", ""]
    for method, path, operation in operations:
        if not path.startswith(PRACTICE):
            lines += _operation(method, path, operation, models)
    practised = [f"`{method} {path}`" for method, path, _ in operations if path.startswith(PRACTICE)]
    lines += ["### To practise", "", _PRACTISE, "", *(f"- {one}" for one in practised), "", "## Objects", ""]
    words = SchemaWords(link=_link, inside={})
    for name, model in models.items():
        lines += [f"### {name}", "", prose(model.get("description", "")), "", '<div class="fields" markdown="1">', ""]
        lines += [words.fields(model), "</div>", ""]
        lines += [json_block(example) for example in model.get("examples", [])[:1]]
    return "\n".join(lines)


_PRACTISE = (
    f"The same requests below `{PRACTICE}` answer from data that is made up, with noise, and cost nothing: "
    "for trying out a client."
)


def _operation(method: str, path: str, operation: Mapping[str, Any], models: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"### {method} {path}", "", prose(operation["description"]), "")
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    example = _example(body, models)
    yield from ("```sh", *_curl(method, path, operation, example), "```", "")
    if found := operation.get("parameters"):
        words = SchemaWords(link=_link, inside={})
        yield from ('<div class="fields" markdown="1">', "", "| Parameter | Type | Meaning |", "| --- | --- | --- |")
        for one in found:
            default = one["schema"].get("default")
            note = "" if default is None else f" Default: `{json.dumps(default)}`."
            kind = words.type_of(one["schema"])
            yield f"| `{one['name']}`, {_PLACES[one['in']]} | {kind} | {prose(one.get('description', ''))}{note} |"
        yield from ("", "</div>", "")
    if body:
        yield from (f"It takes {_shown(body)}.", "")
    for status, answer in operation["responses"].items():
        for kind, content in answer.get("content", {}).items():
            if int(status) < 300:
                given = content.get("schema", {})
                yield from (f"It answers {status}{_given(kind, given)}", "")
                if "json" in kind and (shown := _example(given, models)) is not None:
                    yield json_block(shown)
    problems = {
        (status, sort): found["value"]["title"]
        for status, answer in sorted(operation["responses"].items())
        for content in answer.get("content", {}).values()
        for sort, found in content.get("examples", {}).items()
    }
    if problems:
        yield from ('<details markdown="1"><summary>Problems it can answer with</summary>', "")
        yield from ("| Status | Type | |", "| --- | --- | --- |")
        yield from (f"| {status} | `{sort}` | {prose(title)} |" for (status, sort), title in problems.items())
        yield from ("", "</details>", "")


_PLACES = {"path": "in the path", "query": "after `?`", "header": "a header"}


def _given(kind: str, schema: Mapping[str, Any]) -> str:
    if "json" not in kind:
        return f" and `{kind}`."
    return f" and {_shown(schema)}:"


def _shown(schema: Mapping[str, Any]) -> str:
    if schema.get("type") == "array":
        return f"a list of {_shown(schema['items'])}"
    return _link(schema["$ref"].rpartition("/")[2]) if "$ref" in schema else "an object"


def _example(schema: Mapping[str, Any], models: Mapping[str, Any]) -> Any:
    if schema.get("type") == "array":
        inner = _example(schema["items"], models)
        return None if inner is None else [inner]
    if "$ref" in schema:
        found: list[Any] = models[schema["$ref"].rpartition("/")[2]].get("examples", [])
        return found[0] if found else None
    return None


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _curl(method: str, path: str, operation: Mapping[str, Any], body: Any) -> Iterator[str]:
    """The request, for whoever has $URL and $TOKEN set."""
    filled = path
    parts = []
    for one in operation.get("parameters", []):
        (example,) = one["schema"].get("examples", [""])[:1]
        if one["in"] == "path":
            filled = filled.replace(f"{{{one['name']}}}", example)
        elif one["in"] == "header" and one["required"]:
            parts.append(f'-H "{one["name"]}: {_NEW_KEY}"')
    if operation.get("security"):
        parts.insert(0, '-H "Authorization: Bearer $TOKEN"')
    if body is not None:
        parts += ['-H "Content-Type: application/json"', "-d @- <<'END'"]
    lines = [f'curl {"" if method == "GET" else f"-X {method} "}"$URL{filled}"', *(f"    {part}" for part in parts)]
    yield from (f"{line} \\" for line in lines[:-1])
    yield lines[-1]
    if body is not None:
        yield from (json.dumps(body, ensure_ascii=False), "END")


_NEW_KEY = "$(uuidgen)"
