"""Releases of small tables, counted once and ready to be drawn from as often as a test likes."""

from __future__ import annotations

from typing import Any

from tests.support.table_reference import Row

from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.prepared import Prepared, PreparedChoice, PreparedGroups, PreparedStages, prepare
from sparsegate.tables.question import Question


def prepared(rows: list[Row], domain: Any, **options: Any) -> Prepared:
    """A release from rows (page, visitor) in Polars; with a ``value``, from rows (page, visitor, value)."""
    names = ("page", "visitor", *([options["value"]] if options.get("value") else []))
    release = _prepare({name: [row[place] for row in rows] for place, name in enumerate(names)}, domain, options)
    assert isinstance(release, Prepared)
    return release


def prepared_choice(rows: list[Row], domain: Any, **options: Any) -> PreparedChoice:
    """A release with something "auto" from rows (page, visitor), or (page, visitor, value)."""
    names = ("page", "visitor", *([options["value"]] if options.get("value") else []))
    release = _prepare({name: [row[place] for row in rows] for place, name in enumerate(names)}, domain, options)
    assert isinstance(release, PreparedChoice)
    return release


def prepared_groups(rows: list[tuple[str, Any, Any]], domain: Any, groups: Any, **options: Any) -> PreparedGroups:
    """Releases for each of the groups, from rows (country, page, visitor)."""
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("country", "page", "visitor"))}
    release = _prepare(columns, domain, {"per": "country", **options}, groups)
    assert isinstance(release, PreparedGroups)
    return release


def _prepare(
    columns: dict[str, list[Any]], domain: Any, options: dict[str, Any], groups: Any = None
) -> Prepared | PreparedGroups | PreparedChoice | PreparedStages:
    import polars

    method = "auto" if options.get("above") else "exponential"
    user = None if "unit" in options else "visitor"
    question = Question.asked(item="page", user=user, domain=domain, groups=groups, **{"method": method, **options})
    return prepare(open_engine(polars.DataFrame(columns)), question, domain, user, groups)
