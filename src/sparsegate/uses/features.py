"""Choose the k features that tell most about a target, privately: a transformer of scikit-learn.

**Theorem.** For tables that differ in one person, who has at most ``rows_per_person`` rows, the features that
``SelectKBestPrivate.fit`` selects are (epsilon, delta)-DP. *Proof.* A person moves every score by at most
rows_per_person times the sensitivity that is proved below, or that the caller states for a score of their own, and
``select_top`` is private at that sensitivity: the set is drawn by `subset_is_private` (proofs/subset.v) or the theorem
of another method. How a cell is read depends on public parameters and that cell alone, and no value of a cell is
refused, so errors tell nothing. Everything else that a fitted transformer holds is public or made from the set. Scores
are no attribute of it: they are private.

What is NOT covered: the columns that ``transform`` returns, which are the private rows themselves, and whatever is
trained on them: another release, with its own epsilon.

**Scores.** Neighbours: add or remove one row. n rows; of one feature, n_v rows have the value v, n_k the class k and
n_vk both. What the values and classes are is public, so one row is in one cell (v, k) of each feature's table, whatever
it holds. Every score is a whole number of steps, and so is its sensitivity Delta: no rounding is left out of a proof.

**agreement** (1 step): A = sum_v max_k n_vk, the rows that the best rule "value -> class" labels right. *Delta = 1, and
monotonic.* A new row raises one n_vk by one, so one maximum by 0 or 1 and no other: every feature's A rises by 0 or 1.

**dependence** (1024 steps): R = 1/4 sum_vk |n_vk - n_v n_k / n|, n/2 times the R score of PrivBayes (Zhang et al., TODS
2017); |ad - bc|/n for a table of two by two. *Delta = 1*, by the theorem of ``records.distance_from_independence``. R
is a fraction of whole numbers, rounded down exactly: where reals differ by at most 1024 steps, so do they rounded down.

**information** (1024 steps): J = n I / (1 + ln n), I the mutual information of value and class in the table, in nats.
*Delta = 1, for any number of values and classes, and without a bound on n.* Let g(t) = t ln t, F = n I = sum g(n_vk) -
sum g(n_v) - sum g(n_k) + g(n), and h(t) = g(t+1) - g(t), the mean of 1 + ln u over [t, t+1]: h is increasing and
concave, h(0) = 0 and h(t) <= 1 + ln(t+1). A new row in the cell (v, k) moves F by

    m = h(n) - h(a) - h(b) + h(c),    a = n_v, b = n_k, c = n_vk,  c <= a, c <= b,  a + b - c <= n.

(up) m <= h(n), since h(c) <= h(a) and h(b) >= 0; and 1 + ln n grows, so J rises by at most h(n) / (1 + ln(n+1)) <= 1.
(down) -m = h(a) + h(b) - h(c) - h(n) is largest, for given c, at a = b = (n + c)/2, and then falls as c grows, both
since h is concave: -m <= 2 h(n/2) - h(n). As ln is concave, 1 + (ln n + ln(n+1))/2 <= h(n) and h(n/2) <= 1 +
ln((n+1)/2), so -m <= 1 + ln(n+1) - 2 ln 2 + ln(1 + 1/n)/2. J falls by the division as well: F (1/(1 + ln n) - 1/(1 +
ln(n+1))) <= I / ((1 + ln n)(1 + ln(n+1))), as n ln(1 + 1/n) <= 1, and I <= ln n. In all J falls by at most

    [1 + ln(n+1) - 2 ln 2 + ln(1 + 1/n)/2 + ln n / (1 + ln n)] / (1 + ln(n+1)) <= 1,

as the last two terms are at most ln(2)/2 + 1 < 2 ln 2. Of fewer than 10^9 rows floats give J within a quarter of a
step, so two neighbours rounded down differ by at most 1025 steps, which is the sensitivity charged.

**covariance** (2^20 steps): C = |sum u w|, u and w the feature and the target clipped to PUBLIC bounds and mapped to
-1..1, in steps of 1/1024. *Delta = 1.* A new row adds u w, in -1..1, and |.| moves by no more than what it is taken of.

A person with up to r rows moves a score by r Delta at most: r steps from neighbour to neighbour.

**Cells** are codes of public categories, or numbers clipped to public bounds. Each is read by itself, by public numbers
alone, so that a row enters every sum in a way that no other row changes; and every cell has a reading, so that no row
can raise an error: what is in no category is of one more category, "other"; a number beyond its bounds is the bound;
and what is no number (NaN, None, text) is of the bin "other", or the middle of its bounds.

Two ways in which numpy reads a cell by others are kept out. Of a list with one text it makes text of every number: a
list is read as objects. Of a frame with one empty cell whole numbers become floats, which are the same numbers up to
2**53: no category is beyond.
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

FINE: Final = 1024
"""Steps of a score that is no count, and of a clipped number on each side of its middle."""


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


def coded(column: NDArray[Any], categories: Sequence[Hashable]) -> Integers:
    """The place of each cell among the categories, and their number where it is none of them."""
    return category_places(column, categories, other=len(categories))


def check_type(held: NDArray[Any], listed: Sequence[Hashable], parameter: str) -> None:
    """Refuse an array whose type has none of the values: every cell would be "other", and the release worth nothing.

    The type of the array alone decides: what the cells of objects are is private.
    """
    texts = sum(isinstance(value, str) for value in listed)
    if (held.dtype.kind in "biuf" and texts == len(listed)) or (held.dtype.kind == "U" and not texts):
        kind = "text" if texts == 0 else "numbers"  # not the type's name, which has the length of the longest text
        raise ParameterError(parameter, f"must have {kind}, as the cells are {kind}", next_step="cast one of the two")


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


Scored = Callable[[NDArray[Any], NDArray[Any]], Any]
"""A table and a target in, one number for each feature out."""

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
        if callable(own := self.score_func):

            def own_scores(table: NDArray[Any], target: NDArray[Any]) -> Any:
                scores = np.asarray(own(table, target))
                if scores.shape != (features,):
                    rule = f"must give one number for each of the {features} features"
                    raise ParameterError("score_func", rule, scores.shape, "return an array of that length")
                return scores

            return own_scores
        row = self._row()
        assert row is not None
        if (of_table := row.of_table) is None:
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
