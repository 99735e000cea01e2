"""Experiments that the paper lacks, run beside its own: other values of epsilon, and methods with one thing changed.

Each goes into a folder of its own below the results, with the datasets, runs and seed of the main experiment, and holds
only the cells that the main experiment does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from sparsegate.budget import Number, exact_epsilon
from sparsegate.evaluation.datasets import Dataset, load
from sparsegate.evaluation.experiments import run
from sparsegate.evaluation.workers import Progress


@dataclass(frozen=True, kw_only=True)
class Further:
    """One further experiment; ``name`` is its folder.

    ``methods`` maps each method to the one it is compared with, which must be in the main experiment. ``factors``
    multiply the first epsilon there. ``count`` is the only c, or the nearest one there is; None takes every c.
    """

    name: str
    methods: Mapping[str, str]
    factors: tuple[Fraction, ...] = (Fraction(1),)
    count: int | None = None

    @property
    def same_epsilon(self) -> bool:
        """Whether it runs at the main experiment's epsilon."""
        return self.factors == (Fraction(1),)

    def counts(self, main: Sequence[int]) -> list[int]:
        """The values of c, from those of the main experiment.

        >>> EPSILON.counts([25, 80, 300]), ABLATION.counts([25, 80])
        ([80], [25, 80])
        """
        return list(main) if self.count is None else [min(main, key=lambda c: abs(c - (self.count or 0)))]

    def epsilons(self, main: Sequence[Fraction]) -> list[Fraction]:
        """The values of epsilon, less those that the main experiment has."""
        wanted = [main[0] * factor for factor in self.factors]
        return wanted if self.same_epsilon else [share for share in wanted if share not in main]

    def chosen(self, main: Sequence[str]) -> list[str]:
        """The methods whose counterpart is in the main experiment, less those that have all their cells there."""
        done = set(main) if self.same_epsilon else set()
        return [key for key, beside in self.methods.items() if beside in main and key not in done]


EPSILON = Further(
    name="epsilon",
    methods={key: key for key in ("svt-dpbook", "svt-s-1:1", "svt-s-1:c23", "svt-retr-3d", "em")},
    factors=(Fraction(1, 2), Fraction(2), Fraction(4), Fraction(8)),
    count=100,
)
"""Error against epsilon at one c. With epsilon 0.1 and c = 50, 200 in the main experiment, eps/c is met twice."""

ABLATION = Further(
    name="ablation",
    methods={
        "svt-dpbook-once": "svt-dpbook",
        "svt-alg1": "svt-dpbook",
        "svt-dpbook-monotonic": "svt-dpbook",
        "svt-retr-0d": "svt-s-1:c23",
    },
)
"""Alg. 2 with its threshold noise, or its query noise, exchanged; and retraversal without a raised threshold."""

FURTHER = (EPSILON, ABLATION)


def run_further(
    *,
    datasets: Sequence[str | Dataset],
    data: Mapping[str, str | Path],
    scale_to_records: bool,
    counts: Sequence[int],
    epsilon: Iterable[Number],
    methods: Sequence[str],
    runs: int,
    seed: int,
    jobs: int,
    out: str | Path,
    progress: Callable[[Progress], object] | None = None,
) -> None:
    """Run what goes with a main experiment of these parameters; they are those of ``experiments.run``."""
    loaded = [
        entry if isinstance(entry, Dataset) else load(entry, data.get(entry), scale_to_records=scale_to_records)
        for entry in datasets
    ]
    main = [exact_epsilon(share) for share in epsilon]
    for experiment in FURTHER:
        chosen, epsilons = experiment.chosen(methods), experiment.epsilons(main)
        if chosen and epsilons:
            run(
                datasets=loaded,
                counts=experiment.counts(counts),
                epsilon=epsilons,
                methods=chosen,
                runs=runs,
                seed=seed,
                jobs=jobs,
                out=Path(out) / experiment.name,
                progress=progress,
            )
