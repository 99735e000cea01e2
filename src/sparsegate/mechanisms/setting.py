"""A row and its public numbers, checked once: what runs, bounds and exact analysis all start from.

A function that takes these numbers as keywords says ``**options: Unpack[Options]`` and makes a ``Setting`` of them, so
that an option is named, checked and explained here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from sparsegate.budget import Allocation, Budget, Number, exact_count
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.variants import Scales, Variant, variant


class Shares(TypedDict, total=False):
    """How much is spent, and on what."""

    epsilon: Number | None
    budget: Budget | None
    monotonic: bool
    allocation: Allocation | None


class Split(Shares, total=False):
    """The same, and how finely: the options of a gate that say nothing about the questions."""

    granularity: Number | None


class RunOptions(Split, total=False):
    """The options of one run. ``cutoff`` and ``sensitivity`` are 1 unless given."""

    cutoff: int
    sensitivity: Number


class Options(RunOptions, total=False):
    """All of them."""

    queries: int | None


def only(function: str, known: type[Shares], options: Mapping[str, object]) -> None:
    """Refuse a keyword that a public function does not have, as Python would.

    ``Unpack`` is for type checkers alone. What a function below takes and this one does not, such as a limit on the
    questions that nobody would hold, must not reach it.
    """
    for name in options.keys() - known.__annotations__.keys():
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The row, c, Delta, the shares of epsilon and the noise scales in units of Delta.

    Parameters
    ----------
    row: a variant or its key.
    cutoff: c >= 1, how many ABOVE a row gives that stops.
    sensitivity: Delta > 0, how much one person can move an answer. The lattice checks it.
    epsilon: > 0, split by the row's own or the given ``allocation``; or
    budget: the shares; or, for analysis,
    scales: the noise itself. A plan brings its scales beside the budget that pays for them.
    monotonic: True where one person moves all answers in one direction.
    granularity: the lattice step, a power of two.
    queries: n, at most that many questions in all; None for no limit.
    """

    row: Variant
    cutoff: int = 1
    sensitivity: Number = 1
    epsilon: Number | None = None
    budget: Budget | None = None
    monotonic: bool = False
    allocation: Allocation | None = None
    granularity: Number | None = None
    queries: int | None = None
    scales: Scales | None = None

    def __post_init__(self) -> None:
        row, cutoff = variant(self.row), exact_count(self.cutoff, "cutoff")
        if not isinstance(self.monotonic, bool | np.bool_):
            rule = "must be True or False"
            raise ParameterError("monotonic", rule, self.monotonic, "pass True only for one-way changes")
        budget, scales, one_way = self.budget, self.scales, bool(self.monotonic)
        if scales is None or self.epsilon is not None:
            check_one_of(self.epsilon, budget)
        if self.epsilon is None and self.allocation is not None:
            rule = "must be given with epsilon only: a budget is split already"
            raise ParameterError("allocation", rule, self.allocation, "pass epsilon=")
        if self.epsilon is not None:
            budget = row.budget(self.epsilon, cutoff=cutoff, monotonic=one_way, allocation=self.allocation)
        if budget is not None and not isinstance(budget, Budget):
            raise ParameterError("budget", "must be a Budget", budget, "pass sg.Budget(threshold=0.1, queries=0.4)")
        if scales is None:
            assert budget is not None
            if budget.delta:
                rule = "must have no delta: its shares are of a pure epsilon"
                raise ParameterError("budget", rule, budget, "pass epsilon= and delta= to SparseVector")
            scales = row.scales(budget, cutoff=cutoff, monotonic=one_way)
        queries = None if self.queries is None else exact_count(self.queries, "queries")
        checked = {"row": row, "cutoff": cutoff, "monotonic": one_way, "budget": budget, "scales": scales}
        for name, value in {**checked, "queries": queries}.items():
            object.__setattr__(self, name, value)

    @property
    def noise(self) -> Scales:
        """The scales of rho, nu and fresh answers, in units of the sensitivity."""
        assert self.scales is not None
        return self.scales


def check_one_of(epsilon: Number | None, budget: Budget | None) -> None:
    """Raise a ParameterError unless exactly one of the two says how much is spent."""
    if (epsilon is None) == (budget is None):
        raise ParameterError("epsilon", "or budget must be given, and not both", epsilon, "pass one of the two")
