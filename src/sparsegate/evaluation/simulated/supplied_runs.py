"""Runs of a method that is not ours, and the checks of what it returns.

Items are shuffled anew for each run. The orders come from a generator that the method never sees, and it is handed
copies: nothing it does to the scores or to its generator changes what it is measured against. An object is copied for
each case, too: what it remembers of one changes no other, whichever process has them. What a method prints goes to
stderr; stdout is for results.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Number, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.evaluation.simulated.arrivals import NOBODY
from sparsegate.evaluation.simulated.ranked import Integers, Ladder
from sparsegate.evaluation.supplied_methods import SuppliedMethod

MOST_ITEMS = 2 * 10**7
"""Items whose scores are laid out one by one, some 500 MB; more need ``select_grouped``."""

_SHOWN = 200


def simulate_supplied(
    rng: np.random.Generator, chosen: SuppliedMethod, ladder: Ladder, count: int, epsilon: Number, runs: int
) -> Integers:
    """The rungs that the method selects, a row for each run; NOBODY fills a short row."""
    if not chosen.grouped and ladder.total > MOST_ITEMS:
        rule = f"must have select_grouped for more than {MOST_ITEMS:,} items"
        raise ParameterError(f"method {chosen.key}", rule, ladder.total)
    orders, own = (np.random.default_rng(seed) for seed in rng.integers(1 << 62, size=2))
    chosen, share = chosen.fresh(), float(exact_epsilon(epsilon))
    call, public = chosen.caller(), {"count": count, "epsilon": share, "rng": own}
    scores = np.repeat(ladder.values, 0 if chosen.grouped else ladder.sizes)
    room = ladder.sizes if chosen.grouped else np.broadcast_to(np.int64(1), scores.shape)
    rungs = np.full((runs, count), NOBODY, dtype=np.int64)
    for run, row in enumerate(rungs, start=1):
        where = f"at c = {count}, epsilon = {share:g}, run {run}"
        if chosen.grouped:
            given = {"values": ladder.values.copy(), "sizes": ladder.sizes.copy()}
        else:
            orders.shuffle(scores)
            given = {"scores": scores.copy()}
        found = _called(partial(call, **given, **public), chosen.key, count, where)
        for rule, value in _faults(found, room, count):
            raise ParameterError(f"method {chosen.key}", rule, value, where)
        selected = found.astype(np.int64)
        row[: selected.size] = selected if chosen.grouped else ladder.rungs_of(scores[selected])
    return rungs


def _called(select: Callable[[], Any], key: str, count: int, where: str) -> NDArray[Any]:
    """What the method returns, as an array of whatever it is; one more than c is enough to see that it is too much."""
    try:
        with redirect_stdout(sys.stderr):
            found = select()
            if isinstance(found, Iterable) and not isinstance(found, np.ndarray):
                found = list(islice(found, count + 1))
    except (Exception, SystemExit) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join("".join(traceback.format_exception_only(error)).split())[:_SHOWN]
        rule = f"must not raise {text} ({Path(last.filename).name}, line {last.lineno})"
        raise ParameterError(f"method {key}", rule, next_step=where) from error
    try:
        return np.asarray(found.tolist() if isinstance(found, np.ndarray) and found.dtype.kind == "O" else found)
    except ValueError:  # lists of several lengths in a list
        return np.array(None)


def _faults(found: NDArray[Any], room: Integers, count: int) -> Iterator[tuple[str, object]]:
    """What is wrong with a selection, the worst first; ``room`` is how often each index may be there."""
    if found.ndim != 1:
        yield "must return a flat list of indices", f"an array of shape {found.shape}" if found.ndim else found.item()
    if found.size and found.dtype.kind not in "iu":
        hint = ": a mask becomes indices by numpy's flatnonzero" if found.dtype.kind == "b" else ""
        yield f"must return whole numbers{hint}", found.ravel()[:5].tolist()
    if found.size > count:
        yield f"must return at most {count} indices", f"{count + 1} or more"
    outside = found[(found < 0) | (found >= room.size)]
    if outside.size:
        yield f"must return indices from 0 to {room.size - 1}", int(outside[0])
    indices, times = np.unique(found, return_counts=True)
    often = indices[times > room[indices.astype(np.int64)]]
    if often.size:
        yield "must return each index once, or a group as often as it has items", int(often[0])
