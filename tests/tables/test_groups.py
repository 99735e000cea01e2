"""A release for every group of a public list: in every engine, of every kind, and what is refused by name."""

from __future__ import annotations

import collections
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pytest
from tests.support.accounts import Noted

import sparsegate as sg
from sparsegate.conditions import duckdb_columns, read_value
from sparsegate.conditions.operations import PARTS, WINDOWS
from sparsegate.errors import ConditionError, ParameterError, TableError
from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.groups import check_expression, form_of, public_groups
from sparsegate.tables.labels import INTEGER, STRING
from sparsegate.tables.prepared import PreparedGroups, prepare
from sparsegate.tables.question import Question

# Group 49 has /a 30, /b 10; group 33 has /a 5, /c 20; and group 39, which is not listed, 50 of /z and /a.
CELLS = [(49, "/a")] * 30 + [(49, "/b")] * 10 + [(33, "/a")] * 5 + [(33, "/c")] * 20 + [(39, "/z")] * 50 + [(39, "/a")]
COLUMNS: dict[str, list[Any]] = {
    "code": [code for code, _ in CELLS],
    "country": [{49: "DE", 33: "FR", 39: "IT"}[code] for code, _ in CELLS],
    "page": [page for _, page in CELLS],
    "visitor": list(range(len(CELLS))),
}
DOMAIN = ["/a", "/b", "/c", "/z"]


def top(table: Any, **options: Any) -> Any:
    """At epsilon 40 a wrong selection, or a count 2 off, has a probability below e**-30."""
    unit = {} if "unit" in options else {"user": "visitor"}
    given = {"item": "page", "count": 2, "domain": DOMAIN, "epsilon": 40, "answers_epsilon": 40, **unit, **options}
    if "above" in options:
        return sg.items_above(table, **{name: given[name] for name in given if name not in ("count", "domain")})
    return sg.top_sums(table, **given) if "value" in options else sg.top_items(table, **given)


def close(found: Any, expected: dict[Any, dict[str, int]]) -> bool:
    estimates = {group: dict(zip(one.items, one.estimates, strict=True)) for group, one in found.groups.items()}
    return list(estimates) == list(expected) and all(
        set(counts) <= set(estimates[group]) and all(abs(estimates[group][page] - n) <= 2 for page, n in counts.items())
        for group, counts in expected.items()
    )


def test_every_engine_has_a_release_for_every_group(make, request: pytest.FixtureRequest) -> None:
    """Of a column of text or of whole numbers; a group that nobody is in has a release of the same shape."""
    table = make(COLUMNS)
    unit = {"unit": "row"} if "spark" in request.node.name else {}  # the other one takes a minute there
    by_text = top(table, per="country", groups=["FR", "ZZ", "DE"], **unit)
    assert close(by_text, {"FR": {"/c": 20, "/a": 5}, "ZZ": {}, "DE": {"/a": 30, "/b": 10}})
    assert [len(one) for one in by_text.groups.values()] == [2, 2, 2]
    if unit:
        return
    by_number = top(table, per="code", groups="33, 49", groups_per_user=2)
    assert close(by_number, {33: {"/c": 20, "/a": 5}, 49: {"/a": 30, "/b": 10}})


@pytest.mark.parametrize(
    "options",
    [
        {"unit": "row"},
        {"max_items_per_user": 1},
        {"domain": "observed", "delta": 1e-4},
        {"value": "code", "clip": (0, 1)},
        {"max_items_per_user": 1, "above": 8, "delta": 1e-4},
    ],
)
def test_every_kind_of_question_has_groups(options: dict[str, Any]) -> None:
    found = top(polars.DataFrame(COLUMNS), per="country", groups=["DE", "FR", "ZZ"], **options).groups
    assert list(found) == ["DE", "FR", "ZZ"]
    first = {group: one.items[0] if one.items else None for group, one in found.items()}
    assert (first["DE"], first["FR"]) == ("/a", "/c")
    assert (first["ZZ"] is None) == ("delta" in options)


