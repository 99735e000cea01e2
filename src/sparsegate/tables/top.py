"""Private top-c of a table: one call, from the user's dataframe to what may be published."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sparsegate.budget import Number, Spender, charge
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.calibration import trusted_source
from sparsegate.mechanisms.laplace import error_bar, error_bar_all
from sparsegate.mechanisms.scores import Scores
from sparsegate.mechanisms.selection import by_label
from sparsegate.mechanisms.selection_methods import AUTO, METHODS
from sparsegate.noise import Source
from sparsegate.tables.columns import read_columns
from sparsegate.tables.counting import Pick, count_items, name_picks
from sparsegate.tables.domain import EXPLAINED, Domain, public_domain
from sparsegate.tables.engines.engine import Engine, guarded, open_engine
from sparsegate.tables.given import Given, given
from sparsegate.tables.itemsets import count_itemsets, decode, itemset_domain, name_itemsets
from sparsegate.tables.matching import matching_engine
from sparsegate.tables.noisy_counts import answer_scale, noisy_counts
from sparsegate.tables.observed_domain import pick_observed
from sparsegate.tables.partition_selection import pick_above
from sparsegate.tables.promised import refuse_hopeless, within
from sparsegate.tables.question import Question
from sparsegate.tables.release import Record, TopItems, installed_version
from sparsegate.tables.sums import as_values, plain, sum_items
from sparsegate.tables.text_files import TextForm

if TYPE_CHECKING:
    from sparsegate.tables.engines.engine import Frame

CONFIDENCE = 0.95


def top_items(
    data: Any,
    /,
    *,
    table: str | None = None,
    sql: str | None = None,
    format: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    item: str | None = None,
    user: str | None = None,
    unit: str | None = None,
    count: int | None = None,
    above: int | None = None,
    epsilon: Number,
    domain: Any = None,
    delta: Number = 0,
    method: str = AUTO,
    ordered: bool = False,
    threshold: Number | None = None,
    answers_epsilon: Number = 0,
    max_items_per_user: int | None = None,
    itemset_size: int = 1,
    max_items: int | None = None,
    dbar: int | None = None,
    value: str | None = None,
    clip: tuple[Number, Number] | None = None,
    granularity: Number | None = None,
    where: str | None = None,
    people: int | None = None,
    ledger: Spender | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> TopItems:
    """Select the ``count`` items that most users have; the release is (epsilon + answers_epsilon, delta)-DP.

    *Theorem.* The score of an item is its number of different users. Adding or removing one user, with all their rows,
    moves each score by at most one and all in one direction, so each method of ``select_top`` is epsilon-DP at
    sensitivity 1, monotonic, over a public domain; without one see ``tables.observed_domain``. The counts are made in
    the table's own engine. How long that takes depends on the data: publish the result, not the time. Sums in place of
    counts have the sensitivity of their clip: see ``tables.sums``.

    Parameters
    ----------
    data: a pandas, Polars (eager or lazy) or PyArrow table, a DuckDB relation, or a PySpark DataFrame. Or files by
        their path or pattern, as text or ``Path``, or several in a list: Parquet, CSV, JSON, baskets, or a database of
        DuckDB or SQLite. They are read as ``sparsegate top`` reads them; see ``tables.workspace``.
    table, sql: of a database, the name of the table or a query; of files a query, which calls them ``data``.
    format: "fimi" for files of baskets, one a line, whose items stand apart by white space; "baskets" where they stand
        apart by ``separator``, a comma unless given. Else the ending of a name says what a file is; .dat is FIMI.
    separator: also of the columns of a CSV file, which its header line tells otherwise.
    encoding: of text files, where it is not UTF-8.
    item, user: names of columns; both may be left out for baskets, whose lines are the users. Items are whole
        numbers or strings; rows with a null in either column are dropped.
    unit: "row" instead of ``user`` where every row is another person.
    count: c, how many to select, at most ten million; or
    above: N, with "observed" and ``max_items_per_user`` (or rows): everything that about N people have, however many
        items that are, by optimal partition selection. The record says what is never and what is always among them. A
        bar too low for epsilon and delta is refused, and the lowest named.
    epsilon: the privacy loss of the selection, > 0; a float is read as the decimal it prints as.
    domain: the public candidates: a list, array, series, a dataframe (its only column, or the one called ``item``),
        a file as Path("pages.csv") or Path("pages.csv:column"), or a number n for the labels 0, 1, ..., n-1. Those
        that the table lacks have the score 0, and are selected as often as that deserves; items of the table that are
        no candidates are ignored. Or "observed": whatever the table holds, at the price of ``delta``, and of fewer
        items than asked for where counts are small.
    delta: the probability, such as 1e-8, with which the guarantee may fail: needed for "observed", and for a public
        domain a way to much less noise where many are selected. It is charged where it is used.
    method, ordered, threshold: as in ``select_top``. The rule of "auto" knows how many items one person can touch: 1
        for rows, else max_items_per_user. What is selected as a set comes sorted by label,
        or by its noisy counts where those are paid for.
    answers_epsilon: eps3 > 0 adds noisy counts, with noise of scale c / eps3 (1 / eps3 for rows). Where counts come
        with the selection ("noisy-scores", a person touches at most c items), eps3 is spent on that, too.
    max_items_per_user: cut each user to this many items first, by a hash of all their items. Less noise in the
        answers where it is below c, and a lower bar for "observed"; but counts, and their error bars, are then of what
        is left of each user, and lower than the counts of all items by an amount that nobody is told.
    itemset_size: 2 or 3 selects sets of items that users have together, out of all sets of the domain;
        with "observed" out of those that somebody has.
    max_items: for sets, how many items of a user count: 100 for pairs, 40 for triples unless given. Others are cut
        away, as above.
    dbar: with "observed", how many items take part; ten times ``count`` unless given.
    value, clip: rank by sums instead of counts: what each person has of an item in the column ``value``, their rows
        added up, and then clipped to ``clip`` = (low, high). One person moves each sum by at most the larger side of
        the clip; what lies beyond is left out of sums and error bars. See ``tables.sums``.
    granularity: the step of the lattice that values are rounded to: a power of ten, about a millionth of the clip,
        unless given.
    where: a condition such as "country = 'DE'", in the language of ``sparsegate.conditions``: only rows that meet it
        count. It must be public, and may speak of every column of the table. Not on Spark.
    people: N, a PUBLIC number: how many people, or rows, there are in all. Where that makes the release hopeless (see
        ``tables.promised``) it is refused before anything is charged.
    ledger: an open ``sparsegate.Ledger``: charged when everything is checked and counted and nothing is drawn yet; it
        keeps the release with its record.
    source, not_private: ``Secure()``; a ``Seeded`` source is for tests, and needs not_private=True.

    >>> import pandas
    >>> from sparsegate.noise import Seeded
    >>> visits = pandas.DataFrame({"page": ["/home"] * 40 + ["/docs"] * 30, "visitor": [*range(40), *range(30)]})
    >>> top = top_items(visits, item="page", user="visitor", count=2, epsilon=2, answers_epsilon=1,
    ...                 domain=["/home", "/docs", "/blog"], source=Seeded(1), not_private=True)
    >>> top.items, top.estimates, top.error_bar
    (('/home', '/docs'), (37, 31), 6)
    """
    form = TextForm(format=format, separator=separator, encoding=encoding)
    named, person = basket_names(item, user, unit)
    question = Question(
        item=named,
        user=person,
        unit=unit,
        count=count,
        above=above,
        epsilon=epsilon,
        observed=_observed(domain),
        delta=delta,
        method=method,
        ordered=ordered,
        threshold=threshold,
        answers_epsilon=answers_epsilon,
        max_items_per_user=max_items_per_user,
        itemset_size=itemset_size,
        max_items=max_items,
        dbar=dbar,
        value=value,
        clip=clip,
        granularity=granularity,
        where=where,
        people=people,
    )
    noise = trusted_source(source, not_private)
    with given(data, table=table, sql=sql, form=form, columns=question.columns, user=question.user) as opened:
        opened.check_item(item)
        return opened.run(lambda: _released(opened, question, domain, noise, ledger))


def basket_names(item: str | None, user: str | None, unit: str | None) -> tuple[str, str | None]:
    """The columns of the items and users; where no item is named they are those of a file of baskets."""
    if item is not None:
        return item, user
    return "item", "user" if user is None and unit is None else user


def _released(opened: Given, question: Question, domain: Any, noise: Source, ledger: Spender | None) -> TopItems:
    """Count, charge, draw and keep."""
    name = "the engine of the table"
    domain, table = guarded(name, lambda: opened.candidates(domain, question.item))
    with guarded(name, lambda: matching_engine(open_engine(table), question.where)) as engine:
        with opened.explained():
            prepared = guarded(engine.name, lambda: prepare(engine, question, domain, opened.user))
        record = prepared.record(private=noise.private)
        what = f"top {record.count} of {question.item}"
        if question.above is not None:
            what = f"{question.item} of {record.above} or more"
        what += f", unit {record.unit}, method {record.method}, domain {record.domain}"
        what += f", sums of {question.value} clipped to {record.clip}" if question.value else ""
        what += f", where {question.where}" if question.where else ""
        opened.pay()
        keep = charge(ledger, epsilon=record.epsilon, delta=record.delta, what=what).keep
        with opened.explained():
            release = guarded(engine.name, lambda: prepared.draw(noise, record), charged=True)
        keep({"release": "top_items", **release.published()})
    return release


def _observed(domain: Any) -> bool:
    if domain is None or (isinstance(domain, str) and domain != "observed"):
        raise ParameterError("domain", EXPLAINED[0], domain, EXPLAINED[1])
    return isinstance(domain, str)


def prepare(engine: Engine, question: Question, domain: Any, user: str | None) -> Prepared:
    """Read the columns, find the candidates and count; ``user`` is the column that tells people apart."""
    rows, kind = read_columns(engine, question.item, user, question.value)
    if question.value is not None:
        rows = as_values(rows, question.value)
    public = None if question.observed else public_domain(engine, domain, item=question.item, kind=kind)
    return Prepared(engine, question, public, rows)


class Prepared:
    """A release made ready: everything is checked and counted, and nothing is drawn."""

    def __init__(self, engine: Engine, question: Question, domain: Domain | None, rows: Frame) -> None:
        self._engine = engine
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
        if question.sums is not None:
            self._counted = sum_items(engine, rows, domain, question.sums, question.max_items_per_user)
        elif question.max_items is not None:
            most = question.max_items
            self._counted, self._numbers = count_itemsets(engine, rows, domain, size=size, most=most)
        else:
            self._counted = count_items(engine, rows, domain, question.max_items_per_user)

    def draw(self, noise: Source, record: Record) -> TopItems:
        """Draw the selection, name its items, and add noise to their counts where that was asked for."""
        question, (picks, estimates, bars) = self._question, self.select(noise)
        labels = self.name(picks)
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
        labels = name_picks(self._engine, self._counted, self._domain, picks)
        if self._question.itemset_size == 1:
            return labels
        sets = labels if self._domain is None else [decode(code, self._question.itemset_size) for code in labels]
        return name_itemsets(self._engine, self._numbers, sets)

    def pick(self, noise: Source) -> list[Pick]:
        """Draw the selection. The score of a pick is private."""
        return self.select(noise)[0]

    def select(self, noise: Source) -> tuple[list[Pick], tuple[int, ...] | None, tuple[int, int] | None]:
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
