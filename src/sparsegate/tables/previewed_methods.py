"""What a preview says: a row for each method, one sentence, and whether it is hopeless."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, overload

from sparsegate.budget import Number
from sparsegate.display.plain import exact_text
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Tabular
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.selection_methods import METHODS
from sparsegate.tables.promised import within as promised
from sparsegate.tables.question import Question

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sparsegate.evaluation.simulated.ranked import Ladder

SCHEMA: Final = "sparsegate/preview/1"
_CURVE: Final = tuple(Fraction(tenths, 10) for tenths in (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100))


@dataclass(frozen=True, kw_only=True)
class MethodPreview:
    """What one ``method`` will be good for at ``epsilon``, in people; what is not known or not asked for is None.

    ``chosen``: whether it is the one that would run.
    ``within``: with the confidence asked for every selected item is at most this far below the c-th. ``error_bar`` is
    for each count, ``error_bar_all`` for all at once. ``needed`` is the smallest epsilon, to three digits, that keeps
    the promise that was asked for. ``recall`` and ``like_within`` are what was seen on the stand-in.
    """

    method: str
    chosen: bool
    epsilon: Fraction
    within: int | float | None
    error_bar: int | float | None
    error_bar_all: int | float | None
    needed: Fraction | None
    recall: float | None
    like_within: float | None


@dataclass(frozen=True, kw_only=True, repr=False)
class TopPreview(Tabular):
    """The accuracy to expect of a release; ``chosen`` is the row of the method that would run.

    ``verdict`` says why the release is hopeless for the number of people given, and is None where it is not. ``ladder``
    are the counts of the stand-in.

    >>> import sparsegate as sg
    >>> seen = sg.preview(count=10, epsilon=0.5, domain=5000)
    >>> seen.chosen.method, seen.chosen.within
    ('subset', 284)
    >>> print(seen.statement)
    With 95 % confidence each of the 10 items has at most 284 fewer people than the item that is truly number ...
    """

    question: Question
    """What was asked, checked."""
    total: int | None
    """How many candidates there are; None where they are observed."""
    confidence: float
    """The probability with which each promise holds."""
    asked: int | None
    """The distance that ``within`` asked for, or None."""
    fixed: bool
    """Whether epsilon was given, and not sought."""
    rows: tuple[MethodPreview, ...]
    """What each method promises."""
    verdict: str | None
    ladder: Ladder | None = None

    @cached_property
    def chosen(self) -> MethodPreview | None:
        """The row of the method that would run: the one named, or the one that "auto" takes."""
        return next((row for row in self.rows if row.chosen), None)

    def __repr__(self) -> str:
        return f"TopPreview({self.statement!r})"

    def __iter__(self) -> Iterator[MethodPreview]:
        return iter(self.rows)

    @overload
    def __getitem__(self, place: int) -> MethodPreview: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[MethodPreview, ...]: ...
    def __getitem__(self, place: int | slice) -> MethodPreview | tuple[MethodPreview, ...]:
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def statement(self) -> str:
        """One honest sentence."""
        question, sure = self.question, f"{100 * self.confidence:g} %"
        if (bar := question.bar) is not None:
            kept = f"What fewer than {bar.never_below:,} people have is never among the items,"
            return f"{kept} what {bar.always_from:,} or more have always is."
        row = self.chosen
        if row is None or row.within is None:
            return "A public threshold promises nothing about the largest counts: it may lie anywhere among them."
        items = "the item selected" if question.count == 1 else f"each of the {question.count:,} items"
        said = (
            f"With {sure} confidence {items} has at most {row.within:,} fewer "
            f"{self.measure} than the item that is truly number {question.count:,}, whatever the data are."
        )
        if (most := self.largest) is not None and row.within >= most:
            said += f" With {question.people:,} people that item has at most {most:,}: this promises nothing."
        if question.observed:
            bottom = question.shown((1 + question.accounting.margin) * question.sensitivity)
            said += f" Fewer may be released: items of less than about {bottom:,} are left out."
        return said

    @property
    def largest(self) -> int | float | None:
        """The most that the c-th score can be for the number of people given, who have ``touched`` items each.

        None where scores may be negative, and without a number of people.
        """
        question = self.question
        if question.people is None or question.count is None or (question.sums and question.sums.low < 0):
            return None
        shared = question.people if question.touched is None else question.people * question.touched // question.count
        return question.shown(min(question.people, shared) * question.sensitivity)

    @property
    def measure(self) -> str:
        """What counts are numbers of."""
        return "people" if self.question.value is None else f"of {self.question.value}"

    def sheet(self) -> Sheet:
        """A row for each method; columns without an entry are left out."""
        columns = {
            "method": [row.method + (" *" if row.chosen else "") for row in self.rows],
            "epsilon": [float(row.epsilon) for row in self.rows] if not self.fixed else [None],
            "within": [row.within for row in self.rows],
            "± each": [row.error_bar for row in self.rows],
            "± all": [row.error_bar_all for row in self.rows],
            "ε needed": [None if row.needed is None else float(row.needed) for row in self.rows]
            if self.fixed
            else [None],
            "like: recall": [None if row.recall is None else round(row.recall, 3) for row in self.rows],
            "like: within": [row.like_within for row in self.rows],
        }
        kept = {name: cells for name, cells in columns.items() if any(cell is not None for cell in cells)}
        return Sheet(
            title=f"{self.question.count or 'all'} of {self.total or 'the observed'} candidates",
            brief=self.statement,
            columns=kept,
            numbers=frozenset(kept) - {"method"},
        )

    def data(self) -> Sheet:
        """The same for programs: every field under its own name, numbers as numbers."""
        columns = {
            field.name: [
                float(cell) if isinstance(cell, Fraction) else cell
                for cell in (getattr(row, field.name) for row in self.rows)
            ]
            for field in fields(MethodPreview)
        }
        return replace(self.sheet(), columns=columns, numbers=frozenset(columns) - {"method", "chosen"})

    def _columns(self) -> dict[str, list[Any]]:
        return {name: list(cells) for name, cells in self.data().columns.items()}

    def to_dict(self) -> dict[str, Any]:
        """Everything, with amounts of privacy as exact decimals in text."""

        def cell(value: object) -> object:
            return exact_text(value) if isinstance(value, Fraction) else value

        bar = self.question.bar
        return {
            "schema": SCHEMA,
            "count": self.question.count,
            "above": self.question.above,
            "epsilon": exact_text(Fraction(self.question.epsilon)) if self.fixed else None,
            "delta": exact_text(Fraction(self.question.delta)),
            "answers_epsilon": exact_text(Fraction(self.question.answers_epsilon)),
            "domain": "observed" if self.question.observed else "public",
            "domain_size": self.total,
            "confidence": self.confidence,
            "asked_within": self.asked,
            "never_below": None if bar is None else bar.never_below,
            "always_from": None if bar is None else bar.always_from,
            "people": self.question.people,
            "hopeless": self.verdict,
            "statement": self.statement,
            "items": [{name: cell(value) for name, value in vars(row).items()} for row in self.rows],
        }

    def plot(self) -> Figure:
        """What is promised against epsilon, a line for each method; on a stand-in what is seen there, dashed."""
        from sparsegate.tables.preview_plot import draw_preview

        return draw_preview(self)

    def curve(self, row: MethodPreview) -> list[tuple[float, float]]:
        """(epsilon, within) of a method, from a tenth of its epsilon to ten times."""
        asked = ((question, promised(question, self.total, self.confidence)) for question in self._around(row))
        return [(float(question.epsilon), distance) for question, distance in asked if distance is not None]

    def recall_curve(self, row: MethodPreview) -> list[tuple[float, float]]:
        """(epsilon, recall) of a method on the stand-in, in few runs; empty where there is none."""
        if self.ladder is None:
            return []
        from sparsegate.evaluation.data.stand_ins import on_stand_in

        asked = ((each, on_stand_in(each.request, self.ladder, confidence=0.95, runs=50)) for each in self._around(row))
        return [(float(question.epsilon), seen.recall) for question, seen in asked if seen is not None]

    def _around(self, row: MethodPreview) -> Iterator[Question]:
        """The question for this method at a tenth of its epsilon, and up to ten times that, as far as it fits."""
        for factor in _CURVE:
            with suppress(ParameterError):
                yield by_method(self.question, row.method, row.epsilon * factor)


def by_method(question: Question, method: str, epsilon: Number) -> Question:
    """The same question for this method; one that it cannot meet raises a ParameterError."""
    row = METHODS[method]
    return replace(
        question,
        method=method,
        epsilon=epsilon,
        delta=question.delta if question.observed or "delta" in row.options else 0,
        threshold=question.threshold if "threshold" in row.options else None,
        dbar=question.dbar if question.observed else None,
    )
