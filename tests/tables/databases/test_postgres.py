"""Tables of PostgreSQL: every type that may be ranked, views, conditions, what is refused, and how text is folded."""

from __future__ import annotations

from typing import Any

import duckdb
import polars
import pytest
from sqlalchemy import create_engine
from tests.support.in_database import Store, in_memory, top
from tests.support.postgres_cluster import Cluster

from sparsegate.errors import ConditionError, ParameterError, TableError
from sparsegate.noise import Seeded
from sparsegate.tables.databases import postgres as folding
from sparsegate.tables.databases.postgres import agreeing_folding, mended
from sparsegate.tables.opening import Table
from sparsegate.uses.itemsets import frequent_itemsets

SURE: dict[str, Any] = {"epsilon": 1e6, "answers_epsilon": 1e6}


def counts(found: Any) -> dict[Any, int]:
    return dict(zip(found.items, found.estimates, strict=True))


@pytest.mark.parametrize(
    ("kind", "cells", "expected"),
    [
        ("smallint", [7, 7, -1], {7: 2, -1: 1, 5: 0}),
        ("numeric(38)", [7, 7, 10**30, "NaN", 2**63 - 1], {7: 2, 2**63 - 1: 1}),
        ("oid", [7, 4294967295], {7: 1, 4294967295: 1}),
        ("varchar(3)", ["a", "a ", "A"], {"a": 1, "a ": 1, "A": 1}),
        ("char(3)", ["a", "a ", "A"], {"a": 2, "A": 1, "a ": 0}),
        ("mood", ["glad", "sad", "glad"], {"glad": 2, "sad": 1}),
        ("short", ["a", "b", "a"], {"a": 2, "b": 1}),
        ("bytea", ["a", "A", "a"], {b"a": 2, b"A": 1}),
    ],
)
@pytest.mark.filterwarnings("ignore:.*with a space")
def test_items_of_every_type(postgres: Store, kind: str, cells: list[Any], expected: dict[Any, int]) -> None:
    postgres.run("DROP TABLE IF EXISTS visits", "DROP TYPE IF EXISTS mood", "DROP DOMAIN IF EXISTS short")
    postgres.run("CREATE TYPE mood AS ENUM ('sad', 'glad')", "CREATE DOMAIN short AS varchar(1) CHECK (value <> '')")
    postgres.fill([(str(cell), place) for place, cell in enumerate(cells)], columns=f"page {kind}, visitor int")
    found = postgres.top(count=len(expected), domain=list(expected), **SURE)
    assert counts(found) == expected
    if kind != "numeric(38)":  # a query has no precision
        sql = "SELECT page, visitor::text::int AS visitor FROM visits"
        assert postgres.top(sql=sql, count=len(expected), domain=list(expected), **SURE) == found


THREE_PEOPLE = {
    "text": ["u", "U", "u "],
    "citext": ["u", "U", "v", "w"],
    "bytea": ["u", "v", "w"],
    "numeric": ["1", "1.0", "2", "NaN"],
    "float8": ["0", "-0", "NaN", "0.5", "7"],
    "timestamptz": ["2024-01-01 12:00+00", "2024-01-01 13:00+01", "infinity", "-infinity"],
    "uuid": [f"5ab1e000-0000-0000-0000-00000000000{digit}" for digit in range(3)],
    "bigint": [2**53, 2**53 + 1, -1],
}


@pytest.mark.parametrize("kind", THREE_PEOPLE)
def test_people_of_every_type(postgres: Store, kind: str) -> None:
    postgres.run("CREATE EXTENSION IF NOT EXISTS citext")
    postgres.fill([("a", str(cell)) for cell in THREE_PEOPLE[kind]], columns=f"page text, visitor {kind}")
    for most in (None, 1):
        assert counts(postgres.top(count=1, domain=["a"], max_items_per_user=most, **SURE)) == {"a": 3}


