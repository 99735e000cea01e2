"""The sizes that a service shows of its data: paid for, then drawn, then kept, once for each dataset.

What is shown of the sizes of a table is drawn (``data.copying``) and has an epsilon and a delta. They are charged
before the draw, and what was drawn is stored with its entry before anything is filled up to it. Whoever opens the same
data on the same ledger again, after a restart or on another server, finds it there: the same sizes, at no cost. Other
data, other columns or other terms are another release, with a charge of its own: a second draw on the same sizes tells
more than the first, and the same draw on other sizes would tell how far apart they are.

Of two servers that start at once the store decides: one entry, and the first to keep its draw; the other's is thrown
away unseen. One that was charged and died before it kept anything has shown nothing: the next start draws for its
entry.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import select

from sparsegate.budget import Number
from sparsegate.errors import BudgetExceeded, LedgerError, ParameterError
from sparsegate.ledger.account import Amount, exact_amount, exact_text
from sparsegate.ledger.ledger import USED, Ledger, add_part, last_part, read_statement
from sparsegate.ledger.schema import RELEASES
from sparsegate.noise import Secure, Source
from sparsegate.service.data.copying import FillTerms, Size
from sparsegate.service.data.dataset import ServedTable

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
        if not (kept := _kept(ledger, entry)):
            raise
        return known | kept
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
    data: ServedTable, terms: FillTerms, public: Mapping[str, int], *, epsilon: Number, delta: Number
) -> None:
    """Refuse a budget that the sizes alone would pass, before a ledger is made for it."""
    allowed = exact_amount(epsilon, delta, epsilon_name="budget", delta_name="budget_delta")
    if data.sizes.keys() - public.keys() and not _cost(terms).within(allowed):
        rule = f"must be enough for the sizes of the data, {_cost(terms)}"
        raise ParameterError("budget", rule, str(allowed), "give more, or public sizes with --capacity")


def _cost(terms: FillTerms) -> Amount:
    return Amount(epsilon=terms.epsilon, delta=terms.delta)


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
            same = select(RELEASES.c.entry).where(RELEASES.c.part == USED, RELEASES.c.gave == json.dumps(mark))
            before = read_statement(ledger.database, connection, ledger.dataset)
            for number in connection.execute(same.order_by(RELEASES.c.entry)).scalars():
                # After a restore nobody knows whether a draw that is not here was shown.
                if last_part(connection, number) or not before.restored_after(number):
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
    try:
        size = int(text)
    except ValueError:
        size = 0
    if size < 1:
        rule = "must be a number of rows, and perhaps others for columns"
        raise ParameterError("capacity", rule, text, "for instance 100000,country=300")
    return size
