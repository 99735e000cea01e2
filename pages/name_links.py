"""Public names that stand in a page lead to their place in the reference, on the site.

`sg.top_items` in prose, and a name in the first column of the table of names. In the repository both are plain code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from pages import public_names

NAMES_PAGE = "reference/api.md"

# A fence, or a link with what it says, is left as it is.
_KEPT = r"^(?P<fence> *`{3,}).*?^(?P=fence)|^#[^\n]*|!?\[[^\]]*\]\([^)]*\)|"
_IN_PROSE = re.compile(_KEPT + r"(?P<code>`sg\.(?P<name>[\w.]+)[^`\n]*`)", re.MULTILINE | re.DOTALL)
_IN_TABLE = re.compile(r"^\| (?P<code>`(?P<name>[\w.]+)`) \|", re.MULTILINE)


@cache
def places() -> Mapping[str, str]:
    """Each public name below the package, such as `privacy.loss`, and its place in the reference."""
    return {place.partition(".")[2]: place for place, _ in public_names.public_names(public_names.source())}


def name_links(page: str, markdown: str) -> str:
    """The page with links to the reference, in the notation of mkdocs-autorefs."""
    markdown = _IN_PROSE.sub(_linked, markdown)
    return _IN_TABLE.sub(lambda row: f"| {_linked(row)} |", markdown) if page == NAMES_PAGE else markdown


def _linked(match: re.Match[str]) -> str:
    name = match["name"]
    if name is None:
        return match[0]
    # A method is shown with its class.
    known = next((part for part in (name, name.rpartition(".")[0]) if part in places()), None)
    return match["code"] if known is None else f"[{match['code']}][{places()[known]}]"
