"""Features: no row moves a score further than is charged, every cell has a reading, and scikit-learn accepts it."""

from __future__ import annotations

import copy
import datetime
import itertools
import math
import pickle
import subprocess
import sys
import warnings
from fractions import Fraction

import mpmath as mp
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator
from tests.support.selection_laws import subsets

import sparsegate as sg
from sparsegate.errors import ParameterError
from sparsegate.paper.uses import SENSITIVITY, dependence
from sparsegate.uses import features
from sparsegate.uses.features import (
    FINE,
    SCORES,
    FeatureScore,
    SelectKBestPrivate,
    binned,
    clipped,
    coded,
    covariances,
    numbers,
    public_bounds,
    public_categories,
    public_values,
)

# Scores


Table = tuple[int, ...]
OF_TABLES = {
    **{key: row for key, row in SCORES.items() if row.of_table is not None},
    "pairs of a tree": FeatureScore(steps=1, sensitivity=SENSITIVITY, monotonic=False, of_table=dependence),
}


def tables(cells, rows):
    """Every table of this many cells with this many rows."""
    for bars in itertools.combinations(range(rows + cells - 1), cells - 1):
        ends = (-1, *bars, rows + cells - 1)
        yield tuple(high - low - 1 for low, high in itertools.pairwise(ends))


def largest_moves(score, shape, most):
    """The furthest that one more row moves the score of any table up, and down, of up to ``most`` rows."""
    cells = shape[0] * shape[1]
    known = {}
    for rows in range(most + 2):
        for table in tables(cells, rows):
            known[table] = score(np.array(table, dtype=np.int64).reshape(shape))
    moves = [
        known[(*table[:cell], table[cell] + 1, *table[cell + 1 :])] - before
        for table, before in known.items()
        if sum(table) <= most
        for cell in range(cells)
    ]
    return max(moves), min(moves)


@pytest.mark.parametrize("key", OF_TABLES)
@pytest.mark.parametrize(("shape", "most"), [((2, 2), 11), ((3, 3), 3), ((4, 2), 3)])
def test_no_row_moves_the_score_of_any_small_table_further_than_its_sensitivity(key, shape, most):
    row = OF_TABLES[key]
    up, down = largest_moves(row.of_table, shape, most)
    assert up <= row.sensitivity
    assert down >= (0 if row.monotonic else -row.sensitivity)


@pytest.mark.parametrize("key", OF_TABLES)
def test_a_sensitivity_a_fifth_smaller_would_be_wrong(key):
    row = OF_TABLES[key]
    before = np.array([[10**6, 0], [0, int(key == "pairs of a tree")]])
    up = row.of_table(before + np.array([[0, 0], [0, 1]])) - row.of_table(before)
    assert 0.8 * row.sensitivity < 0.99 * row.sensitivity < up <= row.sensitivity


def test_rounded_down_information_moves_by_one_step_more_than_its_bound():
    """Two numbers 1024 steps apart may be 1025 apart when floats round both: that step is in what is charged."""
    row = SCORES["information"]
    before, new = np.array([[1, 0, 0], [0, 0, 708_843_641], [0, 0, 0]]), np.zeros((3, 3), dtype=np.int64)
    new[2, 1] = 1
    assert row.of_table(before + new) - row.of_table(before) == FINE + 1 == row.sensitivity


def test_information_is_the_mutual_information_over_one_plus_the_logarithm_of_the_rows():
    rng = np.random.default_rng(5)
    for _ in range(5):
        table = rng.integers(0, 10**8, size=(5, 3))
        with mp.workdps(40):
            n = mp.mpf(int(table.sum()))
            exact = mp.fsum(
                mp.mpf(int(count)) * mp.log(int(count) * n / (int(table[v].sum()) * int(table[:, k].sum())))
                for (v, k), count in np.ndenumerate(table)
                if count
            )
            steps = FINE * exact / (1 + mp.log(n))
            assert abs(SCORES["information"].of_table(table) + mp.mpf("0.5") - steps) <= mp.mpf("0.75")


