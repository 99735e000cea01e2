"""Clipped sums in place of counts: what a person spent on an item, where one person can move a sum only so far.

The *worth* of an item to a person is the sum of the values in their rows of that item, clipped to [low, high]; where
every row is another person, the value of the row, clipped. The worth of an item of which a person has no row is 0,
also where [low, high] does not hold 0. The score of an item is the sum of its worths.

*Theorem.* Let B = max(abs(low), abs(high)). Adding or removing one person, with all their rows, moves each score by at
most B, and at most m scores where the person has at most m items, so all of them together by at most m B. If low >= 0
all rise when a person comes, and if high <= 0 all fall: the scores are monotonic. Otherwise they are not: one person
may raise some and lower others. Proof: docs/explanation/proofs_in_words/table_releases.md.

Every cell becomes a whole number of steps g first, g public, and only whole numbers are added: a sum of floats depends
on the order of everybody's rows. Nothing overflows, and no cell is refused: a null, not-a-number, and text that is no
number drop their row; an infinity is clipped. An item whose score is 0 is told apart nowhere from one that nobody has.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from sparsegate.budget import Number, exact_decimal, exact_epsilon
from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.counting import Counted, cut_users
from sparsegate.tables.domain import Domain
from sparsegate.tables.engines.engine import Engine, Frame

CLIP_STEP: Final = "the least and the most that one person may count for, such as clip=(0, 100)"

FINENESS: Final = 10**6
"""Steps that the larger side of a clip has at least; ten times as many at most."""

CAP: Final = 2**28
"""Steps that a cell has at most: more than 26 times the larger side of the clip."""

MOST: Final = 10**20
"""Larger than the larger side of a clip; its inverse is smaller."""


@dataclass(frozen=True, kw_only=True)
class Clip:
    """The interval that a worth is clipped to, and the step g of the lattice; all three public.

    >>> clip = Clip.of((0, 100))
    >>> clip.granularity, clip.steps, clip.sensitivity, clip.monotonic
    (Fraction(1, 10000), (0, 1000000), 1000000, True)
    >>> Clip.of((-50, 20.5), granularity=0.5).steps
    (-100, 41)
    """

    low: Fraction
    high: Fraction
    granularity: Fraction

    @classmethod
    def of(cls, clip: Any, granularity: Number | None = None) -> Clip:
        """Read and check what was given; numbers are read as the decimals they print as."""
        pair = clip if isinstance(clip, tuple | list) and len(clip) == 2 else (None, None)
        low, high = map(exact_decimal, pair)
        if low is None or high is None or low >= high:
            raise ParameterError("clip", "must be two finite numbers, low < high", clip, f"pass {CLIP_STEP}")
        most = max(abs(low), abs(high))
        if not 1 < most * MOST < MOST**2:
            raise ParameterError("clip", "must have a larger side between 1e-20 and 1e20", clip, "rescale the values")
        if granularity is not None:
            step = exact_epsilon(granularity, "granularity")
            if not most / (10 * FINENESS) <= step <= most:
                rule = f"must be between {float(most / (10 * FINENESS)):g} and {float(most):g}, for this clip"
                raise ParameterError("granularity", rule, granularity, "leave it out for about a millionth of the clip")
            return cls(low=low, high=high, granularity=step)
        power = Fraction(MOST)
        while power * FINENESS > most:
            power /= 10
        return cls(low=low, high=high, granularity=power)

    @property
    def steps(self) -> tuple[int, int]:
        """The interval on the lattice, rounded towards zero."""
        return int(self.low / self.granularity), int(self.high / self.granularity)

    @property
    def sensitivity(self) -> int:
        """The most that one person moves one score, in steps."""
        return max(map(abs, self.steps))

    @property
    def monotonic(self) -> bool:
        """Whether one person moves all scores in one direction."""
        return self.low >= 0 or self.high <= 0

    @property
    def ends(self) -> tuple[int | float, int | float]:
        return plain(self.low), plain(self.high)

    def values(self, steps: int) -> int | float:
        return plain(steps * self.granularity)

    def place(self, threshold: Fraction) -> int:
        """The steps of a public number, rounded down."""
        return threshold // self.granularity


def plain(number: Fraction) -> int | float:
    """A rational as an int where it is whole, else as the nearest float."""
    return number.numerator if number.denominator == 1 else float(number)


def as_values(rows: Frame, column: str) -> Frame:
    """The rows with their column "value" in double precision, and without those that have none.

    What is refused, is refused by the type of the column.
    """
    dtype = rows.collect_schema()["value"]
    if not dtype.numeric:
        raise TableError(f"the values in column {column!r} must be numbers, not {dtype.name}; cast the column first")
    return rows.with_columns(value="CAST(value AS DOUBLE)").where("value IS NOT NULL AND NOT isnan(value)")


def sum_items(engine: Engine, rows: Frame, domain: Domain | None, clip: Clip, most: int | None) -> Counted:
    """Sum rows (item, user, value), or (item, value), for the candidates of the domain; None: for all items.

    With ``most``, each user is first cut to that many candidates, by ``cut_users``, which looks at items alone.
    """
    step = clip.granularity
    cap = float(CAP * step)
    steps = f"{_clipped(_double(-cap), _double(cap))} * {_double(step.denominator)} / {_double(step.numerator)}"
    placed = rows.with_columns(value=f"CAST(floor({steps} + {_double(0.5)}) AS BIGINT)")
    if "user" in placed.columns:
        if most is not None:
            placed = engine.keep(placed if domain is None else domain.restrict(placed))
            placed = placed.join(cut_users(engine, placed.select("item", "user"), most), "item", "user")
        placed = placed.group("item", "user", value="sum(value)")
    low, high = clip.steps
    # The sum of one person is back in 64 bits before the next one; where an engine made it longer it fits again.
    worths = placed.select("item", f"CAST({_clipped(low, high)} AS BIGINT) AS value")
    sums = worths.group("item", score="CAST(sum(value) AS BIGINT)").where("score <> 0")
    return Counted.of(engine, sums if domain is None else domain.restrict(sums))


def _clipped(low: object, high: object) -> str:
    return f"least(greatest(value, {low}), {high})"


def _double(number: float) -> str:
    return f"CAST('{float(number)!r}' AS DOUBLE)"
