"""A table in PostgreSQL, copied: the counts of a file of the same rows, one moment, one person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from tests.support.postgres_cluster import Cluster
from tests.support.rows import ROWS

from sparsegate.conditions import Kind, read_condition
from sparsegate.errors import ParameterError, SparsegateError, TableError
from sparsegate.noise import Seeded
from sparsegate.service.data import postgres_rows
from sparsegate.service.data.dataset import ServedTable
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

    def open(self, table: str = "visits", user: str | None = "visitor", **more: Any) -> ServedTable:
        return ServedTable.open([self.url], table=table, user=user, **more)


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


@pytest.mark.parametrize("unit", ["user", "row"])
def test_counts_and_sizes_are_those_of_a_file(database: Database, visits: str, unit: str) -> None:
    whose: dict[str, Any] = {"user": "visitor"} if unit == "user" else {"unit": "row"}
    with ServedTable.open([visits], **whose) as copy, ServedTable.open([database.url], table="visits", **whose) as data:
        assert [(c.name, c.kind) for c in data.schema.columns] == [(c.name, c.kind) for c in copy.schema.columns]
        assert (data.unit, data.unit_options, data.sizes) == (copy.unit, copy.unit_options, copy.sizes)
        for text in CONDITIONS:
            assert count(data, text) == count(copy, text), text


def test_all_rows_are_of_one_moment(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    database.run("CREATE TABLE live AS SELECT 'u' || i AS who, i % 3 AS n FROM generate_series(1, 30) AS i")
    query = postgres_rows._lines

    def meanwhile(table: Any, user: Any) -> str:
        database.run("INSERT INTO live VALUES ('new', 0); DELETE FROM live WHERE who = 'u1'")
        return query(table, user)

    with database.open("live", "who") as first:
        monkeypatch.setattr(postgres_rows, "_lines", meanwhile)
        with database.open("live", "who") as second:  # what is written between its two statements is not there
            assert (count(second, "n = 0"), second.fingerprint) == (10, first.fingerprint)
        monkeypatch.undo()
        assert (count(first, "n = 0"), count(first, "n >= 0"), first.changed()) == (10, 30, False)
        with database.open("live", "who") as third:
            assert (count(third, "n = 0"), third.fingerprint == first.fingerprint) == (11, False)


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


def test_text_is_cut_and_types_are_read(database: Database) -> None:
    database.run(
        """CREATE DOMAIN code AS varchar(5); CREATE TYPE mood AS ENUM ('sad', 'Glad');
        CREATE TABLE kinds (who uuid, long text, code code, padded char(8), mood mood, whole numeric(38),
            money numeric(9, 2), wild numeric, at timestamptz, far timestamp, old date, real float8, doc jsonb,
            list int[], small smallint, "Odd {0} %s, 'name'" text);
        INSERT INTO kinds SELECT gen_random_uuid(), repeat('ab', 40000), 'code', 'pad', 'Glad', 1e37, 0.1, 1,
            '2024-01-01 01:30+02', '294270-01-01', '0044-03-15 BC', '-infinity', '{}', '{}', 3,
            'o\\d,"' || chr(10) || chr(13) || chr(9) || '😀';
        INSERT INTO kinds (who, long, far, old, real, "Odd {0} %s, 'name'")
            VALUES (gen_random_uuid(), '', '0044-03-15 12:30:00.5 BC', 'infinity', 5e-324, 'x')"""
    )
    with database.open("kinds", "who", max_cell=9) as data:
        kinds = {column.name: column.kind for column in data.schema.columns}
        assert kinds == {
            **dict.fromkeys(("long", "code", "padded", "mood", "Odd {0} %s, 'name'"), Kind.TEXT),
            **dict.fromkeys(("whole", "small"), Kind.INTEGER),
            **dict.fromkeys(("at", "far"), Kind.TIMESTAMP),
            **dict.fromkeys(("money", "real"), Kind.REAL),
            "old": Kind.DATE,
        }
        assert data.schema.unreadable == ("wild", "doc", "list")
        for text in (
            "long = 'ababababa' AND length(long) = 9",
            "code = 'code' AND padded = 'pad' AND mood = 'Glad' AND mood > 'a' IS NOT TRUE",
            "whole = 10000000000000000000000000000000000000 AND small = 3 AND money = 0.1",
            "\"odd {0} %s, 'name'\" = 'o\\d,\"\n\r\t😀'",
            "at = '2023-12-31 23:30:00' AND far IS NULL AND real < -1e300",
            "year(old) = -43 AND month(old) = 3 AND day(old) = 15",
            "long = '' AND length(long) = 0 AND code IS NULL AND whole IS NULL AND real > 0 AND old > '9999-01-01'",
            "year(far) = -43 AND hour(far) = 12 AND minute(far) = 30 AND real < 1e-300",
        ):
            assert count(data, text) == 1, text


def test_a_table_of_many_long_lines_is_read_whole(database: Database) -> None:
    database.run(
        """CREATE TABLE long AS SELECT NULLIF(i % 7, 0) AS n, repeat(chr(233 + i % 5), 30000) AS t
        FROM generate_series(1, 200) AS i"""
    )
    with database.open("long", None, unit="row", max_cell=20_000) as data:
        assert count(data, "TRUE") == 200
        assert count(data, "n IS NULL") == 28
        assert count(data, f"t LIKE '{chr(235) * 5_000}%' AND length(t) = 20000") == 40
    database.run("CREATE TABLE nothing AS SELECT NULL::int AS n FROM generate_series(1, 20001)")
    with database.open("nothing", None, unit="row") as data:
        assert count(data, "n IS NULL") == 20_001


def test_who_is_one_person_is_up_to_the_column(database: Database) -> None:
    database.run(
        """CREATE EXTENSION citext;
        CREATE COLLATION same (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
        CREATE TABLE people (exact text, folded citext, alike text COLLATE same, padded char(4), n int);
        INSERT INTO people VALUES ('u1', 'u1', 'u1', 'u1', 1), ('U1', 'U1', 'U1', 'u1  ', 1),
            ('u1 ', 'u2', 'u2', 'u2', 1), (NULL, NULL, NULL, NULL, 1)"""
    )
    asked: dict[str, Any] = {"item": "n", "domain": [1, 2], "count": 1, "epsilon": 1, "answers_epsilon": 1e6}
    for column, people in {"exact": 3, "folded": 2, "alike": 2, "padded": 2}.items():
        for columns in (["n"], ["n", column]):
            with database.open("people", column, columns=columns) as data:
                assert count(data, "n = 1") == people, column
                released = top_items(data.relation(), **data.unit_options, **asked, source=Seeded(1), not_private=True)
                assert released.estimates == (people,), column


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
        ServedTable.open([database.url], sql="SELECT 1", table="visits", user="visitor")


def test_no_operator_of_somebody_else_runs_as_the_reader(database: Database) -> None:
    database.run("CREATE SEQUENCE ran")  # what it counts is not taken back with a transaction
    body = "SELECT setval('public.ran', 9); SELECT a OPERATOR(pg_catalog.=) b::oid"
    for right in ("regtype", "regnamespace", "int4"):
        database.run(f"CREATE FUNCTION caught(a oid, b {right}) RETURNS bool LANGUAGE sql AS $${body}$$")
        database.run(f"CREATE OPERATOR public.= (leftarg = oid, rightarg = {right}, function = caught)")
    try:
        with database.open() as data:
            count(data, "page = '/pay'")
        assert database.run("SELECT last_value FROM ran") == [(1,)]
    finally:
        for right in ("regtype", "regnamespace", "int4"):
            database.run(f"DROP FUNCTION caught(oid, {right}) CASCADE")
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
            ServedTable.open([place], table=table, user="visitor")
        assert "hunter2" not in str(caught.value)
        assert caught.value.__context__ is None


def test_a_database_in_another_encoding_is_refused(cluster: Cluster, database: Database) -> None:
    database.run("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(TableError, match="UTF-8"):
        ServedTable.open([database.url.replace(database.session.info.dbname, "latin")], table="visits", user="visitor")


def test_it_changes_nothing_in_the_database(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_rows, "_lines", lambda *_: "DELETE FROM public.visits RETURNING ''")
    with pytest.raises(TableError) as caught:
        database.open()
    assert caught.value.__context__ is None
    assert database.run("SELECT count(*) FROM visits") == [(len(ROWS),)]
