"""Conditions in PostgreSQL against the embedded engine, row by row and three-valued, over cells that are hard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import psycopg
import pytest
from hypothesis import given, settings
from tests.conditions.test_condition import CELLS, READ, ROWS, SCHEMA, TREES, quoted
from tests.support import condition_texts as texts
from tests.support.postgres_cluster import Cluster

from sparsegate.conditions import Kind, read_condition, read_value
from sparsegate.conditions.operations import CONVERTS, FUNCTIONS, TYPES, WINDOWS
from sparsegate.conditions.postgres_sql import Folding, postgres_sql
from sparsegate.errors import ConditionError

# The collation of glibc's C.UTF-8 leaves the sharp s alone.
C_UTF8 = Folding(collation="C.utf8", corrections={"upper": ("ß", "ẞ")})
TYPE = dict(zip(Kind, ("text", "bigint", "float8", "boolean", "date", "timestamp", "time"), strict=True))
WIDE = {"unsigned": "numeric", "huge": "numeric", "float": "float4", "tiny": "smallint"}
READS = {name: f"cells.c{place}" for place, name in enumerate(CELLS)}

FAR = ["infinity", "-infinity", "4713-01-01 BC", "0044-03-15 BC", "0001-12-31 BC", "0001-01-01", "1969-12-31"]
MORE = {
    "page": ["ſİıßﬀǅΣς", "  a\t ", "\u2003a\u3000", "a\\b", "aab", "ICU", "ÀÉ", "x" * 400 + "y"],
    "day": [*FAR, "294247-01-10", "294247-01-11", "5874897-12-31", "10000-01-01", "2026-12-28", "2021-01-03"],
    "moment": [*FAR, "294247-01-10 04:00:54.775806", "1969-12-31 23:59:59.999999", "0044-03-15 12:00:00.5 BC"],
    "r": [2.5, -2.5, 127.5, 127.49999999999999, 255.5, -0.5, 2.0**63, 2.0**62, 1e-200, 1e200, 3.5e38, 1e-46],
}


@dataclass(frozen=True)
class Engines:
    """The same rows in both, read in the same way."""

    embedded: duckdb.DuckDBPyConnection
    postgres: psycopg.Connection

    def check(self, text: str) -> None:
        condition = read_condition(text, SCHEMA)
        ours, theirs = postgres_sql(condition, READS, lambda: C_UTF8), condition.sql()
        double = {"float": "::float8"}
        cells = ", ".join(f"{quoted(name)}{double.get(name, '')} AS c{place}" for place, name in enumerate(CELLS))
        table = f"(SELECT id, {cells} FROM raw OFFSET 0) AS cells"
        # Bytes, so that nothing takes a % for a parameter.
        found = self.postgres.execute(f"SELECT id, {ours} FROM {table} ORDER BY id".encode()).fetchall()
        expected = self.embedded.execute(f"SELECT id, {theirs} FROM cells ORDER BY id").fetchall()
        for ours_, theirs_ in zip(found, expected, strict=True):
            assert ours_ == theirs_, (text, ours_, theirs_)


def shown(cell: Any) -> str | None:
    return None if cell is None else repr(cell) if isinstance(cell, float) else str(cell)


@pytest.fixture(scope="module")
def engines(cluster: Cluster) -> Iterator[Engines]:
    rows: list[dict[str, str | None]] = [{name: shown(cell) for name, cell in row.items()} for row in ROWS]
    for name, cells in MORE.items():
        rows += [rows[place % len(ROWS)] | {name: str(cell)} for place, cell in enumerate(cells)]
    embedded = duckdb.connect()
    embedded.execute("PRAGMA disable_optimizer")  # with it, a date that is no timestamp is unequal to all, and not null
    types = ", ".join(f"{quoted(name)} {sort}" for name, (_, sort, _) in CELLS.items())
    embedded.execute(f"CREATE TABLE raw (id INTEGER, {types})")
    marks = ", ".join("?" * (len(CELLS) + 1))
    for at, row in enumerate(rows):
        cells = [None if cell is None else _for_duckdb(cell, CELLS[name][0]) for name, cell in row.items()]
        embedded.execute(f"INSERT INTO raw VALUES ({marks})", [at, *cells])
    read = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in READ.items())
    embedded.execute(f"CREATE VIEW cells AS SELECT id, {read} FROM raw")
    with psycopg.connect(cluster.database(), autocommit=True) as postgres:
        postgres.execute("SET datestyle = 'ISO, YMD'")
        columns = ", ".join(
            f"{quoted(name)} {WIDE.get(name, TYPE[sort])} {_bytewise(sort)}" for name, (sort, _, _) in CELLS.items()
        )
        postgres.execute(f"CREATE TABLE raw (id int, {columns})")
        with postgres.cursor().copy("COPY raw FROM STDIN") as copy:
            for at, row in enumerate(rows):
                copy.write_row([at, *row.values()])
        yield Engines(embedded, postgres)


def _bytewise(kind: Kind) -> str:
    return 'COLLATE "C"' if kind is Kind.TEXT else ""


def _for_duckdb(cell: str, kind: Kind) -> str:
    if kind in (Kind.DATE, Kind.TIMESTAMP) and cell.endswith(" BC"):
        day, _, time = cell.removesuffix(" BC").partition(" ")
        return f"{day} (BC) {time}".strip()
    return cell


@settings(max_examples=60)
@given(text=TREES)
def test_any_condition_has_the_value_of_the_embedded_engine(text: str, engines: Engines) -> None:
    engines.check(text)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"regexp_matches", "regexp_full_match"}))
def test_every_function_has_the_value_of_the_embedded_engine(engines: Engines, name: str) -> None:
    function = FUNCTIONS[name]
    for column in (column for column in SCHEMA.columns if column.kind in function.takes):
        place = quoted(column.name)
        if function.pattern:
            for pattern in ("", "a", "/pay", "é", "x" * 299, "a\\b", "%", "ß", "{0}"):
                engines.check(f"{name}({place}, '{pattern}')")
        elif name in WINDOWS:
            value = read_value(f"{name}({place})", SCHEMA).sql()
            found = [text for (text,) in engines.embedded.execute(f"SELECT DISTINCT {value} FROM cells").fetchall()]
            assert None in found
            assert len(found) > 4
            for text in filter(None, found):
                engines.check(f"{name}({place}) = '{text}'")
        elif function.kind is Kind.TEXT:
            engines.check(f"{name}({place}) = 'a' OR {name}({place}) < 'é' OR {name}({place}) > upper({place})")
            for mark in ("ſİıß\ufb00ǅΣς", "a", "À"):
                engines.check(f"{name}({place}) = {name}('{mark}')")
        else:
            engines.check(f"{name}({place}) IS NULL")
            least = ", ".join(map(str, (-4711, -43, *range(9), 23, 30, 31, 52, 53, 59, 60, 365, 366, 2024)))
            engines.check(f"{name}({place}) IN ({least}) OR {name}({place}) > 30 OR {name}({place}) < -4000")


@pytest.mark.parametrize("sign", ["+", "-", "*", "/"])
def test_arithmetic_has_infinities_and_no_errors(engines: Engines, sign: str) -> None:
    numbers, constants = ["r", "float", "n", "huge"], ["0", "-1.7976931348623157e308", "5e-324", "1e200", "0.1"]
    for left in numbers[:3]:
        for right in [*numbers, *constants]:
            value = f"{quoted(left)} {sign} {quoted(right) if right in numbers else right}"
            # Of the sign of a zero, of the infinities, and of the last bit.
            engines.check(f"1 / ({value}) > 0 OR ({value}) = 'inf' OR {value} > r OR ({value}) * 3 - {left} = {left}")
    engines.check("1 / -r > 0 OR (r + r) / (r * r) - r > 1 OR 1.0 / 0 > 1")
    engines.check("((((r * 2) * r) / 3 + r) * r - n) / (r - 1) > ((r + 1) * (r - 1)) * ((r / 7) * r)")


REFUSED = {"DECIMAL", "UUID", "UHUGEINT", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"}

UNLIKE = {(Kind.REAL, "HUGEINT"), (Kind.REAL, "UBIGINT"), (Kind.REAL, "VARCHAR"), (Kind.INTEGER, "FLOAT")}


@pytest.mark.parametrize("target", sorted({known.name for known in TYPES.values()}))
def test_every_cast_has_the_value_of_the_embedded_engine_or_is_refused(engines: Engines, target: str) -> None:
    written = 0
    for column in SCHEMA.columns:
        if TYPES[target].kind not in CONVERTS[column.kind]:
            continue
        value = f"CAST({quoted(column.name)} AS {target})"
        constants = {
            Kind.TEXT: ["'1'", "'0044-03-15 (BC)'", "'2024-02-29 12:30:00.5'"],
            Kind.INTEGER: ["2", "-2", "127", "255", str(2**62)],
            Kind.REAL: ["0", "0.5", "2", "1e40"],
            Kind.BOOLEAN: ["TRUE"],
            Kind.DATE: ["DATE '2024-02-29'"],
            Kind.TIMESTAMP: ["TIMESTAMP '2024-02-29 00:00:00'"],
            Kind.TIME: ["TIME '12:30:00.5'"],
        }[TYPES[target].kind]
        for constant in constants:
            text = f"{value} = {constant} OR {value} < {constant} AND {value} IS NOT NULL"
            from_text = column.kind is Kind.TEXT and target != "VARCHAR"
            if target in REFUSED or (column.kind, target) in UNLIKE or from_text:
                with pytest.raises(ConditionError, match="must not cast"):
                    engines.check(text)
            else:
                engines.check(text)
                written += 1
    # Every type but those that are refused by name is a target of some kind.
    assert bool(written) == (target not in REFUSED)


def test_what_postgres_cannot_do_alike_is_refused_by_name(engines: Engines) -> None:
    for text, name in {
        "CAST(page AS INTEGER) > 1": "text to INTEGER",
        "CAST(r AS VARCHAR) = '1'": "real to VARCHAR",
        "regexp_matches(page, 'a')": "regexp_matches",
        "page IS TRUE": "text to BOOLEAN",
    }.items():
        with pytest.raises(ConditionError, match=name):
            postgres_sql(read_condition(text, SCHEMA), READS, lambda: C_UTF8)
    with pytest.raises(ConditionError, match="no collation"):
        postgres_sql(read_condition("page ILIKE 'a%'", SCHEMA), READS, lambda: None)


def test_whatever_is_accepted_has_the_same_value_or_is_refused(engines: Engines) -> None:
    """Every text of the list, over nulls and over two rows."""
    rows = "(NULL), ('a'), ('1')", "(NULL), (1), (-9223372036854775807)", "(NULL), (0.5::float8), ('nan'::float8)"
    kinds = dict(zip((Kind.TEXT, Kind.INTEGER, Kind.REAL), rows, strict=True)) | {
        Kind.BOOLEAN: "(NULL), (TRUE), (FALSE)",
        Kind.DATE: "(NULL), ('2024-01-01'::date), ('infinity'::date)",
        Kind.TIMESTAMP: "(NULL), ('2024-01-01 10:00:00'::timestamp), ('-infinity'::timestamp)",
        Kind.TIME: "(NULL), ('09:00'::time), ('23:59:59.999999'::time)",
    }
    names = {column.name: f"cells.c{place}" for place, column in enumerate(texts.SCHEMA.columns)}
    refused = []
    for text in texts.ACCEPTED:
        condition = read_condition(text, texts.SCHEMA)
        try:
            ours = postgres_sql(condition, names, lambda: C_UTF8)
        except ConditionError:
            refused.append(text)
            continue
        used = condition.columns
        join = ", ".join(f"(VALUES {kinds[column.kind]}) AS t{place}(x)" for place, column in enumerate(used))
        read = ", ".join(f"t{place}.x AS {{}}" for place in range(len(used))) or "1 AS one"
        for_us = read.format(*(names[column.name].removeprefix("cells.") for column in used))
        for_them = read.format(*(quoted(column.name) for column in used))
        table = f"(SELECT {{}} {f'FROM {join}' if used else ''}) AS cells"
        found = engines.postgres.execute(f"SELECT {ours} FROM {table.format(for_us)}".encode()).fetchall()
        expected = engines.embedded.execute(f"SELECT {condition.sql()} FROM {table.format(for_them)}").fetchall()
        assert Counter(found) == Counter(expected), text
    assert 0 < len(refused) < len(texts.ACCEPTED) / 5, refused


def test_a_pattern_has_no_escape(engines: Engines) -> None:
    for pattern in ("a\\b", "a\\b%", "%\\", "a\\_", "_\\%", "a%\\%b"):
        engines.check(f"page LIKE '{pattern}' OR page ILIKE '{pattern}'")


def test_constants_are_compared_code_point_by_code_point(engines: Engines) -> None:
    written = postgres_sql(read_condition("'a' < 'B'", SCHEMA), READS, lambda: None)
    assert engines.postgres.execute(f"SELECT {written.replace('C', 'und-x-icu', 0)}").fetchone() == (False,)
    assert written.count('COLLATE "C"') == 2
