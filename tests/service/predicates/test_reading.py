"""What a predicate may hold, what it is turned into, and where each wrong one is refused."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
import warnings

import duckdb
import pytest
from tests.support.condition_texts import ACCEPTED, REFUSED, SCHEMA, refusal

from sparsegate.errors import ParameterError
from sparsegate.service.predicates import Column, Kind, PredicateError, PublicSchema, read_predicate


@pytest.mark.parametrize("text", ACCEPTED)
def test_an_accepted_predicate_is_written_anew(text: str, blank: duckdb.DuckDBPyConnection) -> None:
    predicate = read_predicate(text, SCHEMA)
    assert predicate.text == text
    assert predicate.sql == ACCEPTED[text]
    assert read_predicate("\n" + text.replace(" AND ", "\n\tAND\r\n") + " ", SCHEMA).sql == ACCEPTED[text]
    assert blank.execute(f"SELECT count(*) FROM blank WHERE {predicate.sql}").fetchall() == [(0,)]


@pytest.mark.parametrize("text", [text for text in ACCEPTED if "CAST" not in ACCEPTED[text]])
def test_what_is_written_anew_is_read_as_itself(text: str) -> None:
    assert read_predicate(ACCEPTED[text], SCHEMA).sql == ACCEPTED[text]


@pytest.mark.parametrize("text", REFUSED)
def test_a_refused_predicate_points_at_the_place(text: str) -> None:
    error = refusal(text)
    assert text[error.start : error.end] == REFUSED[text]
    assert str(error).startswith("where must ")
    assert error.__cause__ is None
    assert error.__context__ is None


@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_an_empty_predicate_is_refused_at_its_end(text: str) -> None:
    assert (refusal(text).start, refusal(text).end) == (len(text), len(text))


@pytest.mark.parametrize("text", ["n = 1\0", "page = '\0'", "page = '\ud800'", "\udc80"])
def test_what_is_no_utf8_text_is_refused(text: str) -> None:
    assert "UTF-8" in str(refusal(text))


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\v", "\f", "\ufeff", "\u200b"])
def test_only_plain_white_space_is_white_space(space: str) -> None:
    assert refusal(f"n{space}= 1").start == 1


@pytest.mark.parametrize("value", [None, 5, b"n = 1", ["n = 1"]])
def test_what_is_not_text_is_refused(value: object) -> None:
    with pytest.raises(PredicateError, match="must be text"):
        read_predicate(value, SCHEMA)  # type: ignore[arg-type]


def test_an_unknown_column_lists_near_ones() -> None:
    error = refusal("contry = 'DE'")
    assert error.near == ("country",)
    assert "country" in str(error)
    assert refusal("PAGE = 'x'").near[0] == "page"
    assert refusal("zzzzzz = 'x'").near == ()
    assert "page, country" in str(refusal("zzzzzz = 'x'"))


def test_a_name_in_double_quotes_that_is_no_column_says_how_text_is_written() -> None:
    assert "single quotes" in str(refusal('country = "DE"'))


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
        PublicSchema((Column("page", Kind.TEXT), Column("Page", Kind.TEXT)))


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "x" * 1_001])
def test_a_name_that_cannot_be_written_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="columns"):
        Column(name, Kind.TEXT)


@pytest.mark.parametrize(
    "name", ["select", "rowid", "case", "group by", "a.b", "naïve", "👋", "1st", "'", "--", "x;y", "not"]
)
def test_a_declared_column_may_have_any_name_in_double_quotes(name: str) -> None:
    schema = PublicSchema((Column(name, Kind.INTEGER),))
    assert read_predicate(f'"{name}" = 1', schema).sql == f'"{name}" = 1'


@pytest.mark.parametrize(
    "name", ["select", "rowid", "case", "group", "table", "count", "any", "array", "interval", "show"]
)
def test_a_declared_column_may_be_called_like_a_word_of_sql(name: str) -> None:
    schema = PublicSchema((Column(name, Kind.INTEGER),))
    assert read_predicate(f"{name} BETWEEN 1 AND 2 AND {name} IN (1)", schema).sql.count(f'"{name}"') == 2


# --- Sizes -----------------------------------------------------------------------------------------------------------


def test_the_parser_neither_logs_nor_warns(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in REFUSED:
            refusal(text)
        for text in ACCEPTED:
            read_predicate(text, SCHEMA)
    assert caplog.records == []


def test_the_words_of_the_parser_are_never_repeated() -> None:
    messages = [str(refusal(text)) for text in REFUSED]
    assert not [message for message in messages if "sqlglot" in message or "class" in message or "Line" in message]


def test_the_library_alone_loads_no_parser() -> None:
    script = "import sys, sparsegate; assert 'sqlglot' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_tables_are_as_long_as_they_should_be() -> None:
    assert len(ACCEPTED) >= 60
    assert len(REFUSED) >= 80
