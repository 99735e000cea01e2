"""Filling up to sizes that were drawn, so that what one person has takes the place of filling instead of adding work.

**Sizes.** What a count takes, and so D and what is refused as too dear, follows from the *shown sizes*: the rows, and
the different values of each column; in PostgreSQL the rows, and the characters of each text column, in cells of the
public length. One person of up to ``FillTerms.person_rows`` rows adds at most that many, s, to each of them. A shown
size is the size and a draw Z from ``FillLaw``, and never less than the size. It is drawn once for each dataset, after
its charge (``service.shown_sizes``). Sizes that an owner gives (--capacity) take its place, and cost nothing.

**Theorem.** Let Z be in 0..2h with P[Z = z] = C exp(-|z - h| / b), b = s / eps. Then n + Z is (eps, delta)-DP for
sizes n that one person moves by at most s, with delta = C (q^(h-s+1) - q^(h+1)) / (1 - q), q = exp(-1/b): the mass of
the s least values. *Proof.* Let the sizes be n and n + t, 0 <= t <= s. A shown size from n + t to n + 2h can come from
both: its probabilities have the ratio exp((|x - h| - |x - t - h|) / b), at most exp(t / b) <= exp(eps), either way.
What else can be shown comes from one of them alone: n..n + t - 1 from the first, and n + 2h + 1..n + 2h + t from the
second. These are the t least and the t greatest values of Z, of the same mass, which grows with t. [] (Where the sizes
are s apart no delta does with less: no event there has a ratio at all.)

With C = (1 - q) / (1 + q - 2 q^(h+1)), delta = q^(h+1) (e^eps - 1) / (1 + q - 2 q^(h+1)), so it is kept just where

    h + 1 >= b log((e^eps - 1 + 2 delta) / (delta (1 + q))).

**All sizes at once.** One person moves all of them, each by at most s, and the draws are independent: epsilons and
deltas add, and ``FillTerms.epsilon`` and ``delta`` are the sums. So that a wide table does not take a draw for each
column, columns share them, as the schema and the order of the columns say: those of text and the others each fall into
at most ``GROUPS`` groups, and what is shown of a column is the largest size of its group (which one person moves by at
most s) and the group's draw. A group of text columns has ``TEXT`` shares of epsilon and delta, another one, because a
count takes longest over text. A person of j times as many rows has a loss of at most j epsilon, and as a delta the mass
of as many values; nobody's rows are cut off.

**Steps.** A shown size is then rounded up to one of eight steps to a doubling, so that columns can share a table. What
is rounded is what was drawn: nobody stands at the edge of such a step.

**Characters, and not only cells.** What the engine does with a text takes a time for each cell, and for each character
one that depends on its bytes: ``lower`` takes ten times as long for é as for e. Were a column filled up with nulls, one
person with fifty long notes would make a question slower; with long cells, one with fifty short notes would make it
faster. So in a copy as many characters of each width are added as a uniform draw says, up to those of ``CELLS`` cells,
in cells as long as may be, anew at each start. They show in no shown size, in no D and in no refusal, and so are not
charged: to hide 8 cells of 1,000 characters at an epsilon of 0.01 would take 16 million characters of each width, in
each column. They are for whoever has a stopwatch and no D: x characters of one person are told by an advantage of at
most x / (CELLS max_cell), because with all but that probability the sum could have come from both (the sums are uniform
on ranges that are shifted by x).

Filling is in the tables that the engine works through, and nowhere else: no code points to a filled value, and no end
of a person to a filled row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby, pairwise
from typing import Final, NamedTuple

from sparsegate.errors import ParameterError
from sparsegate.noise import Source, discrete_laplace, uniform_below

LEAST: Final = 4_096
STEPS: Final = 8
CELLS: Final = 256
"""A public number: so many cells, as long as they may be, are added at most for the characters of one width."""
WIDTHS: Final = ("a", "é", "ก", "😀")
"""A character of one byte, of two, of three, of four."""
FILLING_CELLS: Final = CELLS * len(WIDTHS)
"""How many cells fill the characters of a text column up, at most."""
ROWS: Final = "rows"
"""The name of the size that is the number of rows."""
TEXT: Final = 8
"""The shares that the sizes of text columns have of epsilon and delta."""
GROUPS: Final = 3
"""How many draws there are at most for the sizes of text columns, and for those of all others."""
MOST_ROWS: Final = 10**6
_FROM: Final = (0x80, 0x800, 0x10000, 0x110000)


class Size(NamedTuple):
    """What was counted, which is private, and the shares that a draw for it has of epsilon and delta."""

    counted: int
    shares: int = 1


@dataclass(frozen=True, kw_only=True)
class FillLaw:
    """The law of a draw: the discrete Laplace law of this ``scale`` around ``half``, from 0 to twice that."""

    scale: Fraction
    half: int

    @classmethod
    def of(cls, *, person: int, epsilon: Fraction, delta: Fraction) -> FillLaw:
        """The narrowest that is (epsilon, delta)-DP for sizes that one person moves by at most ``person``.

        >>> FillLaw.of(person=8, epsilon=Fraction(1, 50), delta=Fraction(1, 10**9))
        FillLaw(scale=Fraction(400, 1), half=6452)
        """
        scale = person / epsilon
        odds = (math.expm1(epsilon) + 2 * float(delta)) / float(delta) / (1 + math.exp(-1 / scale))
        # One more than is needed: floats are nowhere near as far off.
        return cls(scale=scale, half=math.ceil(float(scale) * math.log(odds)))

    def draw(self, source: Source) -> int:
        """How much is added: what lies outside is drawn again, which leaves the law within as it is."""
        while abs(drawn := discrete_laplace(source, self.scale)) > self.half:
            pass
        return self.half + drawn


@dataclass(frozen=True, kw_only=True)
class FillTerms:
    """What the shown sizes of a dataset cost together, and for whom: public numbers."""

    epsilon: Fraction = Fraction(1, 20)
    delta: Fraction = Fraction(1, 10**9)
    person_rows: int = 8

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 10:
            raise ParameterError("size_epsilon", "must be above 0 and at most 10", float(self.epsilon))
        if not Fraction(1, 10**30) <= self.delta < 1:
            rule = "must be from 1e-30 to below 1: a size that is never shown too small has a delta"
            raise ParameterError("size_delta", rule, float(self.delta), "for none, give public sizes with --capacity")
        if not 1 <= self.person_rows <= MOST_ROWS:
            raise ParameterError("person_rows", f"must be from 1 to {MOST_ROWS:,}", self.person_rows)

    def of_unit(self, unit: str) -> FillTerms:
        """Where every row is another person, nobody has more than one."""
        return replace(self, person_rows=1) if unit == "row" else self

    def laws(self, shares: Mapping[str, int]) -> dict[tuple[str, ...], FillLaw]:
        """The law of each group of sizes; their epsilons and deltas come to no more than those of all.

        >>> FillTerms().laws({"rows": 1, "values of a": 8, "values of b": 1, "values of c": 8}).keys()
        dict_keys([('rows',), ('values of a',), ('values of c',), ('values of b',)])
        """
        rows, *columns = sorted(shares, key=lambda name: (name != ROWS, -shares[name]))
        groups: list[tuple[str, ...]] = [(rows,)]
        for _, alike in groupby(columns, shares.__getitem__):
            names = tuple(alike)
            some = -(-len(names) // GROUPS)
            groups += (names[start : start + some] for start in range(0, len(names), some))
        whole = sum(shares[group[0]] for group in groups)
        return {
            group: FillLaw.of(
                person=self.person_rows,
                epsilon=self.epsilon * shares[group[0]] / whole,
                delta=self.delta * shares[group[0]] / whole,
            )
            for group in groups
        }

    def drawn(self, sizes: Mapping[str, Size], source: Source) -> dict[str, int]:
        """The shown sizes, drawn here and now: only after the charge, and only once for each dataset."""
        laws = self.laws({name: size.shares for name, size in sizes.items()})
        shown = {group: max(sizes[name].counted for name in group) + law.draw(source) for group, law in laws.items()}
        return {name: size for group, size in shown.items() for name in group}


def checked(shown: Mapping[str, int], sizes: Mapping[str, Size]) -> Mapping[str, int]:
    """The shown sizes, where there is one for each size, and none is too small. No error has a number that was counted.

    >>> checked({"rows": 9}, {"rows": Size(8)})
    {'rows': 9}
    """
    for name, size in sizes.items():
        if shown.get(name, -1) < size.counted:
            rule = f"must be at least the {name} that there are"
            raise ParameterError("capacity", rule, shown.get(name), "give more, with room to grow")
    return shown


def public_size(shown: int) -> int:
    """A shown size rounded up to a step.

    >>> public_size(1), public_size(4_097), public_size(1_000_000)
    (4096, 4608, 1048576)
    """
    step = max(LEAST, 1 << shown.bit_length() - 1 if shown else 1) // STEPS
    return max(LEAST, -(-shown // step) * step)


def width_counts(cell: str) -> list[str]:
    """As SQL: how many characters of each width a text has."""
    several = [
        rf"length(regexp_replace({cell}, '[^\x{{{low:X}}}-\x{{{high - 1:X}}}]', '', 'g'))"
        for low, high in pairwise(_FROM)
    ]
    plain = f"strlen({cell}) = length({cell})"
    one = " - ".join([f"length({cell})", *several])
    return [
        f"CASE WHEN {plain} THEN length({cell}) ELSE {one} END",
        *(f"CASE WHEN {plain} THEN 0 ELSE {each} END" for each in several),
    ]


def drawn_characters(counted: Sequence[int], max_cell: int, source: Source) -> list[int]:
    """How many characters of each width a text column has when it is filled up."""
    return [count + uniform_below(source, CELLS * max_cell + 1) for count in counted]


def filling_cells(added: Sequence[int], max_cell: int) -> list[tuple[str, int]]:
    """The cells that have these characters of each width, each as a character and how many of it.

    >>> filling_cells([0, 2_000, 1, 0], 1_000)
    [('é', 1000), ('é', 1000), ('ก', 1)]
    """
    return [
        (character, min(max_cell, count - done))
        for character, count in zip(WIDTHS, added, strict=True)
        for done in range(0, count, max_cell)
    ]
