"""Methods of your own: anything with ``select(scores, count, epsilon, rng) -> indices``.

A method is a function, or an object with ``select``. ``scores`` holds the score of every item in random order, an array
of its own for each run; ``count`` is c; ``rng`` is a numpy generator. It returns the indices of at most c items, each
once: who stops early, as SVT may, returns fewer. One record moves a score by at most 1, all of them in one direction.

Optional, as attributes of the function or the object:

    key, title      how tables and figures call it; its name unless given
    version         finished cases are kept under it, see ``SuppliedMethod.law``
    interactive     whether it sees one item after the other
    delta           what ``select`` is given where it has a parameter ``delta``

**Grouped scores.** Two million items have a thousand distinct scores. An object with ``select_grouped(values, sizes,
count, epsilon, rng)`` is given those instead, falling, and how many items have each; it returns the group of every item
it selects, a group at most as often as it has items.
"""

from __future__ import annotations

import hashlib
import inspect
import pickle
import re
import sys
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from sparsegate.budget import Number
from sparsegate.errors import ParameterError

PER_ITEM = ("scores", "count", "epsilon", "rng")
GROUPED = ("values", "sizes", "count", "epsilon", "rng")

_KEY = re.compile(r"[A-Za-z0-9][\w.:+-]*")


@dataclass(frozen=True, kw_only=True, eq=False)
class SuppliedMethod:
    """A way to select c items that is not ours: ``source`` is the function or object that selects.

    >>> import sparsegate as sg
    >>> def highest(scores, count, epsilon, rng):
    ...     return (scores + rng.gumbel(0, count / epsilon, scores.size)).argsort()[-count:]
    >>> sg.evaluation.SuppliedMethod.of(highest, title="Highest")
    SuppliedMethod(key='highest', title='Highest', version=None, interactive=False, delta=0)
    """

    key: str
    """Its name in results."""
    title: str
    """Its name in figures."""
    version: str | None = None
    """Which version of it; finished cases of another are not used again."""
    interactive: bool = False
    """Whether it sees one item after the other."""
    delta: Number = 0
    """The delta that it is private with."""
    source: object = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not _KEY.fullmatch(self.key):
            rule = "must have a key of letters, digits and any of _ . : + -"
            raise ParameterError("method", rule, self.key, 'give it a key: SuppliedMethod.of(f, key="mine")')
        self.caller()

    @classmethod
    def of(cls, source: object, **given: Any) -> SuppliedMethod:
        """A method from a function or an object: what is not ``given`` is read from its attributes."""
        if inspect.isclass(source):
            raise ParameterError("method", "must be a function or an object, not a class", source, "make an object")
        name = str(getattr(source, "__name__", type(source).__name__)).strip("<>")
        known = {
            name: getattr(source, name) for name in ("key", "title", "interactive", "delta") if hasattr(source, name)
        }
        version = getattr(source, "version", None)
        found = {"key": name, "version": None if version is None else str(version)} | known | given
        return cls(source=source, **{"title": found["key"], **found})

    @property
    def grouped(self) -> bool:
        """Whether it is given distinct scores and how many items have each."""
        return callable(getattr(self.source, "select_grouped", None))

    @property
    def call(self) -> Callable[..., Any]:
        """What is called to select."""
        ways = (getattr(self.source, name, None) for name in ("select_grouped", "select"))
        for way in (*ways, self.source):
            if callable(way):
                found: Callable[..., Any] = way
                return found
        rule = "must be a key, a function, or an object with select(scores, count, epsilon, rng)"
        raise ParameterError("method", rule, self.source)

    @property
    def takes_delta(self) -> bool:
        """Whether it has a parameter for a delta."""
        signature = self._signature()
        return signature is not None and "delta" in signature.parameters

    def at_delta(self, delta: Number) -> SuppliedMethod:
        """The same at a delta, under a key of its own.

        >>> import sparsegate as sg
        >>> sg.evaluation.SuppliedMethod.of(lambda scores, count, epsilon, rng, delta: [0], key="mine").at_delta(1e-6)
        SuppliedMethod(key='mine-delta-1e-06', title='mine, δ = 1e-06', version=None, interactive=False, delta=1e-06)
        """
        text = f"{float(delta):g}"
        return replace(self, key=f"{self.key}-delta-{text}", title=f"{self.title}, δ = {text}", delta=delta)

    def fresh(self) -> SuppliedMethod:
        """The same with a copy of its object, as a new process has it; itself where it cannot be copied."""
        try:
            return replace(self, source=deepcopy(self.source))
        except Exception:  # whatever the object raises
            return self

    def caller(self) -> Callable[..., Any]:
        """What is called by the names of its arguments; it gets them by place where it has other names for them."""
        named = GROUPED if self.grouped else PER_ITEM
        call, more = self.call, {"delta": float(self.delta)} if self.takes_delta else {}
        if self.delta and not more:
            raise ParameterError(f"method {self.key}", "must have a parameter delta for a delta above 0", self.delta)

        def by_place(**given: Any) -> Any:
            return call(*(given[name] for name in named), **more)

        if (signature := self._signature()) is None:
            return by_place
        if _binds(signature, (), {**dict.fromkeys(named), **more}):
            return partial(call, **more)
        names = list(signature.parameters)
        in_place = all(name not in names or names.index(name) == place for place, name in enumerate(named))
        if in_place and _binds(signature, named, more):
            return by_place
        raise ParameterError(f"method {self.key}", f"must take ({', '.join(named)})", names)

    def _signature(self) -> inspect.Signature | None:
        """Its parameters; None where they are not known, as of a function in C."""
        try:
            return inspect.signature(self.call)
        except ValueError:
            return None

    @property
    def pickled(self) -> bytes | None:
        """The function by its name, an object by its state: what another process is sent; None if that cannot be."""
        try:
            found = pickle.dumps(self.source)
        except Exception:  # whatever the state of an object raises
            return None
        main = sys.modules.get("__main__")
        importable = any(getattr(main, name, None) is not None for name in ("__spec__", "__file__"))
        return found if importable or b"__main__" not in found else None

    @property
    def kept(self) -> bool:
        """Whether finished cases can be found again: only its ``version`` tells whether a method has changed."""
        return self.version is not None and self.pickled is not None

    def law(self, *, count: int, epsilon: Number) -> tuple[object, ...]:
        """What the numbers of a case depend on: the version, and the state of an object."""
        return self.version, hashlib.sha256(self.pickled or b"").hexdigest(), float(self.delta)

    @property
    def described(self) -> dict[str, object]:
        """What a manifest says of it."""
        names = ("key", "title", "interactive", "delta", "version")
        kind = self.source if hasattr(self.source, "__qualname__") else type(self.source)
        source = f"{getattr(kind, '__module__', '')}:{getattr(kind, '__qualname__', '')}"
        none_of_ours = {"row": None, "allocation": None, "raise_by": 0, "passes": 1, "selection": None, "touched": None}
        return {name: getattr(self, name) for name in names} | none_of_ours | {"source": source}

    def check_jobs(self, jobs: int) -> None:
        """Refuse several processes where it cannot be sent to them."""
        if jobs > 1 and self.pickled is None:
            rule = f"must be 1 for the method {self.key}, which another process cannot import"
            raise ParameterError("jobs", rule, jobs, "define it at the top of a module, or pass jobs=1")


def _binds(signature: inspect.Signature, places: tuple[object, ...], names: dict[str, Any]) -> bool:
    try:
        signature.bind(*places, **names)
    except TypeError:
        return False
    return True
