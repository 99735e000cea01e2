"""A clip, and a bound on the items of a person, chosen from the data at a price: "auto" in place of a number.

The choice is a release of its own, with a part of epsilon: ``choice_epsilon``, a tenth of it unless told otherwise, in
equal parts where both are chosen. What is chosen is recorded, and published.

**The bound m on items** is such that about three quarters of the people keep all of theirs. With n people, of whom
A_i have at most m_i of the candidates, a public m_i is selected by the exponential mechanism with the score

    - |4 A_i - 3 n|.

**A look first.** Where "auto" may take any method for a set of c counts, nothing is cut if "subset" will do without.
Let q_a be the a-th largest count, d the number of candidates, E the epsilon that is left: "subset" is taken if

    g + Laplace(1/e) >= 2/e,      g = min over a of  q_a - ceil((2/E) ln C(d - a + 1, c - a + 1)),

and otherwise a bound is chosen, and with it "noisy-scores". The look has as much of choice_epsilon as each choice.

**The clip** is (0, b). Its public candidates b_i grow by about the square root of 2, from a millionth to 4 * 10**11.
Let W_i be the number of people with an item that is worth more than b_(i-1) to them, one candidate below b_i. A
candidate is selected with a probability proportional to

    exp(-e (W_i + p_i)),        p_i = floor(i STEP / e),

where e is what the choice may spend: so the *mean* of the clip that is chosen is finite, too. Those who would be cut
must outweigh p, or the clip ends near its least (``clip_people``).

*Theorem.* A release with a choice is (epsilon, delta)-differentially private as a whole, epsilon with choice_epsilon in
it. As zCDP each choice is e-bounded-range: e**2/8; a look counts as any pure release: e**2/2. All outcomes are checked
before anything is charged, and everything is charged before anything is drawn. How many candidates there are is public.
Proof: docs/explanation/proofs_in_words/table_releases.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import accumulate
from typing import Final

from sparsegate.budget import Number
from sparsegate.noise import Source, discrete_laplace, exact_scale
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import Request
from sparsegate.tables.domain import Domain
from sparsegate.tables.engines.engine import Engine, Frame

BOUND: Final = "max_items_per_user"
CLIP: Final = "clip"
CHOICES: Final = (BOUND, CLIP)
"""What may be chosen, by the names of the parameters."""

KEPT: Final = Fraction(3, 4)
"""The share of the people who are to keep all of their items."""

STEP: Final = Fraction(4, 3)
"""What a candidate for the clip is less likely than the one before it, as an exponent."""

SHARE: Final = Fraction(1, 10)
"""Of epsilon, spent on choices unless told otherwise."""

LEAST_EPSILON: Final = Fraction(1, 10**9)
"""Of a choice: less would choose blindly."""

FINENESS: Final = 2**20
"""Steps of a clip that is chosen: as many for each, so that all of them cost and promise the same."""

BOUNDS: Final = tuple(sorted({part * 2**power for part in (2, 3) for power in range(12)} | {1}))
"""Bounds on the items of a person."""

_MOST_RANKS: Final = 10**4
_LEAST, _MOST = -20, 38  # powers of two
CLIPS: Final = tuple(Fraction(part, 2) * Fraction(2) ** power for power in range(_LEAST, _MOST) for part in (2, 3))
_FINEST: Final = 2 ** (2 - _LEAST)
"""Into how many steps 1 is divided where worths are compared with clips."""


def choose_bound(source: Source, sizes: Mapping[int, int], bounds: tuple[int | None, ...], epsilon: Fraction) -> int:
    """The place of the bound that was drawn, from how many people have each number of items; None bounds nothing."""
    people = sum(sizes.values())
    kept = [sum(n for size, n in sizes.items() if bound is None or size <= bound) for bound in bounds]
    top, whole = KEPT.as_integer_ratio()
    scores = [-abs(whole * below - top * people) for below in kept]
    return _drawn(source, scores, epsilon, sensitivity=max(top, whole - top), monotonic=False)


def choose_clip(source: Source, worths: Mapping[int, int], epsilon: Fraction) -> Fraction:
    """The clip that was drawn, from how many people are above so many of the CLIPS and not above the next."""
    people = sum(worths.values())
    # Above the candidate at place i - 1 are those who are above i of them or more.
    above = [people - below for below in accumulate((worths.get(place, 0) for place in range(len(CLIPS))), initial=0)]
    scores = [-(count + place * STEP // epsilon) for place, count in enumerate(above[: len(CLIPS)])]
    return CLIPS[_drawn(source, scores, epsilon, sensitivity=1, monotonic=True)]


def clip_people(worth: Number, epsilon: Fraction, confidence: float) -> int:
    """How many people, each with at most ``worth`` and more than the candidate below it, keep the clip from being less.

    Proof: docs/explanation/proofs_in_words/table_releases.md.

    >>> [clip_people(worth, Fraction(1, 10), 0.95) for worth in (1, 1000, 10**6)]
    [580, 847, 1114]
    """
    place = next((place for place, clip in enumerate(CLIPS) if clip >= worth), len(CLIPS) - 2)
    e = float(epsilon)
    weights = math.fsum(math.exp(-e * (i * STEP // epsilon)) for i in range(place + 1))
    return math.ceil(((place + 1) * STEP // epsilon) + (math.log(weights) - math.log1p(-confidence)) / e)


def _drawn(source: Source, scores: list[int], epsilon: Fraction, *, sensitivity: int, monotonic: bool) -> int:
    request = Request(count=1, epsilon=epsilon, sensitivity=sensitivity, monotonic=monotonic, method="exponential")
    return int(request.pick(Scores.each(scores), source).groups[0])


def subset_bars(*, total: int, count: int, epsilon: Fraction) -> dict[int, int]:
    """What the count at each rank a must reach for "subset", by a; of more than 10,000 ranks only some are looked at.

    >>> subset_bars(total=1000, count=2, epsilon=Fraction(1, 2))
    {1: 53, 2: 28}
    """

    def choices(a: int) -> float:
        n, k = total - a + 1, count - a + 1
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    ranks = range(1, count + 1, max(1, count // _MOST_RANKS))
    return {a: math.ceil(2 * choices(a) / float(epsilon)) for a in ranks}


def subset_margin(histogram: Mapping[int, int], bars: Mapping[int, int]) -> int:
    """g: by how much the counts are above the bars, the least of them; private."""
    margins, rank = [], 0
    falling = iter(sorted(histogram.items(), reverse=True))
    score = 0
    for a, bar in bars.items():
        while rank < a:
            score, items = next(falling, (0, a))
            rank += items
        margins.append(score - bar)
    return min(margins)


def subset_works(source: Source, margin: int, epsilon: Fraction) -> bool:
    """Whether g with noise is far enough above 0."""
    return margin + int(discrete_laplace(source, exact_scale(1 / epsilon), 1)[0]) >= 2 / epsilon


def choice_rho(epsilon: Fraction, choices: int, looks: int) -> Fraction:
    """What so many choices and looks cost as zCDP, each with its part of epsilon."""
    return (epsilon / (choices + looks)) ** 2 * (Fraction(choices, 8) + Fraction(looks, 2))


def numbers_of_items(engine: Engine, rows: Frame, domain: Domain | None) -> dict[int, int]:
    """How many users have so many of the candidates, from rows (item, user); all beyond the last bound are alike."""
    listed = rows if domain is None else domain.restrict(rows)
    sizes = listed.group("user", size="count(DISTINCT item)").select(f"least(size, {BOUNDS[-1] + 1}) AS size")
    return {int(size): int(people) for size, people in engine.rows(sizes.group("size", people="count(*)"))}


def largest_worths(engine: Engine, rows: Frame, domain: Domain | None) -> dict[int, int]:
    """How many people are above so many of the CLIPS with the item that is worth most to them.

    Rows are (item, user, value), or (item, value), as ``tables.sums`` reads them. Of one user they are added up as
    whole numbers of 38 digits: a cell has at most 2**62 of their steps, and 2**60 rows fit.
    """
    listed = rows if domain is None else domain.restrict(rows)
    cap = float(2**62 // _FINEST)
    steps = f"least(greatest(value, {-cap!r}), {cap!r}) * {float(_FINEST)!r}"
    placed = listed.with_columns(value=f"CAST(floor({steps}) AS DECIMAL(38, 0))")
    if "user" in placed.columns:
        placed = placed.group("item", "user", value="sum(value)").group("user", value="max(value)")
    above = " + ".join(f"CASE WHEN value > {int(clip * _FINEST)} THEN 1 ELSE 0 END" for clip in CLIPS)
    places = placed.select(f"{above} AS place").group("place", people="count(*)")
    return {int(place): int(people) for place, people in engine.rows(places)}
