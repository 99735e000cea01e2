"""The top c of labels that are found first: exact laws on adversarial neighbours, with traps; what is charged."""

from __future__ import annotations

import itertools
import math
import sqlite3
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from tests.support.goodness import FALSE_ALARM, excess, law_p
from tests.tables.conftest import Maker, table

from sparsegate.errors import BudgetExceeded, ParameterError
from sparsegate.ledger.ledger import Ledger
from sparsegate.noise import Seeded
from sparsegate.selection.scores import Scores
from sparsegate.tables.counting import Named, Pick
from sparsegate.tables.opening import Table
from sparsegate.tables.prepared import NamedCounts, Prepared, PreparedStages
from sparsegate.tables.preview import preview
from sparsegate.tables.question import Question
from sparsegate.tables.top import top_items, top_sums
from sparsegate.tables.weighted import WeightBar, lowest_bar, pick_weighted, weight

MOST = 4
EPSILON, DELTA = Fraction(2), Fraction(1, 10**5)
OF: dict[str, Any] = {"item": "page", "user": "visitor", "max_items_per_user": MOST}

Labels = Mapping[str, tuple[int, int]]
"""The weight and the people of each label."""


def stages(count: int, share: Fraction = Fraction(1, 2), **options: Any) -> tuple[Question, Question]:
    """Both stages at these shares of epsilon, the second by the exponential mechanism; all of delta is the first's."""
    bar = lowest_bar(epsilon=EPSILON / 2, delta=DELTA, max_items_per_user=MOST)
    assert bar is not None
    first = Question(**OF, above=bar.above, epsilon=EPSILON / 2, delta=DELTA, domain="observed")
    return first, Question(**OF, count=count, epsilon=EPSILON * share, domain=count, method="exponential", **options)


def law(labels: Labels, bar: WeightBar, rate: float, count: int) -> dict[Hashable, float]:
    """Of what is found, as a set, and of what is selected of it, in order: by enumeration."""
    law: dict[Hashable, float] = {}
    kept = {name: float(stats.norm.sf((bar.threshold - total) / bar.sigma)) for name, (total, _) in labels.items()}
    for size in range(len(labels) + 1):
        for found in itertools.combinations(sorted(labels), size):
            chance = math.prod(kept[name] if name in found else 1 - kept[name] for name in labels)
            for chosen in itertools.permutations(found, min(count, size)):
                left, p = set(found), chance
                for name in chosen:
                    most = max(labels[each][1] for each in left)
                    heights = {each: math.exp(rate * (labels[each][1] - most)) for each in left}
                    p *= heights[name] / sum(heights.values())
                    left.remove(name)
                law[found, chosen] = law.get((found, chosen), 0.0) + p
    return law


def neighbours(bar: WeightBar) -> Iterator[tuple[Labels, Labels]]:
    """Without and with a person who has up to four labels: one that may be kept, one that surely is, and new ones."""
    for people, more in itertools.product(range(2, 2 * bar.above, 4), (0, 2, 5)):
        # All who have b have nothing else.
        without = {"a": (people * weight(MOST), people), "b": (bar.threshold + 9 * bar.sigma, people + more)}
        for own in ("a", "ab", "an", "abno", "n", "no"):
            add = weight(len(own))
            both = without | {name: (0, 0) for name in own if name in "no"}
            beside = {name: (t + add, p + 1) if name in own else (t, p) for name, (t, p) in both.items()}
            yield without, beside


def worst(bar: WeightBar, rate: float, count: int) -> float:
    """The largest delta that is needed beside epsilon."""
    deltas = [0.0]
    for without, beside in neighbours(bar):
        one, other = law(without, bar, rate, count), law(beside, bar, rate, count)
        deltas += [excess(one, other, float(EPSILON)), excess(other, one, float(EPSILON))]
    return max(deltas)


def bar_of(first: Question) -> WeightBar:
    assert isinstance(first.bar, WeightBar)
    return first.bar


@pytest.mark.parametrize("count", [1, 2])
def test_both_stages_together_cost_epsilon_and_delta(count: int) -> None:
    """Also if what was found is seen. Traps: either stage, or a round of the second, at all of epsilon."""
    bar, rate = bar_of(stages(count)[0]), float(EPSILON / 2 / count)
    assert 0.3 * float(DELTA) < worst(bar, rate, count) <= float(DELTA)
    assert worst(bar, 2 * count * rate, count) > 100 * float(DELTA)
    whole = lowest_bar(epsilon=EPSILON, delta=DELTA, max_items_per_user=MOST)
    assert whole is not None
    assert worst(whole, rate, count) > 2 * float(DELTA)


class Weighed(NamedCounts):
    """Labels of a test, by weight."""

    def __init__(self, labels: Labels) -> None:
        self._groups: dict[int, list[Named]] = {}
        for name, (total, people) in sorted(labels.items()):
            self._groups.setdefault(total, []).append((name, people))

    @property
    def histogram(self) -> Mapping[int, int]:
        return {total: len(self._groups[total]) for total in sorted(self._groups)}

    def named(self, picks: Sequence[Pick]) -> list[Named]:
        return [self._groups[total][rank] for total, rank in picks]


