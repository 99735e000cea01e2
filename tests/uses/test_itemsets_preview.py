"""sg.uses.preview_itemsets: what frequent sets will be good for, from public numbers, and what is hopeless."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.support.display import valid

import sparsegate as sg

ASKED = {"count": 20, "size": 2, "domain": 1_000}
preview = sg.uses.preview_itemsets


def test_each_method_that_fits_has_a_row_and_the_one_that_runs_is_marked():
    shown = preview(**ASKED | {"domain": 40}, epsilon=1, answers_epsilon=1)
    assert [row["method"] for row in shown.alternatives] == ["whole", "items-first", "levels"]
    assert [row["chosen"] for row in shown.alternatives] == [True, False, False]
    assert [row["items_within"] is None for row in shown.alternatives] == [True, False, False]
    assert (shown.method, shown.epsilon, shown.within) == ("whole", 2, shown.alternatives[0]["within"])
    assert [row["method"] for row in preview(**ASKED, pool=50, epsilon=1).alternatives] == ["items-first", "levels"]
    assert valid(shown.to_dict())
    assert {curve.label for curve in shown.curves} == {"whole", "items-first", "levels"}
    assert "number 20 of all 820 sets" in shown.statement


@pytest.mark.parametrize("how", [{}, {"method": "levels"}, {"domain": "observed", "delta": 1e-6}])
def test_a_release_records_what_the_preview_promised(how):
    asked = ASKED | {"epsilon": 1, "answers_epsilon": 0.5} | how
    bought = {"buyer": [0, 0, 1], "what": [1, 2, 1]}
    record = sg.uses.frequent_itemsets(bought, item="what", user="buyer", **asked).record
    promised = preview(**asked)
    assert (record.within, record.items_within) == (promised.within, promised.items_within)
    assert (record.epsilon, record.delta) == (promised.epsilon, promised.delta)
    assert (record.method, record.pool) == (promised.method, promised.pool)
    assert promised.within > 0
    assert promised.items_within > 0


def test_within_gives_the_least_epsilon_of_three_digits_and_a_little_less_is_not_enough():
    shown = preview(**ASKED, within=100)
    assert shown.needed_epsilon == shown.epsilon
    assert preview(**ASKED, epsilon=shown.epsilon).within <= 100
    assert preview(**ASKED, epsilon=shown.epsilon - Fraction(1, 100)).within > 100


def test_more_confidence_more_levels_and_less_epsilon_are_promised_less():
    base = preview(**ASKED, epsilon=1)
    for other in ({"confidence": 0.999}, {"method": "levels", "size": 4}, {"epsilon": 0.5}, {"domain": 10_000}):
        shown = preview(**ASKED | {"epsilon": 1} | other)
        assert (shown.within, shown.items_within) >= (base.within, base.items_within)
        assert shown.items_within > base.items_within


def test_what_is_hopeless_for_so_many_people_is_said():
    assert preview(**ASKED, epsilon=1, people=100_000).warning == ""
    assert "Hopeless: epsilon must be larger for 50 people" in preview(**ASKED, epsilon=0.1, people=50).warning
    counts = preview(**ASKED | {"domain": 10}, epsilon=20, answers_epsilon=0.1, people=100).warning
    assert "Hopeless: answers_epsilon must be larger" in counts
