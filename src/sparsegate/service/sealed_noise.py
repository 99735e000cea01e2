"""Threshold noise under lock and key: it must outlive the process, and nobody may read it.

Whoever knows rho can undo half of a gate's noise, so it is stored encrypted (AES-256-GCM, a fresh nonce each) under a
key that is not in the ledger: a backup or an export of the ledger alone tells nothing. The gate's name and public
parameters are authenticated beside it, so noise cannot be moved from one gate to another.
"""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
from pathlib import Path
from typing import Final

from sparsegate.errors import LedgerError
from sparsegate.ledger.database import sync_folder

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
    def create(cls, path: str | Path) -> SealingKey:
        """Make a new key; a file that is already there is refused."""
        return cls._written(secrets.token_bytes(_BYTES), Path(path))

    @classmethod
    def create_beside(cls, path: Path) -> tuple[SealingKey, Path]:
        """Make a new key in a file beside another, called like that one with the name of the key after it."""
        secret = secrets.token_bytes(_BYTES)
        place = path.with_name(f"{path.name}.{cls(secret).name}")
        return cls._written(secret, place), place

    @classmethod
    def _written(cls, secret: bytes, place: Path) -> SealingKey:
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
            raise LedgerError(
                f"the key file {place} cannot be made; check that its folder exists and is writable"
            ) from None
        return cls(secret)

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

        try:
            return self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], context.encode())
        except (InvalidTag, ValueError):
            pass
        raise LedgerError(
            "the noise of this gate cannot be read with this key; give the key file that belongs to the ledger"
        )

    def __repr__(self) -> str:
        return "<SealingKey>"

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        raise LedgerError("a key can be neither copied nor pickled; load it from its file")
