"""The files that are made when the site is built: the path below docs/, and the function that returns the text."""

from __future__ import annotations

from collections.abc import Callable

from pages.svt_figures import rows_script

GENERATED: dict[str, Callable[[], str]] = {"scripts/rows.js": rows_script}
