"""Sealed noise: the right key and the right gate, or nothing; another key while gates are open, killed at any step."""

from __future__ import annotations

import copy
import os
import pickle
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.pretend_service import HIGH, LOW, Shop
from tests.support.processes import in_forked_child

from sparsegate.errors import LedgerError
from sparsegate.gates.gate import threshold_noise
from sparsegate.ledger.ledger import Ledger
from sparsegate.service import keys
from sparsegate.service.keys import SealingKey, key_of, rotate_key
from sparsegate.service.web.server import open_key


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "the.key"


def test_a_key_is_in_a_file_of_its_owner_alone_and_what_is_no_key_is_refused(path: Path) -> None:
    with pytest.raises(LedgerError, match="--new-key, which closes all open gates"):
        SealingKey.load(path)
    with pytest.raises(LedgerError, match="cannot be made"):
        SealingKey.create(path / "no" / "folder")
    sealed = SealingKey.create(path).seal(b"secret", "gate 1")
    assert b"secret" not in sealed
    assert SealingKey.load(path).unseal(sealed, "gate 1") == b"secret"
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="already there"):
        SealingKey.create(path)
    assert path.read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o600
    for content in (b"", b"short", b"!" * 44, b"A" * 40, b"A" * 2000):
        path.write_bytes(content)
        with pytest.raises(LedgerError, match="holds no key"):
            SealingKey.load(path)
    for mode in (0o640, 0o604, 0o622):
        path.chmod(mode)
        with pytest.raises(LedgerError, match="chmod 600"):
            SealingKey.load(path)


def test_another_gate_another_key_or_a_changed_byte_opens_nothing(path: Path, tmp_path: Path) -> None:
    key, other = SealingKey.create(path), SealingKey.create(tmp_path / "other.key")
    sealed = key.seal(b"secret", "gate 1")
    tampered = [sealed[:place] + bytes([sealed[place] ^ 1]) + sealed[place + 1 :] for place in range(len(sealed))]
    for attempt in ((key, sealed, "gate 2"), (other, sealed, "gate 1"), *((key, bad, "gate 1") for bad in tampered)):
        with pytest.raises(LedgerError, match="cannot be read with this key") as refused:
            attempt[0].unseal(*attempt[1:])
        assert refused.value.__context__ is None
    with pytest.raises(LedgerError):
        key.unseal(b"", "gate 1")


