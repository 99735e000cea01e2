"""What a ledger is: an append-only record of the epsilon and delta spent on one dataset, and its arithmetic.

- A ledger names **one** dataset: the budget belongs to the people in the data.
- An entry is committed **before** anything is drawn. A crash afterwards leaves it spent.
- A gate of pure epsilon may give back, **once**, what its answers did not cost, when it will never answer again. On a
  zCDP ledger what a gate reserved for its next ABOVE goes back, whole. Nothing else ever goes back.
- Epsilons and deltas add, as exact rationals, and neither sum passes its budget; of a zCDP ledger, rhos and deltas.
- What a release gave is stored with its entry before anybody sees it, and can be read again at no cost.
- A deleted file forgets what was spent, and so does a backup put in its place by other means than ``backup.restore``.

**Theorem.** Let each release be (eps_i, delta_i)-DP for the amounts that it was charged, chosen with all earlier
results in view; and let a gate with delta_i = 0 that has said a, and is closed, have given back at most eps_i - L(a),
where exp(L(a)) bounds the likelihood ratio of those answers for all neighbours (``gates.bounds``). Then all of them
together are (epsilon, delta)-DP for the budget. Machine-checked: proofs/README.md.

**Theorem** (a zCDP ledger, ``budget=(epsilon, delta)``; Feldman, Zrnic 2021; Whitehouse, Ramdas, Rogers, Wu 2023). Let
each step be delta_i-approximately rho_i-zCDP for what it was charged, chosen with all of the past in view, let the
rho_i add up to at most rho and the delta_i to ``budget_delta``, and let rho be at most, for some alpha > 1,

    {epsilon - [ln(1/delta) + (alpha - 1) ln(1 - 1/alpha) - ln alpha] / (alpha - 1)} / alpha.

Then all steps together are (epsilon, delta + ``budget_delta``)-DP. Of a release of which only (eps_i, delta_i)-DP is
known, rho_i = eps_i tanh(eps_i / 2). Proofs, and who sees to what they need: docs/explanation/proofs_in_words/ledger.md
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from typing import Any

from sparsegate.budget import PLACES, Number, exact_epsilon, exact_pair, in_decimals, pure_rho
from sparsegate.display.plain import exact_text as exact_text
from sparsegate.display.plain import plain
from sparsegate.display.published import SCHEMA, PrintedTop
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Printed
from sparsegate.errors import BudgetExceeded, LedgerError, ParameterError

BudgetLike = Number | tuple[Number, Number]
"""An epsilon, to which epsilons add up; or an epsilon and a delta, for a zCDP ledger."""

_NONE = Fraction(0)
_EPSILON_DIGITS = 6
_DIGITS = 400
_EXACT = re.compile(rf"\d{{1,{_DIGITS}}}(\.\d{{1,{_DIGITS}}}|/[1-9]\d{{0,{_DIGITS - 1}}})?", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Amount:
    """An ``epsilon``, a ``delta`` and a ``rho``, exact; all add. An adding ledger has no rho in its budget and sums.

    ``counts_rho`` is of sums of a zCDP ledger, which read as what is counted there.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    counts_rho: bool = field(default=False, compare=False, repr=False)

    def __add__(self, other: Amount) -> Amount:
        rho = None if self.rho is None or other.rho is None else self.rho + other.rho
        return replace(self, epsilon=self.epsilon + other.epsilon, delta=self.delta + other.delta, rho=rho)

    def __sub__(self, other: Amount) -> Amount:
        return self + other.times(-1)

    def times(self, count: int) -> Amount:
        """So many of it."""
        rho = None if self.rho is None else count * self.rho
        return Amount(epsilon=count * self.epsilon, delta=count * self.delta, rho=rho)

    def within(self, other: Amount) -> bool:
        """Whether neither epsilon nor delta is larger: the rule of an adding ledger."""
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def within_rho(self, other: Amount) -> bool:
        """Whether neither rho nor delta is larger: the rule of a zCDP ledger."""
        known = self.rho is not None and other.rho is not None and self.rho <= other.rho
        return known and self.delta <= other.delta

    def __str__(self) -> str:
        return self.in_rho if self.counts_rho else self._with_delta(f"epsilon {exact_text(self.epsilon)}")

    @property
    def in_rho(self) -> str:
        """The amount as a zCDP ledger counts it."""
        return self._with_delta(f"rho {'unknown' if self.rho is None else exact_text(self.rho)}")

    def _with_delta(self, text: str) -> str:
        return f"{text}, delta {exact_text(self.delta)}" if self.delta else text


