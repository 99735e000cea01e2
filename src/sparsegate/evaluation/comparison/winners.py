"""Who wins where, by intervals: the methods of a cell that are at most a margin worse than the best of them.

Let m_i be the true mean error of method i at one dataset, c and epsilon. The *winners* of a league are

    W = { i : m_i <= min_j m_j + MARGIN },

one winner, or several that tie: a difference of MARGIN or less is none. Of each pair the difference of means has an
interval, that of ``decisions`` with ``sigmas`` as z:

    i is behind      if some j is more than MARGIN better, the whole interval says so;
    i is a winner    if no j is: the whole interval of each difference says so;
    i is undecided   otherwise, and asks for more runs, of itself and of those j.

W is a function of the true means, so another seed gives the same winners, but for cells that end undecided, and but for
the chance of a false decision. ``sigmas`` bounds that chance over all pairs, cells, and looks at them, by FALSE_MAP.

No error is below 0: so the difference to a rival is no more than the upper end of one's own interval, either.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import NormalDist

from sparsegate.evaluation.statements.decisions import CHOSEN, MARGIN, Term, mean_term, reach, times_needed

FALSE_MAP = 1e-3
"""The chance that any cell of any map shows somebody who does not belong there, or leaves out somebody who does."""


@dataclass(frozen=True, kw_only=True)
class MeanError:
    """A mean over runs, the standard deviation of a run, and how many there were."""

    mean: float
    std: float
    runs: int

    def term(self, sigmas: float) -> Term:
        """What its interval is made of."""
        return mean_term(self.mean, self.std, self.runs, sigmas)


@dataclass(frozen=True, kw_only=True)
class CellPlaces:
    """One cell: the winners, best first; who is behind; who is undecided, and by which pairs.

    ``unsure`` says of each such pair how many times its runs would decide, if the difference stayed as it is.

    ``best`` is the lowest mean error of all that take part.
    """

    winners: tuple[str, ...]
    behind: tuple[str, ...]
    undecided: tuple[str, ...]
    unsure: Mapping[tuple[str, str], float]
    best: float

    @property
    def decided(self) -> bool:
        """Whether everybody's place is known."""
        return not self.undecided


def sigmas(*, cells: int, contestants: int, looks: int) -> float:
    """Half the length of an interval, in standard errors: FALSE_MAP is shared by all ordered pairs and all looks.

    >>> round(sigmas(cells=120, contestants=27, looks=8), 2)
    6.05
    """
    comparisons = max(1, cells * contestants * (contestants - 1) * looks * CHOSEN)
    return -NormalDist().inv_cdf(FALSE_MAP / comparisons)


def standing(measured: Mapping[str, MeanError], *, sigmas: float, margin: float = MARGIN) -> CellPlaces:
    """The places of all that take part.

    >>> best, close, far = (MeanError(mean=mean, std=0.05, runs=3200) for mean in (0.10, 0.105, 0.2))
    >>> found = standing({"far": far, "best": best, "close": close}, sigmas=6)
    >>> found.winners, found.behind
    (('best', 'close'), ('far',))
    """
    order = sorted(measured, key=lambda key: (measured[key].mean, key))
    terms = {key: measured[key].term(sigmas) for key in order}
    alone = {key: reach([term.deviation], [term.up], sigmas) for key, term in terms.items()}
    winners: list[str] = []
    behind: list[str] = []
    undecided: list[str] = []
    unsure: dict[tuple[str, str], float] = {}
    for key in order:
        open_pairs: dict[tuple[str, str], float] = {}
        for rival in order:
            gap, own, other = measured[key].mean - measured[rival].mean, terms[key], terms[rival]
            deviations, higher, lower = (own.deviation, other.deviation), (own.up, other.down), (own.down, other.up)
            if rival != key and gap - reach(deviations, lower, sigmas) > margin:
                behind.append(key)
                break
            if rival != key and min(gap + reach(deviations, higher, sigmas), measured[key].mean + alone[key]) > margin:
                unseen = lower if gap > margin else higher
                open_pairs[key, rival] = times_needed(abs(gap - margin), deviations, unseen, sigmas)
        else:
            (undecided if open_pairs else winners).append(key)
            unsure |= open_pairs
    return CellPlaces(
        winners=tuple(winners),
        behind=tuple(behind),
        undecided=tuple(undecided),
        unsure=unsure,
        best=min((one.mean for one in measured.values()), default=math.nan),
    )


def tallied(standings: Iterable[CellPlaces]) -> dict[str, tuple[int, int]]:
    """How many cells each method wins alone, and in how many it ties; most alone first."""
    found: dict[str, list[int]] = {}
    for one in standings:
        for key in one.winners:
            alone = one.decided and len(one.winners) == 1
            found.setdefault(key, [0, 0])[0 if alone else 1] += 1
    order = sorted(found, key=lambda key: (-found[key][0], -sum(found[key])))
    return {key: (found[key][0], found[key][1]) for key in order}
