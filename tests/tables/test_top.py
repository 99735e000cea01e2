"""top_items: the same release from every engine, a record of public numbers, and one charge before the draw."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dp_accounting import dp_event as events
from numpy.typing import NDArray
from tests.support import table_reference as reference
from tests.support.accounts import Noted
from tests.support.goodness import FALSE_ALARM, excess, law_p
from tests.support.release_laws import law
from tests.support.selection_laws import peeled
from tests.support.table_reference import Row
from tests.support.table_releases import prepared
from tests.support.untouchable import Untouchable
from tests.tables.conftest import Maker, table

from sparsegate.budget import exact_epsilon
from sparsegate.errors import BudgetExceeded, ConditionError, ParameterError, SparsegateError
from sparsegate.gates.laplace import error_bar
from sparsegate.noise import Seeded
from sparsegate.selection.select import Request
from sparsegate.tables import observed as partition_selection
from sparsegate.tables import question
from sparsegate.tables.answers import AnswerNoise
from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.observed import best_accounting
from sparsegate.tables.prepared import Prepared
from sparsegate.tables.top import top_items


def visits() -> list[tuple[Any, Any]]:
    """A table with many users on few pages, few on many, repeated rows, pages outside of the domain, and nulls."""
    rows = []
    for user in range(60):
        for page in range(1 + 40 // (1 + user % 20)):
            rows += [(f"p{page:02}", user)] * (1 + (user + page) % 2)
    rows += [("elsewhere", user) for user in range(50)]
    return [*rows, (None, 7), ("p30", None), (None, None)]


ROWS = visits()
DOMAIN = [f"p{page:02}" for page in range(60)]


def columns(rows: list[tuple[Any, Any]]) -> dict[str, list[Any]]:
    return {"page": [page for page, _ in rows], "visitor": [user for _, user in rows]}


def top(native: Any, **changes: Any) -> Any:
    asked = {"item": "page", "user": "visitor", "count": 8, "epsilon": 1, "domain": DOMAIN}
    return top_items(native, **asked | {"source": Seeded(5), "not_private": True} | changes)


def expected(*, most: int | None = None, **request: Any) -> tuple[Hashable, ...]:
    scored = reference.scores(ROWS, DOMAIN, most=most)
    parameters = {"count": 8, "epsilon": 1, "sensitivity": 1, "monotonic": True, "max_items_per_user": most} | request
    return reference.select(scored, Request(**parameters), Seeded(5).stream())


@pytest.mark.parametrize(
    ("options", "request_options"),
    [({"epsilon": 0.001}, {"epsilon": 0.001}), ({"max_items_per_user": 3}, {"most": 3})],
    ids=["mostly-without-rows", "cut"],
)
def test_every_engine_gives_the_release_that_plain_python_gives(
    make: Maker, options: dict[str, Any], request_options: dict[str, Any]
) -> None:
    assert top(make(columns(ROWS)), **options).items == expected(**request_options)


def test_a_set_is_shown_by_label_or_by_noisy_counts_that_were_paid_for() -> None:
    """Of a histogram the subset comes out by score, which nobody may see."""
    rows = [(page, user) for page, users in (("b", 900), ("c", 800), ("a", 700), ("d", 3)) for user in range(users)]
    asked = {"domain": list("abcd"), "count": 3, "epsilon": 9, "method": "subset"}
    assert top(table("pyarrow", columns(rows)), **asked).items == ("a", "b", "c")
    paid = top(table("pyarrow", columns(rows)), **asked, answers_epsilon=9)
    assert (paid.items, [round(count, -2) for count in paid.estimates]) == (("b", "c", "a"), [900, 800, 700])


@pytest.mark.parametrize("options", [{}, {"domain": "observed", "delta": 1e-6}], ids=["public", "observed"])
def test_only_a_histogram_and_the_chosen_items_leave_the_engine(
    make: Maker, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    native = make(columns(ROWS))
    kind = type(open_engine(native))
    seen: list[tuple[Any, ...]] = []
    rows = kind.rows

    def recorded(self: Any, frame: Any) -> list[tuple[Any, ...]]:
        out = rows(self, frame)
        seen.extend(out)
        return out

    monkeypatch.setattr(kind, "rows", recorded)
    release = top(native, epsilon=0.1, **options)
    labels = [value for row in seen for value in row if isinstance(value, str)]
    assert sorted(labels) == sorted(release.items)
    counts = Counter(reference.scores(ROWS, [*DOMAIN, "elsewhere"] if options else DOMAIN).values())
    histogram = {(score, items) for score, items in counts.items() if score > 0}
    sizes = {(len(DOMAIN), 0, 0)} if not options else set()  # of public labels: all, padded ones, those with ".0"
    assert {row for row in seen if not any(isinstance(value, str) for value in row)} == histogram | sizes


def test_rows_are_people_where_the_caller_says_so() -> None:
    pages = table("duckdb", {"page": ["/home"] * 400 + ["/docs"] * 200 + [None] * 300})
    asked = {"user": None, "unit": "row", "count": 2, "domain": ["/home", "/docs", "/none"]}
    release = top(pages, **asked, epsilon=1, answers_epsilon=1)
    assert release.items == ("/home", "/docs")
    assert all(abs(seen - true) < 20 for seen, true in zip(release.estimates, (400, 200), strict=True))
    assert release.record.unit == "row"
    # One noise of scale 1 / (epsilon + eps3), and a bar for two selected of three: no noise of its own for the counts.
    assert release.record.answers_epsilon == 0
    assert release.record.epsilon == 2
    assert release.error_bar == error_bar(Fraction(1, 2), 0.95, share=4 / 5) == 1
    assert release.error_bar_all == error_bar(Fraction(1, 2), 0.95, share=2 / 5) == 2


@pytest.mark.parametrize("options", [{}, {"domain": "observed", "delta": 1e-6}], ids=["public", "observed"])
def test_the_record_holds_public_parameters_alone(options: dict[str, Any]) -> None:
    one = top(table("pyarrow", columns(ROWS)), answers_epsilon=0.25, **options)
    other = top(table("pyarrow", columns(ROWS[:5])), answers_epsilon=0.25, **options)
    assert one.record == other.record
    assert json.loads(json.dumps(one.record.published()))["epsilon"] == "1.25"
    assert (one.record.epsilon, one.record.private, one.record.count) == (Fraction(5, 4), False, 8)
    nobody = top(table("pyarrow", {"page": ["x"], "visitor": [None]}), answers_epsilon=0.25, **options)
    assert nobody.record == one.record
    assert len(nobody.items) == (0 if options else 8), "scores of zero are scores"


def test_the_ledger_is_charged_after_the_checks_and_before_the_draw() -> None:
    refusing, account = Noted(refuses=BudgetExceeded("too much")), Noted()
    with pytest.raises(BudgetExceeded):
        top(table("pyarrow", columns(ROWS)), ledger=refusing, source=Untouchable(1))
    with pytest.raises(SparsegateError):
        top(table("pyarrow", columns(ROWS)), ledger=account, user="visitors")
    assert account.charged == []
    release = top(table("pyarrow", columns(ROWS)), ledger=account)
    what = "top 8 of page, unit user, method subset, domain public"
    assert account.charged == [(release.record.epsilon, release.record.delta, what)]
    assert account.kept == [{"release": "top_items", **release.to_dict()}]
    assert refusing.kept == []


# At epsilon 40 a wrong selection, or a count 2 off, has a probability below e**-30.
SURE: dict[str, Any] = {"count": 2, "epsilon": 40, "answers_epsilon": 40, "domain": ["/home", "/pay", "/old"]}
VISITS = {
    "page": ["/home"] * 60 + ["/pay"] * 40 + ["/old"] * 90,
    "visitor": list(range(190)),
    "country": (["DE"] * 50 + [None] * 10) + (["DE"] * 10 + ["FR"] * 30) + ["de"] * 90,
}


@pytest.mark.parametrize(
    ("where", "items", "counts"),
    [
        (None, {"/old", "/home"}, {90, 60}),
        ("COUNTRY IS NULL OR country = 'FR'", {"/home", "/pay"}, {10, 30}),
        ("country IN ('DE', 'FR') AND NOT visitor < 60", {"/pay"}, {40}),
    ],
)
def test_only_rows_that_meet_the_condition_count_and_the_record_has_it(
    where: str | None, items: set[str], counts: set[int]
) -> None:
    account = Noted()
    found = top(table("polars", VISITS), **SURE, where=where, ledger=account)
    assert items <= set(found.items)
    assert all(min(abs(count - other) for other in counts | {0}) <= 2 for count in found.estimates)
    assert found.record.published().get("where") == where
    assert where is None or account.charged[0][2].endswith(f"where {where}")
    with pytest.raises(ConditionError):
        top(table("polars", VISITS), **SURE, where=f"contry = {where}", ledger=Noted(refuses=AssertionError("charged")))


def test_a_release_is_an_event_of_dp_accounting() -> None:
    rows = table("duckdb", columns([("a", 1), ("b", 2), ("a", 3)]))
    asked: dict[str, Any] = {"count": 2, "domain": ["a", "b", "c"], "method": "exponential"}
    assert top(rows, **asked).dp_event() == events.ZCDpEvent(rho=pytest.approx(1 / 16))
    selected, answers = top(rows, **asked, answers_epsilon=0.5).dp_event("pld").events
    assert selected == events.LaplaceDpEvent(pytest.approx(1))
    assert answers == events.DiscreteLaplaceDpEvent(noise_parameter=pytest.approx(0.5), sensitivity=1)
    with pytest.raises(ParameterError) as refused:
        top(rows, domain="observed", delta=1e-6).dp_event()
    assert refused.value.parameter == "release"


def worst_excess(rows: list[Row], has: Iterable[str], domain: Any, *, at: float, **options: Any) -> float:
    """The larger delta of both directions, with and without one person who has these items, at epsilon = ``at``."""
    person = [(item, "new") for item in has]
    one, other = (law(prepared(table, domain, **options)) for table in (rows, [*rows, *person]))
    return max(excess(one, other, at), excess(other, one, at))


def crowd(counts: Mapping[str, int]) -> list[Row]:
    return [(label, f"{label}{number}") for label, count in counts.items() for number in range(count)]


RATE, DELTA = 4.7, 0.01
ONE_ITEM = {"max_items_per_user": 1}
TIED = crowd(dict.fromkeys("abcdefgh", 2))


@pytest.mark.parametrize(
    ("has", "options"),
    [
        ("efgh", {}),
        ("h", {"max_items_per_user": 1}),
        ("abcdefgh", {"max_items_per_user": 3}),
        ("efgh", {"dbar": 2}),
    ],
)
@pytest.mark.parametrize("count", [1, 2])
def test_the_observed_domain_keeps_delta_for_a_person_with_many_items(
    has: str, options: dict[str, Any], count: int
) -> None:
    given = {"count": count, "epsilon": RATE * count, "delta": DELTA, "dbar": 4} | options
    assert 0 < worst_excess(TIED, has, "observed", at=RATE * count, **given) <= DELTA


@pytest.mark.parametrize("has", ["h", "efgh"])
def test_the_observed_domain_keeps_delta_by_the_bounded_range_accounting(has: str) -> None:
    given = {"count": 3, "epsilon": Fraction(1, 20), "delta": Fraction(1, 5), "dbar": 4}
    assert prepared(TIED, "observed", **given).record(private=False).accounting == "bounded-range"
    assert 0 < worst_excess(TIED, has, "observed", at=0.05, **given) <= 0.2


def test_a_bar_for_one_item_breaks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same check sees what a person with four items does to a bar that is meant for persons with one."""
    monkeypatch.setattr(question, "best_accounting", lambda **given: best_accounting(**given | ONE_ITEM))
    given = {"count": 1, "epsilon": RATE, "delta": DELTA, "dbar": 4}
    assert worst_excess(TIED, "efgh", "observed", at=RATE, **given) > 2 * DELTA


