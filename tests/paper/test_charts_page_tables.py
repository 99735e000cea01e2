"""Tables of a page: sorted by value, read as cards on a phone, and safe with foreign text."""

from __future__ import annotations

import math

from sparsegate.paper.charts import TableCell, number, table


def test_a_number_is_shown_in_its_format_and_one_with_commas_has_its_value_beside_it() -> None:
    assert number(0.123456, ".2f").html("SER") == '<td class="number" data-label="SER">0.12</td>'
    assert number(1234, ",").html("n") == '<td class="number" data-value="1234.0" data-label="n">1,234</td>'
    assert 'data-value="Infinity"' in TableCell(text="∞", value=math.inf).html("ε")


def test_the_first_cell_is_the_head_of_its_row_and_the_others_know_their_column() -> None:
    page = table(["Method", "#c"], [["em", number(25, "")]], identity="mine")
    assert '<table class="sortable" id="mine">' in page
    assert '<th scope="col" class="number">c</th>' in page
    assert '<th scope="row" class="name" data-label="Method">em</th>' in page
    assert 'data-label="c">25</td>' in page


def test_text_is_escaped_unless_it_is_markup() -> None:
    assert "&lt;b&gt;" in TableCell(text="<b>").html("")
    assert "<b>" in TableCell(text="<b>", markup=True).html("")
    assert "&quot;&gt;" in TableCell(text="x").html('">')


def test_what_rounds_to_zero_has_no_sign() -> None:
    assert [number(value, ".3f").text for value in (-0.0001, -0.1)] == ["0.000", "-0.100"]
    assert number(3, "d").text == "3"
