"""Schemas in words: types, bounds, what may be left out, and fields inside of objects and lists."""

from __future__ import annotations

from pages.schema_tables import SchemaWords

WORDS = SchemaWords(link=lambda name: f"[{name}](#{name})", inside={"pair": {"properties": {"x": {"type": "number"}}}})


def test_types_are_told_in_words() -> None:
    told = {
        "text": {"type": "string"},
        "number, or null": {"type": ["number", "null"]},
        "whole number, at least 1, at most 1,000": {"type": "integer", "minimum": 1.0, "maximum": 1000.0},
        "number, more than 0": {"type": "number", "exclusiveMinimum": 0, "maximum": 2.3e18},
        '`"a"`, or `"b"`': {"enum": ["a", "b"]},
        '`"a"`': {"const": "a"},
        "list of: [real](#real)": {"type": "array", "items": {"$ref": "#/$defs/real"}},
        "list": {"type": "array"},
        "text, or number": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "string"}]},
        "anything": {},
    }
    assert {WORDS.type_of(schema): schema for schema in told.values()} == told


def test_fields_of_objects_and_lists_are_listed_below_them() -> None:
    schema = {
        "required": ["a", "b"],
        "properties": {
            "a": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
            "b": {"$ref": "#/$defs/pair", "description": "A pair_of numbers."},
            "c": {"type": "boolean", "default": False},
        },
    }
    assert WORDS.fields(schema).splitlines()[2:] == [
        "| `a` | list of: object |  |",
        "| `a[].n` | whole number; may be left out |  |",
        r"| `b` | object | A pair\_of numbers. |",
        "| `b.x` | number; may be left out |  |",
        "| `c` | true or false | Default: `false`. |",
    ]
