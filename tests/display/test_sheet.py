"""A table as text, HTML, Markdown and CSV: whatever a label holds, it stays a label, and it fits."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from sparsegate.display.sheet import Sheet
from sparsegate.errors import SparsegateWarning

NASTY = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a|b\\|c",
    "[x](javascript:alert(1)) ![y](http://z) `c` *d* _e_ ~f~ $g$ &amp; https://h",
    "line\nbreak\x1b[31m\u202e",
)


def sheet(*labels: object, title: str = "pages") -> Sheet:
    return Sheet(
        title=title,
        columns={"page": labels, "estimate": list(range(1000, 1000 + len(labels)))},
        numbers=frozenset({"estimate"}),
        bars="estimate",
        about={"epsilon": "0.5"},
    )


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("place", ["label", "title", "heading", "fact"])
def test_no_label_is_markup_in_html(place: str) -> None:
    for text in NASTY:
        made = Sheet(
            title=text if place == "title" else "t",
            columns={text if place == "heading" else "page": [text if place == "label" else "x"]},
            about={"where": text if place == "fact" else "y"},
        )
        for shown in (made.html(), made.page()):
            tags = Tags()
            tags.feed(shown)
            assert not tags.names & {"script", "img", "a"}
            assert tags.attributes <= {"class", "style", "open", "lang", "charset", "name", "content"}
            assert "".join(mark if mark.isprintable() else "�" for mark in text) in tags.text


def test_no_label_breaks_a_markdown_table_or_is_markup_in_it() -> None:
    text = sheet(*NASTY).markdown()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(NASTY)
    assert all(len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 3 for row in rows)
    for mark in "<>`*_[]~$&":
        assert not re.search(rf"(?<!\\){re.escape(mark)}", "\n".join(rows[2:])), mark
    assert "https\\://h" in text


def test_numbers_have_commas_and_labels_that_are_numbers_do_not_and_nothing_is_said_to_be_nothing() -> None:
    made = sheet(2021)
    assert ">2021<" in made.html()
    assert ">1,000<" in made.html()
    assert "| 2021 | 1,000 |" in made.markdown()
    assert "<p>nothing</p>" in sheet().html()
    assert sheet().markdown().count("|") == 6


def test_csv_gives_labels_back_exactly_and_warns_of_formulas() -> None:
    labels = ["=1+1", "+49", "-x", "@me", "a,b", 'c"d', "e\nf", "g\rh", "i\r\n"]
    rows = list(csv.DictReader(io.StringIO(sheet(*labels).csv({"epsilon": "0.5"}), newline="")))
    assert [row["page"] for row in rows] == labels
    assert {row["epsilon"] for row in rows} == {"0.5"}
    with pytest.warns(SparsegateWarning, match=r"^labels that begin with =, \+, -, @ or a tab: 4; .* formulas"):
        sheet(*labels).warn_of_formulas()
    sheet(-5, "fine").warn_of_formulas()  # a number below zero is no formula, and a warning would be an error
    assert sheet(-5, "fine").csv() == "page,estimate\n-5,1000\nfine,1001\n"


CELLS = st.text(max_size=60)


@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=4), width=st.integers(20, 90))
def test_no_line_is_wider_than_the_terminal_and_none_has_a_control_character(rows, width: int) -> None:
    names = ["a heading of some length", "b", "estimate"]
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    lines = Sheet(title="a title", columns=columns, numbers=frozenset({"b"})).text(width=width).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert all(line.isprintable() for line in lines)


def test_numbers_stand_below_one_another_and_text_is_folded_and_not_lost() -> None:
    cities = Sheet(
        title="t", columns={"city": ["東京", "Köln"], "people": [13960000, 7]}, numbers=frozenset({"people"})
    )
    assert cities.text(width=80).splitlines()[1:] == ["city      people", "東京  13,960,000", "Köln           7"]
    pages = Sheet(title="t", columns={"page": ["/home", "/a page of a long name"], "n": [1, 2]}, numbers=frozenset("n"))
    assert pages.text(width=20).splitlines()[1:] == ["page               n", "/home              1", *FOLDED]


FOLDED = ["/a page of a long  2", "name"]


def test_a_row_that_does_not_fit_is_a_list_and_of_several_rows_the_last_columns_are_named() -> None:
    names = [f"column {place}" for place in range(9)]
    wide = {name: [str(place) * 5] for place, name in enumerate(names)}
    one = Sheet(title="t", columns=wide, numbers=frozenset(names)).text(width=40).splitlines()
    assert one[1:] == [f"{name}  {str(place) * 5}" for place, name in enumerate(names)]
    two = {name: cells * 2 for name, cells in wide.items()}
    several = Sheet(title="t", columns=two, numbers=frozenset(names)).text(width=40).splitlines()
    assert several[1].split("  ") == names[:4]
    assert " ".join(several[4:]) == f"not shown: {', '.join(names[4:])}"


def test_of_a_long_table_the_first_rows_are_shown_and_the_others_counted(monkeypatch) -> None:
    long = Sheet(title="a title", brief="and a word", columns={"n": range(2000)}, numbers=frozenset({"n"}))
    shown = long.html(most=100)
    assert (shown.count("<tr>"), "and 1,900 more" in shown) == (1 + 100, True)
    lines = long.text(most=3).splitlines()
    assert [line.strip() for line in lines] == ["a title", "n", "0", "1", "2", "and 1,997 more", "and a word"]
    assert Sheet(title="a title", columns={"n": []}).text() == "a title\nnothing"
    for told, width in (("57", 57), ("3", 20)):
        monkeypatch.setenv("COLUMNS", told)
        text = Sheet(title="word " * 30, columns={"n": []}).text()
        assert width - 5 < max(map(len, text.splitlines())) <= width
