"""The text of a condition or a query as a tree, by DuckDB's own parser: nothing is bound, and no row is read.

Versions of DuckDB write literals, types and arguments in different forms; both that there are come out of here as one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STRING, INTEGER, NUMERIC, BOOLEAN, NULL = "STRING", "INTEGER", "NUMERIC", "BOOLEAN", "NULL_LITERAL"

_OF_TYPE: Final = {
    **dict.fromkeys(("INTEGER", "BIGINT", "HUGEINT"), INTEGER),
    **dict.fromkeys(("DECIMAL", "DOUBLE"), NUMERIC),
    "VARCHAR": STRING,
    "BOOLEAN": BOOLEAN,
}
_PLAIN: Final = {"type", "cte_map", "select_list", "from_table", "aggregate_handling"}


class Refusal(Exception):
    """Why a text is no condition; it holds words of the caller and names of columns."""


def parse_expression(engine: DuckDBPyConnection, text: str) -> dict[str, Any]:
    """The tree of a text that must be one expression."""
    query = "SELECT json_serialize_sql($text, skip_default := true, skip_null := true, skip_empty := true)"
    ((answer,),) = engine.execute(query, {"text": f"SELECT {text}\n"}).fetchall()
    parsed = json.loads(answer)
    if "statements" not in parsed:
        raise Refusal(parsed.get("error_message", "it cannot be read"))
    node = parsed["statements"][0]["node"]
    chosen = node.get("select_list", [])
    alone = len(parsed["statements"]) == len(chosen) == 1 and set(node) <= _PLAIN and not text.rstrip().endswith(";")
    if not alone or node["from_table"]["type"] != "EMPTY" or "alias" in chosen[0]:
        raise Refusal("it is more than one expression")
    tree: dict[str, Any] = chosen[0]
    return tree


def literal(node: Mapping[str, Any]) -> tuple[str, str]:
    """Which of the five kinds a literal is, and its text."""
    if "literal" in node:
        return node["literal"]["kind"], node["literal"].get("text", "")
    held = node["value"]
    if held["is_null"]:
        return NULL, ""
    kind, value = held["type"]["id"], held["value"]
    if isinstance(value, dict):  # a number of 128 bits
        value = value["upper"] * 2**64 + value["lower"]
    if kind == "DECIMAL":
        value = Decimal(value).scaleb(-held["type"]["type_info"].get("scale", 0))
    return _OF_TYPE[kind], str(value).lower() if kind == "BOOLEAN" else str(value)


def target(node: Mapping[str, Any]) -> str:
    """The type that a CAST asks for, as SQL."""
    if "type_expr" in node:
        asked = node["type_expr"]
        name, sizes = asked["type_name"], [literal(part)[1] for part in asked.get("children", ())]
    else:
        asked = node["cast_type"]
        held = asked.get("type_info", {})
        name, sizes = asked["id"], [str(held[size]) for size in ("width", "scale") if size in held]
    if not all(re.fullmatch(r"\w+", word) for word in [name, *sizes]):
        raise Refusal("it casts to a type that is not known here")
    return str(name) + (f"({', '.join(sizes)})" if sizes else "")


def arguments(node: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The arguments of a function."""
    if "arguments" in node:
        return [argument["expression"] for argument in node["arguments"]]
    return list(node.get("children", ()))


def names_in(engine: DuckDBPyConnection, query: str) -> list[str] | None:
    """The names of columns that a query speaks of; None where they cannot be told from the query alone.

    So it is with ``*``, and where a name is given to something else, too.
    """
    ((answer,),) = engine.execute("SELECT json_serialize_sql($text)", {"text": query}).fetchall()
    names: dict[str, str] = {}
    given: set[str] = set()
    left = [json.loads(answer)]
    while left:
        part = left.pop()
        if isinstance(part, list):
            left += part
        elif isinstance(part, dict):
            if part.get("class") == "STAR" or part.get("error"):
                return None
            if part.get("class") == "COLUMN_REF":
                names.setdefault(part["column_names"][-1].lower(), part["column_names"][-1])
            if isinstance(part.get("alias"), str):
                given.add(part["alias"].lower())
            left += part.values()
    return None if given & set(names) else sorted(names.values())
