"""What a ledger is: an append-only record of the epsilon and delta spent on one dataset, and its arithmetic.

The rules, whatever the store:

- A ledger names **one** dataset. Another name is refused, never a second account: the budget belongs to the people in
  the data, and an account that any new name opens would be a budget without end.
- An entry is committed **before** anything is drawn. A crash afterwards leaves it spent; nothing is ever refunded.
- Epsilons and deltas add, as exact rationals, and neither sum ever passes its budget. Raising the budget is an entry.
- What a release gave is stored with its entry before anybody sees it, and can be read again at no cost.
- The guarantee is for an unmodified ledger: a restored backup or a deleted file forgets what was spent.

**Theorem.** Let each release on a ledger be (eps_i, delta_i)-DP for the amounts that it was charged, chosen with all
earlier results in view. Then all of them together are (epsilon, delta)-DP for the budget. *Proof* for delta = 0:
amounts and questions are functions of the transcript so far, so on a fixed transcript they are the same for both
neighbours; the likelihood ratio of the transcript is the product of those of its releases, and at most
exp(sum eps_i) <= exp(epsilon). With delta, where each sum is checked before its release, this is the basic privacy
filter of Rogers, Roth, Ullman and Vadhan (2016). Gates that are open at the same time: concurrent composition (Vadhan,
Wang 2021; Lyu 2022). A release that is read again is a function of what was released.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, localcontext
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sparsegate.budget import LONGEST_LINE, Number, exact_epsilon
from sparsegate.errors import BudgetExceeded, LedgerError, ParameterError

_DIGITS = 400
_LONGEST_BITS = 12_000  # Python turns integers of up to 4,300 digits into text, and 14,000 bits are those
_EXACT = re.compile(rf"\d{{1,{_DIGITS}}}(\.\d{{1,{_DIGITS}}}|/[1-9]\d{{0,{_DIGITS - 1}}})?", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Amount:
    """An epsilon and a delta, exact; both add."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __add__(self, other: Amount) -> Amount:
        return Amount(epsilon=self.epsilon + other.epsilon, delta=self.delta + other.delta)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(epsilon=self.epsilon - other.epsilon, delta=self.delta - other.delta)

    def within(self, other: Amount) -> bool:
        """Whether neither part is larger than the other's."""
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def __str__(self) -> str:
        delta = f", delta {exact_text(self.delta)}" if self.delta else ""
        return f"epsilon {exact_text(self.epsilon)}{delta}"


