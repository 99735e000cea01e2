"""A verdict as data: every field by its name, one row for a dataframe, a schema for JSON, a picture."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from tests.support.display import valid

from sparsegate.auditor import Evidence, Verdict
from sparsegate.auditor.confidence import Counts

LEAKY = Verdict(
    mechanism="mine.<b>leaky</b>",
    epsilon=0.1,
    delta=1e-8,
    epsilon_lower=2.5,
    delta_lower=0.01,
    confidence=0.99,
    violates=True,
    witness=Evidence(
        answers=np.array([0, 1]),
        neighbour=np.array([1, 1]),
        event="it said ABOVE",
        counts=Counts(hits1=900, trials1=1000, hits2=10, trials2=1000),
    ),
    samples=4000,
    seconds=1.5,
)


def test_json_has_the_claim_exactly_and_the_evidence_as_numbers() -> None:
    shown = json.loads(json.dumps(LEAKY.to_dict(), allow_nan=False))
    assert valid(shown)
    assert (shown["epsilon"], shown["delta"], shown["epsilon_lower"]) == ("0.1", "0.00000001", 2.5)
    assert shown["witness"]["answers"] == [0, 1]
    assert shown["witness"]["counts"]["hits1"] == 900
    endless = replace(LEAKY, epsilon_lower=math.inf).to_dict()
    assert valid(endless)
    assert endless["epsilon_lower"] == "inf"


def test_fields_are_read_by_name_and_a_dataframe_has_one_row() -> None:
    assert LEAKY["violates"] is True
    assert dict(LEAKY)["samples"] == 4000
    assert "epsilon_lower" in list(LEAKY)
    frame = LEAKY.to_pandas()
    assert frame.shape == (1, 9)
    assert frame["epsilon_lower"].tolist() == [2.5]
    assert LEAKY.to_polars()["violates"].to_list() == [True]
    assert frame.attrs["sentence"] == LEAKY.sentence


def test_a_notebook_shows_the_sentence_and_no_markup_of_the_name() -> None:
    shown = LEAKY._repr_html_()
    assert "NOT private as claimed" in shown
    assert "<b>" not in shown
    assert "it said ABOVE" in shown


def test_the_picture_has_what_was_proved_beside_the_claim() -> None:
    pytest.importorskip("matplotlib")
    (axes,) = LEAKY.plot().axes
    (bar,) = axes.patches
    assert bar.get_width() == 2.5
    assert axes.lines[0].get_xdata()[0] == 0.1
