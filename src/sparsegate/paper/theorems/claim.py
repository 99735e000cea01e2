"""What a claim is, what it is measured on, and how a measurement becomes a verdict.

A claim is cut into parts: one number each, held against what is said of it. The verdict follows from the parts alone:

    holds and is tight   every part holds, and every bound is met within 0.1 %
    holds                every part holds
    over-claims          some parts hold and some fail: a weaker claim is true
    wrong                no part holds

``expected`` records this project's position on a claim; no check reads it.

A *far pair* of neighbours has the shape that attains the bounds of ``sparsegate.gates.bounds``: with M far from the
threshold, every BELOW sits at M, every ABOVE at 0, -M or M, and D' moves them against each other. It is a guess like
any other: its loss is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

from sparsegate.budget import Budget, Number, advanced, allocation_ratio, exact_epsilon
from sparsegate.gates.approximate import renyi_bound, round_epsilon
from sparsegate.gates.bounds import outcome_loss
from sparsegate.gates.laws import Loss, NoiseLaw
from sparsegate.gates.variants import VARIANTS, Compared, Variant
from sparsegate.privacy.loss import loss, search
from sparsegate.privacy.model import Model, Noise, build
from sparsegate.privacy.outcome import log_probability
from sparsegate.selection.exponential import selection_rate
from sparsegate.selection.noisy_scores import noisy_scale

ROUNDING = 1e-9
"""Absolute and relative: what the quadrature may add to a loss."""

NEAR = 1e-3
"""A bound is tight if the measurement comes within this share of it."""

BELOW, ABOVE = False, True


class ClaimVerdict(StrEnum):
    """What a measurement says about a claim."""

    TIGHT = "holds and is tight"
    HOLDS = "holds"
    OVER_CLAIMS = "over-claims"
    WRONG = "wrong"


TIGHT, HOLDS, OVER_CLAIMS, WRONG = ClaimVerdict


@dataclass(frozen=True)
class ClaimPart:
    """One measured number beside the number claimed; ``tight`` is None where the part is no bound."""

    what: str
    measured: float
    relation: str
    claimed: float
    holds: bool
    tight: bool | None = None


def at_most(what: str, measured: float, bound: float) -> ClaimPart:
    """An upper bound: it fails where the measurement exceeds it, and is tight where the measurement reaches it."""
    return ClaimPart(what, measured, "<=", bound, measured <= bound + _slack(bound), measured >= bound * (1 - NEAR))


def at_least(what: str, measured: float, bound: float) -> ClaimPart:
    """A lower bound, with the same tolerances."""
    return ClaimPart(what, measured, ">=", bound, measured >= bound - _slack(bound), measured <= bound * (1 + NEAR))


def within(what: str, measured: float, limit: float) -> ClaimPart:
    """An upper limit that nobody says is reached."""
    return ClaimPart(what, measured, "<=", limit, measured <= limit + _slack(limit))


def exceeds(what: str, measured: float, limit: float) -> ClaimPart:
    """More than the limit, by more than rounding."""
    return ClaimPart(what, measured, ">", limit, measured > limit + _slack(limit))


def equals(what: str, measured: float, value: float) -> ClaimPart:
    """The same number up to rounding; infinities are equal."""
    same = measured == value or math.isclose(measured, value, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return ClaimPart(what, measured, "=", value, same)


def _slack(bound: float) -> float:
    return ROUNDING * (1 + abs(bound)) if math.isfinite(bound) else 0.0


def verdict(parts: Sequence[ClaimPart]) -> ClaimVerdict:
    """The verdict that follows from the parts, and from nothing else."""
    if not all(part.holds for part in parts):
        return OVER_CLAIMS if any(part.holds for part in parts) else WRONG
    bounds = [part.tight for part in parts if part.tight is not None]
    return TIGHT if bounds and all(bounds) else HOLDS


def listed(values: Iterable[float | ClaimPart], digits: int = 4) -> str:
    """Numbers, or what parts measured, for a line of evidence."""
    numbers = (value.measured if isinstance(value, ClaimPart) else value for value in values)
    return ", ".join(f"{number:.{digits}f}" for number in numbers)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What the claims are measured on: this library's rows and rules. Swap one for another, and the checks must notice.

    ``laplace_scale`` is the scale of the Laplace mechanism at Delta = 1.
    """

    rows: Mapping[str, Variant] = field(default_factory=lambda: VARIANTS)
    laplace_scale: Callable[[Number], Fraction] = lambda epsilon: 1 / exact_epsilon(epsilon)
    selection_rate: Callable[..., Fraction] = selection_rate
    ratio: Callable[..., Fraction] = allocation_ratio
    advanced: Callable[..., float] = advanced
    outcome_loss: Callable[..., Loss] = outcome_loss
    noisy_scale: Callable[..., Fraction] = noisy_scale
    round_epsilon: Callable[..., Fraction] = round_epsilon
    renyi_bound: Callable[..., float] = renyi_bound

    def gate(self, key: str, **public: Any) -> GateSetting:
        return GateSetting(self.rows[key], **public)

    def allocation(self, cutoff: int, *, monotonic: bool) -> Fraction:
        return self.ratio("optimal", cutoff=cutoff, monotonic=monotonic)

    def rate(self, *, epsilon: Number = 1, count: int = 1, monotonic: bool = False) -> float:
        return float(self.selection_rate(epsilon=epsilon, count=count, sensitivity=1, monotonic=monotonic))


