"""The tight privacy loss of every row, in closed form.

rho has scale Delta/e1 and nu has scale Delta/r, so a shift of the threshold by Delta costs e1 and one of a comparison
r; a numeric answer costs a3 = eps3/c. An outcome has m BELOW and k ABOVE. Between D and D' the answer of question i
moves by d_i Delta. With rho on D aligned with rho + t Delta on D', for every t,

    loss <= e1 |t| + the costs of the m + k answers (``laws``) + a3 (how many of the positives move),

and L(m,k) is the largest value over the moves of the smallest over t, per transcript, so that it holds against an
analyst who adapts. Whole moves suffice: of the positives some number h makes the highest move, the others the lowest.
The proof, L(m,k) written out for each noise, and where it is attained: docs/explanation/proofs_in_words/core.md.
Machine-checked: proofs/README.md; with a gap and numbers, L(m,k) without numbers + k a3, which is more than the above
where queries are monotonic.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, NamedTuple

from sparsegate.budget import Allocation, Budget, Number, check_truth, exact_count
from sparsegate.errors import ParameterError
from sparsegate.gates.laws import Direction, GateLaw, Loss
from sparsegate.gates.variants import VARIANTS, Closes, Compared, Noise, Released, Scales, Variant, variant


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A row, or its key, and its public numbers, checked once: what runs, bounds and exact analysis all start from.

    Beside ``row``, ``cutoff``, ``sensitivity``, ``monotonic``, ``allocation``, ``granularity``, ``queries`` are of a
    ``SparseVector``. Without ``epsilon`` or ``budget``, for analysis, ``scales`` are the noise itself; a plan brings
    its scales beside the budget that pays for them.
    """

    row: Variant
    cutoff: int = 1
    sensitivity: Number = 1
    epsilon: Number | None = None
    budget: Budget | None = None
    monotonic: bool = False
    allocation: Allocation | None = None
    granularity: Number | None = None
    queries: int | None = None
    scales: Scales | None = None
    planned: bool = field(init=False)
    """Whether the scales came beside what pays for them."""

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> Setting:
        """The setting that the parameters of a call, its ``locals()``, describe."""
        return cls(
            **{option.name: scope[option.name] for option in fields(cls) if option.init and option.name in scope}
        )

    def __post_init__(self) -> None:
        row, cutoff = variant(self.row), exact_count(self.cutoff, "cutoff")
        one_way = check_truth(self.monotonic, "monotonic", "pass True only for one-way changes")
        budget, scales = self.budget, self.scales
        if scales is None or self.epsilon is not None:
            check_one_of(self.epsilon, budget)
        if self.epsilon is None and self.allocation is not None:
            raise ParameterError("allocation", "must be given with epsilon only", self.allocation, "pass epsilon=")
        if self.epsilon is not None:
            budget = row.budget(self.epsilon, cutoff=cutoff, monotonic=one_way, allocation=self.allocation)
        if budget is not None and not isinstance(budget, Budget):
            hint = "pass sg.Budget(threshold_epsilon=0.1, query_epsilon=0.4)"
            raise ParameterError("budget", "must be a Budget", budget, hint)
        if scales is None:
            assert budget is not None
            if budget.delta:
                rule = "must have no delta: its shares are of a pure epsilon"
                raise ParameterError("budget", rule, budget, "pass epsilon= and delta= to SparseVector")
            scales = row.scales(budget, cutoff=cutoff, monotonic=one_way)
        if self.queries is not None:
            exact_count(self.queries, "queries")
        checked = {"row": row, "cutoff": cutoff, "monotonic": one_way, "budget": budget, "scales": scales}
        checked["planned"] = self.scales is not None and budget is not None
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def noise(self) -> Scales:
        """The scales of rho, nu and fresh answers, in units of the sensitivity."""
        assert self.scales is not None
        return self.scales


def check_one_of(epsilon: Number | None, budget: Budget | None) -> None:
    """Raise a ParameterError unless exactly one of the two says how much is spent."""
    if (epsilon is None) == (budget is None):
        raise ParameterError("epsilon", "or budget must be given, and not both", epsilon, "pass one of the two")


MOVES: dict[Direction, tuple[int, int]] = {"any": (1, -1), "up": (1, 0), "down": (0, -1)}
"""The highest and the lowest move of one answer, in units of Delta."""

_SHIFTS: dict[Direction, tuple[int, ...]] = {"any": (0, 1, -1), "up": (0, 1), "down": (0, -1)}


