"""The tight privacy loss of every row, in closed form.

Notation: rho has scale Delta/e1 and nu has scale Delta/r, so a shift of the threshold by Delta costs e1 and a shift
of one comparison by Delta costs r; a numeric answer costs a3 = eps3/c. An outcome has m BELOW and k ABOVE. The
supremum over neighbours of ln Pr_D[outcome]/Pr_D'[outcome] is

    general:    L(m,k) = min{ (m+k) r,  e1 + 2 k r,  e1 + 2 m r } + k a3
    monotonic:  L(m,k) = max{ max_d min(m r, e1 + (k-d) r) + d a3,   min(k r, e1 + m r) + k a3 },  d = 0, 1, ..., k

Upper bounds: align rho with itself, with rho + Delta or with rho - Delta. In the monotonic case d of the k
positives rise by Delta: those pay in their value but not in the comparison. (A positive that rises by a part t of
Delta gains nothing: aligning rho with rho + t Delta bounds the loss by the same share of the two neighbouring whole
d.) With the noise inside |e - q + nu|, the third general bound holds for m = 0 only: a BELOW says T + rho > 0, which no
shift downward respects, and with thresholds of their own for BELOW and ABOVE the loss is min{(m+k) r, e1 + 2kr}. All
rounds of a row that redraws rho move in one direction where the queries are monotonic. The bounds are per
transcript, so they hold against an analyst who adapts. They are attained in the limit of far-away answers;
``sparsegate.privacy`` checks that by exact computation. With a cutoff c and no limit on queries the suprema are
e1 + 2cr + eps3 and max(e1 + max(cr, eps3), cr + eps3).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal, NamedTuple, Unpack

from sparsegate.errors import ParameterError
from sparsegate.mechanisms.setting import Setting, Shares, only
from sparsegate.mechanisms.variants import Compared, Released, Scales, Variant, variant

Loss = Fraction | float  # a Fraction, or math.inf; a float throughout where the rates are floats
Direction = Literal["any", "up", "down"]  # how answers move from D to its neighbour: each as it likes, or all one way


class Rates(NamedTuple):
    """e1, r and a3: what a shift of rho and of one comparison by Delta cost, and what a released number costs."""

    threshold: Loss
    query: Loss
    answer: Loss
    inside: bool = False

    @classmethod
    def of(cls, scales: Scales, *, inside: bool = False) -> Rates:
        """The rates of noise with these scales; ``inside`` |e - q + nu| or not."""
        if scales.query is None:
            raise ParameterError(
                "scales", "must have query noise", next_step="without it any mixed outcome has infinite loss"
            )
        e1: Loss = 1 / scales.threshold if scales.threshold else math.inf
        return cls(e1, 1 / scales.query, 1 / scales.answer if scales.answer else Fraction(0), inside)


class RoundLoss(NamedTuple):
    """A loss, how far the next larger term of its minimum is, and how many of the positives rise."""

    loss: Loss
    gap: Loss
    rising: int = 0


def round_loss(below: int, above: int, rates: Rates, direction: Direction = "any") -> RoundLoss:
    """The supremum of the loss of m BELOW and k ABOVE under one rho, over neighbours that move in this direction."""
    m, k = below, above
    e1, r, a3, inside = rates
    if direction == "any":
        terms: list[Loss] = sorted([(m + k) * r, e1 + 2 * k * r, math.inf if inside and m else e1 + 2 * m * r])
        return RoundLoss(terms[0] + k * a3, terms[1] - terms[0])
    if direction == "down":
        return RoundLoss(_least(k * r, e1 + m * r) + k * a3, abs(k * r - e1 - m * r))
    # min(m r, e1 + (k-d) r) + d a3 is concave in d: the best whole d lies at an end or beside the kink.
    kink = k - m + e1 / r
    beside = (math.floor(kink), math.floor(kink) + 1) if 0 < kink < k else ()
    loss, less = max((_least(m * r, e1 + (k - d) * r) + d * a3, -d) for d in (0, k, *beside))
    return RoundLoss(loss, abs(m * r - e1 - (k + less) * r), -less)


def _least(a: Loss, b: Loss) -> Loss:
    return min(a, b)


def outcome_loss(below: int, above: int, scales: Scales, *, monotonic: bool, inside: bool = False) -> Loss:
    """L(m,k) for a threshold noise that is never redrawn, with query noise present, outside or ``inside`` |e - q|.

    >>> outcome_loss(9, 2, Scales(Fraction(2), Fraction(8), None), monotonic=False)
    Fraction(1, 1)
    """
    rates = Rates.of(scales, inside=inside)
    return max(round_loss(below, above, rates, direction).loss for direction in _directions(monotonic))


def _directions(monotonic: bool) -> tuple[Direction, ...]:
    return ("up", "down") if monotonic else ("any",)


def tight_epsilon(
    row: Variant | str, *, cutoff: int = 1, queries: int | None = None, **options: Unpack[Shares]
) -> float:
    """The smallest epsilon for which the row is epsilon-DP: math.inf where there is none.

    The options are those of a ``Setting``, but for the sensitivity, which makes no difference.

    >>> tight_epsilon("lee-clifton-2014", cutoff=3, epsilon=0.1)
    0.475
    >>> tight_epsilon("chen-2015", epsilon=1), tight_epsilon("chen-2015", epsilon=1, queries=12)
    (inf, 6.0)
    """
    only("tight_epsilon", Shares, options)
    setting = Setting(row=variant(row), cutoff=cutoff, queries=queries, **options)
    return float(
        tight_loss(
            setting.row,
            setting.noise,
            cutoff=setting.cutoff,
            monotonic=setting.monotonic,
            queries=setting.queries,
        )
    )


def tight_loss(row: Variant, scales: Scales, *, cutoff: int, monotonic: bool, queries: int | None) -> Loss:
    """The supremum of the loss over all outcomes of a row with the given scales."""
    # |e - q| rises for one query and falls for another when all answers rise: an error is never monotonic.
    one_way, inside = monotonic and row.compared is Compared.ANSWER, row.compared is Compared.ERROR_NOISE_INSIDE
    if scales.query is None:
        return 1 / scales.threshold if queries == 1 and scales.threshold else math.inf
    if row.released is Released.NOISY_ANSWER:
        # The released value pins the threshold from one side, so no shift helps: every query costs r.
        return math.inf if queries is None else queries / scales.query
    if queries is None and (not row.stops or scales.threshold is None):
        return math.inf
    if row.redraws_threshold and scales.threshold is not None:
        # All rounds see the same pair of neighbours: with monotonic queries they all rise or all fall.
        rates = Rates.of(scales)
        return max(_redrawn(rates, way, cutoff=cutoff, queries=queries) for way in _directions(one_way))
    positives = cutoff if row.stops else math.inf
    if queries is None:
        # Beyond m = k + e1/r another BELOW costs nothing.
        e1, r = 1 / scales.threshold, 1 / scales.query  # type: ignore[operator]
        enough = cutoff + math.ceil(e1 / r)
        return outcome_loss(enough, cutoff, scales, monotonic=one_way, inside=inside)
    # L never falls when a BELOW is added, so all n queries are used.
    return max(
        outcome_loss(queries - k, k, scales, monotonic=one_way, inside=inside)
        for k in range(min(queries, int(min(positives, queries))) + 1)
    )


def _redrawn(rates: Rates, direction: Direction, *, cutoff: int, queries: int | None) -> Loss:
    """Rounds that end in an ABOVE are independent: their losses add, and a dynamic programme shares out n queries."""

    def loss_of(below: int, above: int) -> Loss:
        return round_loss(below, above, rates, direction).loss

    useful = 1 + math.ceil(rates.threshold / rates.query)  # BELOWs beyond this change nothing in a round
    if queries is None:
        return cutoff * loss_of(useful, 1)
    rounds = [(m + 1, loss_of(m, 1)) for m in range(min(useful, queries - 1) + 1)]
    best: list[Loss] = [Fraction(0)] * (queries + 1)  # best[n]: n queries used, after this many whole rounds
    answer: Loss = loss_of(queries, 0)
    for done in range(1, min(cutoff, queries) + 1):
        best = [
            max((best[n - used] + loss for used, loss in rounds if used <= n), default=Fraction(0))
            for n in range(queries + 1)
        ]
        open_round = (best[n] + (loss_of(queries - n, 0) if done < cutoff else 0) for n in range(done, queries + 1))
        answer = max(answer, *open_round)
    return answer
