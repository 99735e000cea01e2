"""Sealed noise: the right key and the right gate, or nothing."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from sparsegate.errors import LedgerError
from sparsegate.service.keys import SealingKey


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "the.key"


def test_what_was_sealed_comes_back_with_the_key_from_its_file(path: Path) -> None:
    sealed = SealingKey.create(path).seal(b"secret", "gate 1")
    assert b"secret" not in sealed
    assert SealingKey.load(path).unseal(sealed, "gate 1") == b"secret"


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


def test_the_key_file_is_its_owners_alone(path: Path) -> None:
    SealingKey.create(path)
    assert path.stat().st_mode & 0o777 == 0o600
    for mode in (0o640, 0o604, 0o622):
        path.chmod(mode)
        with pytest.raises(LedgerError, match="chmod 600"):
            SealingKey.load(path)


def test_a_key_file_is_never_overwritten(path: Path) -> None:
    SealingKey.create(path)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="already there"):
        SealingKey.create(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"short", b"!" * 44, b"A" * 40, b"A" * 2000])
def test_a_file_that_holds_no_key_is_refused(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="holds no key"):
        SealingKey.load(path)


def test_a_missing_key_names_the_way_out(path: Path) -> None:
    with pytest.raises(LedgerError, match="--new-key, which closes all open gates"):
        SealingKey.load(path)
    with pytest.raises(LedgerError, match="cannot be made"):
        SealingKey.create(path / "no" / "folder")


def test_a_key_shows_and_copies_nothing(path: Path) -> None:
    key = SealingKey.create(path)
    assert repr(key) == "<SealingKey>"
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(LedgerError, match="neither copied nor pickled"):
            attempt(key)
