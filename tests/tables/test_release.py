"""A release of a table as an event of dp_accounting."""

from __future__ import annotations

import pandas as pd
import pytest
from dp_accounting import dp_event as events

import sparsegate as sg

TABLE = pd.DataFrame({"page": ["a", "b", "a"], "visitor": [1, 2, 3]})


def release(**options):
    defaults = {"item": "page", "user": "visitor", "count": 2, "epsilon": 1, "domain": ["a", "b", "c"]}
    return sg.top_items(TABLE, **(defaults | options), source=sg.Seeded(1), not_private=True)


def test_counts_that_were_paid_for_are_part_of_the_event():
    given = release(answers_epsilon=0.5, method="exponential")
    selected, answers = given.dp_event("pld").events
    assert selected == events.LaplaceDpEvent(pytest.approx(1))
    assert answers == events.DiscreteLaplaceDpEvent(noise_parameter=pytest.approx(0.5), sensitivity=1)


def test_a_selection_alone_is_one_event():
    assert release(method="exponential").dp_event() == events.ZCDpEvent(rho=pytest.approx(1 / 16))


def test_an_observed_domain_has_no_event():
    with pytest.raises(sg.ParameterError, match="release must be of a public domain"):
        release(domain="observed", delta=1e-6).dp_event()
