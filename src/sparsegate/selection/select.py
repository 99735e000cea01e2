"""Private top-c selection: one request, which any of the ``METHODS`` can meet.

Every method selects ``count`` items with high scores and is (epsilon, delta)-DP for the whole selection. A method is
its file, with its theorem, and one row of ``METHODS``, from which help, the HTTP model and the errors are read. *Which
method "auto" takes* is a rule that looks at public numbers alone, because which method ran is published: the least
share of the noise of ordinary peeling that "noisy-scores" or, with a delta, "gumbel" leaves, where it is at most
WORTHWHILE; elsewhere "subset", or in order "one-shot" (docs/explanation/proofs_in_words/core.md; ``python -m benchmarks
choice`` measures what the rule gives away).
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import (
    Allocation,
    Budget,
    Cost,
    Keep,
    Number,
    Spender,
    charge,
    check_choice,
    check_truth,
    exact_count,
    exact_delta,
    exact_epsilon,
    pure_rho,
)
from sparsegate.display.charts import bar_chart
from sparsegate.display.plain import amount_text, plain_label
from sparsegate.display.published import ChosenTable, published_items
from sparsegate.display.sheet import Sheet
from sparsegate.errors import ParameterError
from sparsegate.gates.accounting import Accountant, gate_rho, selection_event
from sparsegate.gates.approximate import round_epsilon
from sparsegate.gates.bounds import Setting
from sparsegate.gates.calibration import calibrate, trusted_source
from sparsegate.gates.lattice import Lattice
from sparsegate.gates.variants import VARIANTS
from sparsegate.noise import Source
from sparsegate.noise.own_settings import own_settings
from sparsegate.selection.accuracy import Promise, noisy_case, one_shot_case, peeled_case, subset_case
from sparsegate.selection.exponential import exponential_groups, one_shot_groups, selection_rate
from sparsegate.selection.noisy_scores import Estimated, noisy_groups, noisy_scale, selected_share
from sparsegate.selection.retraversal import plan_traversal, traversal_groups
from sparsegate.selection.scores import Scores, ScoresLike
from sparsegate.selection.subset import subset_groups

if TYPE_CHECKING:
    from matplotlib.figure import Figure


AUTO = "auto"
DEFAULT_RAISE = 3  # standard deviations, for "retraversal": the middle of 1 to 5, where none is always best
DEFAULT_PASSES = 100


class Drawn(NamedTuple):
    """The group of each item selected, and its noisy score in lattice steps where the method may give it away."""

    groups: NDArray[np.int64]
    noisy: NDArray[np.int64] | None = None


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A method made ready to draw: what that costs, how it is split, and what noisy scores are worth, if given."""

    epsilon: Fraction
    draw: Callable[[Source], Drawn]
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    """Of zCDP, without a delta, where that is proved: ``cost`` takes it where it is the least."""
    split: Budget | None = None
    estimated: Estimated | None = None

    @property
    def cost(self) -> Cost:
        """What a draw costs, by either rule."""
        whole = Cost.of(self.epsilon, self.delta)
        if self.rho is None or (self.rho >= whole.rho and not self.delta):
            return whole
        return replace(whole, rho=self.rho, rho_delta=Fraction(0))

    @property
    def budget(self) -> Budget:
        """What a draw costs, as shares of epsilon: all of it for the scores, where there is no threshold."""
        return self.split or Budget(threshold_epsilon=0, query_epsilon=self.epsilon, delta=self.delta)


@dataclass(frozen=True, kw_only=True)
class SelectionMethod:
    """A way to select: what it is, the options it reads, why it reads no others, and how to make it ready to draw.

    The proof of an ``ordered`` method covers the order; what others select is sorted by label.
    """

    says: str
    options: frozenset[str] = frozenset()
    why_not: str = "weighs scores directly, without delta, threshold, passes, split or lattice"
    ordered: bool = True
    rate: Callable[[Request], Fraction] | None = None
    prepare: Callable[[Request, Scores], Ready]
    promise: Callable[[Request, int], Promise] | None = None


def _rate(request: Request, epsilon: Number, rounds: int) -> Fraction:
    """The factor of a score in its log-weight."""
    return selection_rate(epsilon=epsilon, count=rounds, sensitivity=request.sensitivity, monotonic=request.monotonic)


