"""The pages that are made when the site is built: the path below docs/, and the function that returns the Markdown."""

from __future__ import annotations

from collections.abc import Callable

GENERATED: dict[str, Callable[[], str]] = {}