def test_a_row_moves_a_covariance_by_at_most_its_sensitivity_and_some_row_does():
    ends = np.array([-FINE, -FINE + 1, -1, 0, 1, FINE])
    pairs = np.array(list(itertools.product(ends, ends)))
    moves = []
    for start in (np.zeros((0, 2), dtype=np.int64), np.array([[FINE, FINE]] * 3), np.array([[-FINE, FINE]])):
        before = covariances(start[:, :1], start[:, 1])
        for added in pairs:
            after = np.vstack([start, added])
            moves.append(int((covariances(after[:, :1], after[:, 1]) - before)[0]))
    assert max(moves) == SCORES["covariance"].sensitivity
    assert min(moves) == -SCORES["covariance"].sensitivity


# Cells


class Hostile:
    def __hash__(self):
        raise RuntimeError("secret")

    def __float__(self):
        raise RuntimeError("secret")


ODD = [np.nan, None, pd.NA, {"a": 1}, [1], Hostile(), datetime.date(2020, 1, 1), 10**400, b"x", 1 + 2j]


@pytest.mark.parametrize("cell", ODD, ids=lambda cell: type(cell).__name__)
def test_a_cell_that_is_no_category_and_no_number_is_other(cell):
    column = np.empty(2, dtype=object)
    column[:] = [cell, "a"]
    assert coded(column, ["a", "b"]).tolist() == [2, 0]
    bounds = public_bounds((0, 4), 1, "bounds")
    assert binned(numbers(column[:1, None]), bounds, 4).ravel().tolist() == [4]
    assert clipped(numbers(column[:1, None]), bounds).ravel().tolist() == [0]