def test_the_counts_of_one_pass_are_those_of_each_group_by_itself() -> None:
    """People have rows in several groups, and several rows of an item: exactly what a dictionary counts."""
    rows = [*((n % 3, n % 5, n * 7 % 11) for n in range(200)), (0, 5, 1), (2, 5, 1), (1, 9, 1)]
    columns = {"g": [g for g, _, _ in rows], "page": [p for _, p, _ in rows], "visitor": [v for _, _, v in rows]}
    asked: dict[str, Any] = {"per": "g", "groups": [0, 1, 2], "groups_per_user": 3, "domain": 8}
    question = Question(item="page", user="visitor", count=1, epsilon=1, **asked)
    with open_engine(polars.DataFrame(columns)) as engine:
        prepared = prepare(engine, question, 8, "visitor", [0, 1, 2])
        assert isinstance(prepared, PreparedGroups)
        for group, one in prepared.groups.items():
            pairs = {(page, visitor) for g, page, visitor in rows if g == group and page < 8}
            sizes = collections.Counter(collections.Counter(page for page, _ in pairs).values())
            assert one._counted.histogram == dict(sizes)
        # Named at once, ties and candidates that nobody has included, as each group names them by itself.
        everything = [
            [(score, rank) for score, items in one._counted.histogram.items() for rank in reversed(range(items))]
            + [(0, rank) for rank in range(8 - one._counted.total)]
            for one in prepared.groups.values()
        ]
        apart = [one.name(picks) for one, picks in zip(prepared.groups.values(), everything, strict=True)]
        assert prepared._named(everything) == apart
        assert [sorted(label for label, _ in names) for names in apart] == [list(range(8))] * 3


def test_a_window_of_time_is_a_group() -> None:
    """An expression of the row; a pandas index that repeats changes nothing."""
    days = [date(2023, 12, 31) + timedelta(days=n % 61) for n in range(len(CELLS))]
    moments = pandas.to_datetime([str(day) for day in days])
    table = pandas.DataFrame({**COLUMNS, "day": moments}, index=[7] * len(days))
    counts = collections.Counter((str(day)[:7], page) for day, page in zip(days, COLUMNS["page"], strict=True))
    groups = ["2023-12", "2024-01", "2024-02", "2024-03"]
    expected = {group: {page: n for page in DOMAIN if (n := counts[group, page])} for group in groups}
    found = top(table, count=4, per="year_month(day)", groups="2023-12..2024-03", where="page <> '/old'")
    assert close(found, expected)
    months = top(table, count=4, per="month(day)", groups=[1, 2], max_items_per_user=1)
    assert close(months, {1: expected["2024-01"], 2: expected["2024-02"]})
    daily = top(polars.DataFrame({**COLUMNS, "day": days}), count=4, per="day", groups="2023-12-31..2024-01-02")
    assert list(daily.groups) == ["2023-12-31", "2024-01-01", "2024-01-02"]
    assert sum(daily.groups["2024-01-01"].estimates) == pytest.approx(days.count(date(2024, 1, 1)), abs=8)


def test_spark_takes_a_column_and_no_expression(spark: Any) -> None:
    table = spark.createDataFrame([("/a", 1, "DE")], "page string, visitor bigint, country string")
    with pytest.raises(ParameterError, match="per must be the name of a column for a table of Spark"):
        top(table, per="lower(country)", groups=["de"])


def test_people_with_the_same_groups_do_not_all_lose_the_same_one() -> None:
    """Everybody is in both groups and keeps one of them; each should keep about half of 2,000 people."""
    people = [(f"/{n % 40}", n, country) for n in range(2_000) for country in ("DE", "FR")]
    extra = [(f"/x{n * n % 37}", n, "DE") for n in range(2_000)]
    table = polars.DataFrame([*people, *extra], schema=["page", "visitor", "country"], orient="row")
    domain = [f"/{n}" for n in range(40)] + [f"/x{n}" for n in range(37)]
    found = top(table, count=77, domain=domain, epsilon=4000, answers_epsilon=4000, per="country", groups="DE,FR")
    kept = {
        g: sum(n for page, n in zip(one.items, one.estimates, strict=True) if "x" not in page)
        for g, one in found.groups.items()
    }
    assert sum(kept.values()) == 2_000
    assert 800 < kept["DE"] < 1_200


