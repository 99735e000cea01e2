"""A clip or a bound that is chosen from the data: the exact law of the choice and of what follows, and one charge."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.accounts import Noted
from tests.support.goodness import discrete_laplace_mass, excess
from tests.support.release_laws import law
from tests.support.table_releases import prepared, prepared_choice
from tests.tables.conftest import Maker, table

from sparsegate.errors import BudgetExceeded, ParameterError, TableError
from sparsegate.ledger.ledger import Ledger
from sparsegate.noise import Seeded
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import Request
from sparsegate.tables import choosing
from sparsegate.tables import prepared as drawing
from sparsegate.tables.choosing import (
    BOUNDS,
    CLIPS,
    STEP,
    choose_bound,
    choose_clip,
    clip_people,
    largest_worths,
    numbers_of_items,
    subset_bars,
    subset_margin,
    subset_works,
)
from sparsegate.tables.columns import read_columns
from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.preview import preview
from sparsegate.tables.question import Question
from sparsegate.tables.sums import as_values
from sparsegate.tables.top import items_above, top_items, top_sums

EPSILON = Fraction(1, 2)
CANDIDATES = (1, 2, 3, None)
Choose = Callable[[Mapping[int, int]], Any]


def weights(monkeypatch: pytest.MonkeyPatch, choose: Callable[[], Any]) -> list[float]:
    """The exact probability of every candidate, from what production hands over to be drawn from."""
    seen: list[tuple[Scores, Request]] = []
    real = Request.pick

    def pick(request: Request, scores: Scores, *rest: Any) -> Any:
        seen.append((scores, request))
        return real(request, scores, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Request, "pick", pick)
        choose()
    ((scores, request),) = seen
    rate = Fraction(request.epsilon) / Fraction(request.sensitivity) / (1 if request.monotonic else 2)
    heights = [float(rate * (score - int(scores.values.max()))) for score in scores.values.tolist()]
    total = sum(map(math.exp, heights))
    return [math.exp(height) / total for height in heights]


def worst_loss(
    monkeypatch: pytest.MonkeyPatch, tables: list[dict[int, int]], newcomers: list[int], of: Choose
) -> float:
    """The largest log-ratio for any table with one person more, in both directions."""
    losses = []
    for sizes, newcomer in product(tables, newcomers):
        more = {**sizes, newcomer: sizes.get(newcomer, 0) + 1}
        one, other = (weights(monkeypatch, lambda table=each: of(table)) for each in (sizes, more))  # type: ignore[misc]
        losses += [abs(math.log(p / q)) for p, q in zip(one, other, strict=True)]
    return max(losses)


SIZED = [{1: a, 2: b, 9: c} for a, b, c in ((0, 0, 0), (3, 1, 0), (0, 0, 8), (90, 30, 40), (30, 90, 40), (50, 30, 20))]
WORTH = [{40: a, 41: b, 60: c} for a, b, c in ((0, 0, 0), (3, 1, 0), (0, 0, 8), (90, 30, 40), (30, 90, 40))]


def test_the_choice_of_a_bound_costs_its_epsilon_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of a clip; the twin has the sensitivity of a count."""
    newcomers = [1, 2, 9, 10**4]
    loss = worst_loss(monkeypatch, SIZED, newcomers, lambda n: choose_bound(Seeded(1), n, CANDIDATES, EPSILON))
    assert 0.9 * EPSILON < loss <= EPSILON * (1 + 1e-12)
    worths = [0, 40, 50, len(CLIPS)]
    loss = worst_loss(monkeypatch, WORTH, worths, lambda n: choose_clip(Seeded(1), n, EPSILON))
    assert 0.9 * EPSILON < loss <= EPSILON * (1 + 1e-12)
    monkeypatch.setattr(choosing, "max", min, raising=False)
    loss = worst_loss(monkeypatch, SIZED, newcomers, lambda n: choose_bound(Seeded(1), n, CANDIDATES, EPSILON))
    assert loss > 1.5 * EPSILON


PEOPLE = [("a", "p", 2.0), ("b", "p", 9.0), ("a", "q", 3.0), ("c", "r", 0.5), ("b", "s", 2.0), ("a", "t", 2.5)]
NEWCOMER = [(item, "new", 1.5) for item in "abcd"]
ASKED = {"count": 2, "epsilon": 2, "choice_epsilon": 0.7}


