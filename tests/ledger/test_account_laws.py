"""Charges against the laws themselves: no construction of a proof is used, only the least that any could leave out.

A release is d-approximately rho-zCDP only if, for every order alpha, some p <= P that lacks at most d has a moment of
at most exp(alpha (alpha - 1) rho). For one alpha the p that lacks the least is min(P, t Q): so that much is computed.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from mpmath import mp, mpf

from sparsegate.tables.choosing import KEPT, choice_rho
from sparsegate.tables.observed import Accounting, bounded_range

ORDERS = ("1.00001", "1.1", "1.5", "2", "4", "10", "50")
BOTTOM = "~"

Law = dict[tuple[str, ...], mpf]


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(30):
        yield


def exact(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


def released(scores: dict[str, int], dbar: int, accounting: Accounting) -> Law:
    """The exact law of what an observed domain releases: every order of the race, item by item."""
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    following = ranked[dbar][1] if dbar < len(ranked) else 0
    candidates = dict([*ranked, *((f"~{place}", 0) for place in range(dbar))][:dbar])
    candidates[BOTTOM] = following + 1 + accounting.margin
    law: Law = {}

    def go_on(chosen: tuple[str, ...], left: dict[str, int], chance: mpf) -> None:
        if len(chosen) == accounting.count or BOTTOM in chosen:
            seen = tuple(item for item in chosen if not item.startswith("~"))
            law[seen] = law.get(seen, mpf(0)) + chance
            return
        weights = {item: mp.exp(exact(accounting.rate) * score) for item, score in left.items()}
        whole = mp.fsum(weights.values())
        for item, weight in weights.items():
            rest = {other: score for other, score in left.items() if other != item}
            go_on((*chosen, item), rest, chance * weight / whole)

    go_on((), candidates, mpf(1))
    return law


def least_left_out(p: Law, q: Law, rho: mpf) -> mpf:
    """The mass that must be left out of p at some order for its moment to be within rho."""
    pairs = [(chance, q.get(seen, mpf(0))) for seen, chance in p.items()]

    def cut(most: mpf) -> list[tuple[mpf, mpf]]:
        return [(min(x, most * y), y) for x, y in pairs]

    worst = mpf(0)
    for order in map(mpf, ORDERS):
        allowed, low, high = mp.exp(order * (order - 1) * rho), mpf(0), mpf(10) ** 12
        for _ in range(60):
            middle = (low + high) / 2 if high < 2 else mp.sqrt(max(low, mpf(1) / 16) * high)
            moment = mp.fsum(x**order * y ** (1 - order) for x, y in cut(middle) if y)
            low, high = (middle, high) if moment <= allowed else (low, middle)
        worst = max(worst, 1 - mp.fsum(x for x, _ in cut(low)))
    return worst


TABLES = (
    ({}, "ab"),
    ({"a": 1, "b": 1}, "cd"),
    ({"a": 2, "b": 2, "c": 2}, "cd"),
    ({"b": 5, "c": 1}, "ac"),
    ({"a": 3, "b": 3, "c": 2, "d": 2}, "cd"),
)


def most_left_out(accounting: Accounting, dbar: int) -> mpf:
    worst = mpf(0)
    for scores, labels in TABLES:
        more = scores | {label: scores.get(label, 0) + 1 for label in labels}
        laws = released(scores, dbar, accounting), released(more, dbar, accounting)
        for p, q in (laws, laws[::-1]):
            worst = max(worst, least_left_out(p, q, exact(accounting.cost.rho)))
    return worst


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1/10"), ("1/2", "1/100")])
def test_an_observed_domain_lacks_no_more_than_it_is_charged(epsilon: str, delta: str) -> None:
    public = {"epsilon": Fraction(epsilon), "delta": Fraction(delta), "count": 2, "max_items_per_user": 2}
    accounting = bounded_range(**public)  # type: ignore[arg-type]
    charged = exact(accounting.cost.rho_delta)
    assert 0 < most_left_out(accounting, 2) <= charged
    low = replace(accounting, margin=0)  # a bottom that hides nobody
    assert most_left_out(low, 2) > charged


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(40)])
def test_a_chosen_bound_costs_what_is_charged_and_hardly_less(epsilon: Fraction) -> None:
    """Neighbours at which 4 A - 3 n has the one sign, the other, or passes 0, for every place of the person."""
    top, whole = KEPT.as_integer_ratio()
    worst = mpf(0)
    for people, kept in ((0, (0, 0)), (4, (0, 4)), (4, (1, 3)), (6, (2, 5)), (1, (0, 1))):
        for place in range(3):
            more = tuple(number + (at >= place) for at, number in enumerate(kept))
            logs = []
            for n, numbers in ((people, kept), (people + 1, more)):
                scores = [-abs(whole * number - top * n) * exact(epsilon) / 6 for number in numbers]
                normal = mp.log(mp.fsum(map(mp.exp, scores)))
                logs.append([score - normal for score in scores])
            for p, q in (logs, logs[::-1]):
                for order in map(mpf, ORDERS):
                    moment = mp.fsum(mp.exp(order * x + (1 - order) * y) for x, y in zip(p, q, strict=True))
                    worst = max(worst, mp.log(moment) / (order * (order - 1)))
    charged = exact(choice_rho(epsilon, 1, 0))
    assert worst <= charged
    assert epsilon > 1 or worst > charged / 2  # half of it would not do
