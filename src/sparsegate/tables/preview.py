"""Before anything is charged: what a top-c release will be good for, by method, from public numbers alone.

No table is opened and nothing is spent. What is promised, and why it holds, is in ``mechanisms.selection_accuracy``
(items) and in ``mechanisms.laplace`` and ``mechanisms.noisy_scores`` (counts). A promise holds for the worst data there
are; ``like=`` shows beside it what happens on public data that look like yours.
"""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from sparsegate.budget import Number, exact_count
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.selection_accuracy import check_confidence
from sparsegate.mechanisms.selection_methods import AUTO, METHODS
from sparsegate.tables.previewed_methods import MethodPreview, TopPreview, by_method
from sparsegate.tables.promised import CONFIDENCE, error_bars, hopeless, least_epsilon, promise_of
from sparsegate.tables.promised import within as promised
from sparsegate.tables.question import Question

if TYPE_CHECKING:
    from sparsegate.evaluation.data.stand_ins import OnStandIn, StandIn


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
) -> TopPreview:
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
    like: PUBLIC data that look like yours, for a simulation: see ``evaluation.data.stand_ins``. Never the private data.
    confidence: 0.95 unless given.

    >>> import sparsegate as sg
    >>> found = sg.preview(count=50, epsilon=0.5, domain=40_000)
    >>> found.chosen.method, found.chosen.within
    ('subset', 1526)
    >>> sg.preview(count=50, within=100, domain=40_000, touched=1).chosen.needed
    Fraction(7, 40)
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
) -> TopPreview:
    """A preview of a question about ``total`` candidates; where epsilon is not ``fixed``, at what ``within`` needs."""
    check_confidence(confidence)
    asked = None if within is None else exact_count(within, "within", least=0)
    ladder = None
    if like is not None:
        if question.observed or question.sums is not None:
            rule = "is for counts of a public domain: no other selection is simulated"
            raise ParameterError("like", rule, next_step="leave it out")
        from sparsegate.evaluation.data.stand_ins import stand_in

        ladder = stand_in(like, total=total, people=question.people, item=question.item, user=question.user)
        total = ladder.total
    if total is not None and question.count is not None and question.count > total:
        raise ParameterError("count", f"must not exceed the number of candidates, {total}", question.count)
    rows = [] if question.above is not None else _rows(question, total, fixed, asked, ladder, confidence)
    people, verdict = question.people, None
    if people is not None and (fixed or rows):
        real = question if fixed else replace(question, epsilon=next((r.epsilon for r in rows if r.chosen), 1))
        found = hopeless(real, total, people)
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
        bars = error_bars(of_method, total, confidence)
        seen: OnStandIn | None = None
        if ladder is not None:
            from sparsegate.evaluation.data.stand_ins import on_stand_in

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
    of_method = by_method(question, method, epsilon)
    promise = promise_of(of_method, total)
    steps = asked if of_method.sums is None else of_method.sums.place(Fraction(asked))
    return promise is not None and promise.beyond(steps + 1) <= 1 - confidence
