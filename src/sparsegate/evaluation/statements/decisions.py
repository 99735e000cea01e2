"""The one rule behind every verdict: a quantity is above a margin, or at most it, if its whole interval is.

A quantity is computed from means over runs, so it has a standard error. Its interval is the value ± ``SIGMAS`` of them.
What the interval does not decide is undecided, and asks for more runs of its rows: m times as many, so that it would
decide if the value stayed what it is.

**How often a verdict is wrong.** A comparison goes wrong only if the interval lies on the wrong side of the margin
altogether, on one of at most ``LOOKS`` looks (rounds of more and more runs). ``SIGMAS`` is the quantile of the normal
law at which this happens with probability ``FALSE_VERDICT`` / (``LOOKS`` ``COMPARISONS``): so the chance that a report
of at most ``COMPARISONS`` comparisons has any wrong verdict is at most ``FALSE_VERDICT``, as far as means are normal.
They are not where something rare decides. So the standard error of a mean of n runs, each between 0 and 1, is taken as

    sqrt(s^2/n + (z/(2n))^2),    z = SIGMAS:

with no deviation at all, the interval reaches z^2/(2n), about what n runs without an event say of its probability at
this level, ln(1/alpha)/n; with a large one, the second term vanishes. (Bernstein's inequality has the same shape.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, fmean
from typing import NamedTuple

from sparsegate.evaluation.statements.findings import Row
from sparsegate.evaluation.statements.judgements import CellKey, Support

FALSE_VERDICT = 1e-3
"""The chance that any verdict of a report is wrong by chance."""

LOOKS = 8
"""Rounds of runs at most, after each of which all comparisons are looked at."""

COMPARISONS = 20_000
"""Comparisons of a report, at most; the default report has fewer."""

SIGMAS = NormalDist().inv_cdf(1 - FALSE_VERDICT / (LOOKS * COMPARISONS))
"""Half the length of an interval, in standard errors."""

MARGIN = 0.02
"""A difference of rates that matters: what the paper's figures can show.

They are means over 100 runs; where runs deviate by 0.1, such a mean has a standard error of 0.01, and a difference of
0.02 is the least that stands out. (It was 0.01 until decisions were by intervals: several true differences lie between
0.009 and 0.013, where no number of runs that one can wait for decides.)
"""

Source = tuple[CellKey, str]


class Term(NamedTuple):
    """How far one standard error of a mean moves a quantity: by what the runs deviate, and by what they may not show.

    With m times the runs the first falls by sqrt(m), the second by m.
    """

    deviation: float
    unseen: float


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A number computed from means over runs, and the ``terms`` of each mean.

    Means of different rows are independent; the same mean met twice is one term. So the standard error of a sum, of a
    difference and, by the delta method, of a ratio is right, whatever rows they share.
    """

    value: float
    terms: Mapping[Source, Term]

    @property
    def error(self) -> float:
        """The standard error."""
        return math.sqrt(sum(seen * seen + unseen * unseen for seen, unseen in self.terms.values()))

    @property
    def cells(self) -> tuple[CellKey, ...]:
        """The rows it is computed from."""
        return tuple(dict.fromkeys(cell for cell, _ in self.terms))

    def needed(self, distance: float) -> float:
        """m such that with m times the runs the interval reaches just this far: z^2 (A/m + B/m^2) = distance^2."""
        wide = SIGMAS**2 * sum(seen * seen for seen, _ in self.terms.values())
        rare = SIGMAS**2 * sum(unseen * unseen for _, unseen in self.terms.values())
        if distance == 0 or math.isinf(wide):
            return math.inf
        return (wide + math.sqrt(wide**2 + 4 * rare * distance**2)) / (2 * distance**2)

    def __add__(self, other: Quantity) -> Quantity:
        return _combined(self.value + other.value, (self, 1.0), (other, 1.0))

    def __sub__(self, other: Quantity) -> Quantity:
        return _combined(self.value - other.value, (self, 1.0), (other, -1.0))

    def __rmul__(self, factor: float) -> Quantity:
        return _combined(factor * self.value, (self, factor))

    def __truediv__(self, other: Quantity) -> Quantity:
        ratio = self.value / other.value
        return _combined(ratio, (self, 1 / other.value), (other, -ratio / other.value))


_NOTHING = Term(0.0, 0.0)


def _combined(value: float, *parts: tuple[Quantity, float]) -> Quantity:
    terms: dict[Source, Term] = {}
    for part, slope in parts:
        for source, (seen, unseen) in part.terms.items():
            before = terms.get(source, _NOTHING)
            terms[source] = Term(before.deviation + slope * seen, before.unseen + slope * unseen)
    return Quantity(value=value, terms=terms)


