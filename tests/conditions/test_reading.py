"""What a condition may hold, what it is turned into, where each wrong one is refused, and that reading has bounds."""

from __future__ import annotations

import pickle
import sys
import time
import traceback

import duckdb
import pytest
from tests.support.condition_texts import ACCEPTED, REFUSED, SCHEMA, TYPES, refusal

from sparsegate.conditions import Column, Kind, Schema, names_in, read_condition
from sparsegate.conditions.reading import MOST_CHARACTERS, MOST_DEPTH
from sparsegate.errors import ConditionError, ParameterError


@pytest.fixture(scope="module")
def blank() -> duckdb.DuckDBPyConnection:
    """A table of the schema with one row of nulls: enough to bind and to run a query."""
    nulls = (f"CAST(NULL AS {TYPES[each.kind]}) AS {quoted(each.name)}" for each in SCHEMA.columns)
    connection = duckdb.connect()
    connection.execute("PRAGMA disable_optimizer")
    connection.execute(f"CREATE TABLE blank AS SELECT {', '.join(nulls)}")
    return connection


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


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
    assert not any(name in str(error) for name in ("Word(", "Piece(", "class"))
    assert error.__cause__ is None
    assert error.__context__ is None


@pytest.mark.parametrize(
    ("text", "start"),
    [
        *((text, len(text)) for text in ("", " ", "\n\t ", "-- nothing", "/* nothing */")),
        *(("n = 1\0", 5), ("page = '\0'", 8), ("page = '\ud800'", 8), ("\udc80", 0)),  # no UTF-8
        *((f"n{space}= 1", 1) for space in "\u00a0\u2003\v\f\ufeff\u200b"),  # no plain white space
        (r"page = e'ab\x41'", 11),
    ],
)
def test_a_text_that_has_no_words_is_refused_where_they_end(text: str, start: int) -> None:
    assert refusal(text).start == start


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("contry = 'DE'", "country"),
        ("zzzzzz = 'x'", "page, country"),
        ('country = "DE"', "single quotes"),
        ("country = ‘DE’", "single quotes"),
        ("Tags IS NULL", "whose type can be asked about"),
    ],
)
def test_a_wrong_name_says_what_may_have_been_meant(text: str, part: str) -> None:
    error = refusal(text, Schema(SCHEMA.columns, unreadable=("tags",)))
    assert part in str(error)
    assert error.near == (("country",) if part == "country" else ())


def test_an_error_is_a_parameter_error_that_survives_a_pickle_and_shows_no_row_or_long_value() -> None:
    with pytest.raises(ConditionError, match="must be text"):
        read_condition(b"n = 1", SCHEMA)  # type: ignore[arg-type]
    error = refusal("contry = 'DE'")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(error, ParameterError)
    assert error.parameter == "where"
    assert (again.start, again.end, again.near, str(again)) == (0, 6, ("country",), str(error))
    assert "SECRET" not in str(refusal("page = 'x'", Schema((Column("SECRET", Kind.TEXT),), listed=False)))
    assert len(str(refusal("n = '" + "x" * 900 + "'"))) < 300


WORDS = ["select", "rowid", "case", "group", "table", "count", "any", "array", "interval", "date", "when", "end"]


@pytest.mark.parametrize("name", [*WORDS, "group by", "a.b", "naïve", "👋", "1st", "'", "--", "x;y", "not"])
def test_a_declared_column_may_have_any_name_in_double_quotes_and_be_called_like_a_word_of_sql(name: str) -> None:
    schema = Schema((Column(name, Kind.INTEGER),))
    assert read_condition(f'"{name}" = 1', schema).sql() == f'("{name}" = 1)'
    if name in WORDS:
        text = f"{name} BETWEEN 1 AND 2 AND CASE WHEN {name} IN (1) THEN {name} ELSE {name} END = 1"
        assert read_condition(text, schema).sql().count(f'"{name}"') == 4


@pytest.mark.parametrize("names", [("page", "Page"), ("",), ("a\0b",), ("\ud800",), ("x" * 1_001,)])
def test_names_that_cannot_be_written_or_told_apart_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError) as caught:
        Schema(tuple(Column(name, Kind.TEXT) for name in names))
    assert caught.value.parameter == "columns"


