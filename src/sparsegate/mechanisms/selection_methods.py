"""The ways to select, as a table: a method is its file, with its theorem, and one row here.

Help, the HTTP model and the messages of errors are read from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Budget, Number, exact_count, exact_epsilon
from sparsegate.mechanisms.bounded_range import round_epsilon
from sparsegate.mechanisms.calibration import calibrate
from sparsegate.mechanisms.exponential import exponential_groups, selection_rate
from sparsegate.mechanisms.lattice import Lattice
from sparsegate.mechanisms.noisy_scores import Estimated, noisy_groups, noisy_scale, selected_share
from sparsegate.mechanisms.one_shot import one_shot_groups
from sparsegate.mechanisms.retraversal import plan_traversal, traversal_groups
from sparsegate.mechanisms.scores import Scores
from sparsegate.mechanisms.selection_accuracy import Promise, noisy_case, one_shot_case, peeled_case, subset_case
from sparsegate.mechanisms.subset import subset_groups
from sparsegate.noise import Source

if TYPE_CHECKING:
    from sparsegate.mechanisms.selection import Request

AUTO = "auto"
"""Not a row: the rule of ``mechanisms.choice`` takes one."""

DEFAULT_RAISE = 3
"""Standard deviations by which "retraversal" raises the threshold: the middle of 1 to 5, where none is always best."""

DEFAULT_PASSES = 100


class Drawn(NamedTuple):
    """The group of each item selected, and its noisy score in lattice steps where the method may give it away."""

    groups: NDArray[np.int64]
    noisy: NDArray[np.int64] | None = None


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A method made ready to draw, and what a draw costs: ``budget.total``, and ``delta`` where the method uses one.

    ``estimated`` says what the noisy scores are worth, where a draw gives them.
    """

    budget: Budget
    draw: Callable[[Source], Drawn]
    delta: Fraction = Fraction(0)
    estimated: Estimated | None = None


@dataclass(frozen=True, kw_only=True)
class SelectionMethod:
    """A way to select: what it is, the options it reads, why it reads no others, and how to make it ready to draw.

    An ``ordered`` method selects one item after the other, and its proof covers the order. Of others the order of
    drawing is private: what they select is released sorted by label.

    ``promise`` says, for a number of candidates, how far below the c-th score a selected item can be; None where
    nothing bounds that.
    """

    says: str
    options: frozenset[str] = frozenset()
    why_not: str
    ordered: bool = True
    prepare: Callable[[Request, Scores], Ready]
    promise: Callable[[Request, int], Promise] | None = None


def _rate(request: Request, epsilon: Number, rounds: int) -> Fraction:
    """The factor of a score in its log-weight."""
    return selection_rate(epsilon=epsilon, count=rounds, sensitivity=request.sensitivity, monotonic=request.monotonic)


def _even_rate(request: Request) -> Fraction:
    return _rate(request, request.epsilon, request.count)


def _gumbel_rate(request: Request) -> Fraction:
    round_ = round_epsilon(epsilon=request.epsilon, delta=request.delta, count=request.count)
    return _rate(request, round_, 1)


def _subset_rate(request: Request) -> Fraction:
    # The loss of a set moves by at most twice what a score moves, for monotonic scores by as much: as two rounds would.
    return _rate(request, request.epsilon, 2)


def _exponential(request: Request, scores: Scores) -> Ready:
    return _weighed(request, scores, _even_rate(request), exponential_groups)


def _gumbel(request: Request, scores: Scores) -> Ready:
    rate = _gumbel_rate(request)
    delta = Fraction(0) if rate == _even_rate(request) else Fraction(request.delta)
    return _weighed(request, scores, rate, exponential_groups, delta)


def _subset(request: Request, scores: Scores) -> Ready:
    return _weighed(request, scores, _subset_rate(request), subset_groups)


def _one_shot(request: Request, scores: Scores) -> Ready:
    return _weighed(request, scores, _even_rate(request), one_shot_groups)


