"""Charges that are committed ahead of their releases: several at once, all or none.

A release must not leave before its charge is committed, and a block that may still fail has committed nothing. So the
block only collects charges; it commits them together when it ends, and each of them then serves one release. That a
charge is used is written before anything is drawn, and the store refuses it a second time: a copy in a forked process,
or one fetched again by its number after a crash, cannot draw twice for one charge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sparsegate.budget import Number
from sparsegate.errors import LedgerError
from sparsegate.ledger.account import Amount, Entry, exact_amount, public_line

if TYPE_CHECKING:
    from sparsegate.ledger.ledger import Ledger


class Reserved:
    """A charge to pass as ``ledger=`` to the one release that it is for; ``number`` is that of its entry.

    The release may cost less than was reserved: what is reserved stays spent. One that is refused for its parameters
    leaves the charge as it was.
    """

    def __init__(self, amount: Amount, what: str) -> None:
        self.amount, self.what = amount, what
        self._place: tuple[Ledger, Entry] | None = None

    def commit(self, ledger: Ledger, entry: Entry) -> None:
        """Its entry is on disk: from now on it can be used."""
        self._place = ledger, entry

    @property
    def number(self) -> int:
        """The number of its entry."""
        return self._committed()[1].number

    def spend(self, *, epsilon: Number, delta: Number = 0, what: str) -> Entry:
        """Use the charge for a release of at most its amount. Draw nothing before this returns."""
        ledger, entry = self._committed()
        return ledger.begin_release(entry.number, exact_amount(epsilon, delta), what)

    def keep(self, entry: Entry, gave: Mapping[str, Any]) -> None:
        """Store what the release gave."""
        self._committed()[0].keep(entry, gave)

    def give_back(self, entry: Entry, *, epsilon: Number) -> Entry | None:
        """Give back what the release did not cost of what it was charged; what was reserved beyond that stays spent."""
        return self._committed()[0].give_back(entry, epsilon=epsilon)

    def _committed(self) -> tuple[Ledger, Entry]:
        if self._place is None:
            raise LedgerError(
                f"the charge for {self.what!r} is not committed, so nothing may be drawn for it; leave the block of "
                "`with ledger.together()` first"
            )
        return self._place

    def __repr__(self) -> str:
        where = "not committed" if self._place is None else f"entry {self.number}"
        return f"<Reserved {self.amount} for {self.what!r}, {where}>"


class Together:
    """The charges that a block of ``Ledger.together`` has collected, in ``reserved``."""

    def __init__(self) -> None:
        self.reserved: list[Reserved] = []

    def reserve(self, *, epsilon: Number, delta: Number = 0, what: str) -> Reserved:
        """A charge for one release; it is committed with the others when the block ends."""
        self.reserved.append(Reserved(exact_amount(epsilon, delta), public_line(what, "what")))
        return self.reserved[-1]
