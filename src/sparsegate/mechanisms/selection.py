"""Private top-c selection: one request, and a table of the methods that can meet it.

Every method selects ``count`` items with high scores and is epsilon-differentially private for the whole
selection, in its order. They differ in what they ask for: the exponential mechanism needs scores alone; the
sparse vector technique needs a public threshold, and in the paper's experiments selects no better however
that is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Allocation, Budget, Keep, Number, Spender, charge, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.calibration import calibrate, trusted_source
from sparsegate.mechanisms.exponential import exponential_groups, selection_rate
from sparsegate.mechanisms.retraversal import plan_traversal, traversal_groups
from sparsegate.mechanisms.scores import Scores, ScoresLike
from sparsegate.noise import Source

DEFAULT_RAISE = 3
"""Standard deviations by which "retraversal" raises the threshold: the middle of 1 to 5, where none is always best."""

DEFAULT_PASSES = 100

Draw = Callable[[Source], NDArray[np.int64]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Selection:
    """What was selected, in the order selected. This, and nothing else of the run, may be released.

    ``indices`` are positions in the array that was given; ``items`` the keys of the mapping. The other is
    None. Methods with a threshold may select fewer than asked for.
    """

    method: str
    budget: Budget
    indices: NDArray[np.int64] | None = None
    items: tuple[Hashable, ...] | None = None

    def __len__(self) -> int:
        chosen = self.items if self.indices is None else self.indices
        return 0 if chosen is None else len(chosen)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Picks:
    """Selected members of groups: member ``members[j]`` of group ``groups[j]``, in the order selected.

    A group's number tells its score, which is private. Name the items, ``keep`` the names on the ledger, and release
    only them.
    """

    budget: Budget
    keep: Keep
    groups: NDArray[np.int64]
    members: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Request:
    """All parameters of a selection but the data; see ``select_top`` for what they mean."""

    count: int
    epsilon: Number
    sensitivity: Number
    monotonic: bool = False
    method: str = "exponential"
    threshold: Number | None = None
    raise_by: Number | None = None
    max_passes: int | None = None
    allocation: Allocation = "optimal"
    granularity: Number | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", exact_count(self.count, "count"))
        object.__setattr__(self, "epsilon", exact_epsilon(self.epsilon))  # read once: what is used is what is charged
        if not isinstance(self.monotonic, bool | np.bool_):
            raise ParameterError(
                "monotonic", "must be True or False", self.monotonic, "pass True only for one-way changes"
            )
        if self.method not in tuple(METHODS):
            raise ParameterError("method", f"must be one of {', '.join(METHODS)}", self.method)
        row = METHODS[self.method]
        for option in fields(self):
            given = getattr(self, option.name)
            if option.name in _OPTIONS - row.options and given != option.default:
                raise ParameterError(
                    option.name,
                    f"must not be given: method {self.method!r} {row.why_not}",
                    given,
                    "leave it out",
                )
        if "threshold" in row.options and self.threshold is None:
            raise ParameterError(
                "threshold",
                f"must be given for method {self.method!r}, as a public number: one computed from the scores, such "
                "as the count-th largest, is private data, and the proof of privacy does not cover it",
                next_step="choose it without looking at these scores, or use method='exponential', which needs none",
            )

    def pick(self, scores: Scores, source: Source, *, ledger: Spender | None = None) -> Picks:
        """Draw the selection as members of groups, for a caller who names the items of a histogram.

        ``source`` is one that ``trusted_source`` gave: whether it is private was settled there.

        >>> from sparsegate.noise import Seeded
        >>> request = Request(count=2, epsilon=1, sensitivity=1, monotonic=True)
        >>> picks = request.pick(Scores.histogram({0: 10**9, 200: 5}), Seeded(1).stream())
        >>> picks.groups.tolist(), picks.members.tolist()
        ([1, 1], [3, 2])
        """
        if self.count > scores.total:
            raise ParameterError("count", "must not exceed the number of scores", self.count, "ask for fewer")
        budget, draw = METHODS[self.method].prepare(self, scores)
        keep = charge(ledger, epsilon=budget.total, what=f"top {self.count}, method {self.method}")
        groups = draw(source)
        return Picks(budget=budget, keep=keep, groups=groups, members=scores.draw_members(source, groups))


@dataclass(frozen=True, kw_only=True)
class SelectionMethod:
    """A way to select: the options it reads, why it reads no others, and how to make it ready to draw."""

    options: frozenset[str]
    why_not: str
    prepare: Callable[[Request, Scores], tuple[Budget, Draw]]


def _exponential(request: Request, scores: Scores) -> tuple[Budget, Draw]:
    rate = selection_rate(
        epsilon=request.epsilon,
        count=request.count,
        sensitivity=request.sensitivity,
        monotonic=request.monotonic,
    )
    budget = Budget(threshold=0, queries=request.epsilon)
    return budget, lambda source: exponential_groups(source, scores, rate=rate, count=request.count)


def _traversal(request: Request, scores: Scores, default_raise: int, passes: int) -> tuple[Budget, Draw]:
    calibration = calibrate(
        "standard",
        cutoff=request.count,
        sensitivity=request.sensitivity,
        epsilon=request.epsilon,
        monotonic=request.monotonic,
        allocation=request.allocation,
        # Floats, by their type, live on a finer lattice.
        threshold=request.threshold if scores.values.dtype.kind == "i" else 0.0,
        granularity=request.granularity,
        not_private=False,
    )
    raise_by = default_raise if request.raise_by is None else request.raise_by
    plan = plan_traversal(
        calibration,
        threshold=request.threshold,
        raise_by=exact_epsilon(raise_by, "raise_by", zero=True),
        passes=passes if request.max_passes is None else exact_count(request.max_passes, "max_passes"),
    )
    steps = calibration.lattice.private_steps_many(scores.values, "scores")
    return calibration.budget, lambda source: traversal_groups(source, scores, steps, plan)


METHODS: Mapping[str, SelectionMethod] = MappingProxyType(
    {
        "exponential": SelectionMethod(
            options=frozenset(),
            why_not="weighs scores directly, without threshold, passes, split or lattice",
            prepare=_exponential,
        ),
        "sparse-vector": SelectionMethod(
            options=frozenset({"threshold", "allocation", "granularity"}),
            why_not="makes one pass at the threshold as it is; 'retraversal' raises it and passes again",
            prepare=lambda request, scores: _traversal(request, scores, 0, 1),
        ),
        "retraversal": SelectionMethod(
            options=frozenset({"threshold", "raise_by", "max_passes", "allocation", "granularity"}),
            why_not="reads every option",
            prepare=lambda request, scores: _traversal(request, scores, DEFAULT_RAISE, DEFAULT_PASSES),
        ),
    }
)

_OPTIONS = frozenset[str]().union(*(row.options for row in METHODS.values()))  # what some method reads, not all


def select_top(
    scores: ScoresLike,
    *,
    count: int,
    epsilon: Number,
    sensitivity: Number,
    monotonic: bool = False,
    method: str = "exponential",
    threshold: Number | None = None,
    raise_by: Number | None = None,
    max_passes: int | None = None,
    allocation: Allocation = "optimal",
    granularity: Number | None = None,
    ledger: Spender | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> Selection:
    """Select ``count`` items with high scores; the selection is epsilon-differentially private.

    *Theorem*: for neighbours that differ by one person, who moves each score by at most ``sensitivity``,
    the selected items in their order are epsilon-DP. See ``mechanisms.exponential`` and
    ``mechanisms.retraversal``.

    Parameters
    ----------
    scores: a one-dimensional array, a mapping from items to scores, or ``Scores``. Every candidate counts,
        also those with score 0: leaving out items because nobody has them would tell that nobody has them.
    count: c, how many to select, from 1 to the number of scores.
    epsilon: the privacy loss of the whole selection, > 0; a float is read as the decimal it prints as.
    sensitivity: Delta > 0, the most that one person can change any one score.
    monotonic: True only if one person moves all scores up or all down, as with counts; it halves the noise.
    method: "exponential"; "sparse-vector", one pass in random order; "retraversal", which raises the
        threshold and passes until c are selected.
    threshold: T, for the last two: a PUBLIC number, fixed without a look at the scores.
    raise_by: k >= 0, standard deviations of noise by which "retraversal" raises T; 3 unless given.
    max_passes: passes that "retraversal" makes at most, 100 unless given; it may select fewer than c.
    allocation: how the last two split epsilon between threshold and comparisons, see ``Budget.allocate``.
    granularity: step of their lattice, a power of two; 1 for whole numbers, at most Delta/1024 otherwise.
    ledger: an open ``sparsegate.Ledger``: charged before anything is drawn, and it keeps what was selected.
    source, not_private: ``Secure()``; a ``Seeded`` source is for tests, and needs not_private=True.

    >>> from sparsegate.noise import Seeded
    >>> visits = {"/home": 912, "/docs": 850, "/blog": 31, "/jobs": 12}
    >>> select_top(visits, count=2, epsilon=0.5, sensitivity=1, monotonic=True, source=Seeded(1), not_private=True)
    Selection(method='exponential', budget=Budget(threshold=0, queries=0.5, answers=0),
        indices=None, items=('/home', '/docs'))
    """
    request = Request(
        count=count,
        epsilon=epsilon,
        sensitivity=sensitivity,
        monotonic=monotonic,
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
    if candidates.items is None:
        picks.keep({"release": "select_top", "indices": numbers})
        return Selection(method=method, budget=picks.budget, indices=numbers)
    items = tuple(candidates.items[number] for number in numbers.tolist())
    picks.keep({"release": "select_top", "items": items})
    return Selection(method=method, budget=picks.budget, items=items)
