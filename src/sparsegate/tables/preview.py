"""Before anything is charged: what a top-c release will be good for, by method, from public numbers alone.

No table is opened and nothing is spent. What is promised, and why it holds, is in ``selection.accuracy``
(items) and in ``gates.laplace`` and ``selection.noisy_scores`` (counts). A promise holds for the worst data there
are; ``like=`` shows beside it what happens on public data that look like yours.

What a preview says: a row for each method, one sentence, and whether it is hopeless.

The picture of a preview: what each method promises against epsilon, and its recall on a stand-in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, overload

from sparsegate.budget import Number, exact_count
from sparsegate.display.plain import exact_text
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Tabular
from sparsegate.errors import ParameterError, load_extra
from sparsegate.selection.accuracy import check_confidence
from sparsegate.selection.select import AUTO, METHODS
from sparsegate.tables.question import CONFIDENCE, Question, least_epsilon

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sparsegate.paper.ranked import Ladder
    from sparsegate.paper.stand_ins import OnStandIn, StandIn


SCHEMA: Final = "sparsegate/top-preview/1"
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
        """The most that the c-th score can be for so many people, who have ``max_items_per_user`` items each.

        None where scores may be negative, and without a number of people.
        """
        question = self.question
        if question.people is None or question.count is None or (question.sums and question.sums.low < 0):
            return None
        shared = (
            question.people
            if question.max_items_per_user is None
            else question.people * question.max_items_per_user // question.count
        )
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

        return draw_preview(self)

    def curve(self, row: MethodPreview) -> list[tuple[float, float]]:
        """(epsilon, within) of a method, from a tenth of its epsilon to ten times."""
        asked = ((question, question.within(self.total, self.confidence)) for question in self._around(row))
        return [(float(question.epsilon), distance) for question, distance in asked if distance is not None]

    def recall_curve(self, row: MethodPreview) -> list[tuple[float, float]]:
        """(epsilon, recall) of a method on the stand-in, in few runs; empty where there is none."""
        if self.ladder is None:
            return []
        from sparsegate.paper.stand_ins import on_stand_in

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


def preview(
    *,
    count: int | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
    domain: int | Sized | str | None = None,
    max_items_per_user: int | None = None,
    method: str = AUTO,
    ordered: bool = False,
    threshold: Number | None = None,
    answers_epsilon: Number = 0,
    above: int | None = None,
    dbar: int | None = None,
    within: int | None = None,
    people: int | None = None,
    like: StandIn | None = None,
    confidence: float = CONFIDENCE,
) -> TopPreview:
    """What ``top_items`` and ``select_top`` (of counts) will be good for, from public numbers; nothing is charged.

    Parameters
    ----------
    count, epsilon, delta, method, ordered, threshold, answers_epsilon, above, dbar: as in ``top_items``.
    domain: how many candidates there are, or the candidates (anything with a length); or "observed". It may be left out
        where ``like`` says it.
    max_items_per_user: the most items that one person can have; 1 where a row is a person.
    within: W, in people: asks for the smallest epsilon with which every selected item is within W of the c-th, with the
        given confidence; rounded up to three digits. ``epsilon`` may then be left out.
    people: N, how many people there are in all: says whether the release is hopeless (``tables.prepared``).
    like: PUBLIC data that look like yours, for a simulation: see ``paper.stand_ins``. Never the private data.
    confidence: 0.95 unless given.

    >>> import sparsegate as sg
    >>> found = sg.preview(count=50, epsilon=0.5, domain=40_000)
    >>> found.chosen.method, found.chosen.within
    ('subset', 1526)
    >>> sg.preview(count=50, within=100, domain=40_000, max_items_per_user=1).chosen.needed
    Fraction(7, 40)
    """
    if epsilon is None and within is None:
        rule = "must be given, or within for the epsilon that is needed"
        raise ParameterError("epsilon", rule, next_step="pass for instance epsilon=0.5")
    observed = isinstance(domain, str) and domain == "observed"
    question = Question(
        item="item",
        user="user",
        count=count,
        above=above,
        epsilon=1 if epsilon is None else epsilon,
        domain=1 if domain is None else domain,
        delta=delta,
        method=method,
        ordered=ordered,
        threshold=threshold,
        answers_epsilon=answers_epsilon,
        max_items_per_user=max_items_per_user,
        dbar=dbar,
        people=people,
    )
    total = None if observed else _size(domain, like is not None)
    return previewed(question, total, fixed=epsilon is not None, within=within, like=like, confidence=confidence)


def _size(domain: object, known: bool) -> int | None:
    if domain is None and known:
        return None
    if isinstance(domain, str) or not isinstance(domain, Sized | int):
        rule = 'must be a number of candidates, the candidates, or "observed"'
        raise ParameterError("domain", rule, domain, "pass for instance domain=10_000")
    return exact_count(domain if isinstance(domain, int) else len(domain), "domain")


def previewed(
    question: Question,
    total: int | None,
    *,
    fixed: bool = True,
    within: int | None = None,
    like: StandIn | None = None,
    confidence: float = CONFIDENCE,
) -> TopPreview:
    """A preview of a question about ``total`` candidates; where epsilon is not ``fixed``, at what ``within`` needs."""
    check_confidence(confidence)
    asked = None if within is None else exact_count(within, "within", least=0)
    ladder = None
    if like is not None:
        if question.observed or question.sums is not None:
            rule = "is for counts of a public domain: no other selection is simulated"
            raise ParameterError("like", rule, next_step="leave it out")
        from sparsegate.paper.stand_ins import stand_in

        ladder = stand_in(like, total=total, people=question.people, item=question.item, user=question.user)
        total = ladder.total
    if total is not None and question.count is not None and question.count > total:
        raise ParameterError("count", f"must not exceed the number of candidates, {total}", question.count)
    rows = [] if question.above is not None else _rows(question, total, fixed, asked, ladder, confidence)
    people, verdict = question.people, None
    if people is not None and (fixed or rows):
        real = question if fixed else replace(question, epsilon=next((r.epsilon for r in rows if r.chosen), 1))
        found = real.hopeless(total)
        verdict = None if found is None else f"{found[0]} {found[1]}"
    return TopPreview(
        question=question,
        total=total,
        confidence=confidence,
        asked=asked,
        fixed=fixed,
        rows=tuple(rows),
        verdict=verdict,
        ladder=ladder,
    )


def _rows(
    question: Question, total: int | None, fixed: bool, asked: int | None, ladder: Any, confidence: float
) -> list[MethodPreview]:
    found = []
    for method in METHODS:
        try:
            needed = None
            if asked is not None:
                kept = partial(_keeps, question, method, total, asked, confidence)
                needed = least_epsilon(kept)
                if needed is None and not fixed:
                    continue
            epsilon = Fraction(question.epsilon) if fixed or needed is None else needed
            of_method = by_method(question, method, epsilon)
        except ParameterError:  # it does not fit: an order of a set, no delta, no threshold, an observed domain
            continue
        bars = of_method.error_bars(total, confidence)
        seen: OnStandIn | None = None
        if ladder is not None:
            from sparsegate.paper.stand_ins import on_stand_in

            seen = on_stand_in(of_method.request, ladder, confidence=confidence)
        taken = replace(question, epsilon=epsilon).request.method
        found.append(
            MethodPreview(
                method=method,
                chosen=taken == method,
                epsilon=epsilon,
                within=of_method.within(total, confidence),
                error_bar=None if bars is None else of_method.shown(bars[0]),
                error_bar_all=None if bars is None else of_method.shown(bars[1]),
                needed=needed,
                recall=None if seen is None else seen.recall,
                like_within=None if seen is None else seen.within,
            )
        )
    if (
        not fixed and question.method == AUTO
    ):  # at other epsilons "auto" may take others: the least of them is the answer
        least = min((row.epsilon for row in found if row.chosen), default=None)
        found = [replace(row, chosen=row.chosen and row.epsilon == least) for row in found]
    return found


def _keeps(
    question: Question, method: str, total: int | None, asked: int, confidence: float, epsilon: Fraction
) -> bool:
    """Whether every selected item is within ``asked`` of the c-th, at this epsilon."""
    of_method = by_method(question, method, epsilon)
    promise = of_method.promise(total)
    steps = asked if of_method.sums is None else of_method.sums.place(Fraction(asked))
    return promise is not None and promise.beyond(steps + 1) <= 1 - confidence


# The colours of Okabe and Ito; a marker of its own tells each line apart without colour vision and in print.
_LINES: Final = {
    "exponential": ("#000000", "s"),
    "subset": ("#0072B2", "o"),
    "gumbel": ("#009E73", "D"),
    "one-shot": ("#E69F00", "^"),
    "noisy-scores": ("#D55E00", "v"),
}


def draw_preview(preview: TopPreview) -> Figure:
    """A line for each method that promises something; beside it, where there is a stand-in, the recall there."""
    panels = 1 if preview.ladder is None else 2
    figure: Figure = load_extra("matplotlib.figure", extra="plots").Figure(
        figsize=(7 if panels == 1 else 11, 4.4), layout="constrained"
    )
    load_extra("matplotlib.backends.backend_agg", extra="plots").FigureCanvasAgg(figure)
    promises, *recalls = figure.subplots(1, panels, squeeze=False)[0]
    for row in preview:
        _line(promises, row, preview.curve(row))
    if (people := preview.question.people) is not None:
        promises.axhline(people, color="#999999", linestyle=":", linewidth=1.2)
        promises.text(
            0.99, people, f"{people:,} people in all", transform=promises.get_yaxis_transform(), ha="right", va="bottom"
        )
    count, size = preview.question.count, "observed" if preview.total is None else f"{preview.total:,}"
    promises.set_yscale("symlog", linthresh=1)  # 0 has its place, too
    promises.yaxis.set_major_formatter("{x:,.0f}")
    promises.set_ylim(bottom=0)
    promises.set_ylabel(f"furthest below the true number {count:,}, {100 * preview.confidence:g} %")
    promises.set_title(f"top {count:,} of {size} candidates: promised, whatever the data", fontsize=10, loc="left")
    for axes in recalls:
        for row in preview:
            _line(axes, row, preview.recall_curve(row))
        axes.set_ylim(0, 1.02)
        axes.set_ylabel("recall: share of right items")
        axes.set_title("seen on the public stand-in", fontsize=10, loc="left")
    for axes in (promises, *recalls):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlabel("ε of the selection")
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    promises.legend(frameon=False, fontsize=8)
    return figure


def _line(axes: Any, row: MethodPreview, curve: list[tuple[float, float]]) -> None:
    if curve:
        colour, marker = _LINES[row.method]
        label = f"{row.method}, would run" if row.chosen else row.method
        width = 2.2 if row.chosen else 1.2
        axes.plot(*zip(*curve, strict=True), color=colour, marker=marker, markersize=3.5, linewidth=width, label=label)
