"""Random bits: an AES-256-CTR keystream under a key from the operating system, or under a seed.

``Secure`` is the only source a private run may use; ``Seeded`` repeats itself. The samplers of this room are exact
given ideal bits, so the one assumption that remains is that AES-256 in counter mode, keyed by ``os.urandom``, is a good
pseudo-random generator. ``source.stream()`` gives an independent child: a gate takes one for each kind of noise.

*Forks.* Two processes that draw the same noise would give away private data. So everything that holds noise remembers
the ``MARK`` of the process it was born in and compares it before every draw: noise drawn ahead dies, and sources take
new keys, in the child of every fork. The mark stands in a page of memory that Linux wipes in the child
(``MADV_WIPEONFORK``). Elsewhere ``os.register_at_fork`` wipes it, and a fork behind Python's back is noticed when a
source next refills, by the process id. For the same reason nothing that holds noise can be copied or pickled.

What no program can notice from inside is a copy of the whole machine: two virtual machines resumed from one snapshot
go on with the same keys and noise. Make gates after a snapshot.
"""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import mmap
import os
import sys
import threading
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import ClassVar, Final, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from sparsegate.errors import ParameterError, SparsegateError

_WIPE_ON_FORK: Final = 18  # <linux/mman.h>; Python's mmap does not name it


def _marked_page() -> memoryview:
    if sys.platform != "linux":
        return memoryview(bytearray(8)).cast("Q")
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a kernel before 4.14
        page.madvise(_WIPE_ON_FORK)
    return memoryview(page).cast("Q")


MARK: Final = _marked_page()  # ``MARK[0]`` is this process's number, or 0 in a child that has not taken one yet

_taken = 0
_process = 0
_locks: dict[int, threading.Lock] = {}


def renewal() -> threading.Lock:
    """The lock under which a child renews keys and locks: one that no thread of the parent can hold."""
    return _locks.setdefault(os.getpid(), threading.Lock())


def birthmark() -> int:
    """The mark of this process, for what is born in it."""
    global _taken, _process
    if not MARK[0]:
        with renewal():
            if not MARK[0]:
                _taken, _process = _taken + 1, os.getpid()  # a mark that no ancestor had
                MARK[0] = _taken
    return int(MARK[0])


def _wipe() -> None:
    MARK[0] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_wipe)


_KEY, _NONCE = 32, 16  # bytes
_BLOCK = 1 << 14  # bytes kept ready, so that a scalar draw does not pay for a call into the cipher
_ZEROS = memoryview(bytes(1 << 20))  # keystream = encryption of zeros
_TEST_KEY = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"  # NIST SP 800-38A, F.5.5
_TEST_COUNTER = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
_TEST_BLOCKS = "0bdf7df1591716335e9a8b15c860c5025a6e699d536119065433863c8f657b94"


class Uncopied:
    """Refuses to be copied or pickled; ``_uncopied`` says why, and what to do instead."""

    __slots__ = ()
    _uncopied: ClassVar[str]

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise SparsegateError(self._uncopied)

    def __getstate__(self) -> NoReturn:
        raise SparsegateError(self._uncopied)


