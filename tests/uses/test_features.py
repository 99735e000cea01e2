"""The transformer: what it asks select_top for is private, it holds nothing else, and scikit-learn accepts it."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_estimator
from tests.support.goodness import Law, excess
from tests.support.selection_laws import subsets

import sparsegate as sg
from sparsegate.uses import features
from sparsegate.uses.features import SCORES, SelectKBestPrivate

EXPECTED = {
    "check_estimators_empty_data_messages": (
        "a table without rows is the neighbour of a table with one: an error would tell them apart"
    ),
    "check_fit_idempotent": "two fits draw twice: a fit that repeated itself would not be private",
}
BINARY: dict[str, Any] = {"classes": [0, 1], "categories": 2}


def made(score: str, **options: Any) -> SelectKBestPrivate:
    given: dict[str, Any] = {"bounds": (0, 1), "classes": [0, 1]} if score == "covariance" else BINARY
    return SelectKBestPrivate(score, **({"k": 1, "epsilon": 1} | given | options))


def asked(monkeypatch: pytest.MonkeyPatch, estimator: SelectKBestPrivate, X: Any, y: Any) -> dict[str, Any]:  # noqa: N803
    """What a fit asks select_top for: the scores themselves, and the options."""
    seen: dict[str, Any] = {}

    def recorded(scores: Any, **options: Any) -> sg.Selection:
        seen.update(options, scores=scores)
        return sg.select_top(scores, **options)

    with monkeypatch.context() as patched:
        patched.setattr(features, "select_top", recorded)
        estimator.fit(X, y)
    return seen


def law_of(request: dict[str, Any]) -> Law:
    """The law of the set that select_top draws, from its definition."""
    assert request["method"] == "auto"
    assert request["delta"] == 0
    rate = Fraction(request["epsilon"]) / (2 if request["monotonic"] else 4) / request["sensitivity"]
    return subsets([int(score) for score in request["scores"]], request["count"], rate)


def adversarial(score: str) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """A table, its target, and a row that pulls two features apart: it helps the weak one and hurts the strong one."""
    half = 12
    strong = np.repeat([0, 1], half)
    weak = np.array([0] * 2 * half) if score != "agreement" else np.tile([0, 1], half)
    target = np.repeat([0, 1], half)
    # The row: its class is right for the weak feature's value and wrong for the strong one's.
    return np.column_stack([strong, weak]), target, np.array([0, 1, 1])


@pytest.mark.parametrize("score", ["agreement", "dependence", "information", "covariance"])
def test_the_law_of_the_selection_on_adversarial_neighbours_is_within_epsilon(
    score: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, row = adversarial(score)  # noqa: N806
    estimator = made(score)
    here = law_of(asked(monkeypatch, estimator, X, y))
    there = law_of(asked(monkeypatch, estimator, np.vstack([X, row[:2]]), np.append(y, row[2])))
    losses = [math.log(there[chosen] / here[chosen]) for chosen in here]
    assert max(map(abs, losses)) <= 1 + 1e-9
    assert max(losses) > {"agreement": 0.99, "dependence": 0.3, "information": 0.3, "covariance": 0.99}[score]


@pytest.mark.parametrize("score", ["agreement", "dependence", "information", "covariance"])
@pytest.mark.parametrize("k", [1, 2])
def test_the_law_of_the_selection_is_within_epsilon_for_random_small_neighbours(
    score: str, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(11)
    estimator = made(score, k=k, epsilon=2)
    for rows in (0, 1, 2, 5, 9):
        X, y = rng.integers(0, 3, size=(rows + 1, 4)), rng.integers(0, 3, size=rows + 1)  # noqa: N806  2 is "other"
        there = law_of(asked(monkeypatch, estimator, X, y))
        here = law_of(asked(monkeypatch, estimator, X[:rows], y[:rows]))
        assert excess(here, there, 2 + 1e-9) == excess(there, here, 2 + 1e-9) == 0


def test_a_person_with_more_rows_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, row = adversarial("agreement")  # noqa: N806
    estimator = made("agreement", rows_per_person=3)
    here = law_of(asked(monkeypatch, estimator, X, y))
    three = np.vstack([X, *[row[:2]] * 3]), np.append(y, [row[2]] * 3)
    there = law_of(asked(monkeypatch, estimator, *three))
    assert 0.9 < max(abs(math.log(there[chosen] / here[chosen])) for chosen in here) <= 1 + 1e-9


def test_a_fit_selects_what_select_top_selects_from_its_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, size=(50, 8)), rng.integers(0, 2, size=50)  # noqa: N806
    for seed in range(5):
        estimator = made("agreement", k=3, source=sg.Seeded(seed), not_private=True)
        request = asked(monkeypatch, estimator, X, y)
        scores, request["source"] = request.pop("scores"), sg.Seeded(seed)
        assert estimator.selected_.tolist() == sg.select_top(scores, **request).indices.tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize("cell", ["text", 1j, [1], 0.5, None], ids=repr)
@pytest.mark.parametrize("place", ["X", "y"])
def test_one_odd_cell_of_a_list_changes_no_other_row(place: str, cell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numpy makes text of a whole list for one text in it: every row would change, and the scores by half."""
    rows, classes = [[0, 1], [1, 1]] * 40, [0, 1] * 40
    estimator = made("agreement")
    here = asked(monkeypatch, estimator, rows, classes)["scores"]
    odd = ([cell, 0], 0) if place == "X" else ([0, 0], cell)
    there = asked(monkeypatch, estimator, [*rows, odd[0]], [*classes, odd[1]])["scores"]
    assert here.tolist() == [80, 40]
    assert ((there - here >= 0) & (there - here <= 1)).all()