def test_a_key_shows_and_copies_nothing(path: Path) -> None:
    key = SealingKey.create(path)
    assert repr(key) == "<SealingKey>"
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(LedgerError, match="neither copied nor pickled"):
            attempt(key)


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def rotate_until(step: str, shop: Shop) -> None:
    """For a forked child: a rotation that is killed at this step."""

    def then_die(call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **options: (call(*args, **options), die())

    steps: dict[str, tuple[Any, str, Callable[..., Any]]] = {
        "key half written": (os, "fsync", die),
        "key written": (SealingKey, "create", then_die(SealingKey.create)),
        "one gate sealed": (SealingKey, "seal", then_die(SealingKey.seal)),
        "before the commit": (keys, "_seal_anew", then_die(keys._seal_anew)),
        "before the rename": (Path, "replace", die),
        "after the rename": (Path, "replace", then_die(Path.replace)),
    }
    setattr(*steps[step])
    with Ledger(shop.place) as ledger:
        rotate_key(ledger, shop.key)


STEPS = ["key half written", "key written", "one gate sealed", "before the commit", "before the rename"]


def noise_of(shop: Shop, gates: list[str]) -> list[bytes]:
    """What a server that starts now reads, and that it answers."""
    with Ledger(shop.place) as ledger:
        open_key(shop.key, ledger, renew=False)
    keeper = shop.keeper()
    noise = [threshold_noise(keeper._resumed(keeper._store.gate(gate))) for gate in gates]
    assert [keeper.ask(shop.caller(), gate, LOW).above for gate in gates] == [False] * len(gates)
    return noise


def named(shop: Shop) -> str | None:
    with Ledger(shop.place) as ledger, ledger.database.reading() as connection:
        name: str | None = connection.value("SELECT key_name FROM ledger")
        return name


@pytest.fixture
def shop(shop_on_both: Shop) -> Shop:
    return shop_on_both


@pytest.fixture
def gates(shop: Shop) -> list[str]:
    """Three open gates, a closed one, and the name of the key in the ledger, which a server gives it at its start."""
    keeper = shop.keeper()
    opened = [shop.open(keeper, cutoff=9) for _ in range(4)]
    keeper.close_gate(opened.pop())
    with Ledger(shop.place) as ledger:
        key_of(ledger, shop.key)
    return opened


@pytest.mark.parametrize("step", [*STEPS, "after the rename"])
def test_a_rotation_that_is_killed_leaves_gates_that_answer_as_before(tmp_path: Path, step: str) -> None:
    shop = Shop(tmp_path)
    keeper = shop.keeper()
    gates = [shop.open(keeper, cutoff=9) for _ in range(3)]
    before, old = noise_of(shop, gates), (shop.key.read_bytes(), named(shop))
    shop.shut()  # no connection goes through a fork
    with pytest.raises(EOFError):
        in_forked_child(lambda: rotate_until(step, shop))
    assert noise_of(shop, gates) == before
    committed = step in ("before the rename", "after the rename")
    assert (named(shop) != old[1]) is committed
    assert (shop.key.read_bytes() != old[0]) is committed
    with Ledger(shop.place) as ledger:
        assert rotate_key(ledger, shop.key) == 3
    assert noise_of(shop, gates) == before
    shop.shut()


def test_all_gates_stay_open_and_the_old_key_opens_none(shop: Shop, gates: list[str], tmp_path: Path) -> None:
    before = noise_of(shop, gates)
    old = SealingKey.load(shop.key)
    with Ledger(shop.place) as ledger:
        assert rotate_key(ledger, shop.key) == 4
        assert not list(tmp_path.glob("visits.key.*"))
        assert shop.key.stat().st_mode & 0o777 == 0o600
    assert noise_of(shop, gates) == before
    keeper = shop.keeper()
    keeper._key = old
    with pytest.raises(LedgerError, match="cannot be read with this key"):
        keeper.ask(shop.caller(), gates[0], HIGH)
    assert keeper.gate(gates[0])["asked"] == 2


def test_a_server_with_the_old_key_answers_what_it_has_read_and_opens_nothing(shop: Shop, gates: list[str]) -> None:
    keeper = shop.keeper()
    keeper.ask(shop.caller(), gates[0], LOW)
    with Ledger(shop.place) as ledger:
        rotate_key(ledger, shop.key)
    assert keeper.ask(shop.caller(), gates[0], HIGH).above
    spent = keeper.budget().spent
    with pytest.raises(LedgerError, match="has another key now; restart the server with it"):
        shop.open(keeper)
    assert keeper.budget().spent == spent


def test_a_key_that_is_not_the_ledgers_stops_the_start(shop: Shop, gates: list[str], tmp_path: Path) -> None:
    SealingKey.create(tmp_path / "other.key")
    with Ledger(shop.place) as ledger:
        with pytest.raises(LedgerError, match="other.key is not that of the ledger"):
            open_key(tmp_path / "other.key", ledger, renew=False)
        with pytest.raises(LedgerError, match="other.key is not that of the ledger"):
            rotate_key(ledger, tmp_path / "other.key")
    assert sorted(path.name for path in tmp_path.glob("*.key*")) == ["other.key", "visits.key"]


def test_a_ledger_of_before_keys_had_names_takes_the_key_that_opens_its_gates(shop: Shop, tmp_path: Path) -> None:
    keeper = shop.keeper()
    shop.open(keeper)
    SealingKey.create(tmp_path / "other.key")
    with Ledger(shop.place) as ledger:
        with pytest.raises(LedgerError, match="cannot be read with this key"):
            open_key(tmp_path / "other.key", ledger, renew=False)
        assert named(shop) is None
        assert open_key(shop.key, ledger, renew=False).name == named(shop)


def test_of_two_rotations_at_once_one_stops_and_takes_no_key_away(
    shop: Shop, gates: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = noise_of(shop, gates)
    create = SealingKey.create

    def overtaken(path: Path, *, beside: bool) -> SealingKey:
        monkeypatch.setattr(SealingKey, "create", create)
        with Ledger(shop.place) as other:
            rotate_key(other, path)
        return create(path, beside=beside)

    monkeypatch.setattr(SealingKey, "create", overtaken)
    with Ledger(shop.place) as ledger, pytest.raises(LedgerError, match="another rotation"):
        rotate_key(ledger, shop.key)
    assert noise_of(shop, gates) == before
    assert not list(tmp_path.glob("visits.key.*"))
