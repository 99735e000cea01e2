"""The exact probability of a transcript: ln Pr[A(D) = a] for any row, any answers, any thresholds.

    Pr[A(D) = a] = int Pr[rho = z] prod_BELOW Pr[q_i + nu_i < T_i + z] prod_ABOVE Pr[q_i + nu_i >= T_i + z] dz

(the paper's Eq. for Pr[A(D) = a], Sec. 3.1), for each round of one rho. What released values, gaps and one-sided noise
change is in docs/explanation/proofs_in_words/privacy.md. ``log_probabilities`` are those of every outcome of a few
queries, on one shared grid of values of rho; numbers that a positive releases are integrated out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, pairwise
from numbers import Real
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsegate.errors import ParameterError
from sparsegate.gates.gate import Answer
from sparsegate.gates.laws import Floats
from sparsegate.gates.variants import Closes, Compared, Released, Variant
from sparsegate.privacy.model import (
    DROP,
    FINE,
    Comparisons,
    LogIntegrand,
    Model,
    Points,
    Public,
    analysis,
    build,
    gauss,
    graded,
    log_integral,
)

Outcome = Sequence[Any]
"""BELOW and ABOVE as bools or ``Answer`` objects; a number stands for an ABOVE that released it.

Where a row releases gaps the number is the gap; where it releases both, the entry is the pair (gap, number).
"""

_CELLS = 1 << 17  # comparisons times points evaluated at a time: 1 MB


@analysis
def log_probability(
    row: Variant | str,
    answers: ArrayLike,
    outcome: Outcome,
    *,
    threshold: ArrayLike = 0,
    estimates: ArrayLike | None = None,
    **public: Unpack[Public],
) -> float:
    """ln Pr[A(D) = outcome]: the probability to 1e-10 of itself, however small; -inf where impossible.

    Where the row releases numbers, an outcome that holds them has a density (continuous noise) or a probability
    (lattice), and an ABOVE without a number stands for all of them: the probability of the indicators alone. The number
    of a row that releases gaps is the gap; with fresh answers beside it, the entry is the pair (gap, answer).

    Parameters: ``answers`` q_i(D); ``threshold`` T, one or one for each answer; ``estimates`` e_i for rows that
    compare errors; ``cutoff`` c, after how many ABOVE a row stops; ``epsilon`` and its ``allocation``, or a ``budget``,
    or ``scales`` in units of the ``sensitivity`` (those of a plan, say); ``monotonic`` where one person moves all
    answers one way; ``noise`` "continuous", as in the paper, or "lattice", as in a run; ``granularity`` its step.

    >>> import math, sparsegate as sg
    >>> round(sg.privacy.log_probability("lyu-2017", [0], [False], epsilon=1), 6) == round(-math.log(2), 6)
    True
    """
    return transcript(build(row, threshold=threshold, **public).compare(answers, threshold, estimates), outcome)


def transcript(comparisons: Comparisons, outcome: Outcome) -> float:
    """ln Pr of the outcome, for answers that are ready."""
    entries = read_outcome(comparisons.model, outcome, comparisons.answer.size)
    asked = comparisons[: len(entries)]
    above = np.array([entry.above for entry in entries], dtype=np.bool_)
    return math.fsum(_round(asked[at], entries[at], above[at]) for at in _rounds(asked.model, above))


def said_outcome(outcome: Outcome, questions: int) -> list[str]:
    """An outcome in words, for a table: of questions that were not reached, nothing.

    >>> said_outcome([False, True, 4.25], 4)
    ['BELOW', 'ABOVE', '4.25', '-']
    """
    words = [
        ("ABOVE" if entry else "BELOW") if isinstance(entry, bool | np.bool_) else f"{entry:g}" for entry in outcome
    ]
    return words + ["-"] * (questions - len(words))


class OutcomeEntry(NamedTuple):
    """One answer of a transcript, and what an ABOVE released: the gap to the noisy threshold, a noisy answer."""

    above: bool
    gap: Any = None
    number: Any = None


def read_outcome(model: Model, outcome: Outcome, queries: int) -> list[OutcomeEntry]:
    """The entries, checked: each is one that the row can give, and the row stops where they end."""
    if not isinstance(outcome, Sequence | np.ndarray) or isinstance(outcome, str | bytes):
        raise ParameterError("outcome", "must be a list of answers", outcome, "pass for instance [False, True]")
    entries = [_entry(model, entry) for entry in outcome]
    closed = [model.closed(i - k, k) for i, k in enumerate(accumulate((e.above for e in entries), initial=0))]
    if any(closed[:-1]):
        stop = "ABOVE" if model.row.closes is Closes.ABOVE else "answer of the rarer kind"
        rule = f"must end with {stop} number {model.cutoff}: {model.row.key} stops there"
        raise ParameterError("outcome", rule, len(entries))
    if len(entries) > queries or (len(entries) < queries and not closed[-1]):
        rule = f"must have one entry for each of the {queries} answers, or end where the row stops"
        raise ParameterError("outcome", rule, len(entries))
    return entries


def _entry(model: Model, value: Any) -> OutcomeEntry:
    match value:
        case Answer():
            entry = OutcomeEntry(value.above, number=value.estimate)
        case bool() | np.bool_():
            entry = OutcomeEntry(bool(value))
        case Real():
            entry = OutcomeEntry(True, **{"number" if model.numeric or not model.row.gap else "gap": value})
        case (gap, number) if isinstance(value, tuple) and model.row.gap and model.numeric:
            entry = OutcomeEntry(True, gap, number)
        case _:
            rule = "must hold bools, Answers or numbers"
            raise ParameterError("outcome", rule, value, "pass for instance [False, True]")
    if model.row.gap and entry.number is not None and not (model.numeric and isinstance(value, tuple)):
        rule = f"must hold gaps to the noisy threshold, or pairs (gap, fresh answer): {model.row.key} releases gaps"
        raise ParameterError("outcome", rule, value, "pass the gap, or True for all of them")
    for number in (entry.gap, entry.number):
        if number is not None and not (entry.above and math.isfinite(number) and (model.numeric or model.row.gap)):
            rule = f"must hold finite numbers, and only where an ABOVE releases one; {model.row.key} releases "
            raise ParameterError("outcome", rule + model.row.released.value, number, "pass True or False")
    return entry


def _rounds(model: Model, above: NDArray[np.bool_]) -> list[slice]:
    """Stretches that share one rho."""
    ends = [int(i) + 1 for i in np.flatnonzero(above)] if model.row.redraws_threshold else []
    edges = sorted({0, *ends, above.size})
    return [slice(a, b) for a, b in pairwise(edges)]


def _round(asked: Comparisons, entries: list[OutcomeEntry], above: NDArray[np.bool_]) -> float:
    model, lattice = asked.model, asked.model.lattice is not None
    constant, high = 0.0, math.inf
    compared, gapped = above.copy(), np.zeros(above.size, dtype=np.bool_)
    value = asked.value.copy()
    for i, (_, gap, number) in enumerate(entries):
        if gap is not None:
            # A gap of g is a gap of 0 where the answer lies g lower.
            gapped[i], compared[i], value[i] = True, False, value[i] - model.released(gap)
            if not gap >= 0 or math.isnan(value[i]):
                return -math.inf
        if number is not None:
            noise = model.released(number) - asked.answer[i]
            law = model.fresh
            if model.row.released is Released.NOISY_ANSWER:
                # nu is known now, so the comparison says only how far up rho may lie.
                law, compared[i] = model.nu, False
                high = min(high, _pinned(asked, i, noise))
            if math.isnan(noise) or (law is None and noise):
                return -math.inf
            constant += float(law.log_weight(np.array(noise))) if law is not None else 0.0
    asked = replace(asked, value=value)
    below, over, gaps = asked[~above], asked[compared], asked[gapped]
    log_f = _log_factors(below, over, gaps)
    if model.rho is None:
        return constant + float(log_f(Points.at(np.zeros(1)))[0]) if high >= 0 else -math.inf
    (rho_low, rho_high), (nu_low, nu_high) = model.rho.support, model.nu.support if model.nu is not None else (0, 0)
    closed = 1.0 if lattice else 0.0  # z >= x is z > x - 1 on the integers
    low = max(rho_low - closed, *(below.centre + nu_low), *(gaps.centre + nu_low - closed), -math.inf)
    high = min(high, rho_high, *(over.centre + nu_high), *(gaps.centre + nu_high), math.inf)
    if asked.inside:
        low = max(low, *-below.bar, -math.inf)  # |.| < T + z needs T + z > 0
    nu_rate, layer = (model.nu.rate, model.nu.scale) if model.nu is not None else (0.0, model.rho.scale)
    finest = 1 / (model.rho.rate + above.size * nu_rate)
    return constant + log_integral(log_f, asked.breaks(), low, high, lattice=lattice, finest=finest, layer=layer)


def _pinned(asked: Comparisons, i: int, noise: float) -> float:
    """The largest z for which a positive with this noise is ABOVE."""
    error, value = asked.estimate[i] - asked.answer[i], asked.answer[i] + noise
    if asked.model.row.compared is not Compared.ANSWER:
        value = abs(error - noise) if asked.inside else abs(error) + noise
    return float(value - asked.bar[i])


def _log_factors(below: Comparisons, over: Comparisons, gaps: Comparisons) -> LogIntegrand:
    """ln of the integrand at an array of points; equal comparisons are computed once."""
    rho = below.model.rho
    parts = [(group.log_below, count) for group, count in _grouped(below)]
    parts += [(group.log_above, count) for group, count in _grouped(over)]
    parts += [(group.log_gap, count) for group, count in _grouped(gaps)]
    step = max(1, _CELLS // max(1, *(count.size for _, count in parts), 1))

    def log_f(z: Points) -> Floats:
        total = rho.log_weight(z.value) if rho is not None else np.zeros(z.size)
        for start in range(0, z.size, step):
            some = z.part(slice(start, start + step))
            for table, count in parts:
                total[start : start + step] += count @ table(some)
        return total

    return log_f


def _grouped(comparisons: Comparisons) -> Iterator[tuple[Comparisons, Floats]]:
    """One of each kind of comparison, and how many there are of it; nothing where there are none."""
    if comparisons.value.size:
        keys = np.stack((comparisons.value, comparisons.bar if comparisons.inside else 0 * comparisons.bar))
        _, first, counts = np.unique(keys, axis=1, return_index=True, return_counts=True)
        yield comparisons[first], counts.astype(np.float64)


MOST_QUERIES = 12  # the grid is proven for their slopes; 4,096 outcomes are also as many as anyone wants listed
_FIRST = 8.0  # nats over the panel beside a break
_COARSE = 6  # nodes of a panel over which ln f changes by less than a nat: their error is below 1e-16
_IMPOSSIBLE = -1e300  # stands for -inf where 0 * -inf must be 0
_ENUMERATION_CELLS = 1 << 18


class Possible(NamedTuple):
    """All outcomes over n queries; ``below[o, i]`` or ``above[o, i]`` is 1 where outcome o has that answer."""

    outcomes: tuple[tuple[bool, ...], ...]
    below: Floats
    above: Floats


def possible_outcomes(model: Model, queries: int) -> Possible:
    """Every sequence of answers that the row can give to this many queries.

    >>> from sparsegate.privacy.model import build
    >>> possible_outcomes(build("lyu-2017", epsilon=1), 2).outcomes
    ((False, False), (False, True), (True,))
    """
    if not 1 <= queries <= MOST_QUERIES:
        rule = f"must be 1 to {MOST_QUERIES} for all outcomes at once"
        raise ParameterError("answers", rule, queries, "use log_probability")
    counts = [(m, k) for m in range(queries + 1) for k in range(queries + 1 - m)]
    return _possible(queries, frozenset(pair for pair in counts if model.closed(*pair)))


@lru_cache(maxsize=64)
def _possible(queries: int, closed: frozenset[tuple[int, int]]) -> Possible:
    def grow(prefix: tuple[bool, ...]) -> Iterator[tuple[bool, ...]]:
        k = sum(prefix)
        if len(prefix) == queries or (len(prefix) - k, k) in closed:
            yield prefix
        else:
            yield from grow((*prefix, False))
            yield from grow((*prefix, True))

    outcomes = tuple(grow(()))
    above, below = np.zeros((len(outcomes), queries)), np.zeros((len(outcomes), queries))
    for o, outcome in enumerate(outcomes):
        above[o, : len(outcome)] = outcome
        below[o, : len(outcome)] = np.logical_not(outcome)
    return Possible(outcomes, below, above)


def log_probabilities(comparisons: Comparisons) -> Floats:
    """ln Pr of each of ``possible_outcomes``, in their order."""
    model, queries = comparisons.model, comparisons.answer.size
    outcomes, below, above = possible_outcomes(model, queries)
    if not model.row.redraws_threshold:
        return _on_grid(comparisons, below, above)
    # Rounds that end in an ABOVE, and rounds that the queries ran out on, for every start and end.
    every = [(i, j, closed) for i in range(queries) for j in range(i, queries) for closed in (True, False)]
    above, below = np.zeros((len(every), queries)), np.zeros((len(every), queries))
    for s, (i, j, closed) in enumerate(every):
        below[s, i : j + 1] = 1
        below[s, j], above[s, j] = float(not closed), float(closed)
    of_span = dict(zip(every, _on_grid(comparisons, below, above), strict=True))
    return np.array([sum(of_span[span] for span in spans(outcome)) for outcome in outcomes])


def spans(outcome: tuple[bool, ...]) -> Iterator[tuple[int, int, bool]]:
    """(first, last, whether it ends in an ABOVE) of each round of a row that redraws rho."""
    start = 0
    for i, above in enumerate(outcome):
        if above or i == len(outcome) - 1:
            yield start, i, above
            start = i + 1


def _on_grid(comparisons: Comparisons, below: Floats, above: Floats) -> Floats:
    z, log_weight = rho_grid(comparisons.model, comparisons.breaks(), comparisons.answer.size)
    log_below, log_above = (
        np.maximum(table(z), _IMPOSSIBLE) for table in (comparisons.log_below, comparisons.log_above)
    )
    step = max(1, _ENUMERATION_CELLS // z.size)
    parts = [slice(start, start + step) for start in range(0, below.shape[0], step)]
    return np.concatenate([log_sum(below[p] @ log_below + above[p] @ log_above + log_weight) for p in parts])


def rho_grid(model: Model, breaks: Floats, queries: int) -> tuple[Points, Floats]:
    """Values z of rho, and ln of quadrature weight times weight of rho: good for any outcome of this many queries."""
    if model.rho is None:
        return Points.at(np.zeros(1)), np.zeros(1)
    lattice = model.lattice is not None
    slope = model.rho.rate + queries * (model.nu.rate if model.nu is not None else 0.0)
    tail = model.rho.scale * (DROP + _rise(model, queries))
    panels = graded(breaks, tail, _FIRST / slope, lattice=lattice)
    short = (panels.end - panels.start) * slope <= 1
    rules = [gauss(panels.part(which), order, lattice=lattice) for which, order in ((~short, FINE), (short, _COARSE))]
    used = [(rule.nodes.part(rule.weights > 0), rule.weights[rule.weights > 0]) for rule in rules]
    z = Points(*(np.concatenate(part) for part in zip(*((nodes.base, nodes.offset) for nodes, _ in used), strict=True)))
    log_weight = np.log(np.concatenate([weights for _, weights in used])) + model.rho.log_weight(z.value)
    possible = log_weight > -np.inf
    return z.part(possible), log_weight[possible]


def _rise(model: Model, queries: int) -> float:
    """Nats that the answers' probabilities can gain beyond the last break while the weight of rho falls.

    With two-sided noise each answer at most doubles. One-sided: docs/explanation/proofs_in_words/privacy.md.
    """
    if model.nu is None or model.rho is None or not model.nu.side:
        return queries * math.log(2)
    return queries * (1 + math.log1p(model.nu.scale / (queries * model.rho.scale)))


def log_sum(log_values: Floats) -> Floats:
    """ln of the sum of exponentials along the last axis; -inf where all are impossible."""
    top = log_values.max(axis=-1)
    with np.errstate(divide="ignore"):
        total = top + np.log(np.exp(log_values - top[..., None]).sum(axis=-1))
    return np.where(top > _IMPOSSIBLE / 2, total, -np.inf)
