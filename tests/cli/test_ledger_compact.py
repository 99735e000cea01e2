"""`sparsegate ledger compact`: old BELOW answers of closed gates go to a file."""

from __future__ import annotations

import csv
from pathlib import Path

from tests.support.pretend_service import HIGH, LOW, Shop

from sparsegate.service.tokens import Tokens


def test_what_is_moved_is_added_to_the_file(command, tmp_path: Path) -> None:
    shop, to = Shop(tmp_path), tmp_path / "old.csv"
    keeper = shop.keeper()
    Tokens(keeper.ledger).add("anna", "owner")
    for where in (LOW, HIGH):
        gate = shop.open(keeper, name="pages, all")
        for each in (where, HIGH, LOW):
            keeper.ask(shop.caller(), gate, each)
        keeper.close_gate(gate)
        assert command("ledger", "compact", shop.place, "--to", to)[1] == (
            f"{to}: 0 answers, which the ledger no longer holds\n"
        ), "none is 30 days old"
        code, out, _ = command("ledger", "compact", shop.place, "--to", to, "--days", 0)
        assert (code, out) == (
            0,
            f"{to}: {'1 answer' if where == LOW else '0 answers'}, which the ledger no longer holds\n",
        )
    with to.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["gate_name"], row["number"], row["by"], row["condition"]) for row in rows] == [
        ("pages, all", "1", "anna", LOW)
    ]
    assert keeper.budget().spent.epsilon > 0
    shop.shut()
