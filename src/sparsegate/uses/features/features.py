"""Choose the k features that tell most about a target, privately: a transformer of scikit-learn.

**Theorem.** For tables that differ in one person, who has at most ``rows_per_person`` rows, the features that
``SelectKBestPrivate.fit`` selects are (epsilon, delta)-DP. *Proof.* A person moves every score by at most
rows_per_person times the sensitivity that ``feature_scores`` proves, or that the caller states for a score of their
own, and ``select_top`` is private at that sensitivity: the set is drawn by `subset_is_private` (proofs/subset.v) or the
theorem of another method. How a cell is read depends on public parameters and that cell alone (``feature_reading``),
and no value of a cell is refused, so errors tell nothing. Everything else that a fitted transformer holds is public or
made from the set. Scores are no attribute of it: they are private.

What is NOT covered: the columns that ``transform`` returns, which are the private rows themselves, and whatever is
trained on them. That is another release, and needs its own epsilon.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any, Final, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Number, Spender, exact_count, exact_epsilon
from sparsegate.display.plain import amount_text
from sparsegate.errors import ParameterError, SparsegateError, SparsegateWarning, load_extra
from sparsegate.mechanisms.selection import Request, select_top
from sparsegate.mechanisms.selection_methods import AUTO, METHODS
from sparsegate.noise import Source
from sparsegate.noise.own_settings import own_settings
from sparsegate.uses.features.feature_reading import plain_table, plain_target
from sparsegate.uses.features.feature_scores import SCORES, FeatureScore
from sparsegate.uses.features.feature_scoring import Scoring

_PUBLIC: Final = tuple(field.name for field in fields(Scoring))
_HELD: Final = ("ledger", "source")  # of these there is one: a copy would spend twice, or repeat its noise
_LEFT = "left behind by a copy or a pickle"
_HELP: Final = {
    "ledger": "pass an open sg.Ledger, which another process opens by its address (PostgreSQL: its password from "
    "PGPASSWORD or ~/.pgpass), search in this process (n_jobs=1, or threads), or call set_params(ledger=...)",
    "source": "search in this process (n_jobs=1, or threads), or leave it out: Secure() is made anew in each",
}


class _WithoutLearn:
    """Stands in for the classes of scikit-learn where that is not installed, so that the name can be imported."""

    def __new__(cls, *args: object, **options: object) -> NoReturn:
        load_extra("sklearn", extra="learn")
        raise AssertionError("scikit-learn was installed while this ran; start again")


def _bases() -> tuple[Any, ...]:
    try:
        mixin = load_extra("sklearn.feature_selection", extra="learn").SelectorMixin
    except SparsegateError:
        return (_WithoutLearn,)
    return (mixin, load_extra("sklearn.base", extra="learn").BaseEstimator)


class SelectKBestPrivate(*_bases()):  # type: ignore[misc]
    """Select the k features with the highest scores; which they are is (epsilon, delta)-differentially private.

    Parameters
    ----------
    score_func: "agreement", "dependence" or "information", of categories and classes; "covariance", of numbers; or a
        callable (X, y) -> one number for each feature, with ``sensitivity`` and ``monotonic``: your promise.
    k: how many. Where there are no more features than k all are selected, and nothing is charged.
    epsilon: the privacy loss of the selection, > 0; there is no default.
    delta, method: as for ``select_top``; the methods that need a threshold are not offered.
    classes: PUBLIC, the classes of y. A y that is none of them is of one more class.
    categories: PUBLIC, for scores of categories: m for the whole numbers 0 .. m-1, one list for all features, or one
        list for each. What is in none is in one more category.
    bounds: PUBLIC, (low, high) for all features, or two lists. Numbers beyond are clipped.
    bins: instead of ``categories``: this many equal bins between the ``bounds``.
    target_bounds: PUBLIC, (low, high) of y for "covariance", instead of two ``classes``.
    rows_per_person: the most rows of one person; your promise.
    sensitivity, monotonic: of a score of your own, for one row; see ``select_top``.
    ledger: an open ``sparsegate.Ledger``: every ``fit`` is charged to it, that of every clone as well, also in the
        other processes of a search (``n_jobs=2``), which open it by its address.
    source, not_private: ``Secure()``; a ``Seeded`` source is for tests, and needs not_private=True.

    After ``fit``: ``selected_`` (their numbers), ``selection_`` (a ``Selection``, or None where nothing was charged),
    ``record_`` (what was done and charged, as JSON takes it), and what scikit-learn gives every selector.

    >>> import numpy as np, sparsegate as sg
    >>> rows = np.random.default_rng(1).integers(0, 2, size=(500, 6))
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> chosen = sg.SelectKBestPrivate(k=1, epsilon=1, classes=[0, 1], categories=2, **seeded)
    >>> chosen.fit(rows, rows[:, 3]).selected_.tolist()
    [3]
    """

    def __init__(
        self,
        score_func: str | Callable[[Any, Any], Any] = "agreement",
        *,
        k: int = 10,
        epsilon: Number | None = None,
        delta: Number = 0,
        method: str = AUTO,
        classes: Any = None,
        categories: Any = None,
        bounds: Any = None,
        bins: int | None = None,
        target_bounds: Any = None,
        rows_per_person: int = 1,
        sensitivity: Number | None = None,
        monotonic: bool = False,
        ledger: Spender | None = None,
        source: Source | None = None,
        not_private: bool = False,
    ) -> None:
        self.score_func = score_func
        self.k = k
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.classes = classes
        self.categories = categories
        self.bounds = bounds
        self.bins = bins
        self.target_bounds = target_bounds
        self.rows_per_person = rows_per_person
        self.sensitivity = sensitivity
        self.monotonic = monotonic
        self.ledger = ledger
        self.source = source
        self.not_private = not_private

    @own_settings
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Score every feature, select k of them, and keep which. Every call is another release, and charged."""
        table = plain_table(X)
        target = plain_target(y, table.shape[0])
        features = table.shape[1]
        options = self._options(features)
        scored = Scoring(**{name: getattr(self, name) for name in _PUBLIC}).ready(features)
        named = load_extra("sklearn.utils.validation", extra="learn").validate_data
        # Names that are refused must be so before anything is paid.
        named(self._without_held(), X, skip_check_array=True)
        selection = None
        if self.k < features:
            read = (np.asarray(X), np.asarray(y)) if callable(self.score_func) else (table, target)
            selection = select_top(
                scored(*read), **options, ledger=self.ledger, source=self.source, not_private=self.not_private
            )
        named(self, X, skip_check_array=True)
        self.selection_ = selection
        self.selected_ = np.arange(features) if selection is None else np.sort(np.asarray(selection.indices))
        self.record_ = self._record(options, selection)
        return self

    @own_settings
    def preview(self, n_features: int, *, confidence: float = 0.95) -> float | None:
        """How far below the k-th best score the worst feature selected can be, at most, in units of the score.

        It holds with probability ``confidence`` whatever the rows are, by ``select_top``'s promise, which is of whole
        numbers; public numbers go in, nothing is drawn or charged. None where nothing bounds it.
        """
        features, row = exact_count(n_features, "n_features"), self._row()
        promise = Request(**self._options(features)).promise(features)
        if self.k >= features or promise is None:
            return 0.0 if promise else None
        gap = promise.within(confidence)
        return None if gap is None else gap / (1 if row is None else row.steps)

    def _options(self, features: int) -> dict[str, Any]:
        """What ``select_top`` is asked, all of it checked before a cell is read."""
        row = self._row()
        if self.epsilon is None:
            raise ParameterError("epsilon", "must be given", None, "pass for instance epsilon=1")
        if isinstance(self.method, str) and "threshold" in getattr(METHODS.get(self.method), "options", ()):
            rule = "must be one that needs no threshold: the candidates are known, so a gate only selects worse"
            raise ParameterError("method", rule, self.method, "leave it out, or call select_top yourself")
        for held in _HELD:
            if getattr(self, held) == _LEFT:
                raise ParameterError(held, f"was {_LEFT}", next_step=_HELP[held])
        per_row = exact_epsilon(self.sensitivity, "sensitivity") if row is None else row.sensitivity
        options: dict[str, Any] = {
            "count": exact_count(self.k, "k"),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "sensitivity": exact_count(self.rows_per_person, "rows_per_person") * per_row,
            "monotonic": self.monotonic if row is None else row.monotonic,
            "touched": features,
            "method": self.method,
        }
        Request(**options)
        if self.k > features:
            said = f"k = {self.k} is more than the {features} features: all are selected, and nothing is charged"
            warnings.warn(SparsegateWarning(said), stacklevel=4)
        return options

    def _row(self) -> FeatureScore | None:
        """The row of the score; None for one of the caller's own, which must come with its sensitivity."""
        if callable(self.score_func):
            if self.sensitivity is None:
                rule, step = "must be given with a score of your own", "say how far one row can move one score"
                raise ParameterError("sensitivity", rule, next_step=step)
            return None
        if not isinstance(self.score_func, str) or self.score_func not in SCORES:
            raise ParameterError("score_func", f"must be one of {', '.join(SCORES)}, or a callable", self.score_func)
        for name, default in (("sensitivity", None), ("monotonic", False)):
            if getattr(self, name) != default:
                rule = f"must not be given: score {self.score_func!r} has its own"
                raise ParameterError(name, rule, getattr(self, name), "leave it out")
        return SCORES[self.score_func]

    def _record(self, options: Mapping[str, Any], selection: Any) -> dict[str, Any]:
        return {
            "release": "SelectKBestPrivate",
            "score": self.score_func if isinstance(self.score_func, str) else "the caller's own",
            "sensitivity": amount_text(options["sensitivity"]),
            "monotonic": bool(options["monotonic"]),
            "rows_per_person": int(self.rows_per_person),
            "method": None if selection is None else selection.method,
            "epsilon": "0" if selection is None else amount_text(selection.budget.total),
            "delta": "0" if selection is None else amount_text(selection.delta),
            "candidates": int(options["touched"]),
            "selected": self.selected_.tolist(),
        }

    def _get_support_mask(self) -> NDArray[np.bool_]:
        load_extra("sklearn.utils.validation", extra="learn").check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=np.bool_)
        mask[self.selected_] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.non_deterministic = True
        return tags

    def __sklearn_clone__(self) -> Self:
        """A clone spends from the same ledger: a search over folds must not get a fresh one for each."""
        bare = super(SelectKBestPrivate, self._without_held()).__sklearn_clone__()
        for name in _HELD:
            setattr(bare, name, getattr(self, name))
        clone: Self = bare
        return clone

    def _without_held(self) -> Self:
        bare = type(self).__new__(type(self))
        bare.__dict__.update(self.__dict__, **dict.fromkeys(_HELD))
        return bare

    def __getstate__(self) -> dict[str, Any]:
        """A copy or a pickle can transform. It fits where its ledger can be opened by its address, and spends there.

        Without that it fits when it is given its ledger again: nothing is spent unseen. A source is never copied.
        """
        state: dict[str, Any] = super().__getstate__()
        reopening = getattr(state["ledger"], "reopening", None)
        left = {name: _LEFT for name in _HELD if state[name] is not None}
        return state | left | ({} if reopening is None else {"ledger": reopening()})

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state["ledger"], partial):
            try:
                state = {**state, "ledger": state["ledger"]()}
            except SparsegateError:  # on another machine, say: what is fitted still transforms
                state = {**state, "ledger": _LEFT}
        super().__setstate__(state)
