"""What a ledger is: an append-only record of the epsilon and delta spent on one dataset, and its arithmetic.

The rules, whatever the store:

- A ledger names **one** dataset. Another name is refused, never a second account: the budget belongs to the people in
  the data, and an account that any new name opens would be a budget without end.
- An entry is committed **before** anything is drawn. A crash afterwards leaves it spent.
- A gate of pure epsilon may give back, **once**, what its answers did not cost, when it will never answer again: an
  entry that names the one that paid for it, and is no larger. Nothing else ever goes back.
- Epsilons and deltas add, as exact rationals, and neither sum ever passes its budget. Raising the budget is an entry.
- What a release gave is stored with its entry before anybody sees it, and can be read again at no cost.
- The guarantee is for an unmodified ledger: a deleted file forgets what was spent, and so does a backup that is put in
  its place by other means than ``backup.restore``, which charges for it.

**Theorem.** Let each release on a ledger be (eps_i, delta_i)-DP for the amounts that it was charged, chosen with all
earlier results in view; and let a gate with delta_i = 0 that has said a, and is closed, have given back at most
eps_i - L(a), where exp(L(a)) bounds the likelihood ratio of those answers to those questions, for all neighbours
(``gates.bounds``). Then all of them together are (epsilon, delta)-DP for the budget.

*Proof.* Fix neighbours and a whole transcript: every question, answer, opening, closing and amount, in the order in
which they happened, however gates were interleaved. Who asks, opens or closes what, and what goes back, is decided from
the transcript before it and from coins that know no data, so those steps have the same probability on both sides. The
noise of one gate is independent of that of all others, so the probability of the transcript is the product, over
releases and gates, of the probability of what each said to the questions that it was asked, which the transcript
fixes. (1) All pure: the logarithm of the ratio is at most the sum of eps_i over releases, and of L(a_i) over gates.
That is at most what the ledger counts at that moment: a gate counts with eps_i >= L(a_i) while it may answer, and with
eps_i less what went back, >= L(a_i), once it is closed. Only a charge makes that sum grow, and none is admitted that
would take it beyond epsilon. (2) With delta: a release is (eps_i, delta_i)-DP exactly if its law P_i exceeds
min(P_i, exp(eps_i) Q_i) by a mass of at most delta_i. Put these minima in place of the laws: the product is then at
most exp(epsilon) times that of the neighbour, by (1), and what was left out has a mass of at most the expected sum of
the delta_i that were charged, at most delta. A gate with delta_i > 0 is, against everybody who asks it, a function of
one (eps_i, delta_i) release made when it was opened (Lyu 2022, for all interactive mechanisms), and counts as that. []

Part (1), and that what is spent stays within the budget, is Machine-checked: proofs/README.md.

So this is a privacy filter (Rogers, Roth, Ullman and Vadhan 2016) in which pure losses are counted per transcript. What
the proof needs, and who sees to it:

- *The whole eps_i stays reserved while the gate may answer.* One that was given back and then answered would be counted
  short; so the gate is closed first, for good, and a gate is dead in every process but its own (``gates.gate``).
- *The amount is a function of the transcript.* It is: L(m, k) of the answers given. An answer whose fate is unknown is
  no part of the transcript: its probability is the sum over both outcomes, so its ratio is at most that of the worse
  one, and it is counted so (``service.gates``). In one process an answer that was drawn counts as what it was.
- *delta_i = 0.* An (eps, delta) guarantee is of the whole mechanism; it has no loss for each transcript, and nothing
  goes back. *The noise is secret.* A run with a seed, or of a flawed row, has no such L: nothing goes back either.
- *At most once for each entry.* The store holds it: ``of`` is a key of the table ``refunds``. A process that dies gives
  back nothing, and a charge whose gate is gone stays spent. A reserved charge that has given back serves no release.

A release that is read again is a function of what was released.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sparsegate.budget import Number, exact_epsilon
from sparsegate.display.plain import exact_text as exact_text
from sparsegate.display.plain import plain
from sparsegate.display.published import SCHEMA, PrintedTop
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Printed
from sparsegate.errors import BudgetExceeded, LedgerError, ParameterError

_DIGITS = 400
_EXACT = re.compile(rf"\d{{1,{_DIGITS}}}(\.\d{{1,{_DIGITS}}}|/[1-9]\d{{0,{_DIGITS - 1}}})?", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Amount:
    """An ``epsilon`` and a ``delta``, exact; both add."""

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
    """What an entry does: set the budget, spend of it, reserve for a later release, or give back what a gate left.

    What is reserved counts as spent from the start, whether it is ever used or not. ``restore`` charges what a backup
    had forgotten (``backup``): entries before it give nothing back any more.
    """

    BUDGET = "budget"
    SPEND = "spend"
    RESERVE = "reserve"
    REFUND = "refund"
    RESTORE = "restore"

    @property
    def spends(self) -> bool:
        """Whether something was paid for."""
        return self in (EntryKind.SPEND, EntryKind.RESERVE)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of a ledger: its ``number``, from 1, ``at`` which time it was written, its ``kind`` and its ``amount``.

    ``what`` is public text: what was released, or why the budget changed.
    ``of`` is, for a refund, the number of the entry that gave it back.
    """

    number: int
    at: datetime
    kind: EntryKind
    amount: Amount
    what: str
    of: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON takes it."""
        head = {"number": self.number, "at": self.at.isoformat(), "kind": self.kind.value}
        return {**head, **plain(self.amount), "what": self.what, "of": self.of}


@dataclass(frozen=True, kw_only=True, repr=False)
class Release(Printed):
    """What an ``entry`` paid for. ``gave`` holds its parts in their order, as JSON brought them back.

    A one-shot release has one part. It has none where it was cut short before anything left, where a gate gave its
    answers to its own process alone, or where the entry was made before releases were kept.
    """

    entry: Entry
    gave: tuple[dict[str, Any], ...]

    def sheet(self) -> Sheet:
        """The top items as they were published; of another release a row for each part, as JSON."""
        if len(self.gave) == 1 and self.gave[0].get("schema") == SCHEMA:
            return PrintedTop(kept=self.gave[0], recorded=f"entry {self.entry.number}").sheet()
        parts = {"part": range(1, len(self.gave) + 1), "gave": [json.dumps(part) for part in self.gave]}
        title = f"entry {self.entry.number}, {self.entry.amount}: {self.entry.what}"
        return Sheet(title=title, columns=parts, numbers=frozenset({"part"}))


@dataclass(frozen=True, kw_only=True, repr=False)
class Statement(Printed):
    """All ``entries`` of the ledger of a ``dataset`` at one moment, and what follows from them."""

    dataset: str
    entries: tuple[Entry, ...]

    def sheet(self) -> Sheet:
        """A row for each entry."""
        delta = any(entry.amount.delta for entry in self.entries)
        columns: dict[str, list[Any]] = {
            "entry": [entry.number for entry in self.entries],
            "at": [entry.at.isoformat(sep=" ", timespec="seconds") for entry in self.entries],
            "kind": [entry.kind.value for entry in self.entries],
            "epsilon": [exact_text(entry.amount.epsilon) for entry in self.entries],
            **({"delta": [exact_text(entry.amount.delta) for entry in self.entries]} if delta else {}),
            "what": [entry.what for entry in self.entries],
        }
        title = f"{self.dataset}: {self.spent} spent of {self.budget}"
        return Sheet(title=title, columns=columns, numbers=frozenset({"entry", "epsilon", "delta"} & columns.keys()))

    def to_dict(self) -> dict[str, Any]:
        """The statement as JSON takes it, amounts as exact decimals in text."""
        sums = {name: plain(getattr(self, name)) for name in ("budget", "spent", "given_back", "remaining")}
        return {"dataset": self.dataset, **sums, "entries": [entry.to_dict() for entry in self.entries]}

    @property
    def budget(self) -> Amount:
        """The amount that the newest budget entry allows in all."""
        return next(entry.amount for entry in reversed(self.entries) if entry.kind is EntryKind.BUDGET)

    @property
    def spent(self) -> Amount:
        """The sum of everything spent or reserved, less what was given back."""
        return self._sum(EntryKind.SPEND, EntryKind.RESERVE, EntryKind.RESTORE) - self.given_back

    @property
    def given_back(self) -> Amount:
        """The sum of what closed gates did not use."""
        return self._sum(EntryKind.REFUND)

    def refund_of(self, number: int) -> Entry | None:
        """The entry in which that of this number gave back."""
        return next((entry for entry in self.entries if entry.of == number), None)

    def restored_after(self, number: int) -> bool:
        """Whether the entry of that number is of before the ledger was restored from a backup."""
        return any(entry.kind is EntryKind.RESTORE for entry in self.entries[number:])

    def _sum(self, *kinds: EntryKind) -> Amount:
        return sum((entry.amount for entry in self.entries if entry.kind in kinds), start=Amount(epsilon=Fraction(0)))

    @property
    def remaining(self) -> Amount:
        """What may still be spent."""
        return self.budget - self.spent

    def admit(self, amount: Amount) -> None:
        """Raise ``BudgetExceeded`` if this would pass the budget: all charges are compared here, and nowhere else."""
        if not (self.spent + amount).within(self.budget):
            no_delta = ", and no delta" if amount.delta and not self.remaining.delta else ""
            raise BudgetExceeded(
                f"{amount} is more than the ledger of {self.dataset!r} has left: of a budget of {self.budget}, "
                f"{self.spent} is spent and {self.remaining}{no_delta} remains; nothing was spent; ask for less, or "
                "raise the budget on record with `sparsegate ledger raise`"
            )

    def check_budget(self, epsilon: Number | None, delta: Number | None) -> None:
        """Raise ``ParameterError`` where somebody who opens the ledger thinks that it has another budget."""
        if epsilon is None:
            if delta is not None:
                raise ParameterError("budget_delta", "needs a budget beside it", delta, "give both, or leave both out")
            return
        held = self.budget
        amount = exact_amount(
            epsilon, held.delta if delta is None else delta, epsilon_name="budget", delta_name="budget_delta"
        )
        if amount != held:
            rule = f"must be that of the ledger, {held}, or be left out"
            raise ParameterError("budget", rule, str(amount), "change it on record with `sparsegate ledger raise`")

    def admit_raise(self, amount: Amount) -> None:
        """Raise ``ParameterError`` unless this budget is larger than the present one, and nowhere smaller."""
        if amount == self.budget or not self.budget.within(amount):
            rule = f"must be larger than the present one, {self.budget}, in epsilon or delta and smaller in neither"
            raise ParameterError("budget", rule, str(amount), "a budget is raised, never lowered")


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
            rule = f"must have at most {_DIGITS} digits to be recorded exactly"
            raise ParameterError(name, rule, next_step="round it up")
    return exact


@lru_cache(maxsize=4096)  # a ledger of many entries holds few different amounts
def exact_value(text: object) -> Fraction:
    """Read ``exact_text`` back; anything else in its place means that the ledger is damaged."""
    if not isinstance(text, str) or not _EXACT.fullmatch(text):
        raise LedgerError("the ledger is damaged: it holds an amount that is no number; restore or examine it by hand")
    return Fraction(text)
