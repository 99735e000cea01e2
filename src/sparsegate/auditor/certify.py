"""Certification: one event, fixed beforehand, counted on runs that nobody has looked at.

**Theorem (coverage).** Call the *training record* all outcomes of the search, and how long each call took. Let the
pair, the event, its direction, the rule, the sample sizes n_1 < ... < n_K and the levels alpha_1, ..., alpha_K with sum
at most alpha be functions of the training record and of private coin flips. Let the event be a function of one outcome:
whether an outcome is in it depends on nothing else, neither on the other outcomes of the call nor on how many they are.
Let every run of the mechanism be independent of the others, its outcome distributed in the same way in a call of any
size. Then with probability at least 1 - alpha the epsilon and the delta of *every* look hold, so their maxima hold,
whenever and for whatever reason one stops looking.

*Proof.* Given the training record and the coins all of these are constants, and the runs of certification are fresh.
Number the runs on each input in the order in which they are asked for. Whether the i-th is a hit is a function of the
i-th outcome, so the hits are independent with probability p1 on one input and p2 on the other, however the runs were
cut into calls: the size of a call may follow the clock, and so earlier outcomes, but no later one. At look k the hits
are those of the first N runs, N Poisson with mean n_k and drawn without looking, so by
``sparsegate.auditor.confidence`` its bounds fail with probability at most alpha_k, given the record and hence without
it. The probability that any look fails is at most the sum. A stopping rule, however it uses hits and durations, only
chooses among bounds that all hold; a call that raises or hangs ends the audit without a verdict. ∎

That an event is a function of one outcome is shown where outcomes are encoded (``sparsegate.auditor.encoding``) and
where they are scored (``sparsegate.auditor.classifier``), and tested by splitting samples in every way.

The last look gets 95 % of alpha, the one before at half its size half of the rest, and so on down: looking early is
nearly free, and what is flagrant is caught early. The sizes are fixed beforehand because a clock may not decide how
often to look: how long a run takes can depend on its outcome. A clock may only decide to stop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from sparsegate.auditor.confidence import BoundRule, Bounds, Counts, certified
from sparsegate.auditor.encoding import Sample
from sparsegate.auditor.events import OutcomeEvent
from sparsegate.auditor.neighbours import NeighbourPair

_LAST: Final = 0.95
_FIRST_LOOK: Final = 100

Draw = Callable[[object, int], Sample]


@dataclass(frozen=True, kw_only=True)
class Look:
    """At an expected ``trials`` runs on either side, bound at level ``alpha``."""

    trials: int
    alpha: float


def schedule(trials: int, alpha: float) -> tuple[Look, ...]:
    """Looks at doubling sizes up to ``trials``, which share alpha out.

    >>> [look.trials for look in schedule(1000, 0.01)]
    [125, 250, 500, 1000]
    >>> sum(look.alpha for look in schedule(10**6, 0.01)) <= 0.01
    True
    """
    looks = [Look(trials=trials, alpha=_LAST * alpha)]
    spare = (1 - _LAST) * alpha
    while looks[0].trials // 2 >= _FIRST_LOOK:
        spare /= 2
        looks.insert(0, Look(trials=looks[0].trials // 2, alpha=spare))
    return tuple(looks)


@dataclass(frozen=True, kw_only=True)
class Registration:
    """All that is fixed before certification; the event is to be likelier on the answers than on the neighbour."""

    pair: NeighbourPair
    event: OutcomeEvent
    rule: BoundRule
    looks: tuple[Look, ...]


def certify(
    registration: Registration,
    draw: Draw,
    rng: np.random.Generator,
    *,
    epsilon: float,
    delta: float,
    stop_at_violation: bool,
    out_of_time: Callable[[], bool],
) -> tuple[Bounds, Counts]:
    """Count the event on fresh runs, look by look; return the best bounds and the counts of the look that proved most.

    ``draw`` hands out some fresh runs on an input, at most as many as asked for. Sample sizes are Poisson, drawn in
    increments: sums of independent Poisson numbers are Poisson.
    """
    bounds, evidence = Bounds(), Counts(hits1=0, trials1=0, hits2=0, trials2=0)
    hits, trials, before = [0, 0], [0, 0], 0
    inputs = (registration.pair.answers, registration.pair.neighbour)
    for look in registration.looks:
        wanted = [trials[side] + int(rng.poisson(look.trials - before)) for side in (0, 1)]
        before = look.trials
        while trials != wanted:
            for side in (0, 1):
                if trials[side] < wanted[side]:
                    sample = draw(inputs[side], wanted[side] - trials[side])
                    hits[side] += registration.event.hits(sample)
                    trials[side] += len(sample)
            if out_of_time():
                return bounds, evidence
        counts = Counts(hits1=hits[0], trials1=trials[0], hits2=hits[1], trials2=trials[1])
        found = certified(counts, rule=registration.rule, alpha=look.alpha, epsilon=epsilon, delta=delta)
        if found.epsilon >= bounds.epsilon:
            evidence = counts
        bounds = bounds.join(found)
        if stop_at_violation and bounds.epsilon > epsilon:
            break
    return bounds, evidence