@pytest.mark.parametrize("count", [2, 5])
def test_the_draw_follows_its_law_and_no_other(count: int) -> None:
    """Of three labels, two or all (and dummies) are selected; its twin has a rate 20 % off. False-alarm rate 1e-6."""
    first, second = stages(count, share=Fraction(count, 4))
    bar = bar_of(first)
    weights = {"a": bar.threshold, "b": bar.threshold + bar.sigma, "c": bar.threshold + bar.sigma}
    labels = {name: (total, bar.above + 5 * place) for place, (name, total) in enumerate(weights.items())}
    ready = PreparedStages(first, second, Prepared(None, first, None, Weighed(labels)))
    record, source = ready.labels.record(private=False), Seeded(5)
    seen: Counter[Hashable] = Counter(ready.draw(source, record).items for _ in range(3000))

    def released(rate: float) -> dict[Hashable, float]:
        total: dict[Hashable, float] = {}
        for (_, chosen), p in law(labels, bar, rate, count).items():  # type: ignore[misc]
            total[chosen] = total.get(chosen, 0.0) + p
        return total

    rate = float(EPSILON / 4)
    assert law_p(seen, released(rate)) > FALSE_ALARM
    assert law_p(seen, released(1.2 * rate)) < FALSE_ALARM


def test_fewer_rounds_may_cost_more_rho() -> None:
    """Why a selection from few labels has dummies, and the noise of ``count``."""
    options: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "domain": 1000, "method": "gumbel"}
    few, many = (Question(**OF, count=count, **options).cost.rho for count in (1, 300))
    assert few > many


ASKED: dict[str, Any] = {**OF, "epsilon": 1, "delta": 1e-6, "domain": "observed", "max_items_per_user": 30}


@pytest.mark.parametrize(
    "changes",
    [
        {"max_items_per_user": 3},
        {"max_items_per_user": None},
        {"count": 10},  # one selection reaches as low
        {"dbar": 3000},
        {"method": "exponential"},
        {"value": "amount", "clip": (0, 1)},
        {"per": "country", "groups": ["DE", "FR"]},
        {"domain": 1000},
    ],
    ids=str,
)
def test_one_selection_is_made_where_that_was_asked_for_or_is_better(changes: dict[str, Any]) -> None:
    question = Question(**{"count": 300, **ASKED, **changes})
    assert question.stages is None
    assert question.share.stages is None


def test_two_stages_where_their_bar_is_lower_and_what_they_cost() -> None:
    for count in (20, 30, 50, 100, 300, 1000):
        question = Question(count=count, **ASKED)
        once = question.at_once
        assert (once.stages, once.request.method, once.dbar) == (None, "exponential", 10 * count)
        assert question.stages is not None
        first, second = question.stages
        assert bar_of(first).even_chance(15) <= once.accounting.margin
        assert (first.epsilon, second.epsilon) == (Fraction(1, 2), Fraction(1, 2))
        assert first.cost.delta + second.cost.delta == question.cost.delta == Fraction(1, 10**6)
        assert question.cost == first.cost + second.cost
        assert question.cost.rho == bar_of(first).rho + second.request.checked.cost.rho
        assert question.cost.rho_delta == first.cost.delta / 2
        assert (question.promise(None), question.within(None)) == (None, None)


def test_counts_have_the_epsilon_that_was_asked_for_and_deltas_add() -> None:
    question = Question(count=100, answers_epsilon=1, **ASKED)
    assert question.stages is not None
    assert question.answers is not None
    assert question.answers == question.stages[1].answers
    assert (question.cost.epsilon, question.cost.delta) == (2, Fraction(1, 10**6))


