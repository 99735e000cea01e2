"""Releases of small tables, counted once and ready to be drawn from as often as a test likes."""

from __future__ import annotations

from typing import Any

from tests.support.table_reference import Row

from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.prepared import Prepared, PreparedChoice, PreparedGroups, PreparedStages, prepare
from sparsegate.tables.question import Question


def prepared(rows: list[Row], domain: Any, **options: Any) -> Prepared:
    """A release from rows (page, visitor) in Polars; with a ``value``, from rows (page, visitor, value)."""
    release = _prepare(rows, domain, options)
    assert isinstance(release, Prepared)
    return release


def prepared_choice(rows: list[Row], domain: Any, **options: Any) -> PreparedChoice:
    """A release with something "auto" from rows (page, visitor), or (page, visitor, value)."""
    release = _prepare(rows, domain, options)
    assert isinstance(release, PreparedChoice)
    return release


def prepared_groups(rows: list[tuple[str, Any, Any]], domain: Any, groups: Any, **options: Any) -> PreparedGroups:
    """Releases for each of the groups, from rows (country, page, visitor)."""
    release = _prepare([(*row[1:], row[0]) for row in rows], domain, {"per": "country", **options}, groups)
    assert isinstance(release, PreparedGroups)
    return release


def _prepare(
    rows: list[Any], domain: Any, options: dict[str, Any], groups: Any = None
) -> Prepared | PreparedGroups | PreparedChoice | PreparedStages:
    import polars

    names = [name for name in ("page", "visitor", options.get("value"), options.get("per")) if name]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    method = "auto" if options.get("above") else "exponential"
    user = None if "unit" in options else "visitor"
    question = Question.asked(item="page", user=user, domain=domain, groups=groups, **{"method": method, **options})
    return prepare(open_engine(polars.DataFrame(columns)), question, domain, user, groups)