class Rates(NamedTuple):
    """e1, r and a3: what a shift of rho and of one comparison by Delta cost, and what a released number costs."""

    threshold: Loss
    query: Loss
    answer: Loss
    law: GateLaw
    inside: bool = False
    gap: bool = False

    @classmethod
    def of(cls, scales: Scales, row: Variant) -> Rates:
        """The rates of noise with these scales, compared and released as the row does."""
        if scales.query is None:
            hint = "without it any mixed outcome has infinite loss"
            raise ParameterError("scales", "must have query noise", next_step=hint)
        e1: Loss = 1 / scales.threshold if scales.threshold else math.inf
        a3 = 1 / scales.answer if scales.answer else Fraction(0)
        inside = row.compared is Compared.ERROR_NOISE_INSIDE
        return cls(e1, 1 / scales.query, a3, row.noise.law, inside, row.gap)


class RoundLoss(NamedTuple):
    """A loss, how far the next larger term of its minimum is, and how many of the positives make the highest move."""

    loss: Loss
    gap: Loss
    rising: int = 0


def round_loss(below: int, above: int, rates: Rates, direction: Direction = "any") -> RoundLoss:
    """The supremum of the loss of m BELOW and k ABOVE under one rho, over neighbours that move in this direction."""
    m, k, law, gap = below, above, rates.law, rates.gap
    high, low = MOVES[direction]

    def cost(t: int, h: int) -> Loss:
        """Of an alignment that shifts rho by t, where h of the positives make the highest move."""
        if rates.inside and t < 0 and m:
            return math.inf
        compared = (
            _times(m, law.below_cost(high, t))
            + _times(h, law.above_cost(high, t, gap=gap))
            + _times(k - h, law.above_cost(low, t, gap=gap))
        )
        return _times(law.threshold_cost(t), rates.threshold) + _times(compared, rates.query)

    def at(h: int) -> tuple[Loss, int, Loss]:
        bounds = sorted(cost(t, h) for t in _SHIFTS[direction])
        moving = (h if high else 0) + (k - h if low else 0)
        further = bounds[1] - bounds[0] if bounds[0] < math.inf else Fraction(0)
        return bounds[0] + _times(moving, rates.answer), -h, further

    loss, less, further = max(at(h) for h in _highest_moves(m, k, rates, direction))
    return RoundLoss(loss, further, -less)


def _highest_moves(m: int, k: int, rates: Rates, direction: Direction) -> Iterable[int]:
    """The h among which the largest loss is."""
    if not rates.gap and (direction != "up" or not rates.answer):
        return (0,)  # a positive that rises pays nothing
    return rates.law.rising(m, k, rates.threshold / rates.query, direction, gap=rates.gap)


def _times(count: Loss, cost: Loss) -> Loss:
    return count * cost if count else Fraction(0)


def outcome_loss(
    below: int, above: int, scales: Scales, *, monotonic: bool, row: Variant = VARIANTS["standard"]
) -> Loss:
    """L(m,k) of a row whose threshold noise is never redrawn, with query noise present."""
    rates = Rates.of(scales, row)
    return max(round_loss(below, above, rates, direction).loss for direction in directions(row, monotonic))


def directions(row: Variant, monotonic: bool) -> tuple[Direction, ...]:
    """How a neighbour may move. An error |e - q| moves either way, whichever way all q move."""
    return ("up", "down") if monotonic and row.compared is Compared.ANSWER else ("any",)


def transcript_loss(row: Variant, scales: Scales, rounds: Sequence[tuple[int, int]], *, monotonic: bool) -> Loss:
    """The supremum of the loss of one transcript: its ``rounds`` of (BELOW, ABOVE), each under a rho of its own."""
    asked = sum(below + above for below, above in rounds)
    if scales.query is None:
        return math.inf if asked else Fraction(0)
    if row.released is Released.NOISY_ANSWER:
        return asked / scales.query
    rates, ways = Rates.of(scales, row), directions(row, monotonic)
    return max(sum((round_loss(*counts, rates, way).loss for counts in rounds), Fraction(0)) for way in ways)


def tight_epsilon(
    row: Variant | str,
    *,
    cutoff: int = 1,
    queries: int | None = None,
    epsilon: Number | None = None,
    budget: Budget | None = None,
    allocation: Allocation | None = None,
    monotonic: bool = False,
) -> float:
    """The smallest epsilon for which the row is epsilon-DP: math.inf where there is none.

    ``queries`` is how many questions there are at most (None: no limit), ``cutoff`` how many positives stop it.
    ``epsilon``, or a ``budget``, is what is spent, ``allocation`` how epsilon is split; ``monotonic`` as for a gate.

    >>> import sparsegate as sg
    >>> sg.privacy.tight_epsilon("lee-clifton-2014", cutoff=3, epsilon=0.1)
    0.475
    >>> sg.privacy.tight_epsilon("chen-2015", epsilon=1), sg.privacy.tight_epsilon("chen-2015", epsilon=1, queries=12)
    (inf, 6.0)
    """
    set_ = Setting.of(locals())
    loss = tight_loss(set_.row, set_.noise, cutoff=set_.cutoff, monotonic=set_.monotonic, queries=set_.queries)
    return float(loss)


