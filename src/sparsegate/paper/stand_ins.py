"""What to expect of a selection on data like these: PUBLIC counts that stand in for the private ones, and many runs.

The promise of ``selection.accuracy`` holds for all data. On data that are not the worst it is kept by far,
and a stand-in shows by how much: last year's published counts, a table that everybody may see, or a law. Never pass the
private counts themselves: what is shown here is not private.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from sparsegate.errors import ParameterError
from sparsegate.paper.data import PUBLISHED, load, read_counts
from sparsegate.paper.methods import Method
from sparsegate.paper.ranked import Floats, Integers, Ladder, measure
from sparsegate.paper.simulation import simulate
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import Request

StandIn: TypeAlias = "str | os.PathLike[str] | Mapping[int, int] | Ladder | Any"

RUNS: Final = 400
SIMULATED: Final = ("exponential", "gumbel", "one-shot", "noisy-scores", "subset")
_PEOPLE: Final = 1_000_000  # of the paper's Zipf law
_HISTOGRAM: Final = re.compile(r"\d+:\d+(,\d+:\d+)*", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class OnStandIn:
    """Of many simulated runs: the mean share of the selected that are right, and how far below the c-th the lowest is.

    ``within`` is the quantile of the runs at the confidence asked for, in the units of the scores.
    """

    recall: float
    within: float


def stand_in(
    like: StandIn, *, total: int | None, people: int | None = None, item: str = "item", user: str | None = None
) -> Ladder:
    """The counts of ``total`` candidates: those of the stand-in, then candidates that nobody has.

    ``like`` is "zipf" (counts proportional to 1/rank that sum to ``people``, or a million), the name of a dataset of
    the paper (its stand-in), a file in a form of ``paper.data`` (its columns may be called ``item`` and
    ``user``), a histogram {count: items} or "count:items,...", counts by label, or counts.

    >>> stand_in({5: 2, 1: 3}, total=10).highest(6).tolist() == stand_in("5:2,1:3", total=10).highest(6).tolist()
    True
    >>> stand_in({"tea": 5, "milk": 9}, total=3).highest(3).tolist()
    [9.0, 5.0, 0.0]
    """
    try:
        ladder = _ladder(like, total, people, item, user)
    except ParameterError as error:  # of whatever reads it; its value was shown already
        raise ParameterError("like", str(error).removeprefix(f"{error.parameter} ")) from None
    if total is None or total == ladder.total:
        return ladder
    if total < ladder.total:
        rule = f"must not have more items than there are candidates, {total:,}"
        raise ParameterError("like", rule, ladder.total, "leave the domain out, or pass its size")
    values, sizes = ladder.values, ladder.sizes
    if values[-1] == 0:
        sizes = sizes + np.where(np.arange(sizes.size) == sizes.size - 1, total - ladder.total, 0)
    else:
        values, sizes = np.append(values, 0.0), np.append(sizes, total - ladder.total)
    return Ladder(values=values, sizes=sizes, starts=np.cumsum(sizes) - sizes)


def _ladder(like: StandIn, total: int | None, people: int | None, item: str, user: str | None) -> Ladder:
    if isinstance(like, str) and like == "zipf":
        size = PUBLISHED["zipf"].items if total is None else total
        shares = 1 / np.arange(1.0, min(size, 10**6) + 1)  # beyond a million items nobody has one
        counts: Any = np.rint(shares * ((_PEOPLE if people is None else people) / shares.sum()))
        return Ladder.of(counts)
    if isinstance(like, str) and like in PUBLISHED:
        return load(like).ladder
    if isinstance(like, str) and _HISTOGRAM.fullmatch(like):
        like = {int(count): int(items) for count, items in (group.split(":") for group in like.split(","))}
    if isinstance(like, str | os.PathLike):
        return Ladder.of(read_counts(os.fspath(like), item=item, user=user).counts)
    if isinstance(like, Mapping) and any(isinstance(label, str) for label in like):
        like = list(like.values())
    return Ladder.of(Scores.histogram(like) if isinstance(like, Mapping) else like)


def on_stand_in(
    request: Request, ladder: Ladder, *, confidence: float, runs: int = RUNS, seed: int = 1
) -> OnStandIn | None:
    """Simulate a request for counts; None for methods with a threshold, where only an oracle's is simulated."""
    if request.method not in SIMULATED:
        return None
    if request.count == ladder.total:
        return OnStandIn(recall=1.0, within=0.0)
    rungs = selected_rungs(request, ladder, runs=runs, seed=seed)
    return OnStandIn(
        recall=float(1 - measure(ladder, rungs, count=request.count).fnr.mean()),
        within=float(np.quantile(depths(ladder, rungs, request.count), confidence, method="higher")),
    )


def selected_rungs(request: Request, ladder: Ladder, *, runs: int, seed: int = 1) -> Integers:
    """What a request for counts selects in many runs, as ``simulate`` gives it."""
    method = Method(
        key=request.method,
        title=request.method,
        row=None,
        interactive=False,
        selection=request.method,
        max_items_per_user=request.max_items_per_user,
        delta=request.delta,
    )
    return simulate(method, ladder, count=request.count, epsilon=request.epsilon, runs=runs, rng=seed)


def depths(ladder: Ladder, rungs: Integers, count: int) -> Floats:
    """How far below the c-th score the lowest selected one is, in each run."""
    found: Floats = np.maximum(ladder.score(count) - ladder.values[rungs.max(axis=1)], 0)
    return found
