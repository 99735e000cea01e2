"""Who takes part in a comparison: all methods of the evaluation, the peers that are installed, and your own.

**Leagues.** Who promises less may win by that alone, so winners are sought among equals. A method takes part in a
league at a given c and epsilon only if its *true* epsilon is no more than that: rows as claimed that cost more are
shown, and cannot win.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import load_extra
from sparsegate.evaluation.methods import METHODS, AnyMethod, Method, methods_of
from sparsegate.evaluation.supplied_methods import SuppliedMethod

LEFT_OUT = ("svt-dpbook-once", "svt-dpbook-monotonic", "svt-s-half-t", "svt-s-double-t", "svt-s-double-t-retr")
"""Alg. 2 with one thing changed, and thresholds that are off: they explain the paper, and are nobody's method."""

COMPARED = tuple(key for key in METHODS if key not in LEFT_OUT)
"""The methods of ours that are compared unless others are asked for."""

DELTA = 1e-6
"""The delta of the league that has one."""

TOUCHED = 10
"""How many scores one person touches at most, in the league that relies on it."""

PEER_RUNS = 2
PEER_WORK = 450_000
"""The peers see every score and take up to minutes for a run: they get two, where items times c are at most this."""

ITEM_WORK = 20_000_000
"""A method of your own sees every score, too: in all of its runs of a case it is shown this many, in four at least."""

_TRUE = 1 + 1e-9  # a true epsilon is a float


@dataclass(frozen=True, kw_only=True)
class League:
    """A promise, and who keeps it: ``admits`` says so of a method whose true epsilon is no more than was asked for."""

    key: str
    title: str
    says: str
    admits: Callable[[AnyMethod], bool]


def _touched(method: AnyMethod) -> int | None:
    return method.touched if isinstance(method, Method) else None


LEAGUES = (
    League(
        key="pure",
        title="ε",
        says="ε-differential privacy, whatever one person does",
        admits=lambda method: not method.delta and _touched(method) is None,
    ),
    League(
        key="delta",
        title="ε and δ = 1e-6",
        says="(ε, 1e-6)-differential privacy; who needs no δ takes part",
        admits=lambda method: method.delta <= DELTA and _touched(method) is None,
    ),
    League(
        key="touched",
        title=f"ε, at most {TOUCHED} scores a person",
        says=f"ε-differential privacy where one person touches at most {TOUCHED} of the scores",
        admits=lambda method: not method.delta and (_touched(method) or TOUCHED) >= TOUCHED,
    ),
    League(
        key="gate",
        title="ε, one item after the other",
        says="ε-differential privacy for items that come one after the other, each answered at once",
        admits=lambda method: not method.delta and _touched(method) is None and method.interactive,
    ),
)


def takes_part(league: League, method: AnyMethod, *, count: int, epsilon: float) -> bool:
    """Whether the method can win in this league. Peers cannot: two runs decide nothing."""
    return not is_peer(method) and league.admits(method) and true_epsilon(method, count, epsilon) <= epsilon * _TRUE


def true_epsilon(method: AnyMethod, count: int, epsilon: float) -> float:
    """What the method costs where it is asked for epsilon; a method that is not ours is taken at its word."""
    return method.true_epsilon(count=count, epsilon=epsilon) if isinstance(method, Method) else epsilon


class OpenDPTopK:
    """OpenDP's top-k of counts: permute-and-flip, peeled; the noise is its own, and no seed reaches it."""

    key, title = "opendp", "OpenDP top-k"

    def select(self, scores: NDArray[Any], count: int, epsilon: float, rng: np.random.Generator) -> list[int]:
        """Scale count / epsilon, which OpenDP itself says is epsilon-DP for counts."""
        dp = load_extra("opendp.prelude", extra="bench")
        dp.enable_features("contrib")
        measurement = dp.m.make_noisy_top_k(
            dp.vector_domain(dp.atom_domain(T="f64", nan=False)),
            dp.linf_distance(T="f64", monotonic=True),
            dp.max_divergence(),
            k=count,
            scale=count / epsilon,
        )
        return list(measurement(scores))


class DiffprivlibTopK:
    """diffprivlib's exponential mechanism, once for each item to select, the winner taken out."""

    key, title = "diffprivlib", "diffprivlib, peeled"

    def select(self, scores: NDArray[Any], count: int, epsilon: float, rng: np.random.Generator) -> list[int]:
        """Each of the rounds spends epsilon / count."""
        mechanism = load_extra("diffprivlib.mechanisms", extra="bench").Exponential
        state = np.random.RandomState(int(rng.integers(1 << 32)))
        utility, candidates, chosen = scores.tolist(), list(range(scores.size)), []
        for _ in range(count):
            share = {"epsilon": epsilon / count, "sensitivity": 1, "monotonic": True}
            place = mechanism(utility=utility, random_state=state, **share).randomise()
            chosen.append(candidates.pop(place))
            utility.pop(place)
        return chosen


PEERS: Mapping[str, object] = MappingProxyType({"opendp": OpenDPTopK(), "diffprivlib": DiffprivlibTopK()})
"""Other libraries' ways to select, by the name of the library."""

NEAREST = MappingProxyType({"opendp": "one-shot", "diffprivlib": "em"})
"""The method of ours that is nearest to a peer.

diffprivlib's has the law of EM. OpenDP's has the noise of one-shot, but draws it anew for each of the c places: of the
scores 3, 2, 1, 0 at c = epsilon = 2 it finds the top two in 73 % of all runs, one-shot in 75 %.
"""


def installed_peers() -> list[SuppliedMethod]:
    """The peers that can be imported here; finished cases are those of a version of them."""
    return [SuppliedMethod.of(peer, version=version(name)) for name, peer in PEERS.items() if find_spec(name)]


def is_peer(method: AnyMethod) -> bool:
    """Whether the method is that of another library."""
    return isinstance(method, SuppliedMethod) and method.source in PEERS.values()


def contestants(given: Sequence[object], mine: Iterable[object], *, peers: bool) -> list[AnyMethod]:
    """The methods of a comparison, in their order; who has a parameter for a delta takes part with one, too."""
    found = methods_of([*given, *(installed_peers() if peers else ()), *mine])
    return methods_of(each for one in found for each in _with_delta(one))


def _with_delta(method: AnyMethod) -> list[AnyMethod]:
    if isinstance(method, SuppliedMethod) and method.takes_delta and not method.delta:
        return [method, method.at_delta(DELTA)]
    return [method]


def run_limit(method: AnyMethod, *, total: int, count: int, most: int) -> int:
    """How often a case of so many items may be run: simulated on grouped scores the most, else by its work."""
    if is_peer(method):
        return PEER_RUNS if total * count <= PEER_WORK else 0
    if isinstance(method, SuppliedMethod) and not method.grouped:
        return min(most, max(4, ITEM_WORK // total))
    return most
