"""A score with its public parameters, ready to read rows.

Everything that is asked for here is public, and all of it is checked before a cell is read; how a cell is read then is
in ``feature_reading``, and what the scores are, with how far one row moves them, in ``feature_scores``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import exact_count
from sparsegate.errors import ParameterError
from sparsegate.uses.features.feature_reading import (
    binned,
    check_type,
    clipped,
    coded,
    numbers,
    public_bounds,
    public_categories,
    public_values,
)
from sparsegate.uses.features.feature_scores import FINE, SCORES, Integers, contingency, covariances

Scored = Callable[[NDArray[Any], NDArray[Any]], Any]
"""A table and a target in, one number for each feature out."""

_SAY: Final = {
    "classes": "pass for instance classes=[0, 1]",
    "categories": "pass categories=, or bounds= and bins= for numbers",
    "bounds": "pass for instance bounds=(0, 1)",
}


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """Which score, and what it has to be told: parameters of ``SelectKBestPrivate``, which says what they mean."""

    score_func: Any
    classes: Any
    categories: Any
    bounds: Any
    bins: Any
    target_bounds: Any

    def ready(self, features: int) -> Scored:
        """Check the parameters against the number of features; what comes back takes a table and a target."""
        if callable(self.score_func):
            return _own_score(self.score_func, features)
        of_table = SCORES[self.score_func].of_table
        if of_table is None:
            return self._covariances(features)
        classes = public_values(self._given("classes"), "classes")
        coding, sizes = self._coding(features)
        shapes = [(size + 1, len(classes) + 1) for size in sizes]

        def scored(table: NDArray[Any], target: NDArray[Any]) -> Integers:
            check_type(target, classes, "classes")
            codes, labels = coding(table), coded(target, classes)
            tables = (contingency(codes[:, j], labels, shape=shapes[j]) for j in range(features))
            return np.array([of_table(counts) for counts in tables], dtype=np.int64)

        return scored

    def _coding(self, features: int) -> tuple[Callable[[NDArray[Any]], Integers], list[int]]:
        """How rows become codes, and how many categories each feature has beside "other"."""
        if self.bins is not None:
            if self.categories is not None:
                raise ParameterError("bins", "must not be given with categories", self.bins, "leave one of them out")
            bins, bounds = exact_count(self.bins, "bins"), public_bounds(self._given("bounds"), features, "bounds")
            return (lambda table: binned(numbers(table), bounds, bins)), [bins] * features
        lists = public_categories(self._given("categories"), features)

        def coding(table: NDArray[Any]) -> Integers:
            for listed in lists:
                check_type(table, listed, "categories")
            return np.column_stack([coded(table[:, j], lists[j]) for j in range(features)])

        return coding, [len(listed) for listed in lists]

    def _covariances(self, features: int) -> Scored:
        bounds = public_bounds(self._given("bounds"), features, "bounds")
        if (self.classes is None) == (self.target_bounds is None):
            rule = "must be given for score 'covariance', or else two classes"
            raise ParameterError("target_bounds", rule, self.target_bounds, "pass for instance target_bounds=(0, 1)")
        if self.target_bounds is not None:
            ends = public_bounds(self.target_bounds, 1, "target_bounds")
            return lambda table, target: covariances(clipped(numbers(table), bounds), clipped(numbers(target), ends))
        classes = public_values(self.classes, "classes")
        if len(classes) != 2:
            raise ParameterError("classes", "must be two for score 'covariance'", self.classes, "or use 'dependence'")
        signs = np.array([-FINE, FINE, 0])  # a y of neither class says nothing

        def scored(table: NDArray[Any], target: NDArray[Any]) -> Integers:
            check_type(target, classes, "classes")
            return covariances(clipped(numbers(table), bounds), signs[coded(target, classes)])

        return scored

    def _given(self, name: str) -> Any:
        value = getattr(self, name)
        if value is None:
            rule = f"must be given for score {self.score_func!r}, and be public, not taken from the rows"
            raise ParameterError(name, rule, next_step=_SAY[name])
        return value


def _own_score(score: Callable[[Any, Any], Any], features: int) -> Scored:
    def scored(table: NDArray[Any], target: NDArray[Any]) -> Any:
        given = np.asarray(score(table, target))
        if given.shape != (features,):
            rule = f"must give one number for each of the {features} features"
            raise ParameterError("score_func", rule, given.shape, "return an array of that length")
        return given

    return scored
