"""`sparsegate ledger asks`: who asked what."""

from __future__ import annotations

import csv
import io
import json

import pytest
from tests.support.pretend_service import HIGH, LOW, Shop

from sparsegate.service.tokens import Tokens


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A ledger in which olga asked twice and anna once, and the gate that they asked; a page is two lines long."""
    monkeypatch.setattr("sparsegate.service.keeper.activity.__kwdefaults__", {**DEFAULTS, "limit": 2})
    shop = Shop(tmp_path)
    keeper = shop.keeper()
    for name in ("olga", "anna"):
        Tokens(keeper.ledger).add(name, "owner")
    gate = shop.open(keeper)
    for token, where in ((1, LOW), (1, HIGH), (2, LOW)):
        keeper.ask(shop.caller(token=token), gate, where)
    shop.shut()
    return shop.place, gate


DEFAULTS = {"after": None, "gate": None, "by": None}


def test_every_ask_is_a_line_newest_first(command, place):
    code, out, _ = command("ledger", "asks", place[0])
    assert code == 0
    lines = [line.split(maxsplit=5) for line in out.splitlines()[1:]]
    assert [(line[2], line[3], line[4], line[5].strip()) for line in lines] == [
        ("anna", place[1], "below", LOW),
        ("olga", place[1], "ABOVE", HIGH),
        ("olga", place[1], "below", LOW),
    ]


def test_asks_for_other_programs(command, place):
    of_olga = json.loads(command("ledger", "asks", place[0], "--by", "olga", "--json")[1])
    assert [(ask["number"], ask["above"]) for ask in of_olga] == [(2, True), (1, False)]
    rows = list(csv.DictReader(io.StringIO(command("ledger", "asks", place[0], "--gate", place[1], "--csv")[1])))
    assert tuple(rows[0][name] for name in ("by", "condition", "above")) == ("anna", LOW, "False")
    assert len(rows) == 3
    assert command("ledger", "asks", place[0], "--by", "nobody", "--csv")[1].startswith("at,by,gate,")
    assert command("ledger", "asks", place[0], "--json", "--csv")[0] == 2
