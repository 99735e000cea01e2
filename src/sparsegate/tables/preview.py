"""Before anything is charged: what a top-c release will be good for, by method, from public numbers alone.

No table is opened and nothing is spent. What is promised, and why it holds, is in ``mechanisms.selection_accuracy``
(items) and in ``mechanisms.laplace`` and ``mechanisms.noisy_scores`` (counts). A promise holds for the worst data there
are; ``like=`` shows beside it what happens on public data that look like yours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from sparsegate.budget import Number, exact_count
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Tabular
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.selection_accuracy import check_confidence
from sparsegate.mechanisms.selection_methods import AUTO, METHODS
from sparsegate.tables.promised import CONFIDENCE, error_bars, hopeless, least_epsilon, promise_of
from sparsegate.tables.promised import within as promised
from sparsegate.tables.question import Question

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sparsegate.evaluation.stand_ins import OnStandIn, StandIn

SCHEMA: Final = "sparsegate/preview/1"
_CURVE: Final = tuple(Fraction(tenths, 10) for tenths in (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100))


@dataclass(frozen=True, kw_only=True)
class MethodPreview:
    """What one method will be good for at ``epsilon``, in people; what is not known or not asked for is None.

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


@dataclass(frozen=True, kw_only=True)
class Preview(Tabular):
    """The accuracy to expect of a release; ``chosen`` is the row of the method that would run.

    ``verdict`` says why the release is hopeless for the number of people given, and is None where it is not.
    """

    question: Question
    total: int | None
    confidence: float
    asked: int | None
    fixed: bool
    rows: tuple[MethodPreview, ...]
    verdict: str | None

    @cached_property
    def chosen(self) -> MethodPreview | None:
        """The row of the method that would run: the one named, or the one that "auto" takes."""
        return next((row for row in self.rows if row.chosen), None)

    def __iter__(self) -> Iterator[MethodPreview]:
        return iter(self.rows)

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
        said = (
            f"With {sure} confidence each of the {question.count:,} items has at most {row.within:,} fewer "
            f"{self.measure} than the item that is truly number {question.count:,}, whatever the data are."
        )
        if question.observed:
            bottom = question.shown((1 + question.accounting.margin) * question.sensitivity)
            said += f" Fewer may be released: items of less than about {bottom:,} are left out."
        return said

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
        kept = {
            name: ["-" if cell is None else cell for cell in cells]
            for name, cells in columns.items()
            if any(cell is not None for cell in cells)
        }
        return Sheet(
            title=f"{self.question.count or 'all'} of {self.total or 'the observed'} candidates",
            brief=self.statement,
            columns=kept,
            numbers=frozenset(kept) - {"method"},
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, with amounts of privacy as exact decimals in text."""
        from sparsegate.ledger.account import exact_text

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

    def curve(self, row: MethodPreview) -> list[tuple[Fraction, int | float]]:
        """(epsilon, within) of a method, from a tenth of its epsilon to ten times."""
        found = []
        for factor in _CURVE:
            try:
                question = _by_method(self.question, row.method, row.epsilon * factor)
                distance = promised(question, self.total, self.confidence)
            except ParameterError:
                continue
            if distance is not None:
                found.append((row.epsilon * factor, distance))
        return found


def preview(
    *,
    count: int | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
    domain: int | Sized | str | None = None,
    touched: int | None = None,
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
) -> Preview:
    """What ``top_items`` and ``select_top`` (of counts) will be good for, from public numbers; nothing is charged.

    Parameters
    ----------
    count, epsilon, delta, method, ordered, threshold, answers_epsilon, above, dbar: as in ``top_items``.
    domain: how many candidates there are, or the candidates (anything with a length); or "observed". It may be left out
        where ``like`` says it.
    touched: the most items that one person can have; 1 where a row is a person.
    within: W, in people: asks for the smallest epsilon with which every selected item is within W of the c-th, with the
        given confidence; rounded up to three digits. ``epsilon`` may then be left out.
    people: N, how many people there are in all: says whether the release is hopeless (``tables.promised``).
    like: PUBLIC data that look like yours, for a simulation: see ``evaluation.stand_ins``. Never the private data.
    confidence: 0.95 unless given.

    >>> found = preview(count=50, epsilon=0.5, domain=40_000)
    >>> found.chosen.method, found.chosen.within
    ('subset', 1526)
    >>> preview(count=50, within=100, domain=40_000, touched=1).chosen.needed
    Fraction(87, 500)
    """
    if epsilon is None and within is None:
        rule = "must be given, or within for the epsilon that is needed"
        raise ParameterError("epsilon", rule, next_step="pass for instance epsilon=0.5")
    observed = isinstance(domain, str) and domain == "observed"
    question = Question(
        item="item",
        user="user",
        unit=None,
        count=count,
        above=above,
        epsilon=1 if epsilon is None else epsilon,
        observed=observed,
        delta=delta,
        method=method,
        ordered=ordered,
        threshold=threshold,
        answers_epsilon=answers_epsilon,
        max_items_per_user=touched,
        itemset_size=1,
        max_items=None,
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
) -> Preview:
    """A preview of a question about ``total`` candidates; where epsilon is not ``fixed``, at what ``within`` needs."""
    check_confidence(confidence)
    asked = None if within is None else exact_count(within, "within", least=0)
    ladder = None
    if like is not None:
        from sparsegate.evaluation.stand_ins import stand_in

        ladder = stand_in(like, total=total, people=question.people)
        total = total if question.observed else ladder.total
    if total is not None and question.count is not None and question.count > total:
        raise ParameterError("count", f"must not exceed the number of candidates, {total}", question.count)
    rows = [] if question.above is not None else _rows(question, total, fixed, asked, ladder, confidence)
    people, verdict = question.people, None
    if people is not None and (fixed or rows):
        real = question if fixed else replace(question, epsilon=next((r.epsilon for r in rows if r.chosen), 1))
        found = hopeless(real, total, people)
        verdict = None if found is None else f"{found[0]} {found[1]}"
    return Preview(
        question=question,
        total=total,
        confidence=confidence,
        asked=asked,
        fixed=fixed,
        rows=tuple(rows),
        verdict=verdict,
    )


def _by_method(question: Question, method: str, epsilon: Number) -> Question:
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
            of_method = _by_method(question, method, epsilon)
        except ParameterError:  # it does not fit: an order of a set, no delta, no threshold, an observed domain
            continue
        bars = error_bars(of_method, total, confidence)
        seen: OnStandIn | None = None
        if ladder is not None and not question.observed and question.sums is None:
            from sparsegate.evaluation.stand_ins import on_stand_in

            seen = on_stand_in(of_method.request, ladder, confidence=confidence)
        taken = replace(question, epsilon=epsilon).request.method
        found.append(
            MethodPreview(
                method=method,
                chosen=taken == method,
                epsilon=epsilon,
                within=promised(of_method, total, confidence),
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
    of_method = _by_method(question, method, epsilon)
    promise = promise_of(of_method, total)
    steps = asked if of_method.sums is None else of_method.sums.place(Fraction(asked))
    return promise is not None and promise.beyond(steps + 1) <= 1 - confidence
