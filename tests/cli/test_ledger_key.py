"""`sparsegate ledger rotate-key` on the command line."""

from __future__ import annotations

from tests.support.pretend_service import LOW, Shop


def test_a_key_is_replaced_and_gates_stay_open(command, tmp_path):
    shop = Shop(tmp_path)
    gate = shop.open(shop.keeper())
    old = shop.key.read_bytes()
    code, out, _ = command("ledger", "rotate-key", shop.place, "--key", shop.key)
    assert code == 0
    assert f"{shop.key}: a new key, and 1 gates are sealed with it" in out
    assert "restart every server on this ledger" in out
    assert shop.key.read_bytes() != old
    assert not shop.keeper().ask(shop.caller(), gate, LOW).above
    shop.shut()


def test_what_is_wrong_is_one_line_and_changes_nothing(command, tmp_path):
    shop = Shop(tmp_path)
    code, _, err = command("ledger", "rotate-key", shop.place)
    assert (code, err.count("\n")) == (2, 1)
    assert "visits.ledger.key cannot be read" in err
    code, _, err = command("ledger", "rotate-key", "postgresql://nowhere/x")
    assert (code, err.count("\n")) == (2, 1)
    assert "key must be given for a ledger in PostgreSQL" in err