class Source(Uncopied, ABC):
    """A stream of uniform random bytes, safe to use from several threads."""

    _uncopied = (
        "a random source can be neither copied nor pickled: two copies would repeat one another's noise; "
        "call .stream() for an independent source"
    )
    private: bool
    """Whether a private run may draw from it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._start()
        self._born = birthmark()

    @abstractmethod
    def _key_and_nonce(self) -> tuple[bytes, bytes]:
        """Return 32 key bytes and 16 counter bytes."""

    @abstractmethod
    def stream(self) -> Source:
        """Return an independent source of the same kind."""

    def _start(self) -> None:
        self._cipher = _keystream(*self._key_and_nonce())
        self._ready = b""
        self._position = 0

    def _restart(self) -> None:
        """Go on in the child of a fork: under a new key."""
        self._start()

    def _guard(self) -> threading.Lock:
        """The lock to draw under; in the child of a fork a new one, since a thread of the parent may hold the old."""
        if self._born != MARK[0]:
            mark = birthmark()
            with renewal():
                if self._born != mark:
                    self._lock = threading.Lock()
                    self._restart()
                    self._born = mark
        return self._lock

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """Return ``count`` uniform bytes as an array that the caller owns."""
        out = np.empty(count, dtype=np.uint8)
        with self._guard():
            self._fill(out)
        return out

    def _fill(self, out: NDArray[np.uint8]) -> None:
        count = out.size
        if count <= _BLOCK // 4:
            out[:] = np.frombuffer(self._take(count), dtype=np.uint8)
            return
        cipher, done = self._checked_cipher(), 0
        while done < count:
            step = min(len(_ZEROS), count - done)
            cipher.update_into(_ZEROS[:step], out[done : done + step].data)
            done += step

    def _take(self, count: int) -> builtins.bytes:
        start = self._position
        if start + count > len(self._ready):
            # The bytes first, then the place: whatever comes between, no byte is given twice.
            self._ready = self._checked_cipher().update(_ZEROS[:_BLOCK])
            self._position = start = 0
        self._position = start + count
        return self._ready[start : start + count]

    def _checked_cipher(self) -> CipherContext:
        """The cipher; under a new key where the process id has changed although no handler of a fork was called."""
        if os.getpid() != _process:
            _wipe()
        if self._born != MARK[0]:
            self._restart()
            self._born = birthmark()
        return self._cipher

    def word(self) -> int:
        """Return one uniform 64-bit integer."""
        with self._lock if self._born == MARK[0] else self._guard():
            return int.from_bytes(self._take(8), "little")

    def integer(self, bits: int) -> int:
        """Return one uniform integer of ``bits`` bits."""
        size = -(-bits // 8)
        with self._guard():
            raw = self._take(size) if size <= _BLOCK // 4 else self._checked_cipher().update(bytes(size))
        return int.from_bytes(raw, "little") >> (8 * size - bits)


def _keystream(key: bytes, nonce: bytes) -> CipherContext:
    if len(key) != _KEY or len(nonce) != _NONCE:
        raise SparsegateError(f"the random source needs {_KEY} key and {_NONCE} counter bytes, and was given others")
    return Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()


@lru_cache(maxsize=1)
def self_test() -> None:
    """Refuse to start where the cipher is not AES-256-CTR or the operating system's bytes are visibly none.

    The cipher must give the output blocks of NIST SP 800-38A, F.5.5. Two keys and two counters from the operating
    system must have the size asked for, differ, and not repeat a short pattern (a block of 4 bytes or fewer).
    """
    drawn = [os.urandom(size) for size in (_KEY, _KEY, _NONCE, _NONCE)]
    sound = [len(piece) for piece in drawn] == [_KEY, _KEY, _NONCE, _NONCE] and len(set(drawn)) == len(drawn)
    sound = sound and all(piece[period:] != piece[:-period] for piece in drawn for period in (1, 2, 4))
    stream = _keystream(bytes.fromhex(_TEST_KEY), bytes.fromhex(_TEST_COUNTER)).update(_ZEROS[:32])
    if not sound or stream != bytes.fromhex(_TEST_BLOCKS):
        raise SparsegateError(
            "the random source failed its self-test: nothing drawn here would be private; "
            "check the operating system's random device and the installation of the package cryptography"
        )


class Secure(Source):
    """AES-256-CTR keyed by the operating system; a new key after fork.

    >>> import sparsegate as sg
    >>> sg.Secure()
    Secure()
    """

    private = True
    """A private run may draw from it."""

    def __init__(self) -> None:
        self_test()
        super().__init__()

    def _key_and_nonce(self) -> tuple[bytes, bytes]:
        return os.urandom(_KEY), os.urandom(_NONCE)

    def stream(self) -> Secure:
        """Another source, under a key of its own."""
        return Secure()

    def __repr__(self) -> str:
        return "Secure()"


class Seeded(Source):
    """A repeatable source for tests and simulations. Whoever knows the seed knows the noise.

    >>> import sparsegate as sg
    >>> sg.Seeded(7)
    Seeded(7: NOT PRIVATE)
    >>> sg.Seeded(7).word() == sg.Seeded(7).word()
    True
    """

    private = False
    """Only tests may draw from it."""

    def __init__(self, seed: int, *, _path: tuple[int, ...] = ()) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise ParameterError("seed", "must be a whole number", seed, "pass for instance Seeded(7)")
        self._seed = int(seed)
        self._path = _path
        self._children = 0
        super().__init__()

    def _key_and_nonce(self) -> tuple[bytes, bytes]:
        name = f"sparsegate seeded source {self._seed} {self._path}".encode()
        return hashlib.sha256(name).digest(), bytes(_NONCE)

    def _restart(self) -> None:
        pass  # repeatability is the point of a seed: the child goes on where the parent was

    def stream(self) -> Seeded:
        """Another source: which one depends on the seed, and on how many were made before it."""
        with self._guard():
            self._children += 1
            child = self._children
        return Seeded(self._seed, _path=(*self._path, child))

    def __repr__(self) -> str:
        return f"Seeded({self._seed}: NOT PRIVATE)"