VISITS: dict[str, Any] = {
    "page": [f"p{page:02}" for visitor in range(400) for page in range(40) if (visitor + page) % (page // 4 + 2) == 0],
    "visitor": [visitor for visitor in range(400) for page in range(40) if (visitor + page) % (page // 4 + 2) == 0],
}
SMALL: dict[str, Any] = {
    **OF,
    "count": 25,
    "epsilon": 20,
    "delta": 0.01,
    "domain": "observed",
    "max_items_per_user": 20,
}


def reference() -> dict[str, tuple[int, int]]:
    """The weight and the people of every page, by plain Python; nobody is cut."""
    own: dict[int, list[str]] = {}
    for page, visitor in zip(*VISITS.values(), strict=True):
        own.setdefault(visitor, []).append(page)
    totals: dict[str, tuple[int, int]] = {}
    for pages in own.values():
        assert len(pages) <= SMALL["max_items_per_user"]
        for page in pages:
            total, people = totals.get(page, (0, 0))
            totals[page] = (total + weight(len(pages)), people + 1)
    return totals


def expected(seed: int) -> set[str]:
    """What a seed finds and selects, from the counts of plain Python."""
    question, totals = Question(**SMALL), reference()
    assert question.stages is not None
    noise = Seeded(seed).stream()
    groups: dict[int, list[str]] = {}
    for page in sorted(totals):
        groups.setdefault(totals[page][0], []).append(page)
    histogram = {total: len(pages) for total, pages in groups.items()}
    found = [
        groups[total][rank] for total, rank in pick_weighted(noise.stream(), histogram, bar_of(question.stages[0]))
    ]
    by_people: dict[int, list[str]] = {}
    for page in found:
        by_people.setdefault(totals[page][1], []).append(page)
    assert len(found) > question.request.count
    people = sorted(by_people)
    scores = Scores.histogram({each: len(by_people[each]) for each in people})
    picks = question.request.pick(scores, noise.stream())
    return {by_people[people[g]][r] for g, r in zip(picks.groups.tolist(), picks.members.tolist(), strict=True)}


def test_every_engine_gives_what_plain_python_gives(make: Maker) -> None:
    top = top_items(make(VISITS), source=Seeded(2), not_private=True, **SMALL)
    assert set(top.items) == expected(2)
    record, first = top.record, (Question(**SMALL).stages or (None,))[0]
    assert first is not None
    bar = bar_of(first)
    assert (record.labels_epsilon, record.labels_delta) == (10, first.delta)
    assert (record.weight, record.weight_noise) == (bar.threshold / 2**24, bar.sigma / 2**24)
    assert (record.epsilon, record.within, record.dbar, record.accounting) == (20, None, None, None)
    assert record.published()["labels_epsilon"] == "10"


def test_few_labels_are_all_that_is_released() -> None:
    few = {name: column[:30] for name, column in VISITS.items()}
    top = top_items(table("duckdb", few), source=Seeded(1), not_private=True, **SMALL)
    assert len(top.items) < 5
    nothing = top_items(table("duckdb", {"page": ["a"], "visitor": [1]}), source=Seeded(1), not_private=True, **SMALL)
    assert nothing.items == ()
    assert nothing.estimates in (None, ())


@pytest.mark.parametrize("budget", [30, (200, 1e-6)], ids=["adding", "zcdp"])
def test_one_charge_for_both_stages(tmp_path: Path, budget: Any) -> None:
    asked, cost = SMALL, Question(**SMALL).cost
    with Ledger.create(tmp_path / "x.ledger", dataset="visits", budget=budget, budget_delta=0.015) as ledger:
        top_items(table("duckdb", VISITS), ledger=ledger, **asked)
        spent = ledger.total_spent()
        if budget == 30:
            assert (spent.epsilon, spent.delta) == (20, Fraction(1, 100))
        else:
            assert cost.rho <= spent.rho < cost.rho * (1 + Fraction(1, 10**9))
            assert spent.delta == cost.rho_delta
        entries = len(ledger.statement().entries)
        with pytest.raises(BudgetExceeded):
            top_items(table("duckdb", VISITS), ledger=ledger, **asked | {"epsilon": 1000})
        assert len(ledger.statement().entries) == entries


def test_a_database_that_adds_up_no_weights_makes_one_selection_and_pays_for_that(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "visits.db") as store:
        store.execute("CREATE TABLE visits (page TEXT, visitor INTEGER)")
        store.executemany("INSERT INTO visits VALUES (?, ?)", list(zip(*VISITS.values(), strict=True)))
    store.close()
    with Ledger.create(tmp_path / "x.ledger", dataset="visits", budget=(30, 1e-6), budget_delta=0.1) as ledger:
        asked = SMALL | {"epsilon": 2}
        data = Table(f"sqlite:///{tmp_path / 'visits.db'}", table="visits")
        top = top_items(data, ledger=ledger, **asked)
        assert (top.record.method, top.record.dbar, top.record.labels_epsilon) == ("exponential", 250, None)
        cost = Question(**asked).at_once.cost
        assert cost.rho <= ledger.total_spent().rho < cost.rho * (1 + Fraction(1, 10**9))


def test_a_preview_says_what_holds_and_no_more() -> None:
    shown = preview(count=300, epsilon=1, delta=1e-6, domain="observed", max_items_per_user=30, people=10**5)
    assert shown.statement == (
        "An item has an even chance to be kept at 254 people who have 30 items each, and where they have 3 at 81; "
        "none is certain to be left out, or kept. Of those that are kept 300 are then selected."
    )
    assert (shown.within, shown.needed_epsilon, shown.even_chance_most) == (None, None, 254)
    assert [row["method"] for row in shown.alternatives if row["chosen"]] == []
    assert shown.cost == Question(count=300, **ASKED).cost
    with pytest.raises(ParameterError, match="within is promised by no epsilon: which labels"):
        preview(count=300, within=400, delta=1e-6, domain="observed", max_items_per_user=30)


def test_too_few_people_are_refused() -> None:
    question = Question(count=300, people=40, **ASKED)
    assert question.stages is not None
    with pytest.raises(ParameterError, match="epsilon must be larger for 40 people: an item that all 40 people have"):
        question.refuse_hopeless(None)
    assert replace(question, people=60).hopeless(None) is None


def test_sums_are_selected_at_once() -> None:
    rows = VISITS | {"amount": [1] * len(VISITS["page"])}
    asked = SMALL | {"value": "amount", "clip": (0, 1), "source": Seeded(1), "not_private": True}
    assert top_sums(table("duckdb", rows), **asked).record.labels_epsilon is None