def test_a_person_with_two_spellings_is_one(postgres: Store) -> None:
    """Also where people are cut: one spelling, chosen by the order of everybody's rows, must not stand for both."""
    postgres.run("CREATE EXTENSION IF NOT EXISTS citext")
    rows = [("a", "u", 1, "2024-01-01"), ("a", "U", 2, "2024-01-01"), ("b", "U", 3, "2024-01-02")]
    rows += [("b", "u", 4, "2024-01-02")]
    postgres.fill(rows, columns="page text, visitor citext, amount float8, day date")
    asked: dict[str, Any] = {"count": 2, "domain": ["a", "b"], "where": "page <> 'c'", **SURE}
    for most in (None, 2):
        sums = counts(postgres.top(**asked, value="amount", clip=(0, 100), max_items_per_user=most))
        assert sums == {"a": pytest.approx(3, abs=0.01), "b": pytest.approx(7, abs=0.01)}
    for groups, held in ((1, [1]), (2, [1, 1])):
        parts = postgres.top(**asked, per="day", groups="2024-01-01..2024-01-03", groups_per_user=groups).groups
        assert [sum(part.estimates or ()) for part in parts.values() if sum(part.estimates or ())] == held
    noise: dict[str, Any] = {"source": Seeded(5), "not_private": True, "epsilon": 1e6, "answers_epsilon": 1e6}
    sets = frequent_itemsets(
        Table(postgres.url, table="visits"), item="page", user="visitor", domain=["a", "b"], size=2, count=3, **noise
    )
    assert dict(sets) == {("a",): 1, ("b",): 1, ("a", "b"): 1}


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("boolean", ["true", "false", "true"]),
        ("date", ["2024-02-29", "1969-12-31", "2024-02-29", "0001-01-01", "9999-12-31", "10000-01-01", "infinity"]),
        ("timestamp", ["2024-02-29 01:02:03.000004", "1969-12-31 23:59:59.999999", "2024-02-29 01:02:03.000004"]),
        ("timestamptz", ["2024-02-29 01:02:03+01", "2024-02-29 00:02:03+00", "1900-01-01 00:00:00.5+00"]),
        ("time", ["00:00:00", "23:59:59.999999", "00:00:00", "24:00:00"]),
        ("float8", ["0.1", "-0.0", "0", "1e300", "-2.5", "NaN", "Infinity", "9007199254740992"]),
        ("float4", ["0.1", "-0.0", "0", "7"]),
        ("uuid", ["5ab1e000-0000-0000-0000-000000000000", "5AB1E000-0000-0000-0000-000000000000"]),
        ("numeric(9,2)", ["1.50", "1.5", "-0.00", "0", "-2.25"]),
    ],
)
def test_other_types_are_the_items_that_they_are_in_the_embedded_engine(
    postgres: Store, kind: str, texts: list[str]
) -> None:
    postgres.fill([(text, place) for place, text in enumerate(texts)], columns=f"page {kind}, visitor int")
    embedded = [text for text in texts if text not in ("24:00:00", "infinity", "10000-01-01")]
    values = ", ".join(f"(CAST('{text}' AS {kind}), {place})" for place, text in enumerate(embedded))
    copied = duckdb.sql(f"FROM (VALUES {values}) AS v(page, visitor)")
    asked: dict[str, Any] = {"domain": "observed", "delta": 0.4, "count": 9, "dbar": 20, "epsilon": 400}
    expected = top(copied, **asked, max_items_per_user=1)
    assert expected.items
    assert postgres.top(**asked, max_items_per_user=1) == expected
    if "numeric" not in kind:  # a query has no precision
        assert postgres.top(sql="SELECT * FROM visits", **asked, max_items_per_user=1) == expected
    listed = {**SURE, "count": 1, "domain": list(expected.items)}
    assert counts(postgres.top(**listed)) == counts(top(copied, **listed))