def test_infinity_and_what_is_beyond_the_bounds_is_at_the_bound():
    column = np.array([[-np.inf], [-7.0], [7.0], [np.inf]])
    bounds = public_bounds((0, 1), 1, "bounds")
    assert clipped(column, bounds).ravel().tolist() == [-1024, -1024, 1024, 1024]
    assert binned(column, bounds, 3).ravel().tolist() == [0, 0, 2, 2]
    cells = np.empty((3, 1), dtype=object)
    cells[:, 0] = [np.complex128(1 + 2j), np.complex64(1), np.array([0.5])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning would tell of a cell
        assert clipped(numbers(np.array([[np.longdouble("1e400")]])), bounds).ravel().tolist() == [1024]
        assert np.isnan(numbers(cells)).all()


def test_numbers_that_a_float_does_not_hold_are_no_categories():
    """One empty cell makes floats of a whole column, and two such numbers one."""
    full, empty = (pl.DataFrame({"a": [2**53, 2**53 + 1, more]}).to_numpy()[:2, 0].tolist() for more in (7, None))
    assert full[0] != full[1]
    assert empty[0] == empty[1]
    for values in ([0, 2**53], [-(2.0**60)], np.array([2**62])):
        with pytest.raises(ParameterError, match=r"classes must have numbers below 2\*\*53"):
            public_values(values, "classes")
    assert public_values([2**53 - 1, math.inf, "9007199254740993"], "classes")[1] == math.inf
    assert public_categories(2, 3) == [(0, 1)] * 3
    assert public_categories(["a", "b", "a"], 2) == [("a", "b")] * 2
    assert public_categories([["a"], np.array([1, 2])], 2) == [("a",), (1, 2)]


# The transformer


EXPECTED = {
    "check_estimators_empty_data_messages": (
        "a table without rows is the neighbour of a table with one: an error would tell them apart"
    ),
    "check_fit_idempotent": "two fits draw twice: a fit that repeated itself would not be private",
}
BINARY = {"classes": [0, 1], "categories": 2}


def made(score, **options):
    given = {"bounds": (0, 1), "classes": [0, 1]} if score == "covariance" else BINARY
    return SelectKBestPrivate(score, **({"k": 1, "epsilon": 1} | given | options))


def asked(monkeypatch, estimator, X, y):  # noqa: N803
    """What a fit asks select_top for: the scores themselves, and the options."""
    seen = {}

    def recorded(scores, **options):
        seen.update(options, scores=scores)
        return sg.select_top(scores, **options)

    with monkeypatch.context() as patched:
        patched.setattr(features, "select_top", recorded)
        estimator.fit(X, y)
    return seen


def law_of(request):
    """The law of the set that select_top draws, from its definition."""
    assert request["method"] == "auto"
    assert request["delta"] == 0
    rate = Fraction(request["epsilon"]) / (2 if request["monotonic"] else 4) / request["sensitivity"]
    return subsets([int(score) for score in request["scores"]], request["count"], rate)


def adversarial(score):
    """A table, its target, and a row that pulls two features apart: it helps the weak one and hurts the strong one."""
    half = 12
    strong = np.repeat([0, 1], half)
    weak = np.array([0] * 2 * half) if score != "agreement" else np.tile([0, 1], half)
    target = np.repeat([0, 1], half)
    # The row: its class is right for the weak feature's value and wrong for the strong one's.
    return np.column_stack([strong, weak]), target, np.array([0, 1, 1])


@pytest.mark.parametrize("score", ["agreement", "dependence", "information", "covariance"])
def test_the_law_of_the_selection_on_adversarial_neighbours_is_within_epsilon(score, monkeypatch):
    X, y, row = adversarial(score)  # noqa: N806
    estimator = made(score)
    before = law_of(asked(monkeypatch, estimator, X, y))
    after = law_of(asked(monkeypatch, estimator, np.vstack([X, row[:2]]), np.append(y, row[2])))
    losses = [math.log(after[chosen] / before[chosen]) for chosen in before]
    assert max(map(abs, losses)) <= 1 + 1e-9
    assert max(losses) > {"agreement": 0.99, "dependence": 0.3, "information": 0.3, "covariance": 0.99}[score]


def test_a_person_with_more_rows_is_paid_for(monkeypatch):
    X, y, row = adversarial("agreement")  # noqa: N806
    estimator = made("agreement", rows_per_person=3)
    before = law_of(asked(monkeypatch, estimator, X, y))
    three = np.vstack([X, *[row[:2]] * 3]), np.append(y, [row[2]] * 3)
    after = law_of(asked(monkeypatch, estimator, *three))
    assert 0.9 < max(abs(math.log(after[chosen] / before[chosen])) for chosen in before) <= 1 + 1e-9


def test_a_fit_selects_what_select_top_selects_from_its_scores(monkeypatch):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, size=(50, 8)), rng.integers(0, 2, size=50)  # noqa: N806
    for seed in range(5):
        estimator = made("agreement", k=3, source=sg.Seeded(seed), not_private=True)
        request = asked(monkeypatch, estimator, X, y)
        scores, request["source"] = request.pop("scores"), sg.Seeded(seed)
        assert estimator.selected_.tolist() == sg.select_top(scores, **request).indices.tolist()


@pytest.mark.parametrize("cell", ["text", 1j, [1], 0.5, None, np.ma.masked], ids=repr)
@pytest.mark.parametrize("place", ["X", "y"])
def test_one_odd_cell_of_a_list_changes_no_other_row(place, cell, monkeypatch):
    """Numpy makes text of a whole list for one text in it: every row would change, and the scores by half."""
    rows, classes = [[0, 1], [1, 1]] * 40, [0, 1] * 40
    estimator = made("agreement")
    before = asked(monkeypatch, estimator, rows, classes)["scores"]
    odd = ([cell, 0], 0) if place == "X" else ([0, 0], cell)
    after = asked(monkeypatch, estimator, [*rows, odd[0]], [*classes, odd[1]])["scores"]
    assert before.tolist() == [80, 40]
    assert ((after - before >= 0) & (after - before <= 1)).all()


