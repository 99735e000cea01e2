"""The copy: what fills it up, so that all work follows from the shown sizes; and text that is read as a type."""

from __future__ import annotations

import datetime
import math
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.neighbours import BASE, PATIENTS, opened
from tests.support.rows import ask

from sparsegate.conditions import Kind, read_condition
from sparsegate.conditions.reading import converted
from sparsegate.errors import ParameterError, TableError
from sparsegate.service.data.copying import (
    CELLS,
    SERVED,
    TYPES,
    WIDTHS,
    filling_cells,
    read_cells,
    read_declarations,
    width_counts,
)
from sparsegate.service.data.dataset import ServedTable, TableSource
from sparsegate.service.data.sizes import LEAST, public_size

Law = Mapping[Any, float]


@given(text=st.text(max_size=50))
def test_characters_are_counted_by_their_bytes(text: str, engine: duckdb.DuckDBPyConnection) -> None:
    sql = f"SELECT {', '.join(width_counts('cell'))} FROM (SELECT $text AS cell)"
    expected = Counter(len(each.encode()) for each in text)
    assert engine.execute(sql, {"text": text}).fetchall() == [tuple(expected[width] for width in (1, 2, 3, 4))]


@given(st.lists(st.integers(0, 10**5), min_size=4, max_size=4), st.integers(50, 2000))
def test_cells_have_the_characters_that_are_added_and_none_is_too_long(added: list[int], max_cell: int) -> None:
    cells = filling_cells(added, max_cell)
    assert all(1 <= length <= max_cell for _, length in cells)
    for character, count in zip(WIDTHS, added, strict=True):
        assert sum(length for each, length in cells if each == character) == count
    assert len(cells) <= sum(-(-count // max_cell) for count in added)


def test_all_sizes_follow_from_those_that_are_shown(tmp_path: Path) -> None:
    """Whatever is drawn of the characters: their cells have room of their own."""
    names = ["rows", *(f"values of {name}" for name in ("ward", "age", "stay", "note"))]
    shown = {name: 20_000 + 1_000 * place for place, name in enumerate(names)}
    found = set()
    for added in (0, 1, CELLS * 1000):
        with ServedTable.read(TableSource(files=[saved(tmp_path)], user="patient")) as data:
            data.fill(shown, characters=lambda counted, added=added: [count + added for count in counted])
            copy = data._copy
            sizes = {name: coded.size for name, coded in copy.coded.items()}
            assert sizes["age"] == public_size(22_001)
            for name, coded in copy.coded.items():
                rows = data._engine.cursor().execute(f"SELECT count(*) FROM {coded.table}").fetchall()
                assert rows == [(sizes[name],)]
            assert data._engine.cursor().execute(f"SELECT count(*) FROM {SERVED}").fetchall() == [(copy.rows,)]
            found.add((copy.rows, *sizes.values()))
    assert len(found) == 1


def saved(folder: Path, query: str = BASE) -> str:
    file = folder / "base.parquet"
    duckdb.sql(f"COPY ({query}) TO '{file}' (FORMAT parquet)")
    return str(file)


def test_nothing_is_counted_before_it_is_filled_up_and_it_is_filled_up_once(tmp_path: Path) -> None:
    with ServedTable.read(TableSource(files=[saved(tmp_path)], user="patient", columns=["age"])) as data:
        question = read_condition("age > 3", data.schema)
        for use in (lambda: data.count(question), lambda: data.seconds(question), data.look_seconds):
            with pytest.raises(TableError, match="not filled up"):
                use()
        with pytest.raises(ParameterError, match="capacity must be at least the values of age that there are") as told:
            data.fill({"rows": 20_000, "values of age": 89})
        assert not re.search(r"90|19.?000", str(told.value))
        data.fill({"rows": 19_000, "values of age": 90})
        assert data.count(question) > 0
        with pytest.raises(TableError, match="already"):
            data.fill({"rows": 19_000, "values of age": 90})


def test_filling_is_nobody_and_no_value(tmp_path: Path) -> None:
    with opened(tmp_path, BASE) as dataset:
        for text in (
            "note LIKE '%aaaa%'",
            "note LIKE '%éé%'",
            "length(note) > 100",
            "lower(note) > ward AND note > 'o'",
        ):
            assert dataset.count(read_condition(text, dataset.schema)) == 0
        assert dataset.count(read_condition("note IS NULL OR ward IS NULL OR note <> ward", dataset.schema)) == PATIENTS
        assert dataset.relation().aggregate("count(*), max(length(note))").fetchall() == [(PATIENTS, 8)]


@pytest.mark.parametrize("unit", [{"user": "patient"}, {"unit": "row"}])
def test_a_table_without_rows_is_all_filling(unit: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "nobody.parquet"
    duckdb.connect().execute(f"COPY (SELECT 1 AS patient, 'a' AS note WHERE false) TO '{file}' (FORMAT parquet)")
    with ServedTable.open([str(file)], columns=["note"], **unit) as dataset:  # type: ignore[arg-type]
        assert dataset._copy.rows >= LEAST
        assert {name: size.counted for name, size in dataset.sizes.items()} == {"rows": 0, "values of note": 0}
        for text in ("TRUE", "note IS NULL", "note LIKE '%a%'"):
            assert dataset.count(read_condition(text, dataset.schema)) == 0


DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 2, 29, 12, 30)
READ: dict[str, dict[str, Any]] = {
    "integer": {"7": 7, " -7\t": -7, "+007": 7, str(2**63 - 1): 2**63 - 1, str(2**63): None, "1.7": None, "1e3": None},
    "double": {
        "7": 7.0,
        ".5": 0.5,
        "5.": 5.0,
        "-1.5e3": -1500.0,
        "1e999": math.inf,
        "inf": math.inf,
        "0x1": None,
        "1,5": None,
    },
    "decimal": {"12.50": 12.5, "-0.0": 0.0, "inf": None, "1 000": None},
    "boolean": {"true": True, "F": False, "yes": True, "0": False, "2": None, "on": None},
    "date": {"2024-02-29": DAY, "2024-2-29": DAY, "2023-02-29": None, "2024/02/29": None, "2024-02-29 12:30": None},
    "time": {"12:30": NOON.time(), "12:30:00.5": datetime.time(12, 30, 0, 500_000), "25:00": None, "noon": None},
    "timestamp": {
        "2024-02-29 12:30": NOON,
        "2024-02-29T12:30:00": NOON,
        "2024-02-29": datetime.datetime(2024, 2, 29),
        "2024-02-29 12:30+02": None,
        "2024-02-30 12:30": None,
    },
    "timestamptz": {
        "2024-02-29 12:30": NOON,
        "2024-02-29T12:30Z": NOON,
        "2024-02-29 14:30:00+02": NOON,
        "2024-02-29 14:30+0200": NOON,
        "2024-02-29 07:00:00.000 -05:30": NOON,
        "2024-02-29 12:30 UTC": NOON,
        "2024-02-29 12:30 Europe/Berlin": None,
        "2024-02-29 12:30 Europe/Berlix": None,
        "2024-02-29 12:30+99": None,
    },
}


@pytest.fixture(scope="module")
def engine() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'America/New_York'")
    return connection


def cells(engine: duckdb.DuckDBPyConnection, kinds: Sequence[str], text: str) -> list[Any]:
    reads = ", ".join(TYPES[kind][1].format("s") for kind in kinds)
    return list(engine.execute(f"SELECT {reads} FROM (SELECT $1::VARCHAR AS s)", [text]).fetchall()[0])


@pytest.mark.parametrize("kind", READ)
def test_a_cell_is_read_where_it_is_written_as_a_value(kind: str, engine: duckdb.DuckDBPyConnection) -> None:
    assert {*READ, "bigint"} == set(TYPES)
    for text, value in (READ[kind] | dict.fromkeys(("", " ", "x"))).items():
        assert repr(cells(engine, [kind], text)) == repr([value]), text


PIECES = (
    *("2024-02-29", " ", "T", "12:30", ":59", ".5", "Z", "UTC", "+02", "-14:00"),
    *("1e", "9", "-", "inf", "nan", "yes", "\0", "😀", "\n", "Europe/Berlin"),
)


@given(text=st.lists(st.sampled_from(PIECES), max_size=7).map("".join) | st.text(max_size=30) | st.just("9" * 400))
@example(text="9999-12-31 23:59:59.999999999-14:00")
@example(text="0000-01-01 00:00+14")
def test_no_cell_fails_and_what_a_condition_would_take_is_read(text: str, engine: duckdb.DuckDBPyConnection) -> None:
    """For the forms that a constant has, cells have them too, and no more than white space makes a difference."""
    for kind, found in zip(TYPES, cells(engine, list(TYPES), text), strict=True):
        sort, _ = TYPES[kind]
        try:
            constant = None if "\0" in text else converted(text, sort, zoned=kind == "timestamptz")
        except ValueError:
            constant = None
        if sort in (Kind.DATE, Kind.TIMESTAMP) and constant in ("infinity", "-infinity"):
            continue  # a cell has to be a day
        if text.strip() == text.strip(" \t\n\r\f") and constant is not None and kind != "decimal":
            within = sort is not Kind.INTEGER or -(2**63) <= constant < 2**63  # type: ignore[operator]
            assert (found is not None) == within or constant in (math.inf, -math.inf), (kind, text)


CSV = """visitor,age,note,price,opens,day,ok
1,17,2024-02-29 12:30:00+02,1.50,09:00,2024-02-29,yes
2,18.5,2024-02-29 10:30:00 Europe/Berlix,x,25:00,,no
3,not a number,,2,10:00,2024-03-01,maybe
4,40,2024-02-29 10:30:00Z,3e0,09:30,2024-02-29,1
"""
DECLARED = {"age": "integer", "note": "timestamptz", "price": "decimal", "opens": "time", "day": "date"}
DECLARED["ok"] = "boolean"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "visits.csv"
    path.write_text(CSV)
    return str(path)


def test_declared_columns_are_compared_as_what_they_are(file: str) -> None:
    with ServedTable.open([file], user="visitor", read=DECLARED) as data:
        kinds = {column.name: column.kind.value for column in data.schema.columns}
        assert kinds == DECLARED | {"note": "timestamp", "price": "real"}
        for text, people in {
            "age > 16": 2,
            "age IS NULL": 2,
            "note = TIMESTAMP '2024-02-29 10:30:00'": 2,
            "price >= 1.5 AND price < 3.5": 3,
            "opens BETWEEN '09:00' AND TIME '09:30:00'": 2,
            "hour(opens) = 9": 2,
            "year_month(day) = '2024-02'": 2,
            "ok IS TRUE": 2,
            "ok IS NULL": 1,
        }.items():
            assert ask(data, text) == people, text


def test_gates_do_not_go_on_over_columns_of_another_type(file: str) -> None:
    def fingerprint(**read: str) -> str:
        with ServedTable.open([file], user="visitor", read=read) as data:
            return data.fingerprint

    assert fingerprint(age="integer") == fingerprint(age="integer") != fingerprint(age="double")
    assert fingerprint() not in (fingerprint(age="integer"), fingerprint(age="double"))
    assert fingerprint(age="integer", day="date") == fingerprint(day="date", age="integer")


def test_whether_data_open_does_not_depend_on_a_cell(tmp_path: Path) -> None:
    path = tmp_path / "hard.csv"
    hard = ["9" * 2_000, "2024-01-01 00:00:00 " + "A" * 2_000, "\U0010ffff", "1e-400", "5877642-06-25 (BC)", "infinity"]
    path.write_text("visitor,note\n" + "".join(f"{place},{text}\n" for place, text in enumerate(hard)))
    for kind in TYPES:
        with ServedTable.open([str(path)], user="visitor", read={"note": kind}) as data:
            assert ask(data, "note IS NULL") == len(hard) - {"double": 3, "decimal": 2}.get(kind, 0)


@pytest.mark.parametrize(
    ("texts", "option"),
    [
        *(([text], "cells") for text in ("city", "=3", "city=0", "city=-1", "city=3.0", "city=9999999999")),
        *((texts, "read") for texts in (["age"], ["=integer"], ["age=integer", "age=date"])),
    ],
)
def test_a_declaration_is_a_column_and_a_type_or_a_number(texts: list[str], option: str) -> None:
    with pytest.raises(ParameterError) as refused:
        {"cells": read_cells, "read": read_declarations}[option](texts)
    assert refused.value.parameter == option
    assert read_declarations(["a=b=date"]) == {"a=b": "date"}
    assert read_declarations(None) == {}


def cells_by_hand(rows: Sequence[tuple[str, str | None]], most: int) -> dict[str, set[str]]:
    """By person: the cells that they have most rows in, of equally many the smaller ones."""
    often: dict[str, Counter[str]] = {who: Counter() for who, _ in rows}
    for who, cell in rows:
        often[who] += Counter([cell] if cell is not None else [])
    return {who: set(sorted(mine, key=lambda cell: (-mine[cell], cell))[:most]) for who, mine in often.items()}


def people_in_cells(folder: Path, rows: Sequence[tuple[str, str | None]], most: int) -> dict[str, int]:
    file = folder / f"{len(rows)} {most}.csv"
    file.write_text("\n".join(["who,cell", *(f"{who},{cell or ''}" for who, cell in rows)]))
    with ServedTable.open([str(file)], user="who", cells={"cell": most}) as served:
        found = {cell: read_condition(f"cell = '{cell}'", served.schema) for cell in {cell for _, cell in rows if cell}}
        return {cell: served.count(condition, per="cell") for cell, condition in found.items()}


@pytest.mark.parametrize("most", [1, 2, 5])
def test_each_person_is_cut_by_their_own_rows_whoever_else_is_there(tmp_path: Path, most: int) -> None:
    draw = random.Random(most)
    cells = [*(f"c{number:02}" for number in range(30)), None]
    rows = [(f"p{draw.randrange(60)}", draw.choice(cells)) for _ in range(400)]
    kept = cells_by_hand(rows, most)
    whole = people_in_cells(tmp_path, rows, most)
    assert whole == {cell: sum(cell in mine for mine in kept.values()) for cell in whole}
    assert any(len({cell for who, cell in rows if who == each and cell}) > most for each in kept)
    without = people_in_cells(tmp_path, [row for row in rows if row[0] != "p7"], most)
    assert {cell: count - without.get(cell, 0) for cell, count in whole.items()} == {
        cell: int(cell in kept["p7"]) for cell in whole
    }