Measured: TypeAlias = tuple[Sequence[ClaimPart], str]  # the parts of a claim, and one line that says what was seen
_Measure = TypeVar("_Measure", bound=Callable[..., Measured])


@dataclass(frozen=True, kw_only=True)
class ClaimFinding:
    """What a check saw."""

    key: str
    verdict: ClaimVerdict
    evidence: str
    parts: tuple[ClaimPart, ...]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim: its place or source, what it says, how it is measured, and the verdict this project documents."""

    key: str
    place: str
    statement: str
    expected: ClaimVerdict
    measure: Callable[[Subject], Measured]

    def check(self, subject: Subject | None = None) -> ClaimFinding:
        parts, evidence = self.measure(Subject() if subject is None else subject)
        return ClaimFinding(key=self.key, verdict=verdict(parts), evidence=evidence, parts=tuple(parts))


@dataclass(frozen=True)
class Section:
    """A section of the paper and its claims, in the order in which their checks are defined."""

    title: str
    claims: list[Claim] = field(default_factory=list)

    def claim(self, key: str, place: str, expected: ClaimVerdict) -> Callable[[_Measure], _Measure]:
        """Make a function the check of a claim; the first paragraph of its docstring is what the claim says."""

        def keep(measure: _Measure) -> _Measure:
            statement = " ".join((measure.__doc__ or "").partition("\n\n")[0].split())
            self.claims.append(Claim(key=key, place=place, statement=statement, expected=expected, measure=measure))
            return measure

        return keep


@dataclass(frozen=True, kw_only=True)
class AnswerPair:
    """Answers on D and on D' (Delta = 1), an outcome, and the thresholds; it unpacks to the first three."""

    answers: Sequence[float]
    neighbour: Sequence[float]
    outcome: Sequence[Any]
    threshold: Sequence[float] | float = 0

    def __iter__(self) -> Iterator[Sequence[Any]]:
        return iter((self.answers, self.neighbour, self.outcome))

    @property
    def sides(self) -> tuple[Sequence[float], Sequence[float]]:
        return self.answers, self.neighbour


def repeated(*blocks: tuple[float, float, Any, int]) -> AnswerPair:
    """A pair from (answer on D, answer on D', outcome, how often) blocks."""
    rows = [block[:3] for block in blocks for _ in range(block[3])]
    answers, neighbour, outcome = ([row[i] for row in rows] for i in range(3))
    return AnswerPair(answers=answers, neighbour=neighbour, outcome=outcome)


def split(threshold: float, queries: float, answers: float = 0) -> Budget:
    """The shares eps1, eps2 and eps3 of a gate."""
    return Budget(threshold_epsilon=threshold, query_epsilon=queries, answer_epsilon=answers)


def noise_laws(model: Model) -> tuple[NoiseLaw, NoiseLaw]:
    """The laws of rho and nu, where the row has both."""
    assert model.rho is not None
    assert model.nu is not None
    return model.rho, model.nu


