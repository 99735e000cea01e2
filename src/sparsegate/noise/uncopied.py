"""What must not exist twice: two copies would answer with the same noise, for one budget."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from sparsegate.errors import SparsegateError


class Uncopied:
    """Refuses to be copied or pickled; ``_uncopied`` says why, and what to do instead."""

    __slots__ = ()
    _uncopied: ClassVar[str]

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise SparsegateError(self._uncopied)

    def __getstate__(self) -> NoReturn:
        raise SparsegateError(self._uncopied)
