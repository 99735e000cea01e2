"""The ledger in a database: a SQLite file, or PostgreSQL for several server processes. See ``account`` for the rules.

Every method is one transaction. A ledger that is missing, locked, read-only, damaged or full is a ``LedgerError``, and
then nothing was spent.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, insert, inspect, select, update

from sparsegate.budget import Number
from sparsegate.errors import LedgerError
from sparsegate.ledger.account import (
    Amount,
    Entry,
    Kind,
    Statement,
    exact_amount,
    exact_text,
    exact_value,
    public_line,
)
from sparsegate.ledger.database import open_database
from sparsegate.ledger.database_schema import ENTRIES, LEDGER, VERSION, create, migrate

_ORDER = (ENTRIES.c.number, ENTRIES.c.at, ENTRIES.c.kind, ENTRIES.c.epsilon, ENTRIES.c.delta, ENTRIES.c.what)


class Ledger:
    """A ledger in the SQLite file at a path, or in the PostgreSQL database at a URL.

    Make one with ``create`` and open it again with its place. ``dataset``, where given, must be the name that the
    ledger holds. ``patience`` is how many seconds to wait for another process to finish writing. ``pooled`` keeps
    connections between calls. A ledger of an older version is brought up to date when it is opened.
    """

    def __init__(
        self, place: str | Path, *, dataset: str | None = None, patience: float = 10.0, pooled: bool = False
    ) -> None:
        self.database = open_database(place, patience=patience, pooled=pooled)
        self._dataset: str | None = dataset
        try:
            self._dataset = self._opened()
        except BaseException:  # a pool would keep its connections
            self.database.close()
            raise

    def _opened(self) -> str:
        """Check the ledger, bring it up to date, and return the name of its dataset."""
        with self.database.reading() as connection:
            if not {"ledger", "entries"} <= set(inspect(connection).get_table_names()):
                raise self.database.trouble("is not a ledger: it lacks a ledger's tables; give the path of a ledger")
            if wrong := self.database.sound(connection):
                raise self.database.trouble(wrong)
            old = self._version(connection) < VERSION
        if old:
            with self.database.writing() as connection:
                migrate(connection)
        return self.statement().dataset

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
            append(connection, 1, Kind.BUDGET, amount, "the budget at the start")

        database = open_database(place, patience=patience)
        database.make(build)
        database.close()
        return cls(place, dataset=dataset, patience=patience)

    @property
    def path(self) -> Path:
        """Where the file is, of a ledger that is one."""
        return Path(self.database.shown)

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

    def charge(self, connection: Connection, amount: Amount, what: str) -> Entry:
        """Add a spending to a transaction that writes more than that."""
        statement = self.read(connection)
        statement.admit(amount)
        return append(connection, len(statement.entries) + 1, Kind.SPEND, amount, what)

    def raise_budget(self, *, budget: Number, budget_delta: Number | None = None, why: str) -> Entry:
        """Commit a larger budget; that of delta stays as it is unless given."""
        public_line(why, "why")
        exact_amount(budget, budget_delta or 0, epsilon_name="budget", delta_name="budget_delta")
        with self.database.writing() as connection:
            statement = self.read(connection)
            amount = exact_amount(budget, statement.budget.delta if budget_delta is None else budget_delta)
            statement.admit_raise(amount)
            return append(connection, len(statement.entries) + 1, Kind.BUDGET, amount, why)

    def statement(self) -> Statement:
        """Everything, read at one moment."""
        with self.database.reading() as connection:
            return self.read(connection)

    def total_spent(self) -> Amount:
        """The sum of everything spent."""
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
        """Let go of the database."""
        self.database.close()

    def read(self, connection: Connection) -> Statement:
        """Everything, read in a transaction of the caller's; anything that does not fit means a damaged ledger."""
        if self._version(connection) != VERSION:
            raise self._damaged("its version went back")
        header = connection.execute(select(LEDGER.c.dataset)).fetchall()
        if len(header) != 1 or not isinstance(header[0][0], str):
            raise self._damaged("it does not name its dataset")
        dataset = header[0][0]
        if self._dataset is not None and dataset != self._dataset:
            raise self.database.trouble(
                f"belongs to the dataset {dataset!r}, not {self._dataset!r}; a ledger holds one dataset, so give the "
                "right name, or a ledger of its own to other people's data"
            )
        rows = connection.execute(select(*_ORDER).order_by(ENTRIES.c.number))
        entries = tuple(self._entry(place, tuple(row)) for place, row in enumerate(rows, start=1))
        if not entries or entries[0].kind is not Kind.BUDGET:
            raise self._damaged("it does not begin with a budget")
        return Statement(dataset=dataset, entries=entries)

    def _version(self, connection: Connection) -> int:
        versions = connection.execute(select(LEDGER.c.schema_version)).scalars().all()
        version = versions[0] if len(versions) == 1 else None
        if not isinstance(version, int) or version < 1:
            raise self._damaged("it does not name its version")
        if version > VERSION:
            raise self.database.trouble(
                f"has schema version {version}, and this sparsegate reads up to {VERSION}; upgrade sparsegate"
            )
        return version

    def _entry(self, place: int, row: Sequence[object]) -> Entry:
        number, at, kind, epsilon, delta, what = row
        try:
            moment, sort = datetime.fromisoformat(str(at)), Kind(str(kind))
        except ValueError:
            number = None
        if number != place:
            raise self._damaged(f"entry {place} does not fit")
        amount = Amount(epsilon=exact_value(epsilon), delta=exact_value(delta))
        return Entry(number=place, at=moment, kind=sort, amount=amount, what=str(what))

    def _damaged(self, how: str) -> LedgerError:
        return self.database.trouble(f"is damaged: {how}; restore or examine it by hand before spending more")


def append(connection: Connection, number: int, kind: Kind, amount: Amount, what: str) -> Entry:
    """Add an entry."""
    at = now()
    written = (number, at.isoformat(), kind.value, exact_text(amount.epsilon), exact_text(amount.delta), what)
    connection.execute(insert(ENTRIES).values(dict(zip((column.name for column in _ORDER), written, strict=True))))
    return Entry(number=number, at=at, kind=kind, amount=amount, what=what)


def now() -> datetime:
    """The time for the record, to the second: more would tell how long things took."""
    return datetime.now(UTC).replace(microsecond=0)


def ledger_exists(place: str | Path) -> bool:
    """Whether there is a ledger at a path, or in the database at a URL."""
    database = open_database(place)
    try:
        return database.exists()
    finally:
        database.close()
