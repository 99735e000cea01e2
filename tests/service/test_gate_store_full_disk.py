"""A disk that is full, or nearly: an ask is refused and nothing is spent, and an answer that was given still is."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.support.pretend_service import HIGH, LOW, Shop

from sparsegate.errors import LedgerError, OutcomeLost
from sparsegate.ledger import database as sqlite_file
from sparsegate.ledger.database import Database
from sparsegate.service.keeper import Keeper

PAGE = 4096


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB, where this machine lets one be made."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("nobody here may mount a file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def asked(keeper: Keeper, shop: Shop, gate: str) -> str:
    try:
        keeper.ask(shop.caller(), gate, LOW)
    except LedgerError as error:
        return "refused" if str(error).endswith("nothing was spent") else str(error)
    except OutcomeLost:
        return "lost"
    return "answered"


@pytest.mark.parametrize("floor", [2**20, 0], ids=["as it is", "without a look at the disk"])
def test_asks_on_a_disk_that_fills_up_and_is_cleared_are_answered_or_refused(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch, floor: int
) -> None:
    monkeypatch.setattr(sqlite_file, "ROOM", floor)
    chance = random.Random(35)
    shop = Shop(small_disk, budget=1000)
    keeper = shop.keeper()
    gate = shop.open(keeper, cutoff=50)
    came: Counter[str] = Counter()
    with (small_disk / "other").open("ab", buffering=0) as other:
        for free in [*(chance.randrange(12) for _ in range(60)), 300, 400, *range(12)]:
            with suppress(OSError):
                while other.write(bytes(PAGE)) == PAGE:
                    pass
            os.truncate(other.fileno(), other.seek(0, os.SEEK_END) // PAGE * PAGE - free * PAGE)
            other.seek(0, os.SEEK_END)
            came[asked(keeper, shop, gate)] += 1
        os.truncate(other.fileno(), 0)
        view = keeper.gate(gate)
        assert (view["asked"], view["lost"]) == (came["answered"] + came["lost"], came["lost"])
        assert asked(keeper, shop, gate) == "answered"
        shop.shut()
    if floor:
        assert came == {"answered": 2, "refused": 72}
    else:
        assert came["lost"], "this is what the room is for"


def test_what_was_answered_is_given_again_while_there_is_no_room(
    shop: Shop, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = shop.open(keeper)
    given = keeper.ask(shop.caller("mine"), gate, HIGH)
    monkeypatch.setattr(Database, "room", lambda _: "is short of room")
    monkeypatch.setattr(sqlite_file.SqliteFile, "room", lambda _: "is short of room")
    assert keeper.ask(shop.caller("mine"), gate, HIGH) == given
    with pytest.raises(LedgerError, match="is short of room; make room there; nothing was spent"):
        keeper.ask(shop.caller("another"), gate, HIGH)
    assert keeper.gate(gate)["asked"] == 1


@pytest.fixture
def quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """A limit that is in no number of the disk: while it holds, outcomes and probes cannot be written."""
    full = [False]
    together, probe = Database.together, tempfile.TemporaryFile

    def limited(self: Database, work: Any) -> Any:
        if full[0] and work.__name__ == "outcome":
            raise self.trouble("cannot be written: the disk is full")
        return together(self, work)

    def refused(*arguments: Any, **options: Any) -> Any:
        if full[0]:
            raise OSError(errno.EDQUOT, "Disk quota exceeded")
        return probe(*arguments, **options)

    monkeypatch.setattr(Database, "together", limited)
    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    return full


def test_one_outcome_that_cannot_be_written_is_enough(tmp_path: Path, quota: list[bool]) -> None:
    shop = Shop(tmp_path, budget=1000)
    keeper = shop.keeper()
    gate = shop.open(keeper, cutoff=20)
    quota[0] = True
    assert [asked(keeper, shop, gate) for _ in range(5)] == ["lost", *["refused"] * 4]
    assert keeper.ledger.database.room() == "has a folder that cannot be written, or no room left in it"
    quota[0] = False
    assert keeper.ledger.database.room() == ""
    assert asked(keeper, shop, gate) == "answered"
    assert keeper.gate(gate)["lost"] == 1
    shop.shut()
