"""Frequent sets of a table: what comes out, at which cost, from which tables, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.support.accounts import Noted
from tests.support.branches import Choose, largest_loss, law_of
from tests.support.release_laws import Drawn

import sparsegate as sg
from sparsegate.gates.laplace import error_bar
from sparsegate.noise import Source
from sparsegate.privacy.selections import subset_weights
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import Request
from sparsegate.tables.counting import noisy_counts
from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.observed import Accounting, best_accounting
from sparsegate.uses.itemsets import CountedBaskets, ItemsetQuestion, SetQuestion, draw_sets, frequent_itemsets

duckdb = pytest.importorskip("duckdb")

DOMAIN = ["a", "b", "c", "d", "e"]
BOUGHT = {"a": range(300), "b": range(280), "c": range(260), "d": range(400, 420), "z": range(900)}
"""a, b and c go together; d is rare, e nobody has, and z is no candidate."""
BEST = {("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")}
ASKED: dict[str, Any] = {"item": "product", "user": "customer", "count": 7, "epsilon": 20, "domain": DOMAIN}
SEEDED: dict[str, Any] = {"source": sg.Seeded(3), "not_private": True}


def rows(times: int = 2) -> list[tuple[str, int]]:
    """Each row several times: a person counts once."""
    return [(item, who) for item, people in BOUGHT.items() for who in people] * times


def pandas(times: int = 2) -> pd.DataFrame:
    return pd.DataFrame(rows(times), columns=["product", "customer"])


def polars(times: int = 2) -> pl.DataFrame:
    return pl.DataFrame(rows(times), schema=["product", "customer"], orient="row")


def relation() -> Any:
    return duckdb.from_arrow(polars().to_arrow())


@pytest.mark.parametrize(
    ("make", "how"),
    [(pandas, {}), (polars, {"pool": 4}), (relation, {"method": "levels"}), (lambda: polars().to_arrow(), {"pool": 3})],
    ids=["pandas-whole", "polars-items-first", "duckdb-levels", "pyarrow-items-first"],
)
def test_the_sets_that_most_people_have_come_out(make: Callable[[], Any], how: dict[str, Any]) -> None:
    found = sg.uses.frequent_itemsets(make(), **ASKED, **how)
    assert set(found.items) == BEST
    assert found.items[0] == ("a",)
    assert found.sizes == (1, 1, 1, 2, 2, 2, 3)
    assert (found.record.epsilon, found.record.delta, found.record.private) == (20, 0, True)
    assert sum(found.record.shares) == 20


def test_supports_count_each_person_once() -> None:
    found = frequent_itemsets(polars(times=3), **ASKED | {"count": 3}, answers_epsilon=2000, smallest=2, size=2, pool=3)
    estimates = dict(zip(found.items, found.estimates or (), strict=True))
    wanted = {("a", "b"): 280, ("a", "c"): 260, ("b", "c"): 260}
    assert {pair: estimates[pair] for pair in wanted} == pytest.approx(wanted, abs=found.error_bar_all)
    assert found.error_bar_all is not None
    assert found.error_bar_all < 5


def test_supports_have_noise_for_a_person_who_has_all_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Fraction] = []

    def noted(source: Source, scores: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        drawn.append(scale)
        return noisy_counts(source, scores, scale)

    monkeypatch.setattr("sparsegate.uses.itemsets.noisy_counts", noted)
    for count in (1, 7):
        found = frequent_itemsets(polars(), **ASKED | {"count": count}, answers_epsilon=0.5)
        assert drawn.pop() == Fraction(count) / Fraction(1, 2)
        assert found.error_bar == error_bar(Fraction(2 * count), 0.95)


def test_a_pool_of_more_than_sixty_items_and_numbers_for_a_domain() -> None:
    """Bits of 70 items are two whole numbers in the engine."""
    items = [(item, who) for item in range(70) for who in range(item, 400)]
    found = frequent_itemsets(
        pl.DataFrame(items, schema=["i", "u"], orient="row"),
        item="i",
        user="u",
        count=69,
        size=2,
        smallest=2,
        epsilon=4000,
        domain=1000,
        pool=70,
        answers_epsilon=10**6,
    )
    assert found.record.method == "items-first"
    exact = {(a, b): 400 - b for a in range(70) for b in range(a + 1, 70)}
    assert sum(found.estimates or ()) == sum(sorted(exact.values(), reverse=True)[:69])
    assert all(exact[pair] == estimate for pair, estimate in found)  # type: ignore[index]


def test_what_nobody_has_listed_is_found_for_a_delta() -> None:
    found = frequent_itemsets(polars(), **ASKED | {"domain": "observed", "count": 3, "size": 2}, delta=1e-6)
    assert ("z",) in found.items
    assert (found.record.delta, found.record.domain_size) == (Fraction(1, 10**6), None)
    nothing = frequent_itemsets(polars().head(1), **ASKED | {"domain": "observed"}, delta=1e-6, answers_epsilon=1)
    assert (nothing.items, nothing.estimates) == ((), ())


def test_items_that_nobody_has_listed_are_selected_at_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Accounting] = []

    def noted(self: CountedBaskets, accounting: Accounting, dbar: int, noise: Source) -> list[Any]:
        drawn.append(accounting)
        return pick(self, accounting, dbar, noise)

    pick = CountedBaskets.pick_observed
    monkeypatch.setattr(CountedBaskets, "pick_observed", noted)
    asked = ASKED | {"domain": "observed", "delta": 1e-6, "count": 5}
    for method in ("items-first", "levels"):
        found = frequent_itemsets(polars(), **asked, method=method)
        share, *others = found.record.shares
        assert (share + sum(others), found.record.epsilon) == (20, 20)
        public = {"delta": Fraction(1, 10**6), "count": found.record.pool, "max_items_per_user": 10 * found.record.pool}
        assert (
            drawn.pop() == best_accounting(epsilon=share, **public) != best_accounting(epsilon=Fraction(20), **public)
        )


def test_an_empty_table_answers_from_zero_supports() -> None:
    assert len(frequent_itemsets(polars().head(0), **ASKED, pool=3)) == 7


def test_files_of_baskets_and_conditions(tmp_path: Path) -> None:
    (tmp_path / "sales.dat").write_text("1 2 3\n1 2\n" * 200 + "4\n")
    found = frequent_itemsets(tmp_path / "sales.dat", count=3, size=2, epsilon=20, domain=5)
    assert found.items == ((1,), (2,), (1, 2))
    polars().with_columns(land=pl.lit("DE")).write_csv(tmp_path / "sales.csv")
    none = frequent_itemsets(tmp_path / "sales.csv", **ASKED | {"count": 1}, where="land = 'FR'", answers_epsilon=50)
    assert none.estimates is not None
    assert none.estimates[0] <= 3


def test_one_charge_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    account = Noted()
    found = frequent_itemsets(polars(), **ASKED, pool=4, answers_epsilon=1, ledger=account)
    ((epsilon, delta, what),) = account.charged
    assert (epsilon, delta) == (21, 0)
    assert what == "7 sets of up to 3 of product, method items-first, selection subset, domain public"
    (kept,) = account.kept
    assert kept == {"release": "top_items", **found.to_dict()}
    monkeypatch.setattr(Request, "pick", lambda *_, **__: pytest.fail("drew without paying"))
    with pytest.raises(sg.BudgetExceeded):
        frequent_itemsets(polars(), **ASKED, ledger=Noted(refuses=sg.BudgetExceeded("nothing is left")))


def test_the_result_is_a_table() -> None:
    found = frequent_itemsets(polars(), **ASKED, answers_epsilon=5, **SEEDED)
    frame = found.to_pandas()
    assert list(frame.columns) == ["product 1", "product 2", "product 3", "estimate"]
    assert set(frame[frame["product 2"] == ""]["product 1"]) == {"a", "b", "c"}
    assert found.to_dict()["record"]["shares"] == "0, 20"
    assert "a + b + c" in {text.get_text() for text in found.plot().axes[0].get_yticklabels()}
    again = frequent_itemsets(polars(), **ASKED, answers_epsilon=5, source=sg.Seeded(3), not_private=True)
    assert again == found


BAD: list[tuple[dict[str, Any], str]] = [
    ({"domain": None}, "domain must say which items may be selected"),
    ({"domain": "products"}, "domain must say which items may be selected"),
    ({"domain": []}, "domain must hold at least one candidate"),
    ({"delta": 1e-6}, "delta must be 0 for a public domain"),
    ({"domain": "observed"}, "delta must lie strictly between 0 and 1"),
    ({"epsilon": 0}, "epsilon must be a positive finite number"),
    ({"epsilon": math.nan}, "epsilon must be a positive finite number"),
    ({"epsilon": Fraction(6, 10**300), "count": 1, "pool": 4, "selection": "one-shot"}, "epsilon divided by count"),
    ({"answers_epsilon": -1}, "answers_epsilon must be a finite number"),
    ({"selection": "gumbel"}, "selection must be one of auto, subset"),
    ({"user": None}, "user must name the column.*for a file of baskets leave item= out too"),
    ({"user": "product"}, "user must not be the column of the items"),
    ({"count": 32}, "count must not exceed the number of sets of 1 to 3 items of the domain, 25"),
    ({"item": "prodct"}, "no column 'prodct'"),
    ({"where": "price >"}, "where"),
    ({"source": sg.Seeded(1)}, "not_private"),
    ({"ledger": "x"}, "ledger must be an open ledger"),
]


@pytest.mark.parametrize(("wrong", "said"), BAD)
def test_bad_input_is_refused_and_costs_nothing(
    monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any], said: str
) -> None:
    monkeypatch.setattr(Request, "pick", lambda *_, **__: pytest.fail("drew"))
    account = Noted()
    with pytest.raises(sg.SparsegateError, match=said):
        frequent_itemsets(relation(), **{**ASKED, "ledger": account, **wrong})
    assert account.charged == []


@pytest.mark.parametrize(
    ("place", "step"),
    [
        ("sqlite:///{}/x.db", "pass the path of the file"),
        ("postgresql://nobody@localhost/none", "copy the table to Parquet"),
    ],
)
def test_a_database_by_its_url_is_refused_and_the_advice_can_be_followed(tmp_path: Path, place: str, step: str) -> None:
    with pytest.raises(sg.ParameterError, match=f"not counted in a database .*; {step}"):
        frequent_itemsets(sg.Table(place.format(tmp_path), table="t"), **ASKED)


# The whole law of a release, from the rows to the names, its draws replaced by each of their outcomes.


def law(people: Sequence[str], monkeypatch: pytest.MonkeyPatch, asked: ItemsetQuestion) -> dict[Hashable, float]:
    engine = open_engine(
        pl.DataFrame({"u": [who for who, basket in enumerate(people) for _ in basket], "i": [*"".join(people)]})
    )
    counted = CountedBaskets(engine, item="i", user="u", domain=asked.domain)

    def program(choose: Choose) -> Hashable:
        def pick(request: Request, scores: Scores, *_: Any) -> Drawn:
            assert (request.method, request.sensitivity, request.monotonic) == ("subset", 1, True)
            sizes = scores.multiplicities.tolist()
            members = [(group, member) for group, size in enumerate(sizes) for member in range(size)]
            values = tuple(int(scores.values[group]) for group, _ in members)
            chosen = choose(subset_weights(values, request.count, float(Fraction(request.epsilon) / 2)))
            groups, ranks = np.array([members[place] for place in sorted(chosen)], dtype=np.int64).T
            return Drawn(groups, ranks, request.prepare(scores))

        with monkeypatch.context() as patch:
            patch.setattr(Request, "pick", pick)
            found = draw_sets(counted, asked.sets.plan(counted.size), asked, sg.Seeded(1))
        return tuple(found.items), tuple(found.sets)

    return law_of(program)


def question(method: str, epsilon: int) -> ItemsetQuestion:
    sets = SetQuestion(count=2, size=2, smallest=1, pool=2, method=method)
    nothing: dict[str, Any] = {"where": None, "answers_epsilon": 0, "delta": 0, "selection": "auto"}
    return ItemsetQuestion(item="i", user="u", sets=sets, epsilon=epsilon, domain=["a", "b", "c"], **nothing)


@pytest.mark.parametrize("method", ["items-first", "levels"])
def test_no_neighbours_differ_by_more_than_epsilon(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the twin, which spends twice as much, does."""

    def loss(epsilon: int) -> float:
        asked = question(method, epsilon)
        laws = [law(people, monkeypatch, asked) for people in (("a", "b"), ("a", "b", "ab"))]
        assert all(math.isclose(sum(found.values()), 1) for found in laws)
        return largest_loss(*laws)

    assert loss(3) <= 3 * (1 + 1e-12)
    assert loss(6) > 3
