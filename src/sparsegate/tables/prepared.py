"""A release that is counted and not yet drawn: from the histogram to what is selected, named and published.

What is promised of a release, in people, from public numbers alone; and a release that is hopeless, refused.

``selection.accuracy`` proves the promise for a public domain. For ``domain="observed"`` the same promise
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

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sparsegate.budget import exact_count
from sparsegate.errors import ParameterError
from sparsegate.gates.laplace import error_bar, error_bar_all
from sparsegate.noise import Source
from sparsegate.selection.accuracy import Promise, peeled_case
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import METHODS, by_label
from sparsegate.tables.counting import Counted, Pick, answer_scale, count_items, name_picks, noisy_counts
from sparsegate.tables.domain import Domain, Listed
from sparsegate.tables.in_place import CountsInPlace
from sparsegate.tables.itemsets import count_itemsets, decode, itemset_domain, name_itemsets
from sparsegate.tables.labels import STRING, LabelKind
from sparsegate.tables.observed import pick_above, pick_observed
from sparsegate.tables.question import Question
from sparsegate.tables.release import Record, TopItems, installed_version
from sparsegate.tables.sums import plain, sum_items

if TYPE_CHECKING:
    from sparsegate.tables.engines.engine import Frame


PROMISED_CONFIDENCE: Final = 0.95
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


def within(question: Question, total: int | None, confidence: float = PROMISED_CONFIDENCE) -> int | float | None:
    """With this probability every selected item is within this many people of the c-th; None where nothing is said."""
    promise = promise_of(question, total)
    steps = None if promise is None else promise.within(confidence)
    return None if steps is None else question.shown(steps)


def error_bars(
    question: Question, total: int | None, confidence: float = PROMISED_CONFIDENCE
) -> tuple[int, int] | None:
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


CONFIDENCE = 0.95

Selected: TypeAlias = tuple[list[Pick], tuple[int, ...] | None, tuple[int, int] | None]
"""The picks; and the noisy scores that come with them, and their error bars, for each and for all, where any do."""


class Prepared:
    """A release made ready: everything is checked and counted, and nothing is drawn."""

    def __init__(
        self,
        engine: Any,
        question: Question,
        domain: Domain | None,
        rows: Any,
        counted: Counted | CountsInPlace | None = None,
        kind: LabelKind = STRING,
    ) -> None:
        """Count rows of a frame of the engine, unless they are ``counted``; ``kind`` is what its items are."""
        self._engine = engine
        as_given = domain.given if isinstance(domain, Listed) else None
        self.read = kind.read if as_given is None else as_given.__getitem__
        self._question = question
        self._domain = domain
        self._numbers: Frame | None = None
        size, answers = question.itemset_size, question.extra_answers
        self._scale: Fraction | None = None
        if answers:
            self._scale = answer_scale(
                count=question.count, touched=question.touched, epsilon=answers, sensitivity=question.sensitivity
            )
        if domain is not None and size > 1:
            self._domain = itemset_domain(domain, size)
        if self._domain is not None and question.count is not None and question.count > self._domain.size:
            rule = f"must not exceed the size of the public domain, {self._domain.size}"
            raise ParameterError("count", rule, question.count, "ask for fewer")
        if question.people is not None:
            refuse_hopeless(question, None if self._domain is None else self._domain.size, question.people)
        self._counted: Counted | CountsInPlace
        if counted is not None:
            self._counted = counted
            _ = counted.histogram  # is made here, where it is asked for first, and before anything is charged
        elif question.sums is not None:
            self._counted = sum_items(engine, rows, domain, question.sums, question.max_items_per_user)
        elif question.max_items is not None:
            most = question.max_items
            self._counted, self._numbers = count_itemsets(engine, rows, domain, size=size, most=most)
        else:
            self._counted = count_items(engine, rows, domain, question.max_items_per_user)

    def draw(self, noise: Source, record: Record) -> TopItems:
        """Draw the selection, name its items, and add noise to their counts where that was asked for."""
        selected = self.select(noise)
        return self.released(noise, record, selected, self.name(selected[0]))

    def released(self, noise: Source, record: Record, selected: Selected, labels: list[Any]) -> TopItems:
        """What was selected and named, as it is released."""
        question, (picks, estimates, bars) = self._question, selected
        # A set has no order but that of its labels.
        places = list(range(len(labels)))
        shown = question.request.shown_order(labels) if question.bar is None else by_label(labels)
        picks, labels = [picks[place] for place in shown], [labels[place] for place in shown]
        if self._scale is not None:
            estimates = noisy_counts(noise.stream(), [score for score, _ in picks], self._scale)
            bars = error_bar(self._scale, CONFIDENCE), error_bar_all(self._scale, CONFIDENCE, len(picks))
        if estimates is None or bars is None:
            return TopItems(items=tuple(labels), record=record)
        counts = [question.shown(estimate) for estimate in estimates]
        if not record.ordered:  # the counts are released: to sort by them tells nothing more
            places = sorted(places, key=lambda place: -counts[place])
        return TopItems(
            items=tuple(labels[place] for place in places),
            record=record,
            estimates=tuple(counts[place] for place in places),
            error_bar=question.shown(bars[0]),
            error_bar_all=question.shown(bars[1]),
            confidence=CONFIDENCE,
        )

    def name(self, picks: Sequence[Pick]) -> list[Any]:
        """The items, or sets of items, that were picked."""
        if isinstance(self._counted, CountsInPlace):
            return self._counted.named(picks)
        labels = name_picks(self._engine, self._counted, self._domain, picks)
        if self._question.itemset_size == 1:
            return list(map(self.read, labels))
        sets = labels if self._domain is None else [decode(code, self._question.itemset_size) for code in labels]
        return [tuple(map(self.read, members)) for members in name_itemsets(self._engine, self._numbers, sets)]

    def pick(self, noise: Source) -> list[Pick]:
        """Draw the selection. The score of a pick is private."""
        return self.select(noise)[0]

    def select(self, noise: Source) -> Selected:
        """The same, with the noisy scores that come with it, and their error bars, where any do: for each, for all."""
        question = self._question
        if question.bar is not None:
            return pick_above(noise.stream(), self._counted.histogram, question.bar), None, None
        if self._domain is None:
            assert question.dbar is not None
            picked = pick_observed(
                noise,
                self._counted.histogram,
                dbar=question.dbar,
                accounting=question.accounting,
                sensitivity=question.sensitivity,
            )
            return picked, None, None
        absent = self._domain.size - self._counted.total
        histogram = ({0: absent} if absent else {}) | dict(self._counted.histogram)
        picks = question.request.pick(Scores.histogram(histogram), noise.stream())
        scores = list(histogram)
        groups, members = picks.groups.tolist(), picks.members.tolist()
        chosen = [(scores[group], member) for group, member in zip(groups, members, strict=True)]
        if picks.noisy is None or (estimated := picks.ready.estimated) is None:
            return chosen, None, None
        bars = int(estimated.error_bar(CONFIDENCE)), int(estimated.error_bar_all(CONFIDENCE))
        return chosen, tuple(picks.noisy.tolist()), bars

    def record(self, *, private: bool) -> Record:
        """What may be said about the release."""
        question = self._question
        bar = question.bar
        request = question.request if bar is None else None
        return Record(
            epsilon=question.total,
            delta=Fraction(question.delta) if request is None else question.delta_used(request),
            answers_epsilon=question.extra_answers,
            method="partition-selection" if request is None else request.method,
            ordered=request is not None and METHODS[request.method].ordered,
            touched=question.touched,
            unit="row" if question.user is None else "user",
            count=question.count,
            domain="observed" if self._domain is None else "public",
            domain_size=None if self._domain is None else self._domain.size,
            within=within(question, None if self._domain is None else self._domain.size),
            threshold=question.threshold,
            itemset_size=question.itemset_size,
            max_items=question.max_items,
            max_items_per_user=question.max_items_per_user,
            counted=question.counted,
            dbar=question.dbar,
            accounting=question.accounting.name if self._domain is None and bar is None else None,
            above=question.above,
            never_below=None if bar is None else bar.never_below,
            always_from=None if bar is None else bar.always_from,
            where=question.where,
            value=question.value,
            clip=None if question.sums is None else question.sums.ends,
            granularity=None if question.sums is None else plain(question.sums.granularity),
            sensitivity=None if question.sums is None else question.sums.values(question.sensitivity),
            private=private,
            version=installed_version(),
            item=question.item,
        )
