"""The sizes that a service shows of its data: paid for, then drawn, then kept, once for each dataset.

The charge comes before the draw, and what was drawn is stored with its entry before anything is filled up to it
(``copying``). Whoever opens the same data on the same ledger again finds it there, at no cost. Of two servers that
start at once the store decides: one entry, and the first to keep its draw. What a count takes, and so D, follows from
the *shown sizes*: of the rows, and of the different values of each column. One person of up to s rows adds at most s to
each. Columns share draws, by at most ``GROUPS`` groups of text and of others, and a group of text has ``TEXT`` shares.
Sizes that an owner gives (--capacity) cost nothing. What was drawn is rounded up to eight steps to a doubling.

**Theorem.** Let Z be in 0..2h with P[Z = z] = C exp(-|z - h| / b), b = s / eps. Then n + Z is (eps, delta)-DP for sizes
n that one person moves by at most s, just where h + 1 >= b log((e^eps - 1 + 2 delta) / (delta (1 + exp(-1/b)))), and
epsilons and deltas of the draws add. Proof: docs/explanation/proofs_in_words/ledger.md
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from sparsegate.budget import Number
from sparsegate.errors import BudgetExceeded, LedgerError, ParameterError
from sparsegate.ledger.account import Amount, BudgetLike, exact_amount, exact_budget, exact_text
from sparsegate.ledger.ledger import USED, Ledger, add_part, last_part, read_statement
from sparsegate.noise import Secure, Source, discrete_laplace

if TYPE_CHECKING:
    from sparsegate.service.data.dataset import ServedTable

LEAST: Final = 4_096
STEPS: Final = 8
ROWS: Final = "rows"
TEXT: Final = 8  # shares that the sizes of text columns have of epsilon and delta
GROUPS: Final = 3  # draws at most for the sizes of text columns, and for those of all others
MOST_ROWS: Final = 10**6


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


def public_size(shown: int) -> int:
    """A shown size rounded up to a step.

    >>> public_size(1), public_size(4_097), public_size(1_000_000)
    (4096, 4608, 1048576)
    """
    step = max(LEAST, 1 << shown.bit_length() - 1 if shown else 1) // STEPS
    return max(LEAST, -(-shown // step) * step)


def values_of(column: str) -> str:
    """The name of the size of a column."""
    return f"values of {column}"


WHAT: Final = "sizes"


def shown_sizes(
    ledger: Ledger,
    data: ServedTable,
    terms: FillTerms,
    *,
    public: Mapping[str, int] | None = None,
    source: Source | None = None,
) -> dict[str, int]:
    """The sizes that are shown of the data: those that were drawn for it before, or new ones, charged and kept.

    Those that are ``public`` are not drawn; where all are, nothing is charged.
    """
    known = dict(public or {})
    sizes = {name: size for name, size in data.sizes.items() if name not in known}
    if not sizes:
        return known
    terms = terms.of_unit(data.unit)
    entry = _charged(ledger, data, terms, sizes)
    if kept := _kept(ledger, entry):
        return known | kept
    shown = terms.drawn(sizes, source or Secure())
    try:
        ledger.keep(entry, {"release": WHAT, "sizes": shown}, after=0)
    except LedgerError:
        if not (shown := _kept(ledger, entry)):
            raise
    return known | shown


def public_sizes(text: str, names: Sequence[str]) -> dict[str, int]:
    """Sizes that an owner gives: a number for all, or numbers for columns, or both.

    >>> public_sizes("9000, ward=50", ["rows", "values of ward", "values of note"])
    {'rows': 9000, 'values of ward': 50, 'values of note': 9000}
    >>> public_sizes("ward=50", ["rows", "values of ward", "values of note"])
    {'values of ward': 50}
    """
    numbers = {name.strip(): _whole(size) for name, _, size in (each.rpartition("=") for each in text.split(","))}
    everything = numbers.pop("", None)
    columns = {name: name.partition(" of ")[2] for name in names}
    if unknown := sorted(set(numbers) - set(columns.values())):
        rule = "must name columns that are copied and may be asked about"
        raise ParameterError("capacity", rule, ", ".join(unknown), "for instance 100000,country=300")
    sizes = {name: numbers.get(column, everything) for name, column in columns.items()}
    return {name: size for name, size in sizes.items() if size is not None}


def check_new_budget(
    data: ServedTable, terms: FillTerms, public: Mapping[str, int], *, budget: BudgetLike, delta: Number
) -> None:
    """Refuse a budget that the sizes alone would pass, before a ledger is made for it."""
    (allowed, at), cost = exact_budget(budget, delta), _cost(terms)
    enough, needed = (cost.within, str(cost)) if at is None else (cost.within_rho, cost.in_rho)
    if data.sizes.keys() - public.keys() and not enough(allowed):
        rule = f"must be enough for the sizes of the data, {needed}"
        raise ParameterError("budget", rule, str(allowed), "give more, or public sizes with --capacity")


def _cost(terms: FillTerms) -> Amount:
    return exact_amount(terms.epsilon, terms.delta)


def _charged(ledger: Ledger, data: ServedTable, terms: FillTerms, sizes: Mapping[str, Size]) -> int:
    """The number of the entry that paid for the sizes of this data: an earlier one, or a new one."""
    public = [exact_text(terms.epsilon), exact_text(terms.delta), terms.person_rows]
    shares = [(name, size.shares) for name, size in sizes.items()]
    digest = hashlib.blake2b(json.dumps([data.fingerprint, shares, public]).encode(), digest_size=32)
    # Part 0 is no part of what was released: a digest of the data is the owner's.
    mark = {"what": WHAT, "data": digest.hexdigest()}
    whose = "single rows" if data.unit == "row" else f"people of up to {terms.person_rows} rows"
    try:
        with ledger.database.writing() as connection:
            same = "SELECT entry FROM releases WHERE part = :part AND gave = :mark ORDER BY entry"
            before = read_statement(ledger.database, connection, ledger.dataset)
            for (number,) in connection.rows(same, part=USED, mark=json.dumps(mark)):
                # After a restore nobody knows whether a draw that is not here was shown.
                if last_part(connection, number) or number >= before.balance.restored:
                    return int(number)
            entry = ledger.charge(connection, _cost(terms), f"{WHAT}, for {whose}")
            add_part(connection, entry.number, mark, part=USED)
            return entry.number
    except BudgetExceeded as refused:
        step = "or give public sizes, which cost nothing, with --capacity"
        raise BudgetExceeded(f"the sizes of the data are not paid for: {refused}, {step}") from None


def _kept(ledger: Ledger, entry: int) -> dict[str, int]:
    sizes: Mapping[str, int] = next(iter(ledger.release(entry).gave), {}).get("sizes", {})
    return {name: int(size) for name, size in sizes.items()}


def _whole(text: str) -> int:
    size = int(text) if text.strip().isdecimal() else 0
    if size < 1:
        rule = "must be a number of rows, and perhaps others for columns"
        raise ParameterError("capacity", rule, text, "for instance 100000,country=300")
    return size
