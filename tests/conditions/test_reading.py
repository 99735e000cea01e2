"""What a condition may hold, what it is turned into, and where each wrong one is refused."""

from __future__ import annotations

import pickle

import duckdb
import pytest
from tests.support.condition_texts import ACCEPTED, REFUSED, SCHEMA, refusal

from sparsegate.conditions import Column, Kind, Schema, names_in, read_condition
from sparsegate.errors import ConditionError, ParameterError


@pytest.mark.parametrize("text", ACCEPTED)
def test_an_accepted_condition_is_written_anew(text: str, blank: duckdb.DuckDBPyConnection) -> None:
    condition = read_condition(text, SCHEMA)
    assert condition.text == text
    assert condition.sql() == ACCEPTED[text]
    spaced = read_condition("\n" + text.replace(" AND ", "\n\tAND\r\n") + "\n/* x */ ", SCHEMA)
    assert spaced.sql() == ACCEPTED[text]
    blank.execute(f"SELECT count(*) FROM blank WHERE {condition.sql()}").fetchall()


@pytest.mark.parametrize("text", REFUSED)
def test_a_refused_condition_points_at_the_place(text: str) -> None:
    error = refusal(text)
    assert text[error.start : error.end] == REFUSED[text]
    assert str(error).startswith("where must ")
    assert error.__cause__ is None
    assert error.__context__ is None


def test_what_is_written_anew_is_read_as_itself() -> None:
    for text, sql in ACCEPTED.items():
        if "TRY" not in sql and "regexp" not in sql and "LIKE" not in sql and "hi" not in text:
            again = read_condition(sql, SCHEMA).sql()
            assert read_condition(again, SCHEMA).sql() == again


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "-- nothing", "/* nothing */"])
def test_an_empty_condition_is_refused_at_its_end(text: str) -> None:
    assert (refusal(text).start, refusal(text).end) == (len(text), len(text))


@pytest.mark.parametrize("text", ["n = 1\0", "page = '\0'", "page = '\ud800'", "\udc80"])
def test_what_is_no_utf8_text_is_refused(text: str) -> None:
    assert "UTF-8" in str(refusal(text))


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\v", "\f", "\ufeff", "\u200b"])
def test_only_plain_white_space_is_white_space(space: str) -> None:
    assert refusal(f"n{space}= 1").start == 1


@pytest.mark.parametrize("value", [None, 5, b"n = 1", ["n = 1"]])
def test_what_is_not_text_is_refused(value: object) -> None:
    with pytest.raises(ConditionError, match="must be text"):
        read_condition(value, SCHEMA)  # type: ignore[arg-type]


def test_escapes_are_read_where_the_quote_says_so(blank: duckdb.DuckDBPyConnection) -> None:
    for text in (r"e'a\n\t\\\'\"b''c'", r"'a\n'", "$$a'b$$", "N'a'", r"E'\r\b\f'"):
        sql = read_condition(f"page = {text}", SCHEMA).sql().replace('"page"', text)
        assert blank.execute(f"SELECT {sql}").fetchall() == [(True,)]
    assert refusal(r"page = e'ab\x41'").start == 11


def test_an_unknown_column_lists_near_ones() -> None:
    error = refusal("contry = 'DE'")
    assert error.near == ("country",)
    assert "country" in str(error)
    assert refusal("zzzzzz = 'x'").near == ()
    assert "page, country" in str(refusal("zzzzzz = 'x'"))


def test_columns_that_may_be_a_row_are_not_listed() -> None:
    assert "SECRET" not in str(refusal("page = 'x'", Schema((Column("SECRET", Kind.TEXT),), listed=False)))


def test_a_name_in_double_quotes_that_is_no_column_says_how_text_is_written() -> None:
    assert "single quotes" in str(refusal('country = "DE"'))
    assert "single quotes" in str(refusal("country = ‘DE’"))


def test_an_error_is_a_parameter_error_and_survives_a_pickle() -> None:
    error = refusal("contry = 'DE'")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(error, ParameterError)
    assert error.parameter == "where"
    assert (again.start, again.end, again.near, str(again)) == (0, 6, ("country",), str(error))


def test_a_long_value_is_cut_in_the_message() -> None:
    assert len(str(refusal("n = '" + "x" * 900 + "'"))) < 300


def test_columns_that_differ_in_capitals_alone_are_refused() -> None:
    with pytest.raises(ParameterError, match="'page' and 'Page'"):
        Schema((Column("page", Kind.TEXT), Column("Page", Kind.TEXT)))


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "x" * 1_001])
def test_a_name_that_cannot_be_written_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="columns"):
        Column(name, Kind.TEXT)


def test_a_column_of_a_type_that_is_not_known_says_so() -> None:
    schema = Schema((Column("n", Kind.INTEGER),), unreadable=("tags",))
    assert "whose type can be asked about" in str(refusal("Tags IS NULL", schema))


@pytest.mark.parametrize(
    "name", ["select", "rowid", "case", "group by", "a.b", "naïve", "👋", "1st", "'", "--", "x;y", "not"]
)
def test_a_declared_column_may_have_any_name_in_double_quotes(name: str) -> None:
    schema = Schema((Column(name, Kind.INTEGER),))
    assert read_condition(f'"{name}" = 1', schema).sql() == f'("{name}" = 1)'


@pytest.mark.parametrize(
    "name", ["select", "rowid", "case", "group", "table", "count", "any", "array", "interval", "date", "when", "end"]
)
def test_a_declared_column_may_be_called_like_a_word_of_sql(name: str) -> None:
    schema = Schema((Column(name, Kind.INTEGER),))
    text = f"{name} BETWEEN 1 AND 2 AND CASE WHEN {name} IN (1) THEN {name} ELSE {name} END = 1"
    assert read_condition(text, schema).sql().count(f'"{name}"') == 4


def test_the_columns_of_a_text_are_told_without_a_schema() -> None:
    assert names_in("Age > '3' AND \"Mixed Case\" = lower(page) OR age IS NULL") == ("age", "Mixed Case", "page")
    assert names_in('month(day) = 3 AND NOT \'text\' IN ("the ""end""") OR Day IS NULL') == ("Day", 'the "end"')
    assert names_in("age > 'open") == ()


def test_no_message_speaks_of_how_texts_are_read() -> None:
    messages = [str(refusal(text)) for text in REFUSED]
    assert not [message for message in messages if "Word(" in message or "Piece(" in message or "class" in message]


def test_the_tables_are_as_long_as_they_should_be() -> None:
    assert len(ACCEPTED) >= 250
    assert len(REFUSED) >= 220
