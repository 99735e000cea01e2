"""What a page links to outside docs/, and where that stands on the site.

A link is written for the repository, so that it works there. On the site a file of `PROJECT` is a page of its own, a
folder is its README, a page of docs/ stays where it is, and any other file is a copy below `files/`, with `.txt` after
its name so that a browser shows it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Files of the repository that are pages of the site.
PROJECT = {
    "README.md": "project/readme.md",
    "CHANGELOG.md": "reference/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "deploy/README.md": "project/deploy.md",
    "proofs/README.md": "project/proofs.md",
}
_REPOSITORY = {page: file for file, page in PROJECT.items()}

# Code is not prose: a fence or a code span (the first group) is left as it is. The last group is a link's target.
_CODE_OR_LINK = re.compile(
    r"(^(?P<fence> *`{3,}).*?^(?P=fence)|(?P<ticks>`+)[^`].*?(?P=ticks))|(?<=\]\()([^()\s]+)(?=\))", re.M | re.S
)
_ADDRESS = re.compile(r"[a-z]+:|//", re.IGNORECASE)


def in_repository(page: str) -> str:
    """The file of the repository that a page of the site is made of: `how-to/top.md` is `docs/how-to/top.md`."""
    return _REPOSITORY.get(page, f"docs/{page}")


def on_site(file: str) -> str:
    """Where a file or folder of the repository stands on the site: `proofs/sums.v` is `files/proofs/sums.v.txt`."""
    if (ROOT / file).is_dir():
        file = "docs/index.md" if file == "docs" else posixpath.join(file, "README.md")
    if file in PROJECT:
        return PROJECT[file]
    return file.removeprefix("docs/") if file.startswith("docs/") else f"files/{file}.txt"


def replace_links(markdown: str, replacement: Callable[[str], str]) -> str:
    """The text with `replacement(target)` in place of each target of a link that is no address and not in code."""

    def of_match(match: re.Match[str]) -> str:
        target = match[4]
        return match[0] if target is None or _ADDRESS.match(target) else replacement(target)

    return _CODE_OR_LINK.sub(of_match, markdown)


def target_file(page: str, target: str) -> tuple[str, str]:
    """The file of the repository that a link of a page leads to, and the rest: `#anchor`, or nothing."""
    name, mark, anchor = target.partition("#")
    file = in_repository(page)
    return (posixpath.normpath(posixpath.join(posixpath.dirname(file), name)) if name else file), mark + anchor


def site_links(page: str, markdown: str) -> str:
    """The Markdown of a page with its links as they must be on the site."""

    def on_the_site(target: str) -> str:
        if target.startswith("#"):
            return target
        file, anchor = target_file(page, target)
        return posixpath.relpath(on_site(file), posixpath.dirname(page) or ".") + anchor

    return replace_links(markdown, on_the_site)


def copied_files(page: str, markdown: str) -> set[str]:
    """The files of the repository, not pages of the site, that a page links to and that are there."""
    found: set[str] = set()

    def look(target: str) -> str:
        file, _ = target_file(page, target)
        if on_site(file).startswith("files/") and (ROOT / file).is_file():
            found.add(file)
        return target

    replace_links(markdown, look)
    return found
