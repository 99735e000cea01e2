"""Before anything is charged: what a release of frequent sets will be good for, by method, from public numbers alone.

What is promised, and why it holds, is at the head of ``uses.itemsets``. No table is opened and nothing is spent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from sparsegate.budget import Cost, Number, exact_count
from sparsegate.errors import ParameterError
from sparsegate.gates.preview import FACTORS, Curve, Preview, least_epsilon
from sparsegate.noise.own_settings import own_settings
from sparsegate.selection.accuracy import check_confidence
from sparsegate.tables.preview import public_size
from sparsegate.tables.question import CONFIDENCE, HOPELESS
from sparsegate.uses.itemsets import AUTO, METHODS, ItemsetQuestion, LevelPlan

_FIGURES = ("within", "items_within", "error_bar", "error_bar_all", "needed_epsilon")


def preview_itemsets(
    *,
    item: str | None = None,
    user: str | None = None,
    count: int,
    size: int = 3,
    smallest: int = 1,
    epsilon: Number | None = None,
    domain: Any = None,
    delta: Number = 0,
    method: str = AUTO,
    pool: int | None = None,
    selection: str = AUTO,
    answers_epsilon: Number = 0,
    where: str | None = None,
    people: int | None = None,
    within: int | None = None,
    confidence: float = CONFIDENCE,
) -> Preview:
    """What ``frequent_itemsets`` will be good for, and what it would charge.

    With this confidence, all at once: each released set has at most ``within`` fewer people than the ``count``-th of
    the sets it was selected from; each of the ``pool`` items selected first at most ``items_within`` fewer than the
    ``pool``-th item (None where none are selected first). ``error_bar`` and ``error_bar_all`` are of counts, and
    ``needed_epsilon`` is there where ``within`` was asked for. ``alternatives`` has a row for each method.

    Parameters
    ----------
    domain: also the number of items.
    within: W, in people: asks for the smallest epsilon with which every released set is within W, rounded up to three
        digits. ``epsilon`` may then be left out.
    people: N, how many people there are in all: says whether the release is hopeless.
    confidence: 0.95 unless given. All others are those of ``frequent_itemsets``.

    >>> import sparsegate as sg
    >>> preview = sg.uses.preview_itemsets(count=50, epsilon=0.5, domain=40_000)
    >>> preview.method, preview.pool, preview.within, preview.items_within
    ('items-first', 29, 1608, 2847)
    >>> sg.uses.preview_itemsets(count=50, within=200, domain=40_000).epsilon
    Fraction(4, 1)
    """
    if epsilon is None and within is None:
        rule = "must be given, or within for the epsilon that is needed"
        raise ParameterError("epsilon", rule, next_step="pass for instance epsilon=0.5")
    numbers = {"item": item or "item", "user": user or "user", "epsilon": 1 if epsilon is None else epsilon}
    question = ItemsetQuestion.of(locals() | numbers)
    return preview_sets(question, fixed=epsilon is not None, within=within, people=people, confidence=confidence)


@own_settings
def preview_sets(
    question: ItemsetQuestion,
    *,
    fixed: bool = True,
    within: int | None = None,
    people: int | None = None,
    confidence: float = CONFIDENCE,
) -> Preview:
    """A preview of a question; where epsilon is not ``fixed``, at what ``within`` needs."""
    check_confidence(confidence)
    items = None if question.observed else public_size(question.items)
    asked = None if within is None else exact_count(within, "within", least=0)
    crowd = None if people is None else exact_count(people, "people")
    plan = question.sets.plan(items)
    if fixed:
        question.check(plan)
    rows = [
        {"method": name, "chosen": name == plan.method, **figures}
        for name in METHODS[1:]
        for figures in _figures(question, name, items, asked, confidence, fixed=fixed)
    ]
    chosen = next((row for row in rows if row["chosen"]), None)
    if chosen is None:
        raise ParameterError("within", "is promised by no epsilon below 100,000", within, "ask for more")
    question = replace(question, epsilon=chosen["epsilon"])
    return Preview(
        release="frequent itemsets",
        epsilon=question.spent + question.answers,
        delta=Fraction(question.items.delta),
        confidence=confidence,
        accuracy={name: chosen[name] for name in _FIGURES},
        settings={
            "method": plan.method,
            "selection": question.request(plan.count, question.spent).method,
            "count": plan.count,
            "size": plan.size,
            "pool": plan.pool,
            "answers_epsilon": question.answers,
            "domain": "observed" if question.observed else "public",
            "domain_size": items,
            "people": crowd,
            "asked_within": asked,
        },
        statement=_statement(question, plan, chosen, confidence),
        warning="" if crowd is None else _hopeless(question, plan, items, crowd),
        alternatives=tuple(rows),
        levels={} if crowd is None else {"people in all": crowd},
        make_curves=partial(_curves, question, rows, items, confidence),
        cost=question.cost(plan),
        cost_at=partial(_cost_at, question, plan),
    )


def _cost_at(question: ItemsetQuestion, plan: LevelPlan, total: Fraction) -> Cost:
    """What the same costs at another epsilon in all, its parts in proportion."""
    share = total / (question.spent + question.answers)
    return replace(question, epsilon=share * question.spent, answers_epsilon=share * question.answers).cost(plan)


def _by_method(question: ItemsetQuestion, method: str, epsilon: Fraction) -> ItemsetQuestion:
    return replace(question, epsilon=epsilon, sets=replace(question.sets, method=method))


def _figures(
    question: ItemsetQuestion, method: str, items: int | None, asked: int | None, confidence: float, *, fixed: bool
) -> Iterator[dict[str, Any]]:
    """What this method is good for, in people; nothing where it does not fit."""

    def enough(epsilon: Fraction) -> bool:
        other = _by_method(question, method, epsilon)
        depth, _ = other.within(other.sets.plan(items), items, confidence)
        return depth is not None and asked is not None and depth <= asked

    with suppress(ParameterError):  # too many candidates, or a pool of what has none
        of_method = _by_method(question, method, question.spent)
        plan = of_method.sets.plan(items)
        needed = None if asked is None else least_epsilon(enough)
        if not fixed:
            if needed is None:
                return
            of_method = _by_method(question, method, needed)
        figures = [*of_method.within(plan, items, confidence), *of_method.error_bars(confidence), needed]
        named = dict(zip(_FIGURES, figures, strict=True))
        yield {"epsilon": of_method.spent, "pool": plan.pool, "sets": plan.candidates[0], **named}


def _statement(question: ItemsetQuestion, plan: LevelPlan, chosen: dict[str, Any], confidence: float) -> str:
    of_sets, of_items = chosen["within"], chosen["items_within"]
    if of_sets is None or (of_items is None and not plan.everything):
        return "Nothing is promised: this epsilon is too small for any count."
    counted = f"all {chosen['sets']:,} sets" if plan.everything else "the sets of the items selected first"
    statement = (
        f"With {100 * confidence:g} % confidence each of the {plan.count:,} sets has at most {of_sets:,} fewer people "
        f"than number {plan.count:,} of {counted}"
    )
    if plan.method == "levels":
        statement += " that its level counts"
    if of_items is None:
        return statement + ", whatever the data are."
    statement += (
        f", and each of those {plan.pool:,} items at most {of_items:,} fewer than the item that is truly number "
        f"{plan.pool:,}, whatever the data are. A set with an item that is not among them is never counted."
    )
    if question.observed:
        bottom = 1 + question.items.accounting.margin
        statement += f" There may be fewer: items of less than about {bottom:,} people are left out."
    return statement


def _hopeless(question: ItemsetQuestion, plan: LevelPlan, items: int | None, people: int) -> str:
    """Why a release of ``people`` is hopeless, by the rule of ``tables.question``; empty if it is not."""
    first, later = question.promises(plan, items)
    # The number of candidates is exact for the first selection of sets of a public domain, and for its items.
    promises = {} if question.observed else {"item": first, "set": later[0]}
    for what, promise in promises.items():
        wrong = 0.0 if promise is None else promise.least_wrong(people)
        if wrong > HOPELESS:
            rule = f"a wrong {what} would be selected with probability {wrong:.3g} or more, whatever the data are"
            return f"Hopeless: epsilon must be larger for {people:,} people: {rule}."
    bar, _ = question.error_bars()
    if bar is not None and bar >= people:
        rule = f"the error bar of a count would be {bar:,}"
        return f"Hopeless: answers_epsilon must be larger for {people:,} people: {rule}."
    return ""


def _curves(
    question: ItemsetQuestion, rows: list[dict[str, Any]], items: int | None, confidence: float
) -> Iterator[Curve]:
    """What each method promises of sets from a tenth of its epsilon to ten times."""
    for row in rows:
        points = []
        for factor in FACTORS:
            with suppress(ParameterError):  # such an epsilon does not fit
                other = _by_method(question, row["method"], row["epsilon"] * factor)
                depth, _ = other.within(other.sets.plan(items), items, confidence)
                if depth is not None:
                    points.append((float(other.spent + other.answers), float(depth)))
        if points:
            yield Curve(figure="within", parameter="epsilon", points=tuple(points), label=row["method"])
