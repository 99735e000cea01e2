"""The JSON of results, as Markdown: each schema with its fields, and an example that fits it."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from pages.command_reference import prose
from pages.schema_tables import SchemaWords, json_block

SCHEMAS: dict[str, Any] = json.loads(files("sparsegate.display").joinpath("schemas.json").read_text(encoding="utf-8"))

_PARTS = ("amount", "label", "real")
"""What fields refer to; all else is a schema of its own."""


def schemas_part() -> str:
    """A section for each schema, and one for what fields refer to."""
    defined = SCHEMAS["$defs"]
    words = SchemaWords(link=lambda name: f"[{name}](#{name})", inside={})
    lines: list[str] = []
    for name in (name for name in defined if name not in _PARTS):
        schema = defined[name]
        lines += [
            f"## sparsegate/{name}/1",
            "",
            prose(schema["description"]),
            "",
            '<div class="fields" markdown="1">',
            "",
        ]
        lines += [words.fields(schema), "</div>", ""]
        lines += [json_block(example) for example in schema["examples"]]
    lines += ["## What fields refer to", ""]
    for name in _PARTS:
        lines += [
            f"### {name}",
            "",
            f"{prose(defined[name]['description'])} {words.type_of(defined[name]).capitalize()}.",
            "",
        ]
    return "\n".join(lines)