class EntryKind(StrEnum):
    """What an entry does: set the budget, spend of it, reserve for a later release, or give back what a gate left.

    What is reserved counts as spent from the start. ``restore`` charges what a backup had forgotten (``backup``).
    """

    BUDGET = "budget"
    SPEND = "spend"
    RESERVE = "reserve"
    REFUND = "refund"
    RESTORE = "restore"

    @property
    def spends(self) -> bool:
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

    A one-shot release has one part; none where it was cut short before anything left, or where a gate gave its answers
    to its own process alone.
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


@dataclass(frozen=True, kw_only=True)
class Balance:
    """What a charge to the ledger of a ``dataset`` is compared with: the ``budget``, and what is ``spent`` of it.

    ``entries`` is how many there are, ``allowed`` the number of the one that has the budget, and ``restored`` that of
    the last that a restored backup was charged with, 0 where there is none.
    """

    dataset: str
    conversion_delta: Fraction | None
    budget: Amount
    spent: Amount
    entries: int
    allowed: int = 1
    restored: int = 0

    def after(self, entry: Entry) -> Balance:
        """The balance with one entry more."""
        match entry.kind:
            case EntryKind.BUDGET:
                return replace(self, budget=entry.amount, entries=entry.number, allowed=entry.number)
            case EntryKind.REFUND:
                return replace(self, spent=self.spent - entry.amount, entries=entry.number)
        restored = entry.number if entry.kind is EntryKind.RESTORE else self.restored
        return replace(self, spent=self.spent + entry.amount, entries=entry.number, restored=restored)

    def covers(self, limit: Amount, amount: Amount) -> bool:
        """Whether an amount is within another by the rule of the ledger."""
        return amount.within(limit) if self.conversion_delta is None else amount.within_rho(limit)

    def says(self, amount: Amount) -> str:
        """An amount as the ledger counts it, in words."""
        if self.conversion_delta is None:
            return str(amount)
        at = f", for epsilon {exact_text(amount.epsilon)} at delta {exact_text(self.conversion_delta)}"
        return amount.in_rho + (at if amount == self.budget else "")

    @property
    def remaining(self) -> Amount:
        """See ``Statement``."""
        left = self.budget - self.spent
        if self.conversion_delta is None or left.rho is None:
            return left
        root = math.isqrt(math.floor(2 * max(left.rho, _NONE) * 10 ** (2 * PLACES)))  # pure_rho < epsilon**2 / 2
        epsilon = in_decimals(Fraction(root, 10**PLACES), digits=_EPSILON_DIGITS, up=False)
        return replace(left, epsilon=epsilon, counts_rho=True)

    def room(self, amount: Amount, *, most: int) -> int:
        """How many more charges of this amount, without a delta, a zCDP ledger admits, up to ``most``."""
        left = (self.budget - self.spent).rho
        if left is None or not amount.rho or not self.covers(self.budget, self.spent):
            return 0
        return min(most, math.floor(left / amount.rho))

    def admit(self, amount: Amount) -> None:
        """Raise ``BudgetExceeded`` if this would pass the budget: all charges are compared here, and nowhere else."""
        if not self.covers(self.budget, self.spent + amount):
            says, left = self.says, self.remaining
            no_delta = ", and no delta" if amount.delta and not left.delta else ""
            step = "ask for less, or raise the budget on record with `sparsegate ledger raise`"
            if amount.delta and not self.budget.delta:
                step = "this needs a ledger with a delta: pass budget_delta=1e-6 where it is made (to sg.session, "
                step += "delta=1e-6), or raise it on record with `sparsegate ledger raise --budget-delta`"
            raise BudgetExceeded(
                f"{says(amount)} is more than the ledger of {self.dataset!r} has left: of a budget of "
                f"{says(self.budget)}, {says(self.spent)} is spent and {says(left)}{no_delta} remains; nothing was "
                f"spent; {step}"
            )


