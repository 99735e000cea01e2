"""What is refused, when, and in which words: nothing spent, nothing drawn, and no cell repeated."""

from __future__ import annotations

import itertools
import math
import traceback
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pytest
from tests.support.accounts import Noted
from tests.support.untouchable import Untouchable
from tests.tables.conftest import table

import sparsegate as sg
from sparsegate.errors import ParameterError, TableError
from sparsegate.gates.preview import least_epsilon
from sparsegate.noise import Seeded
from sparsegate.selection.select import Request
from sparsegate.tables.domain import CHANGED
from sparsegate.tables.engines.duckdb import Relation
from sparsegate.tables.engines.engine import guarded
from sparsegate.tables.question import Question
from sparsegate.tables.release import TopItems
from sparsegate.tables.top import items_above, top_items

SECRET = "secret-cell-8675309"
COLUMNS = {"page": ["/home", SECRET, "/docs"], "visitor": [1, 2, 3]}


def ask(native: Any = None, **changes: Any) -> Any:
    fixed = {"item": "page", "user": "visitor", "epsilon": 1, "source": Untouchable(1), "not_private": True}
    fixed["ledger"] = Noted(refuses=AssertionError("charged"))
    table_ = table("pyarrow", COLUMNS) if native is None else native
    if "above" in changes:
        return items_above(table_, **fixed | changes)
    return top_items(table_, **fixed | {"count": 2, "domain": ["/home", "/docs", "/blog"]} | changes)


OBSERVED = {"domain": "observed", "delta": 1e-6}
ABOVE = {"delta": 1e-6, "above": 100, "max_items_per_user": 1}


