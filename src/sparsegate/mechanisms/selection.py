"""Private top-c selection: one request, which any method of ``mechanisms.selection_methods`` can meet.

Every method selects ``count`` items with high scores and is (epsilon, delta)-differentially private for the whole
selection; delta is 0 for all but one of them. They differ in what they ask for and in what they give: an order or a
set, counts or none. The sparse vector technique needs a public threshold, and in the paper's experiments selects no
better however that is chosen.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Allocation, Keep, Number, Spender, charge, exact_count, exact_delta, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.calibration import trusted_source
from sparsegate.mechanisms.choice import choose
from sparsegate.mechanisms.scores import Scores, ScoresLike
from sparsegate.mechanisms.selected import CONFIDENCE, Selection
from sparsegate.mechanisms.selection_accuracy import Promise
from sparsegate.mechanisms.selection_methods import AUTO, METHODS, OPTIONS, Ready
from sparsegate.noise import Source
from sparsegate.noise.own_settings import own_settings


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Picks:
    """Selected members of groups: member ``members[j]`` of group ``groups[j]``, in the order selected.

    A group's number tells its score, which is private. Name the items, put them in an order that may be
    seen, ``keep`` them on the ledger, and release only that.
    """

    ready: Ready
    keep: Keep
    groups: NDArray[np.int64]
    members: NDArray[np.int64]
    noisy: NDArray[np.int64] | None = None


@dataclass(frozen=True, kw_only=True)
class Request:
    """All parameters of a selection but the data; see ``select_top`` for what they mean."""

    count: int
    epsilon: Number
    delta: Number = 0
    sensitivity: Number
    monotonic: bool = False
    touched: int | None = None
    ordered: bool = False
    method: str = AUTO
    threshold: Number | None = None
    raise_by: Number | None = None
    max_passes: int | None = None
    allocation: Allocation = "optimal"
    granularity: Number | None = None

    def __post_init__(self) -> None:
        checked: dict[str, object] = {
            "count": exact_count(self.count, "count"),
            "epsilon": exact_epsilon(self.epsilon),  # read once: what is used is what is charged
            "touched": None if self.touched is None else exact_count(self.touched, "touched"),
            "delta": exact_delta(self.delta, zero=True),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        for name, hint in (("monotonic", "pass True only for one-way changes"), ("ordered", "pass one of them")):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ParameterError(name, "must be True or False", getattr(self, name), hint)
        if self.method not in (AUTO, *METHODS):
            raise ParameterError("method", f"must be one of {AUTO}, {', '.join(METHODS)}", self.method)
        if self.method == AUTO:
            self._choose()
        self._check_options()

    def _choose(self) -> None:
        """Take the method of the rule. A delta that it does not use is not charged."""
        public = ("count", "epsilon", "delta", "touched", "ordered", "monotonic")
        object.__setattr__(self, "method", choose(**{name: getattr(self, name) for name in public}))
        if "delta" not in METHODS[self.method].options:
            object.__setattr__(self, "delta", Fraction(0))

    def _check_options(self) -> None:
        row = METHODS[self.method]
        for option in fields(self):
            given = getattr(self, option.name)
            if option.name in OPTIONS - row.options and given != option.default:
                shown = float(given) if isinstance(given, Fraction) else given
                rule = f"must not be given: method {self.method!r} {row.why_not}"
                raise ParameterError(option.name, rule, shown, "leave it out")
        if self.ordered and not row.ordered:
            rule = f"must be False: method {self.method!r} selects a set, and an order of it would be private"
            raise ParameterError("ordered", rule, True, "leave it out, or choose a method that selects in order")
        if "delta" in row.options and self.delta == 0:
            rule = f"must lie strictly between 0 and 1 for method {self.method!r}"
            raise ParameterError("delta", rule, 0, "pass for instance delta=1e-8, or method='auto'")
        if "threshold" in row.options and self.threshold is None:
            raise ParameterError(
                "threshold",
                f"must be given for method {self.method!r}, as a public number: one computed from the scores, such "
                "as the count-th largest, is private data, and the proof of privacy does not cover it",
                next_step="choose it without looking at these scores, or use method='auto', which needs none",
            )

    @property
    def estimates(self) -> bool:
        """Whether noisy scores come with the selection, at no further cost."""
        return self.prepare(Scores.histogram({0: 1})).estimated is not None

    def promise(self, total: int) -> Promise | None:
        """How far below the c-th of ``total`` whole scores a selected one can be; None where nothing bounds that."""
        case = METHODS[self.method].promise
        return None if case is None else case(self, total)

    def prepare(self, scores: Scores) -> Ready:
        """The method made ready for these scores: everything is checked, and nothing is drawn."""
        return METHODS[self.method].prepare(self, scores)

    def shown_order(self, labels: Sequence[Any]) -> list[int]:
        """The places of the selected in an order that may be released: as selected, or by label for a set."""
        return list(range(len(labels))) if METHODS[self.method].ordered else by_label(labels)

    @own_settings
    def pick(self, scores: Scores, source: Source, *, ledger: Spender | None = None) -> Picks:
        """Draw the selection as members of groups, for a caller who names the items of a histogram.

        ``source`` is one that ``trusted_source`` gave: whether it is private was settled there.

        >>> from sparsegate.noise import Seeded
        >>> request = Request(count=2, epsilon=1, sensitivity=1, monotonic=True, method="exponential")
        >>> picks = request.pick(Scores.histogram({0: 10**9, 200: 5}), Seeded(1).stream())
        >>> picks.groups.tolist(), picks.members.tolist()
        ([1, 1], [1, 2])
        """
        if self.count > scores.total:
            raise ParameterError("count", "must not exceed the number of scores", self.count, "ask for fewer")
        ready = self.prepare(scores)
        what = f"top {self.count}, method {self.method}"
        keep = charge(ledger, epsilon=ready.budget.total, delta=ready.delta, what=what).keep
        groups, noisy = ready.draw(source)
        return Picks(ready=ready, keep=keep, groups=groups, members=scores.draw_members(source, groups), noisy=noisy)


@own_settings
def select_top(
    scores: ScoresLike,
    *,
    count: int,
    epsilon: Number,
    delta: Number = 0,
    sensitivity: Number,
    monotonic: bool = False,
    touched: int | None = None,
    ordered: bool = False,
    method: str = AUTO,
    threshold: Number | None = None,
    raise_by: Number | None = None,
    max_passes: int | None = None,
    allocation: Allocation = "optimal",
    granularity: Number | None = None,
    ledger: Spender | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> Selection:
    """Select ``count`` items with high scores; the selection is (epsilon, delta)-differentially private.

    *Theorem*: for neighbours that differ by one person, who moves at most ``touched`` scores, each by at most
    ``sensitivity``, the ``Selection`` is (epsilon, delta)-DP. The file of each method has the proof.

    Parameters
    ----------
    scores: a one-dimensional array, a mapping from items to scores, a pandas series, whose index has the items, or
        ``Scores``. (A series with the plain index 0, 1, 2, ... is an array.) Every candidate counts, also those with
        score 0: leaving out items because nobody has them would tell that nobody has them.
    count: c, how many to select, from 1 to the number of scores.
    epsilon: the privacy loss of the whole selection, > 0; a float is read as the decimal it prints as.
    delta: what "gumbel" needs, such as 1e-8: the probability with which the guarantee may fail. A method that does
        without is charged none; to name such a method and a delta is an error.
    sensitivity: Delta > 0, the most that one person can change any one score.
    monotonic: True only if one person moves all scores up or all down, as with counts; it halves the noise.
    touched: m, the most scores that one person can change, where something bounds it; None where nothing does.
    ordered: True asks for an order: best first, as far as noise lets one see.
    method: "auto" takes the best for these public numbers, by the rule of ``mechanisms.choice``; or a key of
        ``mechanisms.selection_methods.METHODS``.
    threshold: T, for "sparse-vector" and "retraversal": a PUBLIC number, fixed without a look at the scores.
    raise_by: k >= 0, standard deviations of noise by which "retraversal" raises T; 3 unless given.
    max_passes: passes that "retraversal" makes at most, 100 unless given; it may select fewer than c.
    allocation: how these two split epsilon between threshold and comparisons, see ``Budget.allocate``.
    granularity: step of their lattice, a power of two; 1 for whole numbers, at most Delta/1024 otherwise.
    ledger: an open ``sparsegate.Ledger``: charged before anything is drawn, and it keeps what was selected.
    source, not_private: ``Secure()``; a ``Seeded`` source is for tests, and needs not_private=True.

    >>> import sparsegate as sg
    >>> visits = {"/home": 912, "/docs": 850, "/blog": 31, "/jobs": 12}
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> top = sg.select_top(visits, count=2, epsilon=0.5, sensitivity=1, monotonic=True, **seeded)
    >>> print(top)
    top 2, ε = 0.5
    item
    /docs
    /home
    >>> top
    <Selection: top 2, ε = 0.5>
    """
    request = Request(
        count=count,
        epsilon=epsilon,
        delta=delta,
        sensitivity=sensitivity,
        monotonic=monotonic,
        touched=touched,
        ordered=ordered,
        method=method,
        threshold=threshold,
        raise_by=raise_by,
        max_passes=max_passes,
        allocation=allocation,
        granularity=granularity,
    )
    candidates = Scores.each(scores)
    if candidates.anonymous:
        raise ParameterError(
            "scores",
            "must know its items; a histogram only says how many items have each score",
            next_step="pass an array or a mapping, or call Request.pick and name the members of its groups",
        )
    picks = request.pick(candidates, trusted_source(source, not_private), ledger=ledger)
    numbers = candidates.numbers(picks.groups, picks.members)
    items = None if candidates.items is None else [candidates.items[number] for number in numbers.tolist()]
    shown = request.shown_order(numbers.tolist() if items is None else items)
    ready, estimates = picks.ready, None
    if picks.noisy is not None and ready.estimated is not None:
        estimates = ready.estimated.scores(picks.noisy)[shown]
    selection = Selection(
        method=request.method,
        budget=ready.budget,
        delta=ready.delta,
        indices=numbers[shown] if items is None else None,
        items=None if items is None else tuple(items[place] for place in shown),
        estimates=estimates,
        error_bar=None if ready.estimated is None else ready.estimated.error_bar(CONFIDENCE),
        error_bar_all=None if ready.estimated is None else ready.estimated.error_bar_all(CONFIDENCE),
    )
    if ledger is not None:
        picks.keep({"release": "select_top", **selection.to_dict()})
    return selection


def by_label(labels: Sequence[Any]) -> list[int]:
    """The places of labels in an order that depends on the labels alone.

    The order in which a mapping has its items is no such order: it may be that of their scores. Labels that cannot
    be compared, or not with all others, are sorted by type and by how they read; those that read alike by a coin.

    >>> by_label(["b", "a"]), by_label([(2, 10), (2, 9)]), by_label(["b", 1])
    ([1, 0], [1, 0], [1, 0])
    """
    places = range(len(labels))
    parts = [part for label in labels for part in (label if type(label) is tuple else [label])]
    kinds = set(map(type, parts))
    with contextlib.suppress(TypeError, ArithmeticError):  # instants with and without a time zone, signalling NaN
        if any(kinds <= family for family in _COMPARED) and all(part == part for part in parts):
            return sorted(places, key=labels.__getitem__)
    coins = random.SystemRandom().sample(places, len(places))
    return sorted(coins, key=lambda place: (type(labels[place]).__qualname__, _reading(labels[place])))


_COMPARED: Final = ({str}, {int, float}, {bool}, {Decimal}, {date}, {datetime}, {time}, {bytes}, {UUID})
"""Types whose values, but for not-a-number, have one order."""


def _reading(label: Any) -> str:
    """How a label reads, or nothing: an address tells when it was made, and an error would lose what is paid for."""
    if getattr(type(label), "__repr__", None) is object.__repr__:
        return ""
    try:
        return repr(label)
    except Exception:
        return ""
