"""What a predicate may hold, what it is turned into, and where each wrong one is refused."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
import time
import warnings

import duckdb
import pytest

from noisegate.errors import ParameterError
from noisegate.service.predicates import Column, Kind, PredicateError, PublicSchema, read_predicate

SCHEMA = PublicSchema(
    (
        *(Column(name, Kind.TEXT) for name in ("page", "country", "Mixed Case", 'say "hi"', "e")),
        *(Column(name, Kind.INTEGER) for name in ("n", "m", "order")),
        *(Column(name, Kind.BOOLEAN) for name in ("flag", "paid")),
        *(Column(name, Kind.DATE) for name in ("day", "date")),
        Column("r", Kind.REAL),
        Column("at", Kind.TIMESTAMP),
    )
)

TYPES = {
    Kind.TEXT: "VARCHAR", Kind.INTEGER: "BIGINT", Kind.BOOLEAN: "BOOLEAN", Kind.DATE: "DATE", Kind.REAL: "DOUBLE",
    Kind.TIMESTAMP: "TIMESTAMP",
}  # fmt: skip

# What is written, and what is run.
ACCEPTED = {
    "page = '/pay'": "\"page\" = '/pay'",
    "'/pay' = page": "'/pay' = \"page\"",
    "page<>'a'": "\"page\" <> 'a'",
    "page != 'a'": "\"page\" <> 'a'",
    "page < 'a'": "\"page\" < 'a'",
    "page <= 'a'": "\"page\" <= 'a'",
    "page > 'a'": "\"page\" > 'a'",
    "page >= 'a'": "\"page\" >= 'a'",
    "\"page\" = 'a'": "\"page\" = 'a'",
    "page = 'it''s'": "\"page\" = 'it''s'",
    "page = ''": "\"page\" = ''",
    "page = ''''": "\"page\" = ''''",
    "page = '\\'": "\"page\" = '\\'",
    "page = 'a\\nb'": "\"page\" = 'a\\nb'",
    "page = '%'": "\"page\" = '%'",
    "page = '--'": "\"page\" = '--'",
    "page = '/* x */'": "\"page\" = '/* x */'",
    "page = '; DROP TABLE t'": "\"page\" = '; DROP TABLE t'",
    "page = 'naïve 😀'": "\"page\" = 'naïve 😀'",
    "page = '\"quoted\"'": '"page" = \'"quoted"\'',
    "page = country": '"page" = "country"',
    "n = 5": '"n" = 5',
    "n = -5": '"n" = -5',
    "n = - 5": '"n" = -5',
    "n=-5": '"n" = -5',
    "n<-5": '"n" < -5',
    "n = 007": '"n" = 7',
    "n = 0": '"n" = 0',
    "n = -0": '"n" = 0',
    "n = 9223372036854775807": '"n" = 9223372036854775807',
    "n = -9223372036854775808": '"n" = -9223372036854775808',
    "n = 170141183460469231731687303715884105727": '"n" = 170141183460469231731687303715884105727',
    "5 < n": '5 < "n"',
    "n = m": '"n" = "m"',
    "n<m": '"n" < "m"',
    "r = 5": "\"r\" = CAST('5.0' AS DOUBLE)",
    "r = 0.5": "\"r\" = CAST('0.5' AS DOUBLE)",
    "r = .5": "\"r\" = CAST('0.5' AS DOUBLE)",
    "r = 5.": "\"r\" = CAST('5.0' AS DOUBLE)",
    "r = 1e3": "\"r\" = CAST('1000.0' AS DOUBLE)",
    "r = 1E-3": "\"r\" = CAST('0.001' AS DOUBLE)",
    "r = -1.5e+300": "\"r\" = CAST('-1.5e+300' AS DOUBLE)",
    "r = 0.1": "\"r\" = CAST('0.1' AS DOUBLE)",
    "r = 12345678901234567890": "\"r\" = CAST('1.2345678901234567e+19' AS DOUBLE)",
    "r > -0.0": "\"r\" > CAST('-0.0' AS DOUBLE)",
    "r = 1e-400": "\"r\" = CAST('0.0' AS DOUBLE)",
    "flag": '"flag"',
    "NOT flag": 'NOT ("flag")',
    "flag = TRUE": '"flag" = TRUE',
    "flag <> false": '"flag" <> FALSE',
    "flag = paid": '"flag" = "paid"',
    "flag IN (TRUE, FALSE)": '"flag" IN (TRUE, FALSE)',
    "TRUE": "TRUE",
    "false": "FALSE",
    "NOT TRUE": "NOT (TRUE)",
    "day = DATE '2024-01-31'": "\"day\" = DATE '2024-01-31'",
    "day < date'2024-01-31'": "\"day\" < DATE '2024-01-31'",
    "date = DATE '2024-01-31'": "\"date\" = DATE '2024-01-31'",
    "DATE '0001-01-01' <= date": "DATE '0001-01-01' <= \"date\"",
    "at >= TIMESTAMP '2024-01-31 12:30:00'": "\"at\" >= TIMESTAMP '2024-01-31 12:30:00'",
    "at < timestamp '2024-01-31T12:30:00.5'": "\"at\" < TIMESTAMP '2024-01-31 12:30:00.500000'",
    "n IN (1)": '"n" IN (1)',
    "n IN (1, -2, 3)": '"n" IN (1, -2, 3)',
    "n NOT IN (1, 2)": '"n" NOT IN (1, 2)',
    "NOT n IN (1, 2)": '"n" NOT IN (1, 2)',
    "NOT (n NOT IN (1, 2))": '"n" IN (1, 2)',
    "page in ('/pay','/cart')": "\"page\" IN ('/pay', '/cart')",
    "r IN (1, 0.5)": "\"r\" IN (CAST('1.0' AS DOUBLE), CAST('0.5' AS DOUBLE))",
    "day IN (DATE '2024-01-31')": "\"day\" IN (DATE '2024-01-31')",
    "n BETWEEN 1 AND 2": '"n" BETWEEN 1 AND 2',
    "n NOT BETWEEN 1 AND 2": '"n" NOT BETWEEN 1 AND 2',
    "NOT n BETWEEN 1 AND 2": '"n" NOT BETWEEN 1 AND 2',
    "5 BETWEEN n AND m": '5 BETWEEN "n" AND "m"',
    "n BETWEEN 1 AND 2 AND m = 3": '("n" BETWEEN 1 AND 2) AND ("m" = 3)',
    "n BETWEEN (1) AND (2)": '"n" BETWEEN 1 AND 2',
    "page LIKE '/p%'": "\"page\" LIKE '/p%'",
    "page LIKE '%pay%'": "\"page\" LIKE '%pay%'",
    "page LIKE 'a_b%'": "\"page\" LIKE 'a_b%'",
    "page LIKE '%a_b%'": "\"page\" LIKE '%a_b%'",
    "page LIKE '%a%b%c%'": "\"page\" LIKE '%a%b%c%'",
    "page LIKE 'a%%b'": "\"page\" LIKE 'a%b'",
    "page LIKE ''": "\"page\" LIKE ''",
    "page LIKE ('a')": "\"page\" LIKE 'a'",
    "page NOT LIKE '/p%'": "\"page\" NOT LIKE '/p%'",
    "NOT page LIKE '/p%'": "\"page\" NOT LIKE '/p%'",
    "NOT page NOT LIKE '/p%'": "\"page\" LIKE '/p%'",
    "page IS NULL": '"page" IS NULL',
    "page IS NOT NULL": '"page" IS NOT NULL',
    "NOT page IS NULL": '"page" IS NOT NULL',
    "(page) IS NULL": '"page" IS NULL',
    "NOT NOT flag": 'NOT (NOT ("flag"))',
    "n = 1 AND m = 2": '("n" = 1) AND ("m" = 2)',
    "n = 1 AND m = 2 AND flag": '("n" = 1) AND ("m" = 2) AND ("flag")',
    "n = 1 OR m = 2 AND flag": '("n" = 1) OR (("m" = 2) AND ("flag"))',
    "(n = 1 OR m = 2) AND flag": '(("n" = 1) OR ("m" = 2)) AND ("flag")',
    "NOT n = 1 AND m = 2": '(NOT ("n" = 1)) AND ("m" = 2)',
    "NOT (n = 1 AND m = 2)": 'NOT (("n" = 1) AND ("m" = 2))',
    "n = 1 or not m = 2 or flag": '("n" = 1) OR (NOT ("m" = 2)) OR ("flag")',
    "((n)) = ((5))": '"n" = 5',
    "((n = 5))": '"n" = 5',
    "\"Mixed Case\" = 'a'": "\"Mixed Case\" = 'a'",
    '"say ""hi""" = \'a\'': '"say ""hi""" = \'a\'',
    "order = 1": '"order" = 1',
    "e = 'e'": "\"e\" = 'e'",
    "country = 'DE' AND page IN ('/pay', '/cart')": "(\"country\" = 'DE') AND (\"page\" IN ('/pay', '/cart'))",
}