class EntryKind(StrEnum):
    """What an entry does: set the budget to an amount, spend an amount of it, or reserve one for a later release.

    What is reserved counts as spent from the start, whether it is ever used or not.
    """

    BUDGET = "budget"
    SPEND = "spend"
    RESERVE = "reserve"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of a ledger. ``what`` is public text: what was released, or why the budget changed."""

    number: int
    at: datetime
    kind: EntryKind
    amount: Amount
    what: str


@dataclass(frozen=True, kw_only=True)
class Release:
    """What an entry paid for. ``gave`` holds its parts in their order, as JSON brought them back.

    A one-shot release has one part. It has none where it was cut short before anything left, where a gate gave its
    answers to its own process alone, or where the entry was made before releases were kept.
    """

    entry: Entry
    gave: tuple[dict[str, Any], ...]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """All entries of a ledger at one moment, and what follows from them."""

    dataset: str
    entries: tuple[Entry, ...]

    @property
    def budget(self) -> Amount:
        """The amount that the newest budget entry allows in all."""
        return next(entry.amount for entry in reversed(self.entries) if entry.kind is EntryKind.BUDGET)

    @property
    def spent(self) -> Amount:
        """The sum of everything spent or reserved."""
        spends = (entry.amount for entry in self.entries if entry.kind is not EntryKind.BUDGET)
        return sum(spends, start=Amount(epsilon=Fraction(0)))

    @property
    def remaining(self) -> Amount:
        """What may still be spent."""
        return self.budget - self.spent

    def admit(self, amount: Amount) -> None:
        """Raise ``BudgetExceeded`` if spending this would pass the budget."""
        if not (self.spent + amount).within(self.budget):
            raise BudgetExceeded(
                f"{amount} is more than the ledger of {self.dataset!r} has left: of a budget of {self.budget}, "
                f"{self.spent} is spent and {self.remaining} remains; nothing was spent; ask for less, or raise the "
                "budget on record with `sparsegate ledger raise`"
            )

    def check_budget(self, epsilon: Number | None, delta: Number | None) -> None:
        """Raise ``ParameterError`` where somebody who opens the ledger thinks that it has another budget."""
        if epsilon is None:
            if delta is not None:
                raise ParameterError("budget_delta", "needs a budget beside it", delta, "give both, or leave both out")
            return
        held = self.budget
        given = exact_amount(
            epsilon, held.delta if delta is None else delta, epsilon_name="budget", delta_name="budget_delta"
        )
        if given != held:
            raise ParameterError(
                "budget",
                f"must be that of the ledger, {held}, or be left out",
                str(given),
                "change it on record with `sparsegate ledger raise`",
            )

    def admit_raise(self, amount: Amount) -> None:
        """Raise ``ParameterError`` unless this budget is larger than the present one, and nowhere smaller."""
        if amount == self.budget or not self.budget.within(amount):
            raise ParameterError(
                "budget",
                f"must be larger than the present one, {self.budget}, in epsilon or delta and smaller in neither",
                str(amount),
                "a budget is raised, never lowered",
            )


def exact_amount(epsilon: Number, delta: Number, *, epsilon_name: str = "epsilon", delta_name: str = "delta") -> Amount:
    """Read an epsilon > 0 and a delta in [0, 1) as exact rationals; floats stand for the decimals they print as.

    >>> str(exact_amount(0.1, 1e-6))
    'epsilon 0.1, delta 0.000001'
    """
    exact = Amount(epsilon=exact_epsilon(epsilon, epsilon_name), delta=exact_epsilon(delta, delta_name, zero=True))
    if exact.delta >= 1:
        raise ParameterError(delta_name, "must be at least 0 and less than 1", delta, "pass for instance 1e-6")
    for name, value in ((epsilon_name, exact.epsilon), (delta_name, exact.delta)):
        if not _EXACT.fullmatch(exact_text(value)):
            raise ParameterError(
                name, f"must have at most {_DIGITS} digits to be recorded exactly", next_step="round it up"
            )
    return exact


def exact_text(value: Fraction) -> str:
    """The exact value as text: a decimal where one ends, else p/q; a sum that no text can hold, to 15 digits.

    >>> exact_text(Fraction(1, 8)), exact_text(Fraction(1, 3)), exact_text(Fraction(20))
    ('0.125', '1/3', '20')
    """
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _LONGEST_BITS:
        with localcontext() as context:  # no amount, but a sum of amounts of hundreds of digits may be as long as this
            context.prec = 15
            return f"about {Decimal(value.numerator) / Decimal(value.denominator)}"
    rest, digits = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        digits = max(digits, power)
    if rest != 1:
        return str(value)
    with localcontext() as context:
        context.prec = digits + len(str(value.numerator)) + 1
        return f"{Decimal(value.numerator) / Decimal(value.denominator):f}"


@lru_cache(maxsize=4096)  # a ledger of many entries holds few different amounts
def exact_value(text: object) -> Fraction:
    """Read ``exact_text`` back; anything else in its place means that the ledger is damaged."""
    if not isinstance(text, str) or not _EXACT.fullmatch(text):
        raise LedgerError("the ledger is damaged: it holds an amount that is no number; restore or examine it by hand")
    return Fraction(text)


def public_line(text: str, parameter: str) -> str:
    """Check a text for the record: one printable line of 1 to 500 characters."""
    if not (isinstance(text, str) and 0 < len(text) <= LONGEST_LINE and text.isprintable()):
        raise ParameterError(
            parameter, f"must be one printable line of 1 to {LONGEST_LINE} characters", text, "shorten it"
        )
    return text
