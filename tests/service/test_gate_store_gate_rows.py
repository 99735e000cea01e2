"""What is read of the gates, and what may be passed over."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from sqlalchemy import create_engine, insert, select
from tests.support.pretend_service import Shop

from sparsegate.ledger.schema import GATES
from sparsegate.service.gate_store import MAY_BE_CLOSED, MAY_BE_OPEN, GateStore, seen


def test_no_gate_is_passed_over_by_what_is_read() -> None:
    """Of every gate that can be, with its newest ask or without: whoever is closed or open is read as such."""
    chance = random.Random(35)
    rows = []
    for number in range(1, 6001):
        asked = chance.randrange(9)
        above = chance.randint(0, asked)
        below = chance.randint(0, asked - above)
        closed_with = chance.choice([None, asked])
        rows.append(
            {"number": number, "id": f"g-{number}", "opened_at": "", "entry": number, "fingerprint": "", "sealed": b""}
            | {"threshold": "1", "cutoff": chance.randint(1, 4), "epsilon": "1"}
            | {"queries": chance.choice([None, chance.randint(1, 9)]), "noise": "laplace"}
            | {"closes": chance.choice(["above", "rarer"]), "most_asks": chance.choice([None, chance.randint(1, 9)])}
            | {"asked": asked, "above": above, "below": below, "closed_with": closed_with}
            | {"closed_because": chance.choice([None, None, "by hand"])}
        )
    engine = create_engine("sqlite://")
    found: Counter[str] = Counter()
    with engine.begin() as connection:
        GATES.create(connection)
        connection.execute(insert(GATES), rows)
        maybe = {
            closed: set(connection.execute(select(GATES.c.number).where(condition)).scalars())
            for closed, condition in ((True, MAY_BE_CLOSED), (False, MAY_BE_OPEN))
        }
        for row in connection.execute(select(GATES)):
            lasts = [None, *([1] if row.above else []), *([0] if row.below else [])]
            lost = row.asked - row.above - row.below
            for last in (last for last in lasts if last is not None or lost):
                shown = type("Row", (), {**row._mapping, "last": last})
                for hidden in (False, True):
                    closed = bool(seen(shown, hidden=hidden).tally.closed)
                    assert row.number in maybe[closed], (row, last, hidden)
                    found[f"{closed} {hidden}"] += 1
    assert min(found.values()) > 500
    assert len(found) == 4
    assert all(len(numbers) < 5000 for numbers in maybe.values()), "some are passed over"


def test_looking_for_what_goes_back_reads_neither_open_gates_nor_twice_what_is_used_up(tmp_path: Path) -> None:
    shop = Shop(tmp_path, budget=1000)
    keeper = shop.keeper()
    used_up = shop.open(keeper, cutoff=1)
    for _ in range(5):
        shop.open(keeper, cutoff=2)
    # As if its one ABOVE had cost all of it: nothing is left to give back.
    with keeper.ledger.database.writing() as connection:
        connection.execute(GATES.update().where(GATES.c.id == used_up).values(asked=10**6, above=1, below=10**6 - 1))
    store, read = GateStore(keeper.ledger), []

    def noted(row: object) -> bool:
        read.append(row)
        return False

    store.departures.hides = noted  # type: ignore[method-assign]
    for looks in (1, 1):
        store.give_back()
        assert len(read) == looks
    shop.shut()
