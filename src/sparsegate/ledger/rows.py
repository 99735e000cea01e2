"""The rows of a ledger: written in one way, and read strictly, because what does not fit means a damaged ledger."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, func, insert, select

from sparsegate.errors import LedgerError, ParameterError
from sparsegate.ledger.account import Amount, Entry, EntryKind, Statement, exact_text, exact_value
from sparsegate.ledger.database import Database
from sparsegate.ledger.database_schema import ENTRIES, LEDGER, REFUNDS, RELEASES, VERSION

_ORDER: Final = (ENTRIES.c.number, ENTRIES.c.at, ENTRIES.c.kind, ENTRIES.c.epsilon, ENTRIES.c.delta, ENTRIES.c.what)
_READ: Final = select(*_ORDER, REFUNDS.c.of).outerjoin(REFUNDS, REFUNDS.c.entry == ENTRIES.c.number)


def read_version(database: Database, connection: Connection) -> int:
    """The version of the tables; one that is newer than this program is refused."""
    versions = connection.execute(select(LEDGER.c.schema_version)).scalars().all()
    version = versions[0] if len(versions) == 1 else None
    if not isinstance(version, int) or version < 1:
        raise damaged(database, "it does not name its version")
    if version > VERSION:
        raise database.trouble(
            f"has schema version {version}, and this sparsegate reads up to {VERSION}; upgrade sparsegate"
        )
    return version


def read_dataset(database: Database, connection: Connection, dataset: str | None) -> str:
    """The name of the dataset; ``dataset``, where given, is what it must be."""
    if read_version(database, connection) != VERSION:
        raise damaged(database, "its version went back")
    names = connection.execute(select(LEDGER.c.dataset)).scalars().all()
    if len(names) != 1 or not isinstance(names[0], str):
        raise damaged(database, "it does not name its dataset")
    if dataset is not None and names[0] != dataset:
        raise database.trouble(
            f"belongs to the dataset {names[0]!r}, not {dataset!r}; if the data is of the same people, pass "
            f"dataset={names[0]!r}; other people's data needs a ledger of its own"
        )
    return names[0]


def read_statement(database: Database, connection: Connection, dataset: str | None) -> Statement:
    """Every entry of the ledger of a dataset."""
    name = read_dataset(database, connection, dataset)
    rows = connection.execute(_READ.order_by(ENTRIES.c.number))
    entries = tuple(_entry(database, place, tuple(row)) for place, row in enumerate(rows, start=1))
    if not entries or entries[0].kind is not EntryKind.BUDGET:
        raise damaged(database, "it does not begin with a budget")
    for entry in entries:
        if entry.of is not None and not (0 < entry.of < entry.number and _gives_back(entry, entries[entry.of - 1])):
            raise damaged(database, f"entry {entry.number} gives back what was not spent")
    return Statement(dataset=name, entries=entries)


def _gives_back(refund: Entry, paid: Entry) -> bool:
    """Whether one may have given back the other: it spent as much, and no delta."""
    return paid.kind.spends and not paid.amount.delta and refund.amount.within(paid.amount)


def read_spent(database: Database, connection: Connection, number: object) -> Entry:
    """The entry of that number, which must be one that spent."""
    row = None
    if isinstance(number, int) and 1 < number < 2**31:
        row = connection.execute(_READ.where(ENTRIES.c.number == number)).one_or_none()
    found = None if row is None else _entry(database, row[0], tuple(row))
    if found is None or not found.kind.spends:
        next_step = "see the entries with `sparsegate ledger show`"
        raise ParameterError("number", "must be that of an entry that spent", number, next_step)
    return found


def _entry(database: Database, place: int, row: Sequence[object]) -> Entry:
    number, at, kind, epsilon, delta, what, of = row
    try:
        moment, sort = datetime.fromisoformat(str(at)), EntryKind(str(kind))
    except ValueError:
        number = None
    if number != place or (sort is EntryKind.REFUND) != (of is not None):
        raise damaged(database, f"entry {place} does not fit")
    amount = Amount(epsilon=exact_value(epsilon), delta=exact_value(delta))
    return Entry(number=place, at=moment, kind=sort, amount=amount, what=str(what), of=of)  # type: ignore[arg-type]


def append(
    connection: Connection, number: int, kind: EntryKind, amount: Amount, what: str, of: int | None = None
) -> Entry:
    """Add an entry. A second refund ``of`` one entry is refused by the key of the table."""
    at = now()
    written = (number, at.isoformat(), kind.value, exact_text(amount.epsilon), exact_text(amount.delta), what)
    connection.execute(insert(ENTRIES).values(dict(zip((column.name for column in _ORDER), written, strict=True))))
    if of is not None:
        connection.execute(insert(REFUNDS).values(of=of, entry=number))
    return Entry(number=number, at=at, kind=kind, amount=amount, what=what, of=of)


def read_parts(database: Database, connection: Connection, entry: int) -> dict[int, dict[str, Any]]:
    """The parts of what an entry gave, by their numbers, in their order."""
    rows = select(RELEASES.c.part, RELEASES.c.gave).where(RELEASES.c.entry == entry).order_by(RELEASES.c.part)
    try:
        return {part: dict(json.loads(gave)) for part, gave in connection.execute(rows)}
    except (TypeError, ValueError):
        raise damaged(database, f"what entry {entry} gave does not read") from None


def add_part(connection: Connection, entry: int, gave: Mapping[str, Any], *, part: int | None = None) -> None:
    """Add to what an entry gave. The text is ASCII alone: PostgreSQL stores neither a NUL nor a lone surrogate."""
    part = last_part(connection, entry) + 1 if part is None else part
    try:
        text = json.dumps(dict(gave), default=_plain)
    except (TypeError, ValueError, RecursionError):
        raise ParameterError("gave", "must be what JSON can hold", next_step="keep it as numbers and text") from None
    connection.execute(insert(RELEASES).values(entry=entry, part=part, gave=text))


def last_part(connection: Connection, entry: int) -> int:
    """The number of the last part of what an entry gave; 0 where it gave nothing."""
    last = select(func.coalesce(func.max(RELEASES.c.part), 0)).where(RELEASES.c.entry == entry)
    return int(connection.execute(last).scalar_one())


def gave_back(connection: Connection, entry: int) -> bool:
    """Whether an entry has given back what it did not cost."""
    return connection.execute(select(REFUNDS.c.entry).where(REFUNDS.c.of == entry)).first() is not None


def _plain(value: Any) -> Any:
    """What JSON does not know: an array as its numbers, anything else as its text."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    return str(value) if type(plain) is type(value) else plain


def damaged(database: Database, how: str) -> LedgerError:
    """The ledger holds what no version of this program writes."""
    return database.trouble(f"is damaged: {how}; restore or examine it by hand before spending more")


def now() -> datetime:
    """The time for the record, to the second: more would tell how long things took."""
    return datetime.now(UTC).replace(microsecond=0)
