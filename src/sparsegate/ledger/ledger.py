"""The ledger in a database: a SQLite file, or PostgreSQL for several server processes. See ``account`` for the rules.

Every method is one transaction. A ledger that is missing, locked, read-only, damaged or full is a ``LedgerError``, and
then nothing was spent.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

from sqlalchemy import Connection, inspect, select, update

from sparsegate.budget import LONGEST_LINE, Number, exact_epsilon
from sparsegate.errors import BudgetExceeded, LedgerError, ParameterError
from sparsegate.ledger.account import (
    Amount,
    Entry,
    EntryKind,
    Release,
    Statement,
    exact_amount,
    public_line,
    rounded_down,
)
from sparsegate.ledger.database import open_database
from sparsegate.ledger.database_schema import LEDGER, VERSION, create, migrate
from sparsegate.ledger.reserved import Reserved, Together
from sparsegate.ledger.rows import (
    add_part,
    append,
    gave_back,
    last_part,
    read_dataset,
    read_parts,
    read_spent,
    read_statement,
    read_version,
)

USED: Final = 0
"""The part that says that a reserved entry is used, and for what; what was released follows it."""


class Ledger:
    """What was spent on one dataset, and what each release gave: a SQLite file, or a PostgreSQL database.

    Make one with ``create``, open it again with its path or its postgresql:// URL, and pass it as ``ledger=`` to
    whatever releases something: the charge is on disk before anything is drawn, and the result before it is returned.
    Many processes and threads may share a ledger.

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
        budget: Number | None = None,
        budget_delta: Number | None = None,
        patience: float = 10.0,
        pooled: bool = False,
    ) -> None:
        self.database = open_database(place, patience=patience, pooled=pooled)
        """Where it is stored; what is written there must keep the rules of ``ledger.account``."""
        self._dataset: str | None = dataset
        self._patience = patience
        try:
            statement = self._opened()
            statement.check_budget(budget, budget_delta)
            self._dataset = statement.dataset
        except BaseException:  # a pool would keep its connections
            self.database.close()
            raise

    def _opened(self) -> Statement:
        """Check the ledger, and bring it up to date."""
        with self.database.reading() as connection:
            if not {"ledger", "entries"} <= set(inspect(connection).get_table_names()):
                raise self.database.trouble("is not a ledger: it lacks a ledger's tables; give the path of a ledger")
            old = read_version(self.database, connection) < VERSION
            if not old and connection.execute(select(LEDGER.c.backed_up_at)).scalar_one() is not None:
                raise self.database.trouble("is a backup; make a ledger of it with `sparsegate ledger restore`")
            if wrong := self.database.sound(connection):
                raise self.database.trouble(wrong)
        if old:
            with self.database.writing() as connection:
                migrate(connection)
        return self.statement()

    @classmethod
    def create(
        cls, place: str | Path, *, dataset: str, budget: Number, budget_delta: Number = 0, patience: float = 10.0
    ) -> Ledger:
        """Make a ledger for ``dataset`` whose epsilons may add up to ``budget``, whole or not at all.

        One that is already there is refused.
        """
        amount = exact_amount(budget, budget_delta, epsilon_name="budget", delta_name="budget_delta")
        public_line(dataset, "dataset")

        def build(connection: Connection) -> None:
            create(connection, dataset)
            append(connection, 1, EntryKind.BUDGET, amount, "the budget at the start")

        database = open_database(place, patience=patience)
        database.make(build)
        database.close()
        return cls(place, dataset=dataset, patience=patience)

    @staticmethod
    def exists(place: str | Path) -> bool:
        """Whether there is a ledger at a path, or in the database at a URL."""
        database = open_database(place)
        try:
            return database.exists()
        finally:
            database.close()

    @property
    def dataset(self) -> str:
        """The name of the dataset, fixed when the ledger was made."""
        return self._dataset or ""

    def spend(self, *, epsilon: Number, delta: Number = 0, what: str) -> Entry:
        """Commit the spending, or raise ``BudgetExceeded``. Draw nothing before this returns."""
        amount = exact_amount(epsilon, delta)
        public_line(what, "what")
        with self.database.writing() as connection:
            return self.charge(connection, amount, what)

    def charge(self, connection: Connection, amount: Amount, what: str, kind: EntryKind = EntryKind.SPEND) -> Entry:
        """Add a spending to a transaction that writes more than that."""
        statement = self._read(connection)
        statement.admit(amount)
        return append(connection, len(statement.entries) + 1, kind, amount, what)

    def give_back(self, entry: Entry | int, *, epsilon: Number, after: int | None = None) -> Entry | None:
        """Commit that the release of an entry is over and did not cost this much of it. Once: again changes nothing.

        Gates do this when they are closed. By hand it is for a release whose loss is bounded for each transcript, as
        the theorem of ``account`` asks; the entry must have no delta. What goes back is rounded down to twelve decimal
        places; None: that is nothing. With ``after`` it goes back only where the entry has this many parts: whoever
        does not know all that a release gave does not know what it cost.
        """
        exact = exact_epsilon(epsilon)
        with self.database.writing() as connection:
            number = self._own(connection, entry).number
            if after is not None and last_part(connection, number) != after:
                raise self._unknown_parts(number)
            return self.refund(connection, number, exact)

    def refund(self, connection: Connection, number: int, epsilon: Fraction) -> Entry | None:
        """Add a refund of an entry to a transaction that writes more than that."""
        amount = Amount(epsilon=rounded_down(epsilon))
        statement = self._read(connection)
        paid = self._spent(connection, number)
        if (before := statement.refund_of(number)) is not None:
            return before
        if statement.restored_after(number):
            raise self.database.trouble(
                f"was restored from a backup after entry {number}, and what it had left then counts as spent"
            )
        if paid.amount.delta or not amount.within(paid.amount):
            raise ParameterError(
                "epsilon",
                f"must be at most what entry {number} spent, {paid.amount}, and that without a delta",
                str(amount),
                "only what a pure mechanism did not use goes back",
            )
        if not amount.epsilon:
            return None
        what = public_line(f"not used by entry {number}, {paid.what}"[:LONGEST_LINE], "what")
        return append(connection, len(statement.entries) + 1, EntryKind.REFUND, amount, what, of=number)

    def keep(self, entry: Entry | int, gave: Mapping[str, Any], *, after: int | None = None) -> None:
        """Store what the release of an entry gave, as JSON; may be called again to add to it.

        With ``after`` it is stored only as the part that follows this many, and of an entry that has given nothing
        back: of two processes that go on with one release, the store refuses the one that does not know all of it.
        """
        with self.database.writing() as connection:
            number = self._own(connection, entry).number
            if after is not None and (last_part(connection, number) != after or gave_back(connection, number)):
                raise self._unknown_parts(number)
            add_part(connection, number, gave)

    def release(self, number: int) -> Release:
        """What the entry of that number gave, again, and at no cost."""
        with self.database.reading() as connection:
            entry = self._spent(connection, number)
            parts = read_parts(self.database, connection, number)
        return Release(entry=entry, gave=tuple(gave for part, gave in parts.items() if part != USED))

    @contextmanager
    def together(self) -> Iterator[Together]:
        """Reserve several charges, all or none: they are one transaction, committed when the block ends.

        Nothing can be drawn inside the block. After it, pass each reserved charge as ``ledger=`` to its release, once.

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
            entries = [self.charge(connection, one.amount, one.what, EntryKind.RESERVE) for one in group.reserved]
        for one, entry in zip(group.reserved, entries, strict=True):
            one.commit(self, entry)

    def reserved(self, number: int) -> Reserved:
        """The reserved charge of that number again, in another process or after a crash. It serves one release."""
        with self.database.reading() as connection:
            entry = self._reserved(connection, number)
        again = Reserved(entry.amount, entry.what)
        again.commit(self, entry)
        return again

    def begin_release(self, number: int, cost: Amount, what: str) -> Entry:
        """Write that a reserved entry is used: the store decides, so that of two releases one is refused."""
        with self.database.writing() as connection:
            entry = self._reserved(connection, number)
            if not cost.within(entry.amount):
                raise BudgetExceeded(
                    f"{cost} is more than was reserved for {entry.what!r}, {entry.amount}; nothing was released; ask "
                    "for less, or reserve more"
                )
            if read_parts(self.database, connection, number):
                raise self.database.trouble(
                    f"has used entry {number} already, and a reserved charge serves one release; read what it gave "
                    f"with release({number})"
                )
            statement = self._read(connection)
            if statement.restored_after(number):
                raise self.database.trouble(
                    f"was restored from a backup after entry {number}, which may have served a release since; reserve "
                    "another charge"
                )
            if statement.refund_of(number) is not None:
                raise self.database.trouble(
                    f"got entry {number} back, and what was given back pays for nothing; reserve another charge"
                )
            add_part(connection, number, {"what": what}, part=USED)
        return entry

    def raise_budget(self, *, budget: Number, budget_delta: Number | None = None, why: str) -> Entry:
        """Commit a larger budget; that of delta stays as it is unless given."""
        public_line(why, "why")
        exact_amount(budget, budget_delta or 0, epsilon_name="budget", delta_name="budget_delta")
        with self.database.writing() as connection:
            statement = self._read(connection)
            amount = exact_amount(budget, statement.budget.delta if budget_delta is None else budget_delta)
            statement.admit_raise(amount)
            return append(connection, len(statement.entries) + 1, EntryKind.BUDGET, amount, why)

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
                connection.execute(update(LEDGER).values(only_row=1))
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

    def _unknown_parts(self, number: int) -> LedgerError:
        return self.database.trouble(
            f"has more of entry {number} than this process knows: another one went on with it, or ended it; stop one "
            "of the two, and start this one again"
        )

    def _read(self, connection: Connection) -> Statement:
        return read_statement(self.database, connection, self._dataset)

    def _spent(self, connection: Connection, number: object) -> Entry:
        read_dataset(self.database, connection, self._dataset)
        return read_spent(self.database, connection, number)

    def _own(self, connection: Connection, entry: Entry | int) -> Entry:
        number = entry.number if isinstance(entry, Entry) else entry
        found = self._spent(connection, number)
        if found != entry and isinstance(entry, Entry):
            rule = "must be an entry of this ledger"
            raise ParameterError("entry", rule, number, "go to the ledger that paid for the release")
        return found

    def _reserved(self, connection: Connection, number: object) -> Entry:
        entry = self._spent(connection, number)
        if entry.kind is not EntryKind.RESERVE:
            raise ParameterError("number", "must be that of a reserved entry", number, "see `sparsegate ledger show`")
        return entry