@pytest.mark.parametrize("options", [{}, {"max_items_per_user": 2}])
def test_a_public_domain_needs_no_delta_and_uses_its_epsilon(options: dict[str, Any]) -> None:
    given = {"count": 2, "epsilon": 2, **options}
    assert worst_excess(TIED, "hi", list("abcdefghi"), at=2, **given) < 1e-12
    assert worst_excess(TIED, "hi", list("abcdefghi"), at=0.5, **given) > 1e-4


@pytest.mark.parametrize(("has", "most", "above"), [("h", 1, 3), ("efgh", 4, 9), ("abcdefgh", 2, 4)])
def test_all_above_a_bar_keep_delta_for_a_person_with_many_items(has: str, most: int, above: int) -> None:
    """Each label has a coin of its own, so the law over all sets is a product; here over what the person can move."""
    given = {"count": None, "above": above, "epsilon": 3, "delta": DELTA, "max_items_per_user": most}
    kept = [coins(TIED + person, **given) for person in ([], [(item, "new") for item in has])]
    one, other = (
        {
            held: math.prod(coin.get(label, 0) if label in held else 1 - coin.get(label, 0) for label in "abcdefgh")
            for size in range(9)
            for held in itertools.combinations("abcdefgh", size)
        }
        for coin in kept
    )
    assert 0 < max(excess(one, other, 3), excess(other, one, 3)) <= DELTA


