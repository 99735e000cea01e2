"""The account of a holdout: what it may still be paid for, across restarts and crashes, by what its ledger holds.

A holdout has a name in its ledger. Each process that opens it charges a gate of its own for as many paid answers as the
terms still allow, e1 + k p, with its terms beside the charge; and each paid answer is stored with that entry *before*
anybody sees it. BELOWs are not stored: beyond the first they cost nothing more.

**Theorem.** All gates that are ever opened under one name are (e1 + c p)-DP together, whatever crashes. *Proof.* By the
theorem of ``ledger.account`` it is enough that each gate counts with at least the loss of what it has said, and that
the counts of one name add up to at most e1 + c p. A gate counts with its whole charge until its entry gives back. (1)
Its own process closes it first, and gives back all but e1 + k p for k ABOVEs, or all if nothing was asked. (2) Another
process that opens the name gives back, for an entry that has given nothing back, all but e1 + (j + 1) p, where j paid
answers are stored. Nobody knows whether that gate is dead. If it is not, it may go on to say BELOW, which costs nothing
more (``holdout_terms``). Its next ABOVE finds in one transaction, which the store puts before or after that of (2),
that its entry is over: it is refused and the gate closes, and that refusal is the ABOVE more that was counted. So is an
ABOVE that was drawn and not stored, because a disk was full, a process was killed or somebody interrupted it: a gate
says nothing after one. (3) A new gate is charged at most e1 + c p less what the name counts for, in the transaction of
(2). []

**Corollary.** No more than c answers are paid for under one name, lost ones included: g gates with k_i ABOVEs count
with g e1 + p (k_1 + ... + k_g) or more, which is at most e1 + c p. That is why a gate without a BELOW, which has lost
less, gives back no more than another: validity (``generalisation``) counts answers, and not what they lose.

The theorem is of a ledger that was never restored from a backup. After that the ledger's own budget still holds for
everything, but what a name was paid between the backup and the restore is counted there alone, and not for the name.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from sparsegate.budget import Charge, Spender, charge
from sparsegate.display.plain import exact_text
from sparsegate.errors import GateClosed, ParameterError
from sparsegate.uses.holdout.holdout_terms import HoldoutTerms

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from sparsegate.ledger.account import Entry, Statement
    from sparsegate.ledger.ledger import Ledger

_KIND = "holdout"
_LONGEST_NAME = 100


class Account(Protocol):
    """What paid for one gate: how many answers, by which charge, and where they are stored."""

    cutoff: int
    left: Fraction
    """What this name had left before the gate was charged."""
    paid_by: Counter[str]
    """How many paid answers each has got who gave a name, under this name of the holdout, restarts and all."""

    def keep(self, value: float, by: str | None) -> None:
        """Store a paid answer before anybody sees it; raise where it must not be seen."""

    def give_back(self, spent: Fraction) -> None:
        """Give back all of the charge but this."""


def open_account(ledger: Spender | None, name: str, terms: HoldoutTerms, *, refund: bool) -> Account:
    """Charge a gate: for what is left under this name where the ledger can be read, else for everything."""
    check_name(name, "name")
    if ledger is None or not _remembers(ledger):
        paid = charge(ledger, epsilon=terms.epsilon, what=_what(name, terms, terms.cutoff))
        return _Plain(terms.cutoff, terms.epsilon, Counter(), paid, terms.epsilon, [paid] if refund else [])
    return _Remembered.opened(ledger, name, terms, refund=refund)  # type: ignore[arg-type]


def check_name(name: object, parameter: str) -> None:
    """Refuse what is no name for the record."""
    if not (isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME and name.isprintable()):
        rule = f"must be one printable line of 1 to {_LONGEST_NAME} characters"
        raise ParameterError(parameter, rule, name, f"leave it out, or pass for instance {parameter}='leaderboard'")


def _remembers(ledger: object) -> bool:
    """Whether it is a ledger itself, and no account of the caller's own or a charge reserved for one release."""
    if not hasattr(ledger, "database"):  # what loads a database need not be loaded to see that
        return False
    from sparsegate.ledger.ledger import Ledger

    return isinstance(ledger, Ledger)


def _what(name: str, terms: HoldoutTerms, cutoff: int) -> str:
    return (
        f"{_KIND} {name!r}: {cutoff} paid answers, each epsilon {exact_text(terms.price)}, size {terms.size}, "
        f"threshold {terms.threshold:g}"
    )


