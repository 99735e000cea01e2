"""The JSON of results, as Markdown: each schema with its fields, and an example that fits it."""

from __future__ import annotations

from pages.command_reference import prose
from pages.records import RECORDS, json_schema
from pages.schema_tables import SchemaWords, json_block


def schemas_part() -> str:
    """A section for each schema, and one for what fields refer to."""
    defined = json_schema()["$defs"]
    parts = {name: part for name, part in defined.items() if name not in RECORDS}
    inside = {name: part for name, part in parts.items() if "properties" in part}
    words = SchemaWords(link=lambda name: f"[{name}](#{name.lower()})", inside=inside)
    lines = ["For programs: [schemas.json](schemas.json).", ""]
    for name in RECORDS:
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
    for name in sorted(parts.keys() - inside.keys()):
        lines += [
            f"### {name}",
            "",
            f"{prose(defined[name]['description'])} {words.type_of(defined[name]).capitalize()}.",
            "",
        ]
    return "\n".join(lines)
