"""The one rule behind every verdict: a quantity is above a margin, or at most it, if its whole interval is.

A quantity is computed from means over runs, so it has a standard error. Its interval is the value ± ``SIGMAS`` of them.
What the interval does not decide is undecided, and asks for more runs of its rows: m times as many, so that it would
decide if the value stayed what it is.

**How often a verdict is wrong.** A comparison goes wrong only if the interval lies on the wrong side of the margin
altogether, on one of at most ``LOOKS`` looks (rounds of more and more runs). How many runs a look has depends on what
was seen before, in this comparison or in another that shares its rows, and that makes it ``CHOSEN`` times as likely, at
most, whatever it depends on. At ``SIGMAS`` one look goes wrong, of a normal mean, with probability ``FALSE_VERDICT`` /
(``CHOSEN`` ``LOOKS`` ``COMPARISONS``). So the chance that a report of no more than ``COMPARISONS`` comparisons, all
readings of the paper together, has any wrong verdict is at most ``FALSE_VERDICT``.

Means are not normal where something rare decides. So the interval of the mean x of n runs, each between 0 and 1 and of
standard deviation s, reaches upwards and downwards by

    z (sqrt(s^2/n + (v/4)^2) + 3v/8),    z = SIGMAS,    v = z (1-x) / n  upwards,  z x / n  downwards:

with x = s = 0 that is 5 z^2 / (8n), a little more than ln(1/alpha)/n, which is all that n runs without an event say of
its probability; and 3v/8 makes up for a skew law. Of several means the errors and the v/4 add as squares, and the 3v/8
of the largest counts, as in Bernstein's inequality. For coins of any bias, and for the difference of two, the interval
then misses no more often than a normal one would for a normal law: a test computes it exactly.

**Answers that are short** can have a SER below 0: of one item, 1 - c on the steepest data. SVT-S 1:c on Zipf has one in
a hundred, as low as -24. With l the least SER that matters (``simulation.least_ser``, to within its ``RARE`` of a mean,
so a margin of 0.02 is one of 0.0199 to 0.0201), v is z (x-l) / n downwards, and the interval is that of numbers between
l and 1. Where l is far below 0 such intervals take many more runs. So verdicts and runs are decided with l = 0, and a
verdict that the wide intervals would leave undecided is marked on the report, ``short``: of 10,000 intervals of 1,600
runs of that SVT-S with l = 0, 4 missed the mean SER. The error rate stated there is not that of marked verdicts.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from statistics import NormalDist, fmean
from typing import NamedTuple

from sparsegate.paper.results import CellKey, Row

FALSE_VERDICT = 4e-3  # the chance that any verdict of a report is wrong by chance
LOOKS = 8  # rounds of runs at most, after each of which all comparisons are looked at

CHOSEN = 8
"""How many times as often one of the looks goes wrong, at most, as those before choose how many runs it has.

A test computes it for a mean that is exactly the margin, and 1 to 4 times the runs at each look. Where these are what
the comparison itself asks for, the looks go wrong 14 times as often as a single one, not 8 times. Where they are chosen
so that it goes wrong as often as can be, it is 44 times, and 58 times for intervals of 7 standard errors.
"""

# Comparisons of a report, at most, under all readings of the paper together; the default report has about 15,200
COMPARISONS = 16_000

# Half the length of an interval, in standard errors
SIGMAS = NormalDist().inv_cdf(1 - FALSE_VERDICT / (CHOSEN * LOOKS * COMPARISONS))

MARGIN = 0.02
"""A difference of rates that matters: what the paper's figures can show.

They are means over 100 runs; where runs deviate by 0.1, such a mean has a standard error of 0.01, and a difference of
0.02 is the least that stands out.
"""

FAR = 16.0
"""A vote that wants more than so many times the runs leans nowhere yet, and asks for all that is open.

Otherwise one of many members that is above its margin by chance, after a hundred runs, has all rounds to itself, and
when it turns, none are left for the others: so it was with seed 9.
"""

Source = tuple[CellKey, str]


class Support(enum.Enum):
    """What the results say about a statement."""

    SUPPORTED = "supported"
    NOT_SUPPORTED = "not supported"
    DEPENDS = "depends on the reading"
    UNDECIDED = "undecided"
    NOT_COMPARABLE = "not comparable"
    CIRCULAR = "circular"
    NOT_RUN = "not run"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What results say, and the numbers that it depends on; the same at each dataset, there with the rows as ``cells``.

    ``wanting`` are the rows that need more runs for a decision, and how many times as many: none, once there is one.
    ``short`` says that it would be undecided if SER counted as anything down to its least, where answers may be short.
    """

    support: Support
    numbers: str
    places: Mapping[str, Judgement] = field(default_factory=dict)
    wanting: Mapping[CellKey, float] = field(default_factory=dict)
    cells: tuple[CellKey, ...] = ()
    short: bool = False


