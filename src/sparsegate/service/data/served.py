"""What a keeper needs of the data that it counts, wherever that lives; and opening it, wherever that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, Self, TypedDict, Unpack

from sparsegate.conditions import Condition, Schema
from sparsegate.errors import ParameterError
from sparsegate.noise import Secure
from sparsegate.service.data.filling import FillTerms, Size
from sparsegate.tables.text_files import PLAIN, TextForm

POSTGRESQL: Final = ("postgresql://", "postgres://", "postgresql+psycopg://")
"""How the URL of a database begins."""


class CountedTable(Protocol):
    """A table whose people, or rows, are counted; used from many threads at once. A context manager.

    Everything about it but the schema is the owner's: the fingerprint, the number of people, and every count.
    """

    name: str
    user: str | None
    """The column that names a person; None where every row is another one."""
    schema: Schema
    """The declared columns."""
    unit: str
    """ "user", or "row" where every row is another person."""
    fingerprint: str
    """Equal for equal data: a gate goes on for as long as it is the same."""
    sizes: Mapping[str, Size]
    """What was counted: private. What is shown of it is drawn (``filling``), and ``fill`` takes it."""
    constant_work: bool
    """Whether the work of a count follows from public numbers alone. Where it does not, an overrun may tell of data."""

    def fill(self, shown: Mapping[str, int]) -> None:
        """Take the shown sizes, once: what a count takes at worst follows from them. Nothing is counted before."""

    def changed(self) -> bool:
        """Whether the data is no longer what was opened."""

    def check(self, condition: Condition) -> None:
        """Raise ConditionError for what cannot be counted here, before anything is spent."""

    def count(self, condition: Condition) -> int:
        """How many people (or rows) have a row that matches. The private answer: for a gate, and for nobody."""

    def seconds(self, condition: Condition) -> float:
        """How long a count takes at worst, from public numbers. Raises ConditionError where there is no bound."""

    def look_seconds(self) -> float:
        """How long a count takes at worst that looks at every column once."""

    @property
    def unit_options(self) -> dict[str, Any]:
        """The unit as ``top_items`` takes it."""
        return {"unit": "row"} if self.user is None else {"user": self.user}

    def relation(self) -> Any:
        """The declared columns and the people, for ``tables.top_items``: in the copy, or where they live."""

    def close(self) -> None:
        """Let go of the data; whoever counts after this gets a TableError."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ReadOptions(TypedDict, total=False):
    """What is read, and how; see ``ServedTable.read``."""

    user: str | None
    unit: str | None
    table: str | None
    sql: str | None
    columns: Sequence[str] | None
    max_cell: int
    form: TextForm
    read: Mapping[str, str] | None


def uncharged(table: CountedTable) -> dict[str, int]:
    """Sizes that are drawn as those of a service are, and charged to nobody: for what is shown to nobody."""
    return FillTerms().of_unit(table.unit).drawn(table.sizes, Secure())


def open_data(files: Sequence[str], **source: Unpack[ReadOptions]) -> CountedTable:
    """``read_data``, filled up to sizes that are charged to nobody: for whoever shows no one what a count takes."""
    table = read_data(files, **source)
    try:
        table.fill(uncharged(table))
    except BaseException:
        table.close()
        raise
    return table


def read_data(files: Sequence[str], **source: Unpack[ReadOptions]) -> CountedTable:
    """Files as a copy (``ServedTable``); a table of a database, ``postgresql://...``, where it lives. Not filled up."""
    if not files[0].startswith(POSTGRESQL):
        from sparsegate.service.data.dataset import ServedTable

        return ServedTable.read(files, **source)
    asked: dict[str, Any] = {**source}
    for name, said in asked.pop("form", PLAIN).said.items():
        raise ParameterError(name, "is for files of text, and this is a database", said, "leave it out")
    for name, kind in (asked.pop("read", None) or {}).items():
        step = "give the column its type in the database, for instance in a materialized view"
        raise ParameterError("read", "is for files, and this is a database", f"{name}={kind}", step)
    from sparsegate.service.data.postgres_table import PostgresTable

    if len(files) > 1:
        raise ParameterError("files", "must be one database alone", len(files), "start one service for each")
    if asked.pop("sql", None) is not None or asked.get("table") is None:
        step = "for what else you need: CREATE MATERIALIZED VIEW, and --table with its name"
        raise ParameterError("table", "must be given for a database, and sql must not", next_step=step)
    return PostgresTable.read(files[0], **asked)
