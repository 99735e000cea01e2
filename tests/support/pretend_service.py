"""A served dataset that is made up: counts, trouble and slowness on demand."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sparsegate.conditions import Column, Condition, Kind, Schema
from sparsegate.errors import OutcomeLost
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.deadline import DelayPlan
from sparsegate.service.gates import KeyedRequest
from sparsegate.service.keeper import Keeper
from sparsegate.service.keys import SealingKey

HIGH, LOW = "page = 'high'", "page = 'low'"
"""Conditions whose counts are so far from any threshold here that noise decides nothing."""

COUNTS = {HIGH: 1_000_000, LOW: -1_000_000}


class Pretend:
    """What a keeper needs of a dataset."""

    user, unit, unit_options = "visitor", "user", {"user": "visitor"}

    def __init__(self, fingerprint: str = "first", counted: Callable[[], None] = lambda: None) -> None:
        self.fingerprint, self.counted = fingerprint, counted
        self.schema = Schema((Column("page", Kind.TEXT),))
        self.altered = False
        self.cells = {"page": 2}

    def changed(self) -> bool:
        return self.altered

    def check(self, condition: Condition) -> None:
        """Everything can be counted."""

    def count(self, condition: Condition, *, per: str | None = None) -> int:
        self.counted()
        return COUNTS[condition.text if per is None else condition.text.partition("(")[2][:-1]]

    def seconds(self, condition: Condition) -> float:
        return 0.0

    def relation(self) -> Any:
        import pandas

        return pandas.DataFrame({"page": ["a"] * 50 + ["b"] * 5, "visitor": [*range(50), *range(5)]})


class Shop:
    """A ledger, its key, and keepers on them, one after another: as a server that is stopped and started."""

    def __init__(self, folder: Path, *, place: str | None = None, budget: float = 10) -> None:
        self.place = place or str(folder / "visits.ledger")
        self.key = folder / "visits.key"
        Ledger.create(self.place, dataset="visits", budget=budget).close()
        SealingKey.create(self.key)
        self._keys, self._threads = 0, threading.active_count()
        self._open: list[Any] = []

    def keeper(
        self, dataset: Pretend | None = None, *, delay: float = 0.0, places: int = DelayPlan.places, **options: Any
    ) -> Keeper:
        ledger = Ledger(self.place, pooled=True)
        self._open.append(ledger)
        stands_in: Any = dataset or Pretend()
        pace = DelayPlan(delay=delay, places=places)
        made = Keeper(ledger, stands_in, SealingKey.load(self.key), pace=pace, **options)
        self._open.append(made)
        return made

    def shut(self) -> None:
        # An ask holds its turn for a while after its answer has left.
        until(lambda: threading.active_count() <= self._threads)
        for made in reversed(self._open):
            made.close()

    def caller(self, key: str | None = None, token: int = 1) -> KeyedRequest:
        self._keys += 1
        return KeyedRequest(token=token, key=key or f"key-{self._keys}")

    def open(self, keeper: Keeper, *, cutoff: int = 3, epsilon: object = 1, **more: Any) -> str:
        return str(keeper.open_gate(self.caller(), threshold=0, cutoff=cutoff, epsilon=epsilon, **more)["id"])


def slow(seconds: float) -> Callable[[], None]:
    return lambda: time.sleep(seconds)


def broken() -> None:
    raise RuntimeError("Conversion Error: could not convert 'SECRET-CELL'")


def swallow(keeper: Keeper, shop: Shop, gate: str, where: str) -> None:
    with suppress(OutcomeLost):
        keeper.ask(shop.caller(), gate, where)


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def copy_gate(database: Any, gate: str, number: int, *, terms: Sequence[dict[str, Any]] = ()) -> None:
    """Copies of a gate in the ledger, faster than opening them one by one; they are called "Number 7." and so on."""
    with database.writing() as connection:
        served = connection.one("SELECT * FROM served_gates WHERE id = :id", id=gate)._asdict()
        row = connection.one("SELECT * FROM gates WHERE entry = :gate", gate=served["gate"])._asdict()
        paid = connection.one("SELECT * FROM entries WHERE number = :gate", gate=served["gate"])._asdict()
        last = connection.value("SELECT max(number) FROM entries")
        for place, first in enumerate(range(last + 1, last + 1 + number)):
            other = json.loads(row["terms"]) | (dict(terms[place]) if terms else {})
            connection.add("entries", **paid | {"number": first})
            connection.add("gates", **row | {"entry": first, "terms": json.dumps(other)})
            named = {"gate": first, "id": f"g-{place:016x}", "name": f"Number {place}."}
            connection.add("served_gates", **served | named)