# What is written, and the place that the error points at.
REFUSED = {
    "page = 5": "5",
    "n = '5'": "'5'",
    "n = 1.5": "1.5",
    "n = 1e3": "1e3",
    "n = 170141183460469231731687303715884105728": "170141183460469231731687303715884105728",
    "n = -170141183460469231731687303715884105728": "-170141183460469231731687303715884105728",
    "r = 'x'": "'x'",
    "r = 1e999": "1e999",
    "r = n": "n",
    "n = page": "page",
    "flag = 1": "1",
    "flag = 'true'": "'true'",
    "n = TRUE": "TRUE",
    "flag < TRUE": "flag < TRUE",
    "flag BETWEEN FALSE AND TRUE": "flag BETWEEN FALSE AND TRUE",
    "day = '2024-01-31'": "'2024-01-31'",
    "day = TIMESTAMP '2024-01-31 00:00:00'": "TIMESTAMP '2024-01-31 00:00:00'",
    "at = DATE '2024-01-31'": "DATE '2024-01-31'",
    "day = at": "at",
    "day = DATE '2024-02-30'": "DATE '2024-02-30'",
    "day = DATE '2024-1-1'": "DATE '2024-1-1'",
    "day = DATE 'infinity'": "DATE 'infinity'",
    "at = TIMESTAMP '2024-01-01'": "TIMESTAMP '2024-01-01'",
    "at = TIMESTAMP '2024-01-01 00:00:00+02'": "TIMESTAMP '2024-01-01 00:00:00+02'",
    "at = TIMESTAMP '2024-01-01 25:00:00'": "TIMESTAMP '2024-01-01 25:00:00'",
    "at = TIMESTAMP WITH TIME ZONE '2024-01-01 00:00:00'": "TIMESTAMP",
    "at > now()": "now",
    "at > current_date": "current_date",
    "day > DATE '2024-01-01' + 1": "+",
    "day > INTERVAL '1' DAY": "INTERVAL",
    "page": "page",
    "n": "n",
    "'x'": "'x'",
    "1": "1",
    "NULL": "NULL",
    "n = NULL": "NULL",
    "n <> NULL": "NULL",
    "n IN (1, NULL)": "NULL",
    "n IN ()": ")",
    "n IN (1,)": ")",
    "n IN (,1)": ",",
    "n IN 1": "1",
    "n IN (m)": "m",
    "n IN (1, m)": "m",
    "n IN ('1')": "'1'",
    "n IN (1, (2))": "(",
    "n IN (SELECT 1)": "SELECT",
    "n IN (1 + 1)": "+",
    "n IN [1, 2]": "[",
    "1 IN (1, 2)": "1",
    "1 = 1": "1 = 1",
    "'a' = 'a'": "'a' = 'a'",
    "1 BETWEEN 0 AND 2": "1 BETWEEN 0 AND 2",
    "TRUE = TRUE": "TRUE = TRUE",
    "'a' LIKE 'a'": "'a'",
    "page LIKE country": "country",
    "page LIKE 5": "5",
    "n LIKE '1'": "'1'",
    "page LIKE 'a' ESCAPE '!'": "ESCAPE",
    "page LIKE 'a_b%c%d'": "'a_b%c%d'",
    "page LIKE ANY ('a')": "ANY",
    "page ILIKE 'a'": "ILIKE",
    "page NOT ILIKE 'a'": "ILIKE",
    "page GLOB 'a*'": "GLOB",
    "page SIMILAR TO 'a'": "SIMILAR",
    "page ~ 'a'": "~",
    "page ~~ 'a'": "~",
    "page !~~ 'a'": "!",
    "page ^@ 'a'": "^",
    "page COLLATE NOCASE = 'a'": "COLLATE",
    "page IS 'a'": "'a'",
    "page IS TRUE": "TRUE",
    "flag IS TRUE": "TRUE",
    "flag IS NOT FALSE": "FALSE",
    "page IS DISTINCT FROM 'a'": "DISTINCT",
    "page IS NOT DISTINCT FROM 'a'": "DISTINCT",
    "page ISNULL": "ISNULL",
    "page NOTNULL": "NOTNULL",
    "page NOT NULL": "NULL",
    "(page = 'a') IS NULL": "page = 'a'",
    "5 IS NULL": "5",
    "page IS NULL IS NULL": "IS",
    "page = 'a' = flag": "page = 'a'",
    "n < m < 3": "n < m",
    "n = m = 3": "n = m",
    "flag = (n = 1)": "n = 1",
    "(n = 1) = (m = 1)": "n = 1",
    "flag AND n": "n",
    "NOT n": "n",
    "n == 1": "=",
    "n => 1": ">",
    "n =< 1": "<",
    "n <=> 1": ">",
    "n !> 1": "!",
    "n + 1 = 2": "+",
    "n - 1 = 2": "-",
    "n -1 = 2": "-",
    "n * 2 = 4": "*",
    "n / 2 = 1": "/",
    "n % 2 = 0": "%",
    "n ** 2 = 4": "*",
    "-n = 1": "-",
    "+n = 1": "+",
    "n = +1": "+",
    "n = - - 1": "-",
    "n = -(1)": "-",
    "n = --1": "--",
    "n = -'1'": "-",
    "n = -TRUE": "-",
    "n = 1_000": "1",
    "n = 0x1F": "0",
    "n = 0b1": "0",
    "n = 1abc": "1",
    "n = 1.2.3": "1",
    "r = 1.5e": "1",
    "r = .": ".",
    "r = inf": "inf",
    "r = 'nan'": "'nan'",
    "r = NaN": "NaN",
    "n = ?": "?",
    "n = $1": "$",
    "n = :n": ":",
    "n = @n": "@",
    "n = $$1$$": "$",
    "page = $$a$$": "$",
    "page = e'a\\n'": "'a\\n'",
    "page = E'a'": "E",
    "page = x'ab'": "x",
    "page = b'01'": "b",
    "page = N'a'": "N",
    "page = U&'a'": "U",
    "page = 'a' 'b'": "'b'",
    "page = 'a' || 'b'": "|",
    "page = 'unclosed": "'",
    'page = "unclosed': '"',
    "page = 'a\\'b'": "b",
    'page = "/pay"': '"/pay"',
    "page = `a`": "`",
    "[page] = 'a'": "[",
    "page[1] = 'a'": "[",
    "{'a': 1} = page": "{",
    "page.x = 'a'": ".",
    "data.page = 'a'": "data",
    '"data"."page" = \'a\'': '"data"',
    "page->'a' = 'b'": "-",
    "page->>'$.a' = 'b'": "-",
    "page::INTEGER = 5": ":",
    "CAST(page AS INTEGER) = 5": "CAST",
    "TRY_CAST(page AS INTEGER) = 5": "TRY_CAST",
    "upper(page) = 'A'": "upper",
    "UPPER (page) = 'A'": "UPPER",
    "\"upper\"(page) = 'A'": '"upper"',
    "page.upper() = 'A'": ".",
    "random() < 0.5": "random",
    "count(*) > 1": "count",
    "rowid = 1": "rowid",
    "filename = 'x'": "filename",
    "file_row_number = 1": "file_row_number",
    "tableoid = 1": "tableoid",
    "* = 1": "*",
    "COLUMNS(*) = 1": "COLUMNS",
    "page = ALL ('a')": "ALL",
    "page = (SELECT 'a')": "SELECT",
    "EXISTS (SELECT 1)": "EXISTS",
    "(SELECT TRUE)": "SELECT",
    "CASE WHEN flag THEN TRUE ELSE FALSE END": "CASE",
    "IF(flag, TRUE, FALSE)": "IF",
    "flag ? TRUE : FALSE": "?",
    "n = 1; DROP TABLE t": ";",
    "n = 1;": ";",
    ";": ";",
    "n = 1 -- comment": "--",
    "n = 1 /* comment */": "/*",
    "/* comment */ n = 1": "/*",
    "n = 1 # comment": "#",
    "{# comment #} n = 1": "{",
    "n = 1 {{ x }}": "{",
    "(page, country) = ('a', 'b')": ",",
    "(page, country) IN (('a', 'b'))": ",",
    "n = 1, m = 2": ",",
    "n = 1 m = 2": "m",
    "n = 1 AND": "",
    "AND n = 1": "AND",
    "n = 1 OR OR m = 2": "OR",
    "n = 1 XOR m = 1": "XOR",
    "n = 1 && m = 1": "&",
    "n = 1 || m = 1": "|",
    "! flag": "!",
    "(n = 1": "(",
    "n = 1)": ")",
    "()": ")",
    "((n = 1) AND": "",
    "n BETWEEN 1": "1",
    "n BETWEEN 1 2": "2",
    "n BETWEEN 1, 2": ",",
    "n BETWEEN 1 OR 2": "OR",
    "n BETWEEN SYMMETRIC 1 AND 2": "SYMMETRIC",
    "n BETWEEN 1 AND 'x'": "'x'",
    "n BETWEEN m AND r": "r",
    "n BETWEEN (1 AND 2)": ")",
    "NOT": "",
    "NOT NOT": "",
    "n NOT 1": "1",
    "n NOT = 1": "=",
    "n IS": "",
    "n IS NOT": "",
    "n IS NOT 1": "1",
    "Page = 'a'": "Page",
    "PAGE = 'a'": "PAGE",
    "\"PAGE\" = 'a'": '"PAGE"',
    "pages = 'a'": "pages",
    "\"mixed case\" = 'a'": '"mixed case"',
    "Mixed Case = 'a'": "Mixed",
    "LAMBDA x : x": "LAMBDA",
    "x -> x + 1": "x",
    "n OVER () = 1": "OVER",
    "sum(n) OVER () = 1": "sum",
    "flag AS x": "AS",
    "page LIKE 'a' LIKE 'b'": "page LIKE 'a'",
    "n IN (1) IN (2)": "n IN (1",
    "n OPERATOR(pg_catalog.=) 1": "OPERATOR",
    "n ıs null": "ıs",
    "n = １": "１",
    "n ＝ 1": "＝",
    "LIMIT 1": "LIMIT",
    "n = 1 LIMIT 1": "LIMIT",
    "n = 1 ORDER BY n": "ORDER",
    "n = 1 UNION SELECT 1": "UNION",
    "TRUE AND": "",
    "DATE '2024-01-01'": "DATE '2024-01-01'",
    "TRUE IN (TRUE)": "TRUE",
    "\"\" = 'a'": '""',
    '""': '""',
    "NOT page": "page",
    "page LIKE 'a' AND": "",
    "IN (1)": "IN",
    "LIKE 'a'": "LIKE",
    "BETWEEN 1 AND 2": "BETWEEN",
    "flag flag": "flag",
    "page IN ('a' 'b')": "'b'",
    "DATE = '2024-01-01'": "DATE",
    "getvariable('x') = 1": "getvariable",
    "current_user = 'x'": "current_user",
}