def law_of_choice(monkeypatch: pytest.MonkeyPatch, rows: list[Any], options: dict[str, Any]) -> dict[Hashable, float]:
    """The exact law of (what was chosen, what was released), from the rows to the names."""
    ready = prepared_choice(rows, list("abcde"), **options)
    question, people = ready._question, ready._people
    share = question.choice_share
    chances: dict[str, dict[Any, float]] = {"bound": {None: 1.0}, "clip": {None: 1.0}}
    if "max_items_per_user" in people:
        sizes, bounds = people["max_items_per_user"], tuple(each.max_items_per_user for each in question.possible)
        of_bounds = weights(monkeypatch, lambda: choose_bound(Seeded(1), sizes, bounds, share))
        chances["bound"] = dict(zip(bounds, of_bounds, strict=True))
    if "clip" in people:
        of_clips = weights(monkeypatch, lambda: choose_clip(Seeded(1), people["clip"], share))
        chances["clip"] = dict(zip(choosing.CLIPS, of_clips, strict=True))
    together: dict[Hashable, float] = defaultdict(float)
    for (bound, one), (clip, other) in product(chances["bound"].items(), chances["clip"].items()):
        settled = question.settled(bound, clip)
        names = ("value", "clip", "granularity", "max_items_per_user", "epsilon", "count", "method")
        after = prepared(rows, list("abcde"), **{name: getattr(settled, name) for name in names})
        for items, chance in law(after).items():
            together[bound, clip, items] += one * other * chance
    return together


@pytest.mark.parametrize("chosen", [{"max_items_per_user": "auto"}, {"value": "amount", "clip": "auto"}], ids=str)
def test_a_choice_and_what_follows_cost_epsilon_together(
    monkeypatch: pytest.MonkeyPatch, chosen: dict[str, Any]
) -> None:
    few = tuple(map(Fraction, (1, 2, 8)))
    monkeypatch.setattr(choosing, "CLIPS", few)
    options = {**ASKED, "method": "exponential", **chosen}
    cut = 3 if "value" in chosen else 2
    laws = [law_of_choice(monkeypatch, [row[:cut] for row in rows], options) for rows in (PEOPLE, PEOPLE + NEWCOMER)]
    assert sum(laws[0].values()) == pytest.approx(1)
    assert max(excess(*laws, 2), excess(*laws[::-1], 2)) < 1e-12
    assert max(excess(*laws, 0.5), excess(*laws[::-1], 0.5)) > 1e-3


def test_a_release_that_spends_the_epsilon_of_the_choice_again_would_break_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours for whom the choice, and then the release, lose nearly all they can."""
    options = {"count": 3, "epsilon": 0.8, "choice_epsilon": 0.6, "method": "exponential", "max_items_per_user": "auto"}
    rows = [("e", f"p{n}") for n in range(50)] + [(item, f"q{n}") for n in range(30) for item in "ea"]
    rows += [(item, f"r{n}") for n in range(20) for item in "eabc"]
    newcomer = [(item, "new") for item in "bcde"]  # of which "e" is kept, by its hash, where one is

    def worst() -> float:
        one, other = (law_of_choice(monkeypatch, each, options) for each in (rows, rows + newcomer))
        return max(abs(math.log(one[key] / other[key])) for key in one)

    assert 0.5 < worst() < 0.8 + 1e-9
    real = Question.settled
    monkeypatch.setattr(Question, "settled", lambda self, *chosen: replace(real(self, *chosen), epsilon=self.epsilon))
    assert worst() > 0.85


@given(st.lists(st.frozensets(st.integers(0, 7)), max_size=30), st.frozensets(st.integers(0, 7)), st.integers(1, 6))
def test_one_person_raises_what_is_looked_at_by_one_at_most(
    people: list[frozenset[int]], newcomer: frozenset[int], count: int
) -> None:
    bars = subset_bars(total=20, count=count, epsilon=Fraction(1, 3))
    one, other = (
        subset_margin(Counter(Counter(item for items in table for item in items).values()), bars)
        for table in (people, [*people, newcomer])
    )
    assert 0 <= other - one <= 1


def test_a_look_costs_its_epsilon_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its exact law, from the noise that production asks for, for two margins that one person sets apart."""
    scales = []
    monkeypatch.setattr(choosing, "discrete_laplace", lambda _, scale, count: scales.append(scale) or [0])
    assert [subset_works(Seeded(1), margin, EPSILON) for margin in (3, 4)] == [False, True]
    mass = discrete_laplace_mass(float(scales[0]), range(-200, 201))
    chances = [sum(p for noise, p in mass.items() if margin + noise >= 4) for margin in range(-20, 21)]
    losses = [math.log(b / a) for a, b in pairwise(chances)] + [
        math.log((1 - a) / (1 - b)) for a, b in pairwise(chances)
    ]
    assert 0.99 * EPSILON < max(losses) <= EPSILON * (1 + 1e-9)


