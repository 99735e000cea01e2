"""How to cite: BibTeX from CITATION.cff."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

import sparsegate

FILE = Path(__file__).parents[1] / "CITATION.cff"
CHANGELOG = FILE.with_name("CHANGELOG.md")

_ARTICLE = {"journal": "journal", "year": "year", "volume": "volume", "issue": "number", "doi": "doi"}
"""The fields of an article, and what BibTeX calls them."""


def citation_page() -> str:
    """The Markdown of the page."""
    cited = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    entries = [software(cited), *map(article, cited["references"])]
    blocks = "\n\n".join(f"```bibtex\n{entry}\n```" for entry in entries)
    return (
        f"# How to cite\n\n{cited['message']} Name the version you ran; `sparsegate --version` says it. In BibTeX:\n\n"
        f"{blocks}\n\nThe same for programs is in [CITATION.cff](../../CITATION.cff). Each variant has the paper it "
        "comes from: `sparsegate variants NAME`, or the [table of variants](../how-to/variants.md).\n"
    )


def software(cited: dict[str, Any]) -> str:
    """The entry of the library itself, in the version that is here; the changelog has the year of its release."""
    version = sparsegate.__version__
    heading = rf"^## \[{re.escape(version)}\] - (\d{{4}})-"
    released = re.search(heading, CHANGELOG.read_text(encoding="utf-8"), re.MULTILINE)
    fields = {
        "author": _authors(cited["authors"]),
        "title": f"{{{cited['title']}}}",
        "version": version,
        **({"year": released[1]} if released else {}),
        "license": cited["license"],
    }
    return bibtex("software", "sparsegate", fields)


def article(reference: dict[str, Any]) -> str:
    """The entry of a paper."""
    fields = {
        "author": _authors(reference["authors"]),
        "title": f"{{{reference['title']}}}",
        "pages": f"{reference['start']}--{reference['end']}",
        **{name: str(reference[field]) for field, name in _ARTICLE.items() if field in reference},
    }
    key = f"{reference['authors'][0]['family-names'].lower()}{reference['year']}"
    return bibtex("article", key, fields)


def bibtex(kind: str, key: str, fields: dict[str, str]) -> str:
    """One entry."""
    return "\n".join([f"@{kind}{{{key},", *(f"  {name} = {{{value}}}," for name, value in fields.items()), "}"])


def _authors(authors: list[dict[str, str]]) -> str:
    """A group's name is in braces of its own, so that BibTeX does not take it for a person's."""
    return " and ".join(
        f"{{{author['name']}}}" if "name" in author else f"{author['family-names']}, {author['given-names']}"
        for author in authors
    )