def refusal(text: str, schema: PublicSchema = SCHEMA) -> PredicateError:
    with pytest.raises(PredicateError) as caught:
        read_predicate(text, schema)
    return caught.value


@pytest.fixture(scope="module")
def blank() -> duckdb.DuckDBPyConnection:
    """A table of the schema without a row: enough to bind a query."""
    columns = ", ".join('"' + column.name.replace('"', '""') + '" ' + TYPES[column.kind] for column in SCHEMA.columns)
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE blank ({columns})")
    return connection


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

AT_THE_LIMIT = {
    "characters": "n = 1" + " " * 9_995,
    "words": "flag AND " * 99 + "NOT flag",
    "depth of brackets": "(" * 25 + "n = 1" + ")" * 25,
    "depth of NOTs": "NOT " * 25 + "flag",
    "depth of both": "NOT (" * 12 + "n = 1" + ")" * 12,
    "brackets one after another": " AND ".join(["(n = 1)"] * 50),
    "list": "n IN (" + ", ".join(map(str, range(1_000))) + ")",
    "several lists": " OR ".join(["n IN (" + ",".join(["1"] * 1_000) + ")"] * 4),
    "string": "page = '" + "x" * 1_000 + "'",
    "pattern": "page LIKE '" + "x" * 200 + "'",
    "percent signs": "page LIKE '" + "%x" * 20 + "'",
    "percent signs that are one": "page LIKE '" + "%" * 500 + "'",
    "digits": "r = 0." + "1" * 98,
}
BEYOND_THE_LIMIT = {
    "characters": "n = 1" + " " * 9_996,
    "words": "flag AND " * 100 + "flag",
    "depth of brackets": "(" * 26 + "n = 1" + ")" * 26,
    "depth of NOTs": "NOT " * 26 + "flag",
    "depth of both": "NOT (" * 13 + "n = 1" + ")" * 13,
    "list": "n IN (" + ", ".join(map(str, range(1_001))) + ")",
    "string": "page = '" + "x" * 1_001 + "'",
    "pattern": "page LIKE '" + "x" * 201 + "'",
    "percent signs": "page LIKE '" + "%x" * 21 + "'",
    "digits": "r = 0." + "1" * 99,
}


