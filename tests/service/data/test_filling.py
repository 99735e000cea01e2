"""What fills a table up: the cells, and the characters of each width, come to public numbers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.neighbours import BASE, ONE_MORE, PATIENTS, neighbours, opened

from sparsegate.conditions import read_condition
from sparsegate.service.data.copying import SERVED
from sparsegate.service.data.dataset import ServedTable
from sparsegate.service.data.filling import LEAST, PERSON, WIDTHS, filling_cells, public_size, width_counts


@given(st.integers(0, 10**9))
def test_a_public_size_is_enough_and_at_most_an_eighth_more(size: int) -> None:
    assert size <= public_size(size) <= max(LEAST, size + size // 8 + 1)
    assert public_size(public_size(size)) == public_size(size)


def test_few_sizes_are_told_apart() -> None:
    assert len({public_size(size) for size in range(65_536)}) == 1 + 8 * 4


@given(st.text(max_size=50))
def test_characters_are_counted_by_their_bytes(text: str) -> None:
    sql = f"SELECT {', '.join(width_counts('cell'))} FROM (SELECT $text AS cell)"
    row = duckdb.connect().execute(sql, {"text": text})
    expected = Counter(len(each.encode()) for each in text)
    assert list(row.fetchall()[0]) == [expected[width] for width in (1, 2, 3, 4)]


@given(st.lists(st.integers(0, 10**7), min_size=4, max_size=4), st.integers(50, 2000))
def test_characters_come_to_few_sums_and_no_cell_is_too_long(counts: list[int], max_cell: int) -> None:
    cells, least = filling_cells(counts, max_cell), PERSON * max_cell
    assert all(1 <= length <= max_cell for _, length in cells)
    for character, count in zip(WIDTHS, counts, strict=True):
        whole = count + sum(length for each, length in cells if each == character)
        assert least <= whole <= count + max(least, count // 8 + 1)
        assert not any(each == character for each, _ in filling_cells([whole] * 4, max_cell))


def test_one_person_fits_where_a_column_has_nothing_like_it() -> None:
    """Before: no filling of four bytes but what one person could bring; after: as much less as they brought."""
    before, after = (
        sum(length for each, length in filling_cells([0, 0, 0, count], 1000) if each == "😀") for count in (0, 50_000)
    )
    assert before - after == 50_000


def in_tables(dataset: ServedTable) -> list[Any]:
    """What the engine works through: cells, and characters of each width, of the notes."""
    engine, found = dataset._engine.cursor(), []
    for table in (dataset._copy.coded["note"].table, SERVED):
        sums = ", ".join(f"sum({each})" for each in width_counts("note"))
        found += engine.execute(f"SELECT count(*), {sums} FROM {table}").fetchall()
    return found


@pytest.mark.turns(2)
@pytest.mark.parametrize("more", ONE_MORE)
def test_one_person_more_takes_the_place_of_filling(more: str, tmp_path: Path) -> None:
    with neighbours(tmp_path, more) as (without, with_one):
        assert in_tables(without) == in_tables(with_one)


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
        assert dataset._copy.rows == LEAST
        for text in ("TRUE", "note IS NULL", "note LIKE '%a%'"):
            assert dataset.count(read_condition(text, dataset.schema)) == 0
