"""Experiments that the paper lacks: other values of epsilon, methods with one thing changed, thresholds that are off.

Each goes into a folder of its own below the results, with the datasets, runs and seed of the main experiment, and holds
only the cases that the main experiment does not have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, kw_only=True)
class FurtherExperiment:
    """One further experiment; ``name`` is its folder.

    ``methods`` maps each method to the one it is compared with, which must be in the main experiment. ``factors``
    multiply the first epsilon there. ``near`` are values of c, each of which takes the nearest one there is;
    ``exactly`` are values of c whatever there is, on datasets of more items. Without either it is every c there is.
    """

    name: str
    methods: Mapping[str, str]
    factors: tuple[Fraction, ...] = (Fraction(1),)
    near: tuple[int, ...] = ()
    exactly: tuple[int, ...] = ()

    @property
    def same_epsilon(self) -> bool:
        """Whether it runs at the main experiment's epsilon."""
        return self.factors == (Fraction(1),)

    def counts(self, main: Sequence[int]) -> list[int]:
        """The values of c, from those of the main experiment.

        >>> EPSILON.counts([25, 80, 300]), ABLATION.counts([25, 80]), THRESHOLDS.counts([30, 50]), LARGE.counts([400])
        ([80], [25, 80], [30, 50], [])
        """
        if self.exactly:
            return [count for count in self.exactly if count not in main]
        nearest = dict.fromkeys(min(main, key=lambda c: abs(c - wanted)) for wanted in self.near)
        return list(nearest or main)

    def epsilons(self, main: Sequence[Fraction]) -> list[Fraction]:
        """The values of epsilon, less those that the main experiment has."""
        wanted = [main[0] * factor for factor in self.factors]
        return wanted if self.same_epsilon else [share for share in wanted if share not in main]

    def chosen(self, main: Sequence[str]) -> list[str]:
        """The methods whose counterpart is in the main experiment, less those that have all their cases there."""
        done = set(main) if self.same_epsilon and not self.exactly else set()
        return [key for key, beside in self.methods.items() if beside in main and key not in done]


EPSILON = FurtherExperiment(
    name="epsilon",
    methods={key: key for key in ("svt-dpbook", "svt-s-1:1", "svt-s-1:c23", "svt-retr-3d", "em")},
    factors=(Fraction(1, 2), Fraction(2), Fraction(4), Fraction(8)),
    near=(100,),
)
"""Error against epsilon at one c. With epsilon 0.1 and c = 50, 200 in the main experiment, eps/c is met twice."""

ABLATION = FurtherExperiment(
    name="ablation",
    methods={
        "svt-dpbook-once": "svt-dpbook",
        "svt-alg1": "svt-dpbook",
        "svt-dpbook-monotonic": "svt-dpbook",
        "svt-retr-0d": "svt-s-1:c23",
        "alg-4": "svt-s-1:3",
    },
)
"""Alg. 2 with its threshold noise, or its query noise, exchanged; retraversal without a raised threshold; and Alg. 4,
which has no factor c in its query noise, and is not private."""

THRESHOLDS = FurtherExperiment(
    name="thresholds",
    methods=dict.fromkeys(("svt-s-half-t", "svt-s-double-t", "svt-s-double-t-retr"), "svt-s-1:c23"),
    near=(25, 50, 75, 100, 150, 200, 300),
)
"""A threshold that is half, or twice, the oracle's."""

LARGE = FurtherExperiment(
    name="large-c", methods={key: key for key in ("svt-s-1:c23", "svt-retr-5d", "em")}, exactly=(400,)
)
"""The largest c of the paper's itemset miners (LC14)."""

LARGEST = FurtherExperiment(name="largest-c", methods={"em": "em"}, exactly=(140_106,))
"""The largest c of the paper's neural networks (SS15)."""

FURTHER = (EPSILON, ABLATION, THRESHOLDS, LARGE, LARGEST)
