"""top_items: the same release from every engine, a record of public numbers, and one charge before the draw."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import pytest
from dp_accounting import dp_event as events
from tests.support import table_reference as reference
from tests.support.accounts import Noted
from tests.support.untouchable import Untouchable
from tests.tables.conftest import Maker, table

from sparsegate.errors import BudgetExceeded, ConditionError, ParameterError, SparsegateError
from sparsegate.gates.laplace import error_bar
from sparsegate.noise import Seeded
from sparsegate.selection.select import Request
from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.top import top_items


def visits() -> list[tuple[Any, Any]]:
    """A table with many users on few pages, few on many, repeated rows, pages outside of the domain, and nulls."""
    rows = []
    for user in range(60):
        for page in range(1 + 40 // (1 + user % 20)):
            rows += [(f"p{page:02}", user)] * (1 + (user + page) % 2)
    rows += [("elsewhere", user) for user in range(50)]
    return [*rows, (None, 7), ("p30", None), (None, None)]


ROWS = visits()
DOMAIN = [f"p{page:02}" for page in range(60)]


def columns(rows: list[tuple[Any, Any]]) -> dict[str, list[Any]]:
    return {"page": [page for page, _ in rows], "visitor": [user for _, user in rows]}


def top(native: Any, **changes: Any) -> Any:
    asked = {"item": "page", "user": "visitor", "count": 8, "epsilon": 1, "domain": DOMAIN}
    return top_items(native, **asked | {"source": Seeded(5), "not_private": True} | changes)


def expected(*, most: int | None = None, **request: Any) -> tuple[Hashable, ...]:
    scored = reference.scores(ROWS, DOMAIN, most=most)
    parameters = {"count": 8, "epsilon": 1, "sensitivity": 1, "monotonic": True, "max_items_per_user": most} | request
    return reference.select(scored, Request(**parameters), Seeded(5).stream())


@pytest.mark.parametrize(
    ("options", "request_options"),
    [({"epsilon": 0.001}, {"epsilon": 0.001}), ({"max_items_per_user": 3}, {"most": 3})],
    ids=["mostly-without-rows", "cut"],
)
def test_every_engine_gives_the_release_that_plain_python_gives(
    make: Maker, options: dict[str, Any], request_options: dict[str, Any]
) -> None:
    assert top(make(columns(ROWS)), **options).items == expected(**request_options)


def test_a_set_is_shown_by_label_or_by_noisy_counts_that_were_paid_for() -> None:
    """Of a histogram the subset comes out by score, which nobody may see."""
    rows = [(page, user) for page, users in (("b", 900), ("c", 800), ("a", 700), ("d", 3)) for user in range(users)]
    asked = {"domain": list("abcd"), "count": 3, "epsilon": 9, "method": "subset"}
    assert top(table("pyarrow", columns(rows)), **asked).items == ("a", "b", "c")
    found = top(table("pyarrow", columns(rows)), **asked, answers_epsilon=9)
    assert found.items == ("b", "c", "a")
    assert [round(count, -2) for count in found.estimates] == [900, 800, 700]


@pytest.mark.parametrize("options", [{}, {"domain": "observed", "delta": 1e-6}], ids=["public", "observed"])
def test_only_a_histogram_and_the_chosen_items_leave_the_engine(
    make: Maker, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    native = make(columns(ROWS))
    kind = type(open_engine(native))
    seen: list[tuple[Any, ...]] = []
    rows = kind.rows

    def recorded(self: Any, frame: Any) -> list[tuple[Any, ...]]:
        out = rows(self, frame)
        seen.extend(out)
        return out

    monkeypatch.setattr(kind, "rows", recorded)
    release = top(native, epsilon=0.1, **options)
    labels = [value for row in seen for value in row if isinstance(value, str)]
    assert sorted(labels) == sorted(release.items)
    counts = Counter(reference.scores(ROWS, [*DOMAIN, "elsewhere"] if options else DOMAIN).values())
    histogram = {(score, items) for score, items in counts.items() if score > 0}
    sizes = {(len(DOMAIN), 0, 0)} if not options else set()  # of public labels: all, padded ones, those with ".0"
    assert {row for row in seen if not any(isinstance(value, str) for value in row)} == histogram | sizes


@pytest.mark.parametrize("method", ["sparse-vector", "retraversal"])
def test_so_do_methods_with_a_threshold(method: str) -> None:
    asked: dict[str, Any] = {"method": method, "threshold": 15, "epsilon": 9}
    assert top(table("duckdb", columns(ROWS)), **asked).items == expected(**asked)


def test_numbers_are_candidates_by_their_number_alone() -> None:
    rows = [(page and int(page[1:]), user) for page, user in ROWS if page != "elsewhere"] + [(-1, 3), (10**12, 4)]
    release = top(table("duckdb", columns(rows)), domain=10**9, count=30, epsilon=30)
    assert len(set(release.items)) == 30
    assert all(isinstance(item, int) and 0 <= item < 10**9 for item in release.items)
    assert {0, 1, 2} < set(release.items)
    assert release.record.domain_size == 10**9


def test_rows_are_people_where_the_caller_says_so() -> None:
    pages = table("duckdb", {"page": ["/home"] * 400 + ["/docs"] * 200 + [None] * 300})
    asked = {"user": None, "unit": "row", "count": 2, "domain": ["/home", "/docs", "/none"]}
    release = top(pages, **asked, epsilon=1, answers_epsilon=1)
    assert release.items == ("/home", "/docs")
    assert all(abs(seen - true) < 20 for seen, true in zip(release.estimates, (400, 200), strict=True))
    assert release.record.unit == "row"
    # One noise of scale 1 / (epsilon + eps3), and a bar for two selected of three: no noise of its own for the counts.
    assert release.record.answers_epsilon == 0
    assert release.record.epsilon == 2
    assert release.error_bar == error_bar(Fraction(1, 2), 0.95, share=4 / 5) == 1
    assert release.error_bar_all == error_bar(Fraction(1, 2), 0.95, share=2 / 5) == 2


def test_an_empty_table_answers_from_scores_of_zero() -> None:
    native = table("duckdb", {"page": ["x"], "visitor": [None]})
    release = top(native, count=3, answers_epsilon=1)
    assert set(release.items) <= set(DOMAIN)
    assert len(release.items) == len(release.estimates) == 3
    assert top(native, domain="observed", delta=1e-6, count=3).items == ()


def test_items_that_only_few_have_stay_hidden_without_a_domain() -> None:
    rows = [("/common", user) for user in range(300)] + [(f"/secret/{user}", user) for user in range(300)]
    asked = {"domain": "observed", "delta": 1e-9, "count": 4, "epsilon": 4, "max_items_per_user": 2}
    release = top(table("duckdb", columns(rows)), **asked)
    assert release.items == ("/common",)
    assert release.record.domain_size is None
    assert release.record.dbar == 40


@pytest.mark.parametrize("options", [{}, {"domain": "observed", "delta": 1e-6}], ids=["public", "observed"])
def test_the_record_holds_public_parameters_alone(options: dict[str, Any]) -> None:
    one = top(table("pyarrow", columns(ROWS)), answers_epsilon=0.25, **options)
    other = top(table("pyarrow", columns(ROWS[:5])), answers_epsilon=0.25, **options)
    assert one.record == other.record
    assert one.record.epsilon == Fraction(5, 4)
    assert json.loads(json.dumps(one.record.published()))["epsilon"] == "1.25"
    assert one.record.private is False
    assert one.record.count == 8


def test_the_ledger_is_charged_after_the_checks_and_before_the_draw() -> None:
    refusing, account = Noted(refuses=BudgetExceeded("too much")), Noted()
    with pytest.raises(BudgetExceeded):
        top(table("pyarrow", columns(ROWS)), ledger=refusing, source=Untouchable(1))
    with pytest.raises(SparsegateError):
        top(table("pyarrow", columns(ROWS)), ledger=account, user="visitors")
    assert account.charged == []
    release = top(table("pyarrow", columns(ROWS)), ledger=account)
    what = "top 8 of page, unit user, method subset, domain public"
    assert account.charged == [(release.record.epsilon, release.record.delta, what)]
    assert account.kept == [{"release": "top_items", **release.to_dict()}]
    assert refusing.kept == []


# At epsilon 40 a wrong selection, or a count 2 off, has a probability below e**-30.
SURE: dict[str, Any] = {"count": 2, "epsilon": 40, "answers_epsilon": 40, "domain": ["/home", "/pay", "/old"]}
VISITS = {
    "page": ["/home"] * 60 + ["/pay"] * 40 + ["/old"] * 90,
    "visitor": list(range(190)),
    "country": (["DE"] * 50 + [None] * 10) + (["DE"] * 10 + ["FR"] * 30) + ["de"] * 90,
}


@pytest.mark.parametrize(
    ("where", "items", "counts"),
    [
        (None, {"/old", "/home"}, {90, 60}),
        ("country = 'DE'", {"/home", "/pay"}, {50, 10}),
        ("COUNTRY IS NULL OR country = 'FR'", {"/home", "/pay"}, {10, 30}),
        ("country IN ('DE', 'FR') AND NOT visitor < 60", {"/pay"}, {40}),
    ],
)
def test_only_rows_that_meet_the_condition_count_and_the_record_has_it(
    where: str | None, items: set[str], counts: set[int]
) -> None:
    account = Noted()
    found = top(table("polars", VISITS), **SURE, where=where, ledger=account)
    assert items <= set(found.items)
    assert all(min(abs(count - other) for other in counts | {0}) <= 2 for count in found.estimates)
    assert found.record.published().get("where") == where
    assert where is None or account.charged[0][2].endswith(f"where {where}")


@pytest.mark.parametrize("where", ["contry = 'DE'", "country =", ""])
def test_a_bad_condition_spends_nothing(where: str) -> None:
    with pytest.raises(ConditionError):
        top(table("duckdb", VISITS), **SURE, where=where, ledger=Noted(refuses=AssertionError("charged")))


def test_spark_takes_no_condition(spark: Any) -> None:
    native = spark.createDataFrame([("/a", 1)], "page string, visitor bigint")
    with pytest.raises(ParameterError, match="where must not be given for a table of Spark"):
        top(native, where="page = '/a'")


def test_a_release_is_an_event_of_dp_accounting() -> None:
    rows = table("duckdb", columns([("a", 1), ("b", 2), ("a", 3)]))
    asked: dict[str, Any] = {"count": 2, "domain": ["a", "b", "c"], "method": "exponential"}
    assert top(rows, **asked).dp_event() == events.ZCDpEvent(rho=pytest.approx(1 / 16))
    selected, answers = top(rows, **asked, answers_epsilon=0.5).dp_event("pld").events
    assert selected == events.LaplaceDpEvent(pytest.approx(1))
    assert answers == events.DiscreteLaplaceDpEvent(noise_parameter=pytest.approx(0.5), sensitivity=1)
    with pytest.raises(ParameterError) as refused:
        top(rows, domain="observed", delta=1e-6).dp_event()
    assert refused.value.parameter == "release"