def mean_of(parts: Sequence[Quantity]) -> Quantity:
    """The mean of some quantities."""
    return _combined(fmean(part.value for part in parts), *((part, 1 / len(parts)) for part in parts))


def rate(row: Row, metric: str = "ser") -> Quantity:
    """The mean of a row: ``metric`` is ser, fnr or total_ser. A single run has no deviation: its error is infinite."""
    return Quantity(
        value=getattr(row, f"{metric}_mean"),
        terms={(row.cell, metric): _term(getattr(row, f"{metric}_std"), row.runs)},
    )


def variance(row: Row, metric: str = "ser") -> Quantity:
    """The variance of a row's runs.

    A run is at most 1 from the mean, so E(x-m)^4 <= E(x-m)^2: the squares deviate by at most s, as the runs do.
    """
    std = getattr(row, f"{metric}_std")
    return Quantity(value=std**2, terms={(row.cell, f"{metric} squared"): _term(std, row.runs)})


def empty_places(row: Row) -> Quantity:
    """The share of the c places that stayed empty: between 0 and 1, so with mean m its variance is at most m(1-m)."""
    empty = 1 - row.selected_mean / row.count
    most = math.sqrt(max(empty * (1 - empty), 0.0))
    return Quantity(value=empty, terms={(row.cell, "empty"): _term(most, row.runs)})


def _term(std: float, runs: int) -> Term:
    return Term(math.inf if runs < 2 else std / math.sqrt(runs), SIGMAS / (2 * runs))


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Supported, not supported or undecided; the rows it was read off; and, if undecided, how many times their runs.

    ``wanting`` has those rows alone whose further runs would help.
    """

    support: Support
    cells: tuple[CellKey, ...]
    wanting: Mapping[CellKey, float] = field(default_factory=dict)


def above(quantity: Quantity, margin: float = MARGIN) -> Decision:
    """Whether a quantity is above a margin: yes or no if its whole interval says so."""
    cells, reach = quantity.cells, SIGMAS * quantity.error
    if quantity.value - reach > margin:
        return Decision(support=Support.SUPPORTED, cells=cells)
    if quantity.value + reach <= margin:
        return Decision(support=Support.NOT_SUPPORTED, cells=cells)
    times = quantity.needed(abs(quantity.value - margin))
    return Decision(support=Support.UNDECIDED, cells=cells, wanting=dict.fromkeys(cells, times))


def at_most(quantity: Quantity, margin: float = MARGIN) -> Decision:
    """Whether a quantity is at most a margin."""
    return opposite(above(quantity, margin))


def opposite(decision: Decision) -> Decision:
    """The decision on the contrary."""
    turned = {Support.SUPPORTED: Support.NOT_SUPPORTED, Support.NOT_SUPPORTED: Support.SUPPORTED}
    support = turned.get(decision.support, decision.support)
    return Decision(support=support, cells=decision.cells, wanting=decision.wanting)


Combine = Callable[[Iterable[Decision]], Decision]


def all_of(decisions: Iterable[Decision]) -> Decision:
    """Supported once all are; not supported as soon as one is not."""
    return _voted(decisions, enough=lambda total: total)


def any_of(decisions: Iterable[Decision]) -> Decision:
    """Supported as soon as one is; not supported once none can be."""
    return _voted(decisions, enough=lambda total: 1)


def most_of(decisions: Iterable[Decision]) -> Decision:
    """Supported once more than half are; not supported once that cannot be."""
    return _voted(decisions, enough=lambda total: total // 2 + 1)


def _voted(decisions: Iterable[Decision], *, enough: Callable[[int], int]) -> Decision:
    """Supported with ``enough`` members that are, not supported where even the undecided would not make it enough."""
    members = list(decisions)
    needed = enough(len(members))
    sure = sum(one.support is Support.SUPPORTED for one in members)
    open_still = [one for one in members if one.support is Support.UNDECIDED]
    cells = tuple(dict.fromkeys(cell for one in members for cell in one.cells))
    if sure >= needed:
        return Decision(support=Support.SUPPORTED, cells=cells)
    if sure + len(open_still) < needed:
        return Decision(support=Support.NOT_SUPPORTED, cells=cells)
    return Decision(support=Support.UNDECIDED, cells=cells, wanting=most_wanting(one.wanting for one in open_still))


def most_wanting(found: Iterable[Mapping[CellKey, float]]) -> dict[CellKey, float]:
    """What any of them wants, and as much as the one that wants most."""
    together: dict[CellKey, float] = {}
    for wanting in found:
        for cell, times in wanting.items():
            together[cell] = max(times, together.get(cell, 0.0))
    return together