class Term(NamedTuple):
    """How far one standard error of a mean moves a quantity: by what the runs deviate, and by what none has met.

    ``up`` and ``down`` are the latter, v above. With m times the runs the first falls by sqrt(m), they by m.
    """

    deviation: float
    up: float = 0.0
    down: float = 0.0

    def times(self, slope: float) -> Term:
        up, down = (self.up, self.down) if slope >= 0 else (self.down, self.up)
        return Term(slope * self.deviation, abs(slope) * up, abs(slope) * down)


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
        return math.sqrt(sum(term.deviation**2 for term in self.terms.values()))

    @property
    def lowest(self) -> float:
        return self.value - reach(self._deviations, [term.down for term in self.terms.values()])

    @property
    def highest(self) -> float:
        return self.value + reach(self._deviations, [term.up for term in self.terms.values()])

    def needed(self, margin: float) -> float:
        unseen = [term.down if self.value > margin else term.up for term in self.terms.values()]
        return times_needed(abs(self.value - margin), self._deviations, unseen)

    @property
    def widest(self) -> tuple[CellKey, ...]:
        """The rows that make the interval long: at least half as long as the one that makes it longest, alone.

        A row of thousands of runs that is compared with one of a hundred needs no more of them yet.
        """
        lengths: dict[CellKey, float] = {}
        for (cell, _), term in self.terms.items():
            lengths[cell] = lengths.get(cell, 0.0) + abs(term.deviation) + term.up + term.down
        most = max(lengths.values(), default=0.0)
        return tuple(cell for cell, length in lengths.items() if length >= most / 2)

    @property
    def _deviations(self) -> list[float]:
        return [term.deviation for term in self.terms.values()]

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.lowest:.3f}, {self.highest:.3f}]"

    def __add__(self, other: Quantity) -> Quantity:
        return derived(self.value + other.value, (self, 1.0), (other, 1.0))

    def __sub__(self, other: Quantity) -> Quantity:
        return derived(self.value - other.value, (self, 1.0), (other, -1.0))

    def __rmul__(self, factor: float) -> Quantity:
        return derived(factor * self.value, (self, factor))

    def __truediv__(self, other: Quantity) -> Quantity:
        ratio = self.value / other.value
        return derived(ratio, (self, 1 / other.value), (other, -ratio / other.value))


def reach(deviations: Sequence[float], unseen: Sequence[float], sigmas: float = SIGMAS) -> float:
    """How far an interval reaches to one side: z (sqrt(e^2 + (v/4)^2) + 3v/8), of several means."""
    return sigmas * (math.hypot(*deviations, *(part / 4 for part in unseen)) + 3 * max(unseen) / 8)


def times_needed(
    distance: float, deviations: Sequence[float], unseen: Sequence[float], sigmas: float = SIGMAS
) -> float:
    """m such that m times the runs would reach no farther than this distance: z (e/sqrt(m) + u/m) = distance.

    e is the standard error, and u what the unseen adds to it: a little too much, as the two are added here.
    """
    error, extra = math.hypot(*deviations), math.hypot(*unseen) / 4 + 3 * max(unseen) / 8
    if distance == 0 or math.isinf(error):
        return math.inf
    root = (error + math.sqrt(error**2 + 4 * extra * distance / sigmas)) / (2 * distance / sigmas)
    return root**2


def derived(value: float, *parts: tuple[Quantity, float]) -> Quantity:
    """A function of some quantities, with its slope in each: exact for sums, by the delta method for others."""
    terms: dict[Source, Term] = {}
    for part, slope in parts:
        for source, term in part.terms.items():
            more = term.times(slope)
            before = terms.get(source)
            terms[source] = more if before is None else Term(*(a + b for a, b in zip(before, more, strict=True)))
    return Quantity(value=value, terms=terms)


def mean_of(parts: Sequence[Quantity]) -> Quantity:
    """The mean of some quantities."""
    return derived(fmean(part.value for part in parts), *((part, 1 / len(parts)) for part in parts))


def rate(row: Row, metric: str = "ser") -> Quantity:
    """The mean of a row: ``metric`` is ser, fnr or total_ser. A single run has no deviation: its error is infinite."""
    least = row.ser_least if metric == "ser" else 0.0
    return mean_over_runs((row.cell, metric), row.mean(metric), getattr(row, f"{metric}_std"), row.runs, least)


@lru_cache(maxsize=1 << 16)  # a row is compared with many
def mean_over_runs(source: Source, mean: float, std: float, runs: int, least: float = 0.0) -> Quantity:
    """The mean of numbers between ``least`` and 1, one for each run."""
    return Quantity(value=mean, terms={source: mean_term(mean, std, runs, least=least)})


def variance(row: Row, metric: str = "total_ser") -> Quantity:
    """The variance of a row's runs, of a metric between 0 and 1: total SER or FNR, and not SER, which may be below 0.

    A run is at most 1 from the mean, so E(x-m)^4 <= E(x-m)^2: the squares deviate by at most s, as the runs do. What
    was not seen can only be farther off.
    """
    std = getattr(row, f"{metric}_std")
    term = Term(_error(std, row.runs), SIGMAS / row.runs)
    return Quantity(value=std**2, terms={(row.cell, f"{metric} squared"): term})