def test_a_group_that_is_not_listed_takes_nobodys_place() -> None:
    rows = [("/a", n, country) for n in range(30) for country in ("DE", "IT", "ES")]
    rows += [(f"/no candidate {n}", n, "FR") for n in range(30)]
    rows += [(DOMAIN[place], n, "DE") for n in range(30) for place in range(4) if n >> place & 1]
    table = polars.DataFrame(rows, schema=["page", "visitor", "country"], orient="row")
    assert close(top(table, per="country", groups="DE,FR"), {"DE": {"/a": 30}, "FR": {}})


def test_the_record_says_how_groups_compose_and_each_group_what_it_cost() -> None:
    table = polars.DataFrame(COLUMNS)
    found = top(table, per="country", groups=["DE", "FR", "IT"], groups_per_user=2, epsilon=1, answers_epsilon=0.5)
    record = found.record
    assert (record.epsilon, record.answers_epsilon) == (Fraction(3, 2), Fraction(1, 2))
    assert (record.per, record.groups, record.groups_per_user) == ("country", 3, 2)
    assert record.composition.startswith("parallel: each user is in at most 2 of 3 groups")
    assert "at most 2 groups of each user" in record.counted
    assert {one.record.epsilon for one in found.groups.values()} == {record.epsilon / 2}
    assert len(found.dp_event().events) == 2
    alone = top(table, per="country", groups=["DE", "FR", "IT"], domain="observed", delta=1e-4, groups_per_user=2)
    assert (alone.record.delta, alone.groups["DE"].record.delta) == (Fraction(1, 10_000), Fraction(1, 20_000))


def test_it_is_charged_once_and_kept_whole(tmp_path: Path) -> None:
    with sg.Ledger.create(tmp_path / "x.ledger", dataset="x", budget=100) as ledger:
        found = top(polars.DataFrame(COLUMNS), per="country", groups=["DE", "FR"], ledger=ledger)
        assert ledger.statement().spent.epsilon == 80
        (kept,) = ledger.release(2).gave
    assert kept["items"] == found.to_dict()["items"]
    assert kept["groups"] == ["DE", "FR"]
    assert kept["record"]["composition"] == found.record.composition


def test_the_result_has_each_group_and_all_of_them() -> None:
    found = top(
        polars.DataFrame(COLUMNS), per="country", groups=["DE", "ZZ"], answers_epsilon=0, domain="observed", delta=1e-4
    )
    assert (found.items, list(found.groups), found.groups["ZZ"].items) == (("/a", "/b"), ["DE", "ZZ"], ())
    assert found.to_dict()["groups"] == ["DE", "ZZ"]
    assert found.to_pandas().to_dict("list") == {"country": ["DE", "DE"], "rank": [1, 2], "page": ["/a", "/b"]}
    assert found.to_polars().columns == found.to_arrow().column_names == ["country", "rank", "page"]
    assert "<td>DE</td>" in found._repr_html_()


DE = {"per": "country", "groups": "DE"}


