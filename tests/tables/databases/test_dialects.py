"""A dialect that nobody has heard of is taken if it passes the public probe; SQLite has a type for every cell."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import sqlalchemy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.pool import StaticPool
from tests.support.in_database import ODD, in_memory, top

from sparsegate.errors import ParameterError, SparsegateError, TableError
from sparsegate.tables.databases import dialects
from sparsegate.tables.labels import INTEGER, STRING

# Some labels have spaces, and are meant.
pytestmark = pytest.mark.filterwarnings("ignore::sparsegate.errors.SparsegateWarning")

CELLS = [(ODD[place % len(ODD)], place % 7 * (place % 5)) for place in range(150)] + [(None, 3), ("a", None)]
ONE: dict[str, Any] = {"table": "visits", "count": 1, "domain": ["a"]}


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
def engine(request: pytest.FixtureRequest) -> Iterator[sqlalchemy.Engine]:
    name = getattr(request, "param", "unheard")
    registry.register(name, __name__, name.title())
    arguments = {"check_same_thread": False, "isolation_level": None}
    made = sqlalchemy.create_engine(f"{name}://", poolclass=StaticPool, connect_args=arguments)
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
    ],
)
def test_one_that_passes_counts_as_every_engine_does(engine: sqlalchemy.Engine, question: dict[str, Any]) -> None:
    fill(engine, "page VARCHAR, visitor VARCHAR COLLATE NOCASE")
    expected = top(in_memory(CELLS), **question)
    assert expected.items
    assert top(engine, table="visits", **question) == expected


@pytest.mark.parametrize("page", ["VARCHAR COLLATE NOCASE", "VARCHAR COLLATE RTRIM", "FLOAT", "VARCHAR"])
def test_one_that_takes_items_for_one_another_is_refused_by_name(engine: sqlalchemy.Engine, page: str) -> None:
    """People may be compared as it likes, but not as floats."""
    refused = "visitor" if page == "VARCHAR" else "page"
    fill(engine, f"page {page}, visitor {'FLOAT' if refused == 'visitor' else 'VARCHAR COLLATE NOCASE'}", [])
    with pytest.raises(TableError, match=f"column '{refused}'"):
        top(engine, **ONE)


@pytest.mark.parametrize(("kind", "probes"), [(STRING, ("ä", "a\u0308", "ä")), (INTEGER, (7, 7))])
def test_the_probe_sees_two_that_are_one_and_another_order(
    engine: sqlalchemy.Engine, monkeypatch: pytest.MonkeyPatch, kind: Any, probes: tuple[Any, ...]
) -> None:
    column: Any = sqlalchemy.literal(probes[0])
    with engine.connect() as connection:
        assert dialects.exact(connection, column, kind)
        driver: Any = connection.connection.dbapi_connection
        driver.create_collation("backwards", lambda one, other: (one < other) - (one > other))
        assert not dialects.exact(connection, sqlalchemy.literal("a").collate("backwards"), STRING)
        monkeypatch.setitem(dialects.PROBES, kind, probes)
        assert not dialects.exact(connection, column, kind)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"table": None, "sql": "SELECT page, visitor FROM visits"}, "sql"),
        ({"where": "page = 'a'"}, "where"),
        ({"max_items_per_user": 1}, "max_items_per_user"),
        ({"domain": [str(number) for number in range(10_001)]}, "domain"),
        ({"count": None, "above": 17, "delta": 0.01, "max_items_per_user": 5}, "above"),
    ],
)
def test_what_is_not_known_to_work_is_refused(
    engine: sqlalchemy.Engine, options: dict[str, Any], parameter: str
) -> None:
    fill(engine, "page VARCHAR, visitor INTEGER")
    asked = {name: value for name, value in (ONE | options).items() if value is not None}
    if "above" in asked:
        del asked["domain"]
    with pytest.raises(ParameterError) as caught:
        top(engine, **asked)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("engine", ["timeless"], indirect=True)
def test_one_without_a_moment_is_refused(engine: sqlalchemy.Engine) -> None:
    fill(engine, "page VARCHAR, visitor INTEGER")
    with pytest.raises(TableError, match="timeless has no transaction that sees one moment"):
        top(engine, **ONE)


def test_a_whole_number_beyond_64_bits_is_dropped(engine: sqlalchemy.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of such databases none is at hand: 8 bits stand for 64."""
    monkeypatch.setattr(dialects, "MOST_LABEL", 127)
    fill(engine, "page BIGINT, visitor INTEGER", [(page, visitor) for page in (127, 128) for visitor in range(200)])
    found = top(engine, table="visits", count=2, domain="observed", delta=0.01, epsilon=100, max_items_per_user=None)
    assert found.items == (127,)