def test_the_columns_of_a_text_are_told_without_a_schema() -> None:
    assert names_in("Age > '3' AND \"Mixed Case\" = lower(page) OR age IS NULL") == ("age", "Mixed Case", "page")
    assert names_in('month(day) = 3 AND NOT \'text\' IN ("the ""end""") OR Day IS NULL') == ("Day", 'the "end"')
    assert names_in("age > 'open") == ()


# --- Bounds ----------------------------------------------------------------------------------------------------------

DEEP = MOST_DEPTH - 1


def nested(depth: int) -> dict[str, str]:
    """Texts of one part inside another, ``depth`` times."""
    return {
        "brackets": "(" * (depth - 1) + "n = 1" + ")" * (depth - 1),
        "NOTs": "NOT " * depth + "flag",
        "calls": "lower(" * (depth - 1) + "page" + ")" * (depth - 1) + " = 'x'",
        "CASEs": "CASE WHEN flag THEN paid ELSE " * (depth - 1) + "flag" + " END" * (depth - 1),
        "signs": "n" + " + n" * (depth - 1) + " > 1",
    }


AT_THE_LIMIT = {
    **nested(DEEP),
    "characters": "n = 1" + " " * (MOST_CHARACTERS - 5),
    "terms": "flag AND " * 1_000 + "NOT flag",
    "list": "n IN (" + ", ".join(map(str, range(1_600))) + ")",
    "string": "page = '" + "x" * 9_900 + "'",
    "pattern": "page LIKE '" + "%x" * 4_900 + "'",
    "digits": "r = 0." + "1" * 9_900,
}
BEYOND_THE_LIMIT = [
    *nested(MOST_DEPTH + 1).values(),
    "n = 1" + " " * (MOST_CHARACTERS - 4),
    "NOT " * MOST_DEPTH + "flag",
    "NOT (" * 26 + "n = 1" + ")" * 26,
    "n" + "::BIGINT" * MOST_DEPTH + " > 1",
    "n" + " IS NULL" * MOST_DEPTH,
]
MONSTERS = [
    *("(" * 10_000, ")" * 10_000, "(" * 4_990 + "n = 1" + ")" * 4_990, "NOT " * 2_499 + "flag"),
    *("n IN (" * 1_600, "-" * 10_000, "- " * 5_000, "'" * 9_999, '"' * 9_999, "'" + '"' * 9_999, "/*" * 5_000),
    *("n = " + "9" * 9_990, "r = " + "9" * 4_000 + "e" + "9" * 4_000, "a" * 10_000, "1" * 10_000, "1." * 5_000),
    *("1_" * 5_000, "DATE " * 2_000, "DATE '" + "1" * 9_000 + "'", "TIMESTAMP '" + "1-" * 4_000 + "'"),
    *("CASE " * 2_000, "CASE WHEN " * 1_000, "CAST(" * 2_000, "n::" * 3_000, "coalesce(" * 1_000, "e'" + "\\'" * 4_000),
    *("n = 1 AND " * 999 + "n = ", "$$" * 4_999 + "$", "- -" * 3_000 + "1 = n"),
    "n = CAST('" + "9" * 9_000 + "' AS INT)",
]


@pytest.mark.parametrize("size", AT_THE_LIMIT)
def test_a_condition_at_a_limit_is_read_and_runs(size: str, blank: duckdb.DuckDBPyConnection) -> None:
    blank.execute(f"SELECT {read_condition(AT_THE_LIMIT[size], SCHEMA).sql()} FROM blank").fetchall()


@pytest.mark.parametrize("text", [*BEYOND_THE_LIMIT, *MONSTERS], ids=lambda text: text[:10])
def test_a_condition_beyond_a_limit_is_refused_at_once(text: str) -> None:
    start = time.process_time()
    refusal(text)
    assert time.process_time() - start < 2


def test_a_caller_that_is_deep_in_its_stack_gets_a_refusal_and_no_recursion_error() -> None:
    def descend(levels: int) -> ConditionError:
        return descend(levels - 1) if levels else refusal("(" * 40 + "n = 1" + ")" * 40)

    used = sum(1 for _ in traceback.walk_stack(None))
    assert "room on the stack" in str(descend(sys.getrecursionlimit() - used - 60))
