"""Trees of dependencies: rows as places of public lists, scores of pairs, noisy tables, and the released tree."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from tests.support.display import valid
from tests.support.goodness import FALSE_ALARM, chi_square_p

import sparsegate as sg
from sparsegate.errors import ParameterError, TableError
from sparsegate.uses import tree_model as tree_tables
from sparsegate.uses.tree_model import (
    Attributes,
    Fitted,
    NoisyTables,
    both,
    exact_tables,
    excesses,
    fitted,
    joint_counts,
    noisy_tables,
)

# Rows


COLUMNS = {"country": ["DE", "FR", "other"], "smokes": [1, 0]}
ROWS = {"country": ["FR", "DE", "IT", "FR"], "smokes": [0, 1, 0, 9]}
GIVEN = Attributes.of(COLUMNS, other={"country": "other"})
EXPECTED = [[1, 1], [0, 0], [2, 1], [1, 0]]
TABLES = {
    "lists": ROWS,
    "arrays": {name: np.array(values) for name, values in ROWS.items()},
    "series": {name: pandas.Series(values) for name, values in ROWS.items()},
    "pandas": pandas.DataFrame(ROWS),
    "categories": pandas.DataFrame(ROWS).astype({"country": "category"}),
    "polars": polars.DataFrame(ROWS),
    "lazy": polars.DataFrame(ROWS).lazy(),
    "arrow": pyarrow.table(ROWS),
    "relation": duckdb.from_df(pandas.DataFrame(ROWS)),
    "objects": np.array([ROWS["country"], ROWS["smokes"]], dtype=object).T,
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_tables_of_every_kind_become_the_same_codes(table):
    assert sorted(GIVEN.codes(table, unit="row").tolist()) == sorted(EXPECTED)


@pytest.mark.parametrize("cells", [["a", "b"], ["a", 1], [None, 1]])
def test_what_the_cells_of_objects_are_decides_nothing(cells):
    frame = pandas.DataFrame({name: pandas.Series(cells, dtype=object) for name in COLUMNS})
    for table in (frame, dict.fromkeys(COLUMNS, cells), np.array([cells, cells], dtype=object).T):
        assert len(GIVEN.codes(table, unit="row")) == 2


@pytest.mark.parametrize("made", [dict, pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_whose_row_it_is_may_be_an_attribute_too(made):
    rows = {"a": [0, 1, 1], "b": [1, 1, 0]}
    codes = Attributes.of({"a": [0, 1], "b": [0, 1]}).codes(made(rows), user="a")
    assert sorted(codes.tolist()) == [[0, 1], [1, 0]]


class Unfriendly:
    def __hash__(self):
        raise RuntimeError("secret")


@pytest.mark.parametrize("cell", [None, float("nan"), [1], {}, Unfriendly(), 10**30, "FR ", b"FR", np.float64("inf")])
def test_a_cell_that_is_no_category_takes_the_place_of_all_others(cell):
    codes = GIVEN.codes({"country": [cell, "FR"], "smokes": [cell, 1]}, unit="row")
    assert codes.tolist() == [[2, 0], [1, 0]]


def test_a_person_counts_with_one_row_and_nobody_with_none():
    rows = {
        "country": ["IT", "DE", "FR", "FR", "DE", "FR"],
        "smokes": [0, 1, 0, 1, 0, 1],
        "who": ["ann", "bob", "ann", "ann", None, [1]],
    }

    def codes(places):
        return sorted(GIVEN.codes({name: [rows[name][at] for at in places] for name in rows}, user="who").tolist())

    ann, bob = [1, 0], [0, 0]
    assert codes([0, 1, 2, 3, 4, 5]) == [bob, ann]
    assert codes([5, 3, 4, 2, 1, 0]) == [bob, ann]
    assert codes([1, 4, 5]) == [bob]
    assert codes([0, 2, 3]) == [ann]
    assert codes([4, 5]) == codes([]) == []


def test_one_person_more_is_one_row_more_and_all_others_stay():
    generator = np.random.default_rng(4)
    both = Attributes.of({"a": range(3), "b": range(2)})
    for _ in range(50):
        size = int(generator.integers(0, 12))
        table = {"a": generator.integers(0, 3, size), "b": generator.integers(0, 2, size)}
        who = generator.integers(0, 4, size)
        whole = Counter(map(tuple, both.codes(table | {"who": who}, user="who").tolist()))
        kept = {name: values[who != 0] for name, values in table.items()} | {"who": who[who != 0]}
        without = Counter(map(tuple, both.codes(kept, user="who").tolist()))
        assert not without - whole
        assert sum((whole - without).values()) == int((who == 0).any())


@pytest.mark.parametrize(
    ("table", "options", "says"),
    [
        (ROWS, {}, "user must name the column"),
        ({"country": ["DE"]}, {"unit": "row"}, "no column 'smokes'"),
        ({"country": ["DE"], "smokes": [1, 0]}, {"unit": "row"}, "columns of one length"),
        ({"country": "DE", "smokes": [1, 0]}, {"unit": "row"}, "a flat list"),
        (np.zeros((4, 3)), {"unit": "row"}, "with 2 columns"),
        (np.zeros((4, 2)), {"user": "who"}, "columns have no names"),
        (42, {"unit": "row"}, "a mapping of columns, a dataframe or a 2-D array"),
        (ROWS | {"country": np.arange(4)}, {"unit": "row"}, "'country' holds numbers, and its categories are text"),
        (ROWS | {"smokes": np.array(list("abcd"))}, {"unit": "row"}, "'smokes' holds text"),
        (pandas.DataFrame(ROWS | {"country": [1.5, None, 2, 3]}), {"unit": "row"}, "'country' holds numbers"),
        (np.zeros((4, 2)), {"unit": "row"}, "'country' holds numbers"),
    ],
)
def test_what_is_refused_is_a_name_or_a_shape_and_shows_no_cell(table, options, says):
    with pytest.raises((ParameterError, TableError), match=says) as refused:
        GIVEN.codes(table, **options)
    assert "FR" not in str(refused.value)


# Pairs


@pytest.mark.parametrize("scale", [0.5, 90.0])
def test_the_score_is_what_rows_have_beyond_the_counts_and_half_their_noise(scale):
    generator, sizes = np.random.default_rng(2), (2, 3)
    rows = generator.integers(0, sizes, (900, 2))
    rows[:300] = 1
    once = NoisyTables({(i,): np.bincount(rows[:, i], minlength=sizes[i]) for i in (0, 1)}, {(0,): scale, (1,): 40.0})
    alone, expected = fitted(once, sizes), 0
    for (x, y), count in np.ndenumerate(joint_counts(rows, sizes, 0, 1)):
        p, q = alone.shares[0][x], alone.shares[1][y]
        deviation = ((2**0.5 * scale * q) ** 2 + (2**0.5 * 40 * p) ** 2) ** 0.5
        expected += max(0, int(count) - int(alone.rows * p * q + deviation / 2))
    assert excesses(rows, sizes, once) == {(0, 1): expected}
    assert expected > 50


def test_counts_of_two_releases_are_averaged_by_their_variances():
    first = NoisyTables({(0,): np.array([10, 20]), (1,): np.array([1, 2])}, {(0,): 3.0, (1,): 3.0})
    second = NoisyTables({(0,): np.array([40, 20]), (1, 2): np.eye(2)}, {(0,): 6.0, (1, 2): 5.0})
    joined = both(first, second)
    np.testing.assert_allclose(joined.tables[0,], [16, 20])
    assert joined.scales == {(0,): pytest.approx((1 / 9 + 1 / 36) ** -0.5), (1,): 3.0, (1, 2): 5.0}


# Tables


SIZES = (2, 3, 2, 4)
CODES = np.random.default_rng(1).integers(0, SIZES, (50, 4))


@pytest.mark.parametrize("edges", [((0, 1), (1, 2), (1, 3)), ((1, 3),), (), ((0, 3), (1, 2))])
def test_the_noise_is_that_of_what_one_person_moves_in_all_tables_together(edges, monkeypatch):
    spent = []

    def record(cells, *, epsilon, sensitivity, **_):
        assert sensitivity == 1
        spent.append(epsilon)
        return cells

    monkeypatch.setattr(tree_tables, "laplace", record)
    more, less = (noisy_tables(rows, SIZES, edges, epsilon=Fraction(1, 2), source=None) for rows in (CODES, CODES[1:]))
    assert len(less.tables) == len(edges) + 4 - len({end for edge in edges for end in edge})
    assert all(np.abs(table - less.tables[key]).sum() == 1 for key, table in more.tables.items())
    assert sum(spent[: len(less.tables)]) == Fraction(1, 2)
    assert list(less.scales.values()) == [float(1 / part) for part in spent[: len(less.tables)]]
    for key, counts in less.tables.items():
        assert counts.shape == tuple(SIZES[end] for end in key)
        rest = tuple(range(1, counts.ndim))
        assert counts.sum(axis=rest).tolist() == np.bincount(CODES[1:, key[0]], minlength=SIZES[key[0]]).tolist()


def test_without_noise_the_shares_are_those_of_the_rows():
    rows = np.vstack([CODES] * 400)
    counts, alone = exact_tables(rows, SIZES, ((0, 1), (1, 3))), np.bincount(rows[:, 2], minlength=2)
    exact = fitted(NoisyTables(counts | {(2,): alone}, dict.fromkeys([*counts, (2,)], 0.0)), SIZES)
    assert exact.rows == 20_000
    for pair in ((0, 1), (1, 3)):
        np.testing.assert_allclose(exact.joint[pair], counts[pair] / 20_000, atol=1e-4)
    np.testing.assert_allclose(exact.shares[2], alone / 20_000, atol=1e-4)


def test_a_table_that_noise_explains_becomes_independent_and_one_that_it_does_not_stays():
    far, near = np.array([[900, 100], [100, 900]]), np.array([[520, 480], [480, 520]])
    for table, keeps in ((far, True), (near, False)):
        joint = fitted(NoisyTables({(0, 1): table}, {(0, 1): 60.0}), (2, 2)).joint[0, 1]
        apart = abs(joint - np.multiply.outer(joint.sum(axis=1), joint.sum(axis=0))).max()
        assert bool(apart > 0.15) is keeps
        assert keeps or apart < 1e-9


def test_a_floor_of_many_cells_moves_no_share_of_an_attribute():
    diagonal = np.diag([900, 50, 20, 10, 10, 5, 3, 2])  # of 64 cells 56 are empty, and each gets a floor
    made = fitted(NoisyTables({(0, 1): diagonal}, {(0, 1): 5.0}), (8, 8))
    assert made.joint[0, 1].min() > 0
    for axis, end in ((1, 0), (0, 1)):
        np.testing.assert_allclose(made.joint[0, 1].sum(axis=axis), made.shares[end], atol=1e-9)
        assert np.abs(made.shares[end] - np.diag(diagonal) / 1000).sum() / 2 < 0.02


# The tree


ATTRIBUTES = Attributes.of({"rain": ["no", "yes"], "day": [1, 2, 3], "wet": ["no", "yes"]}, {"day": 3})
JOINT = np.array([[0.55, 0.05], [0.1, 0.3]])
DAYS = np.array([0.2, 0.3, 0.5])


def tree(edges=True):
    """Rain and wet depend on each other, the day is alone."""
    shares = (JOINT.sum(axis=1), DAYS, JOINT.sum(axis=0))
    return sg.uses.DependencyTree.of(
        ATTRIBUTES,
        Fitted(shares, {(0, 2): JOINT} if edges else {}, 1234.5),
        edges_epsilon=Fraction(1, 3),
        tables_epsilon=Fraction(2, 3),
    )


def chain():
    """The day is at the top, and wet between it and rain: an edge that stands against the order of attributes."""
    attributes = Attributes.of({"day": [1, 2], "rain": [0, 1], "wet": [0, 1]})
    joint = {(0, 2): np.array([[0.3, 0.2], [0.1, 0.4]]), (1, 2): np.array([[0.35, 0.1], [0.05, 0.5]])}
    return sg.uses.DependencyTree.of(attributes, Fitted((np.array([0.5, 0.5]),) * 3, joint, 100.0))


def test_parents_come_before_their_children_and_a_part_begins_with_its_first_attribute():
    assert tree().edges == (("rain", "wet"),)
    assert list(tree().roots) == ["rain", "day"]
    assert chain().edges == (("day", "wet"), ("wet", "rain"))
    np.testing.assert_allclose(chain().conditionals["rain"], [[0.875, 0.125], [1 / 6, 5 / 6]])
    np.testing.assert_allclose(chain().share("rain"), np.array([0.4, 0.6]) @ chain().conditionals["rain"])
    np.testing.assert_allclose(tree().table("rain", "wet"), JOINT)
    assert tree().strength("rain", "wet") == pytest.approx(2 * abs(0.55 - 0.6 * 0.65))


def test_samples_have_the_shares_of_the_tree_and_not_those_of_another():
    rows = tree().sample(20_000, 7)
    assert list(rows) == ["rain", "day", "wet"]
    kinds = 2 * (rows["rain"] == "yes") + (rows["wet"] == "yes")
    law = dict(enumerate(JOINT.reshape(-1).tolist()))
    assert chi_square_p(kinds, law) > FALSE_ALARM
    assert chi_square_p(kinds, law | {1: 0.06, 2: 0.09}) < FALSE_ALARM
    days = dict(zip([1, 2, 3], DAYS.tolist(), strict=True))
    assert chi_square_p(rows["day"].astype(np.int64), days) > FALSE_ALARM


def test_the_likelihood_is_the_mean_logarithm_of_the_probabilities_of_rows():
    rows = {"rain": ["yes", "no"], "wet": ["no", "no"], "day": [1, 77]}
    expected = (np.log(0.1 * 0.2) + np.log(0.55 * 0.5)) / 2
    assert tree().log_likelihood(rows) == pytest.approx(expected)
    day, wet, rain = 0.3 / 0.5, 0.125, 0.5
    assert chain().log_likelihood({"day": [1], "wet": [0], "rain": [1]}) == pytest.approx(np.log(rain * day * wet))


def test_a_tree_is_read_again_from_json_and_is_valid_by_its_schema():
    stored = json.loads(json.dumps(tree().to_dict()))
    assert valid(stored)
    assert not valid(stored | {"epsilon": 1})
    again = sg.uses.DependencyTree.from_dict(stored)
    assert again.to_dict() == tree().to_dict()
    assert (again.sample(100, 3)["day"] == tree().sample(100, 3)["day"]).all()
    assert stored["edges_epsilon"] == "1/3"
    assert stored["epsilon"] == "1"


@pytest.mark.parametrize(
    "changed",
    [
        {"schema": "sparsegate/top/1"},
        {"edges_epsilon": "1/0"},
        {"items": [{"parent": "rain", "child": "snow"}]},
        {"items": [{"parent": "rain", "child": "wet"}, {"parent": "wet", "child": "rain"}]},
        {"roots": {"rain": [0.5, 0.5], "day": [-1, 1, 1]}},
        {"roots": {"rain": [0.5, 0.5], "day": [0.5, 0.5]}},
        {"roots": {"rain": [0.5, float("nan")], "day": [0.2, 0.3, 0.5]}},
        {"conditionals": {"wet": [[0.5, 0.5]]}},
        {"columns": {"rain": ["no", "yes"]}},
        {"others": {"snow": "no"}},
    ],
    ids=str,
)
def test_a_stored_tree_whose_parts_do_not_fit_is_refused(changed):
    with pytest.raises(ParameterError, match="must be what to_dict gave"):
        sg.uses.DependencyTree.from_dict(tree().to_dict() | changed)
    for nothing in ({}, None, {"schema": "sparsegate/tree/1"}):
        with pytest.raises(ParameterError, match="must be what to_dict gave"):
            sg.uses.DependencyTree.from_dict(nothing)


def test_a_tree_shows_itself_as_rows_a_page_and_a_picture():
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
def test_a_wrong_question_gets_one_clear_error(ask, says):
    with pytest.raises(ParameterError, match=says):
        ask(tree())
