"""The ledger in a database: a SQLite file, or PostgreSQL for several server processes. See ``account`` for the rules.

Every method is one transaction. A ledger that is missing, locked, read-only, damaged or full is a ``LedgerError``, and
then nothing was spent.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

from sparsegate.budget import LONGEST_LINE, Number, exact_epsilon, public_line
from sparsegate.errors import BudgetExceeded, GateClosed, LedgerError, ParameterError
from sparsegate.ledger.account import (
    Amount,
    Balance,
    BudgetLike,
    Entry,
    EntryKind,
    Release,
    Statement,
    exact_amount,
    exact_budget,
    exact_text,
    exact_value,
    recordable,
)
from sparsegate.ledger.database import Connection, Database, now, open_database
from sparsegate.ledger.gate import AboveMeter, AnswerCounts, DurableGate, rounded_down
from sparsegate.ledger.schema import MIGRATIONS, TABLES, VERSION, create, migrate


class Reserved:
    """A charge to pass as ``ledger=`` to the one release that it is for; ``number`` is that of its entry.

    The release may cost less than was reserved: what is reserved stays spent. One that is refused for its parameters
    leaves the charge as it was. ``place`` is its ledger and its entry, once that is on disk: from then on it is used.
    """

    def __init__(self, amount: Amount, what: str, place: tuple[Ledger, Entry] | None = None) -> None:
        self.amount, self.what, self.place = amount, what, place

    @property
    def number(self) -> int:
        return self._committed()[1].number

    @property
    def conversion_delta(self) -> Fraction | None:
        return self._committed()[0].conversion_delta

    def spend(self, *, epsilon: Number, delta: Number = 0, what: str, rho: Number | None = None) -> Entry:
        """Use the charge for a release of at most its amount. Draw nothing before this returns."""
        ledger, entry = self._committed()
        return ledger.begin_release(entry.number, exact_amount(epsilon, delta, rho), what)

    def keep(self, entry: Entry, gave: Mapping[str, Any]) -> None:
        self._committed()[0].keep(entry, gave)

    def give_back(self, entry: Entry, *, epsilon: Number) -> Entry | None:
        """What was reserved beyond the charge of the release stays spent."""
        return self._committed()[0].give_back(entry, epsilon=epsilon)

    def _committed(self) -> tuple[Ledger, Entry]:
        if self.place is None:
            step = "leave the block of `with ledger.together()` first"
            raise LedgerError(f"the charge for {self.what!r} is not committed, so nothing may be drawn for it; {step}")
        return self.place

    def __repr__(self) -> str:
        where = "not committed" if self.place is None else f"entry {self.number}"
        return f"<Reserved {self.amount} for {self.what!r}, {where}>"


class Together:
    """The charges that a block of ``Ledger.together`` has collected, in ``reserved``; it commits them when it ends.

    That a charge is used is written before anything is drawn, and the store refuses it a second time: a copy in a
    forked process, or one fetched again by its number after a crash, cannot draw twice for one charge.
    """

    def __init__(self) -> None:
        self.reserved: list[Reserved] = []

    def reserve(self, *, epsilon: Number, delta: Number = 0, what: str, rho: Number | None = None) -> Reserved:
        """A charge for one release; it is committed with the others when the block ends."""
        self.reserved.append(Reserved(exact_amount(epsilon, delta, rho), public_line(what, "what")))
        return self.reserved[-1]


_SUMS: Final = ("epsilon", "delta", "rho")
_READ: Final = "SELECT number, at, kind, epsilon, delta, rho, what, of FROM entries LEFT JOIN refunds ON entry = number"
_CARRIED: Final = """SELECT balance.*, conversion_delta, (SELECT max(number) FROM entries) AS last
    FROM balance JOIN ledger ON ledger.only_row = balance.only_row"""


def damaged(database: Database, how: str) -> LedgerError:
    """The ledger holds what no version of this program writes."""
    return database.trouble(f"is damaged: {how}; restore or examine it by hand before spending more")


def read_version(database: Database, connection: Connection) -> int:
    """The version of the tables; one that this program neither reads nor can bring up to date is refused."""
    versions = connection.rows("SELECT schema_version FROM ledger")
    version = versions[0][0] if len(versions) == 1 else None
    if not isinstance(version, int):
        raise damaged(database, "it does not name its version")
    if version > VERSION or not MIGRATIONS.keys() >= set(range(version, VERSION)):
        raise database.trouble(
            f"has schema version {version}, and this sparsegate reads version {VERSION}; open it with the sparsegate "
            "that made it, or upgrade sparsegate"
        )
    return version


def read_dataset(database: Database, connection: Connection, dataset: str | None) -> str:
    """The name of the dataset; ``dataset``, where given, is what it must be."""
    if read_version(database, connection) != VERSION:
        raise damaged(database, "its version went back")
    name: str = connection.value("SELECT dataset FROM ledger")
    if dataset is not None and name != dataset:
        raise database.trouble(
            f"belongs to the dataset {name!r}, not {dataset!r}; if the data is of the same people, pass "
            f"dataset={name!r}; other people's data needs a ledger of its own"
        )
    return name


def read_statement(database: Database, connection: Connection, dataset: str | None) -> Statement:
    """Every entry of the ledger of a dataset."""
    name = read_dataset(database, connection, dataset)
    rows = connection.rows(f"{_READ} ORDER BY number")
    entries = tuple(_entry(database, place, row) for place, row in enumerate(rows, start=1))
    if not entries or entries[0].kind is not EntryKind.BUDGET:
        raise damaged(database, "it does not begin with a budget")
    text = connection.value("SELECT conversion_delta FROM ledger")
    delta = None if text is None else exact_value(text)
    for entry in entries:
        within = entry.of is None or 0 < entry.of < entry.number
        if not within or (entry.of is not None and not _fits(entry, entries[entry.of - 1], delta is not None)):
            raise damaged(database, f"entry {entry.number} gives back what was not spent")
        if (entry.amount.rho is None) != (delta is None) and entry.kind is EntryKind.BUDGET:
            raise damaged(database, f"entry {entry.number} is of another rule")
    return Statement(dataset=name, entries=entries, conversion_delta=delta)


def _fits(refund: Entry, paid: Entry, zcdp: bool) -> bool:
    """Whether a refund may be of that entry: of a zCDP ledger all that was reserved, else no more, and no delta."""
    if zcdp:
        return paid.kind is EntryKind.RESERVE and refund.amount == paid.amount
    return paid.kind.spends and not paid.amount.delta and refund.amount.within(paid.amount)


def _entry(database: Database, place: int, row: Sequence[object]) -> Entry:
    number, at, kind, epsilon, delta, rho, what, of = row
    try:
        moment, sort = datetime.fromisoformat(str(at)), EntryKind(str(kind))
    except ValueError:
        number = None
    if number != place or (sort is EntryKind.REFUND) != (of is not None):
        raise damaged(database, f"entry {place} does not fit")
    none = rho is None and sort in (EntryKind.BUDGET, EntryKind.RESTORE)
    amount = Amount(epsilon=exact_value(epsilon), delta=exact_value(delta), rho=None if none else exact_value(rho))
    return Entry(number=place, at=moment, kind=sort, amount=amount, what=str(what), of=of)  # type: ignore[arg-type]


def append(
    connection: Connection, number: int, kind: EntryKind, amount: Amount, what: str, of: int | None = None
) -> Entry:
    """Add an entry. A second refund ``of`` one entry is refused by the key of the table."""
    at = now()
    rho = None if amount.rho is None else exact_text(amount.rho)
    texts = {"epsilon": exact_text(amount.epsilon), "delta": exact_text(amount.delta), "rho": rho}
    connection.add("entries", number=number, at=at.isoformat(), kind=kind.value, **texts, what=what)
    if of is not None:
        connection.add("refunds", of=of, entry=number)
    return Entry(number=number, at=at, kind=kind, amount=amount, what=what, of=of)


def read_parts(database: Database, connection: Connection, entry: int) -> dict[int, dict[str, Any]]:
    """The parts of what an entry gave, by their numbers, in their order."""
    rows = connection.rows("SELECT part, gave FROM releases WHERE entry = :entry ORDER BY part", entry=entry)
    return {part: _stored(database, gave, f"what entry {entry} gave does not read") for part, gave in rows}


def _stored(database: Database, text: str, broken: str) -> dict[str, Any]:
    with suppress(TypeError, ValueError, RecursionError):
        return dict(json.loads(text))
    raise damaged(database, broken)


def add_part(connection: Connection, entry: int, gave: Mapping[str, Any], *, part: int | None = None) -> None:
    """Add to what an entry gave. The text is ASCII alone: PostgreSQL stores neither a NUL nor a lone surrogate."""
    part = last_part(connection, entry) + 1 if part is None else part
    try:
        text = json.dumps(dict(gave), default=_plain)
    except (TypeError, ValueError, RecursionError):
        raise ParameterError("gave", "must be what JSON can hold", next_step="keep it as numbers and text") from None
    connection.add("releases", entry=entry, part=part, gave=text)


def last_part(connection: Connection, entry: int) -> int:
    """The number of the last part of what an entry gave; 0 where it gave nothing."""
    return int(connection.value("SELECT max(part) FROM releases WHERE entry = :entry", entry=entry) or 0)


def _plain(value: Any) -> Any:
    """An array as its numbers, anything else that JSON does not know as its text."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    return str(value) if type(plain) is type(value) else plain


