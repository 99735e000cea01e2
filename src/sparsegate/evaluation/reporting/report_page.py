"""The frame of a report: one HTML file that needs nothing beside it, with sections in a row and links to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template

MOST_VIEWS = 6
"""A figure has at most this many views to choose from."""


@dataclass(frozen=True, kw_only=True)
class PageSection:
    """A part of a report: ``body`` is HTML; a link with the text ``link`` leads to the name ``key``."""

    key: str
    title: str
    body: str
    link: str = ""

    def html(self) -> str:
        """The section as HTML."""
        return f'<section id="{escape(self.key)}"><h2>{escape(self.title)}</h2>\n{self.body}\n</section>'


def render_page(*, title: str, lead: str, sections: Sequence[PageSection]) -> str:
    """A whole page; ``lead`` is HTML and stands before the links to the sections."""
    return Template(_text("report_page.html")).substitute(
        title=escape(title),
        style=_text("report_page.css") + _views(),
        script=_text("report_page.js"),
        lead=lead,
        links="".join(f'<a href="#{escape(one.key)}">{escape(one.link or one.title)}</a>' for one in sections),
        sections="\n\n".join(one.html() for one in sections),
    )


def _text(name: str) -> str:
    return files("sparsegate.evaluation.reporting").joinpath(name).read_text(encoding="utf-8")


def _views() -> str:
    """What the radio buttons of a figure show and hide: rules, so that no script is needed."""
    return "".join(
        f".view-{view}:checked ~ .panels .show-{view} {{ display: block; }}\n" for view in range(1, MOST_VIEWS)
    ) + "".join(f".view-{view}:checked ~ .panels .show-0 {{ display: none; }}\n" for view in range(1, MOST_VIEWS))
