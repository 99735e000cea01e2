"""Labels by weights: the guarantee on adversarial neighbours by exact laws, with traps, and the law of the draw."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

import pytest
from scipy import stats
from tests.support.goodness import FALSE_ALARM, excess, law_p
from tests.tables.conftest import Maker, table

from sparsegate.errors import BudgetExceeded, ParameterError
from sparsegate.gates.normal import PARTS, gaussian_sigma
from sparsegate.ledger.ledger import Ledger
from sparsegate.noise import Seeded
from sparsegate.tables.counting import weigh_items
from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.observed import MOST_PEOPLE, bar_at, reach
from sparsegate.tables.top import items_above
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


def test_half_of_the_time_at_the_bar() -> None:
    """The figures of the docs, at epsilon 1 and delta 1e-6: what it takes by weights, and by shares of epsilon."""
    figures = {}
    for most in (10, 100):
        bar = lowest("1", "1e-6", most)
        shares = reach(Fraction(1, most), Fraction(1, most * 10**6))
        assert shares is not None
        figures[most] = (shares[0], bar.above, bar.even_chance(10), bar.even_chance(3))
        assert kept(bar, bar.above * weight(most)) >= 0.5 > kept(bar, (bar.above - 1) * weight(most))
    assert figures == {10: (132, 75, 75, 41), 100: (1313, 252, 80, 44)}


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
    with pytest.raises(ParameterError, match="above must be at least 40 "):
        bar_at(39, **options | {"max_items_per_user": 3})


def test_the_highest_bar_fits_its_numbers_and_a_higher_one_is_refused_before_it_is_charged() -> None:
    terms: dict[str, Any] = {"epsilon": Fraction(1, 10**7), "delta": Fraction(1, 10**6), "max_items_per_user": 4}
    bar = bar_at(MOST_PEOPLE, **terms)
    assert isinstance(bar, WeightBar)
    assert bar.threshold + 20 * bar.sigma < 2**63
    assert pick_weighted(Seeded(1), {weight(4): 3}, bar) == []
    for above in (MOST_PEOPLE + 1, 10**400):
        with pytest.raises(ParameterError, match="above must be at most 274,877,906,944"):
            bar_at(above, **terms)


OPTIONS: dict[str, Any] = {"item": "page", "user": "visitor", "epsilon": 1, "delta": 1e-3, "not_private": True}


def visits() -> dict[str, list[Any]]:
    """Visitors of 1 to 9 pages; low numbers are pages of many."""
    rows = [(f"p{page:02}", visitor) for visitor in range(600) for page in range(visitor % 10) if (visitor + page) % 3]
    rows += [("only", 601)] * 3
    return {"page": [page for page, _ in rows], "visitor": [visitor for _, visitor in rows]}


MOST = 6


def reference(rows: dict[str, list[Any]]) -> dict[str, tuple[int, int]]:
    """The weight and the people of every page, of visitors who have no more than ``MOST``; by plain Python."""
    own: dict[int, set[str]] = {}
    for page, visitor in zip(*rows.values(), strict=True):
        own.setdefault(visitor, set()).add(page)
    totals: dict[str, tuple[int, int]] = {}
    for pages in own.values():
        assert len(pages) <= MOST
        for page in pages:
            total, people = totals.get(page, (0, 0))
            totals[page] = (total + weight(len(pages)), people + 1)
    return totals


def test_every_engine_gives_the_set_that_plain_python_gives(make: Maker) -> None:
    above = lowest("1", "1e-3", MOST).above
    asked = OPTIONS | {"above": above, "max_items_per_user": MOST, "answers_epsilon": 1000}
    release = items_above(make(visits()), source=Seeded(4), **asked)
    totals = reference(visits())
    groups: dict[int, list[str]] = {}
    for page in sorted(totals):
        groups.setdefault(totals[page][0], []).append(page)
    bar = lowest("1", "1e-3", MOST)
    picks = pick_weighted(Seeded(4).stream().stream(), {total: len(pages) for total, pages in groups.items()}, bar)
    expected = {groups[total][rank] for total, rank in picks}
    assert 3 < len(expected) < len(totals)
    assert dict(zip(release.items, release.estimates or (), strict=True)) == {p: totals[p][1] for p in expected}
    record = release.record
    assert (record.method, record.above, record.never_below) == ("weighted-gaussian", above, None)
    assert (record.weight, record.weight_noise) == (bar.threshold / ONE, bar.sigma / ONE)


def test_a_person_with_more_labels_is_cut_and_weighs_as_one_with_as_many_as_count() -> None:
    rows = {"item": [*range(50), 3], "user": [1] * 50 + [2]}
    with open_engine(table("duckdb", rows)) as engine:
        counted = weigh_items(engine, engine.select({"item": "item", "user": "user"}), 5)
        totals = {item: (score, people) for item, score, people in engine.rows(counted.counts)}
    alone = totals.pop(3)
    assert alone in ((ONE, 1), (ONE + weight(5), 2))
    assert len(totals) == 5 - (alone[1] - 1)
    assert set(totals.values()) == {(weight(5), 1)}


def test_a_group_has_its_share() -> None:
    rows = visits()
    groups = ["a", "b"]
    rows["group"] = [groups[visitor % 2] for visitor in rows["visitor"]]
    above = lowest("1", "1/2000", MOST).above
    asked = OPTIONS | {"above": above, "max_items_per_user": MOST, "epsilon": 2, "source": Seeded(1)}
    release = items_above(table("duckdb", rows), per="group", groups=groups, groups_per_user=2, **asked)
    share = bar_at(above, epsilon=Fraction(1), delta=Fraction(1, 2000), max_items_per_user=MOST)
    assert isinstance(share, WeightBar)
    assert {each.record.weight_noise for each in release.groups.values()} == {share.sigma / ONE}
    assert (release.record.epsilon, release.record.delta) == (2, Fraction(1, 1000))


@pytest.mark.parametrize("budget", [1, (1, 1e-6)], ids=["adding", "zcdp"])
def test_a_ledger_is_charged_what_is_proved(tmp_path: Any, budget: Any) -> None:
    """An adding one epsilon and delta; a zCDP ledger 1/(2 sigma**2) and half of delta."""
    deltas = {"budget_delta": 1e-2}
    bar = lowest("1", "1e-3", MOST)
    with Ledger.create(tmp_path / "x.ledger", dataset="visits", budget=budget, **deltas) as ledger:
        asked = OPTIONS | {"above": bar.above, "max_items_per_user": MOST, "ledger": ledger}
        if budget == 1:
            items_above(table("duckdb", visits()), **asked)
            assert (ledger.total_spent().epsilon, ledger.total_spent().delta) == (1, Fraction(1, 1000))
            with pytest.raises(BudgetExceeded):
                items_above(table("duckdb", visits()), **asked)
        else:
            with pytest.raises(BudgetExceeded):
                items_above(table("duckdb", visits()), **asked)
            asked |= {"epsilon": Fraction(1, 10), "above": lowest("1/10", "1e-3", MOST).above}
            items_above(table("duckdb", visits()), **asked)
            rho = lowest("1/10", "1e-3", MOST).rho
            spent = ledger.total_spent()
            assert spent.delta == Fraction(1, 2000)
            assert rho <= spent.rho < rho * (1 + Fraction(1, 10**9)) < Fraction(1, 10) ** 2 / 2