def tight_loss(row: Variant, scales: Scales, *, cutoff: int, monotonic: bool, queries: int | None) -> Loss:
    """The supremum of the loss over all outcomes of a row with the given scales."""
    if row.compared is Compared.ERROR_NOISE_OUTSIDE and row.released is Released.NOISY_ANSWER:
        rule = "must not be the noisy answer where |e - q| + nu is compared: that is another number"
        raise ParameterError("released", rule, row.key, "the tight loss of such a row is not known")
    if scales.query is None:
        # One question tells no more than rho hides: two-sided noise, and nothing of q itself.
        hidden = row.noise is Noise.LAPLACE and row.released is not Released.NOISY_ANSWER
        if queries != 1 or not scales.threshold or not hidden:
            return math.inf
        return 1 / scales.threshold + (1 / scales.answer if scales.answer else 0)
    if row.released is Released.NOISY_ANSWER:
        # The released value pins the threshold from one side, so no shift helps: every query costs r.
        return math.inf if queries is None else queries / scales.query
    either = row.closes is Closes.RARER
    # What makes a shift of rho by -Delta impossible or dear, or any number of positives draw a rho of their own.
    odd = row.gap or row.noise is not Noise.LAPLACE or row.compared is Compared.ERROR_NOISE_INSIDE
    boundless = either and (odd or row.redraws_threshold or scales.answer is not None)
    if queries is None and (not row.stops or scales.threshold is None or boundless):
        return math.inf
    if row.redraws_threshold and scales.threshold is not None:
        # All rounds see the same pair of neighbours: with monotonic queries they all rise or all fall.
        rates = Rates.of(scales, row)
        rounds = cutoff if row.closes is Closes.ABOVE or queries is None else queries
        ways = directions(row, monotonic)
        return max(redrawn_rounds(rates, way, cutoff=rounds, queries=queries).loss for way in ways)
    if row.stops and scales.threshold is not None and not boundless:
        # Beyond m = k + e1/r another BELOW costs nothing: where n leaves room for these, it is no limit.
        enough = cutoff + math.ceil(scales.query / scales.threshold)
        if queries is None or queries >= cutoff + enough:
            return outcome_loss(enough, cutoff, scales, monotonic=monotonic, row=row)
    assert queries is not None
    # L never falls when a BELOW is added, so all n queries are used.
    most = min(cutoff, queries) if row.stops else queries
    positives = {*range(most + 1), *(range(queries - most, queries + 1) if either else ())}
    return max(outcome_loss(queries - k, k, scales, monotonic=monotonic, row=row) for k in positives)


class Rounds(NamedTuple):
    """A loss, the BELOWs of each round that ends in an ABOVE, and those of one that is left open."""

    loss: Loss
    closed: tuple[int, ...]
    opened: int


def redrawn_rounds(rates: Rates, direction: Direction, *, cutoff: int, queries: int | None, more: float = 0) -> Rounds:
    """The dearest transcript of a row that redraws rho; ``more`` BELOWs of each round than change its loss.

    Rounds that end in an ABOVE are independent: their losses add, and a dynamic programme shares out n queries.
    """

    def loss_of(below: int, above: int) -> Loss:
        return round_loss(below, above, rates, direction).loss

    useful = math.ceil(1 + rates.threshold / rates.query + more)  # BELOWs beyond this change nothing in a round
    if queries is None or queries >= cutoff * (useful + 1):  # room for the dearest round each time
        return Rounds(cutoff * loss_of(useful, 1), (useful,) * cutoff, 0)
    rounds = [(m, loss_of(m, 1)) for m in range(min(useful, queries - 1) + 1)]
    opened = [loss_of(m, 0) for m in range(queries + 1)]
    table: dict[int, Rounds] = {0: Rounds(Fraction(0), (), 0)}  # the best whole rounds that use n queries
    best = Rounds(opened[queries], (), queries)
    for done in range(1, min(cutoff, queries) + 1):
        table = {
            n: max(
                Rounds(table[n - m - 1].loss + loss, (*table[n - m - 1].closed, m), 0)
                for m, loss in rounds
                if n - m - 1 in table
            )
            for n in range(done, min(queries, done * len(rounds)) + 1)
        }
        for n, (loss, closed, _) in table.items():
            rest = queries - n if done < cutoff else 0
            best = max(best, Rounds(loss + opened[rest], closed, rest))
    return best
