"""Frequent sets of items of a table: one call, from the user's own baskets to what may be published."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from sparsegate.budget import Number, Spender, charge
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.calibration import trusted_source
from sparsegate.mechanisms.laplace import error_bar, error_bar_all
from sparsegate.mechanisms.scores import Scores
from sparsegate.mechanisms.selection_methods import AUTO
from sparsegate.noise import Source
from sparsegate.noise.own_settings import own_settings
from sparsegate.tables.engines.engine import guarded, open_engine
from sparsegate.tables.given import Given, given
from sparsegate.tables.in_place import TableInPlace
from sparsegate.tables.matching import matching_engine
from sparsegate.tables.noisy_counts import noisy_counts
from sparsegate.tables.text_files import TextForm
from sparsegate.uses.itemsets.candidate_sets import Integers
from sparsegate.uses.itemsets.counted_baskets import CountedBaskets
from sparsegate.uses.itemsets.itemset_question import ItemsetQuestion
from sparsegate.uses.itemsets.levels import LevelPlan, ReleasedSets, SetQuestion, release_sets
from sparsegate.uses.itemsets.released_itemsets import FrequentItemsets, ItemsetRecord

CONFIDENCE: Final = 0.95


@own_settings
def frequent_itemsets(
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
    count: int,
    size: int = 3,
    smallest: int = 1,
    epsilon: Number,
    domain: Any = None,
    delta: Number = 0,
    method: str = AUTO,
    pool: int | None = None,
    selection: str = AUTO,
    answers_epsilon: Number = 0,
    where: str | None = None,
    ledger: Spender | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> FrequentItemsets:
    """Select the ``count`` sets of items that most people have; the release is (epsilon + answers_epsilon, delta)-DP.

    *Theorem.* What a level selects from is a function of what the levels before released, and supports have sensitivity
    1 and are monotonic, so the epsilons of the levels add: ``levels`` has the proof. They sum to ``epsilon``.
    Noisy supports are those of sets that were released, with noise of scale c / answers_epsilon, because one person may
    have all c sets. Neighbours: one person more or less, with all rows. How long it takes depends on the data: publish
    the result, not the time.

    Parameters
    ----------
    data, table, sql, format, separator, encoding, where: as in ``top_items``, but for the tables of a database server.
    item, user: names of columns; both may be left out for files of baskets, whose lines are the people.
    count: c, how many sets to select; at most 5,000.
    size, smallest: the most and the fewest items of a set: 1 to 3 unless given. With ``smallest=2`` single items are
        left out.
    epsilon: the privacy loss of all levels together, > 0; a float is read as the decimal it prints as.
    domain: the public items, as in ``top_items``; or "observed", at the price of ``delta``.
    delta: for "observed" alone.
    method: "whole", "items-first" or "levels", see ``levels``; "auto" takes the first of them whose candidates can
        be counted, from public numbers.
    pool: how many items are selected first: four times the root of ``count`` (five without single items), or ``count``
        for "levels".
    selection: how each level selects: "auto", which is "subset"; "one-shot" or "exponential".
    answers_epsilon: eps3 > 0 adds noisy supports, with error bars.
    ledger: an open ``sparsegate.Ledger``: charged once, when items are counted and nothing is drawn yet.
    source, not_private: ``Secure()``; a ``Seeded`` source is for tests, and needs not_private=True.

    >>> import pandas, sparsegate as sg
    >>> bought = {"tea": range(60), "milk": range(50), "jam": range(100, 120)}
    >>> rows = pandas.DataFrame([(what, who) for what, people in bought.items() for who in people])
    >>> found = sg.frequent_itemsets(rows.set_axis(["product", "customer"], axis=1), item="product", user="customer",
    ...                              domain=["jam", "milk", "tea", "rye"], size=2, count=3, epsilon=2,
    ...                              answers_epsilon=1, source=sg.Seeded(1), not_private=True)
    >>> found.items, found.estimates, found.error_bar
    ((('tea',), ('milk',), ('milk', 'tea')), (56, 52, 45), 9)
    """
    form = TextForm(format=format, separator=separator, encoding=encoding)
    asked = ItemsetQuestion(
        item=item,
        user=user,
        where=where,
        sets=SetQuestion(count=count, size=size, smallest=smallest, method=method, pool=pool),
        epsilon=epsilon,
        answers_epsilon=answers_epsilon,
        domain=domain,
        delta=delta,
        selection=selection,
    )
    noise, columns = trusted_source(source, not_private), asked.items
    with given(data, table=table, sql=sql, form=form, columns=columns.columns, user=columns.user) as opened:
        if isinstance(opened.table, TableInPlace):
            rule = "must be a table or files: sets of items are not counted in a database that is named by its URL"
            raise ParameterError("data", rule, next_step=opened.table.elsewhere)
        opened.check_item(item)
        return opened.run(lambda: _released(opened, asked, noise, ledger))


def _released(opened: Given, asked: ItemsetQuestion, noise: Source, ledger: Spender | None) -> FrequentItemsets:
    """Count the items, charge, draw level by level, and keep."""
    name, item = "the engine of the table", asked.items.item
    domain, table = guarded(name, lambda: opened.candidates(None if asked.observed else asked.domain, item))
    with guarded(name, lambda: matching_engine(open_engine(table), asked.where)) as engine:
        with opened.explained():
            baskets = guarded(engine.name, lambda: CountedBaskets(engine, item=item, user=opened.user, domain=domain))
        plan = asked.sets.plan(baskets.size)
        asked.check(plan)
        record = asked.record(plan, baskets.size, private=noise.private)
        what = f"{record.count} sets of up to {record.itemset_size} of {item}, method {record.method}"
        what += f", selection {record.selection}, domain {record.domain}"
        what += f", where {asked.where}" if asked.where else ""
        opened.pay()
        keep = charge(ledger, epsilon=record.epsilon, delta=record.delta, what=what).keep
        with opened.explained():
            released = guarded(engine.name, lambda: draw_sets(baskets, plan, asked, noise), charged=True)
        found = _published(released, record, asked, baskets, noise)
        keep({"release": "top_items", **found.to_dict()})
    return found


def draw_sets(baskets: CountedBaskets, plan: LevelPlan, asked: ItemsetQuestion, noise: Source) -> ReleasedSets:
    """Draw all levels."""

    def first(count: int, epsilon: Fraction) -> list[Any]:
        if plan.everything:
            return baskets.everything()
        if asked.observed:
            assert asked.items.dbar is not None
            return baskets.pick_observed(asked.items.accounting, asked.items.dbar, noise)
        return baskets.pick(asked.request(count, epsilon), noise)

    def select(supports: Integers, count: int, epsilon: Fraction) -> list[int]:
        candidates = Scores.each(supports)
        picks = asked.request(count, epsilon).pick(candidates, noise.stream())
        return list(map(int, candidates.numbers(picks.groups, picks.members)))

    return release_sets(plan, asked.spent, first=first, bits_of=baskets.bits, select=select)


def _published(
    released: ReleasedSets, record: ItemsetRecord, asked: ItemsetQuestion, baskets: CountedBaskets, noise: Source
) -> FrequentItemsets:
    """The sets by size and label; with noisy supports, where they are paid for, the largest first."""
    labels = list(map(baskets.label, released.items))
    places = sorted(range(len(released.sets)), key=lambda place: (len(released.sets[place]), released.sets[place]))
    sets = [tuple(labels[member] for member in released.sets[place]) for place in places]
    if asked.scale is None:
        return FrequentItemsets(items=tuple(sets), record=record)
    exact = released.supports()
    noisy = noisy_counts(noise.stream(), [exact[place] for place in places], asked.scale)
    shown = sorted(range(len(sets)), key=lambda place: -noisy[place])
    return FrequentItemsets(
        items=tuple(sets[place] for place in shown),
        record=record,
        estimates=tuple(max(0, noisy[place]) for place in shown),
        error_bar=error_bar(asked.scale, CONFIDENCE),
        error_bar_all=error_bar_all(asked.scale, CONFIDENCE, max(1, len(sets))),
        confidence=CONFIDENCE,
    )