def log_binomials(count: int) -> list[float]:
    """ln of (count over i) for each i."""
    return [math.lgamma(count + 1) - math.lgamma(i + 1) - math.lgamma(count - i + 1) for i in range(count + 1)]


FAR = 40  # sums of the two noise scales: e^-40 is out of sight
_SHAPES = {  # how a BELOW at M moves, where an ABOVE sits in multiples of M, and how that moves
    "general": ((1, 0, -1), (1, -1, -1)),
    "monotonic": ((1, 0, 0), (1, -1, 0), (1, 1, 1), (0, -1, -1)),
}


@dataclass(frozen=True)
class GateSetting:
    """A row with its public parameters: epsilon split as its authors did, or a budget."""

    row: Variant
    _: KW_ONLY
    cutoff: int = 1
    epsilon: Number = 1
    budget: Budget | None = None
    monotonic: bool = False
    noise: Noise = "continuous"

    @property
    def shares(self) -> Budget:
        if self.budget is not None:
            return self.budget
        return self.row.budget(self.epsilon, cutoff=self.cutoff, monotonic=self.monotonic)

    @property
    def _public(self) -> dict[str, Any]:
        return {"cutoff": self.cutoff, "budget": self.shares, "monotonic": self.monotonic, "noise": self.noise}

    @property
    def query_law(self) -> NoiseLaw:
        """The law of nu; of every row but the one without query noise."""
        return noise_laws(build(self.row, **self._public))[1]

    def log_probability(self, answers: Sequence[float], outcome: Sequence[Any]) -> float:
        return log_probability(self.row, answers, outcome, **self._public)

    def loss(self, pair: AnswerPair) -> float:
        estimates = None if self.row.compared is Compared.ANSWER else 0
        return loss(self.row, *pair, threshold=pair.threshold, estimates=estimates, **self._public)

    def log_probabilities(self, pair: AnswerPair) -> list[float]:
        """Of the outcome, on D and on D'."""
        return [self.log_probability(answers, pair.outcome) for answers in pair.sides]

    def far_pairs(self) -> list[AnswerPair]:
        """The shapes that attain the bounds, with as many BELOW as are of use."""
        threshold, query, _ = self.row.scales(self.shares, cutoff=self.cutoff, monotonic=self.monotonic)
        assert threshold is not None
        assert query is not None
        far = FAR * math.ceil(threshold + query)
        rounds, k = (self.cutoff, 1) if self.row.redraws_threshold else (1, self.cutoff)
        m = k + math.ceil(query / threshold) + 1  # one more than the k + e1/r from which a BELOW costs nothing
        pairs = []
        for below_moves, above_at, above_moves in _SHAPES["monotonic" if self.monotonic else "general"]:
            start = above_at * far
            end = float(start) if self.shares.answer_epsilon else ABOVE
            one_round = (far, far + below_moves, BELOW, m), (start, start + above_moves, end, k)
            pairs.append(repeated(*one_round * rounds))
        return pairs

    def worst(self, *, queries: int = 8, thresholds: Sequence[float] = (0,), far: bool = True) -> float:
        """The largest exact loss over the far pairs and over what a blind search climbs to."""
        worst = search(self.row, queries=queries, thresholds=thresholds, **self._public)
        # The search works on one shared grid; what it climbed to is measured again by adaptive quadrature.
        answers, neighbour, threshold = map(_whole, (worst.answers, worst.neighbour, worst.threshold))
        climbed = AnswerPair(answers=answers, neighbour=neighbour, threshold=threshold, outcome=worst.outcome)
        return max(self.loss(pair) for pair in (climbed, *(self.far_pairs() if far else ())))

    def bounded(self, what: str, bound: float | None = None, *, queries: int = 8) -> ClaimPart:
        """The loss, which is at most all of epsilon or the bound; ``what`` may name c, epsilon and noise in braces."""
        what = what.format(c=self.cutoff, epsilon=self.epsilon, noise=self.noise)
        return at_most(what, self.worst(queries=queries), float(self.shares.total) if bound is None else bound)


def _whole(values: Sequence[float]) -> list[float]:
    return [int(value) for value in values] if all(float(value).is_integer() for value in values) else list(values)
