"""A count by values, codes and bits is the count of the whole condition by the engine, whatever the condition."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsegate.conditions import read_condition
from sparsegate.service.data.dataset import ServedTable

ATOMS = (
    *("TRUE", "NULL", "1 = 1", "paid", "page IS NULL"),
    *("page = '/pay'", "page LIKE '/%'", "lower(page) > 'b'", "length(page) BETWEEN 1 AND 4", "page IN ('', '/')"),
    *("seconds < 50", "seconds >= 20", "seconds = 7", "score > 1", "score IS NULL", "day >= DATE '2024-02-01'"),
    *("seconds < score", "CAST(seconds AS VARCHAR) = page", "CAST(score AS TINYINT) IS NULL", "score + seconds > 40"),
    *("coalesce(seconds, 3) = 3", "coalesce(seconds, score) < 2", "CASE WHEN paid THEN seconds ELSE score END > 1"),
    "CASE WHEN seconds > 9 THEN seconds < 30 WHEN seconds > 2 THEN NULL ELSE page = '/' END",
)
CONDITIONS = st.recursive(
    st.sampled_from(ATOMS),
    lambda terms: st.one_of(
        terms.map(lambda term: f"NOT ({term})"),
        st.lists(terms, min_size=2, max_size=5).map(lambda found: "(" + ") AND (".join(found) + ")"),
        st.lists(terms, min_size=2, max_size=5).map(lambda found: "(" + ") OR (".join(found) + ")"),
    ),
    max_leaves=10,
)


@pytest.fixture(scope="module")
def served(visits: str) -> Iterator[tuple[ServedTable, ServedTable]]:
    """By person, and by row."""
    with ServedTable.open([visits], user="visitor") as people, ServedTable.open([visits], unit="row") as rows:
        yield people, rows


@settings(max_examples=150)
@given(text=CONDITIONS)
def test_a_count_is_the_count_of_the_whole_condition(
    text: str, served: tuple[ServedTable, ServedTable], visits: str
) -> None:
    people, rows = served
    condition = read_condition(text, people.schema)
    sql = f"SELECT count(DISTINCT visitor), count(*) FROM '{visits}' WHERE {condition.sql()}"
    expected = duckdb.connect().execute(sql).fetchall()
    assert [(people.count(condition), rows.count(read_condition(text, rows.schema)))] == expected


def test_what_concerns_one_column_is_brought_to_the_rows_once(
    served: tuple[ServedTable, ServedTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Terms on one column are combined on its values, wherever they stand: that is what makes a count cheap."""
    people, _ = served
    taken = []
    monkeypatch.setattr(
        np,
        "take",
        lambda values, *given, take=np.take, **more: (taken.append(len(values)), take(values, *given, **more))[1],
    )
    people.count(read_condition("seconds > 3 AND page = '/' AND seconds < 9 AND NOT seconds = 5", people.schema))
    assert len(taken) == 2
