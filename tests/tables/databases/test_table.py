"""A table that stays in its database gives what the same rows give in memory, and nothing of it stays open."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.in_database import ODD, Meanwhile, Store, in_memory, top

from sparsegate.errors import ParameterError, TableError

# Some labels have spaces, and are meant.
pytestmark = pytest.mark.filterwarnings("ignore::sparsegate.errors.SparsegateWarning")

CELLS = [(ODD[place % len(ODD)], place % 7 * (place % 5)) for place in range(150)] + [(None, 3), ("a", None)]
QUESTIONS: list[dict[str, Any]] = [
    {"count": 5, "domain": [*ODD, "nobody", "nor this"]},
    {"count": 3, "domain": [*ODD, "nobody"], "answers_epsilon": 1},
    {"count": 4, "domain": list(ODD), "max_items_per_user": 3},
    {"count": 3, "domain": "observed", "delta": 0.01, "epsilon": 20, "max_items_per_user": 4},
    {"above": 3, "delta": 0.01, "epsilon": 20, "max_items_per_user": 4},
    {"count": 4, "domain": list(ODD), "user": None, "unit": "row"},
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_equal_rows_and_seeds_give_equal_items(store: Store, question: dict[str, Any]) -> None:
    store.fill(CELLS)
    expected = top(in_memory(CELLS), **question)
    assert expected.items
    assert store.top(**question) == expected


def test_a_database_is_named_in_any_way(store: Store) -> None:
    store.fill(CELLS)
    question, expected = QUESTIONS[0], store.top(**QUESTIONS[0])
    assert top(store.engine, table="visits", **question) == expected
    assert top(store.engine.url, table="visits", **question) == expected
    assert store.top(sql="SELECT page, visitor FROM visits WHERE ':x' <> '%' -- all", **question) == expected
    with store.engine.connect() as connection, pytest.raises(ParameterError, match="pass connection.engine"):
        top(connection, table="visits", **question)


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cells=st.lists(st.tuples(st.integers(-3, 9000), st.none() | st.integers(0, 9)), min_size=1, max_size=60),
    domain=st.sampled_from([20, 9000, range(5), [1, 2, 2**63 - 1, -3]]),
    most=st.none() | st.integers(1, 3),
)
def test_whole_numbers_are_found_and_missed_alike(store: Store, cells: Any, domain: Any, most: int | None) -> None:
    cells = [*cells, (2**63 - 1, 1), (1, 1)]
    store.fill(cells, columns="page bigint, visitor int")
    options = {"count": 3, "domain": domain, "max_items_per_user": most, "epsilon": 0.1}
    found = store.top(**options) if "postgresql" in store.url or not isinstance(domain, list) else None
    expected = top(in_memory(cells), **options)
    if found is None:  # a list of numbers: items of SQLite are labels
        found = store.top(**options | {"domain": [str(label) for label in domain]})
        assert all(isinstance(item, str) for item in found.items)
    else:
        assert found == expected


def test_people_are_compared_as_their_column_says_and_items_exactly(store: Store) -> None:
    cells = [("/home", name) for name in ("u1", "U1", "u1 ", "u2")] + [("/HOME", "u1"), ("/home ", "u1")]
    folded = {
        "postgresql": ("text COLLATE folded", "text COLLATE folded", 3),
        "sqlite": ("text COLLATE NOCASE", "text COLLATE RTRIM", 3),
    }
    pages, people, different = folded[store.engine.dialect.name]
    if store.engine.dialect.name == "postgresql":
        store.run(
            "DROP TABLE IF EXISTS visits",
            "DROP COLLATION IF EXISTS folded",
            "CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        )
    store.fill(cells, columns=f"page {pages}, visitor {people}")
    counts = store.top(count=3, domain=["/home", "/HOME", "/home "], epsilon=1e6, answers_epsilon=1e6)
    assert dict(zip(counts.items, counts.estimates or (), strict=True)) == {"/home": different, "/HOME": 1, "/home ": 1}


def test_all_queries_see_one_moment(store: Store) -> None:
    """The labels that nobody has are looked for after the charge, when somebody has them."""
    store.fill([(7, 1), (8, 2)], columns="page bigint, visitor int")
    options = {"count": 20, "domain": 22, "epsilon": 0.1}
    expected = store.top(**options)
    store.fill([(7, 1), (8, 2)], columns="page bigint, visitor int")
    others = ", ".join(f"({page}, 1)" for page in range(22))
    ledger = Meanwhile(lambda: store.run(f"INSERT INTO visits VALUES {others}"))
    assert store.top(**options, ledger=ledger) == expected
    assert store.top(**options) != expected


def test_connections_go_back_as_they_came(store: Store) -> None:
    store.fill(CELLS)
    engine = sqlalchemy.create_engine(store.engine.url, pool_size=1, max_overflow=0)
    for options in ({"count": 2, "domain": list(ODD)}, {"count": 2, "domain": list(ODD), "item": "nowhere"}):
        try:
            top(engine, table="visits", **options)
        except TableError:
            assert options["item"] == "nowhere"
        assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE written (x int)")
            connection.exec_driver_sql("DROP TABLE written")
    engine.dispose()


def test_nothing_is_written(store: Store) -> None:
    store.fill(CELLS)
    if store.engine.dialect.name == "sqlite":
        with pytest.raises((TableError, ParameterError)):
            store.top(count=1, domain=["a"], sql="DELETE FROM visits RETURNING page, visitor")
        return
    store.run("CREATE OR REPLACE FUNCTION wipe() RETURNS int LANGUAGE sql AS 'DELETE FROM visits RETURNING 1'")
    for sql in (
        "SELECT page, visitor + wipe() AS visitor FROM visits",
        "SELECT page, visitor FROM visits) AS t; COMMIT; DELETE FROM visits; SELECT * FROM (SELECT 1",
    ):
        with pytest.raises(TableError):
            store.top(count=1, domain=["a"], sql=sql)
    assert store.top(count=1, domain=["a", "b"], epsilon=1e3).items == ("a",)


def test_names_that_are_not_there(store: Store) -> None:
    store.fill(CELLS)
    with pytest.raises((TableError, ParameterError), match="visit"):
        top(store.url, table="visit", count=1, domain=["a"])
    for name in ("item", "user"):
        with pytest.raises(TableError, match="no column 'nowhere'"):
            store.top(count=1, domain=["a"], **{name: "nowhere"})
    for options in ({}, {"table": "visits", "sql": "SELECT 1"}):
        with pytest.raises(ParameterError, match="or a query in its place"):
            top(store.url, count=1, domain=["a"], **options)
    with pytest.raises(ParameterError, match="one database alone"):
        top([store.url, store.url], table="visits", count=1, domain=["a"])


@pytest.mark.parametrize("options", [{"per": "page", "groups": ["a"]}, {"domain": ["a\0"]}, {"domain": ["\ud800"]}])
def test_what_does_not_work_there_is_refused_by_name(store: Store, options: dict[str, Any]) -> None:
    store.fill(CELLS)
    with pytest.raises(ParameterError) as caught:
        store.top(**{"count": 1, "domain": ["a"]} | options)
    assert caught.value.parameter == next(iter(options))
    if "domain" not in options:
        assert ("path of the file" in str(caught.value)) is store.url.startswith("sqlite")