@pytest.mark.parametrize("score", ["agreement", "dependence"])
def test_a_preview_says_how_far_below_the_best_a_selected_feature_can_be(score, monkeypatch):
    rng = np.random.default_rng(7)
    X, y = rng.integers(0, 2, size=(60, 6)), rng.integers(0, 2, size=60)  # noqa: N806
    X[:, 0] = y
    estimator = made(score, k=2, epsilon=2)
    gap = estimator.preview(6, confidence=0.9).gap
    request = asked(monkeypatch, estimator, X, y)
    scores = np.asarray(request["scores"]) / SCORES[score].steps
    bar = np.sort(scores)[-2]
    law = law_of(request)
    within = sum(chance for chosen, chance in law.items() if scores[list(chosen)].min() >= bar - gap)
    assert within >= 0.9
    assert 0 < gap < estimator.set_params(epsilon=1).preview(6, confidence=0.9).gap
    whole = estimator.set_params(k=6).preview(6)
    assert (whole.gap, whole.epsilon) == (0, 0)


def test_a_fitted_transformer_holds_nothing_of_the_rows_but_the_selection():
    """Two tables with other scores and the same selection: the two transformers are the same, byte for byte."""
    rng = np.random.default_rng(8)
    pickles = set()
    for rows in (40, 400):
        X = rng.integers(0, 2, size=(rows, 5))  # noqa: N806
        fitted = made("dependence", k=1, epsilon=50).fit(X, X[:, 2])
        assert fitted.selected_.tolist() == [2]
        pickles.add(pickle.dumps(fitted))
    assert len(pickles) == 1
    assert not hasattr(fitted, "scores_")


@pytest.mark.parametrize(
    "estimator",
    [
        SelectKBestPrivate(k=1, epsilon=1, classes=[0, 1, 2], bounds=(-3, 3), bins=4),
        SelectKBestPrivate("covariance", k=2, epsilon=1, bounds=(-3, 3), target_bounds=(0, 2)),
        SelectKBestPrivate("information", epsilon=1, classes=[0, 1, 2], categories=4),
    ],
    ids=lambda estimator: estimator.score_func,
)
def test_scikit_learn_accepts_it(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # skipped checks, and k beyond the features of a small table, warn
        check_estimator(estimator, expected_failed_checks=EXPECTED)


def test_every_fit_is_charged_and_a_refused_one_changes_nothing(tmp_path):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, size=(30, 4)), rng.integers(0, 2, size=30)  # noqa: N806
    with sg.Ledger.create(tmp_path / "rows.ledger", dataset="rows", budget=2) as ledger:
        estimator = made("agreement", ledger=ledger)
        estimator.fit(X, y)
        assert ledger.total_spent().epsilon == 1
        clone(estimator).fit(X, y)
        assert ledger.total_spent().epsilon == 2
        before = pickle.dumps(estimator)
        with pytest.raises(sg.BudgetExceeded):
            estimator.fit(X[:, :3], y)
        assert pickle.dumps(estimator) == before
        for refused in ({"k": 0}, {"score_func": "chi2"}, {"categories": None}, {"rows_per_person": 0}):
            with pytest.raises(sg.ParameterError):
                clone(estimator).set_params(**refused).fit(X, y)
        with pytest.raises(TypeError, match="Feature names"):  # before anything is paid
            clone(estimator).fit(pd.DataFrame(X, columns=["a", "b", "c", 3]), y)
        whole = clone(estimator).set_params(k=4).fit(X, y)  # all are wanted: nothing is paid
        assert (whole.selected_.tolist(), whole.record_["epsilon"]) == ([0, 1, 2, 3], "0")
        with pytest.warns(sg.errors.SparsegateWarning, match="more than the 4 features"):
            whole.set_params(k=5).fit(X, y)
        assert ledger.total_spent().epsilon == 2
    for rows in (0, 1):  # a table with one row or none is no error
        assert made("covariance").fit(np.full((rows, 3), np.nan), np.full(rows, np.nan)).get_support().sum() == 1


