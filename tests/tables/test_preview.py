"""sg.preview: the promises of the methods side by side, the epsilon needed, a stand-in, and what is hopeless."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sparsegate as sg
from sparsegate.errors import ParameterError
from sparsegate.selection.select import Request, choose
from sparsegate.tables.preview import TopPreview

BY_SCORE = ("exponential", "subset", "one-shot", "noisy-scores")
ASKED: dict[str, Any] = {"count": 20, "domain": 1_000}


def row(found: TopPreview, method: str) -> Any:
    return next(each for each in found if each.method == method)


def test_every_method_that_fits_has_a_row_with_its_promise_and_the_one_that_runs_is_marked() -> None:
    found = sg.preview(**ASKED, epsilon=0.5, delta=1e-6, max_items_per_user=30)
    assert [each.method for each in found] == ["exponential", "subset", "gumbel", "one-shot", "noisy-scores"]
    public: dict[str, Any] = {
        "count": 20,
        "epsilon": 0.5,
        "sensitivity": 1,
        "monotonic": True,
        "max_items_per_user": 30,
    }
    for each in found:
        request = Request(**public, method=each.method, delta=1e-6 if each.method == "gumbel" else 0)
        promise = request.promise(1_000)
        assert promise is not None
        assert each.within == promise.within(0.95)
    taken = choose(
        count=20, epsilon=Fraction(1, 2), delta=Fraction(1, 10**6), max_items_per_user=30, ordered=False, monotonic=True
    )
    assert found.chosen is not None
    assert [each.method for each in found if each.chosen] == [taken] == [found.chosen.method]


@pytest.mark.parametrize(
    ("options", "methods"),
    [
        ({"ordered": True}, ["exponential", "one-shot", "noisy-scores"]),
        ({"domain": "observed", "delta": 1e-6}, ["exponential"]),
        (
            {"method": "sparse-vector", "threshold": 100},
            [*BY_SCORE, "sparse-vector", "retraversal"],
        ),
    ],
)
def test_methods_that_do_not_fit_have_no_row(options: dict[str, Any], methods: list[str]) -> None:
    found = sg.preview(**ASKED | {"epsilon": 1} | options)
    assert [each.method for each in found] == methods
    if "threshold" in options:
        assert row(found, "sparse-vector").chosen
        assert row(found, "sparse-vector").within is None
        assert "promises nothing" in found.statement


def test_within_gives_the_least_epsilon_of_three_digits_and_a_little_less_is_not_enough() -> None:
    found = sg.preview(**ASKED, within=100)
    assert found.chosen is not None
    for each in found:
        assert each.within <= 100
        assert each.needed == each.epsilon
        step = Fraction(1, 100) if each.needed < 10 else Fraction(1, 10)
        assert row(sg.preview(**ASKED, epsilon=each.needed - step), each.method).within > 100
    both = sg.preview(**ASKED, within=100, epsilon=0.1)
    assert [each.needed for each in both] == [each.needed for each in found]
    assert row(both, "subset").within > 100


def test_counts_have_the_error_bars_of_a_release() -> None:
    found = sg.preview(count=2, epsilon=2, domain=4, answers_epsilon=1)
    assert (found.chosen and found.chosen.error_bar, found.chosen and found.chosen.error_bar_all) == (6, 7)
    free = sg.preview(count=2, epsilon=2, domain=["a", "b", "c", "d"], max_items_per_user=1)
    assert free.chosen is not None
    assert free.chosen.method == "noisy-scores"
    assert free.chosen.error_bar is not None
    assert row(free, "subset").error_bar is None


def test_a_hopeless_release_has_a_verdict_and_a_promise_beyond_all_counts_says_so() -> None:
    assert sg.preview(**ASKED, epsilon=0.5, people=10**6).verdict is None
    found = sg.preview(**ASKED, epsilon=0.01, people=100)
    assert found.verdict is not None
    assert "even if 20 items had all of them" in found.verdict
    assert "this promises nothing" in found.statement
    shared = sg.preview(
        **ASKED, epsilon=0.5, people=400, max_items_per_user=1
    )  # 400 people with one item each: number 20 has 20
    assert shared.verdict is None
    assert "at most 20: this promises nothing" in shared.statement


def test_above_says_what_is_never_and_what_is_always_there() -> None:
    found = sg.preview(above=500, epsilon=0.5, delta=1e-6, domain="observed", max_items_per_user=1)
    assert len(found) == 0
    assert "fewer than 475 people have is never" in found.statement
    assert (found.to_dict()["never_below"], found.to_dict()["always_from"]) == (475, 525)


def test_on_a_stand_in_recall_is_shown_and_less_is_lost_than_promised() -> None:
    counts = np.concatenate((np.arange(1_000, 2_000, 50), np.full(980, 10)))
    found = sg.preview(count=20, epsilon=1, like=counts)
    for each in found:
        assert each.recall > 0.99
        assert each.like_within <= each.within
    assert found.total == 1_000
    poor = sg.preview(count=20, epsilon=0.001, like=counts)
    assert all(each.recall < 0.5 for each in poor)


def test_it_becomes_a_dataframe_of_numbers_also_where_only_some_methods_give_counts() -> None:
    found = sg.preview(**ASKED, epsilon=0.5, max_items_per_user=1)
    assert [row.error_bar is None for row in found] == [True, True, True, False]
    frames = [
        found.to_pandas().to_dict("list"),
        found.to_polars().to_dict(as_series=False),
        found.to_arrow().to_pydict(),
    ]
    for frame in frames:
        assert frame["within"] == [row.within for row in found]
        assert frame["error_bar"][3] == found[3].error_bar
        assert frame["epsilon"] == [0.5] * 4
        assert frame["chosen"] == [False, False, False, True]
    assert found[-1] is found.chosen
    assert found[:2] == found.rows[:2]


def test_it_becomes_json_a_sheet_and_a_picture() -> None:
    found = sg.preview(**ASKED, epsilon=0.5, people=10_000, like="zipf")
    told = json.loads(json.dumps(found.to_dict()))
    assert (told["schema"], told["epsilon"], told["items"][0]["epsilon"]) == ("sparsegate/top-preview/1", "0.5", "0.5")
    assert found.statement in repr(found)
    assert "subset *" in found.sheet().columns["method"]
    assert found.chosen is not None
    curve = found.curve(found.chosen)
    assert (0.5, found.chosen.within) in curve
    assert all(more > less for (_, more), (_, less) in itertools.pairwise(curve))
    recalls = [recall for _, recall in found.recall_curve(found.chosen)]
    assert recalls[0] < recalls[-1] <= 1
    promised, seen = found.plot().axes
    assert (len(promised.get_lines()), len(seen.get_lines())) == (len(found) + 1, len(found))
    assert promised.get_ylim()[1] > 10_000  # all people there are have their place in it
    assert len(sg.preview(**ASKED, epsilon=0.5).plot().axes) == 1


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "epsilon"),
        ({"epsilon": 1, "domain": None}, "domain"),
        ({"epsilon": 1, "domain": "pages.csv"}, "domain"),
        ({"epsilon": 1, "domain": 0}, "domain"),
        ({"epsilon": 1, "domain": 10}, "count"),
        ({"within": -1}, "within"),
        ({"epsilon": 1, "confidence": 2}, "confidence"),
        ({"epsilon": 1, "people": 0}, "people"),
        ({"epsilon": 1, "like": {1: 2_000}}, "like"),
        ({"epsilon": 1, "like": "zipf", "domain": "observed", "delta": 1e-6}, "like"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options: dict[str, Any], name: str) -> None:
    with pytest.raises(ParameterError, match=f"^{name} "):
        sg.preview(**ASKED | options)
