"""`sparsegate ledger create` and `rotate-key`: a ledger and its key, made and replaced on the command line."""

from __future__ import annotations

from tests.support.pretend_service import LOW, Shop

from sparsegate.ledger.ledger import Ledger
from sparsegate.service.sealed_noise import SealingKey


def test_a_key_is_replaced_and_gates_stay_open(command, tmp_path):
    shop = Shop(tmp_path)
    gate = shop.open(shop.keeper())
    old = shop.key.read_bytes()
    code, out, _ = command("ledger", "rotate-key", shop.place, "--key", shop.key)
    assert code == 0
    assert f"{shop.key}: a new key, and 1 gate sealed with it" in out
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


def test_a_ledger_and_its_key_are_made_before_a_service_starts(command, tmp_path):
    place, key = tmp_path / "visits.ledger", tmp_path / "visits.key"
    make = ("ledger", "create", place, "--dataset", "visits", "--budget", 2, "--key", key)
    assert command(*make) == (0, f"{place}: epsilon 2 for visits\n", "")
    with Ledger(place, dataset="visits") as made:
        assert made.statement().remaining.epsilon == 2
    assert key.stat().st_mode & 0o777 == 0o600
    name = SealingKey.load(key).name
    code, _, err = command(*make)
    assert code == 2
    assert "is already there" in err
    assert SealingKey.load(key).name == name
