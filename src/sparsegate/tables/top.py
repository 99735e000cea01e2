"""Private top-c of a table: one call, from the user's dataframe to what may be published."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from sparsegate.budget import Number, Spender, charge
from sparsegate.gates.calibration import trusted_source
from sparsegate.noise import Source
from sparsegate.noise.own_settings import own_settings
from sparsegate.selection.select import AUTO
from sparsegate.tables.engines.engine import Engine, guarded, open_engine
from sparsegate.tables.groups import check_expression
from sparsegate.tables.matching import grouping_engine, matching_engine
from sparsegate.tables.opening import OpenedTable, open_table
from sparsegate.tables.prepared import TableInPlace, prepare
from sparsegate.tables.question import Question
from sparsegate.tables.release import TopItems


@own_settings
def top_items(
    data: Any,
    /,
    *,
    item: str | None = None,
    user: str | None = None,
    unit: str | None = None,
    count: int,
    epsilon: Number,
    domain: Any = None,
    delta: Number = 0,
    method: str = AUTO,
    ordered: bool = False,
    threshold: Number | None = None,
    answers_epsilon: Number = 0,
    max_items_per_user: int | Literal["auto"] | None = None,
    choice_epsilon: Number | None = None,
    dbar: int | None = None,
    where: str | None = None,
    people: int | None = None,
    per: str | None = None,
    groups: Any = None,
    groups_per_user: int | None = None,
    ledger: Spender | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> TopItems:
    """Select the ``count`` items that most users have; the release is (epsilon + answers_epsilon, delta)-DP.

    *Theorem.* The score of an item is its number of different users. Adding or removing one user, with all their rows,
    moves each score by at most one and all in one direction, so each method of ``select_top`` is epsilon-DP at
    sensitivity 1, monotonic, over a public domain; without one see ``tables.observed``. The counts are made in
    the table's own engine. How long that takes depends on the data: publish the result, not the time.

    Parameters
    ----------
    data: a pandas, Polars (eager or lazy) or PyArrow table, a DuckDB relation, a PySpark DataFrame, a dict of columns,
        a list of dicts, a dataset of PyArrow or any stream of Arrow: see ``tables.workspace``. Or files by their path
        or pattern, or several in a list: Parquet, CSV, JSON, baskets, or a database of DuckDB or SQLite. Or an engine
        or URL of SQLAlchemy's, such as "postgresql://user@host/db": counted there, in a transaction that only reads. Or
        a ``Table`` of any of them, which says what to read of a database, and how text is written.
    item, user: names of columns; both may be left out for baskets, whose lines are the users. Items come back as the
        types that they are (``tables.labels``). Rows with a null in either column are dropped.
    unit: "row" instead of ``user`` where every row is another person.
    count: c, how many to select, at most ten million.
    epsilon: the privacy loss of the selection, > 0; a float is read as the decimal it prints as.
    domain: the public candidates: a list, array, series, a dataframe (its only column, or the one called ``item``),
        a file as Path("pages.csv") or Path("pages.csv:column"), or a number n for the labels 0, 1, ..., n-1. Those
        that the table lacks have the score 0; items that are no candidates are ignored. Or "observed": whatever the
        table holds, at the price of ``delta``, and of fewer items than asked for where counts are small. Where
        ``max_items_per_user`` is more than three, labels are found first, for half of epsilon, if that reaches lower
        (``tables.weighted``); ``method="exponential"``, or ``dbar``, asks for one selection.
    delta: the probability, such as 1e-8, with which the guarantee may fail: needed for "observed", and for a public
        domain a way to much less noise where many are selected. It is charged where it is used.
    method, ordered, threshold: as in ``select_top``. What is selected as a set comes sorted by label, or by its noisy
        counts where those are paid for.
    answers_epsilon: eps3 > 0 adds noisy counts, with noise of scale c / eps3 (1 / eps3 for rows); or with Gaussian
        noise and half of ``delta`` where that is much less: see ``tables.answers``. Where counts come with the
        selection ("noisy-scores"), eps3 is spent on that, too.
    max_items_per_user: cut each user to this many items first, by a hash of all their items. Less noise in the
        answers where it is below c, and a lower bar for "observed"; but counts, and their error bars, are then of what
        is left of each user, and nobody is told how much was cut. "auto": chosen from the data, so that about three
        quarters of the users keep all of their items, or not at all where a set is found without (``tables.choosing``).
    choice_epsilon: the part of epsilon that is spent on choices by "auto"; a tenth unless given.
    dbar: with "observed", how many items take part; ten times ``count`` unless given.
    where: a PUBLIC condition such as "country = 'DE'", in the language of ``sparsegate.conditions``: only rows that
        meet it count. Not on Spark.
    people: N, a PUBLIC number: how many people, or rows, there are in all. Where that makes the release hopeless (see
        ``tables.question``) it is refused before anything is charged.
    per, groups, groups_per_user: a release for every one of the ``groups``, a public list of labels, text such as
        "DE,FR" or "2024-01..2024-12", or a Path; ``per`` is the column that says in which group a row is, or an
        expression such as "year_month(day)" (not on Spark). A person counts in one group, or in ``groups_per_user`` of
        them, each at that part of epsilon and delta: the whole costs what is given here, once. All else is for each
        group. See ``tables.groups``.
    ledger: an open ``sparsegate.Ledger``: charged when everything is checked and counted and nothing is drawn yet; it
        keeps the release with its record.
    source, not_private: ``Secure()``; a ``Seeded`` source is for tests, and needs not_private=True.

    >>> import pandas, sparsegate as sg
    >>> visits = pandas.DataFrame({"page": ["/home"] * 40 + ["/docs"] * 30, "visitor": [*range(40), *range(30)]})
    >>> top = sg.top_items(visits, item="page", user="visitor", count=2, epsilon=2, answers_epsilon=1,
    ...                    domain=["/home", "/docs", "/blog"], source=sg.Seeded(1), not_private=True)
    >>> top.items, top.estimates, top.error_bar
    (('/home', '/docs'), (37, 31), 6)
    """
    return _ask(**locals())


@own_settings
def items_above(
    data: Any,
    /,
    *,
    item: str | None = None,
    user: str | None = None,
    unit: str | None = None,
    above: int,
    epsilon: Number,
    delta: Number,
    max_items_per_user: int | Literal["auto"] | None = None,
    choice_epsilon: Number | None = None,
    answers_epsilon: Number = 0,
    where: str | None = None,
    people: int | None = None,
    per: str | None = None,
    groups: Any = None,
    groups_per_user: int | None = None,
    ledger: Spender | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> TopItems:
    """Select every item that about ``above`` people have, however many those are, from whatever the table holds.

    *Theorem.* The release is (epsilon + answers_epsilon, delta)-DP, by optimal partition selection: see
    ``tables.observed``. The record says what is never and what is always among the items. Where a bar is too low for
    that and a person has more than three items, it is made of weights with Gaussian noise: see ``tables.weighted``. One
    too low for both is refused, and the lowest named.

    Parameters
    ----------
    above: N: an item that N people have is kept half of the time, and one that far more have always. By weights these
        are people who have all of ``max_items_per_user`` items; where they have fewer items, fewer people are enough.
    epsilon, delta: the privacy loss of the selection, both > 0.
    max_items_per_user: how many items one person counts for, or "auto"; needed unless rows are people.

    All others are those of ``top_items``.

    >>> import sparsegate as sg
    >>> visits = {"page": ["/home"] * 400 + ["/docs"] * 300 + ["/rare"] * 2}
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> seen = sg.items_above(visits, item="page", unit="row", above=150, epsilon=0.1, delta=1e-6, **seeded)
    >>> seen.items, seen.record.never_below, seen.record.always_from
    (('/docs', '/home'), 42, 259)
    """
    return _ask(domain="observed", **locals())


@own_settings
def top_sums(
    data: Any,
    /,
    *,
    item: str,
    user: str | None = None,
    unit: str | None = None,
    value: str,
    clip: tuple[Number, Number] | Literal["auto"],
    count: int,
    epsilon: Number,
    domain: Any = None,
    delta: Number = 0,
    method: str = AUTO,
    ordered: bool = False,
    threshold: Number | None = None,
    answers_epsilon: Number = 0,
    max_items_per_user: int | Literal["auto"] | None = None,
    choice_epsilon: Number | None = None,
    dbar: int | None = None,
    granularity: Number | None = None,
    where: str | None = None,
    people: int | None = None,
    per: str | None = None,
    groups: Any = None,
    groups_per_user: int | None = None,
    ledger: Spender | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> TopItems:
    """Select the ``count`` items with the largest sums of the column ``value``.

    *Theorem.* The release is (epsilon + answers_epsilon, delta)-DP. What each person has of an item, their rows added
    up, is clipped to ``clip`` = (low, high). So one person moves each sum by at most the larger side of the clip, which
    is the sensitivity: see ``tables.sums``. What lies beyond is left out of sums and error bars.

    Parameters
    ----------
    value: the column that is summed.
    clip: (low, high), PUBLIC: the least and the most that one person may count for. Or "auto": (0, high), with a high
        that is chosen from the data (``tables.choosing``), for values from a millionth to 4 * 10**11; what is less
        than 0 counts as 0.
    granularity: the step of the lattice that values are rounded to: a power of ten, about a millionth of the clip,
        unless given.

    All others are those of ``top_items``; a threshold is in the units of the values.

    >>> import sparsegate as sg
    >>> orders = {"product": ["tea"] * 30 + ["jam"] * 30, "customer": [*range(30), *range(30)], "paid": [9.5] * 60}
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> asked = {"item": "product", "user": "customer", "domain": ["tea", "jam", "rye"], **seeded}
    >>> top = sg.top_sums(orders, value="paid", clip=(0, 10), count=2, epsilon=2, **asked)
    >>> top.items, top.record.clip
    (('jam', 'tea'), (0, 10))
    """
    return _ask(**locals())


def _ask(
    data: Any,
    *,
    item: str | None,
    user: str | None,
    unit: str | None,
    ledger: Spender | None,
    source: Source | None,
    not_private: bool,
    **parameters: Any,
) -> TopItems:
    column, person = names_of(item, user, unit)
    question = Question.asked(item=column, user=person, unit=unit, **parameters)
    return release(data, question, named=item is not None, ledger=ledger, source=source, not_private=not_private)


def names_of(item: str | None, user: str | None, unit: str | None) -> tuple[str, str | None]:
    """The columns of the items and users; where no item is named they are those of a file of baskets."""
    if item is not None:
        return item, user
    return "item", "user" if user is None and unit is None else user


@own_settings
def release(
    data: Any,
    question: Question,
    *,
    named: bool = True,
    ledger: Spender | None = None,
    source: Source | None = None,
    not_private: bool = False,
    report: Callable[[float], object] | None = None,
) -> TopItems:
    """Release what a question asks of the data; ``named`` says whether the column of the items was named.

    ``report`` is told, while a long query over files runs, in about how many seconds it ends. That is private.
    """
    noise, question = trusted_source(source, not_private), question.paid_by(ledger)
    asked: dict[str, Any] = {"columns": question.columns, "user": question.user, "value": question.value}
    with open_table(data, **asked, report=report) as opened:
        opened.check_item(question.item if named else None)
        return opened.run(lambda: _released(opened, question, noise, ledger))


def _released(opened: OpenedTable, question: Question, noise: Source, ledger: Spender | None) -> TopItems:
    """Count, charge, draw and keep."""
    name = "the engine of the table"
    domain, table = guarded(name, lambda: opened.candidates(question.domain, question.item))
    groups = opened.groups(question.groups)

    def engine_of(table: Any) -> Engine | TableInPlace:
        if isinstance(table, TableInPlace):
            return table
        matching = matching_engine(open_engine(table), question.where)
        return grouping_engine(matching, question.per, partial(check_expression, groups, question.per or ""))

    with guarded(name, lambda: engine_of(table)) as engine:
        if question.stages is not None and isinstance(engine, TableInPlace) and not engine.weighs:
            question = question.at_once
        with opened.explained():
            prepared = guarded(engine.name, lambda: prepare(engine, question, domain, opened.user, groups))
        record = prepared.record(private=noise.private)
        opened.pay()
        keep = charge(ledger, **vars(question.cost), what=record.what).keep
        with opened.explained():
            top = guarded(engine.name, lambda: prepared.draw(noise, record), charged=True)
        keep({"release": "top_items", **top.to_dict()})
    return top
