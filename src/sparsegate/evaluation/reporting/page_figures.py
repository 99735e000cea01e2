"""A figure of a page: panels side by side, a choice of what they show that needs no script, and links to files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Protocol


class Chart(Protocol):
    """What a panel shows."""

    def svg(self) -> str:
        """The chart as an SVG element."""


@dataclass(frozen=True, kw_only=True)
class FigurePanel:
    """One chart for each view, below a title; ``identity`` is the name a link leads to, ``note`` is HTML below it.

    ``dataset`` says what it is about, where that is a dataset.
    """

    title: str
    charts: Mapping[str, Chart]
    dataset: str = ""
    identity: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class PageFigure:
    """Panels that share their views; the first view is shown, the reader may choose another.

    ``files`` are links by their text, relative to the page; ``note`` is HTML below the caption.
    """

    name: str
    title: str
    caption: str
    panels: tuple[FigurePanel, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    def html(self) -> str:
        """The figure as HTML."""
        views = list(dict.fromkeys(view for panel in self.panels for view in panel.charts))
        chosen = "".join(
            f'<input type="radio" name="view-{self.name}" id="view-{self.name}-{place}" class="view-{place}"'
            f'{" checked" if not place else ""}><label for="view-{self.name}-{place}">{escape(view)}</label>'
            for place, view in enumerate(views)
            if len(views) > 1
        )
        panels = "".join(_panel(panel, views) for panel in self.panels)
        links = " ".join(f'<a href="{escape(place)}" download>{escape(text)}</a>' for text, place in self.files.items())
        shown = f'<span class="files">{links}</span>' if links else ""
        return (
            f'<figure id="figure-{self.name}"><figcaption><h3>{escape(self.title)}</h3><p>{escape(self.caption)}</p>'
            f"{self.note}</figcaption>{chosen}{shown}"
            f'<div class="panels{" one" if len(self.panels) == 1 else ""}">{panels}</div></figure>'
        )


def _panel(panel: FigurePanel, views: list[str]) -> str:
    name = f' id="{escape(panel.identity)}"' if panel.identity else ""
    charts = "".join(
        f'<div class="show-{views.index(view)}">{chart.svg()}</div>' for view, chart in panel.charts.items()
    )
    return f'<div class="panel"{name}><h4>{escape(panel.title)}</h4>{charts}{panel.note}</div>'