@dataclass(frozen=True, kw_only=True, repr=False)
class Statement(Printed):
    """All ``entries`` of the ledger of a ``dataset`` at one moment, and what follows from them.

    ``conversion_delta`` is None where epsilons add. A zCDP ledger counts rho, and its budget is the rho at which all is
    (epsilon, ``conversion_delta``)-DP, beside the deltas that releases have of their own.
    """

    dataset: str
    entries: tuple[Entry, ...]
    conversion_delta: Fraction | None = None

    @property
    def rule(self) -> str:
        """What is added up and compared: "epsilon" or "zcdp"; fixed when the ledger is made."""
        return "epsilon" if self.conversion_delta is None else "zcdp"

    @cached_property
    def balance(self) -> Balance:
        """What the next charge is compared with."""
        zero = self._zero
        start = Balance(
            dataset=self.dataset, conversion_delta=self.conversion_delta, budget=zero, spent=zero, entries=0
        )
        return reduce(Balance.after, self.entries, start)

    @property
    def _zero(self) -> Amount:
        zcdp = self.conversion_delta is not None
        return Amount(epsilon=_NONE, rho=_NONE if zcdp else None, counts_rho=zcdp)

    @property
    def budget(self) -> Amount:
        """The amount that the newest budget entry allows in all."""
        return self.balance.budget

    @property
    def spent(self) -> Amount:
        """The sum of everything spent or reserved, less what was given back."""
        return self.balance.spent

    @property
    def remaining(self) -> Amount:
        """What may still be spent: of a zCDP ledger rho, and as epsilon what one more release may have at least."""
        return self.balance.remaining

    @property
    def given_back(self) -> Amount:
        """The sum of what closed gates did not use."""
        return sum((entry.amount for entry in self.entries if entry.kind is EntryKind.REFUND), start=self._zero)

    def refund_of(self, number: int) -> Entry | None:
        """The entry in which that of this number gave back."""
        return next((entry for entry in self.entries if entry.of == number), None)

    def says(self, amount: Amount) -> str:
        """An amount as the ledger counts it, in words."""
        return self.balance.says(amount)

    def admit(self, amount: Amount) -> None:
        """Raise ``BudgetExceeded`` if this would pass the budget."""
        self.balance.admit(amount)

    def sheet(self) -> Sheet:
        """A row for each entry; rho is rounded here, and whole in ``to_dict``."""
        entries, kept = self.entries, {"entry", "at", "kind", "epsilon", "what"}
        kept |= {"delta"} if any(entry.amount.delta for entry in entries) else set()
        kept |= {"rho"} if self.rule == "zcdp" else set()
        columns: dict[str, list[Any]] = {
            "entry": [entry.number for entry in entries],
            "at": [entry.at.isoformat(sep=" ", timespec="seconds") for entry in entries],
            "kind": [entry.kind.value for entry in entries],
            "epsilon": [exact_text(entry.amount.epsilon) for entry in entries],
            "delta": [exact_text(entry.amount.delta) for entry in entries],
            "rho": [f"{float(entry.amount.rho or _NONE):.6g}" for entry in entries],
            "what": [entry.what for entry in entries],
        }
        columns = {name: cells for name, cells in columns.items() if name in kept}
        title = f"{self.dataset}: {self.says(self.spent)} spent of {self.says(self.budget)}"
        numbers = frozenset({"entry", "epsilon", "delta", "rho"} & kept)
        return Sheet(title=title, columns=columns, numbers=numbers)

    def to_dict(self) -> dict[str, Any]:
        """The statement as JSON takes it, amounts as exact decimals in text."""
        sums = {name: plain(getattr(self, name)) for name in ("budget", "spent", "given_back", "remaining")}
        rule = {"rule": self.rule, "conversion_delta": plain(self.conversion_delta)}
        return {"dataset": self.dataset, **rule, **sums, "entries": [entry.to_dict() for entry in self.entries]}

    def check_budget(self, epsilon: BudgetLike | None, delta: Number | None) -> None:
        """Raise ``ParameterError`` where somebody who opens the ledger thinks that it has another budget."""
        if epsilon is None:
            if delta is not None:
                raise ParameterError("budget_delta", "needs a budget beside it", delta, "give both, or leave both out")
            return
        held = self.budget
        amount, at = exact_budget(epsilon, held.delta if delta is None else delta)
        if (amount.epsilon, amount.delta, at) != (held.epsilon, held.delta, self.conversion_delta):
            rule = f"must be that of the ledger, {self.says(held)}, or be left out"
            raise ParameterError("budget", rule, str(amount), "change it on record with `sparsegate ledger raise`")

    def raised(self, budget: Number, budget_delta: Number | None) -> Amount:
        """A larger budget by the same rule; that of deltas, where None, as it is.

        Raise ``ParameterError`` unless it is larger than the present one, and nowhere smaller.
        """
        if isinstance(budget, tuple | list):
            rule = "must be the new epsilon alone: the rule of a ledger, and the delta of a zCDP one, stay as they are"
            raise ParameterError("budget", rule, budget, "make another ledger for other people's data")
        held, at = self.budget, self.conversion_delta
        delta = held.delta if budget_delta is None else budget_delta
        amount, _ = exact_budget(budget if at is None else (budget, at), delta)
        if amount == held or not held.within(amount) or (at is not None and not held.within_rho(amount)):
            rule = f"must be larger than the present one, {held}, in epsilon or delta and smaller in neither"
            raise ParameterError("budget", rule, str(amount), "a budget is raised, never lowered")
        return amount


