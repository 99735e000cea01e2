"""select_top: what goes in, what comes out, and what is refused before anything is drawn."""

from __future__ import annotations

import itertools
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from tests.support.untouchable import Untouchable

from sparsegate.errors import ParameterError
from sparsegate.ledger.ledger import Ledger
from sparsegate.noise import Seeded
from sparsegate.selection.select import METHODS, Request, Selection, choose, select_top

SECRET = 8675309
COUNTS = {"a": 900, "b": 850, "c": 12, "d": 3}
NEEDS = {"threshold": 400, "delta": 1e-6}
NEEDED = {name: {option: NEEDS[option] for option in NEEDS.keys() & method.options} for name, method in METHODS.items()}


def select(scores: object, **changes: object) -> Selection:
    public = {"count": 2, "epsilon": 5, "sensitivity": 1, "monotonic": True}
    return select_top(scores, **public | {"source": Seeded(1), "not_private": True} | changes)


@pytest.mark.parametrize("method", METHODS)
def test_a_mapping_gives_items_and_an_array_gives_indices(method):
    by_name = select(COUNTS, method=method, **NEEDED[method])
    by_number = select(list(COUNTS.values()), method=method, **NEEDED[method])
    assert set(by_name.items) == {"a", "b"}
    assert by_name.indices is None
    assert set(by_number.indices.tolist()) == {0, 1}
    assert by_number.items is None
    assert len(by_name) == len(by_number) == 2
    assert by_name.method == method


def test_a_delta_is_charged_where_it_is_used_and_nowhere_else():
    many = {str(item): 10 for item in range(60)}
    for count, method, used in ((50, "gumbel", Fraction(1, 10**6)), (2, "subset", 0)):
        ledger = Entries()
        chosen = select(many, count=count, epsilon=1, delta=1e-6, ledger=ledger)
        assert (chosen.method, chosen.delta, chosen.budget.delta) == (method, used, used)
        assert ledger.charges == [(1, used)]
    assert select(many, method="gumbel", epsilon=1, delta=1e-6).delta == 0  # two rounds of 1/2 are as good


class Entries:
    """A ledger that remembers what was charged."""

    def __init__(self) -> None:
        self.charges: list[tuple[Fraction, Fraction]] = []

    def spend(self, *, epsilon, delta=0, what: str) -> None:
        self.charges.append((epsilon, delta))

    def keep(self, entry, gave) -> None:
        assert entry is None


@pytest.mark.parametrize(
    "labels",
    [
        *(["b", "a", "c"], [3, 1, 2], [(2, "x"), "x", frozenset({1})], [2.5, 1, "z"], [2.5, 10, float("nan")]),
        *([date(2024, 1, 2), date(2023, 12, 31), date(2024, 1, 1)], [Decimal(10), Decimal(9), Decimal("sNaN")]),
        [datetime(2024, 1, 1), datetime(2024, 1, 2), datetime(2024, 1, 1, tzinfo=UTC)],
    ],
)
def test_a_set_is_shown_in_an_order_that_its_labels_give(labels):
    ordered, as_set = (Request(count=3, epsilon=1, sensitivity=1, ordered=order) for order in (True, False))
    assert ordered.shown_order(labels) == [0, 1, 2]  # in the order selected
    shown = [[order[place] for place in as_set.shown_order(order)] for order in itertools.permutations(labels)]
    assert all(order == shown[0] for order in shown)


def test_a_series_keeps_the_labels_of_its_index():
    pandas = pytest.importorskip("pandas")
    counts = pandas.Series([900, 3, 800, 5], index=pandas.Index(["/home", "/jobs", "/docs", "/blog"]))
    assert select(counts, epsilon=50).items == ("/docs", "/home")
    assert select(counts.sort_values(), epsilon=50).items == ("/docs", "/home")
    plain = select(counts.reset_index(drop=True), epsilon=50)
    assert (plain.items, sorted(plain.indices)) == (None, [0, 2])
    assert select(counts.reset_index(drop=True)[2:], epsilon=50, count=1).items == (2,)
    pairs = pandas.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1), ("b", 2)])
    assert select(counts.set_axis(pairs), epsilon=50).items == (("a", 1), ("b", 1))
    with pytest.raises(ParameterError, match="each label once"):
        select(counts.set_axis(list("aabc")), source=Untouchable(1))


SVT = {"method": "sparse-vector", "threshold": 5}
RETRAVERSAL = {"method": "retraversal", "threshold": 5}


