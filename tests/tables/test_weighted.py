"""Labels by weights: the guarantee on adversarial neighbours by exact laws, with traps, and the law of the draw."""

from __future__ import annotations

import itertools
import math
import sqlite3
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from tests.support.goodness import FALSE_ALARM, excess, law_p
from tests.tables.conftest import Maker, table

from sparsegate.errors import BudgetExceeded, ParameterError
from sparsegate.gates.gaussian import PARTS, gaussian_sigma
from sparsegate.ledger.ledger import Ledger
from sparsegate.noise import Seeded
from sparsegate.tables.counting import Named, Pick, weigh_items
from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.observed import MOST_PEOPLE, bar_at, reach
from sparsegate.tables.opening import Table
from sparsegate.tables.prepared import NamedCounts, Prepared, PreparedStages
from sparsegate.tables.preview import preview
from sparsegate.tables.question import Question
from sparsegate.tables.top import top_items
from sparsegate.tables.weighted import WeightBar, lowest_bar, pick_weighted, weight

ONE = 2**PARTS


def lowest(epsilon: str, delta: str, most: int) -> WeightBar:
    bar = lowest_bar(epsilon=Fraction(epsilon), delta=Fraction(delta), max_items_per_user=most)
    assert bar is not None
    return bar


def kept(bar: WeightBar, total: float) -> float:
    """The probability that a label of this weight, in parts, is kept."""
    return float(stats.norm.sf((bar.threshold - total) / bar.sigma))


def neighbours(
    bar: WeightBar, labels: int, new: int, others: float, weigh: Callable[[int], float] = weight
) -> tuple[dict[Hashable, float], dict[Hashable, float]]:
    """The laws without and with a person who has so many labels, of which ``new`` are nobody else's.

    All that others have, too, have the weight ``others`` without this person: of these only how many are kept matters.
    Which new labels are kept does not matter either, beyond whether one is: without the person none ever is.
    """
    shared = labels - new
    none_new = (1 - kept(bar, weigh(labels))) ** new
    without = dict(enumerate(stats.binom.pmf(range(shared + 1), shared, kept(bar, others))))
    beside = stats.binom.pmf(range(shared + 1), shared, kept(bar, others + weigh(labels)))
    return without, {**{n: none_new * p for n, p in enumerate(beside)}, "new": 1 - none_new}


