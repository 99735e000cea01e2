"""Another key while gates are open: killed at any step, the service starts again and the noise is what it was."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.support.pretend_service import HIGH, LOW, Shop

from sparsegate.errors import LedgerError
from sparsegate.gates.gate import threshold_noise
from sparsegate.ledger.ledger import Ledger
from sparsegate.ledger.schema import LEDGER
from sparsegate.service.keys import SealingKey, key_of, rotate_key
from sparsegate.service.web.server import open_key

KILLED = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import Engine, event
from sparsegate.ledger.ledger import Ledger
from sparsegate.service import keys as key_rotation
from sparsegate.service.keys import SealingKey

def die(*_, **__): os.kill(os.getpid(), signal.SIGKILL)

step, place, path = sys.argv[1:]
made, seal, sealed = SealingKey.create_beside, SealingKey.seal, []
if step == "key half written":
    os.fsync = die
elif step == "key written":
    SealingKey.create_beside = lambda place: (made(place), die())
elif step == "one gate sealed":
    SealingKey.seal = lambda self, *rest: die() if len(sealed) > 1 else (sealed.append(1), seal(self, *rest))[1]
elif step == "before the commit":
    seal_anew = key_rotation._seal_anew
    key_rotation._seal_anew = lambda *rest: (seal_anew(*rest), die())
elif step == "before the rename":
    Path.replace = die
elif step == "after the rename":
    replace = Path.replace
    Path.replace = lambda *rest: (replace(*rest), die())
with Ledger(place) as ledger:
    key_rotation.rotate_key(ledger, Path(path))
"""
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
        name: str | None = connection.execute(select(LEDGER.c.key_name)).scalar_one()
        return name


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
    command = [sys.executable, "-c", KILLED, step, shop.place, str(shop.key)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
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
    create = SealingKey.create_beside

    def overtaken(path: Path) -> tuple[SealingKey, Path]:
        monkeypatch.setattr(SealingKey, "create_beside", create)
        with Ledger(shop.place) as other:
            rotate_key(other, path)
        return create(path)

    monkeypatch.setattr(SealingKey, "create_beside", overtaken)
    with Ledger(shop.place) as ledger, pytest.raises(LedgerError, match="another rotation"):
        rotate_key(ledger, shop.key)
    assert noise_of(shop, gates) == before
    assert not list(tmp_path.glob("visits.key.*"))
