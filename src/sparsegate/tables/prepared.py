"""A release that is counted and not yet drawn: from the table to a histogram, and from there to what is published.

``prepare`` reads the columns, finds the candidates and counts; where something is refused, it is refused there. Then
the release is charged, and ``draw`` selects, names and adds noise. With groups each of them is a table of its own. A
``TableInPlace`` is counted where it lives, by whoever keeps it. Where a clip or a bound is chosen from the data, the
choice is drawn after the charge as well, and only then are items counted. Where labels are found first
(``tables.weighted``), their numbers of people stand beside their weights: the table is counted once for both stages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from sparsegate.errors import ParameterError
from sparsegate.noise import Source
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import by_label
from sparsegate.tables import choosing
from sparsegate.tables.choosing import BOUND, CLIP
from sparsegate.tables.columns import label_kind, read_columns
from sparsegate.tables.counting import (
    Counted,
    Named,
    Pick,
    count_items,
    cut_users,
    name_picks,
    number_of_people,
    weigh_items,
)
from sparsegate.tables.domain import Domain, Sized, label_reader, public_domain
from sparsegate.tables.groups import public_groups
from sparsegate.tables.labels import STRING, LabelKind
from sparsegate.tables.observed import pick_above, pick_observed
from sparsegate.tables.question import MOST_SELECTED, Question
from sparsegate.tables.release import Record, TopItems
from sparsegate.tables.sums import as_values, sum_items
from sparsegate.tables.weighted import WeightBar, pick_weighted

if TYPE_CHECKING:
    from sparsegate.tables.engines.engine import Engine, Frame

STRIDE: Final = 2**40
"""No score is as large: where all groups are one table, the score s of the group at place p is p * STRIDE + s."""

_COPY: Final = "copy the table to Parquet, and release from that"

Selected: TypeAlias = tuple[list[Pick], tuple[int, ...] | None]
"""The picks; and the noisy scores that come with them, where any do."""


class NamedCounts(ABC):
    """Scores of items, and the names of those that are picked: see ``counting.Counted``."""

    @property
    @abstractmethod
    def histogram(self) -> Mapping[int, int]:
        """How many items have each score above 0, by rising score. Private."""

    @property
    def total(self) -> int:
        return sum(self.histogram.values())

    @abstractmethod
    def named(self, picks: Sequence[Pick]) -> list[Named]:
        """The labels and numbers of the picked members, in the order of the picks: see ``counting.name_picks``."""


class CountsInPlace(NamedCounts):
    """What a table that is counted where it lives says about items; ``read`` makes a label of a cell."""

    read: Callable[[Any], Any]

    def named(self, picks: Sequence[Pick]) -> list[Named]:
        return [(self.read(cell), number) for cell, number in self.cells(picks)]

    @abstractmethod
    def cells(self, picks: Sequence[Pick]) -> list[Named]:
        """The same with cells (``tables.labels``) in place of labels."""

    def everything(self) -> Sequence[Any]:
        """The cells of all public candidates. For sets of items; a table that has none leaves this out."""
        raise ParameterError("data", "must be a table whose sets of items can be counted", next_step=_COPY)

    def masks(self, items: Sequence[Any], width: int) -> tuple[list[Any], list[Sequence[int]]]:
        """These cells, which are released, in an order of their own; and rows (mask, mask, ..., people).

        Bit i of mask j is item ``width * j + i`` in that order, and ``people`` have just these of the items. Private.
        For sets of items.
        """
        raise ParameterError("data", "must be a table whose sets of items can be counted", next_step=_COPY)


@dataclass(frozen=True, kw_only=True)
class GroupsInPlace:
    """The counts of every group of a table that is counted where it lives; ``name`` is ``PreparedGroups.together``."""

    size: Sized | None
    groups: Mapping[Hashable, CountsInPlace]
    name: Callable[[Sequence[Pick]], list[Named]]


class TableInPlace(ABC):
    """A table that is counted where it lives: nothing but a histogram and names comes out of it.

    Leaving the context lets go of everything that was opened for it.
    """

    name: str
    weighs: bool = False
    """Whether weights are added up there: see ``tables.weighted``."""
    elsewhere: str
    """What to do where something cannot be counted in place."""

    def __init__(self) -> None:
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        # What could not be let go of must not take a finished release with it.
        with suppress(Exception):
            self._opened.__exit__(*exc)

    @abstractmethod
    def counts(self, question: Question, domain: Any) -> tuple[Sized | None, CountsInPlace]:
        """The size of the public domain, None for "observed"; and the counts, made when they are first asked for."""

    def groups(self, question: Question, domain: Any, groups: Any) -> GroupsInPlace:
        """The same for every group of a public list; a table that has none leaves this out."""
        raise ParameterError("per", "must not be given for a table that stays where it is", question.per, _COPY)


def prepare(
    engine: Engine | TableInPlace, question: Question, domain: Any, user: str | None, groups: Any = None
) -> Prepared | PreparedGroups | PreparedChoice | PreparedStages:
    """Count the table of the engine for a question; ``user`` is the column that tells people apart."""
    if question.stages is not None:
        labels = prepare(engine, question.stages[0], domain, user)
        assert isinstance(labels, Prepared)
        return PreparedStages(question, question.stages[1], labels)
    if isinstance(engine, TableInPlace):
        return _prepare_in_place(engine, question, domain, groups)
    rows, kind = read_columns(engine, question.item, user, question.value, question.per)
    if question.value is not None:
        rows = as_values(rows, question.value)
    public = None if question.observed else public_domain(engine, domain, item=question.item, kind=kind)
    if question.choose:
        return PreparedChoice(engine, question, public, rows, kind)
    if question.per is None:
        return Prepared(engine, question, public, lambda: _count(engine, rows, public, question), kind)
    return _prepare_groups(engine, rows, public, question, groups, kind)


def _prepare_in_place(table: TableInPlace, question: Question, domain: Any, groups: Any) -> Prepared | PreparedGroups:
    for name in question.choose:
        rule = 'must not be "auto" for a table that stays in its database'
        raise ParameterError(name, rule, next_step=f"pass a number, or {table.elsewhere}")
    if isinstance(question.share.bar, WeightBar) and (question.per is not None or not table.weighs):
        rule = "must be higher for a table that stays in its database: weights are not added up there"
        raise ParameterError("above", rule, question.above, table.elsewhere)
    if question.per is None:
        return Prepared(table, question, *table.counts(question, domain))
    held = table.groups(question, domain, groups)
    each = {label: Prepared(table, question.share, held.size, part) for label, part in held.groups.items()}
    return PreparedGroups(question, each, held.name)


def _count(engine: Engine, rows: Frame, domain: Domain | None, question: Question) -> Counted:
    if question.sums is not None:
        return sum_items(engine, rows, domain, question.sums, question.cut)
    if isinstance(question.bar, WeightBar):
        return weigh_items(engine, rows, question.bar.max_items_per_user)
    return count_items(engine, rows, domain, question.cut)


class Prepared:
    """The release of one table made ready: everything is checked and counted, and nothing is drawn."""

    def __init__(
        self,
        engine: Any,
        question: Question,
        domain: Domain | None,
        counted: Counted | NamedCounts | Callable[[], Counted],
        kind: LabelKind = STRING,
    ) -> None:
        """Check the size of the domain, and only then count; ``kind`` is what the items are."""
        self._engine, self._question, self._domain = engine, question, domain
        self.read, self.size = label_reader(domain, kind), None if domain is None else domain.size
        check_size(question, self.size)
        self._counted = counted() if callable(counted) else counted
        _ = self._counted.histogram  # is made here, where it is asked for first, and before anything is charged

    def record(self, *, private: bool) -> Record:
        return Record.of(self._question, self.size, private=private)

    def draw(self, noise: Source, record: Record) -> TopItems:
        """Draw the selection, name its items, and add noise to their counts where that was asked for."""
        selected = self.select(noise)
        return self.released(noise, record, selected, self.name(selected[0]))

    def select(self, noise: Source) -> Selected:
        """Draw the selection. The score of a pick is private."""
        question, histogram = self._question, self._counted.histogram
        if isinstance(question.bar, WeightBar):
            return pick_weighted(noise.stream(), histogram, question.bar), None
        if question.bar is not None:
            return pick_above(noise.stream(), histogram, question.bar), None
        if self._domain is None:
            assert question.dbar is not None
            observed = {"dbar": question.dbar, "sensitivity": question.sensitivity}
            return pick_observed(noise, histogram, accounting=question.accounting, **observed), None
        absent = self._domain.size - self._counted.total
        histogram = ({0: absent} if absent else {}) | dict(histogram)
        picks, scores = question.request.pick(Scores.histogram(histogram), noise.stream()), list(histogram)
        chosen = zip((scores[group] for group in picks.groups.tolist()), picks.members.tolist(), strict=True)
        return list(chosen), None if picks.noisy is None else tuple(picks.noisy.tolist())

    def name(self, picks: Sequence[Pick]) -> list[Named]:
        if isinstance(self._counted, NamedCounts):
            return self._counted.named(picks)
        names = name_picks(self._engine, self._counted, self._domain, picks)
        return [(self.read(label), number) for label, number in names]

    def released(self, noise: Source, record: Record, selected: Selected, names: Sequence[Named]) -> TopItems:
        question, (picks, estimates) = self._question, selected
        labels = [label for label, _ in names]
        # A set has no order but that of its labels.
        shown = question.request.shown_order(labels) if question.bar is None else by_label(labels)
        labels = [labels[place] for place in shown]
        if (answers := question.answers) is not None:
            estimates = answers.noisy(noise.stream(), [names[place][1] for place in shown])
        bars = question.error_bars(self.size, items=len(picks))
        if estimates is None or bars is None:
            return TopItems(items=tuple(labels), record=record)
        pairs = list(zip(labels, map(question.shown, estimates), strict=True))
        if not record.ordered:  # the counts are released: to sort by them tells nothing more
            pairs.sort(key=lambda pair: -pair[1])
        each, together = map(question.shown, bars)
        return TopItems(
            items=tuple(label for label, _ in pairs),
            record=record,
            estimates=tuple(count for _, count in pairs),
            error_bar=each,
            error_bar_all=together,
        )


def check_size(question: Question, size: int | None) -> None:
    """Refuse what a public domain of this size, or the number of people, makes impossible or hopeless."""
    if size is not None and question.count is not None and question.count > size:
        rule = f"must not exceed the size of the public domain, {size}"
        raise ParameterError("count", rule, question.count, "ask for fewer")
    question.refuse_hopeless(size)


class PreparedChoice:
    """A release with a clip or a bound that is yet to be chosen: checked for every choice, and nothing is drawn."""

    def __init__(self, engine: Engine, question: Question, domain: Domain | None, rows: Frame, kind: LabelKind) -> None:
        self._engine, self._question, self._domain, self._rows, self._kind = engine, question, domain, rows, kind
        self._size = None if domain is None else domain.size
        check_size(replace(question.possible[0], people=question.people), self._size)
        measured = {BOUND: choosing.numbers_of_items, CLIP: choosing.largest_worths}
        self._people = {name: measured[name](engine, rows, domain) for name in question.choose}
        self._uncut = count_items(engine, rows, domain, None) if question.looks else None

    def record(self, *, private: bool) -> Record:
        """What may be said before the choice is made: what it will cost, and what is chosen."""
        record = Record.of(self._question.possible[0], self._size, private=private)
        unknown = {"method": self._question.method, BOUND: None, CLIP: None, "within": None}
        return record.of_choices(self._question, **unknown)

    def draw(self, noise: Source, record: Record) -> TopItems:
        """Draw the choices, count for them, and go on as any release does."""
        question, people, share = self._question, self._people, self._question.choice_share
        bound, clip, counted = question.max_items_per_user, None, None
        bounds = tuple(each.max_items_per_user for each in question.possible)
        if self._uncut is not None and self._size is not None and question.count is not None:
            left = Fraction(question.possible[-1].epsilon)
            bars = choosing.subset_bars(total=self._size, count=question.count, epsilon=left)
            if choosing.subset_works(noise.stream(), choosing.subset_margin(self._uncut.histogram, bars), share):
                counted = self._uncut
            bounds = bounds[:-1]
        if BOUND in people and counted is None:
            bound = bounds[choosing.choose_bound(noise.stream(), people[BOUND], bounds, share)]
        if CLIP in people:
            clip = choosing.choose_clip(noise.stream(), people[CLIP], share)
        settled = question.settled(bound, clip)
        counts = counted or (lambda: _count(self._engine, self._rows, self._domain, settled))
        prepared = Prepared(self._engine, settled, self._domain, counts, self._kind)
        return prepared.draw(noise, prepared.record(private=record.private).of_choices(question))


class KeptLabels(NamedCounts):
    """Labels that were found, with their private numbers of people, in an order that hangs on the draw alone."""

    def __init__(self, labels: Sequence[Named]) -> None:
        self._members: dict[int, list[Named]] = {}
        for label in labels:
            self._members.setdefault(label[1], []).append(label)

    @property
    def histogram(self) -> Mapping[int, int]:
        return {people: len(self._members[people]) for people in sorted(self._members)}

    def named(self, picks: Sequence[Pick]) -> list[Named]:
        return [self._members[people][rank] for people, rank in picks]


@dataclass(frozen=True)
class PreparedStages:
    """A selection from labels that are yet to be found: they are weighed and counted, and nothing is drawn."""

    question: Question
    second: Question
    labels: Prepared

    def record(self, *, private: bool) -> Record:
        return Record.of(self.question, None, private=private)

    def draw(self, noise: Source, record: Record) -> TopItems:
        """Find labels, and select from them as from a public list, made up to ``count`` with dummies."""
        assert self.second.count is not None
        kept = self.labels.name(self.labels.select(noise)[0])
        public = Sized(size=max(len(kept), self.second.count))
        selection = Prepared(None, self.second, public, KeptLabels(kept))
        picks, estimates = selection.select(noise)
        present = [people > 0 for people, _ in picks]  # dummies have none
        picks = list(compress(picks, present))
        estimates = None if estimates is None else tuple(compress(estimates, present))
        return selection.released(noise, record, (picks, estimates), selection.name(picks))


@dataclass(frozen=True)
class PreparedGroups:
    """The releases of all groups made ready.

    Where one query counted them, ``together`` names picks (place * STRIDE + score, rank) with a score, of all groups.
    """

    question: Question
    groups: Mapping[Hashable, Prepared]
    together: Callable[[Sequence[Pick]], list[Named]] | None = None

    def record(self, *, private: bool) -> Record:
        (first, *_) = self.groups.values()
        return first.record(private=private).of_groups(self.question, len(self.groups))

    def draw(self, noise: Source, record: Record) -> TopItems:
        parts = list(self.groups.values())
        selected = [prepared.select(noise) for prepared in parts]
        of_each = parts[0].record(private=record.private)
        named = self._named([picks for picks, _ in selected])
        drawn = map(lambda part, picks, names: part.released(noise, of_each, picks, names), parts, selected, named)
        return TopItems.of_groups(dict(zip(self.groups, drawn, strict=True)), record)

    def _named(self, picked: Sequence[Sequence[Pick]]) -> list[list[Named]]:
        """What was picked in each group, named; where all were counted at once they are named at once, too."""
        parts = list(self.groups.values())
        if self.together is None:
            return [part.name(picks) for part, picks in zip(parts, picked, strict=True)]
        numbered = enumerate(picked)
        present = [(place * STRIDE + score, rank) for place, picks in numbered for score, rank in picks if score]
        names = ((label, score % STRIDE) for label, score in self.together(present))
        named = []
        for part, picks in zip(parts, picked, strict=True):
            absent = iter(part.name([pick for pick in picks if not pick[0]]))
            named.append([next(names if score else absent) for score, _ in picks])
        return named


def _prepare_groups(
    engine: Engine, rows: Frame, domain: Domain | None, question: Question, public: Any, kind: LabelKind
) -> PreparedGroups:
    """Count all groups in one query; where people are cut in each, or sums are made, in one for each."""
    per = question.per or ""
    grouped_by = label_kind(engine.types[per], per, "groups")
    groups = public_groups(public, per, grouped_by)
    listed = _listed_rows(engine, rows, domain, question, groups)
    share = question.share

    def of(rows: Frame, place: int) -> Frame:
        return rows.where(f'"group" = {place}').select(*(name for name in rows.columns if name != "group"))

    def parts(counted: Callable[[int], Counted]) -> dict[Hashable, Prepared]:
        labels = enumerate(groups.values())
        return {label: Prepared(engine, share, domain, partial(counted, place), kind) for place, label in labels}

    if question.sums is not None or question.cut is not None:
        listed = engine.keep(listed)
        return PreparedGroups(question, parts(lambda place: _count(engine, of(listed, place), domain, share)))
    counts = listed.group("group", "item", score=number_of_people(listed))
    if question.user is None and domain is not None:
        counts = domain.restrict(counts)
    counts = engine.keep(counts.order("group"))  # so that the rows of one group stand together
    histograms: list[dict[int, int]] = [{} for _ in groups]
    histogram = {}
    for place, score, items in sorted(engine.rows(counts.group("group", "score", items="count(*)"))):
        histograms[place][int(score)] = histogram[place * STRIDE + int(score)] = int(items)
    every = Counted(counts=counts.select("item", f'"group" * {STRIDE} + score AS score'), histogram=histogram)
    read, each = label_reader(domain, kind), parts(lambda n: Counted(counts=of(counts, n), histogram=histograms[n]))

    def together(picks: Sequence[Pick]) -> list[Named]:
        return [(read(cell), number) for cell, number in name_picks(engine, every, None, picks)]

    return PreparedGroups(question, each, together)


def check_groups(question: Question, number: int) -> None:
    """Refuse what so many groups make impossible."""
    if (most := question.groups_per_user) is not None and most > number:
        raise ParameterError("groups_per_user", f"must be at most the number of groups, {number}", most)
    if question.count is not None and question.count * number > MOST_SELECTED:
        rule = f"times the number of groups, {number:,}, must be at most {MOST_SELECTED:,}"
        raise ParameterError("count", rule, question.count, "ask for fewer")


def _listed_rows(
    engine: Engine, rows: Frame, domain: Domain | None, question: Question, groups: Mapping[Any, Hashable]
) -> Frame:
    """The rows (group, item, ...) of the listed groups, of at most ``groups_per_user`` of them for each person.

    From here on a group is its place in the list: numbers are joined and found sooner than texts.
    """
    most = question.groups_per_user
    check_groups(question, len(groups))
    places = engine.bring({"group": list(groups), "place": range(len(groups))})
    listed = rows.join(places, "group").with_columns(group="place")
    if question.user is None:
        return listed
    # A person's groups are those in which they have a candidate.
    listed = engine.keep(listed if domain is None else domain.restrict(listed))
    person = listed.select("user", "group", "item")
    pairs = cut_users(engine, person.select('"group" AS item', "user"), most or 1, told_by=person)
    return listed.join(pairs.rename(item="group"), "group", "user", how="semi")
