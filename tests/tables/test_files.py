"""Header lines: any that has the columns that are used, and an error that shows nothing of a line that may be a row."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.files import header_of
from sparsegate.tables.workspace import Workspace

ODD = ["page,visitor,2019", "2019,,page,,visitor", "page,x,x,visitor", ' page , visitor ,"",a@b.org', "PAGE,visitor,?"]


@pytest.mark.parametrize("line", ODD)
def test_a_header_needs_only_the_columns_that_are_used(line: str) -> None:
    delimiter, names = header_of("x.csv", line, asked=["page", "visitor"])
    assert delimiter == ","
    folded = [name.lower() for name in names]
    assert [folded.count(name) for name in ("page", "visitor")] == [1, 1]
    assert len(set(folded)) == len(folded) == line.count(",") + 1
    where = [cell.strip().lower() for cell in line.split(",")]
    assert [folded.index(name) for name in ("page", "visitor")] == [where.index(name) for name in ("page", "visitor")]
    assert {name for name in names if name.lower() not in ("page", "visitor")} <= {f"column {n}" for n in range(1, 6)}


def test_a_name_of_our_own_is_nobody_elses() -> None:
    assert header_of("x.csv", "column 2,,1", asked=["column 2"])[1] == ("column 2", "column 2'", "column 3")


@pytest.mark.parametrize("line", ["page,1", "page,visitor,Visitor", "SECRET,17", "", "visitors@SECRET.org,page"])
def test_a_used_column_must_be_there_once_and_nothing_else_is_shown(line: str) -> None:
    with pytest.raises(TableError, match="must name the column 'visitor' once") as caught:
        header_of("x.csv", line, asked=["page", "visitor"] if "page" in line else ["visitor"])
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("line", [*ODD, "1", ""])
def test_where_nobody_says_which_columns_are_used_all_must_look_like_names(line: str) -> None:
    """A public list of labels without a header would lose its first label."""
    with pytest.raises(TableError, match="must hold its column names"):
        header_of("x.csv", line)


def test_of_an_odd_line_a_query_sees_the_names_it_speaks_of() -> None:
    names = header_of("x.csv", "page,2019,SECRET,,", asked=["page", "who"], query='SELECT "2019" AS who, * FROM data')[
        1
    ]
    assert names == ("page", "2019", "column 3", "column 4", "column 5")


def test_the_separator_that_is_given_wins() -> None:
    assert header_of("x.csv", "a;b,c,d", separator=";") == (";", ("a", "b,c,d"))
    assert header_of("x.csv", "a::b", separator="::") == ("::", ("a", "b"))


def test_rows_under_an_odd_header_are_read_by_name(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("2019,,page,,visitor\nx,x,/home,x,1\n")
    (tmp_path / "even.csv").write_text("page,visitor\n/pay,2\n")
    files = [str(tmp_path / name) for name in ("odd.csv", "even.csv")]
    with Workspace() as workspace:
        rows = workspace.open(files, columns=["page", "visitor"]).select("page, visitor")
        assert sorted(rows.fetchall()) == [("/home", "1"), ("/pay", "2")]
        rows = workspace.open(files[:1], columns=["2019", "visitor"])
        assert rows.select('"2019", visitor').fetchall() == [("x", "1")]
        with pytest.raises(ParameterError, match="sql") as caught:
            workspace.open(files[:1], columns=["page"], sql="SELECT pages FROM data")
        assert "2019" not in str(caught.value)


@pytest.mark.parametrize("separator", ["\t", "~", "::"])
def test_text_with_a_separator_is_a_table(tmp_path: Path, separator: str) -> None:
    from sparsegate.tables.files import TextForm

    (tmp_path / "x.txt").write_text(f"page{separator}visitor\n/home{separator}1\n")
    with Workspace() as workspace:
        rows = workspace.open([str(tmp_path / "x.txt")], form=TextForm(separator=separator), columns=["page"])
        assert rows.fetchall() == [("/home", "1")]
