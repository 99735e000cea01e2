"""Releases of small tables, counted once and ready to be drawn from as often as a test likes."""

from __future__ import annotations

from typing import Any

from tests.support.table_reference import Row

from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.question import Question
from sparsegate.tables.top import Prepared, prepare


def prepared(rows: list[Row], domain: Any, **options: Any) -> Prepared:
    """A release from rows (page, visitor) in Polars; with a ``value``, from rows (page, visitor, value)."""
    import polars

    parameters: dict[str, Any] = dict.fromkeys(("unit", "threshold", "max_items_per_user", "max_items", "dbar"))
    method = "auto" if options.get("above") else "exponential"
    parameters |= {"delta": 0, "method": method, "answers_epsilon": 0, "itemset_size": 1} | options
    question = Question(item="page", user="visitor", observed=isinstance(domain, str), **parameters)
    names = ("page", "visitor", *([question.value] if question.value else []))
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return prepare(open_engine(polars.DataFrame(columns)), question, domain, question.user)
