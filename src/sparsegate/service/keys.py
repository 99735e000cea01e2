"""Threshold noise under lock and key: it must outlive the process, and nobody may read it.

Whoever knows rho can undo half of a gate's noise, so it is stored encrypted (AES-256-GCM, a fresh nonce each) under a
key that is not in the ledger. The gate's name and public parameters are authenticated beside it, so noise cannot be
moved from one gate to another. The ledger holds the name of its key, which opens nothing: a server starts only with the
key of that name. **Rotation** writes a new key to a file F.NAME of its own; seals the noise of every gate anew, and
puts NAME into the ledger, in one transaction; and renames F.NAME to F, which whoever starts next does after a crash.
"""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from sparsegate.errors import LedgerError
from sparsegate.ledger.database import Connection, sync_folder
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.gate_store import WITH_LAST, stored
from sparsegate.service.gates import noise_context
from sparsegate.service.schema import make_tables

_BYTES: Final = 32
_NONCE: Final = 12


class SealingKey:
    """The key in a file that only its owner can read. Its repr shows nothing of it.

    ``name`` tells it from others, and is public: half of a digest of 256 random bits.
    """

    def __init__(self, secret: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._cipher = AESGCM(secret)
        self.name = hashlib.sha256(b"sparsegate key\n" + secret).hexdigest()[:32]

    @classmethod
    def create(cls, path: str | Path, *, beside: bool = False) -> SealingKey:
        """Make a new key in a new file: at a path, or beside that, with the name of the key after it."""
        secret = secrets.token_bytes(_BYTES)
        key = cls(secret)
        place = _beside(Path(path), key.name) if beside else Path(path)
        try:
            handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(base64.b64encode(secret) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            sync_folder(place.parent)
        except FileExistsError:
            raise LedgerError(f"the key file {place} is already there; give it with --key, or remove it") from None
        except OSError:
            wrong = f"the key file {place} cannot be made; check that its folder exists and is writable"
            raise LedgerError(wrong) from None
        return key

    @classmethod
    def load(cls, path: str | Path) -> SealingKey:
        """Read the key; refuse a file that others could read."""
        place = Path(path)
        try:
            # Asked of the open file: between a look at a path and its opening the file may change.
            with place.open("rb") as file:
                mode, content = os.fstat(file.fileno()).st_mode, file.read(1024)
        except OSError:
            raise LedgerError(
                f"the key file {place} cannot be read; restore it, or start with --new-key, which closes all open gates"
            ) from None
        if mode & 0o077:
            raise LedgerError(f"the key file {place} is readable by others; make it yours alone with chmod 600")
        try:
            secret = base64.b64decode(content.strip(), validate=True)
        except ValueError:
            secret = b""
        if len(secret) != _BYTES:
            raise LedgerError(f"the key file {place} holds no key; restore it, or start with --new-key")
        return cls(secret)

    def seal(self, secret: bytes, context: str) -> bytes:
        """Encrypt, bound to a context."""
        nonce = secrets.token_bytes(_NONCE)
        return nonce + self._cipher.encrypt(nonce, secret, context.encode())

    def unseal(self, sealed: bytes, context: str) -> bytes:
        """Decrypt; a wrong key, a wrong context or a changed byte is an error."""
        from cryptography.exceptions import InvalidTag

        with suppress(InvalidTag, ValueError):
            return self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], context.encode())
        raise LedgerError(
            "the noise of this gate cannot be read with this key; give the key file that belongs to the ledger"
        )

    def __repr__(self) -> str:
        return "<SealingKey>"

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        raise LedgerError("a key can be neither copied nor pickled; load it from its file")


def key_of(ledger: Ledger, path: Path) -> SealingKey:
    """The key of a ledger, from its file; a rotation that was cut short after its commit is brought to its end."""
    key = SealingKey.load(path)
    make_tables(ledger.database)
    with ledger.database.reading() as connection:
        name = _name(connection)
    if name is None:
        # From before keys had names, or new: whoever comes first gives the name, if this key opens what is open.
        with ledger.database.writing() as connection:
            if _name(connection) is None:
                _seal_anew(ledger, connection, key, key)
            name = _name(connection)
    if key.name != name and (waiting := _beside(path, str(name))).exists():
        key = SealingKey.load(waiting)
        _put_in_place(waiting, path)
    if key.name != name:
        raise LedgerError(
            f"the key file {path} is not that of the ledger {ledger.database.shown}: give the one that is; if it is "
            "lost, remove this one and start with --new-key, which closes all open gates"
        )
    return key


def rotate_key(ledger: Ledger, path: Path) -> int:
    """Put a new key in the place of the one in a file; how many gates are sealed with it. All gates stay open."""
    old, new = key_of(ledger, path), SealingKey.create(path, beside=True)
    waiting = _beside(path, new.name)
    try:
        with ledger.database.writing() as connection:
            if _name(connection) != old.name:
                raise LedgerError(f"another rotation of the key {path} came first; nothing was changed")
            count = _seal_anew(ledger, connection, old, new)
    except Exception:
        # Where it is not known whether the commit took effect, the ledger may ask for this file.
        with suppress(LedgerError), ledger.database.reading() as connection:
            if _name(connection) != new.name:
                waiting.unlink(missing_ok=True)
        raise
    _put_in_place(waiting, path)
    return count


def rename_key(ledger: Ledger, key: SealingKey) -> None:
    """The old key is lost, and a new one in its place."""
    with ledger.database.writing() as connection:
        connection.run("UPDATE ledger SET key_name = :name", name=key.name)


def _seal_anew(ledger: Ledger, connection: Connection, old: SealingKey, new: SealingKey) -> int:
    """Seal what the old key opens with the new one, which gives its name; every open gate must be among it."""
    count = 0
    for row in connection.rows(WITH_LAST):
        gate = stored(row)
        for unit in ("user", "row"):
            context = noise_context(ledger.dataset, unit, gate.id, gate.tally.spec)
            with suppress(LedgerError):
                sealed = new.seal(old.unseal(gate.sealed, context), context)
                connection.run("UPDATE gates SET sealed = :sealed WHERE entry = :gate", gate=gate.number, sealed=sealed)
                count += 1
                break
        else:
            if not gate.tally.closed:
                raise LedgerError(
                    f"the gate {gate.id} cannot be read with this key; give the key file that belongs to the ledger"
                )
    connection.run("UPDATE ledger SET key_name = :name", name=new.name)
    return count


def _name(connection: Connection) -> str | None:
    name: str | None = connection.value("SELECT key_name FROM ledger")
    return name


def _beside(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}.{name}")


def _put_in_place(waiting: Path, path: Path) -> None:
    with suppress(FileNotFoundError):  # whoever started in the meantime has done it
        waiting.replace(path)
    sync_folder(path.parent)