def _weighed(
    request: Request,
    scores: Scores,
    rate: Fraction,
    groups: Callable[..., NDArray[np.int64]],
    delta: Fraction = Fraction(0),
) -> Ready:
    """A method that reads nothing of the request but the rate and the count."""
    return Ready(
        budget=Budget(threshold=0, queries=request.epsilon, delta=delta),
        draw=lambda source: Drawn(groups(source, scores, rate=rate, count=request.count)),
        delta=delta,
    )


def _noisy_scale(request: Request, lattice: Lattice) -> Fraction:
    return noisy_scale(
        epsilon=Fraction(request.epsilon),
        count=request.count,
        steps=lattice.sensitivity,
        monotonic=request.monotonic,
        touched=request.touched,
    )


def _noisy_scores(request: Request, scores: Scores) -> Ready:
    """Noisy scores are given away where their noise pays for all that a person touches.

    Machine-checked: `noisy_scores_come_free` (proofs/noisy_scores.v).
    """
    # Floats, by their type, live on a finer lattice.
    whole = 0 if scores.values.dtype.kind == "i" else 0.0
    lattice = Lattice.fit(sensitivity=request.sensitivity, threshold=whole, granularity=request.granularity)
    steps = lattice.private_steps_many(scores.values, "scores")
    count, touched, scale = request.count, request.touched, _noisy_scale(request, lattice)
    free = touched is not None and touched <= selected_share(count, request.monotonic)

    def draw(source: Source) -> Drawn:
        groups, noisy = noisy_groups(source, scores, steps, scale=scale, count=count)
        return Drawn(groups, noisy if free else None)

    return Ready(
        budget=Budget(threshold=0, queries=request.epsilon),
        draw=draw,
        estimated=Estimated(lattice=lattice, scale=scale, count=count, total=scores.total) if free else None,
    )


def _noisy_case(request: Request, total: int) -> Promise:
    lattice = Lattice.fit(sensitivity=request.sensitivity, threshold=0)
    return noisy_case(scale=_noisy_scale(request, lattice), count=request.count, total=total)


def _case(case: Callable[..., Promise], rate: Callable[[Request], Fraction]) -> Callable[[Request, int], Promise]:
    return lambda request, total: case(rate=rate(request), count=request.count, total=total)


def _traversal(request: Request, scores: Scores, default_raise: int, passes: int) -> Ready:
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
    return Ready(budget=calibration.budget, draw=lambda source: Drawn(traversal_groups(source, scores, steps, plan)))


METHODS: Mapping[str, SelectionMethod] = MappingProxyType(
    {
        "exponential": SelectionMethod(
            says="the exponential mechanism, peeled",
            why_not="weighs scores directly, without delta, threshold, passes, split or lattice",
            prepare=_exponential,
            promise=_case(peeled_case, _even_rate),
        ),
        "subset": SelectionMethod(
            says="the exponential mechanism over sets: noise that does not grow with the count, no order",
            why_not="weighs scores directly, without delta, threshold, passes, split or lattice",
            ordered=False,
            prepare=_subset,
            promise=_case(subset_case, _subset_rate),
        ),
        "gumbel": SelectionMethod(
            says="the exponential mechanism with a delta: far less noise for many items",
            options=frozenset({"delta"}),
            why_not="weighs scores directly, without threshold, passes, split or lattice",
            prepare=_gumbel,
            promise=_case(peeled_case, _gumbel_rate),
        ),
        "one-shot": SelectionMethod(
            says="exponential noise once, the largest in order",
            why_not="adds noise to scores, without delta, threshold, passes, split or lattice",
            prepare=_one_shot,
            promise=_case(one_shot_case, _even_rate),
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
"""What some methods read and others do not."""


def describe_methods() -> str:
    """One line for a help text: every method, and what it is."""
    return f"{AUTO}, by a rule that sees public numbers alone; or " + "; ".join(
        f"{key}: {row.says}" for key, row in METHODS.items()
    )
