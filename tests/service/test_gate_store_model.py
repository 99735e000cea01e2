"""The store does what the machine of proofs/ledger.v does: the same sums, and the same refusals, in any order."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.support.ledger_model import Gate, Model, Refused

from sparsegate.errors import SparsegateError
from sparsegate.ledger.account import Amount
from sparsegate.ledger.backup import back_up, restore
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.gate_store import GateStore
from sparsegate.service.gates import GateRow, GateSpec, KeyedRequest, Tally, law

AMOUNTS = [Fraction(1, 3), Fraction(1, 2), Fraction(1, 7), Fraction(1)]
EVENTS = {
    "spend": 2,
    "reserve": 2,
    "use": 2,
    "open_gate": 4,
    "intend": 9,
    "settle": 8,
    "void": 2,
    "close": 1,
    "give_back": 2,
    "raise_budget": 1,
    "crash": 1,
    "restore": 0.3,
    "back_up": 0.6,
    "restore_backup": 0.6,
}


class Killed(Exception):
    """The process dies before its commit."""


class Both:
    """A ledger that two stores share, and the model beside it."""

    def __init__(self, place: Path, seed: int) -> None:
        self.place, self.chance = str(place), random.Random(seed)
        self.model = Model(Fraction(3))
        Ledger.create(place, dataset="x", budget=3).close()
        self.stores = [GateStore(Ledger(place, pooled=True)) for _ in range(2)]
        self.store = self.stores[0]
        self.numbers: list[int] = []  # of the model's lines in the ledger, which has budgets and refunds between them
        self.gates: dict[int, str] = {}
        self.keys = 0
        self.asked: dict[tuple[int, int], KeyedRequest] = {}
        self.backups: list[tuple[Path, Model, dict[int, str], dict[tuple[int, int], KeyedRequest]]] = []
        self.lost: list[Model] = []

    def request(self) -> KeyedRequest:
        self.keys += 1
        return KeyedRequest(token=1, key=str(self.keys))

    def row(self, n: int) -> GateRow:
        return self.store.gate(self.gates[n])

    def happens(self) -> None:
        """One event on both; what one refuses, the other must."""
        self.store = self.chance.choice(self.stores)
        name = self.chance.choices(list(EVENTS), list(EVENTS.values()))[0]
        events: tuple[Callable[[], object], Callable[[], object]] | None = getattr(self, name)()
        if events is None:
            return
        ours, theirs = events
        try:
            ours()
        except Refused:
            with pytest.raises(SparsegateError):
                theirs()
        else:
            theirs()
        kept = [entry.number for entry in self.store.ledger.entries() if entry.kind not in ("budget", "refund")]
        self.numbers = kept

    def spend(self) -> Any:
        amount = self.chance.choice(AMOUNTS)
        return (
            lambda: self.model.charge("spend", amount, amount),
            lambda: self.store.ledger.spend(epsilon=amount, what="a release"),
        )

    def reserve(self) -> Any:
        amount = self.chance.choice(AMOUNTS)

        def theirs() -> None:
            with self.store.ledger.together() as group:
                group.reserve(epsilon=amount, what="later")

        return lambda: self.model.charge("reserve", amount, None), theirs

    def use(self) -> Any:
        places = [n for n, line in enumerate(self.model.lines) if line.kind == "reserve"]
        if not places:
            return None
        n, cost = self.chance.choice(places), self.chance.choice(AMOUNTS)
        amount = Amount(epsilon=cost)
        return (
            lambda: self.model.begin_release(n, cost),
            lambda: self.store.ledger.begin_release(self.numbers[n], amount, "it"),
        )

    def open_gate(self) -> Any:
        noise, closes = self.chance.choice([("laplace", "above"), ("laplace", "rarer"), ("exponential", "above")])
        spec = GateSpec(
            threshold=0,
            cutoff=self.chance.randint(1, 3),
            epsilon=self.chance.choice(AMOUNTS),
            noise=noise,
            closes=closes,
            most_asks=self.chance.choice([None, None, 1, 4]),
        )
        scales, gap = law(spec)._per_unit, law(spec).row.gap
        assert scales.threshold
        assert scales.query
        e1, r = 1 / Fraction(scales.threshold), 1 / Fraction(scales.query)
        kind = (closes == "rarer", noise == "exponential", gap)
        refund = self.chance.random() < 0.8
        gate = Gate(e1, r, spec.cutoff, *kind, most=spec.most_asks, refunds=refund)
        assert gate.epsilon == spec.epsilon
        request = self.request()
        stored = {"opened_at": "now", "fingerprint": "x", "sealed": b"-", "refund": refund}
        row = GateRow(number=0, id=request.key, tally=Tally(spec=spec), **stored)

        def ours() -> None:
            # One transaction: what a refused charge gave back on the way is not written.
            before = [line.back for line in self.model.lines]
            self.model.give_back()
            try:
                self.gates[self.model.charge("spend", gate.epsilon, gate)] = request.key
            except Refused:
                for line, back in zip(self.model.lines, before, strict=True):
                    line.back = back
                raise

        charge = Amount(epsilon=spec.epsilon)
        return ours, lambda: self.store.begin(request, "gates", charge, "a gate", gate=row, response="{}")

    def intend(self) -> Any:
        if not self.gates:
            return None
        n, request = self.chance.choice(list(self.gates)), self.request()

        def ours() -> None:
            self.asked[n, self.model.intend(n)] = request

        return ours, lambda: self.store.intend(self.row(n), request, "page = 'a'", arrive=time.monotonic)

    def settle(self) -> Any:
        # Each ask is settled by the one process that intended it, once; at a restoring all processes were stopped.
        live = [n for n in self.gates if n >= self.model.restored]
        open_asks = [(n, k) for n in live for k, ask in enumerate(self.model.gate(n).asks) if ask == (None, None)]
        if not open_asks:
            return None
        (n, k), outcome = self.chance.choice(open_asks), self.chance.random() < 0.5
        return (
            lambda: self.model.settle(n, k, outcome),
            lambda: self.store.settle(self.row(n), k + 1, above=outcome),
        )

    def void(self) -> Any:
        asks = [(n, k) for n in self.gates for k in range(len(self.model.gate(n).asks))]
        if not asks:
            return None
        (n, k), why = self.chance.choice(asks), self.chance.random() < 0.2

        def ours() -> None:
            self.model.void(n, k, why)
            if why:
                self.model.give_back()

        return ours, lambda: self.store.void(self.row(n), k + 1, "a fault" if why else None)

    def close(self) -> Any:
        if not self.gates:
            return None
        n = self.chance.choice(list(self.gates))

        def ours() -> None:
            self.model.gate(n).because = True
            self.model.give_back()

        return ours, lambda: self.store.close("by hand", id=self.gates[n])

    def give_back(self) -> Any:
        return self.model.give_back, self.store.give_back

    def raise_budget(self) -> Any:
        budget = self.model.budget + self.chance.choice([Fraction(0), Fraction(1, 7)])
        return (
            lambda: self.model.raise_budget(budget),
            lambda: self.store.ledger.raise_budget(budget=budget, why="agreed"),
        )

    def crash(self) -> Any:
        def theirs() -> None:
            with suppress(Killed), self.store.ledger.database.writing() as connection:
                with suppress(SparsegateError):
                    self.store.ledger.charge(connection, Amount(epsilon=Fraction(1, 9)), "lost")
                self.store._give_back(connection)
                raise Killed

        return (lambda: None), theirs

    def restore(self) -> Any:
        since = self.chance.choice([None, Fraction(1, 7)])

        def ours() -> None:
            self.lost.append(deepcopy(self.model))
            self.model.restore(since)

        return ours, lambda: restore(self.place, backup=None, spent_since=since)

    def back_up(self) -> Any:
        path = Path(f"{self.place}.{self.keys}.{len(self.backups)}.backup")
        kept = path, deepcopy(self.model), dict(self.gates), dict(self.asked)
        return lambda: self.backups.append(kept), lambda: back_up(self.place, path)

    def restore_backup(self) -> Any:
        """From any backup, with all servers stopped; what was charged since is stated."""
        if not self.backups:
            return None
        path, model, gates, asked = self.chance.choice(self.backups)
        since = sum((line.amount for line in self.model.lines), Fraction(0))  # at least

        def ours() -> None:
            self.lost.append(self.model)
            self.model, self.gates, self.asked = deepcopy(model), dict(gates), dict(asked)
            self.model.restore(since)

        def theirs() -> None:
            for store in self.stores:
                store.ledger.close()
            self.place = f"{self.place}+"
            restore(self.place, backup=path, spent_since=since)
            self.stores = [GateStore(Ledger(self.place, pooled=True)) for _ in range(2)]
            self.store = self.stores[0]

        return ours, theirs

    def read_again(self) -> None:
        """Every answer that is stored is given again; this ledger, or one that was lost, counts it."""
        counted = set[tuple[int, int, bool]]().union(*(lost.held for lost in self.lost))
        counted |= {(n, k, ever) for n, k, ever in self.model.held if n >= self.model.restored}
        for (n, k), request in self.asked.items():
            found = self.store.same_ask(self.row(n), request)
            assert found is not None
            assert found.above == self.model.gate(n).asks[k][0]
            assert found.above is None or (n, k, found.above) in counted

    def agree(self) -> None:
        statement = self.store.ledger.statement()
        assert statement.spent.epsilon == self.model.spent
        assert statement.budget.epsilon == self.model.budget
        assert self.model.loss <= self.model.spent
        for n, id in self.gates.items():
            row, gate = self.store.gate(id), self.model.gate(n)
            assert (row.tally.below, row.tally.above, row.tally.unsettled) == gate.said(0)
            assert bool(row.tally.closed) == gate.closed
            assert row.given_back == (self.model.lines[n].back or 0)


@pytest.mark.parametrize("seed", range(4))
def test_the_ledger_and_the_machine_of_the_proofs_agree_after_every_event(tmp_path: Path, seed: int) -> None:
    both = Both(tmp_path / "x.ledger", seed)
    for _ in range(80):
        both.happens()
        both.agree()
        both.read_again()
        overdrawn = both.model.restored and both.model.spent > both.model.budget
        assert overdrawn or both.model.spent <= both.model.budget
    for store in both.stores:
        store.ledger.close()