def _even_rate(request: Request) -> Fraction:
    return _rate(request, request.epsilon, request.count)


def _round(request: Request) -> Fraction:
    return round_epsilon(epsilon=request.epsilon, delta=request.delta, count=request.count)


def _weighing(
    rate: Callable[[Request], Fraction],
    draw: Callable[..., NDArray[np.int64]],
    case: Callable[..., Promise],
    *,
    rho: Callable[[Request], Fraction] | None = None,
    **about: Any,
) -> SelectionMethod:
    """A method that reads nothing of the request but its rate and its count.

    ``rho``: a draw that is e-bounded-range is (e**2/8)-zCDP, and rounds add (``gates.approximate``).
    """

    def prepare(request: Request, scores: Scores) -> Ready:
        factor, delta = rate(request), Fraction(request.delta)
        if delta and factor == _even_rate(request):
            delta = Fraction(0)  # it is as good without
        groups, spent = partial(draw, scores=scores, rate=factor, count=request.count), Fraction(request.epsilon)
        in_rho = None if rho is None else rho(request)
        return Ready(epsilon=spent, draw=lambda source: Drawn(groups(source)), delta=delta, rho=in_rho)

    def promise(request: Request, total: int) -> Promise:
        return case(rate=rate(request), count=request.count, total=total)

    return SelectionMethod(rate=rate, prepare=prepare, promise=promise, **about)


def _noisy_scale(request: Request, lattice: Lattice) -> Fraction:
    return noisy_scale(
        epsilon=Fraction(request.epsilon),
        count=request.count,
        steps=lattice.sensitivity,
        monotonic=request.monotonic,
        max_items_per_user=request.max_items_per_user,
    )


def _noisy_scores(request: Request, scores: Scores) -> Ready:
    """Noisy scores are given away where their noise pays for all that a person touches."""
    # Floats, by their type, live on a finer lattice.
    whole = 0 if scores.values.dtype.kind == "i" else 0.0
    lattice = Lattice.fit(sensitivity=request.sensitivity, threshold=whole, granularity=request.granularity)
    steps = lattice.private_steps_many(scores.values, "scores")
    count, max_items_per_user, scale = request.count, request.max_items_per_user, _noisy_scale(request, lattice)
    free = max_items_per_user is not None and max_items_per_user <= selected_share(count, request.monotonic)

    def draw(source: Source) -> Drawn:
        groups, noisy = noisy_groups(source, scores, steps, scale=scale, count=count)
        return Drawn(groups, noisy if free else None)

    return Ready(
        epsilon=Fraction(request.epsilon),
        draw=draw,
        rho=None if max_items_per_user is None else max_items_per_user * pure_rho(lattice.sensitivity / scale),
        estimated=Estimated(lattice=lattice, scale=scale, count=count, total=scores.total) if free else None,
    )


def _noisy_case(request: Request, total: int) -> Promise:
    lattice = Lattice.fit(sensitivity=request.sensitivity, threshold=0)
    return noisy_case(scale=_noisy_scale(request, lattice), count=request.count, total=total)


def _traversal(request: Request, scores: Scores, default_raise: int, passes: int) -> Ready:
    setting = Setting.of(vars(request) | {"row": VARIANTS["standard"], "cutoff": request.count})
    threshold = request.threshold if scores.values.dtype.kind == "i" else 0.0  # floats live on a finer lattice
    calibration = calibrate(setting, threshold=threshold, not_private=False)
    raise_by = default_raise if request.raise_by is None else request.raise_by
    plan = plan_traversal(
        calibration,
        threshold=request.threshold,
        raise_by=exact_epsilon(raise_by, "raise_by", zero=True),
        passes=passes if request.max_passes is None else exact_count(request.max_passes, "max_passes"),
    )
    steps = calibration.lattice.private_steps_many(scores.values, "scores")
    return Ready(
        epsilon=calibration.budget.total,
        split=calibration.budget,
        rho=gate_rho(calibration),
        draw=lambda source: Drawn(traversal_groups(source, scores, steps, plan)),
    )


