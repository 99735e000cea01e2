"""A search of scikit-learn over estimators that train privately: only the best is seen (``uses.tuning``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Self

import numpy as np

from sparsegate.budget import Number, Spender
from sparsegate.errors import ParameterError, load_extra
from sparsegate.noise import Source
from sparsegate.noise.own_settings import own_settings
from sparsegate.uses.features import keep_parameters, learn_bases
from sparsegate.uses.run_cost import RunCost, Runs
from sparsegate.uses.tuning import tune

_TUNED = ("each", "runs", "mean", "eta", "epsilon", "delta", "ledger", "source", "not_private")


class PrivateSearchCV(*learn_bases("base.MetaEstimatorMixin", "base.BaseEstimator")):  # type: ignore[misc]
    """Search the parameters of an estimator whose ``fit`` is differentially private, and keep the best alone.

    As ``RandomizedSearchCV``, with a random number of candidates, and without ``cv_results_``: all their scores would
    have to be paid for. ``fit`` is (epsilon, delta)-DP by ``uses.tuning``, under its four hypotheses.

    Parameters
    ----------
    estimator : its ``fit`` has the cost ``each``, whatever its parameters: your promise. With a seed or a generator of
        its own every run would repeat the same noise, and runs must be independent: that needs not_private=True.
    param_distributions : maps names to lists, or to laws of scipy with ``rvs``; each is drawn by itself.
    each : a ``RunCost``: that of one ``fit``, and of its score where that is not of public records.
    validation : PUBLIC records (X, y), that candidates are scored on. Or
    scoring : a function of the fitted estimator and a generator, which must be private as well: ``each`` pays for it.
        With ``validation`` it is the name of a score of scikit-learn, such as "accuracy".
    runs, mean, eta, epsilon, delta, ledger, source, not_private : as for ``tune``. Each ``fit`` is charged.

    After ``fit``: ``best_estimator_``, ``best_params_``, ``best_score_`` and ``tuned_``, a ``Tuned``. Where a Poisson
    law makes no run, ``best_estimator_`` is the estimator, not fitted, and the score is None.

    >>> import numpy as np, sparsegate as sg
    >>> from sklearn.dummy import DummyClassifier  # private: it learns nothing
    >>> X, y = np.zeros((20, 1)), np.array([1] * 15 + [0] * 5)
    >>> options = {"each": sg.uses.RunCost.pure(0.1), "mean": 20, "runs": "geometric", "validation": (X, y)}
    >>> seeded = {"source": sg.Seeded(7), "not_private": True}  # for an example that repeats itself; leave it out
    >>> models = DummyClassifier(strategy="constant", constant=0)
    >>> search = sg.uses.PrivateSearchCV(models, {"constant": [0, 1]}, **options, **seeded).fit(X, y)
    >>> search.best_params_, search.best_score_, round(float(search.tuned_.epsilon), 2)
    ({'constant': 1}, 0.75, 0.28)
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Mapping[str, Any],
        *,
        each: RunCost | None = None,
        validation: tuple[Any, Any] | None = None,
        scoring: str | Callable[[Any, np.random.Generator], float] | None = None,
        runs: Runs = "logarithmic",
        mean: Number = 30,
        eta: Number | None = None,
        epsilon: Number | None = None,
        delta: Number = 0,
        ledger: Spender | None = None,
        source: Source | None = None,
        not_private: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    @own_settings
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Train a random number of candidates and keep the best. Every call is another release, and charged."""
        clone, score = load_extra("sklearn.base", extra="learn").clone, self._score()
        self._check_randomness()

        def train(candidate: Mapping[str, Any], rng: np.random.Generator) -> tuple[float, Any]:
            trained = clone(self.estimator).set_params(**candidate)
            trained.fit(X, y)
            return score(trained, rng), trained

        asked = {name: getattr(self, name) for name in _TUNED}
        best = tune(train, candidates=self._candidates(), default=clone(self.estimator), **asked)
        self.tuned_, self.best_estimator_ = best, best.model
        self.best_params_, self.best_score_ = best.candidate, best.score
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """What the best estimator predicts."""
        load_extra("sklearn.utils.validation", extra="learn").check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(X)

    @property
    def cv_results_(self) -> NoReturn:
        """Not kept: the scores of all candidates, and how many there were, are private."""
        raise AttributeError(
            "PrivateSearchCV has no cv_results_: the scores of all candidates are private, and only the best is paid "
            "for; read best_params_, best_score_ and tuned_"
        )

    def _score(self) -> Callable[[Any, np.random.Generator], float]:
        if self.validation is None:
            if callable(self.scoring):
                return self.scoring  # type: ignore[no-any-return]
            rule = "must be public records to score on, or scoring a private function of the fitted estimator"
            raise ParameterError("validation", rule, next_step="a score on private records must have noise of its own")
        if callable(self.scoring):
            raise ParameterError("scoring", "must be a name where validation is given", next_step="leave one out")
        scorer = load_extra("sklearn.metrics", extra="learn").check_scoring(self.estimator, self.scoring)
        records = self.validation
        return lambda trained, rng: float(scorer(trained, *records))

    def _check_randomness(self) -> None:
        """A clone of an estimator copies its seed, or its generator as it is."""
        for name, value in self.estimator.get_params().items():
            seeded = value is not None and name.rpartition("__")[2] == "random_state"
            if (seeded or isinstance(value, np.random.Generator | np.random.RandomState)) and not self.not_private:
                rule = f"must have {name}=None: with a seed or generator of its own each run has the same noise"
                raise ParameterError("estimator", rule, next_step=f"leave {name} out")

    def _candidates(self) -> Callable[[np.random.Generator], dict[str, Any]]:
        named = dict(self.param_distributions)
        unknown = sorted(set(named) - set(self.estimator.get_params()))
        if unknown:
            rule = f"must name parameters of {type(self.estimator).__name__}"
            raise ParameterError("param_distributions", rule, unknown[0], "see estimator.get_params()")
        listed = {name: None if hasattr(law, "rvs") else list(law) for name, law in named.items()}
        if not named or not all(values is None or values for values in listed.values()):
            rule = "must map names to lists of at least one value, or to laws with rvs"
            raise ParameterError("param_distributions", rule, next_step="pass for instance {'alpha': [0.1, 1]}")

        def candidate(rng: np.random.Generator) -> dict[str, Any]:
            return {
                name: named[name].rvs(random_state=rng) if values is None else values[int(rng.integers(len(values)))]
                for name, values in listed.items()
            }

        return candidate

    def __sklearn_clone__(self) -> Self:
        """A clone spends from the same ledger."""
        return type(self)(**self.get_params(deep=False))