@pytest.mark.parametrize("score", ["agreement", "dependence"])
def test_a_preview_says_how_far_below_the_best_a_selected_feature_can_be(
    score: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    X, y = rng.integers(0, 2, size=(60, 6)), rng.integers(0, 2, size=60)  # noqa: N806
    X[:, 0] = y
    estimator = made(score, k=2, epsilon=2)
    gap = estimator.preview(6, confidence=0.9).gap
    request = asked(monkeypatch, estimator, X, y)
    scores = np.asarray(request["scores"]) / SCORES[score].steps
    bar = np.sort(scores)[-2]
    law = law_of(request)
    within = sum(chance for chosen, chance in law.items() if scores[list(chosen)].min() >= bar - gap)  # type: ignore[call-overload]
    assert within >= 0.9
    assert 0 < gap < estimator.set_params(epsilon=1).preview(6, confidence=0.9).gap
    whole = estimator.set_params(k=6).preview(6)
    assert (whole.gap, whole.epsilon) == (0, 0)


def test_a_fitted_transformer_holds_nothing_of_the_rows_but_the_selection() -> None:
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
def test_scikit_learn_accepts_it(estimator: SelectKBestPrivate) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # skipped checks, and k beyond the features of a small table, warn
        check_estimator(estimator, expected_failed_checks=EXPECTED)


class Certain(SelectKBestPrivate):
    """Without chance: scores that no row moves, and an epsilon that hides nothing."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False
        return tags


def by_place(table: NDArray[Any], _target: NDArray[Any]) -> NDArray[np.int64]:
    return -np.arange(table.shape[1])


def test_nothing_but_chance_keeps_it_from_the_checks_of_deterministic_transformers() -> None:
    reason = EXPECTED["check_estimators_empty_data_messages"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(
            Certain(by_place, k=1, epsilon=10**9, sensitivity=1),
            expected_failed_checks={"check_estimators_empty_data_messages": reason},
        )
    statuses = {each["check_name"]: each["status"] for each in found}
    assert statuses["check_fit_idempotent"] == statuses["check_transformer_general"] == "passed"
    # That one needs SCIPY_ARRAY_API in the environment.
    assert {name for name, status in statuses.items() if status == "skipped"} <= {"check_array_api_input"}


@pytest.mark.parametrize("score", ["agreement", "dependence", "information", "covariance"])
@pytest.mark.parametrize("rows", [0, 1])
def test_a_table_with_one_row_or_none_is_no_error(score: str, rows: int) -> None:
    fitted = made(score).fit(np.full((rows, 3), np.nan), np.full(rows, np.nan))
    assert fitted.get_support().sum() == 1


def test_letters_and_names_of_columns_go_through() -> None:
    rng = np.random.default_rng(2)
    letters = np.array(list("abc"))[rng.integers(0, 3, size=(300, 4))]
    frame = pd.DataFrame(letters, columns=["cap", "odor", "gill", "ring"])
    frame.loc[0, "cap"] = None
    y = np.where(frame["odor"] == "a", "edible", "not")
    options: dict[str, Any] = {"classes": ["edible", "not"], "categories": [list("abc")] * 4}
    fitted = made("information", epsilon=20, **options).fit(frame, y)
    assert fitted.get_feature_names_out().tolist() == ["odor"]
    assert fitted.transform(frame).shape == (300, 1)
    assert fitted.set_output(transform="pandas").transform(frame).columns.tolist() == ["odor"]


def test_with_a_large_epsilon_it_is_the_selector_that_is_not_private() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 12))  # noqa: N806
    y = X[:, [1, 5, 7]].sum(axis=1) + rng.normal(size=200) / 4

    def covariance(table: Any, target: Any) -> NDArray[np.float64]:
        return np.abs(np.clip(table, -3, 3).T @ np.clip(target, -4, 4))

    plain = SelectKBest(covariance, k=3).fit(X, y)
    ours = SelectKBestPrivate("covariance", k=3, epsilon=10**6, bounds=(-3, 3), target_bounds=(-4, 4)).fit(X, y)
    assert ours.get_support().tolist() == plain.get_support().tolist()
    own = SelectKBestPrivate(covariance, k=3, epsilon=10**6, sensitivity=12).fit(X, y)
    assert own.get_support().tolist() == plain.get_support().tolist()


def test_every_fit_is_charged_and_a_refused_one_changes_nothing(tmp_path: Path) -> None:
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
        assert ledger.total_spent().epsilon == 2


def test_names_of_columns_that_are_refused_are_so_before_anything_is_paid(tmp_path: Path) -> None:
    frame = pd.DataFrame(np.zeros((4, 3)), columns=["a", "b", 3])
    with sg.Ledger.create(tmp_path / "rows.ledger", dataset="rows", budget=2) as ledger:
        with pytest.raises(TypeError, match="Feature names"):
            made("agreement", ledger=ledger).fit(frame, [0, 1, 0, 1])
        assert ledger.total_spent().epsilon == 0


@pytest.mark.parametrize("score", ["agreement", "covariance"])
@pytest.mark.parametrize("place", ["X", "y"])
def test_an_array_whose_type_has_no_category_is_refused_and_nothing_is_paid(
    score: str, place: str, tmp_path: Path
) -> None:
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


def test_where_all_features_are_wanted_nothing_is_paid(tmp_path: Path) -> None:
    X = np.zeros((4, 3))  # noqa: N806
    with sg.Ledger.create(tmp_path / "rows.ledger", dataset="rows", budget=2) as ledger:
        fitted = made("agreement", k=3, ledger=ledger).fit(X, [0, 1, 0, 1])
        assert fitted.selected_.tolist() == [0, 1, 2]
        assert fitted.record_["epsilon"] == "0"
        with pytest.warns(sg.errors.SparsegateWarning, match="more than the 3 features"):
            made("agreement", k=4, ledger=ledger).fit(X, [0, 1, 0, 1])
        assert ledger.total_spent().epsilon == 0


def test_a_copy_or_a_pickle_spends_from_the_same_ledger(tmp_path: Path) -> None:
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


def test_without_its_ledger_a_copy_or_a_pickle_transforms_but_spends_nothing_unseen(tmp_path: Path) -> None:
    """Where the ledger is not, where another data set's ledger is, and for an account that only this process has."""

    class Account:
        def spend(self, *, epsilon: Any, delta: Any = 0, what: str) -> int:
            return 1

        def keep(self, entry: Any, gave: Any) -> None:
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


def test_every_fit_of_a_search_in_other_processes_is_charged(tmp_path: Path) -> None:
    X = np.random.default_rng(9).integers(0, 2, size=(60, 5))  # noqa: N806
    place = tmp_path / "rows.ledger"
    with sg.Ledger.create(place, dataset="rows", budget=3) as ledger:
        pipeline = Pipeline([("chosen", made("agreement", epsilon=0.5, ledger=ledger)), ("then", GaussianNB())])
        asked: Any = {"param_grid": {"chosen__k": [1, 2]}, "cv": 2, "n_jobs": 2, "error_score": "raise"}
        search = GridSearchCV(pipeline, **asked).fit(X, X[:, 0])
        assert search.best_estimator_.named_steps["chosen"].ledger is ledger
        spent = [entry for entry in ledger.entries() if entry.kind.spends]
        # Two k of two folds each, and the best of them once more.
        assert [entry.amount.epsilon for entry in spent] == [Fraction(1, 2)] * 5
        assert all(ledger.release(entry.number).gave for entry in spent)
        with pytest.raises(sg.BudgetExceeded):
            GridSearchCV(pipeline, **asked).fit(X, X[:, 0])
        assert ledger.total_spent().epsilon == 3


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"epsilon": None}, "epsilon"),
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 2}, "delta"),
        ({"k": "all"}, "k"),
        ({"method": "sparse-vector"}, "method"),
        ({"method": "best"}, "method"),
        ({"method": []}, "method"),
        ({"score_func": 3}, "score_func"),
        ({"score_func": "chi2"}, "score_func"),
        ({"classes": None}, "classes"),
        ({"categories": None}, "categories"),
        ({"bins": 3}, "bins"),
        ({"categories": None, "bins": 3}, "bounds"),
        ({"sensitivity": 2}, "sensitivity"),
        ({"monotonic": True}, "monotonic"),
        ({"score_func": len}, "sensitivity"),
        ({"score_func": "covariance"}, "bounds"),
        ({"score_func": "covariance", "bounds": (0, 1), "classes": None}, "target_bounds"),
        ({"score_func": "covariance", "bounds": (0, 1), "classes": [1, 2, 3]}, "classes"),
        ({"score_func": lambda *_: [1], "sensitivity": 1}, "score_func"),
    ],
)
def test_a_wrong_parameter_is_named(options: dict[str, Any], parameter: str) -> None:
    with pytest.raises(sg.ParameterError) as refused:
        made("agreement").set_params(**options).fit(np.eye(4, dtype=int), [0, 1, 0, 1])
    assert refused.value.parameter == parameter


def test_without_scikit_learn_the_name_is_there_and_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['sklearn'] = None; sys.modules['sklearn.feature_selection'] = None\n"
        "import sparsegate as sg\n"
        "try:\n    sg.uses.SelectKBestPrivate(epsilon=1)\n"
        "except sg.SparsegateError as refused:\n    print(refused)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "this needs sklearn; run: pip install 'scikit-learn>=1.6'"
