"""What is promised of a release, in people, from public numbers alone; and a release that is hopeless, refused.

``mechanisms.selection_accuracy`` proves the promise for a public domain. For ``domain="observed"`` the same promise
holds of the items released, with dbar in place of the number of candidates: the race is among the dbar largest scores,
which hold the c largest, and bottom only takes items away that come after it.

*Hopeless* is, for N people in all (a public number), whatever they have:

- a selection where even c items that all N have, beside others that nobody has, are more likely than not selected with
  a wrong one among them: by the theorem no table of N people does better;
- an observed domain where bottom is at least N: an item that all N have is more likely than not left out;
- ``above``, where what N people have is never kept;
- counts whose error bar is at least N.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from sparsegate.budget import exact_count
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.laplace import error_bar, error_bar_all
from sparsegate.mechanisms.scores import Scores
from sparsegate.mechanisms.selection_accuracy import Promise, peeled_case
from sparsegate.tables.noisy_counts import answer_scale
from sparsegate.tables.question import Question

CONFIDENCE: Final = 0.95
_HOPELESS: Final = 0.5
_DIGITS: Final = 900  # decimals of three digits in a power of ten: 1.00 to 9.99
_POWERS: Final = range(-9, 5)


def promise_of(question: Question, total: int | None) -> Promise | None:
    """The promise for this many candidates, None for an observed domain; in steps of a score."""
    if question.above is not None:
        return None
    if not question.observed:
        assert total is not None
        return question.request.promise(total)
    assert question.count is not None
    assert question.dbar is not None
    rate = question.accounting.rate / question.sensitivity
    return peeled_case(rate=rate, count=question.count, total=question.dbar)


def within(question: Question, total: int | None, confidence: float = CONFIDENCE) -> int | float | None:
    """With this probability every selected item is within this many people of the c-th; None where nothing is said."""
    promise = promise_of(question, total)
    steps = None if promise is None else promise.within(confidence)
    return None if steps is None else question.shown(steps)


def error_bars(question: Question, total: int | None, confidence: float = CONFIDENCE) -> tuple[int, int] | None:
    """How far noisy scores are off: each of them, and all of them at once; in steps, None where none are released."""
    if question.extra_answers:
        scale = answer_scale(
            count=question.count,
            touched=question.touched,
            epsilon=question.extra_answers,
            sensitivity=question.sensitivity,
        )
        return error_bar(scale, confidence), error_bar_all(scale, confidence, question.count or 1)
    if question.above is not None or question.observed or total is None:
        return None
    estimated = question.request.prepare(Scores.histogram({0: total})).estimated
    if estimated is None:
        return None
    return int(estimated.error_bar(confidence)), int(estimated.error_bar_all(confidence))


def hopeless(question: Question, total: int | None, people: int) -> tuple[str, str] | None:
    """Why a release for this many people is hopeless, as the parameter to change and the rule; None if it is not.

    >>> asked = Question(item="page", user="visitor", unit=None, count=50, epsilon=0.1, observed=False, delta=0,
    ...     method="auto", threshold=None, answers_epsilon=0, max_items_per_user=None, itemset_size=1, max_items=None,
    ...     dbar=None)
    >>> hopeless(asked, 40_000, 1_000)[0], hopeless(asked, 40_000, 100_000)
    ('epsilon', None)
    """
    span = exact_count(people, "people") * _span(question)
    everybody = f"an item that all {people:,} people have"
    if question.bar is not None and question.bar.never_below > people:
        return "above", f"must be lower for {people:,} people: {everybody} would never be kept"
    if question.observed and question.above is None and question.accounting.margin + 1 >= people:
        return "epsilon", f"must be larger for {people:,} people: {everybody} would more likely than not be left out"
    promise = None if question.observed else promise_of(question, total)
    if promise is not None and (wrong := promise.least_wrong(span)) > _HOPELESS:
        rule = f"must be larger for {people:,} people: even if {question.count:,} items had all of them, and the others"
        return "epsilon", f"{rule} nobody, a wrong item would be selected with probability {wrong:.3g}"
    bars = error_bars(question, total)
    if bars is not None and bars[0] >= span:
        name = "answers_epsilon" if question.extra_answers else "epsilon"
        return name, f"must be larger for {people:,} people: the error bar of a count would be {bars[0]:,}"
    return None


def _span(question: Question) -> int:
    """How far apart one person can bring two scores, in steps: a sum that may fall as well as rise has both sides."""
    if question.sums is None:
        return 1
    low, high = question.sums.steps
    return max(high, 0) - min(low, 0)


def refuse_hopeless(question: Question, total: int | None, people: int) -> None:
    """Raise a ParameterError, before anything is charged, where the release is hopeless."""
    found = hopeless(question, total, people)
    if found is None:
        return
    name, rule = found
    hint = "leave out people= to release it all the same"
    if name != "above":

        def enough(amount: Fraction) -> bool:
            changed: dict[str, Any] = {name: amount}
            return hopeless(replace(question, **changed), total, people) is None

        needed = least_epsilon(enough)
        hint = hint if needed is None else f"pass {float(needed):g} or more, or {hint}"
    given = getattr(question, name)
    raise ParameterError(name, rule, float(given) if isinstance(given, Fraction) else given, hint)


def least_epsilon(enough: Callable[[Fraction], bool]) -> Fraction | None:
    """The smallest decimal of three digits that is enough, between 1e-9 and 1e5; None where none is.

    >>> least_epsilon(lambda epsilon: epsilon >= Fraction(1, 3))
    Fraction(167, 500)
    """

    def decimal(place: int) -> Fraction:
        power, digits = divmod(place, _DIGITS)
        return (100 + digits) * Fraction(10) ** (_POWERS[power] - 2)

    def works(place: int) -> bool:
        try:
            return enough(decimal(place))
        except ParameterError:  # an epsilon that no noise, or no bar, can be made for
            return False

    low, high = -1, len(_POWERS) * _DIGITS - 1
    if not works(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return decimal(high)
