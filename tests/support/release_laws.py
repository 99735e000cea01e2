"""The exact law of a release, from the rows to the names: every line of production but the draw itself.

A selection draws once, in ``Request.pick``. Here that draw is replaced by each of its possible outcomes in turn, with
the probability that the exponential mechanism gives it for the scores that production handed over. What production
makes of the outcome is the release, so the law of a whole release comes out exactly.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from sparsegate.noise import Seeded
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import Ready, Request
from sparsegate.tables.prepared import Prepared


class Drawn(NamedTuple):
    """What production reads off a draw."""

    groups: NDArray[np.int64]
    members: NDArray[np.int64]
    ready: Ready
    noisy: None = None


def outcomes(scores: Scores, request: Request) -> Iterator[tuple[Drawn, float]]:
    """Every ordered selection of members, and its probability when scores are peeled at rate epsilon / count."""
    moves = request.sensitivity * (1 if request.monotonic else 2)
    rate = float(Fraction(request.epsilon) / request.count / Fraction(moves))
    sizes = scores.multiplicities.tolist()
    members = [(group, member) for group, size in enumerate(sizes) for member in range(size)]
    weight = [math.exp(rate * (score - int(scores.values.max()))) for score in scores.values.tolist()]
    for order in itertools.permutations(members, request.count):
        left, probability = sum(weight[group] for group, _ in members), 1.0
        for group, _ in order:
            probability *= weight[group] / left
            left -= weight[group]
        groups, ranks = np.array(order, dtype=np.int64).T
        yield Drawn(groups, ranks, request.prepare(scores)), probability


def law(release: Prepared) -> dict[Hashable, float]:
    """The probability of every list of names that the release may give."""
    seen: list[tuple[Scores, Request]] = []
    drawn: list[Drawn] = []

    def pick(request: Request, scores: Scores, *_: Any) -> Drawn:
        seen.append((scores, request))
        return drawn[-1] if drawn else next(outcomes(scores, request))[0]

    transcripts: dict[tuple[Any, ...], float] = defaultdict(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Request, "pick", pick)
        release.select(Seeded(1))  # to see the scores
        for outcome, probability in outcomes(*seen[0]):
            drawn.append(outcome)
            transcripts[tuple(release.select(Seeded(1))[0])] += probability
    picked = sorted(set(itertools.chain(*transcripts)))
    names = dict(zip(picked, (label for label, _ in release.name(picked)), strict=True))
    claimed: dict[Hashable, float] = defaultdict(float)
    for picks, probability in transcripts.items():
        claimed[tuple(names[pick] for pick in picks)] += probability
    return claimed