@pytest.mark.parametrize(
    "options",
    [
        {"clip": (0, 10), "domain": [*"abcde", "nobody"]},
        {"clip": (-3, 10), "domain": [*"abcde", "nobody"], "max_items_per_user": 2},
        {"clip": (0, 10), "domain": [*"abcde"], "user": None, "unit": "row"},
        {"clip": (0, 7.5), "domain": "observed", "delta": 0.1, "max_items_per_user": 2, "epsilon": 1000},
    ],
)
@pytest.mark.parametrize("kind", ["float8", "numeric(9,3)"])
def test_sums_are_those_of_every_engine(postgres: Store, options: dict[str, Any], kind: str) -> None:
    cells = [("abcde"[place % 5], place % 13, (place * 7919 % 1000 - 200) / 16) for place in range(120)]
    if kind == "float8":
        rows = [*cells, ("a", 1, 1e300), ("b", 2, float("nan")), ("c", 3, float("inf")), ("d", 4, None)]
    else:
        rows = [(page, who, round(value, 3)) for page, who, value in cells]
    postgres.fill(rows, columns=f"page text, visitor int, spent {kind}")
    copied = polars.DataFrame(rows, schema=["page", "visitor", "spent"], orient="row", infer_schema_length=None)
    asked: dict[str, Any] = {"count": 3, "epsilon": 50, "answers_epsilon": 10, "value": "spent", **options}
    if options["domain"] == "observed":
        del asked["answers_epsilon"]
    expected = top(copied, **asked)
    assert expected.items
    assert postgres.top(**asked) == expected


WEIGHTED: dict[str, Any] = {"above": 17, "epsilon": 1, "delta": 0.01, "max_items_per_user": 5, "answers_epsilon": 100}
STAGED: dict[str, Any] = {"count": 4, "epsilon": 4, "delta": 0.01, "max_items_per_user": 5, "domain": "observed"}


def test_weights_are_those_of_every_engine(postgres: Store) -> None:
    """Of people who are cut, too, and of others; with their numbers beside them."""
    rows = [(f"p{page}", visitor) for visitor in range(90) for page in range(visitor % 9) if visitor % (page + 2)]
    rows += [(page, visitor) for page, visitor in rows if visitor % 4]
    postgres.fill(rows, columns="page text, visitor int")
    weighted, staged = (top(in_memory(rows), **asked) for asked in (WEIGHTED, STAGED))
    assert (weighted.record.method, staged.record.labels_epsilon) == ("weighted-gaussian", 2)
    assert min(len(weighted.items), len(staged.items)) > 3
    assert (postgres.top(**WEIGHTED), postgres.top(**STAGED)) == (weighted, staged)


@pytest.mark.parametrize(
    ("column", "kind"), [("page", "jsonb"), ("page", "numeric"), ("visitor", "jsonb"), ("spent", "text")]
)
def test_types_that_tell_nothing_apart_are_refused(postgres: Store, column: str, kind: str) -> None:
    columns = {"page": "text", "visitor": "int", "spent": "float8", column: kind}
    listed = ", ".join(f"{name} {each}" for name, each in columns.items())
    postgres.run("DROP TABLE IF EXISTS visits", f"CREATE TABLE visits ({listed})")
    for options in ({}, {"sql": "SELECT * FROM visits"}):
        with pytest.raises(TableError, match=f"column '{column}'.*not {kind}"):
            postgres.top(count=1, domain=["a"], value="spent", clip=(0, 1), **options)


def test_views_and_schemas_and_odd_names(postgres: Store) -> None:
    table, page = '"the shop"."100% of ""visits"":x"', '"a %page:y"'
    with postgres.engine.begin() as connection:
        for statement in (
            'DROP SCHEMA IF EXISTS "the shop" CASCADE',
            'CREATE SCHEMA "the shop"',
            f'CREATE TABLE {table} ({page} text, "Visitor" int)',
            f"INSERT INTO {table} VALUES ('a', 1), ('a', 2), ('b', 1)",
            f'CREATE VIEW "the shop".seen AS SELECT {page} AS page, "Visitor" AS visitor FROM {table}',
        ):
            connection.execution_options(no_parameters=True).exec_driver_sql(statement)
    asked: dict[str, Any] = {"item": "a %page:y", "user": "Visitor", "count": 2, "domain": ["a", "b"], **SURE}
    named = top(postgres.url, table='the shop.100% of "visits":x', **asked)
    assert counts(named) == {"a": 2, "b": 1}
    assert top(postgres.url, sql=f"SELECT *, '%:z' AS x FROM {table}", **asked) == named
    assert counts(top(postgres.url, table="the shop.seen", count=2, domain=["a", "b"], **SURE)) == {"a": 2, "b": 1}
    with pytest.raises(TableError, match="no column 'visitor'"):
        top(postgres.url, table='the shop.100% of "visits":x', **asked | {"user": "visitor"})


