"""A release for every group of a public list: in every engine, of every kind, and what is refused by name."""

from __future__ import annotations

import collections
import itertools
import math
import re
from collections.abc import Hashable
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pytest
from tests.support.accounts import Noted
from tests.support.goodness import excess
from tests.support.release_laws import law
from tests.support.table_releases import prepared_groups

import sparsegate as sg
from sparsegate.conditions import duckdb_columns, read_value
from sparsegate.conditions.operations import PARTS, WINDOWS
from sparsegate.errors import ConditionError, ParameterError, TableError
from sparsegate.tables import prepared as counting
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
    assert close(top(table, count=4, per="year_month(day)", groups="2023-12..2024-03", where="page <> '/z9'"), expected)


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


DE = {"per": "country", "groups": "DE"}


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


@pytest.mark.parametrize(
    ("parameter", "options"),
    [
        ("groups", {"per": "country"}),
        ("groups", {"groups": ["DE"]}),
        ("groups_per_user", {"groups_per_user": 2}),
        *(("groups", {"per": "country", "groups": bad}) for bad in ([], [1, True], 7, [1.5], "DE,,FR")),
        *(("groups", {"per": "country", "groups": bad}) for bad in ("2024-12..2024-01", "2024-01..2024-1")),
        ("groups", {"per": "code", "groups": "DE"}),
        ("groups", {"per": "upper(country)", "groups": "de"}),
        ("per", {"per": "", "groups": "DE"}),
        *(("per", {"per": bad, "groups": "DE"}) for bad in ("contry", "code + 1", "country #")),
        (None, {"per": "Country", "groups": "DE"}),
        *(("groups_per_user", {**DE, "groups_per_user": bad}) for bad in (0, 2)),
        ("groups_per_user", {**DE, "groups_per_user": 1, "unit": "row"}),
        ("count", {"per": "country", "groups": "1..1000", "count": 10**7}),
        ("above", {**DE, "epsilon": 0.1, "delta": 5e-7, "above": 100, "max_items_per_user": 1}),
    ],
)
def test_what_is_wrong_is_refused_by_name_and_costs_nothing(parameter: str | None, options: dict[str, Any]) -> None:
    with pytest.raises((ParameterError, ConditionError, TableError)) as refused:
        top(polars.DataFrame(COLUMNS), ledger=Noted(refuses=AssertionError("charged")), **options)
    assert getattr(refused.value, "parameter", None) == parameter


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


REFUSED = [
    ("year_week(day)", "1..20", "2031-W01..2031-W20"),
    ("year_week(day)", ["2031-W53"], "2031-W01"),
    ("year_month(day)", "2031-1", "2031-01..2031-12"),
    ("year_month(day)", [date(2031, 1, 1)], "2031-01..2031-12"),
    ("year_quarter(day)", "2031-Q5", "2031-Q1"),
    ("month(day)", "1..13", "1..12"),
    ("isodow(day)", "0..6", "1..7"),
    ("hour(day)", "24", "0..23"),
    ("length(page)", "-1", "1..9"),
    ("lower(country)", "DE,FR", "as it writes them"),
    ("trim(country)", [" de"], "as it writes them"),
    ("day = DATE '2031-01-01'", "yes,no", "true,false"),
    ("CAST(day AS DATE)", "2031-02-30", "2031-01-01..2031-01-31"),
    ("CASE WHEN country = 'de' THEN 'here' ELSE 'there' END", "Here", "here,there"),
]


def test_a_form_that_is_never_given_is_refused_and_the_right_one_is_shown() -> None:
    schema, _ = duckdb_columns({"day": "date", "page": "varchar", "country": "varchar"})
    for per, groups, right in REFUSED:
        with pytest.raises(ParameterError, match=re.escape(right)):
            check_expression(groups, per, read_value(per, schema).tree)


def test_groups_are_listed_in_many_ways() -> None:
    for groups in (["DE", "FR", "DE"], polars.Series(["DE", "FR"]), "DE, FR", np.array(["DE", "FR"])):
        assert list(public_groups(groups, "country", STRING)) == ["DE", "FR"]
    assert public_groups([date(2024, 1, 1), True], "x", STRING) == {"2024-01-01": date(2024, 1, 1), "true": True}
    assert public_groups(range(2), "x", INTEGER) == {0: 0, 1: 1}
    assert [*public_groups("2030-W52..2031-W02", "x", STRING)] == ["2030-W52", "2031-W01", "2031-W02"]