def test_a_look_leaves_a_set_uncut_where_it_is_found_and_cuts_elsewhere() -> None:
    """Ten items of 4,000 people each among a thousand: g is 4,000 less about 1,100, or less about 13,000; noise 200."""
    rows = [(f"i{item:03}", n) for n in range(4000) for item in range(10)]
    native = table("pandas", {"item": [item for item, _ in rows], "user": [n for _, n in rows]})
    domain = [f"i{n:03}" for n in range(1000)]
    asked = TABLE | {"count": 10, "domain": domain, "max_items_per_user": "auto"}
    found, lost = (top_items(native, **asked | {"epsilon": epsilon}).record for epsilon in (0.1, 0.01))
    assert (found.method, found.max_items_per_user) == ("subset", None)
    assert lost.method == "noisy-scores"
    assert lost.max_items_per_user in BOUNDS
    assert found.choice_epsilon == Fraction(1, 100)


def by_hand(rows: list[tuple[Any, Any, float]], domain: list[str]) -> tuple[Counter[int], Counter[int]]:
    """How many people have so many items, and are above so many of the clips, by plain Python."""
    worths: dict[Any, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
    for item, user, value in rows:
        if item in domain and value == value:
            worths[user][item] += math.floor(min(max(value, -(2.0**40)), 2.0**40) * 2**22)
    clips = [int(clip * 2**22) for clip in CLIPS]
    sizes = Counter(len(items) for items in worths.values())
    above = Counter(sum(max(items.values()) > clip for clip in clips) for items in worths.values())
    return sizes, above


VALUES = [0.0, 1.0, 1.5, 2.0000001, -3.0, 1e-7, 1e-6, 123456.789, 1e14, 1e300, math.inf, -math.inf, math.nan]


def test_every_engine_gives_the_same_histograms(make: Maker) -> None:
    domain = ["i0", "i1"]
    rows = [(f"i{n % 4}", n % 11, value) for n, value in enumerate(VALUES * 6)]
    random.Random(1).shuffle(rows)
    native = make({name: [row[place] for row in rows] for place, name in enumerate(("item", "user", "amount"))})
    with open_engine(native) as engine:
        read, kind = read_columns(engine, "item", "user", "amount")
        read = as_values(read, "amount")
        public = drawing.public_domain(engine, domain, item="item", kind=kind)
        sizes, above = by_hand(rows, domain)
        assert numbers_of_items(engine, read, public) == sizes
        assert largest_worths(engine, read, public) == above


def visits(people: int = 3000) -> Any:
    """Everyone has i0, worth from 1 to 2 and once 5,000; one of four has ten more."""
    rows = [("i0", n, 1 + n / people) for n in range(people)] + [("i0", -1, 5000.0)]
    rows += [(f"i{1 + item}", n, 1.0) for n in range(0, people, 4) for item in range(10)]
    return table(
        "pandas", {name: [row[place] for row in rows] for place, name in enumerate(("item", "user", "amount"))}
    )


TABLE = {"item": "item", "user": "user", "epsilon": 4, "source": Seeded(3), "not_private": True}
DOMAIN = [f"i{n}" for n in range(20)]


def test_what_is_chosen_is_recorded_and_charged_once() -> None:
    """Chances of another choice: e**-(0.2 * 750 / 2) and less for the bound, e**-4 for each step of the clip."""
    ledger, both = Noted(), {"clip": "auto", "max_items_per_user": "auto"}
    record = top_sums(visits(), value="amount", **both, count=12, domain=DOMAIN, ledger=ledger, **TABLE).record
    assert (record.max_items_per_user or 0) in BOUNDS[:6]  # three of four have one item, all others eleven
    assert record.clip is not None
    assert 2 <= record.clip[1] <= 8
    ((epsilon, _, what),) = ledger.charged
    assert epsilon == record.epsilon == 4
    assert "max_items_per_user and clip chosen privately" in what
    kept = ledger.kept[0]["record"]
    assert (kept["choice_epsilon"], kept["chosen"]) == ("0.4", ["max_items_per_user", "clip"])
    told = preview(count=2, epsilon=4, answers_epsilon=1, clip="auto", value="amount", domain=20)
    assert (told.epsilon, told.cost.epsilon, told.choice_epsilon) == (5, 5, Fraction(2, 5))
    assert f"{clip_people(1000, Fraction(2, 5), 0.95):,} of at most 1,000" in told.statement


@pytest.mark.parametrize(("worth", "epsilon"), [(1, Fraction(1, 10)), (10**6, Fraction(1, 100))])
def test_so_many_people_keep_the_clip_from_collapsing_and_fewer_do_not(worth: int, epsilon: Fraction) -> None:
    """By the exact law of the choice: with 0.95, and a tenth fewer people are not enough."""

    def collapses(people: int) -> float:
        place = next(place for place, clip in enumerate(CLIPS) if clip >= worth)
        above = [people if i <= place else 0 for i in range(len(CLIPS))]
        weights = [math.exp(-epsilon * (count + i * STEP // epsilon)) for i, count in enumerate(above)]
        return sum(weights[: place + 1]) / sum(weights)

    needed = clip_people(worth, epsilon, 0.95)
    assert collapses(needed) <= 0.05 < collapses(9 * needed // 10)


def test_nothing_is_chosen_where_the_ledger_cannot_pay(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "choose_bound", lambda *_: pytest.fail("drawn before it was paid for"))
    with Ledger.create(tmp_path / "x.ledger", dataset="visits", budget=3.9) as ledger:
        with pytest.raises(BudgetExceeded):
            top_items(visits(20), count=5, domain=DOMAIN, max_items_per_user="auto", ledger=ledger, **TABLE)
        assert ledger.statement().spent.epsilon == 0


def test_a_count_that_fails_after_the_choice_counts_as_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("a cell")

    ledger = Noted()
    monkeypatch.setattr(drawing, "count_items", fails)
    with pytest.raises(TableError, match="the release counts as spent") as refused:
        top_items(visits(20), count=5, domain=DOMAIN, max_items_per_user="auto", ordered=True, ledger=ledger, **TABLE)
    assert "a cell" not in str(refused.value)
    assert len(ledger.charged) == 1


BOUND: dict[str, Any] = {"item": "x", "user": "u", "epsilon": 1, "max_items_per_user": "auto"}


@pytest.mark.parametrize(
    ("options", "looks"),
    [({}, True), ({"ordered": True}, False), ({"delta": 1e-6, "count": 50}, False), ({"method": "one-shot"}, False)],
)
def test_it_looks_only_where_auto_would_take_a_set(options: dict[str, Any], looks: bool) -> None:
    question = Question.asked(**BOUND | {"domain": 99, "count": 10} | options)
    assert question.looks == looks
    assert question.choice_share == Fraction(1, 20 if looks else 10)


def test_what_may_be_chosen_is_public_and_a_bound_that_would_not_help_is_none() -> None:
    asked = BOUND | {"domain": 99, "count": 10}
    question = Question.asked(**asked)
    assert [each.max_items_per_user for each in question.possible] == [1, 2, 3, 4, 6, None]
    assert {each.total for each in question.possible} == {Fraction(9, 10)}
    assert question.total == 1
    # A look is pure, at a twentieth; so is the choice, which is bounded-range.
    follows = max(each.cost.rho for each in question.possible)
    assert question.cost.rho == Fraction(1, 20) ** 2 * (Fraction(1, 8) + Fraction(1, 2)) + follows
    no_look = Question.asked(**asked | {"ordered": True})
    assert no_look.cost.rho == Fraction(1, 10) ** 2 / 8 + max(each.cost.rho for each in no_look.possible)
    above = Question.asked(**BOUND, domain="observed", above=60, delta=1e-6)
    assert [each.max_items_per_user for each in above.possible] == [*BOUNDS[:4]], "of others the bar is too high"


@pytest.mark.parametrize(
    ("parameter", "changes"),
    [
        ("choice_epsilon", {"max_items_per_user": None, "choice_epsilon": 0.1}),
        *(("choice_epsilon", {"choice_epsilon": bad}) for bad in (4, 1e-12, math.nan)),
        ("max_items_per_user", {"max_items_per_user": "Auto"}),
        ("max_items_per_user", {"count": 1}),
        ("max_items_per_user", {"user": None, "unit": "row"}),
        ("per", {"per": "item", "groups": "a"}),
        ("count", {"count": 21}),
        ("epsilon", {"epsilon": 0.001, "people": 9}),
        ("granularity", {"value": "amount", "clip": "auto", "granularity": 0.1}),
        ("threshold", {"value": "amount", "clip": "auto", "threshold": 5, "method": "sparse-vector"}),
        ("above", {"above": 3, "delta": 1e-6}),
    ],
    ids=str,
)
def test_what_is_refused_spends_nothing(parameter: str, changes: dict[str, Any]) -> None:
    ledger = Noted()
    asked = TABLE | {"count": 5, "domain": DOMAIN, "max_items_per_user": "auto"} | changes
    release: Any = top_sums if "clip" in changes else top_items
    if "above" in changes:
        release, asked = items_above, {name: asked[name] for name in asked if name not in ("count", "domain")}
    with pytest.raises(ParameterError) as refused:
        release(visits(20), ledger=ledger, **asked)
    assert refused.value.parameter == parameter
    assert ledger.charged == []
