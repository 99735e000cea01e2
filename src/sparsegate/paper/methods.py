"""The methods of the evaluation as data: a row of the paper's table and a few numbers, or a method of ``select_top``.

Queries are counts, so monotonic=True throughout; every threshold is the oracle threshold: not private.

**Methods of your own** (docs/how-to/methods.md): a function ``select(scores, count, epsilon, rng)`` that returns
indices of at most c of the scores, which come in random order, or an object with ``select``; one with ``select_grouped(
values, sizes, count, epsilon, rng)`` is given the distinct scores, falling, and how many items have each, and returns
the group of each item. Packages bring methods as entry points of the group ``sparsegate.methods``, imported once asked
for by key.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import pickle
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from importlib.metadata import Distribution, EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeAlias, cast

from sparsegate.budget import Allocation, Number, check_choice, exact_epsilon
from sparsegate.errors import ParameterError, unknown_key
from sparsegate.gates.approximate import approximate_scales, round_epsilon
from sparsegate.gates.bounds import tight_loss
from sparsegate.gates.variants import VARIANTS, Closes, Compared, Noise, Scales, Variant
from sparsegate.selection.exponential import selection_rate
from sparsegate.selection.noisy_scores import noisy_scale

MOST_PASSES = 10**6
"""Retraversal goes on until c items are selected, and gives up after this many passes. A simulated pass is free."""


class NoiseScales(NamedTuple):
    """Scales in units of scores: of the threshold noise rho, and of the query noise nu (of EM, subset: 1 / rate)."""

    threshold: float
    query: float


SIMULATED = ("exponential", "gumbel", "one-shot", "noisy-scores", "subset")
"""The methods of ``select_top`` that the simulation knows the law of."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to select c items. Where ``row`` is None, ``selection`` is a method of ``select_top``.

    ``max_items_per_user`` is read where that method does; ``delta`` there, and by the standard row.

    A row that never stops is stopped after c positives. Where ``at_true_epsilon``, its noise is such that its *tight*
    loss is the epsilon asked for, whatever its authors claim.

    ``allocation`` overrides the row's split of epsilon; ``threshold_factor`` is by how much the threshold is off;
    ``raise_by`` raises it by this many standard deviations of nu; ``passes`` is how often the items are gone through
    at most. ``interactive`` methods see one item after the other, the others all of them at once.

    >>> import sparsegate as sg
    >>> row = sg.VARIANTS["standard"]
    >>> mine = sg.paper.Method(key="mine", title="SVT 1:9", row=row, allocation=9, interactive=True)
    >>> mine.noise(count=25, epsilon=0.1)
    NoiseScales(threshold=100.0, query=277.77777777777777)
    >>> mine.true_epsilon(count=25, epsilon=0.1)
    0.1
    """

    key: str
    """Its name on the command line, and in results."""
    title: str
    """Its name in figures."""
    row: Variant | None = None
    allocation: Allocation | None = None
    threshold_factor: float = 1
    raise_by: int | float = 0
    passes: int = 1
    interactive: bool = False
    selection: str = "exponential"
    max_items_per_user: int | None = None
    delta: Number = 0
    at_true_epsilon: bool = False

    def __post_init__(self) -> None:
        if self.row is None:
            check_choice(self.selection, "selection", SIMULATED)
            return
        if self.row.closes is Closes.RARER or self.row.compared is not Compared.ANSWER:
            raise ParameterError("row", "must compare answers and may not go on after c positives", self.row.key)
        plain = self.row.noise is Noise.LAPLACE and self.row.query_noise.factor and not self.row.redraws_threshold
        if not plain and (self.passes != 1 or self.raise_by):
            rule = "must have Laplace noise and draw its threshold once for a raised threshold or more than one pass"
            raise ParameterError("row", rule, self.row.key)
        if self.delta and self.row != VARIANTS["standard"]:
            raise ParameterError("delta", "must be 0 for every row but the standard one", self.row.key)
        if self.at_true_epsilon and self._tight(1, 1) == math.inf:
            raise ParameterError("at_true_epsilon", "must be of a row that has one", self.row.key)
        if self.passes < 1 or self.raise_by < 0:
            raise ParameterError("passes", "must be at least 1, and raise_by at least 0", (self.passes, self.raise_by))
        if not 0 < self.threshold_factor < math.inf:
            raise ParameterError("threshold_factor", "must be positive and finite", self.threshold_factor)

    kept: ClassVar[bool] = True
    """Whether finished cases can be found again: ``law`` says all that the numbers depend on."""

    @property
    def described(self) -> dict[str, object]:
        """What a manifest says of it."""
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        allocation = None if self.allocation is None else str(self.allocation)
        return known | {"row": self.row and self.row.key, "allocation": allocation}

    def noise(self, *, count: int, epsilon: Number) -> NoiseScales:
        """The noise scales at this c and epsilon, for scores that one record moves by at most 1."""
        if self.row is None:
            share = exact_epsilon(epsilon)
            if self.selection == "noisy-scores":
                promise: dict[str, Any] = {"monotonic": True, "max_items_per_user": self.max_items_per_user}
                return NoiseScales(0.0, float(noisy_scale(epsilon=share, count=count, steps=1, **promise)))
            if self.delta:
                share = count * round_epsilon(epsilon=share, delta=self.delta, count=count)
            rounds = 2 if self.selection == "subset" else count  # see ``selection.subset``
            rate = selection_rate(epsilon=share, count=rounds, sensitivity=1, monotonic=True)
            return NoiseScales(0.0, float(1 / rate))
        scales = self._scales(count, exact_epsilon(epsilon))
        return NoiseScales(float(scales.threshold or Fraction(0)), float(scales.query or Fraction(0)))

    def law(self, *, count: int, epsilon: Number) -> tuple[object, ...]:
        """What the numbers of a case depend on, beside the scores."""
        way = self.selection if self.row is None else (self.row.redraws_threshold, self.row.noise.name)
        return *self.noise(count=count, epsilon=epsilon), self.threshold_factor, self.raise_by, self.passes, way

    def raised(self, threshold: float, noise: NoiseScales) -> float:
        """f T + k sqrt(2) scale(nu); with one-sided noise f T + kappa, which centres the comparison."""
        raised = self.threshold_factor * threshold + self.raise_by * math.sqrt(2) * noise.query
        if self.row is None or not noise.query:
            return raised
        return raised + self.row.noise.law.shift(Fraction(noise.threshold), Fraction(noise.query), lattice=False)

    def true_epsilon(self, *, count: int, epsilon: Number) -> float:
        """The smallest epsilon, at the method's delta, for which it is private at this c: infinite where there is none.

        >>> import sparsegate as sg
        >>> [sg.paper.METHODS[key].true_epsilon(count=25, epsilon=0.1) for key in ("alg-4", "alg-4-true")]
        [1.9, 0.1]
        """
        asked = exact_epsilon(epsilon)
        if self.row is None or self.delta:
            return float(asked)
        return float(asked) if self.at_true_epsilon else float(self._tight(count, asked))

    def _tight(self, count: int, epsilon: Fraction | int) -> Fraction | float:
        assert self.row is not None
        claimed = replace(self, at_true_epsilon=False)._scales(count, Fraction(epsilon))
        return tight_loss(self.row, claimed, cutoff=count, monotonic=True, queries=None)

    def _scales(self, count: int, epsilon: Fraction) -> Scales:
        assert self.row is not None
        if self.at_true_epsilon:
            epsilon /= Fraction(self._tight(count, 1))  # the tight loss is linear in epsilon
        budget = self.row.budget(epsilon, cutoff=count, monotonic=True, allocation=self.allocation)
        ways = [self.row.scales(budget, cutoff=count, monotonic=True)]
        if self.delta:
            delta = Fraction(str(self.delta))
            approximate = approximate_scales(epsilon=epsilon, delta=delta, sensitivity=1, cutoff=count, monotonic=True)
            ways += [] if approximate is None else [approximate]
        return min(ways, key=lambda scales: (scales.threshold or 0) ** 2 + (scales.query or 0) ** 2)


_STANDARD, _BOOK = VARIANTS["standard"], VARIANTS["dwork-roth-2014"]
_BOOK_ONCE = replace(_BOOK, key="dwork-roth-2014-once", redraws_threshold=False)
_BOOK_MONOTONIC = replace(_BOOK, key="dwork-roth-2014-monotonic", query_noise_monotonic=_STANDARD.query_noise_monotonic)
_RETRAVERSED: dict[str, Any] = {"row": _STANDARD, "allocation": "optimal", "passes": MOST_PASSES}


def _gate(key: str, title: str, row: Variant = _STANDARD, **numbers: Any) -> Method:
    return Method(key=key, title=title, row=row, interactive=True, **numbers)


def _touching(key: str, title: str, most: int) -> Method:
    return Method(key=key, title=title, selection="noisy-scores", max_items_per_user=most)


_ROWS = (
    _gate("svt-dpbook", "SVT-DPBook", _BOOK),
    _gate("svt-s-1:1", "SVT-S 1:1", allocation="1:1"),
    _gate("svt-s-1:3", "SVT-S 1:3", allocation="1:3"),
    _gate("svt-s-1:c", "SVT-S 1:c", allocation="1:c"),
    _gate("svt-s-1:c23", "SVT-S 1:c^(2/3)", allocation="optimal"),
    *(Method(key=f"svt-retr-{k}d", title=f"SVT-ReTr {k}D", raise_by=k, **_RETRAVERSED) for k in range(6)),
    Method(key="em", title="EM"),
    Method(key="one-shot", title="One-shot", selection="one-shot"),
    Method(key="subset", title="Subset", selection="subset"),
    Method(key="gumbel", title="EM, δ = 1e-6", selection="gumbel", delta=1e-6),
    *(_touching(f"noisy-scores-{m}", f"Noisy scores, {m} touched", m) for m in (1, 10)),
    # Why DPBook loses: its large threshold noise drawn only once; the threshold noise of Alg. 1, which does not grow
    # with c; and DPBook's own threshold noise with the query noise that suffices for monotonic queries.
    _gate("svt-dpbook-once", "SVT-DPBook, ρ drawn once", _BOOK_ONCE),
    _gate("svt-alg1", "SVT-DPBook, ρ of Alg. 1", VARIANTS["lyu-2017"]),
    _gate("svt-dpbook-monotonic", "SVT-DPBook, ν halved", _BOOK_MONOTONIC),
    # A threshold that is not the oracle's: too low, too high, and too high with the paper's way to deal with that.
    _gate("svt-s-half-t", "SVT-S 1:c^(2/3), T halved", allocation="optimal", threshold_factor=0.5),
    _gate("svt-s-double-t", "SVT-S 1:c^(2/3), T doubled", allocation="optimal", threshold_factor=2.0),
    Method(key="svt-s-double-t-retr", title="SVT-ReTr, T doubled", threshold_factor=2.0, **_RETRAVERSED),
    # What came after the paper, as gates: exponential noise; and Laplace noise with a delta.
    _gate("svt-exponential", "SVT, exponential noise", VARIANTS["liu-2024"]),
    _gate("svt-delta", "SVT, δ = 1e-6", delta=1e-6),
    # The flawed rows as claimed, and every row whose tight loss is finite and not what is claimed, at that loss.
    _gate("alg-3", "Alg. 3, as claimed", VARIANTS["roth-2011"]),
    _gate("alg-4", "Alg. 4, as claimed", VARIANTS["lee-clifton-2014"]),
    _gate("alg-5", "Alg. 5, as claimed", VARIANTS["stoddard-2014"]),
    _gate("alg-6", "Alg. 6, as claimed", VARIANTS["chen-2015"]),
    _gate("svt-dpbook-true", "SVT-DPBook, true ε", _BOOK, at_true_epsilon=True),
    _gate("svt-alg1-true", "Alg. 1, true ε", VARIANTS["lyu-2017"], at_true_epsilon=True),
    _gate("alg-4-true", "Alg. 4, true ε", VARIANTS["lee-clifton-2014"], at_true_epsilon=True),
)

METHODS: Mapping[str, Method] = MappingProxyType({method.key: method for method in _ROWS})
"""Every method by its key.

