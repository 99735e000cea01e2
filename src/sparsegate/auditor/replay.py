"""Replay: the same randomness on two neighbours, to see what the noise is added to.

A mechanism that takes its randomness as a parameter can be run on two neighbours with one *tape*: the same numbers in
the same order. What differs then comes from the data alone. *Numbers*: the noise cancels, and what is left is how far
the value moved; more than the declared sensitivity, and the noise was made for less. (A whole number may name
something, such as the place of a noisy maximum: it counts if it moves alike with every tape of a pair.) *Parameters of
a draw*: another kind of noise before anything was drawn, or another scale, was computed from data; the probabilities
that ``choice`` is given are the mechanism itself. *How many draws*: two runs that release the same outcome should draw
alike. These are findings for a reviewer to read: no theorem of privacy fails by them, and none holds without them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from sparsegate.auditor.blackbox import takes_count
from sparsegate.auditor.encoding import Encoder
from sparsegate.auditor.neighbours import NeighbourPair, input_text
from sparsegate.errors import ParameterError

_TAPES: Final = 40
_SHOWN: Final = 60
_RUNAWAY: Final = 1 + 1e-9
_ALIKE: Final = 3
_FROM_DATA: Final = {
    **dict.fromkeys(("normal", "laplace", "logistic", "gumbel"), ("loc", 0)),
    "choice": ("p", 3),
    "binomial": ("p", 1),
    "multinomial": ("pvals", 1),
}
"""What a draw may well take from the data, by its name and its place."""
_CALLED: Final = tuple(
    name
    for name in dir(np.random.Generator)
    if not name.startswith("_")
    and name not in ("bit_generator", "spawn")
    and callable(getattr(np.random.Generator, name))
)


@dataclass(frozen=True)
class DrawCall:
    """One call of a generator: its method, its parameters without the centre, the centre, and how many values."""

    method: str
    parameters: str
    centre: float
    values: int


class Tape(np.random.Generator):
    """numpy's generator from a seed, which writes down what it is asked for, and what its children are."""

    def __init__(self, seed: int | np.random.BitGenerator) -> None:
        super().__init__(np.random.PCG64(seed) if isinstance(seed, int) else seed)
        self.calls: list[DrawCall] = []

    def spawn(self, n_children: int) -> list[Tape]:  # type: ignore[override]
        """Children that write on this tape."""
        children = [Tape(child.bit_generator) for child in np.random.Generator(self.bit_generator).spawn(n_children)]
        for child in children:
            child.calls = self.calls
        return children


def _noted(name: str) -> Callable[..., Any]:
    def method(self: Tape, *args: Any, **options: Any) -> Any:
        drawn = getattr(np.random.Generator, name)(self, *args, **options)
        centre = 0.0
        if name in _FROM_DATA:
            keyword, place = _FROM_DATA[name]
            value = options.pop(keyword, args[place] if len(args) > place else 0.0)
            args = args[:place] + args[place + 1 :]
            centre = float(np.sum(value)) if keyword == "loc" else 0.0
        text = ", ".join([*map(_brief, args), *(f"{key}={_brief(options[key])}" for key in sorted(options))])
        self.calls.append(DrawCall(name, text, centre, int(np.size(drawn))))
        return drawn

    method.__name__ = name
    return method


for _name in _CALLED:
    setattr(Tape, _name, _noted(_name))


def _brief(value: Any) -> str:
    return f"array of {value.shape}" if isinstance(value, np.ndarray) and value.size > 8 else str(value)


@dataclass(frozen=True, kw_only=True)
class Replay:
    """What runs with the same randomness on neighbours showed.

    ``sensitivity``: how far a released number, or the centre of a draw, moved at most. ``findings``: what a reviewer
    should look at, in sentences; empty where there was nothing. ``tapes``: pairs of runs made.
    """

    sensitivity: float
    declared: float
    findings: tuple[str, ...]
    tapes: int