def worst(bar: WeightBar, epsilon: float, most: int, weigh: Callable[[int], float] = weight) -> float:
    """The largest delta over persons with 1 to m labels, of which some, all or none are new, whatever others have."""
    found = 0.0
    for labels in sorted({1, 2, 3, most // 2, most - 1, most}):
        for new in sorted({0, 1, labels // 2, labels - 1, labels}):
            heights = [bar.threshold + x * bar.sigma / 2 for x in range(-8, 9)] if new < labels else [0.0]
            for height in heights:
                one, other = neighbours(bar, labels, new, height, weigh)
                found = max(found, excess(one, other, epsilon), excess(other, one, epsilon))
    return found


CASES = [("1", "1e-6", 100), ("1", "1e-2", 10), ("1/10", "1e-3", 30), ("3", "1/4", 4), ("1/2", "1/10", 1000)]


@pytest.mark.parametrize(("epsilon", "delta", "most"), CASES)
def test_a_person_with_any_number_of_labels_costs_epsilon_and_delta(epsilon: str, delta: str, most: int) -> None:
    bar = lowest(epsilon, delta, most)
    assert 0.3 * float(Fraction(delta)) < worst(bar, float(Fraction(epsilon)), most) <= float(Fraction(delta))


@pytest.mark.parametrize(("epsilon", "delta", "most"), CASES[:3])
def test_traps_are_flagged(epsilon: str, delta: str, most: int) -> None:
    """Weights of 1/w**(1/4); a threshold for one new label alone; and one without its half of delta."""
    e, d = float(Fraction(epsilon)), float(Fraction(delta))
    bar = lowest(epsilon, delta, most)
    assert worst(bar, e, most, lambda labels: ONE / labels**0.25) > d
    alone = lowest(epsilon, delta, 1)
    assert worst(WeightBar(**vars(bar) | {"threshold": alone.threshold}), e, most) > d
    assert worst(WeightBar(**vars(bar) | {"threshold": bar.threshold - bar.sigma // 2}), e, most) > d


@pytest.mark.parametrize(("epsilon", "delta", "most"), CASES)
def test_every_number_of_new_labels_keeps_half_of_delta(epsilon: str, delta: str, most: int) -> None:
    bar, half = lowest(epsilon, delta, most), float(Fraction(delta)) / 2
    chances = [new * kept(bar, weight(new)) for new in range(1, most + 1)]
    assert 0.97 * half < max(chances) <= half


def test_noise_and_threshold_have_half_of_delta_each() -> None:
    bar, sigma = lowest("1", "1e-6", 100), gaussian_sigma(epsilon=Fraction(1), delta=Fraction(1, 2 * 10**6))
    assert Fraction(bar.sigma, ONE) == sigma
    assert bar.rho == 1 / (2 * sigma**2)


def test_weights_are_rounded_down_and_their_norm_is_at_most_one() -> None:
    for labels in [*range(1, 2000), 10**6, 10**9]:
        assert labels * weight(labels) ** 2 <= 4**PARTS < labels * (weight(labels) + 1) ** 2


HISTOGRAM = {weight(4): 2, 8 * weight(4): 1, 9 * weight(3): 1, 30 * weight(4): 1}


def test_the_draw_follows_its_law_and_no_other() -> None:
    """All sets of kept labels, by enumeration; its twin has a sigma 20 % off. Fixed seed, false-alarm rate 1e-6."""
    bar, source = lowest("2", "1/10", 4), Seeded(3)
    members = [(total, rank) for total, labels in sorted(HISTOGRAM.items()) for rank in range(labels)]
    seen: Counter[Hashable] = Counter()
    for _ in range(4000):
        picks = set(pick_weighted(source, HISTOGRAM, bar))
        seen[tuple(member in picks for member in members)] += 1

    def law(bar: WeightBar) -> dict[Hashable, float]:
        coins = [kept(bar, total) for total, _ in members]
        return {
            held: math.prod(p if each else 1 - p for p, each in zip(coins, held, strict=True))
            for held in itertools.product((False, True), repeat=len(members))
        }

    assert law_p(seen, law(bar)) > FALSE_ALARM
    assert law_p(seen, law(WeightBar(**vars(bar) | {"sigma": bar.sigma * 5 // 4}))) < FALSE_ALARM


def test_partition_selection_is_taken_where_it_reaches_and_weights_below() -> None:
    options = {"epsilon": Fraction(1), "delta": Fraction(1, 10**6), "max_items_per_user": 10}
    assert [bar_at(above, **options).method for above in (75, 131, 132)] == [
        "weighted-gaussian",
        "weighted-gaussian",
        "partition-selection",
    ]
    raised = bar_at(100, **options)
    assert isinstance(raised, WeightBar)
    assert (raised.threshold, raised.sigma) == (100 * weight(10), lowest("1", "1e-6", 10).sigma)
    with pytest.raises(ParameterError, match="above must be at least 75 .* got 74; pass above=75"):
        bar_at(74, **options)
    assert kept(raised, 100 * weight(10)) >= 0.5 > kept(raised, 99 * weight(10))
    hundred = lowest("1", "1e-6", 100)  # the figures of the docs
    assert (reach(Fraction(1, 100), Fraction(1, 10**8)) or (0,))[0] == 1313
    assert (hundred.above, hundred.even_chance(10), hundred.even_chance(3)) == (252, 80, 44)


def test_the_highest_bar_fits_its_numbers_and_a_higher_one_is_refused_before_it_is_charged() -> None:
    terms: dict[str, Any] = {"epsilon": Fraction(1, 10**7), "delta": Fraction(1, 10**6), "max_items_per_user": 4}
    bar = bar_at(MOST_PEOPLE, **terms)
    assert isinstance(bar, WeightBar)
    assert bar.threshold + 20 * bar.sigma < 2**63
    assert pick_weighted(Seeded(1), {weight(4): 3}, bar) == []
    for above in (MOST_PEOPLE + 1, 10**400):
        with pytest.raises(ParameterError, match="above must be at most 274,877,906,944"):
            bar_at(above, **terms)


def test_a_person_with_more_labels_is_cut_and_weighs_as_one_with_as_many_as_count() -> None:
    rows = {"item": [*range(50), 3], "user": [1] * 50 + [2]}
    with open_engine(table("duckdb", rows)) as engine:
        counted = weigh_items(engine, engine.select({"item": "item", "user": "user"}), 5)
        totals = {item: (score, people) for item, score, people in engine.rows(counted.counts)}
    alone = totals.pop(3)
    assert alone in ((ONE, 1), (ONE + weight(5), 2))
    assert len(totals) == 5 - (alone[1] - 1)
    assert set(totals.values()) == {(weight(5), 1)}


FOUR = 4
EPSILON, DELTA = Fraction(2), Fraction(1, 10**5)
OF: dict[str, Any] = {"item": "page", "user": "visitor", "max_items_per_user": FOUR}

Labels = Mapping[str, tuple[int, int]]
"""The weight and the people of each label."""


def stages(count: int, share: Fraction = Fraction(1, 2), **options: Any) -> tuple[Question, Question]:
    """Both stages at these shares of epsilon, the second by the exponential mechanism; all of delta is the first's."""
    bar = lowest_bar(epsilon=EPSILON / 2, delta=DELTA, max_items_per_user=FOUR)
    assert bar is not None
    first = Question(**OF, above=bar.above, epsilon=EPSILON / 2, delta=DELTA, domain="observed")
    return first, Question(**OF, count=count, epsilon=EPSILON * share, domain=count, method="exponential", **options)


def law_of_both(labels: Labels, bar: WeightBar, rate: float, count: int) -> dict[Hashable, float]:
    """Of what is found, as a set, and of what is selected of it, in order: by enumeration."""
    law_of_both: dict[Hashable, float] = {}
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
                law_of_both[found, chosen] = law_of_both.get((found, chosen), 0.0) + p
    return law_of_both


def neighbours_of_both(bar: WeightBar) -> Iterator[tuple[Labels, Labels]]:
    """Without and with a person who has up to four labels: one that may be kept, one that surely is, and new ones."""
    for people, more in itertools.product(range(2, 2 * bar.above, 4), (0, 2, 5)):
        # All who have b have nothing else.
        without = {"a": (people * weight(FOUR), people), "b": (bar.threshold + 9 * bar.sigma, people + more)}
        for own in ("a", "ab", "an", "abno", "n", "no"):
            add = weight(len(own))
            both = without | {name: (0, 0) for name in own if name in "no"}
            beside = {name: (t + add, p + 1) if name in own else (t, p) for name, (t, p) in both.items()}
            yield without, beside


def worst_of_both(bar: WeightBar, rate: float, count: int) -> float:
    """The largest delta that is needed beside epsilon."""
    deltas = [0.0]
    for without, beside in neighbours_of_both(bar):
        one, other = law_of_both(without, bar, rate, count), law_of_both(beside, bar, rate, count)
        deltas += [excess(one, other, float(EPSILON)), excess(other, one, float(EPSILON))]
    return max(deltas)


def bar_of(first: Question) -> WeightBar:
    assert isinstance(first.bar, WeightBar)
    return first.bar


@pytest.mark.parametrize("count", [1, 2])
def test_both_stages_together_cost_epsilon_and_delta(count: int) -> None:
    """Also if what was found is seen. Traps: either stage, or a round of the second, at all of epsilon."""
    bar, rate = bar_of(stages(count)[0]), float(EPSILON / 2 / count)
    assert 0.3 * float(DELTA) < worst_of_both(bar, rate, count) <= float(DELTA)
    assert worst_of_both(bar, 2 * count * rate, count) > 100 * float(DELTA)
    whole = lowest_bar(epsilon=EPSILON, delta=DELTA, max_items_per_user=FOUR)
    assert whole is not None
    assert worst_of_both(whole, rate, count) > 2 * float(DELTA)


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
def test_both_draws_follow_their_law_and_no_other(count: int) -> None:
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
        for (_, chosen), p in law_of_both(labels, bar, rate, count).items():  # type: ignore[misc]
            total[chosen] = total.get(chosen, 0.0) + p
        return total

    rate = float(EPSILON / 4)
    assert law_p(seen, released(rate)) > FALSE_ALARM
    assert law_p(seen, released(1.2 * rate)) < FALSE_ALARM


ASKED: dict[str, Any] = {**OF, "epsilon": 1, "delta": 1e-6, "domain": "observed", "max_items_per_user": 30}


def test_one_selection_is_made_where_that_was_asked_for_or_is_better() -> None:
    """For a count of 10 one selection reaches as low."""
    others: list[dict[str, Any]] = [{"max_items_per_user": 3}, {"count": 10}, {"dbar": 3000}, {"method": "exponential"}]
    others += [{"value": "amount", "clip": (0, 1)}, {"per": "country", "groups": ["DE", "FR"]}, {"domain": 1000}]
    for changes in others:
        question = Question(**{"count": 300, **ASKED, **changes})
        assert (question.stages, question.share.stages) == (None, None)


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
    paid = Question(count=100, answers_epsilon=1, **ASKED)
    assert (paid.cost.epsilon, paid.cost.delta) == (2, Fraction(1, 10**6))


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


def test_every_engine_gives_what_plain_python_gives(make: Maker) -> None:
    top = top_items(make(VISITS), source=Seeded(2), not_private=True, **SMALL)
    record, question = top.record, Question(**SMALL)
    assert question.stages is not None
    first, second = question.stages
    plain = PreparedStages(question, second, Prepared(None, first, None, Weighed(reference())))
    assert top.items == plain.draw(Seeded(2).stream(), record).items
    assert len(top.items) == SMALL["count"]
    bar = bar_of(first)
    assert (record.labels_epsilon, record.labels_delta) == (10, first.delta)
    assert (record.weight, record.weight_noise) == (bar.threshold / 2**24, bar.sigma / 2**24)
    assert (record.epsilon, record.within, record.dbar, record.accounting) == (20, None, None, None)
    assert record.published()["labels_epsilon"] == "10"
    nothing = top_items(make({"page": ["a"], "visitor": [1]}), source=Seeded(1), not_private=True, **SMALL)
    assert (nothing.items, nothing.estimates in (None, ())) == ((), True)


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