@pytest.mark.parametrize(
    ("parameter", "options"),
    [
        ("groups", {"per": "country"}),
        ("groups", {"groups": ["DE"]}),
        ("groups_per_user", {"groups_per_user": 2}),
        *(("groups", {"per": "country", "groups": bad}) for bad in ([], [1, True], 7, [1.5], "DE,,FR")),
        *(("groups", {"per": "country", "groups": bad}) for bad in ("2024-12..2024-01", "2024-01..2024-1")),
        ("groups", {"per": "code", "groups": "DE"}),
        ("per", {"per": "", "groups": "DE"}),
        *(("groups_per_user", {**DE, "groups_per_user": bad}) for bad in (0, 2)),
        ("groups_per_user", {**DE, "groups_per_user": 1, "unit": "row"}),
        ("count", {"per": "country", "groups": "1..1000", "count": 10**7}),
        (
            "above",
            {**DE, "groups": "DE,FR", "groups_per_user": 2, "epsilon": 0.2, "delta": 1e-6, "above": 100}
            | {"max_items_per_user": 1},
        ),
    ],
)
def test_what_is_wrong_is_refused_by_name_and_costs_nothing(parameter: str, options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as refused:
        top(polars.DataFrame(COLUMNS), ledger=Noted(refuses=AssertionError("charged")), **options)
    assert refused.value.parameter == parameter


@pytest.mark.parametrize(
    ("per", "error"),
    [
        ("contry", ConditionError),
        ("Country", TableError),
        ("code + 1", ConditionError),
        ("lower(code)", ConditionError),
        ("country #", ConditionError),
    ],
)
def test_a_wrong_expression_is_refused_as_per(per: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="^per must|no column 'Country'; did you mean 'country'"):
        top(polars.DataFrame(COLUMNS), per=per, groups=["DE"])


def test_groups_come_from_a_public_file_and_not_from_the_table_itself(tmp_path: Path) -> None:
    table, public = tmp_path / "visits.parquet", tmp_path / "countries.csv"
    polars.DataFrame(COLUMNS).write_parquet(table)
    public.write_text("country,name\nFR,France\nDE,Germany\n")
    assert set(top(table, per="country", groups=public).groups) == {"FR", "DE"}
    assert list(top(table, per="upper(country)", groups=Path(f"{public}:country")).groups) == ["FR", "DE"]
    with pytest.raises(ParameterError, match="groups must not be the table itself: which groups are in it is private"):
        top(table, per="country", groups=table)
    with pytest.raises(ParameterError, match="groups must name a column of"):
        top(table, per="upper(country)", groups=public)


def test_a_list_of_groups_is_written_in_many_ways() -> None:
    for groups in (["DE", "FR", "DE"], ("DE", "FR"), polars.Series(["DE", "FR"]), "DE, FR", np.array(["DE", "FR"])):
        assert list(public_groups(groups, "country", STRING)) == ["DE", "FR"]
    assert public_groups([date(2024, 1, 1), True], "x", STRING) == {"2024-01-01": date(2024, 1, 1), "true": True}
    assert public_groups(range(2), "x", INTEGER) == {0: 0, 1: 1}


def test_decimals_are_groups_as_they_are_written_or_by_their_value(tmp_path: Path) -> None:
    rows = {"page": ["/a", "/b"] * 50, "visitor": list(range(100)), "price": [Decimal("1.50"), Decimal("2.00")] * 50}
    polars.DataFrame(rows, schema_overrides={"price": polars.Decimal(9, 2)}).write_parquet(tmp_path / "x.parquet")
    asked: dict[str, Any] = {"item": "page", "user": "visitor", "count": 1, "domain": ["/a", "/b"], "epsilon": 100}
    for groups in ("1.50,2.00", [Decimal("1.5"), Decimal(2)], ["1.5", 2]):
        found = sg.top_items(
            tmp_path / "x.parquet", **asked, per="price", groups=groups, source=sg.Seeded(1), not_private=True
        )
        assert [one.items for one in found.groups.values()] == [("/a",), ("/b",)]


# How groups are written

TYPES = {"day": "date", "at": "timestamp", "name": "varchar", "n": "bigint", "ok": "boolean"}
EXPRESSIONS = [
    *(f"{part}(day)" for part in (*PARTS, *WINDOWS)),
    *(f"{part}(at)" for part in (*PARTS, *WINDOWS)),
    *("lower(name)", "upper(name)", "trim(name)", "ltrim(name)", "rtrim(name)", "length(name)", "CAST(at AS DATE)"),
    *("n > 3", "n + 1", "CAST(n AS VARCHAR)", "CAST(year(day) AS VARCHAR)", "coalesce(year_week(day), 'never')"),
    "name",
    "CASE WHEN n < 3 THEN 'young' ELSE 'old' END",
    "CASE n WHEN 3 THEN name ELSE year_month(at) END",
]


def test_whatever_an_expression_gives_is_in_its_form() -> None:
    schema, cells = duckdb_columns(TYPES)
    rows = duckdb.sql(
        """SELECT DATE '1999-12-20' + CAST(i * 97 AS INTEGER) AS day,
            TIMESTAMP '0001-01-01' + to_hours(CAST(i * 13001 AS BIGINT)) + to_seconds(i * 7) AS at,
            ['ab', ' A ', 'ÄÖ', 'x', '', 'ß'][1 + i % 6] AS name, i - 5 AS n, i % 2 = 0 AS ok
        FROM range(3000) AS t(i)"""
    )
    for per in EXPRESSIONS:
        read = read_value(per, schema)
        texts = rows.project(f"CAST({read.sql(cells=cells)} AS VARCHAR) AS text").distinct().fetchall()
        assert len(texts) > (per not in ("hour(day)", "minute(day)", "second(day)")), per
        may_give, _ = form_of(read.tree)
        assert all(may_give(text) for (text,) in texts if text is not None), per


ROWS = {
    "page": ["/a"] * 60 + ["/b"] * 40,
    "visitor": list(range(100)),
    "day": [date(2031, 1, 1 + n % 28) for n in range(100)],
    "country": ["de", "fr"] * 50,
}
REFUSED = [
    ("year_week(day)", "1..20", "2031-W01..2031-W20"),
    ("year_week(day)", ["2031-W53"], "2031-W01"),
    ("year_week(day)", ["2031-W00"], "2031-W01"),
    ("year_month(day)", "2031-1", "2031-01..2031-12"),
    ("year_month(day)", "2031-01,2031-13", "2031-01..2031-12"),
    ("year_month(day)", [date(2031, 1, 1)], "2031-01..2031-12"),
    ("year_quarter(day)", "2031-Q5", "2031-Q1"),
    ("month(day)", "01,02", "1..12"),
    ("month(day)", "1..13", "1..12"),
    ("isodow(day)", "0..6", "1..7"),
    ("hour(day)", "24", "0..23"),
    ("year(day)", "2031.0", "2030..2031"),
    ("length(page)", "-1", "1..9"),
    ("lower(country)", "DE,FR", "as it writes them"),
    ("trim(country)", [" de"], "as it writes them"),
    ("day = DATE '2031-01-01'", "yes,no", "true,false"),
    ("CAST(day AS DATE)", "2031-02-30", "2031-01-01..2031-01-31"),
    ("CASE WHEN country = 'de' THEN 'here' ELSE 'there' END", "Here", "here,there"),
]


def test_a_form_that_is_never_given_is_refused_and_costs_nothing() -> None:
    schema, _ = duckdb_columns({"day": "date", "page": "varchar", "country": "varchar"})
    for per, groups, right in REFUSED:
        with pytest.raises(ParameterError, match="groups must be groups that .* can give") as caught:
            check_expression(groups, per, read_value(per, schema).tree)
        assert right in str(caught.value)
    with pytest.raises(ParameterError, match="groups must be groups that .* can give"):
        top(polars.DataFrame(ROWS), per=per, groups=groups, ledger=Noted(refuses=AssertionError("charged")))


def test_a_file_of_groups_is_checked_too_and_weeks_are_a_range(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"item": "page", "user": "visitor", "count": 1, "domain": ["/a", "/b"], "epsilon": 50}
    quiet = {"source": sg.Seeded(1), "not_private": True, "per": "year_week(day)"}
    (tmp_path / "weeks.csv").write_text("week\n1\n")
    with pytest.raises(ParameterError, match="2031-W01"):
        sg.top_items(polars.DataFrame(ROWS), **asked, **quiet, groups=tmp_path / "weeks.csv")
    found = sg.top_items(polars.DataFrame(ROWS), **asked, **quiet, groups="2030-W52..2031-W05")
    assert list(found.groups) == ["2030-W52", *(f"2031-W0{n}" for n in range(1, 6))]
    assert found.groups["2031-W02"].items == ("/a",)