@pytest.mark.parametrize("score", ["agreement", "covariance"])
@pytest.mark.parametrize("place", ["X", "y"])
def test_an_array_whose_type_has_no_category_is_refused_and_nothing_is_paid(score, place, tmp_path):
    X, y = np.eye(4, dtype=int), np.array([0, 1, 0, 1])  # noqa: N806
    text = {"X": X.astype(str) if place == "X" else X, "y": y.astype(str) if place == "y" else y}
    with sg.Ledger.create(tmp_path / "rows.ledger", dataset="rows", budget=2) as ledger:
        if (score, place) == ("covariance", "X"):  # text that reads as numbers is numbers
            assert made(score, ledger=ledger).fit(**text).selected_.size == 1
            return
        with pytest.raises(sg.ParameterError, match="must have text, as the cells are text; cast"):
            made(score, ledger=ledger).fit(**text)
        with pytest.raises(sg.ParameterError, match="must have numbers, as the cells are numbers; cast"):
            made(score, ledger=ledger, classes=["no", "yes"]).fit(X, y)
        assert made(score, classes=["no", 1]).fit(X, y.astype(object)).selected_.size == 1
        assert ledger.total_spent().epsilon == 0


def test_a_copy_or_a_pickle_spends_from_the_same_ledger(tmp_path):
    X, y = np.eye(4, dtype=int), [0, 1, 0, 1]  # noqa: N806
    with sg.Ledger.create(tmp_path / "rows.ledger", dataset="rows", budget=4) as ledger:
        fitted = made("agreement", ledger=ledger).fit(X, y)
        for spent, other in enumerate((pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted), copy.copy(fitted))):
            assert other.transform(X).tolist() == fitted.transform(X).tolist()
            other.fit(X, y)
            assert ledger.total_spent().epsilon == spent + 2
        with pytest.raises(sg.BudgetExceeded):
            pickle.loads(pickle.dumps(fitted)).fit(X, y)
        assert clone(fitted).ledger is ledger


def test_without_its_ledger_a_copy_or_a_pickle_transforms_but_spends_nothing_unseen(tmp_path):
    """Where the ledger is not, where another data set's ledger is, and for an account that only this process has."""

    class Account:
        def spend(self, *, epsilon, delta=0, what):
            return 1

        def keep(self, entry, gave):
            """Nowhere."""

    X, y = np.eye(4, dtype=int), [0, 1, 0, 1]  # noqa: N806
    place = tmp_path / "rows.ledger"
    with sg.Ledger.create(place, dataset="rows", budget=4) as ledger:
        fitted = made("agreement", ledger=ledger).fit(X, y)
        kept = pickle.dumps(fitted)
        place.rename(tmp_path / "elsewhere.ledger")
    gone = pickle.loads(kept)
    with sg.Ledger.create(place, dataset="other rows", budget=4) as others:
        left = [gone, pickle.loads(kept), copy.deepcopy(made("agreement", ledger=Account()).fit(X, y))]
        for other in left:
            assert other.transform(X).tolist() == X[:, other.selected_].tolist()
            with pytest.raises(sg.ParameterError, match=r"ledger was left behind.*n_jobs=1, or threads"):
                other.fit(X, y)
        assert left[0].set_params(ledger=others).fit(X, y) is left[0]
        assert others.total_spent().epsilon == 1
    seeded = pickle.loads(pickle.dumps(made("agreement", source=sg.Seeded(1), not_private=True)))
    with pytest.raises(sg.ParameterError, match=r"source was left behind.*leave it out"):
        seeded.fit(X, y)


def test_without_scikit_learn_the_name_is_there_and_says_what_to_install():
    script = (
        "import sys; sys.modules['sklearn'] = None; sys.modules['sklearn.feature_selection'] = None\n"
        "import sparsegate as sg\n"
        "try:\n    sg.uses.SelectKBestPrivate(epsilon=1)\n"
        "except sg.SparsegateError as refused:\n    print(refused)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "this needs sklearn; run: pip install 'scikit-learn>=1.6'"