def test_conditions_mean_what_they_mean_elsewhere(postgres: Store) -> None:
    countries = ["DE", "fr", "100%", None]
    rows = [(f"p{place % 5}", place % 11, place % 3 or None, countries[place % 4]) for place in range(90)]
    postgres.fill(rows, columns="page text, visitor int, seconds int, country text")
    copied = polars.DataFrame(rows, schema=["page", "visitor", "seconds", "country"], orient="row")
    for where in ("country = 'DE'", "seconds / 0 > 1 OR country LIKE '1__%'", "upper(country) = 'FR' AND seconds > 1"):
        asked = {"count": 5, "domain": [f"p{place}" for place in range(5)], "where": where, **SURE}
        assert counts(postgres.top(**asked)) == counts(top(copied, **asked))
    with pytest.raises(ConditionError):
        postgres.top(count=1, domain=["p1"], where="nowhere = 1")
    with pytest.raises(ParameterError, match="put it into the query"):
        postgres.top(count=1, domain=["p1"], where="seconds = 1", sql="SELECT * FROM visits")


@pytest.mark.parametrize(("cell", "clip"), [("5e-324", (0, 10**9)), ("-5e-324", (-(10**9), 5))])
def test_a_value_too_small_for_a_quotient_fails_no_sum(postgres: Store, cell: str, clip: tuple[int, int]) -> None:
    """Elsewhere it is a place of 0; an underflow of PostgreSQL's would tell that somebody has such a cell."""
    postgres.run("DROP TABLE IF EXISTS visits", "CREATE TABLE visits (page text, visitor int, amount float8)")
    postgres.run(f"INSERT INTO visits VALUES ('a', 1, {10**6}), ('a', 2, '{cell}'), ('b', 2, '{cell}')")
    found = counts(postgres.top(count=2, domain=["a", "b"], value="amount", clip=clip, **SURE))
    assert found == {"a": pytest.approx(min(10**6, clip[1]), abs=9000), "b": pytest.approx(0, abs=9000)}


# --- folding: a collation is mended where it does less, and refused where it does otherwise ---

CASES = {"lower": {"A": "a", "Σ": "σ"}, "upper": {"a": "A", "ß": "ẞ"}}


def test_what_a_collation_leaves_alone_is_mended_and_what_folds_otherwise_is_not_taken() -> None:
    found = mended("C.utf8", {"lower": CASES["lower"], "upper": {"a": "A"}}, CASES)
    assert found is not None
    assert dict(found.corrections) == {"upper": ("ß", "ẞ")}
    assert "translate(x, 'ß', 'ẞ')" in found.sql("upper", "x")
    assert "translate" not in found.sql("lower", "x")
    for upper in ({"a": "A", "ß": "SS"}, {"a": "A", "ß": "ẞ", "b": "B"}, {"a": "A", "ẞ": "ß"}):
        assert mended("tr_TR", {"lower": CASES["lower"], "upper": upper}, CASES) is None


def test_a_database_is_asked_about_every_code_point(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = create_engine(cluster.database().replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        known = connection.exec_driver_sql("SELECT count(*) FROM pg_collation WHERE collname = 'C.utf8'").scalar_one()
        found = agreeing_folding(connection)
        assert (found is not None) == bool(known)
        for name in ("POSIX", "und-x-icu"):  # one folds ASCII and no more, the other looks at what stands around
            monkeypatch.setattr(folding, "CANDIDATES", (name,))
            assert agreeing_folding(connection) is None
    engine.dispose()
