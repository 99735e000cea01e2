"""A table that stays in PostgreSQL: the counts of the copy, one moment, one person, the same steps for every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from tests.support.postgres_cluster import Cluster
from tests.support.rows import ROWS

from sparsegate.conditions import Kind, read_condition
from sparsegate.errors import ConditionError, ParameterError, SparsegateError, TableError
from sparsegate.noise import Seeded
from sparsegate.service.data.dataset import COUNT_FAILED, ServedTable, open_data
from sparsegate.service.data.postgres_table import PostgresTable
from sparsegate.tables.top import top_items

CONDITIONS = [
    "TRUE",
    "NULL",
    "page = '/pay'",
    "NOT page = '/pay'",
    "page IS NULL OR seconds > 50",
    "page IN ('/pay', 'it''s') AND score > 0",
    "page LIKE '%a%' AND NOT paid",
    "page ILIKE 'NA_VE' OR upper(page) = '/CART'",
    "score * 2 - seconds / 0 > 3",
    "CASE WHEN paid THEN seconds > 50 ELSE day < '2024-01-15' END",
    "coalesce(seconds, 7) = 7 AND month(day) = 2",
    "day BETWEEN '2024-01-10' AND '2024-01-20' AND seconds NOT BETWEEN 10 AND 90",
    "(paid = (seconds > 50)) IS NULL",
]


@dataclass
class Database:
    """A database, and a session in it."""

    url: str
    session: psycopg.Connection

    def run(self, sql: str) -> list[Any]:
        done = self.session.execute(sql.encode())
        return done.fetchall() if done.description else []

    def open(self, table: str = "visits", user: str | None = "visitor", **more: Any) -> PostgresTable:
        return PostgresTable.open(self.url, table=table, user=user, **more)


def count(data: Any, text: str) -> int:
    return int(data.count(read_condition(text, data.schema)))


@pytest.fixture(scope="module")
def database(cluster: Cluster) -> Iterator[Database]:
    url = cluster.database()
    with psycopg.connect(url, autocommit=True) as session:
        session.execute("CREATE TABLE visits (visitor text, page text, seconds int, score float4, paid bool, day date)")
        with session.cursor().copy("COPY visits FROM STDIN") as copy:
            for row in ROWS:
                copy.write_row(row)
        session.execute("CREATE INDEX ON visits (page); CREATE INDEX ON visits (visitor)")
        session.execute("ANALYZE visits")
        yield Database(url, session)


@pytest.fixture(scope="module")
def served(database: Database) -> Iterator[PostgresTable]:
    with database.open() as data:
        yield data


@pytest.mark.parametrize("unit", ["user", "row"])
def test_counts_are_those_of_the_copy(database: Database, visits: str, unit: str) -> None:
    whose: dict[str, Any] = {"user": "visitor"} if unit == "user" else {"unit": "row"}
    with ServedTable.open([visits], **whose) as copy, open_data([database.url], table="visits", **whose) as data:
        assert [(c.name, c.kind) for c in data.schema.columns] == [(c.name, c.kind) for c in copy.schema.columns]
        assert (data.unit, data.unit_options) == (copy.unit, copy.unit_options)
        for text in CONDITIONS:
            data.check(read_condition(text, data.schema))
            assert count(data, text) == count(copy, text), text
        assert copy.constant_work
        assert not data.constant_work


def test_every_leaf_is_worked_out_on_every_row_without_an_index(database: Database, served: PostgresTable) -> None:
    condition = read_condition("page = 'nobody' AND (lower(page) LIKE '%a_b' OR seconds > 5)", served.schema)
    sql = served._count_sql(condition)
    with served._snapshot.lent() as connection:
        plan = [line for (line,) in connection.exec_driver_sql(f"EXPLAIN (VERBOSE, COSTS off) {sql}")]
    nodes = [line.strip().removeprefix("->").strip() for line in plan]
    assert [node.split(" on ")[0] for node in nodes if not node.startswith(("Output", "Group"))] == [
        "Aggregate",
        "HashAggregate",
        "Subquery Scan",
        "Seq Scan",
    ]
    # One of the fenced subqueries gives all leaves, each whole.
    assert any(node.startswith("Output") and node.count("COALESCE((2 *") == 3 for node in nodes), plan


def test_what_is_written_meanwhile_changes_no_answer(database: Database) -> None:
    database.run("CREATE TABLE live AS SELECT 'u' || i AS who, i % 3 AS n FROM generate_series(1, 30) AS i")
    with database.open("live", "who") as first:
        database.run("INSERT INTO live VALUES ('new', 0); DELETE FROM live WHERE who = 'u1'")
        with first._snapshot.lent():  # so that the count has a connection that was not there before
            assert (count(first, "n = 0"), count(first, "n >= 0"), first.changed()) == (10, 30, False)
        with database.open("live", "who") as second:
            assert (count(second, "n = 0"), second.fingerprint == first.fingerprint) == (11, False)


def test_the_table_cannot_be_emptied_under_the_snapshot(database: Database) -> None:
    database.run("CREATE TABLE kept AS SELECT i AS who FROM generate_series(1, 3) AS i; SET lock_timeout = '100ms'")
    with database.open("kept", "who", columns=["who"]) as data:
        with pytest.raises(TableError), data._snapshot.lent():
            raise TableError("the connection that read the rows is gone")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            database.run("TRUNCATE kept")
        assert count(data, "who > 0") == 3


def test_the_longest_conditions_run(served: PostgresTable) -> None:
    for text in (
        " OR ".join(f"seconds={place}" for place in range(650)),
        " AND ".join(f"NOT seconds={place}" for place in range(500)),
        "seconds" + " * score" * 45 + " > 1",
        "CASE " + " ".join(f"WHEN seconds = {place} THEN paid" for place in range(90)) + " ELSE FALSE END",
        f"seconds IN ({', '.join(map(str, range(1500)))}) AND page IN ('a', page)",
        "NOT (" * 24 + "paid" + ")" * 24,
    ):
        condition = read_condition(text, served.schema)
        served.check(condition)
        assert served.count(condition) >= 0


def test_a_fingerprint_is_of_the_rows_in_any_order_and_of_how_they_are_read(database: Database) -> None:
    rows = "'u' || i % 9 AS who, i AS n, repeat('x', {}) AS t FROM generate_series(1, 30) i ORDER BY"
    database.run(f"CREATE TABLE first AS SELECT {rows.format('i')} n")
    database.run(f"CREATE TABLE second AS SELECT {rows.format('i')} n DESC")
    # Each column by itself, and the people, are the same.
    database.run(f"CREATE TABLE swapped AS SELECT {rows.format('CASE i WHEN 7 THEN 16 WHEN 16 THEN 7 ELSE i END')} n")

    def fingerprint(table: str, user: str | None = "who", **more: Any) -> str:
        with database.open(table, user, **more) as data:
            return data.fingerprint

    same = fingerprint("first")
    assert fingerprint("second") == same
    others = [fingerprint("swapped"), fingerprint("first", None, unit="row"), fingerprint("first", max_cell=100)]
    others += [fingerprint("first", columns=["n"]), fingerprint("first", columns=["n", "t", "who"])]
    assert len({same, *others}) == 6


@pytest.mark.parametrize("writes", [False, True], ids=["the same", "another"])
def test_a_snapshot_that_is_lost_is_replaced_where_the_table_is_the_same(database: Database, writes: bool) -> None:
    database.run(
        "DROP TABLE IF EXISTS lost; CREATE TABLE lost AS SELECT i AS who, i AS n FROM generate_series(1, 30) i"
    )
    with database.open("lost", "who") as data:
        assert count(data, "n > 10") == 20
        if writes:
            database.run("UPDATE lost SET n = 0 WHERE who = 30")
        database.run("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = 'lost'::regclass")
        with pytest.raises(TableError, match="could not be counted"):
            count(data, "n > 10")
        assert data.changed() is writes
        if writes:  # a gate belongs to the rows that it was opened on, also for whoever is about to count
            with pytest.raises(TableError, match="could not be counted"):
                count(data, "n > 10")
        else:
            assert count(data, "n > 10") == 20


def test_text_is_cut_and_types_are_read(database: Database) -> None:
    database.run(
        """CREATE DOMAIN code AS varchar(5); CREATE TYPE mood AS ENUM ('sad', 'Glad');
        CREATE TABLE kinds (who uuid, long text, code code, padded char(8), mood mood, whole numeric(30),
            money numeric(9, 2), wild numeric,
            at timestamptz, far timestamp, doc jsonb, list int[], small smallint, "Odd {0} name" text);
        INSERT INTO kinds SELECT gen_random_uuid(), repeat('ab', 40000), 'code', 'pad', 'Glad', 1e29, 0.1, 1,
            '2024-01-01 01:30+02', '294270-01-01', '{}', '{}', 3, 'odd'"""
    )
    with database.open("kinds", "who", max_cell=9) as data:
        kinds = {column.name: column.kind for column in data.schema.columns}
        assert kinds == {
            **dict.fromkeys(("long", "code", "padded", "mood", "Odd {0} name"), Kind.TEXT),
            **dict.fromkeys(("whole", "small"), Kind.INTEGER),
            **dict.fromkeys(("at", "far"), Kind.TIMESTAMP),
            "money": Kind.REAL,
        }
        assert data.schema.unreadable == ("wild", "doc", "list")
        for text in (
            "long = 'ababababa' AND length(long) = 9",
            "code = 'code' AND padded = 'pad' AND mood = 'Glad' AND mood > 'a' IS NOT TRUE",
            "whole = 100000000000000000000000000000 AND small = 3 AND money = 0.1 AND \"odd {0} name\" = 'odd'",
            "at = '2023-12-31 23:30:00' AND far IS NULL",
        ):
            assert count(data, text) == 1, text


def test_who_is_one_person_is_up_to_the_column(database: Database) -> None:
    database.run(
        """CREATE EXTENSION citext;
        CREATE COLLATION same (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
        CREATE TABLE people (exact text, folded citext, alike text COLLATE same, padded char(4), n int);
        INSERT INTO people VALUES ('u1', 'u1', 'u1', 'u1', 1), ('U1', 'U1', 'U1', 'u1  ', 1),
            ('u1 ', 'u2', 'u2', 'u2', 1), (NULL, NULL, NULL, NULL, 1)"""
    )
    for column, people in {"exact": 3, "folded": 2, "alike": 2, "padded": 2}.items():
        with database.open("people", column, columns=["n"]) as data:
            assert count(data, "n = 1") == people, column


def test_wrong_words_are_refused_before_anything_is_read(database: Database) -> None:
    database.run("CREATE VIEW seen AS SELECT * FROM visits; CREATE TABLE odd (who uuid, wild numeric, doc jsonb)")
    refused: list[tuple[dict[str, Any], type[SparsegateError], str]] = [
        ({"table": "visit"}, TableError, "no table 'visit'.*did you mean 'visits'"),
        ({"table": "seen"}, TableError, "'seen' is a view.*MATERIALIZED"),
        ({"user": "visiter"}, TableError, "no column 'visiter'.*'visitor'"),
        ({"user": "score"}, TableError, "'score' must be of a type that tells people apart"),
        ({"table": "odd", "user": "who", "columns": ["wild"]}, TableError, "'wild' is numeric.*precision"),
        ({"table": "odd", "user": "who", "columns": ["doc"]}, TableError, "'doc' is jsonb.*materialized"),
        ({"user": None}, ParameterError, "say whom the rows belong to"),
    ]
    for changes, kind, words in refused:
        with pytest.raises(kind, match=words):
            database.open(**changes)
    with pytest.raises(ParameterError, match="must be given for a database"):
        open_data([database.url], sql="SELECT 1", table="visits", user="visitor")


@pytest.mark.parametrize("right", ["regtype", "regnamespace", "int4"])
def test_no_operator_of_somebody_else_runs_as_the_reader(database: Database, right: str) -> None:
    database.run("CREATE SEQUENCE ran")  # what it counts is not taken back with a transaction
    body = "SELECT setval('public.ran', 9); SELECT a OPERATOR(pg_catalog.=) b::oid"
    database.run(f"CREATE FUNCTION caught(a oid, b {right}) RETURNS bool LANGUAGE sql AS $${body}$$")
    database.run(f"CREATE OPERATOR public.= (leftarg = oid, rightarg = {right}, function = caught)")
    try:
        with database.open() as data:
            count(data, "page = '/pay'")
        assert database.run("SELECT last_value FROM ran") == [(1,)]
    finally:
        database.run("DROP FUNCTION caught CASCADE")
        database.run("DROP SEQUENCE ran")


def test_trouble_is_told_without_a_password_or_the_servers_words(database: Database, cluster: Cluster) -> None:
    database.run("CREATE ROLE stranger LOGIN PASSWORD 'hunter2'; CREATE ROLE filtered LOGIN PASSWORD 'hunter2'")
    database.run("CREATE TABLE hidden AS SELECT * FROM visits; ALTER TABLE hidden ENABLE ROW LEVEL SECURITY")
    database.run("CREATE POLICY payers ON hidden USING (paid); GRANT SELECT ON hidden TO filtered")
    stranger, filtered = (database.url.replace("test@", f"{name}:hunter2@") for name in ("stranger", "filtered"))
    url = database.url
    for place, table, words in (
        (stranger, "visits", "GRANT SELECT"),
        (filtered, "hidden", "row security"),
        (url.replace("/db", "/no"), "visits", "cannot be reached, or refuses"),
        (url.replace(str(cluster.folder), "/nowhere").replace("test@", "test:hunter2@"), "visits", "cannot be reached"),
        ("postgresql://u:hunter2@host:port/db", "visits", "must be as postgresql://"),
    ):
        with pytest.raises(SparsegateError, match=words) as caught:
            PostgresTable.open(place, table=table, user="visitor")
        assert "hunter2" not in str(caught.value)
        assert caught.value.__context__ is None


def test_a_database_in_another_encoding_is_refused(cluster: Cluster, database: Database) -> None:
    database.run("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(TableError, match="UTF-8"):
        PostgresTable.open(database.url.replace(database.session.info.dbname, "latin"), table="visits", user="visitor")


def test_a_count_that_fails_is_one_constant_text(served: PostgresTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "_count_sql", lambda _: "SELECT ('secret' || page)::int FROM visits")
    with pytest.raises(TableError) as caught:
        count(served, "TRUE")
    assert str(caught.value) == COUNT_FAILED
    assert caught.value.__context__ is None
    monkeypatch.undo()
    assert count(served, "TRUE") > 0  # the connection that failed is not used again


def test_it_changes_nothing_in_the_database(served: PostgresTable) -> None:
    with pytest.raises(Exception, match="read-only"), served._snapshot.lent() as connection:
        connection.exec_driver_sql("DELETE FROM public.visits")


@pytest.mark.parametrize("max_cell", [3, 1000])
def test_a_selection_is_that_of_the_copy(database: Database, visits: str, max_cell: int) -> None:
    asked: dict[str, Any] = {"count": 3, "epsilon": 1, "domain": ["/pay", "/pa", "/cart", "it's", "nobody"]}
    with (
        database.open(max_cell=max_cell) as data,
        ServedTable.open([visits], user="visitor", max_cell=max_cell) as copy,
    ):
        first, again, copied = (
            top_items(each.relation(), item="page", user="visitor", source=Seeded(2), not_private=True, **asked)
            for each in (data, data, copy)
        )
        assert first == again == copied
        assert count(data, "TRUE") > 0  # on the same connection


def test_a_selection_is_of_a_served_column_and_in_the_snapshot(database: Database) -> None:
    options: dict[str, Any] = {"user": "visitor", "count": 1, "epsilon": 1e3, "source": Seeded(2), "not_private": True}
    with database.open(columns=["page"]) as data:
        with pytest.raises(TableError, match="no column 'day'"):
            top_items(data.relation(), item="day", domain=["x"], **options)
        before = top_items(data.relation(), item="page", domain=["/pay", "/new"], **options)
        database.run("INSERT INTO visits (visitor, page) SELECT 'w' || i, '/new' FROM generate_series(1, 999) AS i")
        try:
            assert top_items(data.relation(), item="page", domain=["/pay", "/new"], **options) == before
        finally:
            database.run("DELETE FROM visits WHERE page = '/new'")


def test_what_postgres_does_otherwise_is_refused_before_it_is_counted(served: PostgresTable) -> None:
    for text in ("CAST(page AS INTEGER) > 1", "regexp_matches(page, 'a')"):
        with pytest.raises(ConditionError):
            served.check(read_condition(text, served.schema))


def test_after_it_is_closed_nothing_is_counted(database: Database) -> None:
    data = database.open()
    data.close()
    with pytest.raises(TableError):
        count(data, "TRUE")