def empty_places(row: Row) -> Quantity:
    """The share of the c places that stayed empty: between 0 and 1, so with mean m its variance is at most m(1-m)."""
    empty = 1 - row.selected_mean / row.count
    term = mean_term(empty, math.sqrt(max(empty * (1 - empty), 0.0)), row.runs)
    return Quantity(value=empty, terms={(row.cell, "empty"): term})


def mean_term(mean: float, std: float, runs: int, sigmas: float = SIGMAS, least: float = 0.0) -> Term:
    """The term of a mean of runs; a single one has no deviation, and says nothing."""
    unseen, inside = sigmas / runs, min(max(mean, least), 1.0)
    return Term(_error(std, runs), unseen * (1 - inside), unseen * (inside - least))


def _error(std: float, runs: int) -> float:
    return math.inf if runs < 2 else std / math.sqrt(runs)


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Supported, not supported or undecided; the means it was read off; and, if undecided, how many times their runs.

    ``leans`` is what it would be without doubt. ``wanting`` has those rows alone whose further runs would decide that.
    """

    support: Support
    sources: tuple[Source, ...]
    leans: bool
    wanting: Mapping[CellKey, float] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return self.support is Support.SUPPORTED

    @property
    def cells(self) -> tuple[CellKey, ...]:
        return tuple(dict.fromkeys(cell for cell, _ in self.sources))

    @classmethod
    def sure(cls, holds: bool, sources: tuple[Source, ...]) -> Decision:
        return cls(support=Support.SUPPORTED if holds else Support.NOT_SUPPORTED, sources=sources, leans=holds)


def above(quantity: Quantity, margin: float = MARGIN) -> Decision:
    """Whether a quantity is above a margin: yes or no if its whole interval says so."""
    sources = tuple(quantity.terms)
    if quantity.lowest > margin:
        return Decision.sure(True, sources)
    if quantity.highest <= margin:
        return Decision.sure(False, sources)
    wanting = dict.fromkeys(quantity.widest, quantity.needed(margin))
    return Decision(support=Support.UNDECIDED, sources=sources, leans=quantity.value > margin, wanting=wanting)


def at_most(quantity: Quantity, margin: float = MARGIN) -> Decision:
    """Whether a quantity is at most a margin."""
    return opposite(above(quantity, margin))


def opposite(decision: Decision) -> Decision:
    """The decision on the contrary."""
    turned = {Support.SUPPORTED: Support.NOT_SUPPORTED, Support.NOT_SUPPORTED: Support.SUPPORTED}
    return replace(decision, support=turned.get(decision.support, decision.support), leans=not decision.leans)


Combine = Callable[[Iterable[Decision]], Decision]


def _voted(decisions: Iterable[Decision], *, enough: Callable[[int], int]) -> Decision:
    """Supported with ``enough`` members that are, not supported where even the undecided would not make it enough.

    Undecided, it wants what would settle it the way it leans: of the members that lean so as many as are lacking, those
    first that want the fewest runs; and all that are open, where even these are ``FAR`` from it.
    """
    members = list(decisions)
    needed = enough(len(members))
    sure = sum(member.support is Support.SUPPORTED for member in members)
    open_still = [member for member in members if member.support is Support.UNDECIDED]
    sources = tuple(dict.fromkeys(source for member in members for source in member.sources))
    if sure >= needed:
        return Decision.sure(True, sources)
    if sure + len(open_still) < needed:
        return Decision.sure(False, sources)
    leans = sum(member.leans for member in members) >= needed
    lacking = needed - sure if leans else sure + len(open_still) - needed + 1
    inclined = [member for member in open_still if member.leans is leans]
    inclined.sort(key=lambda member: max(member.wanting.values()))
    wanting = most_wanting(member.wanting for member in inclined[:lacking])
    if max(wanting.values()) > FAR:
        wanting = most_wanting(member.wanting for member in open_still)
    return Decision(support=Support.UNDECIDED, sources=sources, leans=leans, wanting=wanting)


all_of: Combine = partial(_voted, enough=lambda total: total)
"""Supported once all are; not supported as soon as one is not."""
any_of: Combine = partial(_voted, enough=lambda total: 1)
"""Supported as soon as one is; not supported once none can be."""
most_of: Combine = partial(_voted, enough=lambda total: total // 2 + 1)
"""Supported once more than half are; not supported once that cannot be."""


def most_wanting(parts: Iterable[Mapping[CellKey, float]]) -> dict[CellKey, float]:
    """What any of them wants, and as much as the one that wants most."""
    together: dict[CellKey, float] = {}
    for wanting in parts:
        for cell, times in wanting.items():
            together[cell] = max(times, together.get(cell, 0.0))
    return together
