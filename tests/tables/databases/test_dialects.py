"""A dialect that nobody has heard of: taken if it passes the public probe, and refused by its name otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.pool import StaticPool
from tests.support.in_database import ODD, in_memory, top

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.databases import dialects as other_rows
from sparsegate.tables.labels import INTEGER, STRING

# Some labels have spaces, and are meant.
pytestmark = pytest.mark.filterwarnings("ignore::sparsegate.errors.SparsegateWarning")

CELLS = [(ODD[place % len(ODD)], place % 7 * (place % 5)) for place in range(150)] + [(None, 3), ("a", None)]


class Unheard(SQLiteDialect_pysqlite):
    """SQLite, under another name."""

    name = "unheard"
    supports_statement_cache = True


class Timeless(Unheard):
    """The same, without a transaction that would see one moment."""

    name = "timeless"

    def get_isolation_level_values(self, dbapi_connection: Any) -> Any:
        return ["AUTOCOMMIT"]


@pytest.fixture
def engine() -> Iterator[sqlalchemy.Engine]:
    yield from opened("unheard")


def opened(name: str) -> Iterator[sqlalchemy.Engine]:
    for dialect in (Unheard, Timeless):
        registry.register(dialect.name, __name__, dialect.__name__)
    made = sqlalchemy.create_engine(
        f"{name}://", poolclass=StaticPool, connect_args={"check_same_thread": False, "isolation_level": None}
    )
    yield made
    made.dispose()


def fill(engine: sqlalchemy.Engine, columns: str, cells: Any = CELLS) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE visits ({columns})")
        for row in cells:
            connection.exec_driver_sql("INSERT INTO visits VALUES (?, ?)", row)


@pytest.mark.parametrize(
    "question",
    [
        {"count": 5, "domain": [*ODD, "nobody", "nor this"]},
        {"count": 3, "domain": "observed", "delta": 0.01, "epsilon": 1000},
        {"count": 4, "domain": list(ODD), "user": None, "unit": "row"},
    ],
)
def test_one_that_passes_counts_as_every_engine_does(engine: sqlalchemy.Engine, question: dict[str, Any]) -> None:
    fill(engine, "page VARCHAR, visitor INTEGER")
    expected = top(in_memory(CELLS), **question)
    assert expected.items
    assert top(engine, table="visits", **question) == expected


@pytest.mark.parametrize("collation", ["NOCASE", "RTRIM"])
def test_one_that_takes_items_for_one_another_is_refused_by_name(engine: sqlalchemy.Engine, collation: str) -> None:
    fill(engine, f"page VARCHAR COLLATE {collation}, visitor INTEGER")
    with pytest.raises(TableError, match="unheard does not tell strings in column 'page' apart exactly"):
        top(engine, table="visits", count=1, domain=["a"])


@pytest.mark.parametrize("collation", ["NOCASE", "RTRIM"])
def test_people_may_be_compared_as_it_likes(engine: sqlalchemy.Engine, collation: str) -> None:
    fill(engine, f"page VARCHAR, visitor VARCHAR COLLATE {collation}", [("a", "u"), ("a", "U"), ("a", "u ")])
    found = top(engine, table="visits", count=1, domain=["a"], epsilon=1e6, answers_epsilon=1e6)
    assert found.estimates == (2,)


@pytest.mark.parametrize(("kind", "probes"), [(STRING, ("ä", "a\u0308", "ä")), (INTEGER, (7, 7))])
def test_the_probe_sees_two_that_are_one(
    engine: sqlalchemy.Engine, monkeypatch: pytest.MonkeyPatch, kind: str, probes: tuple[Any, ...]
) -> None:
    column: Any = sqlalchemy.literal(probes[0])
    with engine.connect() as connection:
        assert other_rows.exact(connection, column, kind)
        monkeypatch.setitem(other_rows.PROBES, kind, probes)
        assert not other_rows.exact(connection, column, kind)


def test_the_probe_sees_another_order(engine: sqlalchemy.Engine) -> None:
    with engine.connect() as connection:
        driver: Any = connection.connection.dbapi_connection
        driver.create_collation("backwards", lambda one, other: (one < other) - (one > other))
        column: Any = sqlalchemy.literal("a").collate("backwards")
        assert not other_rows.exact(connection, column, STRING)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"table": None, "sql": "SELECT page, visitor FROM visits"}, "sql"),
        ({"where": "page = 'a'"}, "where"),
        ({"max_items_per_user": 1}, "max_items_per_user"),
        ({"domain": [str(number) for number in range(10_001)]}, "domain"),
    ],
)
def test_what_is_not_known_to_work_is_refused(
    engine: sqlalchemy.Engine, options: dict[str, Any], parameter: str
) -> None:
    fill(engine, "page VARCHAR, visitor INTEGER")
    with pytest.raises(ParameterError, match="unheard") as caught:
        top(engine, **{"table": "visits", "count": 1, "domain": ["a"]} | options)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("columns", ["page FLOAT, visitor INTEGER", "page VARCHAR, visitor FLOAT"])
def test_columns_that_tell_nothing_apart_are_refused(engine: sqlalchemy.Engine, columns: str) -> None:
    fill(engine, columns, [])
    with pytest.raises(TableError, match="in column"):
        top(engine, table="visits", count=1, domain=["a"])


def test_one_without_a_moment_is_refused() -> None:
    for engine in opened("timeless"):
        fill(engine, "page VARCHAR, visitor INTEGER")
        with pytest.raises(TableError, match="timeless has no transaction that sees one moment"):
            top(engine, table="visits", count=1, domain=["a"])


def test_a_whole_number_beyond_64_bits_is_dropped(engine: sqlalchemy.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of such databases none is at hand: 8 bits stand for 64."""
    monkeypatch.setattr(other_rows, "MOST_LABEL", 127)
    fill(engine, "page BIGINT, visitor INTEGER", [(page, visitor) for page in (127, 128) for visitor in range(200)])
    found = top(engine, table="visits", count=2, domain="observed", delta=0.01, epsilon=100, max_items_per_user=None)
    assert found.items == (127,)