USED: Final = 0
"""The part that says that a reserved entry is used, and for what; what was released follows it."""

_ELSEWHERE: Final = "this was closed, or goes on in another process, which has its budget now; go on there"


def open_or_create(
    place: str | Path, *, dataset: str | None, budget: BudgetLike | None, budget_delta: Number | None = None
) -> Ledger:
    """The ledger that is there; or, with a budget, a new one where there is none."""
    if budget is not None and dataset is not None and not Ledger.exists(place):
        try:
            return Ledger.create(place, dataset=dataset, budget=budget, budget_delta=budget_delta or 0)
        except LedgerError:
            # Another process may have made it a moment ago; then it is opened, and checked, like any other.
            if not Ledger.exists(place):
                raise
    return Ledger(place, dataset=dataset, budget=budget, budget_delta=budget_delta)


class Ledger:
    """What was spent on one dataset, and what each release gave: a SQLite file, or a PostgreSQL database.

    Make one with ``create``, open it again with its path or its URL, and pass it as ``ledger=`` to whatever releases
    something: the charge is on disk before anything is drawn, and the result before it is returned. Many processes and
    threads may share a ledger.

    Parameters
    ----------
    place : the path, or postgresql://user@host/database.
    dataset, budget, budget_delta : where given, they must be those that the ledger holds.
    patience : how many seconds to wait for another process to finish writing.
    pooled : keep connections between calls, as a server does.

    A ledger of an older version is brought up to date when it is opened. A pickle of a ledger holds its address, and
    no password: unpickled, it is opened again.

    >>> import tempfile, sparsegate as sg
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = sg.Ledger.create(f"{folder.name}/visits.ledger", dataset="visits", budget=1)
    >>> sg.laplace(1234, epsilon=0.25, sensitivity=1, ledger=ledger, source=sg.Seeded(7), not_private=True)
    1234
    >>> print(ledger.statement().remaining)
    epsilon 0.75
    >>> ledger.release(2).gave
    ({'release': 'laplace', 'value': 1234},)
    >>> ledger.spend(epsilon=0.8, what="a mean, by another library")
    Traceback (most recent call last):
    sparsegate.errors.BudgetExceeded: epsilon 0.8 is more than the ledger of 'visits' has left: ...
    >>> ledger.close(); folder.cleanup()
    """

    def __init__(
        self,
        place: str | Path,
        *,
        dataset: str | None = None,
        budget: BudgetLike | None = None,
        budget_delta: Number | None = None,
        patience: float = 10.0,
        pooled: bool = False,
    ) -> None:
        self.database = open_database(place, patience=patience, pooled=pooled)
        """Where it is kept."""
        self._dataset, self._patience = dataset, patience
        try:
            statement = self._opened()
            statement.check_budget(budget, budget_delta)
            self._dataset = statement.dataset
            self.rule, self.conversion_delta = statement.rule, statement.conversion_delta
        except BaseException:  # a pool would keep its connections
            self.database.close()
            raise

    def _opened(self) -> Statement:
        """Check the ledger, and bring it up to date."""
        with self.database.reading() as connection:
            tables = self.database.tables(connection)
            if not {"ledger", "entries"} <= tables:
                raise self.database.trouble("is not a ledger: it lacks a ledger's tables; give the path of a ledger")
            version = read_version(self.database, connection)
            if version == VERSION and connection.value("SELECT backed_up_at FROM ledger") is not None:
                raise self.database.trouble("is a backup; make a ledger of it with `sparsegate ledger restore`")
            if wrong := self.database.sound(connection):
                raise self.database.trouble(wrong)
        if version < VERSION:
            with self.database.writing() as connection:
                migrate(connection, read_version(self.database, connection))
        elif not TABLES.keys() <= tables:
            raise damaged(self.database, "it lacks one of its tables")
        with self.database.reading() as connection:
            carried, statement = self._carried(connection), self._read(connection)
            # In PostgreSQL others may write in between: then it is of fewer entries.
            if carried is not None and carried != statement.balance and carried.entries == len(statement.entries):
                raise damaged(self.database, "its balance is not that of its entries")
        return statement

    @classmethod
    def create(
        cls, place: str | Path, *, dataset: str, budget: BudgetLike, budget_delta: Number = 0, patience: float = 10.0
    ) -> Ledger:
        """Make a ledger for ``dataset`` whose epsilons may add up to ``budget``, whole or not at all.

        With ``budget=(epsilon, delta)`` it is a zCDP ledger for its whole life: it adds up rho, to the largest at which
        all releases together are (epsilon, delta)-DP. What deltas of their own the releases have may add up to
        ``budget_delta``, and add to that. One that is already there is refused.
        """
        amount, at = exact_budget(budget, budget_delta)
        public_line(dataset, "dataset")

        def build(connection: Connection) -> None:
            create(connection, dataset, None if at is None else exact_text(at))
            append(connection, 1, EntryKind.BUDGET, amount, "the budget at the start")

        with closing(open_database(place, patience=patience)) as database:
            database.make(build)
        return cls(place, dataset=dataset, patience=patience)

    @staticmethod
    def exists(place: str | Path) -> bool:
        """Whether there is a ledger at a path, or in the database at a URL."""
        with closing(open_database(place)) as database:
            return database.exists()

    @property
    def dataset(self) -> str:
        """The name of the dataset, fixed when the ledger was made."""
        return self._dataset or ""

    def spend(self, *, epsilon: Number, delta: Number = 0, what: str, rho: Number | None = None) -> Entry:
        """Commit the spending, or raise ``BudgetExceeded``. Draw nothing before this returns.

        ``rho`` is what a zCDP ledger counts: the release is delta-approximately rho-zCDP. Unless given it is
        the rho of whatever is epsilon-DP, epsilon tanh(epsilon / 2).
        """
        amount = exact_amount(epsilon, delta, rho)
        public_line(what, "what")
        with self.database.writing() as connection:
            return self.charge(connection, amount, what)

    def charge(
        self,
        connection: Connection,
        amount: Amount,
        what: str,
        kind: EntryKind = EntryKind.SPEND,
        balance: Balance | None = None,
    ) -> Entry:
        """Add a spending to a transaction; every entry is read and checked for it, unless the ``balance`` is given."""
        balance = balance or self._read(connection).balance
        if amount.rho is None:
            amount = exact_amount(amount.epsilon, amount.delta)
        for value in (amount.epsilon, amount.delta, amount.rho or Fraction(0)):  # not rounded: amounts are compared
            recordable(value, "epsilon")
        balance.admit(amount)
        return self._append(connection, balance, kind, amount, what)

    def _append(self, connection: Connection, balance: Balance, *entry: Any) -> Entry:
        """Add an entry, and carry the balance on to it. Sums too long to be written are added up each time."""
        added = append(connection, balance.entries + 1, *entry)
        after = balance.after(added)
        sums = {name: getattr(after.spent, name) for name in _SUMS}
        connection.run("DELETE FROM balance")
        with suppress(ParameterError):
            texts = {n: None if value is None else exact_text(recordable(value, n)) for n, value in sums.items()}
            last = {"entry": after.entries, "budget": after.allowed, "restored": after.restored}
            connection.add("balance", only_row=1, **last, **texts)
        return added

    def _balance(self, connection: Connection) -> Balance:
        """What an ABOVE is paid from: as it was carried to the last entry, or else from all entries."""
        return self._carried(connection) or self._read(connection).balance

    def _carried(self, connection: Connection) -> Balance | None:
        name = read_dataset(self.database, connection, self._dataset)
        row = connection.one(_CARRIED)
        if row is None or row.entry != row.last:
            return None
        budget = connection.one(f"{_READ} WHERE number = :number", number=row.budget)
        if budget is None or budget.kind != EntryKind.BUDGET or not isinstance(row.restored, int):
            raise damaged(self.database, "its balance names no budget, or no restore")
        zcdp = row.conversion_delta is not None
        spent = {name: exact_value(text) for name in _SUMS if (text := getattr(row, name)) is not None}
        return Balance(
            dataset=name,
            conversion_delta=exact_value(row.conversion_delta) if zcdp else None,
            budget=_entry(self.database, row.budget, budget).amount,
            spent=Amount(**spent, counts_rho=zcdp),
            entries=row.entry,
            allowed=row.budget,
            restored=row.restored,
        )

    def give_back(self, entry: Entry | int, *, epsilon: Number) -> Entry | None:
        """Commit that the release of an entry is over and did not cost this much of it. Once: again changes nothing.

        Gates do this when they are closed. By hand it is for a release without a delta whose loss is bounded for each
        transcript (``account``). It is rounded down to twelve decimal places; None: nothing goes back, as to a zCDP
        ledger.
        """
        exact = exact_epsilon(epsilon)
        with self.database.writing() as connection:
            return self.refund(connection, self.spending(connection, entry).number, exact)

    def refund(self, connection: Connection, number: int, epsilon: Fraction) -> Entry | None:
        """Give back within a transaction that is open; None on a zCDP ledger, to which nothing of a charge goes."""
        amount = Amount(epsilon=rounded_down(epsilon), rho=Fraction(0))
        balance = self._read(connection).balance
        paid = self.spending(connection, number)
        if balance.conversion_delta is not None:
            return None
        if (before := connection.one(f"{_READ} WHERE of = :of", of=number)) is not None:
            return _entry(self.database, before.number, before)
        if number < balance.restored:
            left = "and what it had left then counts as spent"
            raise self.database.trouble(f"was restored from a backup after entry {number}, {left}")
        if paid.amount.delta or not amount.within(paid.amount):
            rule = f"must be at most what entry {number} spent, {paid.amount}, and that without a delta"
            raise ParameterError("epsilon", rule, str(amount), "only what a pure mechanism did not use goes back")
        if not amount.epsilon:
            return None
        what = public_line(f"not used by entry {number}, {paid.what}"[:LONGEST_LINE], "what")
        return self._append(connection, balance, EntryKind.REFUND, amount, what, number)

    def keep(self, entry: Entry | int, gave: Mapping[str, Any], *, after: int | None = None) -> None:
        """Store what the release of an entry gave, as JSON; may be called again to add to it.

        With ``after`` only as the part that follows this many, and of an entry that has given nothing back: of two
        processes that go on with one release, the store refuses the one that does not know all of it.
        """
        with self.database.writing() as connection:
            number = self.spending(connection, entry).number
            if after is not None and (last_part(connection, number) != after or self._gave_back(connection, number)):
                raise self.database.trouble(f"has more of entry {number} than this process knows; start it again")
            add_part(connection, number, gave)

    def release(self, number: int) -> Release:
        """What the entry of that number gave, again, and at no cost."""
        with self.database.reading() as connection:
            entry = self.spending(connection, number)
            parts = read_parts(self.database, connection, number)
        return Release(entry=entry, gave=tuple(gave for part, gave in parts.items() if part != USED))

    @contextmanager
    def together(self) -> Iterator[Together]:
        """Reserve several charges, all or none: they are one transaction, committed when the block ends.

        After the block, and not inside it, pass each reserved charge as ``ledger=`` to its release, once.

        >>> import tempfile, sparsegate as sg
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = sg.Ledger.create(f"{folder.name}/visits.ledger", dataset="visits", budget=1)
        >>> with ledger.together() as report:
        ...     people = report.reserve(epsilon=0.25, what="June: people")
        ...     visits = report.reserve(epsilon=0.25, what="June: visits")
        >>> sg.laplace(1234, epsilon=0.25, sensitivity=1, ledger=people, source=sg.Seeded(7), not_private=True)
        1234
        >>> ledger.close(); folder.cleanup()
        """
        group = Together()
        yield group
        with self.database.writing() as connection:
            balance, entries = self._read(connection).balance, []
            for each in group.reserved:
                entries.append(self.charge(connection, each.amount, each.what, EntryKind.RESERVE, balance))
                balance = balance.after(entries[-1])
        for reserved, entry in zip(group.reserved, entries, strict=True):
            reserved.place = self, entry

    def reserved(self, number: int) -> Reserved:
        """The reserved charge of that number again, in another process or after a crash. It serves one release."""
        with self.database.reading() as connection:
            entry = self._reserved(connection, number)
        return Reserved(entry.amount, entry.what, (self, entry))

    def begin_release(self, number: int, cost: Amount, what: str) -> Entry:
        """Write that a reserved entry is used: the store decides, so that of two releases one is refused."""
        with self.database.writing() as connection:
            entry = self._reserved(connection, number)
            balance = self._read(connection).balance
            if not balance.covers(entry.amount, cost):
                raise BudgetExceeded(
                    f"{balance.says(cost)} is more than was reserved for {entry.what!r}, "
                    f"{balance.says(entry.amount)}; nothing was released; ask for less, or reserve more"
                )
            if read_parts(self.database, connection, number):
                raise self.database.trouble(
                    f"has used entry {number} already, and a reserved charge serves one release; read what it gave "
                    f"with release({number})"
                )
            if number < balance.restored:
                raise self.database.trouble(
                    f"was restored from a backup after entry {number}, which may have served a release since; reserve "
                    "another charge"
                )
            if self._gave_back(connection, number):
                raise self.database.trouble(
                    f"got entry {number} back, and what was given back pays for nothing; reserve another charge"
                )
            add_part(connection, number, {"what": what}, part=USED)
        return entry

    def open_meter(self, *, opening: tuple[Number, Number], each: tuple[Number, Number], what: str) -> AboveMeter:
        """Charge a gate that pays for each ABOVE, and reserve the first, both or neither: epsilons and rhos."""
        amount = exact_amount(opening[0], 0, opening[1])
        public_line(what, "what")
        with self.database.writing() as connection:
            self._read(connection).balance.admit(amount + exact_amount(each[0], 0, each[1]))
            return self.meter(connection, self.charge(connection, amount, what), each)

    def meter(self, connection: Connection, entry: Entry, each: tuple[Number, Number]) -> AboveMeter:
        """Reserve the next ABOVE of a gate that is charged already."""
        amount = exact_amount(each[0], 0, each[1])
        return AboveMeter(self, entry, amount, self.hold(connection, amount, entry))

    def go_on(self, gate: DurableGate, each: tuple[Number, Number]) -> None:
        """Reserve the next ABOVE of a durable gate that goes on, if it is open and all its answers are known."""
        with self.database.writing() as connection:
            self._change(connection, gate, asked=gate.counts.asked)
            gate.meter = self.meter(connection, gate.entry, each)

    def hold(self, connection: Connection, each: Amount, of: Entry) -> Entry:
        """Reserve one ABOVE for a gate. It is used from the start, so that nothing else takes it."""
        what = f"the next ABOVE of entry {of.number}"
        held = self.charge(connection, each, what, EntryKind.RESERVE, self._balance(connection))
        add_part(connection, held.number, {"what": what}, part=USED)
        return held

    def use_held(
        self, connection: Connection, held: Entry, *, each: Amount, count: int, of: Entry
    ) -> tuple[int, Entry | None]:
        """Commit up to ``count`` ABOVE, the first of which is held: how many are paid for, and what is held now."""
        balance = self._balance(connection)
        self._need_held(connection, balance, held)
        room = balance.room(each, most=count)
        paid = min(count, room + 1)
        add_part(connection, held.number, {"above": paid})
        if paid > 1:
            what = f"{paid - 1} more ABOVE of entry {of.number}"
            self.charge(connection, each.times(paid - 1), what, balance=balance)
        return paid, self.hold(connection, each, of) if room == count else None

    def cancel_held(self, connection: Connection, held: Entry) -> Entry:
        """Give back what is held for an ABOVE that will not be, whole."""
        balance = self._balance(connection)
        self._need_held(connection, balance, held)
        what = f"not used: entry {held.number}"
        return self._append(connection, balance, EntryKind.REFUND, held.amount, what, held.number)

    def _need_held(self, connection: Connection, balance: Balance, held: Entry) -> None:
        """Refuse what paid for an ABOVE, went back, or is of before the ledger was restored."""
        number = self.spending(connection, held).number
        over = number < balance.restored or self._gave_back(connection, number)
        if over or last_part(connection, number) != USED:
            raise self.database.trouble(f"has entry {number} no more, which was reserved for the next ABOVE")

    def open_gate(
        self,
        connection: Connection,
        *,
        epsilon: Fraction,
        what: str,
        title: str,
        terms: Mapping[str, Any],
        refund: bool,
        reserved: int = 0,
        sealed: bytes | None = None,
        rho: Fraction | None = None,
    ) -> DurableGate:
        """Charge a durable gate and write its row, in a transaction that may write more; see ``ledger.gate``."""
        entry = self.charge(connection, exact_amount(epsilon, 0, rho), what)
        refund = refund and self.rule == "epsilon"
        row = {"entry": entry.number, "title": title, "terms": json.dumps(terms), "sealed": sealed}
        connection.add("gates", **row, refund=int(refund), asked=reserved, above=0, below=0)
        return DurableGate(self, entry, terms=terms, counts=AnswerCounts(asked=reserved), refund=refund)

    def gates(self, connection: Connection, title: str) -> list[DurableGate]:
        """The durable gates of a title, oldest first."""
        statement = self._read(connection)
        rows = connection.rows("SELECT * FROM gates WHERE title = :title ORDER BY entry", title=title)
        backs = {row.entry: statement.refund_of(row.entry) for row in rows}
        return [
            DurableGate(
                self,
                statement.entries[row.entry - 1],
                terms=_stored(self.database, row.terms, f"the terms of the gate of entry {row.entry} do not read"),
                counts=AnswerCounts(asked=row.asked, above=row.above, below=row.below),
                refund=bool(row.refund),
                closed=row.closed_because or "",
                given_back=Fraction(0) if (back := backs[row.entry]) is None else back.amount.epsilon,
            )
            for row in rows
        ]

    def count_answer(
        self, connection: Connection, gate: DurableGate, after: AnswerCounts, answer: Mapping[str, Any]
    ) -> None:
        """Count an answer of a gate and store it, if all before it are known and the gate is open."""
        self._change(connection, gate, asked=after.asked, above=after.above, below=after.below)
        if self._gave_back(connection, gate.entry.number):
            raise GateClosed(_ELSEWHERE)
        add_part(connection, gate.entry.number, answer)

    def close_gate(self, connection: Connection, gate: DurableGate, because: str, cost: Fraction) -> None:
        """Close a gate for good, and give back all but its cost, if all its answers are known."""
        self._change(connection, gate, closed_because=because)
        rest = gate.epsilon - cost
        back = self.refund(connection, gate.entry.number, rest) if gate.refund and rest > 0 else None
        gate.closed, gate.given_back = because, Fraction(0) if back is None else back.amount.epsilon

    def _change(self, connection: Connection, gate: DurableGate, **values: int | str) -> None:
        """Write to the row of a gate, if it is open and counts what this process knows of."""
        known = {name: getattr(gate.counts, name) for name in ("asked", "above", "below")}
        sql = f"UPDATE gates SET {', '.join(f'{name} = :new_{name}' for name in values)} WHERE entry = :entry"
        same = " AND closed_because IS NULL AND asked = :asked AND above = :above AND below = :below"
        new = {f"new_{name}": value for name, value in values.items()}
        paid = self.spending(connection, gate.entry.number)
        if paid != gate.entry or not connection.run(sql + same, entry=paid.number, **known, **new):
            raise GateClosed(_ELSEWHERE)

    def raise_budget(self, *, budget: Number, budget_delta: Number | None = None, why: str) -> Entry:
        """Commit a larger budget; that of delta stays as it is unless given. Of a zCDP ledger its epsilon is raised."""
        public_line(why, "why")
        with self.database.writing() as connection:
            statement = self._read(connection)
            amount = statement.raised(budget, budget_delta)
            return self._append(connection, statement.balance, EntryKind.BUDGET, amount, why)

    def statement(self) -> Statement:
        """Everything, read at one moment."""
        with self.database.reading() as connection:
            return self._read(connection)

    def total_spent(self) -> Amount:
        """The sum of everything spent and not given back."""
        return self.statement().spent

    def entries(self) -> tuple[Entry, ...]:
        """Every entry, oldest first."""
        return self.statement().entries

    def commit_seconds(self, times: int = 5) -> float:
        """How long it takes until a little is on disk, at the median; what is written is what is there already."""
        taken = []
        for _ in range(times):
            begun = time.perf_counter()
            with self.database.writing() as connection:
                connection.run("UPDATE ledger SET only_row = 1")
            taken.append(time.perf_counter() - begun)
        return statistics.median(taken)

    def close(self) -> None:
        """Let go of the database. What was spent stays; a ledger can be opened again."""
        self.database.close()

    def reopening(self) -> Callable[[], Ledger]:
        """What opens this ledger again, in this process or in another one; it can be pickled, and has no password."""
        return partial(Ledger, self.database.address, dataset=self.dataset, patience=self._patience)

    def __reduce__(self) -> tuple[Callable[[], Ledger], tuple[()]]:
        """A copy, or what comes out of a pickle, is the same ledger, opened again: it spends from the same budget."""
        return self.reopening(), ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ledger of {self.dataset!r} in {self.database.shown}>"

    def _read(self, connection: Connection) -> Statement:
        return read_statement(self.database, connection, self._dataset)

    def spending(self, connection: Connection, entry: object) -> Entry:
        """The entry of that number, or this entry, which must be one of this ledger that spent."""
        read_dataset(self.database, connection, self._dataset)
        number, row = entry.number if isinstance(entry, Entry) else entry, None
        if isinstance(number, int) and 1 < number < 2**31:
            row = connection.one(f"{_READ} WHERE number = :number", number=number)
        spent = None if row is None else _entry(self.database, row.number, row)
        if spent is None or not spent.kind.spends:
            next_step = "see the entries with `sparsegate ledger show`"
            raise ParameterError("number", "must be that of an entry that spent", number, next_step)
        if spent != entry and isinstance(entry, Entry):
            rule = "must be an entry of this ledger"
            raise ParameterError("entry", rule, number, "go to the ledger that paid for the release")
        return spent

    def _gave_back(self, connection: Connection, entry: int) -> bool:
        return connection.one("SELECT entry FROM refunds WHERE of = :entry", entry=entry) is not None

    def _reserved(self, connection: Connection, number: object) -> Entry:
        entry = self.spending(connection, number)
        if entry.kind is not EntryKind.RESERVE:
            raise ParameterError("number", "must be that of a reserved entry", number, "see `sparsegate ledger show`")
        return entry