>>> from sparsegate import paper
>>> paper.METHODS["svt-retr-5d"].title
'SVT-ReTr 5D'
"""

DEFAULT_METHODS = (
    *("svt-dpbook", "svt-s-1:1", "svt-s-1:3", "svt-s-1:c", "svt-s-1:c23"),
    *(f"svt-retr-{k}d" for k in range(1, 6)),
    "em",
)
"""The methods of the paper's two comparisons.

>>> from sparsegate import paper
>>> "em" in paper.DEFAULT_METHODS, "svt-alg1" in paper.DEFAULT_METHODS
(True, False)
"""


PER_ITEM = ("scores", "count", "epsilon", "rng")
GROUPED = ("values", "sizes", "count", "epsilon", "rng")

_KEY = re.compile(r"[A-Za-z0-9][\w.:+-]*")


@dataclass(frozen=True, kw_only=True, eq=False)
class SuppliedMethod:
    """A way to select c items that is not ours: ``source`` is the function or object that selects.

    >>> import sparsegate as sg
    >>> def highest(scores, count, epsilon, rng):
    ...     return (scores + rng.gumbel(0, count / epsilon, scores.size)).argsort()[-count:]
    >>> sg.paper.SuppliedMethod.of(highest, title="Highest")
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

    max_items_per_user: ClassVar[None] = None
    """None: a method of one's own makes no use of it."""

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not _KEY.fullmatch(self.key):
            rule = "must have a key of letters, digits and any of _ . : + -"
            raise ParameterError("method", rule, self.key, 'give it a key: SuppliedMethod.of(f, key="mine")')
        self.caller()

    @classmethod
    def of(
        cls,
        source: object,
        *,
        key: str | None = None,
        title: str | None = None,
        version: str | None = None,
        interactive: bool | None = None,
        delta: Number | None = None,
    ) -> SuppliedMethod:
        """A method from a function or an object: what is None here is read from its attributes."""
        if inspect.isclass(source):
            raise ParameterError("method", "must be a function or an object, not a class", source, "make an object")
        asked = {"key": key, "title": title, "version": version, "interactive": interactive, "delta": delta}
        read = {name: getattr(source, name, None) if value is None else value for name, value in asked.items()}
        known: dict[str, Any] = {name: value for name, value in read.items() if value is not None}
        known.setdefault("key", str(getattr(source, "__name__", type(source).__name__)).strip("<>"))
        known.setdefault("title", known["key"])
        if "version" in known:
            known["version"] = str(known["version"])
        return cls(source=source, **known)

    def true_epsilon(self, *, count: int, epsilon: Number) -> float:
        """The epsilon asked for: a method that is not ours is taken at its word."""
        return float(epsilon)

    @property
    def grouped(self) -> bool:
        """Whether it is given distinct scores and how many items have each."""
        return callable(getattr(self.source, "select_grouped", None))

    @property
    def call(self) -> Callable[..., Any]:
        """What is called to select."""
        for way in (*(getattr(self.source, name, None) for name in ("select_grouped", "select")), self.source):
            if callable(way):
                return cast("Callable[..., Any]", way)
        rule = "must be a key, a function, or an object with select(scores, count, epsilon, rng)"
        raise ParameterError("method", rule, self.source)

    @property
    def takes_delta(self) -> bool:
        """Whether it has a parameter for a delta."""
        return "delta" in (self._parameters() or {})

    def at_delta(self, delta: Number) -> SuppliedMethod:
        """The same at a delta, under a key of its own.

        >>> import sparsegate as sg
        >>> sg.paper.SuppliedMethod.of(lambda scores, count, epsilon, rng, delta: [0], key="mine").at_delta(1e-6)
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

        def by_place(**arguments: Any) -> Any:
            return call(*(arguments[name] for name in named), **more)

        def binds(*places: object, **names: object) -> bool:
            try:
                return bool(inspect.signature(call).bind(*places, **names))
            except TypeError:
                return False

        if (parameters := self._parameters()) is None:
            return by_place
        if binds(**dict.fromkeys(named), **more):
            return partial(call, **more)
        names = list(parameters)
        in_place = all(name not in names or names.index(name) == place for place, name in enumerate(named))
        if in_place and binds(*named, **more):
            return by_place
        raise ParameterError(f"method {self.key}", f"must take ({', '.join(named)})", names)

    def _parameters(self) -> Mapping[str, inspect.Parameter] | None:
        """Its parameters; None where they are not known, as of a function in C."""
        try:
            return inspect.signature(self.call).parameters
        except ValueError:
            return None

    @property
    def pickled(self) -> bytes | None:
        """The function by its name, an object by its state: what another process is sent; None if that cannot be."""
        try:
            pickled = pickle.dumps(self.source)
        except Exception:  # whatever the state of an object raises
            return None
        main = sys.modules.get("__main__")
        importable = any(getattr(main, name, None) is not None for name in ("__spec__", "__file__"))
        return pickled if importable or b"__main__" not in pickled else None

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
        kind = self.source if hasattr(self.source, "__qualname__") else type(self.source)
        source = f"{getattr(kind, '__module__', '')}:{getattr(kind, '__qualname__', '')}"
        known = {name: getattr(self, name) for name in ("key", "title", "interactive", "delta", "version")}
        none_of_ours = dict.fromkeys(("row", "allocation", "selection", "max_items_per_user"))
        return known | none_of_ours | {"raise_by": 0, "passes": 1, "source": source}

    def check_jobs(self, jobs: int) -> None:
        """Refuse several processes where it cannot be sent to them."""
        if jobs > 1 and self.pickled is None:
            rule = f"must be 1 for the method {self.key}, which another process cannot import"
            raise ParameterError("jobs", rule, jobs, "define it at the top of a module, or pass jobs=1")


GROUP = "sparsegate.methods"


def installed() -> dict[str, tuple[EntryPoint, ...]]:
    """The entry points by key; more than one where packages disagree."""
    points: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, package(point))):
        points[point.name] = (*points.get(point.name, ()), point)
    return points


def package(point: EntryPoint) -> str:
    """The package that brings it, with its version."""
    return "" if point.dist is None else f"{point.dist.name} {point.dist.version}"


def _load_installed(key: str) -> SuppliedMethod | None:
    points = installed().get(key, ())
    if not points:
        return None
    if len(points) > 1:
        rule = f"must be of one package, and {' and '.join(map(package, points))} both have it"
        raise ParameterError("method", rule, key, "uninstall one of them")
    try:
        source = points[0].load()
    except (Exception, SystemExit) as error:  # an import runs somebody else's code
        rule, step = f"must be importable from {package(points[0])}", "mend the package, or leave the method out"
        rule += f" ({type(error).__name__}: {error})"
        raise ParameterError(f"method {key}", rule, points[0].value, step) from error
    supplied = SuppliedMethod.of(source, key=key)
    return supplied if supplied.version is not None else replace(supplied, version=_version(points[0].dist))


def _version(package: Distribution | None) -> str | None:
    """The version of a package and a hash of its list of files, which has a hash of each.

    None for one whose files may change while it stays installed: see PEP 610.
    """
    listed = None if package is None else package.read_text("RECORD")
    if package is None or not listed:
        return None
    try:
        editable = json.loads(package.read_text("direct_url.json") or "{}").get("dir_info", {}).get("editable")
    except (ValueError, AttributeError):  # not what the standard says, so nothing is known
        return None
    return None if editable else f"{package.name} {package.version} {hashlib.sha256(listed.encode()).hexdigest()[:16]}"


AnyMethod: TypeAlias = Method | SuppliedMethod  # A method of ours, or one of your own


def method(way: object) -> AnyMethod:
    """A method, from itself, its key, or anything with ``select``.

    A key is one of ``METHODS``, or of a method that another package brings.
    """
    if isinstance(way, Method | SuppliedMethod):
        return way
    if not isinstance(way, str):
        return SuppliedMethod.of(way)
    if (known := METHODS.get(way) or _load_installed(way)) is None:
        keys = [*METHODS, *installed()]
        raise unknown_key("method", "must be the key of a method", way, keys, "see `sparsegate methods`")
    return known


def methods_of(ways: object) -> list[AnyMethod]:
    """One method or several, without repetitions; no two may have one key, and nobody else's the key of one of ours."""
    several = ways if isinstance(ways, Iterable) and not isinstance(ways, str) else [ways]
    by_key: dict[str, AnyMethod] = {}
    for each in map(method, several):
        rival = by_key.setdefault(each.key, each)
        if rival != each or (isinstance(each, SuppliedMethod) and each.key in METHODS):
            step = 'give it another: SuppliedMethod.of(f, key="mine")'
            raise ParameterError("methods", "must have a key each, and none the key of one of ours", each.key, step)
    return list(by_key.values())
