"""A score as data, as JSON and as a picture."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema_rs

import sparsegate as sg

SCORE = sg.uses.HoldoutScore(value=0.75, paid=True, margin=0.02, remaining=4)


def test_a_score_is_valid_by_its_schema_with_or_without_its_model() -> None:
    schema = json.loads(files("sparsegate.display").joinpath("schemas.json").read_text(encoding="utf-8"))
    valid = jsonschema_rs.validator_for(schema).is_valid
    stored = json.loads(json.dumps(SCORE.to_dict()))
    assert valid(stored)
    assert valid({"model": "lucky", **stored})
    assert not valid(stored | {"paid": 1})
    assert not valid(stored | {"truth": 0.7})


def test_a_score_is_one_row_and_one_bar() -> None:
    assert SCORE.to_pandas().to_dict("records") == [dict(SCORE)]
    assert "paid: from the holdout" in SCORE.plot().axes[0].get_title(loc="left") + str(SCORE.plot().texts)
    assert "<table" in SCORE._repr_html_()