def exact_amount(
    epsilon: Number,
    delta: Number,
    rho: Number | None = None,
    *,
    epsilon_name: str = "epsilon",
    delta_name: str = "delta",
) -> Amount:
    """Read an epsilon > 0 and a delta in [0, 1) as exact rationals; floats stand for the decimals they print as.

    ``rho`` is ``pure_rho`` of epsilon where it is not given; rounded up to fifteen digits: sums stay short.

    >>> str(exact_amount(0.1, 1e-6)), float(exact_amount(0.1, 1e-6).rho)
    ('epsilon 0.1, delta 0.000001', 0.004995837495788)
    """
    exact = Amount(epsilon=exact_epsilon(epsilon, epsilon_name), delta=exact_epsilon(delta, delta_name, zero=True))
    if exact.delta >= 1:
        raise ParameterError(delta_name, "must be at least 0 and less than 1", delta, "pass for instance 1e-6")
    recordable(exact.epsilon, epsilon_name)
    recordable(exact.delta, delta_name)
    proved = pure_rho(exact.epsilon) if rho is None else recordable(exact_epsilon(rho, "rho"), "rho")
    rounded = in_decimals(proved)
    return replace(exact, rho=recordable(rounded, epsilon_name if rho is None else "rho"))


def recordable(value: Fraction, parameter: str) -> Fraction:
    """The value, if ``exact_value`` reads back what is written of it: the ledger would be lost by any other."""
    longest = max(value.numerator.bit_length(), value.denominator.bit_length())
    if longest > 4 * _DIGITS or not _EXACT.fullmatch(exact_text(value)):
        rule = f"must have at most {_DIGITS} digits to be recorded exactly, and so must its rho"
        raise ParameterError(parameter, rule, next_step="round it up")
    return value


def exact_budget(budget: BudgetLike, budget_delta: Number) -> tuple[Amount, Fraction | None]:
    """A budget as it is recorded, and the delta at which it was made a rho; None: epsilons add.

    >>> amount, delta = exact_budget((1, 1e-6), 0)
    >>> amount.in_rho, float(delta)
    ('rho 0.0243559703595383', 1e-06)
    """
    names: dict[str, Any] = {"epsilon_name": "budget", "delta_name": "budget_delta"}
    if not isinstance(budget, tuple | list):
        return replace(exact_amount(budget, budget_delta, 1, **names), rho=None), None  # its rho counts for nothing
    epsilon, delta = exact_pair(budget)
    from sparsegate.gates.approximate import zcdp_rho  # heavy, and only where a rho is fixed

    amount = exact_amount(epsilon, budget_delta, **names)
    rho = in_decimals(zcdp_rho(epsilon=amount.epsilon, delta=delta), up=False)
    if not rho or not _EXACT.fullmatch(exact_text(delta)):
        rule = f"must leave a rho of at least 1e-{PLACES}, and have at most {_DIGITS} digits"
        raise ParameterError("budget", rule, budget, "pass for instance budget=(1, 1e-6)")
    return replace(amount, rho=rho), delta


@lru_cache(maxsize=4096)  # a ledger of many entries holds few different amounts
def exact_value(text: object) -> Fraction:
    """Read ``exact_text`` back; anything else in its place means that the ledger is damaged."""
    if not isinstance(text, str) or not _EXACT.fullmatch(text):
        raise LedgerError("the ledger is damaged: it holds an amount that is no number; restore or examine it by hand")
    return Fraction(text)
