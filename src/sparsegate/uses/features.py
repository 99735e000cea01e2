"""Choose the k features that tell most about a target, privately: a transformer of scikit-learn.

**Theorem.** For tables that differ in one person, who has at most ``rows_per_person`` rows, the features that
``SelectKBestPrivate.fit`` selects are (epsilon, delta)-DP: one row moves every score by at most its sensitivity, or
what the caller states for a score of their own, and ``select_top`` is private at rows_per_person times that. Not
covered are the columns that ``transform`` returns, which are the private rows themselves, and what is trained on them.

**Scores** are whole numbers of steps, and so are their sensitivities; proofs: docs/explanation/proofs_in_words/uses.md.
n rows; of one feature n_v have the value v, n_k the class k, n_vk both. *Agreement*: sum_v max_k n_vk; Delta = 1, and
monotonic. *Dependence*: R = 1/4 sum_vk |n_vk - n_v n_k / n|; Delta = 1. *Information*: n I / (1 + ln n), I the mutual
information in nats; Delta = 1, and a step for rounding. *Covariance*: |sum u w|, feature and target mapped to -1..1.

**Cells** are codes of public categories, or numbers clipped to public bounds. Each is read by itself, and has a
reading, so that no row can raise an error: what is in no category is "other"; a number beyond its bounds is the bound;
what is no number is of the bin "other", or the middle. A list is read as objects, and no category is beyond 2**53.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple, NoReturn, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Cost, Number, Spender, check_choice, exact_count, exact_delta, exact_epsilon
from sparsegate.display.plain import amount_text
from sparsegate.errors import ParameterError, SparsegateError, SparsegateWarning, load_extra
from sparsegate.gates.preview import Preview
from sparsegate.noise import Source
from sparsegate.noise.own_settings import own_settings
from sparsegate.selection.select import AUTO, METHODS, Request, select_top
from sparsegate.uses.records import category_places, contingency, distance_from_independence, unmasked

Integers: TypeAlias = NDArray[np.int64]
FINE: Final = 1024  # steps of a score that is no count, and of a clipped number on each side of its middle


class FeatureScore(NamedTuple):
    """What a score is in steps, how far one row moves it, and the score of a table of counts.

    Such a table has a row for each value and a column for each class; None for the score of numbers.
    """

    steps: int
    sensitivity: int
    monotonic: bool
    of_table: Callable[[Integers], int] | None


def agreement(table: Integers) -> int:
    """The rows that the best rule from values to classes labels right."""
    return int(table.max(axis=1).sum())


def dependence(table: Integers) -> int:
    """A quarter of the absolute differences from what independence would give, in steps of 1/1024."""
    n = int(table.sum())
    if n == 0:
        return 0
    return FINE * distance_from_independence(table) // (4 * n)


def information(table: Integers) -> int:
    """n times the mutual information in nats, over 1 + ln n, in steps of 1/1024."""
    n = int(table.sum())
    if n == 0:
        return 0
    signed = [(table.ravel(), 1), (table.sum(axis=1), -1), (table.sum(axis=0), -1), (np.array([n]), 1)]
    terms = [sign * (part * np.log(np.maximum(part, 1))) for part, sign in signed]
    return math.floor(FINE * math.fsum(np.concatenate(terms)) / (1 + math.log(n)))


def covariances(features: Integers, target: Integers) -> Integers:
    """The absolute sums of products, a score for each column; -1024..1024 in, steps of 2**-20 out."""
    sums: Integers = np.abs(target @ features)
    return sums


SCORES: Final[Mapping[str, FeatureScore]] = MappingProxyType(
    {
        "agreement": FeatureScore(steps=1, sensitivity=1, monotonic=True, of_table=agreement),
        "dependence": FeatureScore(steps=FINE, sensitivity=FINE, monotonic=False, of_table=dependence),
        "information": FeatureScore(steps=FINE, sensitivity=FINE + 1, monotonic=False, of_table=information),
        "covariance": FeatureScore(steps=FINE**2, sensitivity=FINE**2, monotonic=False, of_table=None),
    }
)
"""Every score by its key."""


Floats = NDArray[np.float64]
Bounds = tuple[Floats, Floats]

_NO_LIST: Final = (str, bytes, Mapping)  # their parts are no list of values
_NOT_REAL: Final = (complex, np.complexfloating, np.ndarray)  # as a float they warn, and a warning would tell of it
_EXACT: Final = 2**53  # up to here whole numbers and floats are the same numbers


def plain_table(rows: Any) -> NDArray[Any]:
    """X as an array of two dimensions. An error says what is wrong with its shape or type, and shows no cell."""
    if hasattr(rows, "tocsr"):
        raise TypeError("X must be dense: sparse data is not supported; pass X.toarray()")
    table = _cells(rows, "X")
    if table.ndim == 1 and any(isinstance(row, Sequence) and not isinstance(row, str) for row in table.tolist()):
        raise ParameterError("X", "must have rows of one length", next_step="pass a table of two dimensions")
    if table.ndim != 2:
        rule = f"must have two dimensions, rows and features; this has {table.ndim}"
        raise ParameterError("X", rule, next_step="Reshape your data with X.reshape(-1, 1) if it is one feature")
    if table.dtype.kind == "c":
        raise ParameterError("X", "must hold real values: Complex data not supported")
    if table.shape[1] == 0:
        rule = f"must have features: 0 feature(s) (shape={table.shape}) while a minimum of 1 is required."
        raise ParameterError("X", rule)
    return table


def plain_target(y: Any, rows: int) -> NDArray[Any]:
    """y as an array of one dimension, with one entry for each row."""
    if y is None:
        raise ParameterError("y", "must be given: this requires y to be passed, but the target y is None")
    target = _cells(y, "y")
    if target.ndim != 1:
        rule = f"must have one entry for each row: y should be a 1d array, this has {target.ndim} dimensions"
        raise ParameterError("y", rule, next_step="pass y.ravel()")
    if target.size != rows:
        raise ParameterError("y", "must have one entry for each row of X", next_step="look at the lengths of both")
    return target


def _cells(values: Any, parameter: str) -> NDArray[Any]:
    """What has a type of its own by that; a list cell by cell, whatever its cells are; a masked cell is None."""
    values = unmasked(values)
    try:
        return np.asarray(values, dtype=None if hasattr(values, "__array__") else object)
    except ValueError:
        raise ParameterError(parameter, "must be a table or a list that numpy can read") from None


def public_values(values: Any, parameter: str) -> tuple[Hashable, ...]:
    """The different values of a public list, in its order."""
    try:
        listed = tuple(dict.fromkeys(item.item() if isinstance(item, np.generic) else item for item in values))
        sound = bool(listed) and not isinstance(values, _NO_LIST) and all(item == item for item in listed)
        exact = not any(isinstance(item, int | float) and _EXACT <= abs(item) < math.inf for item in listed)
    except (TypeError, ValueError):
        sound = False
    if not sound:
        rule = "must be a list of one or more values that can be told apart"
        raise ParameterError(parameter, rule, values, f"pass for instance {parameter}=[0, 1]; NaN is always 'other'")
    if not exact:
        raise ParameterError(parameter, "must have numbers below 2**53", values, "write such numbers as text")
    return listed


def public_categories(categories: Any, features: int) -> list[tuple[Hashable, ...]]:
    """A list of categories for each feature, from one list for all, one for each, or m for 0 .. m-1."""
    if isinstance(categories, int | np.integer):
        return [tuple(range(exact_count(categories, "categories")))] * features
    if isinstance(categories, Iterable) and not isinstance(categories, _NO_LIST):
        listed = list(categories)
        if listed and all(isinstance(item, Iterable) and not isinstance(item, _NO_LIST) for item in listed):
            if len(listed) != features:
                rule = f"must have one list for each of the {features} features"
                raise ParameterError("categories", rule, len(listed), "or pass one list of values for all")
            return [public_values(item, "categories") for item in listed]
        categories = listed
    return [public_values(categories, "categories")] * features


def public_bounds(bounds: Any, features: int, parameter: str) -> Bounds:
    """The least and the largest value of each feature."""
    try:
        low, high = (np.broadcast_to(np.asarray(end, dtype=np.float64), (features,)) for end in bounds)
        sound = bool(np.all(np.isfinite(high - low) & (low < high)))
    except (TypeError, ValueError):
        sound = False
    if not sound:
        rule = "must be two finite public numbers, the lower first, or two lists of one for each feature"
        raise ParameterError(parameter, rule, bounds, f"pass for instance {parameter}=(0, 1)")
    return low, high


def coded(column: NDArray[Any], listed: Sequence[Hashable], parameter: str = "categories") -> Integers:
    """The place of each cell among the public values, and their number where it is none of them.

    An array whose type has none of the values is refused: every cell would be "other", and the release worth nothing.
    The type of the array alone decides: what the cells of objects are is private.
    """
    texts = sum(isinstance(value, str) for value in listed)
    if (column.dtype.kind in "biuf" and texts == len(listed)) or (column.dtype.kind == "U" and not texts):
        kind = "text" if texts == 0 else "numbers"  # not the type's name, which has the length of the longest text
        raise ParameterError(parameter, f"must have {kind}, as the cells are {kind}", next_step="cast one of the two")
    return category_places(column, listed, other=len(listed))


def numbers(table: NDArray[Any]) -> Floats:
    """Every cell as a float, and NaN for what is none."""
    if table.dtype.kind in "biuf":
        with np.errstate(all="ignore"):  # a wider float may be beyond all of these, and a warning would tell of it
            return table.astype(np.float64)
    return np.array([_number(cell) for cell in table.ravel().tolist()], dtype=np.float64).reshape(table.shape)


def _number(cell: Any) -> float:
    try:
        return math.nan if isinstance(cell, _NOT_REAL) else float(cell)
    except Exception:
        return math.nan


def _unit(table: Floats, bounds: Bounds) -> Floats:
    """Each number clipped to its bounds, which go to 0 and 1; NaN stays."""
    low, high = bounds
    spread: Floats = (np.clip(table, low, high) - low) / (high - low)
    return spread


def binned(table: Floats, bounds: Bounds, bins: int) -> Integers:
    """The number of the bin, of ``bins`` equal ones between the bounds, and ``bins`` for NaN."""
    unit = _unit(table, bounds)
    return np.where(np.isnan(unit), bins, np.minimum(np.nan_to_num(unit) * bins, bins - 1)).astype(np.int64)


def clipped(table: Floats, bounds: Bounds) -> Integers:
    """Steps from the middle of the bounds, which are at -1024 and 1024; NaN is the middle."""
    return np.rint(np.nan_to_num((2 * _unit(table, bounds) - 1) * FINE)).astype(np.int64)


Scored = Callable[[NDArray[Any], NDArray[Any]], Any]  # A table and a target in, one number for each feature out


def _own_scores(own: Scored, features: int, table: NDArray[Any], target: NDArray[Any]) -> Any:
    scores = np.asarray(own(table, target))
    if scores.shape != (features,):
        rule = f"must give one number for each of the {features} features"
        raise ParameterError("score_func", rule, scores.shape, "return an array of that length")
    return scores


_SAY: Final = {
    "classes": "pass for instance classes=[0, 1]",
    "categories": "pass categories=, or bounds= and bins= for numbers",
    "bounds": "pass for instance bounds=(0, 1)",
}


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


def learn_bases(*names: str) -> tuple[Any, ...]:
    """These classes of scikit-learn, or what stands in for them."""
    try:
        return tuple(
            getattr(load_extra(f"sklearn.{module}", extra="learn"), name)
            for module, _, name in (each.rpartition(".") for each in names)
        )
    except SparsegateError:
        return (_WithoutLearn,)


def keep_parameters(estimator: Any, scope: dict[str, Any]) -> None:
    """Keep the parameters of ``__init__``, its ``locals()``, as they are: scikit-learn reads them again."""
    vars(estimator).update({name: value for name, value in scope.items() if name != "self"})


def _cost_at(request: Request, epsilon: Fraction) -> Cost:
    return replace(request, epsilon=epsilon).checked.cost


class SelectKBestPrivate(*learn_bases("feature_selection.SelectorMixin", "base.BaseEstimator")):  # type: ignore[misc]
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
    >>> chosen = sg.uses.SelectKBestPrivate(k=1, epsilon=1, classes=[0, 1], categories=2, **seeded)
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
        keep_parameters(self, locals())

    @own_settings
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Score every feature, select k of them, and keep which. Every call is another release, and charged."""
        table = plain_table(X)
        target = plain_target(y, table.shape[0])
        features = table.shape[1]
        options = self._options(features)
        scored = self._scored(features)
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
    def preview(self, n_features: int, *, confidence: float = 0.95) -> Preview:
        """How far below the k-th best score the worst feature selected can be, at most: ``gap``, in units of the score.

        It holds with probability ``confidence`` whatever the rows are, by ``select_top``'s promise, which is of whole
        numbers; public numbers go in, nothing is drawn or charged. The gap is None where nothing bounds it.
        """
        features, row = exact_count(n_features, "n_features"), self._row()
        request = Request(**self._options(features))
        promise, everything = request.promise(features), self.k >= features
        gap = None if promise is None else 0 if everything else promise.within(confidence)
        behind = None if gap is None else gap / (1 if row is None else row.steps)
        worst = "is bounded by nothing" if behind is None else f"is at most {behind:,.6g} behind the k-th best"
        return Preview(
            release="selection of features",
            epsilon=Fraction(0) if everything else exact_epsilon(self.epsilon),
            delta=Fraction(0) if everything else exact_delta(self.delta, zero=True),
            confidence=confidence,
            accuracy={"gap": behind},
            settings={"k": self.k, "features": features, "method": request.method},
            statement=f"Of {features:,} features {self.k:,} are selected; the score of the worst of them {worst}, "
            f"with {100 * confidence:g} %.",
            cost=Cost.of(Fraction(0)) if everything else request.checked.cost,
            cost_at=None if everything else partial(_cost_at, request),
        )

    def _scored(self, features: int) -> Scored:
        """Check the public parameters against the number of features; what comes back takes a table and a target."""
        row = self._row()
        if row is None:
            return partial(_own_scores, self.score_func, features)
        if row.of_table is None:
            return self._covariances(features)
        of_table, classes = row.of_table, public_values(self._required("classes"), "classes")
        coding, sizes = self._coding(features)

        def scored(table: NDArray[Any], target: NDArray[Any]) -> Integers:
            codes, labels = coding(table), coded(target, classes, "classes")
            tables = (contingency(codes[:, j], labels, shape=(sizes[j] + 1, len(classes) + 1)) for j in range(features))
            return np.array([of_table(counts) for counts in tables], dtype=np.int64)

        return scored

    def _coding(self, features: int) -> tuple[Callable[[NDArray[Any]], Integers], list[int]]:
        """How rows become codes, and how many categories each feature has beside "other"."""
        if self.bins is not None:
            if self.categories is not None:
                raise ParameterError("bins", "must not be given with categories", self.bins, "leave one of them out")
            bins, bounds = exact_count(self.bins, "bins"), public_bounds(self._required("bounds"), features, "bounds")
            return (lambda table: binned(numbers(table), bounds, bins)), [bins] * features
        lists = public_categories(self._required("categories"), features)

        def coding(table: NDArray[Any]) -> Integers:
            return np.column_stack([coded(table[:, j], lists[j]) for j in range(features)])

        return coding, [len(listed) for listed in lists]

    def _covariances(self, features: int) -> Scored:
        bounds = public_bounds(self._required("bounds"), features, "bounds")
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
        return lambda table, target: covariances(
            clipped(numbers(table), bounds), signs[coded(target, classes, "classes")]
        )

    def _required(self, name: str) -> Any:
        value = getattr(self, name)
        if value is None:
            rule = f"must be given for score {self.score_func!r}, and be public, not taken from the rows"
            raise ParameterError(name, rule, next_step=_SAY[name])
        return value

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
            "max_items_per_user": features,
            "method": self.method,
        }
        Request(**options)
        if self.k > features:
            warning = f"k = {self.k} is more than the {features} features: all are selected, and nothing is charged"
            warnings.warn(SparsegateWarning(warning), stacklevel=4)
        return options

    def _row(self) -> FeatureScore | None:
        """The row of the score; None for one of the caller's own, which must come with its sensitivity."""
        if callable(self.score_func):
            if self.sensitivity is None:
                rule, step = "must be given with a score of your own", "say how far one row can move one score"
                raise ParameterError("sensitivity", rule, next_step=step)
            return None
        check_choice(self.score_func, "score_func", SCORES, "or pass a callable")
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
            "candidates": int(options["max_items_per_user"]),
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
