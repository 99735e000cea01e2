"""The law of a program that draws: every way through it, with its probability."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from typing import Any

Choose = Callable[[Mapping[Any, float]], Any]
"""Draws from a law."""


def law_of(program: Callable[[Choose], Hashable]) -> dict[Hashable, float]:
    """Run the program with every outcome of every draw in turn, also where later draws depend on earlier ones."""
    found: defaultdict[Hashable, float] = defaultdict(float)
    todo: list[list[Any]] = [[]]
    while todo:
        script = todo.pop()
        chances: list[float] = []

        def choose(law: Mapping[Any, float], script: list[Any] = script, chances: list[float] = chances) -> Any:
            if len(chances) == len(script):
                first, *others = law
                todo.extend([*script, other] for other in others)
                script.append(first)
            outcome = script[len(chances)]
            chances.append(law[outcome])
            return outcome

        result = program(choose)
        found[result] += math.prod(chances)
    return dict(found)


def largest_loss(here: Mapping[Hashable, float], there: Mapping[Hashable, float]) -> float:
    """The largest log ratio of two laws, in both directions; infinite where only one of them has an outcome."""
    worst = 0.0
    for outcome in {*here, *there}:
        one, other = here.get(outcome, 0.0), there.get(outcome, 0.0)
        if not one or not other:
            return math.inf if one or other else worst
        worst = max(worst, abs(math.log(one / other)))
    return worst
