"""Random bits: an AES-256-CTR keystream under a key from the operating system, or under a seed.

A *source* hands out bytes. ``Secure`` is the only source a private run may use; ``Seeded`` has the same interface,
repeats itself, and says NOT PRIVATE wherever it is shown. The samplers of this room are exact given ideal bits, so the
one assumption that remains is that AES-256 in counter mode, keyed by ``os.urandom``, is a good pseudo-random generator.

``source.stream()`` gives an independent child. A gate takes one child for each kind of noise it draws, so the order in
which two kinds are consumed never changes the values of either.
"""

from __future__ import annotations

import builtins
import hashlib
import os
import threading
import weakref
from abc import ABC, abstractmethod
from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from sparsegate.errors import ParameterError, SparsegateError

_BLOCK = 1 << 14  # bytes kept ready, so that a scalar draw does not pay for a call into the cipher
_ZEROS = memoryview(bytes(1 << 20))  # keystream = encryption of zeros


class Lineage:
    """The process a secret was born in; ``token`` is replaced in the child of every fork."""

    token: object = object()


_living: weakref.WeakSet[Source] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    Lineage.token = object()
    for source in list(_living):
        source._rekey_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


class Source(ABC):
    """A stream of uniform random bytes, safe to use from several threads."""

    private: bool

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._start()
        _living.add(self)

    @abstractmethod
    def _key_and_nonce(self) -> tuple[bytes, bytes]:
        """Return 32 key bytes and 16 counter bytes."""

    @abstractmethod
    def stream(self) -> Source:
        """Return an independent source of the same kind."""

    def _start(self) -> None:
        key, nonce = self._key_and_nonce()
        self._cipher: CipherContext = Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()
        self._ready = b""
        self._position = 0

    def _rekey_after_fork(self) -> None:
        # The parent may have held the lock when it forked: the child needs a lock nobody holds.
        self._lock = threading.Lock()
        self._start()

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """Return ``count`` uniform bytes as an array that the caller owns."""
        out = np.empty(count, dtype=np.uint8)
        with self._lock:
            self._fill(out)
        return out

    def _fill(self, out: NDArray[np.uint8]) -> None:
        count = out.size
        if count <= _BLOCK // 4:
            out[:] = np.frombuffer(self._take(count), dtype=np.uint8)
            return
        done = 0
        while done < count:
            step = min(len(_ZEROS), count - done)
            self._cipher.update_into(_ZEROS[:step], out[done : done + step].data)
            done += step

    def _take(self, count: int) -> builtins.bytes:
        end = self._position + count
        if end > len(self._ready):
            self._ready = self._cipher.update(_ZEROS[:_BLOCK])
            self._position, end = 0, count
        taken = self._ready[self._position : end]
        self._position = end
        return taken

    def word(self) -> int:
        """Return one uniform 64-bit integer."""
        with self._lock:
            return int.from_bytes(self._take(8), "little")

    def integer(self, bits: int) -> int:
        """Return one uniform integer of ``bits`` bits."""
        size = -(-bits // 8)
        with self._lock:
            raw = self._take(size) if size <= _BLOCK // 4 else self._cipher.update(bytes(size))
        return int.from_bytes(raw, "little") >> (8 * size - bits)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise SparsegateError(
            f"a {type(self).__name__} source can be neither copied nor pickled: "
            "two copies would repeat one another's noise; call .stream() for an independent source"
        )


class Secure(Source):
    """AES-256-CTR keyed by the operating system; a new key after fork.

    >>> Secure()
    Secure()
    """

    private = True

    def _key_and_nonce(self) -> tuple[bytes, bytes]:
        return os.urandom(32), os.urandom(16)

    def stream(self) -> Secure:
        return Secure()

    def __repr__(self) -> str:
        return "Secure()"


class Seeded(Source):
    """A repeatable source for tests and simulations. Whoever knows the seed knows the noise.

    >>> Seeded(7)
    Seeded(7: NOT PRIVATE)
    >>> Seeded(7).word() == Seeded(7).word()
    True
    """

    private = False

    def __init__(self, seed: int, *, _path: tuple[int, ...] = ()) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise ParameterError("seed", "must be a whole number", seed, "pass for instance Seeded(7)")
        self._seed = int(seed)
        self._path = _path
        self._children = 0
        super().__init__()

    def _key_and_nonce(self) -> tuple[bytes, bytes]:
        name = f"sparsegate seeded source {self._seed} {self._path}".encode()
        return hashlib.sha256(name).digest(), bytes(16)

    def _rekey_after_fork(self) -> None:
        self._lock = threading.Lock()  # repeatability is the point of a seed: the child goes on where the parent was

    def stream(self) -> Seeded:
        with self._lock:
            self._children += 1
            child = self._children
        return Seeded(self._seed, _path=(*self._path, child))

    def __repr__(self) -> str:
        return f"Seeded({self._seed}: NOT PRIVATE)"
