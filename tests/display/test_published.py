"""A top-c in its one published form: what it converts to, and what it shows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pandas
import polars
import pytest
from pages.records import RECORDS, json_schema
from tests.support.display import release, valid

import sparsegate as sg
from sparsegate.display.published import PrintedTop


@pytest.mark.parametrize("options", [{}, {"answers_epsilon": 1}, {"ordered": True}])
def test_a_release_is_valid_by_its_schema_and_comes_back_from_json(options: dict[str, Any]) -> None:
    top = release(**options)
    shown = json.loads(json.dumps(top.to_dict()))
    assert valid(shown)
    assert shown["schema"] == "sparsegate/top/1"
    assert PrintedTop(kept=shown).chosen == list(top)
    assert PrintedTop(kept=shown).json == shown
    for wrong in ({"epsilon": 1.0}, {"epsilon": "1e-3"}, {"delta": None}, {"unit": "person"}):
        assert not valid({**shown, "record": {**shown["record"], **wrong}}), "amounts are exact decimals in text"
    assert not valid({**shown, "more": 1}), "a field that is not declared"


def test_rows_are_gone_through_and_indexed() -> None:
    top = release(answers_epsilon=1)
    assert [item for item, _ in top] == list(top.items)
    assert (top[0].item, top[0].estimate) == (top.items[0], top.estimates[0])
    assert top[-1] == top[len(top) - 1]
    assert top[:2] == [top[0], top[1]]
    with pytest.raises(IndexError):
        top[99]
    assert release()[0].estimate is None
    chosen = sg.select_top({"a": 100, "b": 3}, count=1, epsilon=9, sensitivity=1, max_items_per_user=1)
    assert type(chosen[0].estimate) is int, "a number that JSON takes"
    assert f"± {top.error_bar} for each count" in top._repr_html_()
    assert f"± {top.error_bar_all} for all at once" in top._repr_html_()
    assert top.error_bar_all > top.error_bar


def test_every_dataframe_has_the_same_columns() -> None:
    top = release(ordered=True, answers_epsilon=1)
    frame, polar, arrow = top.to_pandas(), top.to_polars(), top.to_arrow()
    assert isinstance(frame, pandas.DataFrame)
    assert isinstance(polar, polars.DataFrame)
    expected = {"rank": [1, 2, 3], "page": list(top.items), "estimate": list(top.estimates)}
    assert frame.to_dict("list") == polar.to_dict(as_series=False) == arrow.to_pydict() == expected
    assert frame.attrs["record"]["epsilon"] == "31"
    named = release(item="rank", ordered=True, answers_epsilon=1).to_pandas()
    assert list(named.columns) == ["rank", "item", "estimate"], "a column that is called like ours does not hide it"
    assert json.loads(arrow.schema.metadata[b"sparsegate"])["error_bar_all"] == top.error_bar_all


def test_selections_verdicts_and_online_answers_have_schemas_of_their_own() -> None:
    seeded: dict[str, Any] = {"source": sg.Seeded(1), "not_private": True}
    chosen = sg.select_top(
        {"a": 900, ("b", 1): 5, "c": 800},
        count=2,
        epsilon=5,
        sensitivity=1,
        monotonic=True,
        max_items_per_user=1,
        method="noisy-scores",
        **seeded,
    )
    assert valid(chosen.to_dict())
    assert chosen.to_pandas()["item"].tolist() == ["a", "c"]
    assert chosen.to_dict()["epsilon"] == "5"
    assert "all at once" in chosen.plot().axes[0].get_xlabel()
    places = sg.select_top([1, 99, 98], count=2, epsilon=9, sensitivity=1, monotonic=True, **seeded)
    assert places.to_polars().columns == ["index"]
    assert [row.item for row in places] == [1, 2]
    with pytest.raises(sg.ParameterError, match=r"plot needs estimates to draw; .*noisy-scores"):
        places.plot()
    answer = sg.uses.OnlineAnswer(estimate=12.5, paid=True, checked=True, margin=3.0)
    assert valid(answer.to_dict())
    assert dict(answer) == {"estimate": 12.5, "paid": True, "checked": True, "margin": 3.0, "note": None}
    assert "count &amp; cells" in replace(answer, note="count & cells")._repr_html_()
    assert valid(replace(answer, note="all").to_dict())
    assert answer.to_arrow().num_rows == 1
    with pytest.raises(KeyError):
        answer["epsilon"]


def test_every_example_of_the_schema_is_valid_and_every_field_has_a_meaning() -> None:
    defined = json_schema()["$defs"]
    examples = [example for kind in RECORDS for example in defined[kind]["examples"]]
    assert [example["schema"] for example in examples if not valid(example)] == []
    fields = [field for part in defined.values() for field in part.get("properties", {}).values()]
    assert all(field.get("description") for field in fields)
