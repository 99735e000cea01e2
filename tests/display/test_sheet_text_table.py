"""A table as plain text: it fits, nothing is lost, and nothing in it steers a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.display.sheet import Sheet, cell_width, fact_lines, folded, terminal_width, text_table

CELLS = st.text(max_size=60)


@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=4), width=st.integers(20, 90))
def test_no_line_is_wider_than_the_terminal_and_none_has_a_control_character(rows, width: int) -> None:
    headings = ["a heading of some length", "b", "estimate"]
    lines = text_table(headings, rows, ["b"], width).splitlines()
    assert max(map(cell_width, lines)) <= width
    assert all(line.isprintable() for line in lines)


@given(text=st.text(alphabet="ab 東é", max_size=80), width=st.integers(2, 40))
def test_folding_loses_nothing_but_blanks(text: str, width: int) -> None:
    lines = folded(text, width)
    assert max(map(cell_width, lines)) <= width
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_numbers_stand_below_one_another_and_wide_letters_count_twice() -> None:
    shown = text_table(["city", "people"], [["東京", "13,960,000"], ["Köln", "7"]], ["people"], 80)
    assert shown.splitlines() == ["city      people", "東京  13,960,000", "Köln           7"]


def test_a_row_that_does_not_fit_is_a_list_and_of_several_rows_the_last_columns_are_named() -> None:
    headings, row = [f"column {place}" for place in range(9)], [str(place) * 5 for place in range(9)]
    assert text_table(headings, [row], headings, 40) == fact_lines(zip(headings, row, strict=True), 40)
    several = text_table(headings, [row, row], headings, 40).splitlines()
    assert several[0].split("  ") == headings[:4]
    assert " ".join(several[3:]) == f"not shown: {', '.join(headings[4:])}"


def test_of_a_long_table_the_first_rows_are_shown_and_the_others_counted() -> None:
    sheet = Sheet(title="a title", brief="and a word", columns={"n": range(2000)}, numbers=frozenset({"n"}))
    lines = sheet.text(most=3).splitlines()
    assert [line.strip() for line in lines] == ["a title", "n", "0", "1", "2", "and 1,997 more", "and a word"]
    assert Sheet(title="a title", columns={"n": []}).text() == "a title\nnothing"


@pytest.mark.parametrize(("told", "width"), [("57", 57), ("3", 20)])
def test_the_width_is_that_of_the_environment_but_never_too_little(monkeypatch, told: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", told)
    assert terminal_width() == width