def coins(rows: list[Row], **options: Any) -> dict[str, float]:
    """The probability with which each label is kept: what production hands to its coin, label by label."""
    release = prepared(rows, "observed", **options)
    tossed: dict[str, float] = {}

    def toss(source: object, chance: Fraction, size: int) -> NDArray[np.bool_]:
        chances.append(chance)
        return np.ones(size, dtype=np.bool_)

    chances: list[Fraction] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition_selection, "bernoulli", toss)
        picks = release.select(Seeded(1))[0]
    of = dict(zip(sorted({people for people, _ in picks}), chances, strict=True))
    for (people, _), (label, _) in zip(picks, release.name(picks), strict=True):
        tossed[label] = float(of[people])
    return tossed


@pytest.mark.parametrize(("most", "moved"), [(None, 8), (3, 3)])
def test_the_noise_of_the_answers_covers_exactly_what_one_person_can_move(
    most: int | None, moved: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scales: list[Fraction] = []

    def spy(noise: AnswerNoise, source: object, counts: list[int]) -> tuple[int, ...]:
        scales.append(noise.scale)
        return tuple(counts)

    def counted(rows: list[Row]) -> int:
        asked = {"count": 8, "epsilon": 1, "answers_epsilon": Fraction(1, 2), "max_items_per_user": most}
        release = prepared(rows, list("abcdefgh"), **asked)
        release.draw(Seeded(1), release.record(private=False))
        return sum(score * items for score, items in release._counted.histogram.items())

    monkeypatch.setattr(AnswerNoise, "noisy", spy)
    assert counted([*TIED, *((item, "new") for item in "abcdefgh")]) - counted(TIED) == moved
    assert scales == [2 * moved] * 2


# Exactly the law that a release claims: tiny tables, selection probabilities by hand, counting and naming included

DRAWS = 1_000


def observed_law(release: Prepared, seed: int) -> Counter[Hashable]:
    source = Seeded(seed)
    drawn = [tuple(release.select(source)[0]) for _ in range(DRAWS)]
    picked = sorted(set(itertools.chain(*drawn)))
    names = dict(zip(picked, (label for label, _ in release.name(picked)), strict=True))
    return Counter(tuple(names[pick] for pick in picks) for picks in drawn)


TINY = [("a", 1), ("a", 2), ("a", 2), ("a", 3), ("b", 3), ("z", 3), ("z", 4)]


def claimed_law(scores: dict[Hashable, int], count: int, epsilon: float) -> dict[Hashable, float]:
    """Two rounds of the exponential mechanism at epsilon / count each, by hand."""
    labels = list(scores)
    by_number = peeled([math.exp(epsilon / count * score) for score in scores.values()], count)
    return {tuple(labels[n] for n in order): probability for order, probability in by_number.items()}


@pytest.mark.parametrize(
    ("rows", "domain", "scores"),
    [
        (TINY, ["a", "b", "c", "d"], {"a": 3, "b": 1, "c": 0, "d": 0}),
        ([(2, 1), (2, 2), (4, 1), (9, 1)], 5, {0: 0, 1: 0, 2: 2, 3: 0, 4: 1}),
    ],
    ids=["listed", "sized"],
)
def test_the_selection_follows_its_law_and_no_other(
    rows: list[tuple[Any, Any]], domain: Any, scores: dict[Hashable, int]
) -> None:
    release = prepared(rows, domain, count=2, epsilon=exact_epsilon(2.5))
    seen = observed_law(release, seed=11)
    assert law_p(seen, claimed_law(scores, 2, 2.5)) > FALSE_ALARM
    assert law_p(seen, claimed_law(scores, 2, 2.5 * 1.2)) < FALSE_ALARM


def test_without_a_domain_it_follows_its_law_and_no_other() -> None:
    """By hand: of a, b, c and d with 4, 2, 1 and 1 users, and dbar = 3, d comes after c by label and takes no part.

    Bottom is 1 + 1 + ceil(ln(1 / 0.4) / 1.25) = 3, the third user's one item being the most that a person has.
    """
    rows = [*(("a", user) for user in range(4)), ("b", 4), ("b", 5), ("d", 6), ("c", 7)]
    asked = {"count": 2, "epsilon": exact_epsilon(2.5), "delta": Fraction(2, 5), "dbar": 3, "max_items_per_user": 1}
    seen = observed_law(prepared(rows, "observed", **asked), seed=12)
    for epsilon, bottom, right in ((2.5, 3, True), (3, 3, False), (2.5, 4, False)):
        claimed: Counter[Hashable] = Counter()
        for names, probability in claimed_law({"a": 4, "b": 2, "c": 1, None: bottom}, 2, epsilon).items():
            claimed[tuple(itertools.takewhile(bool, names))] += probability  # type: ignore[call-overload]
        assert (law_p(seen, claimed) > FALSE_ALARM) == right
