"""What is promised with a release, and what is refused as hopeless before anything is charged."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas
import pytest

import sparsegate as sg
from sparsegate.errors import ParameterError
from sparsegate.gates.preview import least_epsilon
from sparsegate.selection.select import Request
from sparsegate.tables.question import Question
from sparsegate.tables.release import TopItems

ASKED: dict[str, Any] = {"item": "page", "user": "visitor", "count": 50, "epsilon": 0.1, "domain": 40_000}
OBSERVED = {"domain": "observed", "delta": 1e-6}
VISITS = pandas.DataFrame({"page": ["/home"] * 40 + ["/docs"] * 30, "visitor": [*range(40), *range(30)]})


def asked(**options: Any) -> Question:
    return Question(**ASKED | options)


def release(**options: Any) -> TopItems:
    public: dict[str, Any] = {"count": 2, "epsilon": 2, "domain": ["/home", "/docs", "/blog", "/jobs"]}
    return sg.top_items(VISITS, item="page", user="visitor", source=sg.Seeded(1), not_private=True, **public | options)


def test_a_record_says_what_was_promised_and_nothing_of_it_comes_from_the_table() -> None:
    promise = Request(count=2, epsilon=2, sensitivity=1, monotonic=True).promise(4)
    assert promise is not None
    told = release().record
    assert told.within == promise.within(0.95) == told.published()["within"]
    assert release(method="sparse-vector", threshold=20).record.within is None


def test_sums_are_promised_in_their_own_units() -> None:
    counted, summed = asked(), asked(value="amount", clip=(0, 100), granularity=0.01)
    assert summed.within(1_000) == pytest.approx(100 * (counted.within(1_000) or 0), abs=100.01)


def test_an_observed_domain_promises_what_peeling_its_list_does() -> None:
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