@pytest.mark.parametrize(
    ("parameter", "changes"),
    [
        *(("count", {"count": bad}) for bad in (0, 1.5, True, None, 4, 10**30)),
        *(("epsilon", {"epsilon": bad}) for bad in (0, math.nan, None)),
        ("people", {"people": 0}),
        *(("answers_epsilon", {"answers_epsilon": bad}) for bad in (-1, math.inf)),
        *(("item", {"item": bad}) for bad in (None, 3)),
        *(("user", {"user": bad}) for bad in (None, 3)),
        *(("unit", {"unit": bad}) for bad in ("row", "person")),
        *(("method", {"method": bad}) for bad in ("em", None)),
        ("threshold", {"method": "sparse-vector"}),
        ("threshold", {"threshold": 5}),
        ("scale", {"method": "sparse-vector", "threshold": 5, "epsilon": 1e-15}),
        ("scale", {"answers_epsilon": 1e-17}),
        *(("domain", {"domain": bad}) for bad in (None, "pages.csv", True, 7, [1, 2])),
        *(("delta", {"domain": "observed", "delta": bad}) for bad in (0, 1, -1)),
        ("count", {**OBSERVED, "count": 10**7 + 1}),
        ("dbar", {**OBSERVED, "dbar": 2**53 + 1}),
        ("delta", {"delta": 1e-6, "method": "exponential"}),
        ("delta", {"method": "gumbel"}),
        ("ordered", {"ordered": True, "method": "subset"}),
        ("dbar", {"dbar": 50}),
        *(("dbar", {**OBSERVED, "dbar": bad}) for bad in (1, 2.5)),
        ("method", {**OBSERVED, "method": "sparse-vector", "threshold": 5}),
        ("epsilon", {**OBSERVED, "epsilon": 1e-30}),
        *(("above", {**ABOVE, "above": bad}) for bad in (0, 5, 2.5)),
        *(("delta", {**ABOVE, "delta": bad}) for bad in (0, 1)),
        ("max_items_per_user", {**ABOVE, "max_items_per_user": None}),
        ("epsilon", {**ABOVE, "epsilon": 1e-30}),
        ("epsilon", {**ABOVE, "epsilon": 0}),
        ("max_items_per_user", {"max_items_per_user": 5, "user": None, "unit": "row"}),
        *(("max_items_per_user", {"max_items_per_user": bad}) for bad in (0, 1.5)),
        ("user", {"user": "page"}),
        ("source", {"source": 7}),
        ("not_private", {"not_private": False}),
    ],
)
def test_a_bad_parameter_is_named_before_anything_is_charged_or_drawn(parameter: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as caught:
        ask(**changes)
    assert caught.value.parameter == parameter
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    for others in ({"page": ["/blog"] * 99, "visitor": [*range(98), None]}, {"page": ["x"], "visitor": [None]}):
        with pytest.raises(ParameterError) as same:  # in the same words, whoever is in the table
            ask(table("pyarrow", others), **changes)
        assert str(same.value) == str(caught.value)


def test_what_has_no_meaning_above_a_bar_is_refused_by_name() -> None:
    """As the command line and the service may ask it."""
    fixed = {"item": "page", "user": "visitor", "epsilon": 1, "domain": "observed", **ABOVE}
    others = {"count": 2, "method": "retraversal", "threshold": 5, "ordered": True, "dbar": 50}
    refusals: list[tuple[str, dict[str, Any]]] = [(name, {name: value}) for name, value in others.items()]
    for parameter, changes in [*refusals, ("above", {"domain": ["/a"]}), ("above", {"value": "paid", "clip": (0, 1)})]:
        with pytest.raises(ParameterError) as caught:
            Question(**fixed | changes)
        assert caught.value.parameter == parameter


def test_what_is_no_table_and_columns_that_are_not_there_or_tell_nobody_apart_are_refused() -> None:
    frame = polars.DataFrame({"page": ["a"], "visitor": [1], "many": [[1]]})
    for native, changes, message in (
        (frame, {"item": "pages"}, "did you mean 'page'"),
        (frame, {"user": "qqqqqqq"}, "check its name"),
        (frame, {"item": "many"}, "column 'many' must be numbers, strings, .* or instants, not list"),
        (frame, {"user": "many"}, "column 'many' must be of a type that tells people apart exactly"),
        (object(), {}, "is of type object$"),
    ):
        with pytest.raises(TableError, match=message):
            ask(native, **changes)


def test_an_engine_that_fails_says_where_and_never_what() -> None:
    relation = duckdb.connect().sql(f"SELECT CAST(x AS INT) AS page, 1 AS visitor FROM (VALUES ('{SECRET}')) t(x)")
    with pytest.raises(
        TableError, match=r"DuckDB could not run a query \(ConversionException\).*nothing was spent"
    ) as caught:
        ask(relation, domain=10)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


def changed() -> None:
    raise TableError(CHANGED)


def test_a_failure_after_the_draw_says_that_it_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    account = Noted()
    rows = Relation.rows

    def fail_once_charged(self: Relation, frame: Any) -> Any:
        if account.charged:
            raise RuntimeError(SECRET)
        return rows(self, frame)

    connection = duckdb.connect()
    relation = connection.sql("SELECT '/home' AS page, 1 AS visitor")
    monkeypatch.setattr(Relation, "rows", fail_once_charged)
    with pytest.raises(TableError, match=r"\(RuntimeError\).*counts as spent"):
        ask(relation, ledger=account, source=Seeded(1))
    with pytest.raises(TableError, match="differently a second time.*counts as spent"):
        guarded("Engine", changed, charged=True)
    monkeypatch.undo()
    with pytest.raises(OSError, match="disk full"):  # what the ledger raises is not put down to the engine
        ask(relation, ledger=Noted(refuses=OSError("disk full")))
    assert connection.sql("SELECT count(*) FROM duckdb_tables() WHERE temporary").fetchall() == [(0,)]


# What is promised with a release, and what is refused as hopeless before anything is charged

ASKED: dict[str, Any] = {"item": "page", "user": "visitor", "count": 50, "epsilon": 0.1, "domain": 40_000}
VISITS = pandas.DataFrame({"page": ["/home"] * 40 + ["/docs"] * 30, "visitor": [*range(40), *range(30)]})


def asked(**options: Any) -> Question:
    return Question(**ASKED | options)


def release(**options: Any) -> TopItems:
    public: dict[str, Any] = {"count": 2, "epsilon": 2, "domain": ["/home", "/docs", "/blog", "/jobs"]}
    return sg.top_items(VISITS, item="page", user="visitor", source=sg.Seeded(1), not_private=True, **public | options)


def test_an_observed_domain_promises_what_peeling_its_list_does() -> None:
    """And a public one what its method does, sums in their own units."""
    counted, summed = asked(), asked(value="amount", clip=(0, 100), granularity=0.01)
    assert summed.within(1_000) == pytest.approx(100 * (counted.within(1_000) or 0), abs=100.01)
    assert release(method="sparse-vector", threshold=20).record.within is None
    question = asked(**OBSERVED)
    same = Request(count=50, epsilon=50 * question.accounting.rate, sensitivity=1, monotonic=True, method="exponential")
    promise = same.promise(500)
    assert promise is not None
    assert question.within(None) == promise.within(0.95)
    assert asked(**OBSERVED, count=None, above=5_000, max_items_per_user=3).within(None) is None


def test_error_bars_are_those_of_the_release() -> None:
    paid = release(answers_epsilon=1)
    question = asked(count=2, epsilon=2, answers_epsilon=1)
    assert question.error_bars(4) == (paid.error_bar, paid.error_bar_all) == (6, 7)
    free = release(max_items_per_user=1)
    assert asked(count=2, epsilon=2, max_items_per_user=1).error_bars(4) == (free.error_bar, free.error_bar_all)
    assert asked().error_bars(4) is None


@pytest.mark.parametrize(
    ("options", "total", "few", "many", "blamed"),
    [
        ({}, 40_000, 3_000, 5_000, "epsilon"),
        ({"method": "exponential"}, 40_000, 3_000, 8_000, "epsilon"),
        ({"max_items_per_user": 1}, 40_000, 100, 300, "epsilon"),
        (OBSERVED, None, 3_000, 40_000, "epsilon"),
        ({"epsilon": 1, "answers_epsilon": 0.01}, 40_000, 10_000, 20_000, "answers_epsilon"),
        ({**OBSERVED, "count": None, "above": 900, "max_items_per_user": 1}, None, 750, 850, "above"),
        ({"value": "amount", "clip": (0, 100)}, 40_000, 3_000, 5_000, "epsilon"),
        ({"value": "amount", "clip": (-5, 5)}, 40_000, 3_000, 5_000, "epsilon"),
    ],
)
def test_what_is_hopeless_for_few_people_is_not_for_many(
    options: dict[str, Any], total: int | None, few: int, many: int, blamed: str
) -> None:
    found = asked(**options, people=few).hopeless(total)
    assert found is not None
    assert found[0] == blamed
    assert f"{few:,} people" in found[1]
    assert asked(**options, people=many).hopeless(total) is None


def test_hopeless_begins_where_the_best_table_is_wrong_more_likely_than_not() -> None:
    promise = asked().request.promise(40_000)
    assert promise is not None
    fewest = next(people for people in itertools.count(3_000) if promise.least_wrong(people) <= 0.5)
    assert asked(people=fewest).hopeless(40_000) is None
    assert asked(people=fewest - 1).hopeless(40_000) is not None


def test_a_hopeless_release_is_refused_before_it_is_charged_and_the_refusal_says_what_is_enough(tmp_path: Path) -> None:
    ledger = sg.Ledger.create(tmp_path / "visits.ledger", dataset="visits", budget=5)
    with pytest.raises(
        ParameterError, match=r"epsilon must be larger for 40 people.*pass ([0-9.]+) or more"
    ) as refused:
        release(epsilon=0.01, people=40, ledger=ledger)
    assert ledger.statement().spent.epsilon == 0
    enough = Fraction(str(refused.value).split("pass ")[1].split(" or")[0])
    release(epsilon=enough, people=40, ledger=ledger)
    assert ledger.statement().spent.epsilon == enough
    with pytest.raises(ParameterError, match="epsilon must be larger"):
        release(epsilon=enough - Fraction(1, 1000), people=40)


def test_the_least_epsilon_has_three_digits_and_is_rounded_up() -> None:
    assert least_epsilon(lambda epsilon: epsilon > Fraction(12_340, 10**6)) == Fraction(124, 10**4)
    assert least_epsilon(lambda epsilon: True) == Fraction(1, 10**9)
    assert least_epsilon(lambda epsilon: False) is None