# --- SQLite: counted in place, cells are who and what they are in a copied file ---------------------------------------

TYPED: list[Any] = [
    *(17, 17.0, "17", b"17", "17.0", 2.5, "2.5", -0.0, 0, 1e300, 2**53 + 1, float(2**53), -(2**63), float("inf")),
    *("a", "A", "a ", "\u00e4", "a\u0308", "a\0b", "a\0c", "a\0", "", b"", b"\xff", b"\xff\xfe", "\t", "日本", None),
]


def filled(folder: Path, pages: list[Any], people: list[Any], collation: str = "BINARY") -> tuple[str, str]:
    """A file with one row for each pair, by its path and by its URL; and a few cells of text that is no Unicode."""
    file = folder / "cells.db"
    file.unlink(missing_ok=True)
    with sqlite3.connect(file) as database:
        database.execute(f"CREATE TABLE visits (page COLLATE {collation}, visitor COLLATE {collation})")
        rows = list(zip(pages, people, strict=True))
        database.executemany("INSERT INTO visits VALUES (?, ?)", rows)
        database.execute("INSERT INTO visits VALUES (CAST(x'ff61' AS TEXT), CAST(x'ff61' AS TEXT))")
        database.execute("INSERT INTO visits VALUES (CAST(x'ff61' AS TEXT), CAST(x'fe61' AS TEXT))")
    database.close()
    return str(file), f"sqlite:///{file}"


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cells=st.lists(st.tuples(st.sampled_from(TYPED), st.sampled_from(TYPED)), min_size=20, max_size=60),
    collation=st.sampled_from(["BINARY", "NOCASE", "RTRIM"]),
    seed=st.integers(1, 3),
)
def test_people_and_items_are_those_of_a_copy(tmp_path: Path, cells: Any, collation: str, seed: int) -> None:
    places = filled(tmp_path, [page for page, _ in cells], [person for _, person in cells], collation)
    options = {"domain": "observed", "delta": 0.4, "epsilon": 1000 * seed, "answers_epsilon": 1e6, "dbar": 60}
    copied, counted = (top(each, table="visits", count=40, max_items_per_user=seed, **options) for each in places)
    assert copied == counted
    assert copied.items


DOMAINS: dict[str, Any] = {
    "set": {17, 0, 5},
    "range": range(20),
    "number": 20,
    "array": np.array([17, 0, 5]),
    "series": pandas.Series([17, 0, 5]),
    "frame": pandas.DataFrame({"page": [17, 0, 5]}),
    "text": ["17", "0", "5"],
    "truth": [True, False],
    "mixed": [17, "0"],
}


@pytest.mark.parametrize("name", DOMAINS)
def test_a_domain_is_taken_or_refused_by_the_path_and_by_the_url_alike(tmp_path: Path, name: str) -> None:
    gave: list[Any] = []
    for place in filled(tmp_path, TYPED, list(range(len(TYPED)))):
        try:
            release = top(place, table="visits", count=2, domain=DOMAINS[name], epsilon=1e6, answers_epsilon=1e6)
            gave.append([(item, type(item), each) for item, each in zip(release.items, release.estimates, strict=True)])
        except SparsegateError as error:
            gave.append(str(error))
    assert gave[0] == gave[1]
    if name in ("set", "range", "number", "array", "series"):
        assert gave[0][0] == (17, int, 4)


@pytest.mark.parametrize("domain", [18, 9000, range(30)])
def test_numbers_in_text_are_candidates_of_a_sized_domain(tmp_path: Path, domain: Any) -> None:
    pages = ["17", " 7 ", "+7", "-7", "007", "7.0", "7e0", 7, 8.0, "9" * 30, "0" * 40 + "5", "seven", b"6", "\u0667"]
    places = filled(tmp_path, pages, list(range(len(pages))))
    copied, counted = (top(each, table="visits", count=6, domain=domain, epsilon=30) for each in places)
    assert copied == counted


def test_a_connection_that_goes_on_knows_our_functions_no_longer() -> None:
    engine = sqlalchemy.create_engine("sqlite://", poolclass=StaticPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE visits AS SELECT 'ä' AS page, 1 AS visitor")
    top(engine, table="visits", count=1, domain=["ä"])
    with engine.begin() as connection, pytest.raises(sqlalchemy.exc.OperationalError, match="no such function|raised"):
        connection.exec_driver_sql("SELECT sparsegate_digest('a')")
    engine.dispose()