COUNTRIES = ["DE", "FR", "IT"]
Rows = list[tuple[str, str, str]]
CROWD: Rows = [
    (country, page, f"{country}{page}{number}") for country in COUNTRIES for page in "abc" for number in range(2)
]
# Everybody else is in two groups, so that a rule which looked at other people could move them.
BOTH: Rows = [*CROWD, *((country, page, f"{page}") for page in "abc" for country in ("DE", "IT"))]


def joint_law(release: PreparedGroups) -> dict[Hashable, float]:
    """Every group draws by itself: the law of all of them together is the product of theirs."""
    laws = [law(prepared) for prepared in release.groups.values()]
    whole: dict[Hashable, float] = {}
    for outcome in itertools.product(*(one.items() for one in laws)):
        whole[tuple(names for names, _ in outcome)] = math.prod(probability for _, probability in outcome)
    return whole


def worst(rows: Rows, person: Rows, domain: Any, *, at: float, **options: Any) -> float:
    """The larger delta of both directions, with and without the person, at epsilon = ``at``."""
    tables = (rows, [*rows, *person])
    one, other = (joint_law(prepared_groups(table, domain, COUNTRIES, **options)) for table in tables)
    return max(excess(one, other, at), excess(other, one, at))


EVERYWHERE: Rows = [(country, page, "new") for country in COUNTRIES for page in "d"]
ALL_PAGES: Rows = [(country, page, "new") for country in COUNTRIES for page in "abcd"]


@pytest.mark.parametrize(
    ("person", "options"),
    [
        (ALL_PAGES, {}),
        (ALL_PAGES, {"groups_per_user": 2}),
        (EVERYWHERE, {"groups_per_user": 3}),
        (ALL_PAGES, {"max_items_per_user": 2, "groups_per_user": 2}),
    ],
    ids=str,
)
def test_a_person_with_rows_in_every_group_costs_epsilon_once(person: Rows, options: dict[str, Any]) -> None:
    assert worst(BOTH, person, list("abcd"), at=2, count=1, epsilon=2, **options) < 1e-12


@pytest.mark.parametrize("most", [1, 3])
def test_nearly_all_of_epsilon_is_used(most: int) -> None:
    """A page that nobody else has is as rare as can be: the loss of each group comes near its share."""
    assert worst(CROWD, EVERYWHERE, list("abcd"), at=2 * 0.5, count=1, epsilon=2, groups_per_user=most) > 1e-3


@pytest.mark.parametrize("most", [1, 2])
def test_without_the_cut_epsilon_is_exceeded(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same check sees a person who keeps rows in every group, at a price for fewer."""

    def uncut(engine: Any, rows: Any, *_: Any, **__: Any) -> Any:
        return rows.group("item", "user")

    monkeypatch.setattr(counting, "cut_users", uncut)
    assert worst(CROWD, EVERYWHERE, list("abcd"), at=2, count=1, epsilon=2, groups_per_user=most) > 1e-4


@pytest.mark.parametrize("most", [1, 2])
def test_an_observed_domain_keeps_delta_for_all_groups_together(most: int) -> None:
    given = {"count": 1, "epsilon": 6, "delta": 0.02, "dbar": 4, "groups_per_user": most}
    assert 0 < worst(BOTH, ALL_PAGES, "observed", at=6, **given) <= 0.02


def test_a_row_is_in_one_group_by_itself() -> None:
    given = {"count": 1, "epsilon": 2, "unit": "row"}
    assert worst(CROWD, EVERYWHERE[:1], list("abcd"), at=2, **given) < 1e-12
    assert worst(CROWD, EVERYWHERE[:1], list("abcd"), at=1, **given) > 1e-3


def test_what_is_kept_of_a_person_does_not_depend_on_others() -> None:
    """The groups whose counts a person moves are at most k, and the same whoever else is there."""

    def moved(rows: Rows, most: int) -> set[Hashable]:
        before, after = (
            prepared_groups(table, list("abcd"), COUNTRIES, count=1, epsilon=1, groups_per_user=most).groups
            for table in (rows, [*rows, *ALL_PAGES])
        )
        return {g for g in COUNTRIES if before[g]._counted.histogram != after[g]._counted.histogram}

    for most in (1, 2):
        alike = [moved(rows, most) for rows in (CROWD, BOTH, CROWD[3:])]
        assert len(alike[0]) == most
        assert alike[0] == alike[1] == alike[2]
