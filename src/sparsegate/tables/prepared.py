"""A release that is counted and not yet drawn: from the histogram to what is selected, named and published."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from sparsegate.errors import ParameterError
from sparsegate.mechanisms.laplace import error_bar, error_bar_all
from sparsegate.mechanisms.scores import Scores
from sparsegate.mechanisms.selection import by_label
from sparsegate.mechanisms.selection_methods import METHODS
from sparsegate.noise import Source
from sparsegate.tables.counting import Counted, Pick, count_items, name_picks
from sparsegate.tables.domain import Domain, Listed
from sparsegate.tables.in_place import CountsInPlace
from sparsegate.tables.itemsets import count_itemsets, decode, itemset_domain, name_itemsets
from sparsegate.tables.label_kinds import STRING, LabelKind
from sparsegate.tables.noisy_counts import answer_scale, noisy_counts
from sparsegate.tables.observed_domain import pick_observed
from sparsegate.tables.partition_selection import pick_above
from sparsegate.tables.promised import refuse_hopeless, within
from sparsegate.tables.question import Question
from sparsegate.tables.release import Record, TopItems, installed_version
from sparsegate.tables.sums import plain, sum_items

if TYPE_CHECKING:
    from sparsegate.tables.engines.engine import Frame

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