def randomness(mechanism: Callable[..., Any], replay: object) -> tuple[str, Callable[[int], Any]]:
    """The parameter that a mechanism takes its randomness by, and what makes a tape of a seed.

    >>> randomness(lambda answers, rng: 0, True)[0], randomness(lambda answers, *, source: 0, int)[0]
    ('rng', 'source')
    """
    name, make = ("rng", Tape) if replay is True else ("source", replay)
    if not callable(make):
        rule = "must be True, or a function that makes a source of a seed"
        raise ParameterError("replay", rule, replay, "pass replay=True, or replay=sparsegate.Seeded")
    try:
        known = name in inspect.signature(mechanism).parameters
    except (TypeError, ValueError):
        known = False
    if not known:
        step = "let the mechanism take a numpy generator as rng=, or pass replay=sparsegate.Seeded for one with source="
        raise ParameterError("replay", f"must be off for a mechanism without a parameter {name}", next_step=step)
    return name, make


def replayed(
    mechanism: Callable[..., Any], replay: object, pairs: Iterable[NeighbourPair], *, sensitivity: float, arrays: bool
) -> Replay:
    """Run both inputs of each pair with the same tapes and compare."""
    name, make = randomness(mechanism, replay)
    farthest, findings, tapes = 0.0, dict[str, str](), 0
    steps: dict[int, list[float]] = {}
    encoder = Encoder("mechanism")
    chosen = list(pairs)
    for number in range(_TAPES):
        pair = chosen[number % len(chosen)]
        tapes += 1
        runs = []
        for answers in (pair.answers, pair.neighbour):
            tape = make(number)
            call = partial(mechanism, **{name: tape})
            argument = np.array(answers) if arrays else answers
            outcome = call(argument, 1) if takes_count(call) else [call(argument)]
            runs.append((encoder.encode(outcome, 1), list(getattr(tape, "calls", ())), isinstance(tape, Tape)))
        (own, calls, seen), (other, others, _) = runs
        where = f"on {input_text(pair.answers, _SHOWN)} and {input_text(pair.neighbour, _SHOWN)}"
        same = bool(own.word[0] == other.word[0]) and own.columns.shape == other.columns.shape
        moved = np.abs(own.columns - other.columns) if same else np.zeros((1, 0))
        if same and moved.size:
            whole = (own.columns % 1 == 0) & (other.columns % 1 == 0)
            farthest = max(farthest, float(np.nanmax(np.where(whole, 0.0, moved))))
            alike = steps.setdefault(number % len(chosen), [])
            alike.append(float(np.max(moved, where=whole, initial=0.0)))
            if number + len(chosen) >= _TAPES and len(alike) >= _ALIKE and len(set(alike)) == 1:
                farthest = max(farthest, alike[0])
        for kind, sentence in _differences(calls, others, same=same and not np.nan_to_num(moved).any()) if seen else ():
            findings.setdefault(kind, f"{sentence} ({where})")
        farthest = max([farthest, *(abs(a.centre - b.centre) for a, b in zip(calls, others, strict=False))])
        if seen and not calls and not others:
            findings.setdefault("nothing", f"it released an outcome and drew nothing from rng ({where})")
        if farthest > sensitivity * _RUNAWAY:
            sentence = f"what the noise is added to moved by {farthest:g}, the declared sensitivity is {sensitivity:g}"
            findings.setdefault("sensitivity", f"{sentence} ({where})")
    return Replay(sensitivity=farthest, declared=sensitivity, findings=tuple(findings.values()), tapes=tapes)


def _differences(calls: list[DrawCall], others: list[DrawCall], *, same: bool) -> Iterable[tuple[str, str]]:
    """How the draws of two runs differ, as (kind, sentence); ``same``: they released the same outcome."""
    if bool(calls) != bool(others) or (calls and calls[0].method != others[0].method):
        yield "flow", "control flow depends on data before any noise: the first draws are of different kinds"
        return
    for place, (a, b) in enumerate(zip(calls, others, strict=False)):
        if a.method == b.method and a.parameters != b.parameters:
            yield (
                "scale",
                f"draw {place + 1} depends on data: {a.method}({a.parameters}) and {b.method}({b.parameters})",
            )
            return
    if same and sum(a.values for a in calls) != sum(b.values for b in others):
        counts = f"{sum(a.values for a in calls)} and {sum(b.values for b in others)} values"
        yield "count", f"the number of draws depends on data: {counts} for the same outcome"
