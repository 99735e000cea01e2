"""Gates to practise on: the columns of the served table, made-up rows, and a ledger that is thrown away.

The rows are a function of the names and kinds of the declared columns and of the number of a row: no cell of the served
table is in them, and practice costs nothing. When much was asked it starts anew, and its old gates are unknown then.
Workers share a folder, which has a folder for each start: whoever finds the newest full makes the next one, and the
others follow, however many starts they have missed.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, Final

from sparsegate.conditions import Column, Kind, Schema
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.data.dataset import ServedTable
from sparsegate.service.deadline import DelayPlan
from sparsegate.service.keeper import Keeper
from sparsegate.service.keys import SealingKey
from sparsegate.tables.columns import identifier, unlike

ROWS: Final = 4000
PEOPLE: Final = 1500
BUDGET: Final = 1000
MOST_GATES: Final = 200
MOST_REQUESTS: Final = 20_000

_VALUES: Final[dict[Kind, str]] = {
    Kind.TEXT: "{label} || ' ' || CAST(1 + floor(8 * {u} * {u}) AS INTEGER)",
    Kind.INTEGER: "CAST(floor(100 * {u} * {u}) AS BIGINT)",
    Kind.REAL: "CAST(round(100 * {u}, 1) AS DOUBLE)",
    Kind.BOOLEAN: "{u} < 0.3",
    Kind.DATE: "DATE '2030-01-01' + CAST(floor(365 * {u}) AS INTEGER)",
    Kind.TIMESTAMP: "TIMESTAMP '2030-01-01' + to_hours(CAST(floor(8760 * {u}) AS INTEGER))",
    Kind.TIME: "TIME '00:00:00' + to_minutes(CAST(floor(1440 * {u}) AS INTEGER))",
}
"""A cell, by its kind, from a number u from 0 to 1; what is small is common."""

_CONDITIONS: Final[dict[Kind, str]] = {
    Kind.TEXT: "= {value}",
    Kind.INTEGER: "< 25",
    Kind.REAL: "< 25.0",
    Kind.BOOLEAN: "= true",
    Kind.DATE: "< DATE '2030-07-01'",
    Kind.TIMESTAMP: "< TIMESTAMP '2030-07-01 00:00:00'",
    Kind.TIME: "< TIME '12:00:00'",
}


def practice_condition(column: Column) -> str:
    """A condition that many of the made-up people meet, and many do not."""
    return f"{identifier(column.name)} {_CONDITIONS[column.kind].format(value=_quoted(column.name + ' 1'))}"


class Practice:
    """Gates over made-up rows with the columns of a schema. Thread-safe; made when it is first wanted."""

    def __init__(
        self, schema: Schema, unit: str, cells: Mapping[str, int] | None = None, *, folder: Path | None = None
    ) -> None:
        self._schema, self._unit, self._cells = schema, unit, cells
        self._whole = ExitStack()
        self._folder, self._number = folder, 0
        self._guard = threading.Lock()
        self._keeper: Keeper | None = None
        self._requests = 0
        self._now, self._before = ExitStack(), ExitStack()

    def keeper(self, *, opens: bool = False) -> Keeper:
        """The keeper of the gates; a new one where there was none, or where much was asked or opened."""
        with self._guard:
            self._requests += 1
            newest = self._newest()
            full = self._requests > MOST_REQUESTS or (opens and self._keeper is not None and self._full(self._keeper))
            if self._keeper is None or newest > self._number or full:
                # Whoever is asking the one before may finish; the one before that goes.
                self._before.close()
                self._before, self._now, self._requests = self._now, ExitStack(), 0
                self._number = max(newest, self._number + 1)
                shutil.rmtree(self._place(self._number - 2), ignore_errors=True)
                self._keeper = self._made(self._place(self._number))
            return self._keeper

    def _newest(self) -> int:
        """The number of the last start, whoever made it; its predecessors may be gone. 0: there is none."""
        starts = (each.name for each in self._place(0).parent.iterdir())
        return max((int(name) for name in starts if name.isdigit()), default=0)

    def _place(self, number: int) -> Path:
        if self._folder is None:
            made = tempfile.TemporaryDirectory(prefix="sparsegate-practice-", ignore_cleanup_errors=True)
            self._folder = Path(self._whole.enter_context(made))
        return self._folder / str(number)

    def follow(self, schema: Schema) -> None:
        """Start anew on these columns, where they are others."""
        with self._guard:
            if schema != self._schema:
                self._schema, self._requests = schema, MOST_REQUESTS

    def _full(self, keeper: Keeper) -> bool:
        statement = keeper.budget()
        return len(statement.entries) > MOST_GATES or 2 * statement.remaining.epsilon < BUDGET

    def _made(self, place: Path) -> Keeper:
        enter = self._now.enter_context
        if not place.exists():
            draft = Path(tempfile.mkdtemp(dir=place.parent))
            _write(self._schema, draft / "practice.parquet")
            Ledger.create(draft / "practice.ledger", dataset="practice", budget=BUDGET).close()
            SealingKey.create(draft / "practice.key")
            with suppress(OSError):  # another worker was first
                draft.rename(place)
            shutil.rmtree(draft, ignore_errors=True)
        columns = [column.name for column in self._schema.columns]
        unit: dict[str, Any] = {"unit": "row"} if self._unit == "row" else {"user": unlike("person", columns)}
        data = enter(ServedTable.open([str(place / "practice.parquet")], columns=columns, cells=self._cells, **unit))
        ledger = enter(closing(Ledger(place / "practice.ledger")))
        key = SealingKey.load(place / "practice.key")
        return enter(closing(Keeper(ledger, data, key, pace=DelayPlan(places=1))))

    def close(self) -> None:
        """Throw everything away."""
        with self._guard:
            self._keeper = None
            for stack in (self._now, self._before, self._whole):
                stack.close()


def _write(schema: Schema, file: Path) -> None:
    import duckdb

    cells = [f"i % {PEOPLE} AS {identifier(unlike('person', [column.name for column in schema.columns]))}"]
    for number, column in enumerate(schema.columns):
        # Multiples of a number modulo a prime: they fill 0 to 1 evenly, and each column has another order.
        u = f"((i * {7919 + 12 * number}) % 10007 / 10007.0)"
        cells.append(f"{_VALUES[column.kind].format(u=u, label=_quoted(column.name))} AS {identifier(column.name)}")
    with duckdb.connect() as connection:
        connection.sql(f"SELECT {', '.join(cells)} FROM range({ROWS}) AS numbers(i)").write_parquet(str(file))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
