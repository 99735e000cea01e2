"""The one rule behind every verdict: a quantity is above a margin, or at most it, if its whole interval is.

A quantity is computed from means over runs. Its interval is the value ± ``SIGMAS`` standard errors, and what no run has
met: for a mean x of n runs between 0 and 1 with standard deviation s it reaches upwards and downwards by

    z (sqrt(s^2/n + (v/4)^2) + 3v/8),    z = SIGMAS,    v = z (1-x) / n  upwards,  z x / n  downwards.

What it does not decide is undecided, and asks for m times the runs of its rows, so many that it would decide if the
value stayed what it is. The chance that a report of ``COMPARISONS`` comparisons, ``LOOKS`` looks at each, has any wrong
verdict is at most ``FALSE_VERDICT``, but for those that rest on short answers. Proof:
docs/explanation/proofs_in_words/paper.md."""

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

CHOSEN = 8  # how many times as often a look goes wrong, at most, as those before choose its runs: a test computes it

# Comparisons of a report, at most, under all readings of the paper together; the default report has about 15,200
COMPARISONS = 16_000

# Half the length of an interval, in standard errors
SIGMAS = NormalDist().inv_cdf(1 - FALSE_VERDICT / (CHOSEN * LOOKS * COMPARISONS))

MARGIN = 0.02  # a difference of rates that matters: the least that stands out of means over the paper's 100 runs

FAR = 16.0  # a vote that wants more than so many times the runs leans nowhere yet, and asks for all that is open

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

    ``wanting`` are the rows that need more runs for a decision, and how many times as many. ``short`` says that it
    would be undecided if SER counted as anything down to its least, where answers may be short.
    """

    support: Support
    numbers: str
    places: Mapping[str, Judgement] = field(default_factory=dict)
    wanting: Mapping[CellKey, float] = field(default_factory=dict)
    cells: tuple[CellKey, ...] = ()
    short: bool = False


class Term(NamedTuple):
    """How far one standard error of a mean moves a quantity: by what the runs deviate, and by what none has met."""

    deviation: float
    up: float = 0.0
    down: float = 0.0

    def times(self, slope: float) -> Term:
        up, down = (self.up, self.down) if slope >= 0 else (self.down, self.up)
        return Term(slope * self.deviation, abs(slope) * up, abs(slope) * down)


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A number computed from means over runs, with the ``terms`` of each: the same mean met twice is one term.

    So the standard error of a sum, of a difference and, by the delta method, of a ratio is right, whatever they share.
    Its interval is ``sigmas`` of them long to each side, and what no run has met.
    """

    value: float
    terms: Mapping[Source, Term]
    sigmas: float = SIGMAS

    @property
    def error(self) -> float:
        return math.hypot(*(term.deviation for term in self.terms.values()))

    @property
    def lowest(self) -> float:
        return self.value - self._reach([term.down for term in self.terms.values()])

    @property
    def highest(self) -> float:
        return self.value + self._reach([term.up for term in self.terms.values()])

    def _reach(self, unseen: Sequence[float]) -> float:
        deviations = [term.deviation for term in self.terms.values()]
        return self.sigmas * (math.hypot(*deviations, *(part / 4 for part in unseen)) + 3 * max(unseen) / 8)

    def needed(self, margin: float) -> float:
        """m such that m times the runs would reach as far as the margin: z (e/sqrt(m) + u/m), about."""
        unseen = [term.down if self.value > margin else term.up for term in self.terms.values()]
        error, extra = self.error, math.hypot(*unseen) / 4 + 3 * max(unseen) / 8
        if (distance := abs(self.value - margin) / self.sigmas) == 0 or math.isinf(error):
            return math.inf
        return ((error + math.sqrt(error**2 + 4 * extra * distance)) / (2 * distance)) ** 2

    @property
    def widest(self) -> tuple[CellKey, ...]:
        """The rows that make the interval at least half as long as the one that makes it longest, alone."""
        lengths: dict[CellKey, float] = {}
        for (cell, _), term in self.terms.items():
            lengths[cell] = lengths.get(cell, 0.0) + abs(term.deviation) + term.up + term.down
        most = max(lengths.values(), default=0.0)
        return tuple(cell for cell, length in lengths.items() if length >= most / 2)

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


def derived(value: float, *parts: tuple[Quantity, float]) -> Quantity:
    """A function of some quantities, with its slope in each: exact for sums, by the delta method for others."""
    terms: dict[Source, Term] = {}
    for source, term in ((source, term.times(slope)) for part, slope in parts for source, term in part.terms.items()):
        before = terms.get(source)
        terms[source] = term if before is None else Term(*(a + b for a, b in zip(before, term, strict=True)))
    return Quantity(value=value, terms=terms, sigmas=parts[0][0].sigmas)


def mean_of(parts: Sequence[Quantity]) -> Quantity:
    """The mean of some quantities."""
    return derived(fmean(part.value for part in parts), *((part, 1 / len(parts)) for part in parts))


def rate(row: Row, metric: str = "ser") -> Quantity:
    """The mean of a row: ``metric`` is ser, fnr or total_ser. A single run has no deviation: its error is infinite."""
    least = row.ser_least if metric == "ser" else 0.0
    return mean_over_runs((row.cell, metric), row.mean(metric), getattr(row, f"{metric}_std"), row.runs, least)


@lru_cache(maxsize=1 << 16)  # a row is compared with many
def mean_over_runs(
    source: Source, mean: float, std: float, runs: int, least: float = 0.0, sigmas: float = SIGMAS
) -> Quantity:
    """The mean of numbers between ``least`` and 1, one for each run; of a single run it says nothing."""
    unseen, inside = sigmas / runs, min(max(mean, least), 1.0)
    term = Term(_error(std, runs), unseen * (1 - inside), unseen * (inside - least))
    return Quantity(value=mean, terms={source: term}, sigmas=sigmas)


def variance(row: Row, metric: str = "total_ser") -> Quantity:
    """The variance of a row's runs, of a metric between 0 and 1: the squares deviate by at most s, as the runs do."""
    std = getattr(row, f"{metric}_std")
    term = Term(_error(std, row.runs), SIGMAS / row.runs)
    return Quantity(value=std**2, terms={(row.cell, f"{metric} squared"): term})


def empty_places(row: Row) -> Quantity:
    """The share of the c places that stayed empty: between 0 and 1, so with mean m its variance is at most m(1-m)."""
    empty = 1 - row.selected_mean / row.count
    return mean_over_runs((row.cell, "empty"), empty, math.sqrt(max(empty * (1 - empty), 0.0)), row.runs)


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

    Undecided, it wants what would settle it the way it leans, those members first that want the fewest runs.
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
any_of: Combine = partial(_voted, enough=lambda total: 1)
most_of: Combine = partial(_voted, enough=lambda total: total // 2 + 1)


def most_wanting(parts: Iterable[Mapping[CellKey, float]]) -> dict[CellKey, float]:
    """What any of them wants, and as much as the one that wants most."""
    together: dict[CellKey, float] = {}
    for cell, times in (entry for wanting in parts for entry in wanting.items()):
        together[cell] = max(times, together.get(cell, 0.0))
    return together