@pytest.mark.parametrize("size", AT_THE_LIMIT)
def test_a_predicate_at_a_limit_is_read(size: str, blank: duckdb.DuckDBPyConnection) -> None:
    sql = read_predicate(AT_THE_LIMIT[size], SCHEMA).sql
    assert blank.execute(f"SELECT count(*) FROM blank WHERE {sql}").fetchall() == [(0,)]


@pytest.mark.parametrize("size", BEYOND_THE_LIMIT)
def test_a_predicate_beyond_a_limit_is_refused(size: str) -> None:
    refusal(BEYOND_THE_LIMIT[size])


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        ")" * 10_000,
        "(" * 4_990 + "n = 1" + ")" * 4_990,
        "NOT " * 2_499 + "flag",
        "n = 1 AND " * 999 + "n = 1",
        "n IN (" * 1_600,
        "-" * 10_000,
        "- " * 5_000,
        "'" * 9_999,
        '"' * 9_999,
        "'" + '"' * 9_999,
        "n = " + "9" * 9_990,
        "r = " + "9" * 4_000 + "e" + "9" * 4_000,
        "a" * 10_000,
        "1" * 10_000,
        "1." * 5_000,
        "page LIKE '" + "_%" * 4_000 + "'",
        "DATE " * 2_000,
        "DATE '" + "1" * 9_000 + "'",
    ],
    ids=lambda text: text[:10],
)
def test_a_monster_is_refused_at_once(text: str) -> None:
    start = time.perf_counter()
    refusal(text)
    assert time.perf_counter() - start < 2