@pytest.mark.parametrize(
    ("parameter", "changes"),
    [
        *(("count", {"count": bad}) for bad in (0, -1, 2.0, True, None, "2", math.nan, 5, 10**30)),
        *(("epsilon", {"epsilon": bad}) for bad in (0, -1, math.nan, math.inf, None, "1", True)),
        *(("sensitivity", {"sensitivity": bad}) for bad in (0, -1, math.nan, math.inf, None, "1", True)),
        *(("sensitivity", {**SVT, "sensitivity": bad}) for bad in (0, -1, math.nan, math.inf, None, "1")),
        *(("monotonic", {"monotonic": bad}) for bad in (1, None, "yes")),
        *(("method", {"method": bad}) for bad in ("em", None, [], 3)),
        *(("max_items_per_user", {"max_items_per_user": bad}) for bad in (0, -1, 2.0, True, "2", math.nan)),
        *(("delta", {"delta": bad}) for bad in (1, 2, -1, math.nan, None, "1e-6")),
        *(("delta", {"delta": 1e-6, "method": method}) for method in ("exponential", "sparse-vector", "retraversal")),
        ("delta", {"method": "gumbel"}),
        *(("ordered", {"ordered": bad}) for bad in (1, None, "yes")),
        *((name, {name: bad}) for name, bad in (("threshold", 5), ("raise_by", 0), ("max_passes", 1))),
        *((name, {name: bad}) for name, bad in (("allocation", "1:3"), ("granularity", 1))),
        *((name, {**SVT, name: bad}) for name, bad in (("raise_by", 1), ("max_passes", 2))),
        *(("threshold", {**SVT, "threshold": bad}) for bad in (None, math.nan, math.inf, "5", True, 2**70)),
        *(("raise_by", {**RETRAVERSAL, "raise_by": bad}) for bad in (-1, math.nan, "1", 10**30)),
        *(("max_passes", {**RETRAVERSAL, "max_passes": bad}) for bad in (0, -1, 1.5, True, math.inf)),
        *(("allocation", {**SVT, "allocation": bad}) for bad in ("2:1", 0, -1, math.nan)),
        *(("granularity", {**SVT, "granularity": bad}) for bad in (0, 3, -1, math.nan, "1")),
        ("source", {"source": 7}),
        ("scale", {**SVT, "epsilon": 1e-15}),
    ],
)
def test_a_bad_parameter_is_named_before_anything_is_drawn(parameter, changes):
    with pytest.raises(ParameterError) as caught:
        select([SECRET, 2, 3, 4], **({"source": Untouchable(1)} | changes))
    assert caught.value.parameter == parameter
    assert str(SECRET) not in str(caught.value)


class Alike:
    """Says of itself what all of its kind say."""

    def __repr__(self) -> str:
        return "alike"


@pytest.mark.parametrize("kind", [Alike, type("Addressed", (), {})])
def test_what_reads_alike_or_shows_its_address_is_in_the_order_of_coins(kind):
    labels = [kind() for _ in range(20)]
    as_set = Request(count=20, epsilon=1, sensitivity=1, method="subset")
    orders = [as_set.shown_order(labels) for _ in range(3)]  # 3 equal ones of 20 labels: once in (20!)**2
    assert all(sorted(order) == list(range(20)) for order in orders)
    assert len(set(map(tuple, orders))) > 1


class Mute:
    """Cannot be read at all."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("kind", [Mute, type("Addressed", (), {})])
def test_labels_that_cannot_be_read_lose_nothing_that_is_paid_for(tmp_path, kind):
    labels = [kind() for _ in range(3)]
    with Ledger.create(tmp_path / "x.ledger", dataset="d", budget=9) as ledger:
        chosen = select(dict.fromkeys(labels, 5), count=2, ledger=ledger)
        kept = ledger.release(2).gave[0]
    assert {row["item"] for row in kept["items"]} == {f"<{kind.__qualname__}>"}
    assert kept["schema"] == "sparsegate/selection/1"
    assert set(map(id, chosen.items)) <= set(map(id, labels))
    assert "0x" not in chosen._repr_html_()
    assert chosen.to_pandas()["item"].tolist() == [f"<{kind.__qualname__}>"] * 2


TENTH, NONE = Fraction(1, 10), Fraction(0)


@pytest.mark.parametrize(
    ("max_items_per_user", "ordered", "taken"),
    [
        (70, False, "noisy-scores"),
        (71, False, "subset"),
        (90, True, "noisy-scores"),
        (91, True, "one-shot"),
        (None, False, "subset"),
        (None, True, "one-shot"),
    ],
)
@pytest.mark.parametrize("monotonic", [True, False])
def test_less_noise_is_taken_where_enough_of_it_is_saved(max_items_per_user, ordered, taken, monotonic):
    count = 100 if monotonic else 50  # s c is 100
    given = {"count": count, "epsilon": TENTH, "delta": NONE, "max_items_per_user": max_items_per_user}
    assert choose(**given, ordered=ordered, monotonic=monotonic) == taken
