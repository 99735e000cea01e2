"""Tutorials as notebooks: the site has them beside their pages, made of the same blocks.

A ``python`` block is a cell; where it ends with ``print(name)`` the cell ends with ``name``, which a notebook shows as
a table. A file is written by ``%%writefile``, and ``sh`` runs by ``%%bash``. What a page shows as output is left
out: the notebook prints its own. Where the repository and the site are known (``REPO_URL`` and ``SITE_URL``, as for
`mkdocs.yml`), the notebook installs the library from the one and links to the other; on GitHub it opens in Colab from
the branch ``notebooks``, which the workflow of the docs writes.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from pages.blocks import Step, fences, steps
from pages.elsewhere import ROOT, on_site, replace_links, target_file

NOTEBOOKS = {f"tutorials/{name}.ipynb": f"tutorials/{name}.md" for name in ("first_top", "first_gate", "first_audit")}
"""The notebooks of the site, and the pages that they are made of: those whose blocks all run in one Python."""

BRANCH = "notebooks"
"""The branch that holds them, where the site is published: Colab opens a notebook by its address in a repository."""


def notebook(page: str, *, repository: str = "", site: str = "") -> str:
    """The notebook of a page of the site, as JSON."""
    markdown = (ROOT / "docs" / page).read_text(encoding="utf-8")
    cells = [*_opening(page, markdown, repository), *_cells(page, markdown, site)]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    python = {"name": "python3", "display_name": "Python 3", "language": "python"}
    content = {"cells": cells, "metadata": {"kernelspec": python}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def made(path: str) -> str:
    """A notebook of the site with the addresses of the environment."""
    return notebook(NOTEBOOKS[path], repository=os.environ.get("REPO_URL", ""), site=os.environ.get("SITE_URL", ""))


def colab(page: str, repository: str) -> str | None:
    """Where Colab opens the notebook of a page; None where the repository is not on GitHub."""
    known = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+?)/?", repository)
    name = f"{Path(page).stem}.ipynb"
    return known and f"https://colab.research.google.com/github/{known[1]}/blob/{BRANCH}/{name}"


def with_notebook(page: str, markdown: str, repository: str) -> str:
    """A page with a line under its heading that leads to its notebook; a page without one as it is."""
    if page not in NOTEBOOKS.values():
        return markdown
    opened = (address := colab(page, repository)) and f" · [open in Colab]({address})"
    line = f"[This page as a notebook]({Path(page).stem}.ipynb){opened or ''}"
    return re.sub(r"^(# .*)$", rf"\1\n\n{line}", markdown, count=1, flags=re.MULTILINE)


def _opening(page: str, markdown: str, repository: str) -> Iterator[dict[str, Any]]:
    """What only a notebook needs: a badge, and the library."""
    if address := colab(page, repository):
        yield _text(f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({address})")
    if repository:
        extras = re.search(r"pip install '\.(\[[\w,]+\])'([\w ]*)`", markdown)
        ours, others = (extras[1], extras[2]) if extras else ("", "")
        library = f"'sparsegate{ours} @ git+{repository}'"
        yield _code(f"%pip install --quiet {library}{others}\n")


def _cells(page: str, markdown: str, site: str) -> Iterator[dict[str, Any]]:
    """Prose and blocks in their order."""
    lines, todo = markdown.split("\n"), steps(markdown)
    outputs = {step.expected.first for step in todo if step.expected}
    inside = {
        fence: [step for step in todo if fence.first < step.line <= fence.end]  # lines of steps are counted from 1
        for fence in fences(markdown)
    }
    blocks = [fence for fence in inside if inside[fence] or fence.first in outputs]
    for before, fence in pairwise([None, *blocks, None]):
        prose = lines[before.end + 1 if before else 0 : fence.first - 1 if fence else None]
        if text := re.sub(r"^ *<!--.*-->$", "", "\n".join(prose), flags=re.MULTILINE).strip():
            yield _text(_linked(page, text, site))
        for step in inside[fence] if fence else []:
            yield _code(_source(step))


def _linked(page: str, text: str, site: str) -> str:
    """Links as addresses of the site; where it is not known, they lead from the notebook's place on it."""

    def there(target: str) -> str:
        if target.startswith("#"):
            return target
        file, anchor = target_file(page, target)
        path = re.sub(r"\.md$", ".html", on_site(file))
        return (f"{site}{path}" if site else posixpath.relpath(path, posixpath.dirname(page))) + anchor

    return replace_links(text, there)


def _source(step: Step) -> str:
    if step.title:
        return f"%%writefile {step.title}\n{step.code}"
    if step.language == "python":
        return re.sub(r"^print\((\w+)\)\n\Z", r"\1\n", step.code, flags=re.MULTILINE)
    failing = "--no-raise-error" if step.language == "console" else "-euo pipefail"
    return f"%%bash {failing}\n{step.code}"


def _text(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def _code(source: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "metadata": {},
        "source": source.removesuffix("\n"),
        "execution_count": None,
        "outputs": [],
    }


def main(folder: Path) -> None:
    """Write the notebooks into a folder: `python -m pages.notebooks FOLDER`."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in NOTEBOOKS:
        (folder / Path(path).name).write_text(made(path), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