METHODS: Mapping[str, SelectionMethod] = MappingProxyType(
    {
        "exponential": _weighing(
            _even_rate,
            exponential_groups,
            peeled_case,
            says="the exponential mechanism, peeled",
            rho=lambda request: Fraction(request.epsilon) ** 2 / (8 * request.count),
        ),
        "subset": _weighing(
            # The loss of a set moves by twice what a score moves, for monotonic scores by as much: as two rounds would.
            lambda request: _rate(request, request.epsilon, 2),
            subset_groups,
            subset_case,
            says="the exponential mechanism over sets: noise that does not grow with the count, no order",
            ordered=False,
            rho=lambda request: Fraction(request.epsilon) ** 2 / 8,
        ),
        "gumbel": _weighing(
            lambda request: _rate(request, _round(request), 1),
            exponential_groups,
            peeled_case,
            says="the exponential mechanism with a delta: far less noise for many items",
            why_not="weighs scores directly, without threshold, passes, split or lattice",
            options=frozenset({"delta"}),
            rho=lambda request: request.count * _round(request) ** 2 / 8,
        ),
        "one-shot": _weighing(
            _even_rate,
            one_shot_groups,
            one_shot_case,
            says="exponential noise once, the largest in order",
            why_not="adds noise to scores, without delta, threshold, passes, split or lattice",
        ),
        "noisy-scores": SelectionMethod(
            says="Laplace noise on every score, little where a person touches few; counts come free there",
            options=frozenset({"granularity"}),
            why_not="adds noise to scores, without delta, threshold, passes or split",
            prepare=_noisy_scores,
            promise=_noisy_case,
        ),
        "sparse-vector": SelectionMethod(
            says="one pass at a PUBLIC threshold, which may select fewer",
            options=frozenset({"threshold", "allocation", "granularity"}),
            why_not="makes one pass at the threshold as it is; 'retraversal' raises it and passes again",
            prepare=lambda request, scores: _traversal(request, scores, 0, 1),
        ),
        "retraversal": SelectionMethod(
            says="passes at a raised PUBLIC threshold until enough are selected",
            options=frozenset({"threshold", "raise_by", "max_passes", "allocation", "granularity"}),
            why_not="reads no delta",
            prepare=lambda request, scores: _traversal(request, scores, DEFAULT_RAISE, DEFAULT_PASSES),
        ),
    }
)

OPTIONS = frozenset[str]().union(*(row.options for row in METHODS.values()))


def describe_methods() -> str:
    """One line for a help text: every method, and what it is."""
    return f"{AUTO}, by a rule that sees public numbers alone; or " + "; ".join(
        f"{key}: {row.says}" for key, row in METHODS.items()
    )


WORTHWHILE = {"subset": Fraction(7, 10), "one-shot": Fraction(9, 10)}
"""The share of the noise up to which less noise is better than this method."""


def choose(
    *, count: int, epsilon: Fraction, delta: Fraction, max_items_per_user: int | None, ordered: bool, monotonic: bool
) -> str:
    """The key of the method to run."""
    most = count if monotonic else 2 * count
    shares = {"noisy-scores": Fraction(most if max_items_per_user is None else min(most, max_items_per_user), most)}
    if delta:
        shares["gumbel"] = epsilon / count / round_epsilon(epsilon=epsilon, delta=delta, count=count)
    best = min(shares, key=lambda key: shares[key])
    otherwise = "one-shot" if ordered else "subset"
    return best if shares[best] <= WORTHWHILE[otherwise] else otherwise


CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Selection(ChosenTable):
    """What was selected. This, and nothing else of the run, may be released.

    ``indices`` are positions in the array that was given; ``items`` the keys of the mapping, or the labels of the
    series; the other is None. They are in the order selected, or sorted where ``method`` selects a set. ``budget`` is
    what it cost, ``delta`` what was used of the delta given.

    ``estimates`` are the noisy scores of the selected, where they come free; else None. A high one may be high by its
    noise. Of the estimates, ``confidence`` is the share expected to lie within ``error_bar`` of the true score, and the
    probability with which all of them lie within ``error_bar_all`` (``selection.noisy_scores``).

    >>> import sparsegate as sg
    >>> pages = {"/home": 9120, "/pay": 4021, "/help": 15, "/jobs": 640}
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> asked = {"count": 2, "sensitivity": 1, "monotonic": True, "max_items_per_user": 1}  # each visit is of one page
    >>> top = sg.select_top(pages, epsilon=1, **asked, **seeded)
    >>> top.items, top.estimates.tolist(), top.error_bar, top.method
    (('/home', '/pay'), [9120, 4021], 3, 'noisy-scores')
    """

    method: str
    budget: Budget
    delta: Fraction = Fraction(0)
    indices: NDArray[np.int64] | None = None
    items: tuple[Hashable, ...] | None = None
    estimates: NDArray[np.int64] | NDArray[np.float64] | None = None
    error_bar: int | float | None = None
    error_bar_all: int | float | None = None
    confidence: float = CONFIDENCE

    def _labels(self) -> Sequence[Any]:
        return (() if self.indices is None else self.indices.tolist()) if self.items is None else self.items

    def to_dict(self) -> dict[str, Any]:
        """The selection as JSON takes it, by the schema "sparsegate/selection/1": see docs/reference/json.md."""
        ordered = METHODS[self.method].ordered
        return {
            "schema": "sparsegate/selection/1",
            "method": self.method,
            "epsilon": amount_text(self.budget.total),
            "delta": amount_text(self.delta),
            "ordered": ordered,
            "labels": "item" if self.indices is None else "index",
            "items": published_items(self, ranked=ordered),
            "error_bar": self.error_bar,
            "error_bar_all": self.error_bar_all,
            "confidence": self.confidence,
        }

    def sheet(self) -> Sheet:
        """The selection as a table."""
        record, estimated = self.to_dict(), self.estimates is not None
        columns: dict[str, list[Any]] = {"rank": list(range(1, len(self) + 1))} if record["ordered"] else {}
        columns[record["labels"]] = list(self._labels())
        if self.estimates is not None:
            columns["estimate"] = self.estimates.tolist()
        hidden = {"schema", "items", "labels", "ordered"}
        hidden |= set() if estimated else {"error_bar", "error_bar_all", "confidence"}
        return Sheet(
            title=f"top {len(self)}, ε = {record['epsilon']}",
            columns=columns,
            numbers=frozenset({"rank", "estimate"} & set(columns)),
            bars="estimate" if estimated else None,
            precision=self.error_bar,
            about={name.replace("_", " "): value for name, value in record.items() if name not in hidden},
        )

    def plot(self) -> Figure:
        """One bar for each item, with the error bars of each and of all, where estimates came with the selection."""
        if self.estimates is None:
            step = "method='noisy-scores' with max_items_per_user= gives them"
            raise ParameterError("plot", "needs estimates to draw", next_step=step)
        return bar_chart(
            [str(plain_label(label)) for label in self._labels()],
            self.estimates.tolist(),
            error_bar=self.error_bar,
            error_bar_all=self.error_bar_all,
            title=("selection", f"top {len(self)}, ε = {amount_text(self.budget.total)}"),
            caption=f"noisy score; bars hold for all at once (thin) and for each (thick), {100 * self.confidence:g} %",
        )

    def dp_event(self, accountant: Accountant = "rdp") -> Any:
        """This selection as an event of Google's ``dp_accounting``, for its accountant "rdp" or "pld"."""
        spent = {"epsilon": self.budget.total, "delta": self.delta, "count": len(self)}
        return selection_event(self.method, **spent, accountant=accountant)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Picks:
    """Selected members of groups: member ``members[j]`` of group ``groups[j]``, in the order selected.

    A group's number tells its score, which is private: name the items, order them, ``keep`` them, and release only
    that.
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
    max_items_per_user: int | None = None
    ordered: bool = False
    method: str = AUTO
    threshold: Number | None = None
    raise_by: Number | None = None
    max_passes: int | None = None
    allocation: Allocation = "optimal"
    granularity: Number | None = None

    def __post_init__(self) -> None:
        touched = self.max_items_per_user
        public: dict[str, Any] = {
            "count": exact_count(self.count, "count"),
            "epsilon": exact_epsilon(self.epsilon),  # read once: what is used is what is charged
            "delta": exact_delta(self.delta, zero=True),
            "monotonic": check_truth(self.monotonic, "monotonic", "pass True only for one-way changes"),
            "ordered": check_truth(self.ordered, "ordered", "pass one of them"),
            "max_items_per_user": None if touched is None else exact_count(touched, "max_items_per_user"),
        }
        check_choice(self.method, "method", (AUTO, *METHODS))
        if self.method == AUTO:
            public["method"] = choose(**public)
            if "delta" not in METHODS[public["method"]].options:
                public["delta"] = Fraction(0)  # what is not used is not charged
        for name, value in public.items():
            object.__setattr__(self, name, value)
        row = METHODS[self.method]
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name in OPTIONS - row.options and value != option.default:
                shown = float(value) if isinstance(value, Fraction) else value
                rule = f"must not be given: method {self.method!r} {row.why_not}"
                raise ParameterError(option.name, rule, shown, "leave it out")
        if self.ordered and not row.ordered:
            rule = f"must be False: method {self.method!r} selects a set, and an order of it would be private"
            raise ParameterError("ordered", rule, True, "leave it out, or choose a method that selects in order")
        if "delta" in row.options and self.delta == 0:
            rule = f"must lie strictly between 0 and 1 for method {self.method!r}"
            raise ParameterError("delta", rule, 0, "pass for instance delta=1e-8, or method='auto'")
        if "threshold" in row.options and self.threshold is None:
            rule = (
                f"must be given for method {self.method!r}, as a public number: one computed from the scores, such "
                "as the count-th largest, is private data, and the proof of privacy does not cover it"
            )
            hint = "choose it without looking at these scores, or use method='auto', which needs none"
            raise ParameterError("threshold", rule, next_step=hint)

    @cached_property
    def checked(self) -> Ready:
        """The method made ready for whole scores that nobody knows yet: what it costs, and that its noise exists."""
        return self.prepare(Scores.histogram({0: 1}))

    @property
    def estimates(self) -> bool:
        """Whether noisy scores come with the selection, at no further cost."""
        return self.checked.estimated is not None

    def promise(self, total: int) -> Promise | None:
        """What is promised of a selection among ``total`` whole scores; None where nothing is."""
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

        ``source`` is one that ``trusted_source`` gave.
        """
        if self.count > scores.total:
            raise ParameterError("count", "must not exceed the number of scores", self.count, "ask for fewer")
        ready = self.prepare(scores)
        what = f"top {self.count}, method {self.method}"
        keep = charge(ledger, **vars(ready.cost), what=what).keep
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
    max_items_per_user: int | None = None,
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

    *Theorem*: for neighbours that differ by one person, who moves at most ``max_items_per_user`` scores, each by at
    most ``sensitivity``, the ``Selection`` is (epsilon, delta)-DP. The file of each method has the proof.

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
    max_items_per_user: m, the most scores that one person can change; None where nothing bounds it.
    ordered: True asks for an order: best first, as far as noise lets one see.
    method: "auto" takes the best for these public numbers, by the rule of ``selection.select``; or a key of
        ``METHODS``.
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
    scope = locals()
    request = Request(**{option.name: scope[option.name] for option in fields(Request)})
    candidates = Scores.each(scores)
    if not candidates.single:
        rule = "must know its items; a histogram only says how many items have each score"
        hint = "pass an array or a mapping, or call Request.pick and name the members of its groups"
        raise ParameterError("scores", rule, next_step=hint)
    picks = request.pick(candidates, trusted_source(source, not_private), ledger=ledger)
    numbers = picks.groups
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
    """The places of labels in an order that depends on the labels alone, and not on the order of a mapping.

    Labels that cannot be compared are sorted by type and by how they read; those that read alike by a coin.
    """
    places = range(len(labels))
    parts = [part for label in labels for part in (label if type(label) is tuple else [label])]
    kinds = set(map(type, parts))
    with contextlib.suppress(TypeError, ArithmeticError):  # instants with and without a time zone, signalling NaN
        if any(kinds <= family for family in _COMPARED) and all(part == part for part in parts):
            return sorted(places, key=labels.__getitem__)

    def reading(place: int) -> tuple[str, str]:
        # An address tells when an object was made, and an error would lose what is paid for.
        label, read = labels[place], ""
        if getattr(type(label), "__repr__", None) is not object.__repr__:
            with contextlib.suppress(Exception):
                read = repr(label)
        return type(label).__qualname__, read

    return sorted(random.SystemRandom().sample(places, len(places)), key=reading)


_COMPARED: Final = ({str}, {int, float}, {bool}, {Decimal}, {date}, {datetime}, {time}, {bytes}, {UUID})
"""Types whose values, but for not-a-number, have one order."""
