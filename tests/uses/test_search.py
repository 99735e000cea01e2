"""A search of scikit-learn that keeps the best alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from tests.support.accounts import Account

import sparsegate as sg
from sparsegate.uses.run_cost import RunCost
from sparsegate.uses.search import PrivateSearchCV

X, Y = np.zeros((40, 1)), np.array([1] * 30 + [0] * 10)
MODEL = DummyClassifier(strategy="constant", constant=0)
OPTIONS = {"each": RunCost.pure(0.1), "runs": "geometric", "mean": 30, "source": sg.Seeded(7), "not_private": True}


def test_the_best_estimator_is_kept_and_nothing_of_the_others():
    account = Account()
    search = PrivateSearchCV(MODEL, {"constant": [0, 1]}, validation=(X, Y), **OPTIONS, ledger=account).fit(X, Y)
    assert (search.best_params_, search.best_score_) == ({"constant": 1}, 0.75)
    assert search.predict(X[:2]).tolist() == [1, 1]
    assert len(account.charged) == 1
    assert MODEL.constant == 0, "the estimator itself is not touched"
    with pytest.raises(AttributeError, match="no cv_results_.*private"):
        _ = search.cv_results_
    clone(search).fit(X, Y)
    assert len(account.charged) == 2, "a clone spends from the same ledger"


def test_laws_of_scipy_and_scores_of_ones_own_are_taken():
    law = {"constant": [1], "random_state": stats.randint(0, 100)}
    search = PrivateSearchCV(MODEL, law, scoring=lambda model, rng: -model.random_state, **OPTIONS).fit(X, Y)
    assert search.best_score_ == -search.best_params_["random_state"]
    assert search.best_params_["random_state"] < 50


@pytest.mark.parametrize("seed", [1, np.random.RandomState(1), np.random.default_rng(1)])
def test_an_estimator_whose_clones_would_repeat_one_noise_is_refused(seed):
    account, models = Account(), DummyClassifier(strategy="stratified", random_state=seed)
    honest = {**OPTIONS, "source": None, "not_private": False, "validation": (X, Y), "ledger": account}
    for estimator in (models, make_pipeline(models)):
        with pytest.raises(sg.ParameterError, match="estimator.*random_state=None.*same noise"):
            PrivateSearchCV(estimator, {}, **honest).fit(X, Y)
    assert not account.charged
