"""What is made when the site is built: whole files, and parts of pages that have a place for them.

A page of the repository that other pages link to is a real file. Between ``<!-- filled: commands -->`` and
``<!-- filled -->`` it says where a reader of the repository finds what the site has there: what `FILLED` makes of that
word.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from pages.api_pages import API_PAGES
from pages.citation import citation_page
from pages.command_reference import commands_part, exit_codes_part
from pages.http_reference import http_part, openapi_file
from pages.notebooks import NOTEBOOKS, made
from pages.records import schemas_file
from pages.schema_reference import schemas_part
from pages.svt_figures import rows_script

GENERATED: dict[str, Callable[[], str]] = {
    **API_PAGES,
    "reference/cite.md": citation_page,
    "scripts/rows.js": rows_script,
    "reference/openapi.json": openapi_file,
    "reference/schemas.json": schemas_file,
    **{path: partial(made, path) for path in NOTEBOOKS},
}
"""The path below docs/, and the function that returns the text."""

FILLED: dict[str, Callable[[], str]] = {
    "commands": commands_part,
    "exit codes": exit_codes_part,
    "http": http_part,
    "schemas": schemas_part,
}
"""The word, and the function that returns the Markdown that takes its place."""

_PLACE = re.compile(r"^<!-- filled: ([\w ]+) -->\n[^<]+\n<!-- filled -->$", re.MULTILINE)


def filled(markdown: str) -> str:
    """A page with what belongs in its places."""
    made = _PLACE.sub(lambda place: FILLED[place[1]](), markdown)
    if place := re.search("<!-- filled.*", made):
        raise ValueError(f"{place[0]}: a place has words for a code host, and ends with <!-- filled -->")
    return made