def test_a_caller_that_is_deep_in_its_stack_gets_a_refusal_and_no_recursion_error() -> None:
    def descend(levels: int) -> PredicateError:
        return descend(levels - 1) if levels else refusal("(" * 25 + "n = 1" + ")" * 25)

    limit = sys.getrecursionlimit()
    assert isinstance(descend(limit - 400), PredicateError)


@pytest.mark.parametrize("pattern", ["%a%a%a%a%a%b", "%a_b", "%a_b%", "a%a_b%", "_%a", "%" + "a" * 190 + "_b%"])
@pytest.mark.parametrize("negation", ["", "NOT "])
def test_a_pattern_is_matched_in_a_short_time(pattern: str, negation: str) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE cells AS SELECT repeat('a', 200_000) AS page")
    sql = read_predicate(f"page {negation}LIKE '{pattern}'", SCHEMA).sql
    start = time.perf_counter()
    connection.execute(f"SELECT count(*) FROM cells WHERE {sql}").fetchall()
    assert time.perf_counter() - start < 2


# --- Manners ---------------------------------------------------------------------------------------------------------


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
    script = "import sys, noisegate; assert 'sqlglot' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_tables_are_as_long_as_they_should_be() -> None:
    assert len(ACCEPTED) >= 60
    assert len(REFUSED) >= 80
