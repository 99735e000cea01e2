"""A table that stays in its database gives what the same rows give in memory, and nothing of it stays open."""

from __future__ import annotations

import sqlite3
import traceback
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sqlalchemy
from tests.support.in_database import ODD, Meanwhile, Store, top

from sparsegate.errors import ParameterError, SparsegateError, TableError
from sparsegate.noise import Seeded
from sparsegate.tables.databases.snapshot import one_moment
from sparsegate.tables.opening import Table
from sparsegate.uses.itemsets import FrequentItemsets, frequent_itemsets

# Some labels have spaces, and are meant.
pytestmark = pytest.mark.filterwarnings("ignore::sparsegate.errors.SparsegateWarning")

COUNTRIES = ["DE", "FR", "it", "IT", "ß", "", "nowhere", "a'b"]
CELLS = [
    (ODD[n * n % len(ODD)], None if n % 31 == 0 else n % 23, COUNTRIES[(n // 7 + n % 3) % 7] if n % 11 else None)
    for n in range(240)
] + [(None, 3, "DE"), ("a", None, "FR")]
NUMBERS = [(n * n % 50, n % 17, 5 * (n % 4)) for n in range(300)] + [(2**63 - 1, 1, 5), (-3, 2, 0), (7, None, 0)]
BY_COUNTRY: dict[str, Any] = {"per": "country", "groups": COUNTRIES}
CUT: dict[str, Any] = {"delta": 0.01, "epsilon": 20, "max_items_per_user": 4}
ODD_ONES: dict[str, Any] = {"count": 4, "domain": list(ODD)}
QUESTIONS: list[dict[str, Any]] = [
    {"count": 5, "domain": [*ODD, "nobody", "nor this"]},
    {"count": 3, "domain": [*ODD, "nobody"], "answers_epsilon": 1},
    {**ODD_ONES, "max_items_per_user": 3},
    {"count": 3, "domain": "observed", **CUT},
    {"above": 3, **CUT},
    {**ODD_ONES, "user": None, "unit": "row"},
]
BY_GROUP: list[dict[str, Any]] = [
    {"count": 12, "domain": [*ODD, "nobody", "nor this"], "groups_per_user": 2, "answers_epsilon": 1},
    {**ODD_ONES, "groups_per_user": 3, "max_items_per_user": 2},
    {**ODD_ONES, "groups_per_user": 8},
    {"above": 3, **CUT, "epsilon": 80, "groups_per_user": 2},
    {**ODD_ONES, "user": None, "unit": "row"},
]
SETS: list[dict[str, Any]] = [
    {"domain": [*ODD, "nobody"], "pool": 6, "answers_epsilon": 1},
    {"domain": list(ODD), "method": "levels", "pool": 8},
    {"domain": "observed", "delta": 0.01, "epsilon": 200, "size": 2},
]


def in_memory(cells: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(cells, schema=["page", "visitor", "country"], orient="row", infer_schema_length=None)


def filled(store: Store, cells: list[tuple[Any, ...]] = CELLS) -> Store:
    kind = "text" if cells is CELLS else "bigint"
    store.fill(cells, columns=f"page {kind}, visitor int, country {kind}")
    return store


def itemsets(data: Any, **options: Any) -> FrequentItemsets:
    asked = {"item": "page", "user": "visitor", "count": 8, "epsilon": 3} | options
    return frequent_itemsets(data, **asked, source=Seeded(5), not_private=True)


@pytest.mark.parametrize("question", [*QUESTIONS, *(each | BY_COUNTRY for each in BY_GROUP), *SETS], ids=range(14))
def test_equal_rows_and_seeds_give_equal_releases(store: Store, question: dict[str, Any]) -> None:
    call = itemsets if question in SETS else top
    expected: Any = call(in_memory(CELLS), **question)
    assert expected.items
    assert "per" not in question or expected.groups["nowhere"].record == expected.groups["DE"].record
    assert call(Table(filled(store).url, table="visits"), **question) == expected
    assert call(Table(store.url, sql="SELECT page, visitor, country FROM visits"), **question) == expected


@pytest.mark.parametrize("domain", [20, 9000, range(5), [3, 1, 2**63 - 1, 7, -3]], ids=str)
@pytest.mark.parametrize("more", [{}, {"max_items_per_user": 2}, {"per": "country", "groups": "0,5,15,99"}], ids=str)
def test_whole_numbers_are_found_and_missed_alike(store: Store, domain: Any, more: dict[str, Any]) -> None:
    if "sqlite" in store.url and isinstance(domain, list):
        return  # a list of numbers: items of SQLite are labels
    asked: dict[str, Any] = {"count": 4, "domain": domain, "epsilon": 0.1, **more}
    counted, expected = filled(store, NUMBERS).top(**asked), top(in_memory(NUMBERS), **asked)
    if "sqlite" in store.url and "per" in more:  # groups are labels there, and compared as texts
        counted, expected = ([part.items for part in each.groups.values()] for each in (counted, expected))
    assert counted == expected


def test_sets_of_more_items_than_one_number_holds_and_of_none(store: Store) -> None:
    cells = [(page, who, 0) for page in range(70) for who in range(page, 80)]
    asked = {"domain": 1000, "count": 40, "size": 2, "pool": 66, "epsilon": 2000, "answers_epsilon": 10**5}
    data = Table(filled(store, cells).url, table="visits")
    assert all(estimate == 80 - max(pages) for pages, estimate in itemsets(data, **asked))
    filled(store, [])
    assert sum(itemsets(data, domain=5, size=2, count=3, answers_epsilon=1000).estimates or ()) <= 3
    assert itemsets(data, domain="observed", delta=0.01, size=2).items == ()


def test_a_database_is_named_in_any_way(store: Store) -> None:
    question, expected = QUESTIONS[0], filled(store).top(**QUESTIONS[0])
    assert top(store.engine, table="visits", **question) == expected
    assert top(store.engine.url, table="visits", **question) == expected
    assert store.top(sql="SELECT page, visitor FROM visits WHERE ':x' <> '%' -- all", **question) == expected
    with store.engine.connect() as connection, pytest.raises(ParameterError, match="pass connection.engine"):
        top(connection, table="visits", **question)


def test_people_are_compared_as_their_column_says_and_items_exactly(store: Store) -> None:
    cells = [("/home", name) for name in ("u1", "U1", "u1 ", "u2")] + [("/HOME", "u1"), ("/home ", "u1")]
    pages, people = "text COLLATE NOCASE", "text COLLATE RTRIM"
    if store.engine.dialect.name == "postgresql":
        pages = people = "text COLLATE folded"
        store.run(
            "DROP TABLE IF EXISTS visits",
            "DROP COLLATION IF EXISTS folded",
            "CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        )
    store.fill(cells, columns=f"page {pages}, visitor {people}")
    counts = store.top(count=3, domain=["/home", "/HOME", "/home "], epsilon=1e6, answers_epsilon=1e6)
    assert dict(zip(counts.items, counts.estimates or (), strict=True)) == {"/home": 3, "/HOME": 1, "/home ": 1}


def test_all_queries_see_one_moment(store: Store) -> None:
    """The labels that nobody has are looked for after the charge, when somebody has them; so are groups and sets."""
    options = {"count": 20, "domain": 22, "epsilon": 0.1}
    expected = filled(store, [(7, 1, 0), (8, 2, 0)]).top(**options)
    others = ", ".join(f"({page}, 1, 0)" for page in range(22))
    ledger = Meanwhile(lambda: store.run(f"INSERT INTO visits VALUES {others}"))
    assert store.top(**options, ledger=ledger) == expected
    assert store.top(**options) != expected
    wiped = Meanwhile(lambda: store.run("DELETE FROM visits"))
    grouped = filled(store).top(**BY_GROUP[0], **BY_COUNTRY)
    assert store.top(**BY_GROUP[0], **BY_COUNTRY, ledger=wiped) == grouped
    found = itemsets(Table(filled(store).url, table="visits"), **SETS[0], ledger=wiped)
    assert found == itemsets(in_memory(CELLS), **SETS[0])


def test_connections_go_back_as_they_came(store: Store) -> None:
    engine = sqlalchemy.create_engine(filled(store).engine.url, pool_size=1, max_overflow=0)
    for item in ("page", "nowhere"):
        try:
            top(engine, table="visits", count=2, domain=list(ODD), item=item)
        except TableError:
            assert item == "nowhere"
        assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE written (x int)")
            connection.exec_driver_sql("DROP TABLE written")
    engine.dispose()


ASKED: dict[str, Any] = {"count": 1, "domain": ["a", "b"]}
FEW = [("a", 1), ("a", 2), ("b", 1), ("s3cret cell", 4)]


def test_nothing_is_written(store: Store) -> None:
    store.fill(FEW)
    if store.engine.dialect.name == "sqlite":
        with pytest.raises((TableError, ParameterError)):
            store.top(**ASKED, sql="DELETE FROM visits RETURNING page, visitor")
        return
    store.run("CREATE OR REPLACE FUNCTION wipe() RETURNS int LANGUAGE sql AS 'DELETE FROM visits RETURNING 1'")
    for sql in (
        "SELECT page, visitor + wipe() AS visitor FROM visits",
        "SELECT page, visitor FROM visits) AS t; COMMIT; DELETE FROM visits; SELECT * FROM (SELECT 1",
    ):
        with pytest.raises(TableError):
            store.top(**ASKED, sql=sql)
    assert store.top(**ASKED, epsilon=1e3).items == ("a",)


def test_transactions_only_read(store: Store) -> None:
    store.fill(FEW)
    with pytest.raises(sqlalchemy.exc.DBAPIError), one_moment(store.engine) as connection:
        connection.exec_driver_sql("DELETE FROM visits")
    assert store.top(epsilon=1e3, **ASKED).items == ("a",)


REFUSED: list[tuple[dict[str, Any], str | None]] = [
    ({"table": "visit"}, "table"),
    ({"item": "nowhere"}, None),
    ({"user": "nowhere"}, None),
    ({"table": None}, "table"),
    ({"sql": "SELECT 1"}, "table"),
    ({"domain": ["a\0"]}, "domain"),
    ({"domain": ["\ud800"]}, "domain"),
    ({"per": "lower(page)", "groups": ["a"]}, "per"),
    ({"per": "nowhere", "groups": ["a"]}, None),
    ({"per": "page", "groups": ["a\0"]}, "groups"),
    ({"per": "page", "groups": []}, "groups"),
    ({"per": "page", "groups": ["a", "b"], "groups_per_user": 9}, "groups_per_user"),
    ({"per": "page", "groups": ["a"], "value": "visitor", "clip": (0, 1)}, "value"),
]


@pytest.mark.parametrize(("options", "parameter"), REFUSED, ids=str)
def test_what_is_not_there_or_does_not_work_is_refused_by_name(
    store: Store, options: dict[str, Any], parameter: str | None
) -> None:
    store.fill(FEW)
    with pytest.raises((TableError, ParameterError)) as caught:
        top(store.url, **{"table": "visits", **ASKED} | options)
    if not (store.url.startswith("postgresql") and "visit" in options.values()):  # which looks names up by itself
        assert getattr(caught.value, "parameter", None) == parameter
    if options.get("per") == "lower(page)" or "value" in options:  # the advice can be followed
        assert ("path of the file" in str(caught.value)) is store.url.startswith("sqlite")


# --- Who may read, what an error says, and that nobody learns a password or a cell from it ----------------------------


def words_of(error: BaseException) -> str:
    """All that a log could show of it."""
    seen, text = error, "".join(traceback.format_exception(error))
    while seen.__context__ is not None:
        seen = seen.__context__
        text += str(seen)
    return text


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://ann:hunter2@127.0.0.1:1/shop", "cannot be reached"),
        ("postgresql://ann:hunter2@[::1/shop", "must be as postgresql://"),
        ("sqlite:////nowhere/hunter2/visits.db", "cannot be reached"),
        ("nodb://ann:hunter2@host/shop", "nodb://"),
        ("mysql+nodriver://ann:hunter2@host/shop", "mysql"),
        ("s3://hunter2:x@bucket/visits.parquet", "s3://"),
    ],
)
def test_an_address_that_leads_nowhere(url: str, words: str) -> None:
    with pytest.raises((TableError, ParameterError), match=words) as caught:
        top(url, table="visits", **ASKED)
    assert "hunter2" not in words_of(caught.value)
    assert getattr(caught.value, "parameter", "data") == "data"


def test_a_sqlite_file_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(TableError):
        top(f"sqlite:///{tmp_path}/new.db", table="visits", **ASKED)
    assert not (tmp_path / "new.db").exists()


def test_a_role_without_rights(postgres: Store) -> None:
    postgres.fill(FEW)
    postgres.run("DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN", "GRANT USAGE ON SCHEMA public TO reader")
    place = postgres.url.replace("test@", "reader:hunter2@")
    with pytest.raises(TableError, match="GRANT SELECT") as caught:
        top(place, table="visits", **ASKED)
    assert "hunter2" not in words_of(caught.value)
    postgres.run("GRANT SELECT ON visits TO reader")
    assert top(place, table="visits", epsilon=1e3, **ASKED).items == ("a",)
    # Some of the rows would be other counts than those of the table.
    postgres.run("ALTER TABLE visits ENABLE ROW LEVEL SECURITY", "CREATE POLICY own ON visits USING (visitor = 1)")
    with pytest.raises(TableError, match="no row security policy"):
        top(place, table="visits", **ASKED)


def test_an_error_holds_no_cell_and_says_what_was_spent(postgres: Store) -> None:
    postgres.fill(FEW)
    sql = "SELECT CASE WHEN visitor = 4 THEN page::int::text ELSE page END AS page, visitor FROM visits"
    with pytest.raises(TableError) as caught:
        postgres.top(sql=sql, **ASKED)
    assert "s3cret" not in words_of(caught.value)
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    ended = Meanwhile(lambda: postgres.run(f"{others} AND datname = current_database()"))
    with pytest.raises(TableError, match="counts as spent") as caught:
        postgres.top(ledger=ended, **ASKED)
    assert "terminat" not in words_of(caught.value)


def test_sqlite_in_another_encoding_is_read_as_a_file(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "wide.db") as database:
        database.execute("PRAGMA encoding = 'UTF-16'")
        database.execute("CREATE TABLE visits (page, visitor)")
        database.executemany("INSERT INTO visits VALUES (?, ?)", FEW)
    with pytest.raises(SparsegateError, match="pass its path"):
        top(f"sqlite:///{tmp_path}/wide.db", table="visits", **ASKED)
    assert top(tmp_path / "wide.db", table="visits", epsilon=1e3, **ASKED).items == ("a",)
