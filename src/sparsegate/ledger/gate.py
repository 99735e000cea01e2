"""A durable gate: what was charged for it, what it has said, and what goes back at its end, whatever crashes.

It is one entry of a ledger, which paid for the most that the gate can cost, and one row of the table ``gates``, which
counts its answers. The row is written in the transaction that charges; an answer is counted, and stored, before
anybody sees it; what is reserved and has no outcome counts as whichever answer is dearer, for ever; a gate is closed
for good and gives back once, in one transaction. Of two processes that go on with one gate the store refuses the one
that does not know all its answers. A holdout keeps one answer reserved, a service reserves each, an alert none.

**Theorem.** What a gate has cost is at most L(m + i, k + u - i) for the worst i in 0..u, where m BELOW and k ABOVE were
counted, u are reserved and have no outcome (``AnswerCounts.cost``). The amount that it gives back tells nothing that is
not paid for. Machine-checked: proofs/README.md. Proof: docs/explanation/proofs_in_words/ledger.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from sparsegate.budget import Charge, Cost, Number, Spender, charge, conversion_delta, or_warn
from sparsegate.errors import GateClosed, LedgerError, ParameterError

if TYPE_CHECKING:
    from sparsegate.ledger.account import Amount, Entry
    from sparsegate.ledger.database import Connection
    from sparsegate.ledger.ledger import Ledger

BY_HAND: Final = "it gave its last answer, or was closed by hand"
_PLACES: Final = 12


def rounded_down(epsilon: Fraction) -> Fraction:
    """What goes back of an epsilon: twelve decimal places of it, so that sums stay short.

    >>> float(rounded_down(Fraction(2, 3)))
    0.666666666666
    """
    return Fraction(math.floor(epsilon * 10**_PLACES), 10**_PLACES)


@dataclass(frozen=True, kw_only=True)
class AnswerCounts:
    """How many answers a gate was ``asked`` for, and how many of these came out ``above`` and ``below``."""

    asked: int = 0
    above: int = 0
    below: int = 0

    @property
    def unsettled(self) -> int:
        """Answers without an outcome: under way, reserved, or lost."""
        return self.asked - self.above - self.below

    def cost(self, loss: Callable[[int, int], Fraction]) -> Fraction:
        """What it has cost, where ``loss(below, above)`` is that of so many. Machine-checked: proofs/README.md."""
        lost = self.unsettled
        return max(loss(self.below + i, self.above + lost - i) for i in range(lost + 1))


class PaidGate:
    """A gate that is paid for. Without a ledger, or with an account of the caller's own, its answers are counted here.

    ``epsilon`` is what was charged; without ``refund`` none of it goes back, and where ``whole`` all of it counts,
    whatever was said. ``meter`` pays for each ABOVE, where that is not paid for from the start.
    """

    def __init__(self, paid: Charge, epsilon: Fraction, *, refund: bool, counts: AnswerCounts | None = None) -> None:
        self.epsilon, self.refund, self.counts = epsilon, refund, counts or AnswerCounts()
        self._paid, self._endings = paid, [True]
        self.whole = conversion_delta(paid.ledger) is not None  # nothing goes back to a zCDP ledger
        self.meter: AboveMeter | None = None

    @property
    def exhausted(self) -> bool:
        """Whether the next ABOVE cannot be paid for: then nothing may be asked."""
        return self.meter is not None and not self.meter.holds

    def let_go(self) -> None:
        """Give back what is reserved for an ABOVE that will not be, or not in this process."""
        if self.meter is not None:
            self.meter.give_back(Fraction(1))

    def keep(self, answer: Mapping[str, Any], *, above: bool) -> None:
        """Count and store an answer, before anybody sees it: where this raises, nobody may."""
        now = self.counts
        after = replace(now, asked=now.asked + 1, above=now.above + above, below=now.below + (not above))
        self._store(answer, after)
        self.counts = after

    def close(self, cost: Fraction) -> None:
        """End the gate, and give back all but its cost: once, or again where the ledger could not be written."""
        try:
            self._endings.pop()  # of two threads one gets it
        except IndexError:
            return
        if not self._end(cost):
            self._endings.append(True)

    def _store(self, answer: Mapping[str, Any], after: AnswerCounts) -> None:
        self._paid.keep(answer)

    def _end(self, cost: Fraction) -> bool:
        """Whether it is over; False: it may be tried again."""
        return not self.refund or self._paid.give_back(self.epsilon - cost)


class DurableGate(PaidGate):
    """A gate of a ledger. ``closed`` says why it has ended; empty: it has not."""

    def __init__(
        self,
        ledger: Ledger,
        entry: Entry,
        *,
        terms: Mapping[str, Any],
        counts: AnswerCounts,
        refund: bool,
        closed: str = "",
        given_back: Fraction = Fraction(0),
    ) -> None:
        super().__init__(Charge(ledger, entry), entry.amount.epsilon, refund=refund, counts=counts)
        self.ledger, self.entry, self.terms = ledger, entry, terms
        self.closed, self.given_back = closed, given_back

    def answers(self) -> tuple[dict[str, Any], ...]:
        """All that was stored of what it has said."""
        return self.ledger.release(self.entry.number).gave

    def _store(self, answer: Mapping[str, Any], after: AnswerCounts) -> None:
        with _telling_what_was_held(self.meter), self.ledger.database.writing() as connection:
            self.ledger.count_answer(connection, self, after, answer)
            if self.meter is not None and after.above > self.counts.above:
                self.meter.pay_in(connection, 1)

    def _end(self, cost: Fraction) -> bool:
        def end() -> None:
            # Where another process went on with it, or ended it, what is left is that one's to give back.
            with suppress(GateClosed), self.ledger.database.writing() as connection:
                self.ledger.close_gate(connection, self, BY_HAND, cost)

        return or_warn("what this did not cost stays spent", end)


class AboveMeter:
    """What pays for each ABOVE of a gate on a zCDP ledger (``gates.per_above``): one is always held for the next.

    It is an entry of its own, reserved before a question is asked. An ABOVE is written, and the next one reserved, in
    one transaction before the ABOVE is seen. What is held goes back where no question is under way and none will be
    asked; a process that dies leaves it spent, because nobody knows what its last question said. The store decides
    between two that would use it, or use it and give it back: a part of an entry is written once.
    """

    def __init__(self, ledger: Ledger, entry: Entry, each: Amount, held: Entry) -> None:
        self.entry = entry
        self._ledger, self._each, self._held = ledger, each, [held]

    @property
    def holds(self) -> bool:
        """Whether the next ABOVE is paid for: where it is not, no question may be asked."""
        return bool(self._held)

    def pay(self, count: int) -> tuple[int, bool]:
        """Commit this many ABOVE before they are seen: how many are paid for, and whether one more is held."""
        with _telling_what_was_held(self):
            held = self._held.pop()  # whatever stops this, it stays spent
            with self._ledger.database.writing() as connection:
                paid = self._use(connection, held, count)
        return paid, self.holds

    def pay_in(self, connection: Connection, count: int) -> int:
        """The same in a transaction that writes more. Where that is undone, what was held stays spent."""
        return self._use(connection, self._held.pop(), count)

    def _use(self, connection: Connection, held: Entry, count: int) -> int:
        paid, another = self._ledger.use_held(connection, held, each=self._each, count=count, of=self.entry)
        self._held += [] if another is None else [another]
        return paid

    def give_back(self, unused: Fraction) -> bool:
        """Give back what is held, if ``unused`` is not 0; False where the ledger could not be written."""
        if not unused or not self._held:
            return True
        held = self._held.pop()

        def cancel() -> None:
            with self._ledger.database.writing() as connection:
                self._ledger.cancel_held(connection, held)

        over = or_warn("what was reserved for the next ABOVE stays spent", cancel)
        if not over:
            self._held.append(held)
        return over


@contextmanager
def _telling_what_was_held(meter: AboveMeter | None) -> Iterator[None]:
    """Where the ledger fails at an ABOVE, nothing more was spent; but what was held for it no longer is, and counts."""
    held = [] if meter is None else list(meter._held)
    try:
        yield
        return
    except BaseException as error:
        if meter is None or meter._held == held:
            raise
        meter._held.clear()  # the next one was undone with this, or nobody knows
        if not isinstance(error, LedgerError):
            raise
        why = str(error).removesuffix("; nothing was spent")
    raise LedgerError(f"{why}; what was reserved for this ABOVE stays spent, and nothing more was")


def is_ledger(account: object) -> TypeGuard[Ledger]:
    """Whether an account keeps durable gates: a ledger itself, and no charge reserved on one."""
    return hasattr(account, "open_gate")  # what loads a database need not be loaded to see that


def pay_for_gate(
    account: Spender | None,
    *,
    cost: Cost,
    title: str,
    what: str,
    terms: Mapping[str, Any],
    refund: bool,
    each: tuple[Number, Number] | None = None,
) -> PaidGate:
    """Charge a gate: a durable one on a ledger, found again by its title.

    ``each`` is the epsilon and the rho of an ABOVE, where each is paid for by itself: of that the first is reserved.
    """
    what, epsilon = f"{title}: {what}", cost.epsilon
    if not is_ledger(account):
        if each is not None:
            rule = "must be an open zCDP ledger where each ABOVE is paid for when it is given"
            raise ParameterError("ledger", rule, account, "open one that was made with a delta")
        return PaidGate(charge(account, **vars(cost), what=what), epsilon, refund=refund)
    durable: dict[str, Any] = {"title": title, "terms": terms, "refund": refund, "rho": cost.rho}
    with account.database.writing() as connection:
        gate = account.open_gate(connection, epsilon=epsilon, what=what, **durable)
        if each is not None:
            gate.meter = account.meter(connection, gate.entry, each)
        return gate
