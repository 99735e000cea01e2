"""From rows to counts, from counts to groups, and from picked groups back to names.

The score of an item is the number of different users who have it, or of its rows where every row is another person.
Adding or removing one user moves each score by at most one, and all of them in one direction, however many items the
user has: sensitivity 1, monotonic.

Only a histogram (score, how many items have it) leaves the engine before the draw. Items of one score are exchangeable,
so a mechanism picks a group and a uniform rank in it; the rank becomes a name by counting through the group's labels in
their order. The order of labels is a function of the labels alone: equal seeds name equal items in every engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

from sparsegate.errors import TableError
from sparsegate.gates.gaussian import PARTS
from sparsegate.noise import Source, discrete_laplace, exact_scale
from sparsegate.tables.domain import CHANGED, Domain
from sparsegate.tables.engines.engine import Engine, Frame

SEED_SHIFT: Final = 28
"""Of the 60 bits of a hash 32 go into a seed: two thousand million of them can be summed in every engine."""

Pick: TypeAlias = tuple[int, int]
"""The score of a group and the rank of a member in it."""

Named: TypeAlias = tuple[Any, int]
"""The label of a member, and its private number of people, or sum."""

_NO_HEAVIER: Final = f"weight - CASE WHEN weight * weight * size > {4**PARTS} THEN 1 ELSE 0 END"


@dataclass(frozen=True, kw_only=True, repr=False)
class Counted:
    """What a table says about items: ``counts`` are rows (item, score), no score 0, kept in the engine.

    Where scores are weights, they are rows (item, score, people).

    ``histogram`` holds how many items have each score, by rising score. Both are private.
    """

    counts: Frame
    histogram: Mapping[int, int]

    @classmethod
    def of(cls, engine: Engine, counts: Frame) -> Counted:
        """Compute the counts, once, and their histogram."""
        kept = engine.keep(counts)
        sizes = engine.rows(kept.group("score", items="count(*)"))
        return cls(counts=kept, histogram={int(score): int(items) for score, items in sorted(sizes)})

    @property
    def number(self) -> str:
        """The column with the number of people, or the sum, of an item."""
        return "people" if "people" in self.counts.columns else "score"

    @property
    def total(self) -> int:
        return sum(self.histogram.values())


def count_items(engine: Engine, rows: Frame, domain: Domain | None, most: int | None) -> Counted:
    """Count rows (item, user), or (item), for the candidates of the domain; None: for all items.

    With ``most``, each user is first cut to that many candidates.
    """
    if most is not None:
        rows = cut_users(engine, rows if domain is None else domain.restrict(rows), most)
    counts = rows.group("item", score=number_of_people(rows))
    if domain is not None and most is None:
        counts = domain.restrict(counts)  # two million items are joined sooner than twenty million rows
    return Counted.of(engine, counts)


def weigh_items(engine: Engine, rows: Frame, most: int) -> Counted:
    """Weigh rows (item, user) for all items: see ``tables.weighted``.

    The weight of a person with w labels comes of a quotient in floats, rounded down; it is one less where its square
    times w is above 4**24 in whole numbers. So it is at most 2**24 / sqrt(w), whatever the floats did.
    """
    nearest = f"CAST(floor({2**PARTS} / sqrt(size)) AS BIGINT)"
    pairs = sized_pairs(engine, rows, most).with_columns(weight=nearest).with_columns(weight=_NO_HEAVIER)
    counts = pairs.group("item", score="CAST(sum(weight) AS BIGINT)", people="count(*)")
    return Counted.of(engine, counts)


def number_of_people(rows: Frame) -> str:
    """How many different users rows (item, user) without nulls have, exactly; of rows (item) how many there are."""
    return 'count(DISTINCT "user")' if "user" in rows.columns else "count(*)"


def cut_users(engine: Engine, rows: Frame, most: int, told_by: Frame | None = None) -> Frame:
    """Keep at most ``most`` different items of each user, as rows (item, user), each of them once.

    A user with more has a *seed*, the sum of a hash of each of their items, and keeps the items whose hash, taken
    together with the seed, comes first. Users with different items have different seeds, so that no item is lost for
    all of them alike: a count of cut baskets is about as large a part of the whole count for one item as for another.
    Where few sets of items are possible, ``told_by`` has rows (user, ...) whose hashes make the seed instead.

    *Theorem.* What is kept of a user depends on that user's rows alone, so a person who comes or goes changes at most
    ``most`` scores, each by one, all in one direction. Proof: docs/explanation/proofs_in_words/table_releases.md.
    """
    return sized_pairs(engine, rows, most, told_by).select("item", "user")


def sized_pairs(engine: Engine, rows: Frame, most: int, told_by: Frame | None = None) -> Frame:
    """What ``cut_users`` keeps, as rows (item, user, size): beside each how many items of this user are kept."""
    pairs = engine.keep(rows.group("user", "item"))
    sized = pairs.join(pairs.group("user", size="count(*)"), "user")
    small = sized.where(f"size <= {most}").select("item", "user", "size")
    large = engine.keep(sized.where(f"size > {most}").select("user", "item"))
    own = large if told_by is None else told_by.join(large.group("user"), "user", how="semi")
    known = [name for name in own.columns if name != "user"]
    hashed = own.group(*known).select("*", f"{engine.digest(*known)} >> {SEED_SHIFT} AS part")
    seeds = own.join(hashed, *known).group("user", seed="sum(part)")
    mixed = large.join(seeds, "user").select("*", f"{engine.digest('seed', 'item')} AS digest")
    place = 'row_number() OVER (PARTITION BY "user" ORDER BY digest, item) AS place'
    kept = mixed.select("*", place).where(f"place <= {most}")
    return small.union(kept.select("item", "user", f"CAST({most} AS BIGINT) AS size"))


def name_picks(engine: Engine, counted: Counted, domain: Domain | None, picks: Sequence[Pick]) -> list[Named]:
    """The labels of the picked members and their numbers, in the order of the picks."""
    names: dict[Pick, Named] = {}
    if absent := [rank for score, rank in picks if score == 0]:
        assert domain is not None
        labels = domain.absent(engine, counted.counts, absent)
        names = {(0, rank): (label, 0) for rank, label in zip(absent, labels, strict=True)}
    present = [pick for pick in picks if pick[0] != 0]
    names |= _alone(engine, counted, [score for score, _ in present if counted.histogram[score] == 1])
    names |= _among(engine, counted, [pick for pick in present if counted.histogram[pick[0]] > 1])
    if len(names) != len(picks):
        raise TableError(CHANGED)
    return [names[pick] for pick in picks]


def _alone(engine: Engine, counted: Counted, scores: Sequence[int]) -> dict[Pick, Named]:
    """The items that have their score to themselves, as the leaders do: nothing needs to be put in order."""
    if not scores:
        return {}
    chosen = engine.among(counted.counts, "score", sorted(scores))
    rows = engine.rows(chosen.select("score", "item", f"{counted.number} AS number"))
    if len(rows) != len(scores):
        raise TableError(CHANGED)
    return {(int(score), 0): (label, int(number)) for score, label, number in rows}


def _among(engine: Engine, counted: Counted, picks: Sequence[Pick]) -> dict[Pick, Named]:
    """The items that share their score with others, by counting through the labels of each group."""
    scores = sorted({score for score, _ in picks})
    if not scores:
        return {}
    starts, before = {}, 0
    for score in scores:
        starts[score] = before
        before += counted.histogram[score]
    places = {starts[score] + rank: (score, rank) for score, rank in picks}
    chosen = engine.numbered(engine.among(counted.counts, "score", scores), "score", "item")
    picked = engine.among(chosen, "index", sorted(places))
    rows = engine.rows(picked.select("index", "score", "item", f"{counted.number} AS number"))
    return {places[place]: (label, int(number)) for place, score, label, number in rows if places[place][0] == score}


def answer_scale(
    *, count: int | None, max_items_per_user: int | None, epsilon: Fraction, sensitivity: int = 1
) -> Fraction:
    """The scale L / eps3 of the noise of each count; a bound that is not there is None, and one of them is.

    >>> answer_scale(count=50, max_items_per_user=None, epsilon=Fraction(1, 2))
    Fraction(100, 1)
    >>> answer_scale(count=50, max_items_per_user=1, epsilon=Fraction(1, 2))
    Fraction(2, 1)
    """
    moved = min(bound for bound in (count, max_items_per_user) if bound is not None)
    return exact_scale(moved * sensitivity / epsilon)


def noisy_counts(source: Source, scores: Sequence[int], scale: Fraction) -> tuple[int, ...]:
    """The scores with fresh noise."""
    noise = discrete_laplace(source, scale, len(scores)).tolist()
    return tuple(score + extra for score, extra in zip(scores, noise, strict=True))
