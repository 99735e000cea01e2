"""The scorer in searches of scikit-learn, and where it must not go."""

from __future__ import annotations

import copy
import math
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score

import sparsegate as sg
from sparsegate.errors import GateClosed, ParameterError, SparsegateError
from sparsegate.uses.holdout_scoring import HoldoutScorer, agreement

TRAIN = np.zeros((100, 1)), np.arange(100) % 4 == 0
HELD = np.ones((1000, 1)), np.arange(1000) % 4 == 0


class Remembers(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Says False with every ``share``-th record wrong where X is 1, and knows the training set by heart."""

    def __init__(self, share: int = 1000) -> None:
        self.share = share

    def fit(self, records: Any, labels: Any) -> Remembers:
        self.classes_, self.known_ = np.unique(labels), labels
        return self

    def predict(self, records: Any) -> Any:
        if records[0, 0] == 0:
            return self.known_[: len(records)]
        return (np.arange(len(records)) % 4 == 0) != (np.arange(len(records)) % self.share == 0)


def scorer(cutoff: int = 5, **options: Any) -> HoldoutScorer:
    holdout = sg.uses.Holdout(size=1000, threshold=0.05, cutoff=cutoff, epsilon=10_000, **options)
    return HoldoutScorer(holdout, *HELD)


def test_a_score_is_free_where_the_holdout_agrees_and_paid_where_the_training_set_was_learned_by_heart() -> None:
    scoring, model = scorer(), Remembers(4).fit(*TRAIN)
    assert scoring(DummyClassifier().fit(*TRAIN), *TRAIN) == 0.75
    assert scoring.last is not None
    assert not scoring.last.paid
    score = scoring.score(model, *TRAIN)
    assert (score.paid, score.remaining) == (True, 4)
    assert score.value == pytest.approx(0.75, abs=0.01)


def test_a_grid_search_on_the_training_set_alone_finds_what_is_best_on_the_holdout() -> None:
    scoring = scorer()
    search = GridSearchCV(Remembers(), {"share": [2, 4, 8]}, scoring=scoring, cv=scoring.training_only(TRAIN[0]))
    search.fit(*TRAIN)
    assert search.best_params_ == {"share": 8}
    assert search.cv_results_["mean_test_score"] == pytest.approx([0.5, 0.75, 0.875], abs=0.01)
    assert scoring.holdout.remaining == 2


def test_folds_of_the_training_set_ask_about_each_of_their_models() -> None:
    scoring = scorer()
    scores = cross_val_score(DummyClassifier(), *TRAIN, scoring=scoring, cv=5)
    assert scores.tolist() == [0.75] * 5
    assert scoring.holdout.remaining == 5


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_a_used_up_holdout_is_nan_in_a_search_or_an_error_where_that_is_wanted() -> None:
    scoring = scorer(cutoff=1)
    options: Any = {"scoring": scoring, "cv": scoring.training_only(TRAIN[0])}
    with pytest.warns(UserWarning, match="GateClosed"):
        search = GridSearchCV(Remembers(), {"share": [2, 4]}, **options).fit(*TRAIN)
    first, second = search.cv_results_["mean_test_score"]
    assert first == pytest.approx(0.5, abs=0.01)
    assert math.isnan(second)
    with pytest.raises(GateClosed, match="all 1 answers"):
        GridSearchCV(Remembers(), {"share": [2]}, error_score="raise", **options).fit(*TRAIN)


def test_threads_may_share_it_and_processes_may_not() -> None:
    import joblib

    scoring = scorer()
    options: Any = {"scoring": scoring, "cv": scoring.training_only(TRAIN[0]), "error_score": "raise", "n_jobs": 2}
    search = GridSearchCV(Remembers(), {"share": [2, 4]}, **options)
    with joblib.parallel_config("threading"):
        search.fit(*TRAIN)
    assert search.best_params_ == {"share": 4}
    for make in (copy.deepcopy, pickle.dumps, clone):
        with pytest.raises(SparsegateError, match="neither copied nor pickled"):
            make(search)
    with pytest.raises(SparsegateError, match="n_jobs=1, or threads"):
        pickle.dumps(scoring)


def test_values_of_ones_own_have_the_range_of_the_holdout() -> None:
    holdout = sg.uses.Holdout(size=4, threshold=1, cutoff=5, epsilon=10_000, low=-9, high=0)
    scoring = HoldoutScorer(
        holdout, HELD[0][:4], np.arange(4.0), per_record=lambda model, records, labels: -(labels**2)
    )
    assert scoring(None, None, np.zeros(3)) == pytest.approx((0 - 1 - 4 - 9) / 4, abs=0.1)


def test_what_is_no_holdout_and_no_function_is_refused() -> None:
    with pytest.raises(ParameterError, match="^holdout must be a Holdout"):
        HoldoutScorer("holdout", *HELD)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="^per_record must be callable"):
        HoldoutScorer(scorer().holdout, *HELD, per_record="accuracy")  # type: ignore[arg-type]


@pytest.mark.parametrize("labels", [None, HELD[1][:-1], HELD[1][:, None]])
def test_labels_of_another_shape_are_refused_on_either_side_and_lengths_are_not_told(labels: Any) -> None:
    model = DummyClassifier().fit(*TRAIN)
    private, training = HoldoutScorer(scorer().holdout, HELD[0], labels), scorer()
    for scoring, records in ((private, TRAIN), (training, (HELD[0], labels))):
        with pytest.raises(ParameterError, match="^labels must be one label for each record") as caught:
            scoring(model, *records)
        assert "1000" not in str(caught.value)
        assert scoring.holdout.spent == 0


def test_what_fails_to_predict_spends_nothing() -> None:
    scoring = scorer()
    with pytest.raises(AttributeError):
        scoring(object(), *TRAIN)
    assert scoring.holdout.spent == 0


@pytest.mark.parametrize(
    ("label", "same", "other"),
    [
        ("cat", ["cat"], ["Cat", " cat", "dog", 1, None]),
        ("1", [1, 1.0, "1.0", True, np.int64(1), np.float32(1), Decimal("1.00")], ["01", 10, -1, "1e0", False]),
        (0, ["0", "-0", -0.0, False, "0.000"], ["", "00", None]),
        ("True", [True, "True", "true", np.bool_(True)], [False, "False", "yes"]),
        ("false", [False, "False", "false"], [True, "true", None]),
        ("007", ["007"], ["7", 7]),
        ("0.5", [0.5, "0.50", np.float64(0.5)], [".5", 5]),
        (1e300, [1e300], ["1", 1]),
        (None, [], [None, "", "None", math.nan]),
        (math.nan, [], [math.nan, "nan"]),
        ("", [], ["", None]),
        ("\ud800", ["\ud800"], ["?"]),
    ],
)
def test_texts_agree_as_they_are_and_numbers_by_their_value(label: Any, same: list[Any], other: list[Any]) -> None:
    guesses = [*same, *other]
    assert agreement([label] * len(guesses), guesses).tolist() == [True] * len(same) + [False] * len(other)


def test_another_number_of_predictions_and_what_is_no_label_are_refused() -> None:
    for wrong in (["a"], ["a", ["b"]]):
        with pytest.raises(ParameterError) as refused:
            agreement(["a", "b"], wrong)
        assert refused.value.parameter == "predictions"
