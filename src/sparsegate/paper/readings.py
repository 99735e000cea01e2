"""What the paper leaves open, and what it lacks: other readings of it, and further experiments beside its own.

A *reading* sets every switch, ours each to its first setting; an alternative differs from ours in one, or in two that
go together, is run as far as it changes anything, and has verdicts of its own. Nothing in the paper decides between the
settings of a switch that is ``open``. A *further experiment* has other values of epsilon, methods with one thing
changed, or thresholds that are off; in a folder of its own it holds the cases that the main experiment does not have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sparsegate.errors import ParameterError
from sparsegate.paper.data import Dataset, zipf
from sparsegate.paper.methods import MOST_PASSES, AnyMethod, Method


@dataclass(frozen=True, kw_only=True)
class PaperReading:
    """A setting for each switch, see ``SWITCHES``; without any, our own reading."""

    zipf_total: float = 1e6
    raise_unit: str = "deviation"
    passes: int = MOST_PASSES
    ser: str = "means"

    @classmethod
    def parse(cls, texts: Iterable[str]) -> PaperReading:
        """The reading that ``NAME=SETTING`` texts ask for."""
        values: dict[str, Any] = {}
        for text in texts:
            name, _, setting = text.partition("=")
            if name not in SWITCHES:
                raise ParameterError("reading", f"must set one of {', '.join(SWITCHES)}", text, "as in passes=100")
            if (field := name.replace("-", "_")) in values:
                raise ParameterError("reading", f"must set {name} once", text)
            values[field] = SWITCHES[name].value(setting)
        return cls(**values)

    @classmethod
    def named(cls, name: str) -> PaperReading:
        return cls.parse([] if name == "ours" else name.split(","))

    @property
    def _changed(self) -> list[tuple[ReadingSwitch, object]]:
        values = ((switch, getattr(self, name.replace("-", "_"))) for name, switch in SWITCHES.items())
        return [(switch, value) for switch, value in values if value != switch.ours]

    @property
    def open(self) -> bool:
        """Whether it is one of the paper: what it sets otherwise than ours does, the paper leaves open."""
        return all(switch.open for switch, _ in self._changed)

    def __str__(self) -> str:
        return ",".join(f"{switch.name}={switch.text(value)}" for switch, value in self._changed) or "ours"

    def dataset(self, dataset: Dataset) -> Dataset:
        rescaled = dataset.kind == "exact" and self.zipf_total != OURS.zipf_total
        return zipf(self.zipf_total) if rescaled else dataset

    def method(self, method: AnyMethod) -> AnyMethod:
        """Of a method that goes through the items again, the passes and the raise; a deviation is sqrt(2) scales."""
        if not isinstance(method, Method) or method.passes != MOST_PASSES:
            return method
        factor = 1 if self.raise_unit == "deviation" else math.sqrt(0.5)
        return replace(method, passes=self.passes, raise_by=method.raise_by * factor)


@dataclass(frozen=True, kw_only=True)
class ReadingSwitch:
    """One question on the paper, which leaves it ``open`` or answers it. ``settings`` has our answer first.

    Any other ``number`` from 1 to ``most`` may be set where there are some, as ``rule`` says.
    """

    name: str
    question: str
    settings: Mapping[str, object]
    number: Callable[[str], float] | None = None
    most: float = math.inf
    rule: str = ""
    open: bool = True

    @property
    def ours(self) -> object:
        return next(iter(self.settings.values()))

    def value(self, text: str) -> object:
        if text in self.settings:
            return self.settings[text]
        try:
            if self.number is not None and 1 <= (value := self.number(text)) <= self.most:
                return value
        except ValueError:
            pass
        raise ParameterError("reading", f"must set {self.name} to one of {', '.join(self.settings)}{self.rule}", text)

    def text(self, value: object) -> str:
        known = {value: text for text, value in self.settings.items()}
        return known.get(value) or (f"{value:.15g}" if isinstance(value, float) else str(value))


SWITCHES: Mapping[str, ReadingSwitch] = {
    switch.name: switch
    for switch in (
        ReadingSwitch(
            name="zipf-total",
            question="What the scores of Zipf sum to. Sec. 6 has 1,000,000 records, and no number of items a record.",
            settings={"1e6": 1e6, "2e6": 2e6},
            number=float,
            most=1e12,
            rule=" or a number from 1 to 1e12",
        ),
        ReadingSwitch(
            name="raise-unit",
            question="What 1D is: the standard deviation of the query noise (Sec. 6), or its scale (Sec. 5).",
            settings={"deviation": "deviation", "scale": "scale"},
        ),
        ReadingSwitch(
            name="passes",
            question="How often SVT-ReTr goes through the items. Until c are selected, says Sec. 5; no program can.",
            settings={"unlimited": MOST_PASSES, "100": 100},
            number=int,
            most=MOST_PASSES,
            rule=f" or a whole number up to {MOST_PASSES:,}",
        ),
        ReadingSwitch(
            name="ser",
            question="Not open: Sec. 6 defines SER by mean scores. With totals short answers are punished: our own "
            "second measure, beside it.",
            settings={"means": "means", "totals": "totals"},
            open=False,
        ),
    )
}
"""Every switch by its name."""

OURS = PaperReading()  # our own reading, which all results are of unless they say otherwise

ALTERNATIVES = (
    *(PaperReading.parse([f"{name}={list(switch.settings)[1]}"]) for name, switch in SWITCHES.items()),
    PaperReading(passes=100, ser="totals"),
)
"""Every reading that differs from ours in one switch; and one that differs in two, because passes that end make answers
short, which a SER of means takes for good ones."""


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

    def counts(self, main: Sequence[int]) -> list[int]:
        """The values of c, from those of the main experiment."""
        if self.exactly:
            return [count for count in self.exactly if count not in main]
        nearest = dict.fromkeys(min(main, key=lambda c: abs(c - wanted)) for wanted in self.near)
        return list(nearest or main)

    def epsilons(self, main: Sequence[Fraction]) -> list[Fraction]:
        wanted = [main[0] * factor for factor in self.factors]
        return [share for share in wanted if share not in main or wanted == [main[0]]]

    def chosen(self, main: Sequence[str]) -> list[str]:
        """The methods whose counterpart is in the main experiment, less those that have all their cases there."""
        everywhere = self.factors == (Fraction(1),) and not self.exactly
        return [key for key, beside in self.methods.items() if beside in main and not (everywhere and key in main)]


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

# The largest c of the paper's neural networks (SS15)
LARGEST = FurtherExperiment(name="largest-c", methods={"em": "em"}, exactly=(140_106,))

FURTHER = (EPSILON, ABLATION, THRESHOLDS, LARGE, LARGEST)
