"""A released tree: its tables, its samples, its likelihood, and how it is stored and shown."""

from __future__ import annotations

import json
import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.display import valid
from tests.support.goodness import FALSE_ALARM, chi_square_p

import sparsegate as sg
from sparsegate.errors import ParameterError
from sparsegate.uses.tree_model import Attributes, Fitted

ATTRIBUTES = Attributes.of({"rain": ["no", "yes"], "day": [1, 2, 3], "wet": ["no", "yes"]}, {"day": 3})
JOINT = np.array([[0.55, 0.05], [0.1, 0.3]])
DAYS = np.array([0.2, 0.3, 0.5])


def tree(edges: bool = True) -> sg.uses.DependencyTree:
    """Rain and wet depend on each other, the day is alone."""
    shares = (JOINT.sum(axis=1), DAYS, JOINT.sum(axis=0))
    return sg.uses.DependencyTree.of(
        ATTRIBUTES,
        Fitted(shares, {(0, 2): JOINT} if edges else {}, 1234.5),
        edges_epsilon=Fraction(1, 3),
        tables_epsilon=Fraction(2, 3),
    )


def chain() -> sg.uses.DependencyTree:
    """The day is at the top, and wet between it and rain: an edge that stands against the order of attributes."""
    attributes = Attributes.of({"day": [1, 2], "rain": [0, 1], "wet": [0, 1]})
    joint = {(0, 2): np.array([[0.3, 0.2], [0.1, 0.4]]), (1, 2): np.array([[0.35, 0.1], [0.05, 0.5]])}
    return sg.uses.DependencyTree.of(attributes, Fitted((np.array([0.5, 0.5]),) * 3, joint, 100.0))


def test_parents_come_before_their_children_and_a_part_begins_with_its_first_attribute() -> None:
    assert tree().edges == (("rain", "wet"),)
    assert list(tree().roots) == ["rain", "day"]
    assert chain().edges == (("day", "wet"), ("wet", "rain"))
    np.testing.assert_allclose(chain().conditionals["rain"], [[0.875, 0.125], [1 / 6, 5 / 6]])
    np.testing.assert_allclose(chain().share("rain"), np.array([0.4, 0.6]) @ chain().conditionals["rain"])


def test_the_table_of_an_edge_is_what_was_fitted() -> None:
    np.testing.assert_allclose(tree().table("rain", "wet"), JOINT)
    assert tree().strength("rain", "wet") == pytest.approx(2 * abs(0.55 - 0.6 * 0.65))
    np.testing.assert_allclose(chain().table("day", "wet"), [[0.3, 0.2], [0.1, 0.4]])


def test_samples_have_the_shares_of_the_tree_and_not_those_of_another() -> None:
    rows = tree().sample(20_000, 7)
    assert list(rows) == ["rain", "day", "wet"]
    kinds = 2 * (rows["rain"] == "yes") + (rows["wet"] == "yes")
    law = dict(enumerate(JOINT.reshape(-1).tolist()))
    assert chi_square_p(kinds, law) > FALSE_ALARM
    assert chi_square_p(kinds, law | {1: 0.06, 2: 0.09}) < FALSE_ALARM
    days = dict(zip([1, 2, 3], DAYS.tolist(), strict=True))
    assert chi_square_p(rows["day"].astype(np.int64), days) > FALSE_ALARM


def test_a_large_sample_of_many_categories_needs_no_table_of_rows_by_categories() -> None:
    count = 400
    wide = Attributes.of({"a": range(count), "b": range(count)})
    joint = np.full((count, count), count**-2.0)
    many = sg.uses.DependencyTree.of(wide, Fitted((joint.sum(axis=1),) * 2, {(0, 1): joint}, 9.0))
    tracemalloc.start()
    rows = many.sample(20_000, 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * count * len(rows["b"]) / 4
    assert len(np.unique(rows["b"])) == count


def test_the_likelihood_is_the_mean_logarithm_of_the_probabilities_of_rows() -> None:
    rows = {"rain": ["yes", "no"], "wet": ["no", "no"], "day": [1, 77]}
    expected = (np.log(0.1 * 0.2) + np.log(0.55 * 0.5)) / 2
    assert tree().log_likelihood(rows) == pytest.approx(expected)
    day, wet, rain = 0.3 / 0.5, 0.125, 0.5
    assert chain().log_likelihood({"day": [1], "wet": [0], "rain": [1]}) == pytest.approx(np.log(rain * day * wet))


def test_a_tree_is_read_again_from_json_and_is_valid_by_its_schema() -> None:
    stored = json.loads(json.dumps(tree().to_dict()))
    assert valid(stored)
    assert not valid(stored | {"epsilon": 1})
    again = sg.uses.DependencyTree.from_dict(stored)
    assert again.to_dict() == tree().to_dict()
    assert (again.sample(100, 3)["day"] == tree().sample(100, 3)["day"]).all()
    assert stored["edges_epsilon"] == "1/3"
    assert stored["epsilon"] == "1"


@pytest.mark.parametrize("wrong", [{}, {"schema": "sparsegate/top/1"}, None, {"schema": "sparsegate/tree/1"}])
def test_what_is_no_stored_tree_is_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="must be what to_dict gave"):
        sg.uses.DependencyTree.from_dict(wrong)


@pytest.mark.parametrize(
    "changed",
    [
        {"edges_epsilon": "1/0"},
        {"items": [{"parent": "rain", "child": "snow"}]},
        {"items": [{"parent": "rain", "child": "wet"}, {"parent": "wet", "child": "rain"}]},
        {"items": []},
        {"roots": {}},
        {"roots": {"rain": [0.5, 0.5], "day": [-1, 1, 1]}},
        {"roots": {"rain": [0.5, 0.5], "day": [0.5, 0.5, 0.5]}},
        {"roots": {"rain": [0.5, 0.5], "day": [0.5, 0.5]}},
        {"roots": {"rain": [0.5, float("nan")], "day": [0.2, 0.3, 0.5]}},
        {"roots": {"rain": ["x", "y"], "day": [0.2, 0.3, 0.5]}},
        {"conditionals": {}},
        {"conditionals": {"wet": [[0.5, 0.5]]}},
        {"columns": {"rain": ["no", "yes"]}},
        {"others": {"snow": "no"}},
    ],
    ids=str,
)
def test_a_stored_tree_whose_parts_do_not_fit_is_refused(changed: Any) -> None:
    with pytest.raises(ParameterError, match="must be what to_dict gave"):
        sg.uses.DependencyTree.from_dict(tree().to_dict() | changed)


def test_a_tree_shows_itself_as_rows_a_page_and_a_picture() -> None:
    frame = tree().to_pandas()
    assert frame[["parent", "child"]].to_numpy().tolist() == [["rain", "wet"]]
    assert "rain" in tree()._repr_html_()
    assert repr(tree()) == "<DependencyTree of 3 attributes: 1 edges, epsilon 1>"
    assert [text.get_text() for text in tree().plot().axes[0].texts] == ["rain", "day", "wet"]
    assert len(tree(edges=False).to_pandas()) == 0
    assert tree(edges=False).plot().axes


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda one: one.share("snow"), "name must be one of rain, day, wet"),
        (lambda one: one.table("rain", "day"), "joined to its parent by an edge"),
        (lambda one: one.sample(0), "count must be a whole number"),
        (lambda one: one.log_likelihood({"rain": [], "day": [], "wet": []}), "table must have rows"),
    ],
)
def test_a_wrong_question_gets_one_clear_error(ask: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        ask(tree())
