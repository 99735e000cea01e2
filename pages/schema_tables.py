"""JSON Schemas as tables: a row for each field, inside of objects and lists too: its type in words, its meaning."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pages.command_reference import prose

_WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
    "array": "list",
    "null": "null",
}
_BOUNDS = {"minimum": "at least {:,g}", "exclusiveMinimum": "more than {:,g}", "maximum": "at most {:,g}"}
_LARGE = 2**31 - 1
"""A bound from here on is that of the number's own type, and not worth a word."""


@dataclass(frozen=True, kw_only=True)
class SchemaWords:
    """How the schemas of one document are told of: what stands for a reference, and what is inside of it."""

    link: Callable[[str], str]
    """A schema that is referred to, by its name."""
    inside: Mapping[str, Mapping[str, Any]]
    """Schemas whose fields are shown where they are referred to."""

    def fields(self, schema: Mapping[str, Any]) -> str:
        """The table of the fields of a schema."""
        lines = ["| Field | Type | Meaning |", "| --- | --- | --- |"]
        lines += [f"| `{name}` | {kind} | {meaning} |" for name, kind, meaning in self._rows(schema)]
        return "\n".join(lines) + "\n"

    def type_of(self, schema: Mapping[str, Any]) -> str:
        """The type in words.

        >>> words = SchemaWords(link=lambda name: f"[{name}](#{name})", inside={})
        >>> words.type_of({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/real"}]}})
        'list of: whole number, or [real](#real)'
        """
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return "object" if name in self.inside else self.link(name)
        if "const" in schema:
            return f"`{json.dumps(schema['const'])}`"
        if "enum" in schema:
            return _either([f"`{json.dumps(word)}`" for word in schema["enum"]])
        if "anyOf" in schema:
            return _either(list(dict.fromkeys(self.type_of(part) for part in schema["anyOf"])))
        kinds = schema.get("type", [])
        if kinds == "array" and schema.get("items"):
            return f"list of: {self.type_of(schema['items'])}"
        words = [_WORDS[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds)]
        bounds = [text.format(schema[key]) for key, text in _BOUNDS.items() if abs(schema.get(key, _LARGE)) < _LARGE]
        return ", ".join([_either(words) or "anything", *bounds])

    def _rows(self, schema: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str, str]]:
        needed = schema.get("required", ())
        for name, field in schema.get("properties", {}).items():
            notes = [prose(field["description"])] if "description" in field else []
            if field.get("default") is not None:
                notes.append(f"Default: `{json.dumps(field['default'])}`.")
            kind = self.type_of(field) + ("" if name in needed or "default" in field else "; may be left out")
            yield f"{before}{name}", kind, " ".join(notes)
            yield from self._below(field, f"{before}{name}")

    def _below(self, field: Mapping[str, Any], name: str) -> Iterator[tuple[str, str, str]]:
        """The fields of an object, or of the objects of a list, under this name."""
        if "$ref" in field:
            yield from self._rows(self.inside.get(field["$ref"].rpartition("/")[2], {}), f"{name}.")
        elif field.get("type") == "object":
            yield from self._rows(field, f"{name}.")
        elif field.get("type") == "array":
            yield from self._below(field.get("items", {}), f"{name}[]")


def _either(words: list[str]) -> str:
    return ", ".join(words[:-1]) + (", or " if words[1:] else "") + "".join(words[-1:])


def json_block(value: Any) -> str:
    """An example."""
    return f"```json\n{json.dumps(value, indent=2, ensure_ascii=False)}\n```\n"