@dataclass
class _Charged:
    """One gate, what was charged for it, and who gives that back: nobody, where privacy was waived."""

    cutoff: int
    left: Fraction
    paid_by: Counter[str]
    charge: Charge
    whole: Fraction
    returns: list[Charge]

    def give_back(self, spent: Fraction) -> None:
        """Once, or again where the ledger could not be written."""
        rest = self.whole - spent
        try:
            charge = self.returns.pop()  # of two threads one gets it
        except IndexError:
            return
        if not charge.give_back(rest):
            self.returns.append(charge)


class _Plain(_Charged):
    """No ledger, or an account of the caller's own: one gate, and nothing is remembered."""

    def keep(self, value: float, by: str | None) -> None:
        self.charge.keep({"release": _KIND, **_part(value, by)})
        self.paid_by.update([] if by is None else [by])


@dataclass
class _Remembered(_Charged):
    """A gate in a ledger, beside those of the same name that were there before."""

    ledger: Ledger
    entry: Entry

    @classmethod
    def opened(cls, ledger: Ledger, name: str, terms: HoldoutTerms, *, refund: bool) -> _Remembered:
        from sparsegate.ledger.account import Amount
        from sparsegate.ledger.rows import add_part

        with ledger.database.writing() as connection:
            counted, paid_by = _counted(ledger, connection, name, terms)
            left = terms.epsilon - counted
            cutoff = terms.affordable(left)
            if cutoff:
                amount = Amount(epsilon=terms.cost(cutoff))
                entry = ledger.charge(connection, amount, _what(name, terms, cutoff))
                start = {"release": _KIND, "name": name, "refund": refund, "terms": terms.public(), "cutoff": cutoff}
                add_part(connection, entry.number, start)
        if not cutoff:  # out here: what was given back stays so
            raise GateClosed(
                f"the holdout {name!r} is used up: epsilon {exact_text(max(left, Fraction(0)))} of "
                f"{exact_text(terms.epsilon)} is left, and a gate with one paid answer costs "
                f"{exact_text(terms.cost(1))}; use fresh data, or another name, which spends a new budget"
            )
        paid = Charge(ledger, entry)
        return cls(cutoff, left, paid_by, paid, amount.epsilon, [paid] if refund else [], ledger, entry)

    def keep(self, value: float, by: str | None) -> None:
        from sparsegate.ledger.rows import add_part, read_spent

        kept = False
        with self.ledger.database.writing() as connection:
            over = _statement(self.ledger, connection).refund_of(self.entry.number) is not None
            if not over and read_spent(self.ledger.database, connection, self.entry.number) == self.entry:
                add_part(connection, self.entry.number, _part(value, by))
                kept = True
        if not kept:
            raise GateClosed("this holdout goes on in another process, which has its budget now; go on there")
        self.paid_by.update([] if by is None else [by])


def _part(value: float, by: str | None) -> dict[str, Any]:
    return {"paid": value} | ({} if by is None else {"by": by})


def _statement(ledger: Ledger, connection: Connection) -> Statement:
    from sparsegate.ledger.rows import read_statement

    return read_statement(ledger.database, connection, ledger.dataset)


def _counted(ledger: Ledger, connection: Connection, name: str, terms: HoldoutTerms) -> tuple[Fraction, Counter[str]]:
    """What the gates of this name count for, after those that nobody closed gave back what they can; and to whom."""
    from sparsegate.ledger.rows import read_parts

    statement, counted, paid_by = _statement(ledger, connection), Fraction(0), Counter[str]()
    begins = f"{_KIND} {name!r}: "
    for entry in statement.entries:
        if not (entry.kind.spends and entry.what.startswith(begins)):
            continue
        start, *paid = list(read_parts(ledger.database, connection, entry.number).values()) or [{}]
        _check_terms(name, start, terms)
        paid_by.update(part["by"] for part in paid if "by" in part)
        back = statement.refund_of(entry.number)
        if back is None and start["refund"] and not statement.restored_after(entry.number):
            rest = entry.amount.epsilon - terms.cost(min(len(paid) + 1, start["cutoff"]))
            back = ledger.refund(connection, entry.number, rest)
        counted += entry.amount.epsilon - (back.amount.epsilon if back is not None else 0)
    return counted, paid_by


def _check_terms(name: str, start: dict[str, Any], terms: HoldoutTerms) -> None:
    held, given = start.get("terms"), terms.public()
    if held != given or start.get("name") != name:
        other = [key for key in given if not isinstance(held, dict) or held.get(key) != given[key]]
        rule = f"must be that of a holdout with the same terms; {name!r} has another {', '.join(other)} in this ledger"
        raise ParameterError("name", rule, next_step="pass its own terms, or another name, which spends a new budget")
