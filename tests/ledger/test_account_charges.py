"""What each release charges a zCDP ledger: the rho that its law has at most, and no delta where none is needed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf
from tests.support.selection_laws import peeled, subsets

import sparsegate as sg
from sparsegate.budget import Cost, pure_rho
from sparsegate.gates.accounting import gate_cost, gate_rho
from sparsegate.gates.approximate import renyi_bound, round_epsilon, zcdp_rho
from sparsegate.gates.sparse_vector import gate_calibration
from sparsegate.privacy import renyi
from sparsegate.selection.select import Request
from sparsegate.tables.choosing import KEPT, choice_rho
from sparsegate.tables.observed import bounded_range
from sparsegate.tables.question import Question
from sparsegate.uses.alert_plan import AlertPlan
from sparsegate.uses.holdout import HoldoutTerms
from sparsegate.uses.itemsets import ItemsetQuestion, SetQuestion
from sparsegate.uses.prediction import prediction_terms

ALPHAS = (1.001, 1.5, 2.0, 4.0, 16.0, 64.0)
MILLIONTH = Fraction(1, 10**6)
Law = Mapping[Any, float]


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    with mp.workdps(30):
        yield


def rate(p: Law, q: Law) -> float:
    """The largest of D_alpha / alpha, in both orders."""
    pairs = [(p, q), (q, p)]
    return max(
        math.log(sum(one[key] * (one[key] / other[key]) ** (alpha - 1) for key in one)) / (alpha - 1) / alpha
        for alpha in ALPHAS
        for one, other in pairs
    )


def lattice_noise(scale: Fraction, at: int = 0) -> dict[int, float]:
    """Discrete Laplace noise around a whole number."""
    q = math.exp(-1 / scale)
    return {k: (1 - q) / (1 + q) * q ** abs(k - at) for k in range(-60, 61)}


# ----- counts that one person moves


@pytest.mark.parametrize("moved", [1, 2, 3])
def test_counts_are_charged_for_each_that_a_person_moves(moved: int) -> None:
    """All of them together, by enumeration; the formula for continuous noise would be too little on the lattice."""
    scale = Fraction(2)  # epsilon = moved / 2
    apart = lattice_noise(scale), lattice_noise(scale, 1)
    single = rate(*apart)
    if moved == 2:
        whole = [{(i, j): law[i] * law[j] for i, j in itertools.product(range(-30, 31), repeat=2)} for law in apart]
        assert rate(*whole) == pytest.approx(2 * single, rel=5e-3)
    charged = float(pure_rho(Fraction(moved) / scale, moved))
    assert 0.999 * charged < moved * single <= charged
    assert moved * (0.5 + math.exp(-0.5) - 1) < 0.9 * moved * single


@pytest.mark.parametrize("items", [4, 30])
def test_noisy_scores_are_charged_for_what_a_person_touches_also_beyond_what_is_selected(items: int) -> None:
    """With more items than are selected the noise is that of the selected, and each item costs as much."""
    asked: dict[str, Any] = {"count": 10, "epsilon": 1, "sensitivity": 1, "monotonic": True, "method": "noisy-scores"}
    cost = Request(**asked, max_items_per_user=items).checked.cost
    assert cost.rho == items * pure_rho(Fraction(1, min(items, 10)))
    assert cost.rho < pure_rho(Fraction(1))
    assert Request(**asked, max_items_per_user=200).checked.cost == Cost.of(Fraction(1))  # no less is known
    assert Request(**asked).checked.cost == Cost.of(Fraction(1))


def test_gumbel_charges_its_rounds() -> None:
    """By the law of every outcome for neighbours that move as far as they can; half as much would be too little."""
    asked: dict[str, Any] = {"count": 3, "epsilon": 0.25, "delta": 0.01, "sensitivity": 1, "monotonic": True}
    rho = float(Request(method="gumbel", **asked).checked.rho or 0)
    assert rho <= zcdp_rho(epsilon=Fraction(1, 4), delta=Fraction(1, 100))
    steep = float(round_epsilon(epsilon=0.25, delta=0.01, count=3))
    worst = 0.0
    for scores, moved in (((9, 9, 9, 0), (9, 9, 9, 1)), ((0, 0, 0, 0), (1, 1, 1, 0)), ((0, 0, 0, 0), (1, 0, 0, 0))):
        one, other = (peeled([math.exp(steep * score) for score in each], 3) for each in (scores, moved))
        worst = max(worst, rate(one, other))
    assert rho / 2 < worst <= rho


# ----- gates


@pytest.mark.parametrize("monotonic", [True, False])
def test_a_gate_with_a_delta_is_charged_the_rho_of_its_law_and_no_delta(monotonic: bool) -> None:
    gate = gate_calibration(threshold=0, cutoff=100, epsilon=1, delta=1e-6, sensitivity=1, monotonic=monotonic)
    cost = gate_cost(gate)
    assert (cost.epsilon, cost.delta, cost.rho_delta) == (1, MILLIONTH, 0)
    assert cost.rho == gate_rho(gate) < pure_rho(Fraction(1)) / 5
    public: dict[str, Any] = {"scales": gate.scales, "sensitivity": 1, "cutoff": 100, "monotonic": monotonic}
    worst = max(renyi_bound(Fraction(alpha), **public) / alpha for alpha in ALPHAS)
    assert 0.9 * float(cost.rho) < worst <= float(cost.rho)


def test_a_selection_by_a_gate_is_charged_the_rho_of_its_passes() -> None:
    """Against the exact divergence of the worst neighbours that the analyser knows; a tenth of it is too little."""
    request = Request(
        count=1, epsilon=1, sensitivity=1, monotonic=True, method="sparse-vector", threshold=0, allocation="1:1"
    )
    rho = float(request.checked.cost.rho)
    public: dict[str, Any] = {"epsilon": 1, "cutoff": 1, "monotonic": True, "allocation": "1:1", "noise": "lattice"}
    worst = 0.0
    for pair in (([0, 0], [1, 1]), ([0, 9], [1, 9]), ([-1, 0], [0, 0]), ([3, 3], [4, 4])):
        for one, other in (pair, pair[::-1]):
            for alpha in (1.1, 2.0, 8.0):
                exact = renyi("standard", alpha, one, other, **public)
                worst = max(worst, exact / alpha)
    assert rho / 10 < worst <= rho < float(pure_rho(Fraction(1)))


# ----- an observed domain

Scores = Mapping[str, int]


def candidates(counts: Scores, dbar: int) -> tuple[dict[str, int], int]:
    ranked = sorted((label for label in counts if counts[label]), key=lambda label: (-counts[label], label))
    largest = {label: counts[label] for label in ranked[:dbar]}
    largest |= {f"~{number}": 0 for number in range(dbar - len(largest))}
    return largest, counts[ranked[dbar]] if len(ranked) > dbar else 0


def approximate_zcdp(one: Scores, other: Scores, *, rate: float, margin: int, dbar: int, count: int) -> tuple[Any, Any]:
    """For each alpha ln of the sum of p**alpha Q**(1-alpha), for the measure p of the proof; and the mass it lacks."""
    sides = []
    for counts in (one, other):
        largest, following = candidates(counts, dbar)
        weights = {label: math.exp(rate * score) for label, score in largest.items()}
        sides.append(weights | {"bottom": math.exp(rate * (following + 1 + margin))})
    common = sides[0].keys() & sides[1].keys()
    moments, mass = dict.fromkeys(ALPHAS, 0.0), 0.0

    def go_on(selected: frozenset[str], p: float, q: float, rounds: int) -> None:
        nonlocal mass
        if not rounds or "bottom" in selected:
            mass += p
            for alpha in ALPHAS:
                moments[alpha] += p * (p / q) ** (alpha - 1)
            return
        totals = [sum(w for label, w in weights.items() if label not in selected) for weights in sides]
        left = common - selected
        u, v = (sum(weights[label] for label in left) / total for weights, total in zip(sides, totals, strict=True))
        for label in left:
            step = [weights[label] / total for weights, total in zip(sides, totals, strict=True)]
            go_on(selected | {label}, p * step[0] * min(1, v / u), q * step[1], rounds - 1)

    go_on(frozenset(), 1.0, 1.0, count)
    return {alpha: math.log(moment) for alpha, moment in moments.items()}, 1 - mass


TABLES: list[tuple[Scores, set[str]]] = [
    (dict.fromkeys("abcdef", 2), {"f"}),
    (dict.fromkeys("abcdef", 2), {"d", "e", "f"}),
    ({"a": 3, "b": 3, "c": 2, "d": 2, "e": 2}, {"a", "e"}),
    ({"a": 1}, {"b", "c"}),
    ({"a": 4, "b": 3, "c": 3, "d": 3}, {"c", "d"}),
    ({"A": 0, "b": 2, "c": 2, "d": 2}, {"A"}),
    ({"A": 0, "B": 0, "c": 2, "d": 2}, {"A", "d"}),
]


def observed_excesses(rho_share: float = 1.0, less: int = 0) -> tuple[float, float]:
    """By how much the moments pass those of the rho that is charged, and what is lacking the delta; the worst."""
    renyi_excess = mass_excess = -math.inf
    for (table, person), epsilon, count in itertools.product(TABLES, (Fraction(1, 2), Fraction(3)), (2, 3)):
        plan = bounded_range(
            epsilon=epsilon, delta=Fraction(1, 50), count=count, max_items_per_user=min(3, len(person))
        )
        assert plan.rate <= epsilon
        # An item in capitals has as many people as bottom: either may come first.
        even = {label: score + (3 + plan.margin) * label.isupper() for label, score in table.items()}
        more = {label: even.get(label, 0) + (label in person) for label in {*even, *person}}
        for one, other in ((even, more), (more, even)):
            logs, lacking = approximate_zcdp(
                one, other, rate=float(plan.rate), margin=plan.margin - less, dbar=3, count=count
            )
            rho = float(plan.cost.rho) * rho_share
            worst = max(log - alpha * (alpha - 1) * rho for alpha, log in logs.items())
            renyi_excess = max(renyi_excess, worst)
            mass_excess = max(mass_excess, lacking - float(plan.cost.rho_delta))
    return renyi_excess, mass_excess


def test_an_observed_domain_is_charged_the_rho_of_its_rounds_and_half_of_its_delta() -> None:
    """On all transcripts of neighbours whose items change sides; less rho, or a lower bottom, is too little."""
    renyi_excess, mass_excess = observed_excesses()
    assert renyi_excess <= 1e-12
    assert mass_excess <= 1e-12
    assert observed_excesses(rho_share=0.4)[0] > 1e-3
    assert observed_excesses(less=3)[1] > 1e-3


# ----- groups, labels, counts beside a selection


def test_groups_that_one_person_is_in_are_charged_apart() -> None:
    """By the law of both together: the product of two sets, each at half of epsilon."""
    asked: dict[str, Any] = {"item": "x", "user": "u", "count": 2, "epsilon": 2, "domain": 3}
    question = Question(**asked, per="city", groups="A,B,C", groups_per_user=2)
    assert question.cost == 2 * Question(**asked | {"epsilon": 1}).cost
    assert question.cost.rho == Fraction(1, 4)
    worst = 0.0
    for scores, moved in (((3, 3, 2), (3, 2, 1)), ((5, 4, 4), (4, 4, 3)), ((2, 2, 1), (2, 1, 1))):
        one, other = (subsets(each, 2, Fraction(1, 2)) for each in (scores, moved))
        both = [{(a, b): p * q for a, p in law.items() for b, q in law.items()} for law in (one, other)]
        worst = max(worst, rate(*both))
    assert float(question.cost.rho) / 2 < worst <= float(question.cost.rho)


def test_labels_above_a_bar_and_counts_have_a_part_for_each_that_a_person_has() -> None:
    asked: dict[str, Any] = {"item": "x", "user": "u", "domain": "observed", "above": 500, "max_items_per_user": 4}
    question = Question(**asked, epsilon=1, delta=1e-6, answers_epsilon=0.5)
    assert question.cost.rho == pure_rho(Fraction(1), 4) + pure_rho(Fraction(1, 2), 4)
    assert (question.cost.delta, question.cost.rho_delta) == (MILLIONTH, MILLIONTH)


def test_what_is_made_of_parts_charges_its_parts() -> None:
    terms = HoldoutTerms.of(size=1000, threshold=0.1, cutoff=10, epsilon=1)
    cost = terms.charged(10)
    gate, answers = terms.opening + 10 * terms.question, 10 * terms.answer
    assert (cost.epsilon, cost.rho) == (terms.epsilon, pure_rho(gate) + 10 * pure_rho(terms.answer))
    assert cost.epsilon == gate + answers
    assert AlertPlan.of(100, 10, 1, windows_per_user=4, method="counts").cost.rho == pure_rho(Fraction(1), 4)
    assert AlertPlan.of(100, 10, 1, windows_per_user=4, method="gate").cost.rho == pure_rho(Fraction(1))
    sets: dict[str, Any] = {"count": 5, "size": 2, "smallest": 1, "method": "auto", "pool": 4}
    public: dict[str, Any] = {"item": "x", "user": "u", "where": None, "selection": "subset", "delta": 0}
    asked = ItemsetQuestion(sets=SetQuestion(**sets), epsilon=1, answers_epsilon=1, domain=50, **public)
    plan = asked.sets.plan(50)
    assert asked.cost(plan).epsilon == 2
    assert asked.cost(plan).rho == sum(share**2 for share in plan.shares) / 8 + pure_rho(Fraction(1), 5)
    assert asked.least_cost.rho < asked.cost(plan).rho
    predicted = prediction_terms(batches=100, threshold=0.4, cutoff=30, epsilon=6, clip=5)
    tokens = 30 * predicted.token_epsilon**2 / 8
    assert predicted.cost.rho == pytest.approx(float(pure_rho(predicted.calibration.budget.total) + tokens))


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(40)])
def test_a_chosen_bound_costs_what_is_charged_and_hardly_less(epsilon: Fraction) -> None:
    """Neighbours at which 4 A - 3 n has the one sign, the other, or passes 0, for every place of the person."""
    top, whole = KEPT.as_integer_ratio()
    moments = []
    for people, kept in ((0, (0, 0)), (4, (0, 4)), (4, (1, 3)), (6, (2, 5)), (1, (0, 1))):
        for place in range(3):
            more = tuple(number + (at >= place) for at, number in enumerate(kept))
            logs = []
            for n, numbers in ((people, kept), (people + 1, more)):
                scores = [-abs(whole * number - top * n) * mpf(str(epsilon)) / 6 for number in numbers]
                logs.append([score - mp.log(mp.fsum(map(mp.exp, scores))) for score in scores])
            for p, q in (logs, logs[::-1]):
                for order in map(mpf, ("1.00001", "1.1", "1.5", "2", "4", "10", "50")):
                    moment = mp.fsum(mp.exp(order * x + (1 - order) * y) for x, y in zip(p, q, strict=True))
                    moments.append(mp.log(moment) / (order * (order - 1)))
    charged = mpf(str(choice_rho(epsilon, 1, 0)))
    assert max(moments) <= charged
    assert epsilon > 1 or max(moments) > charged / 2  # half of it would not do


# ----- what ledgers are charged


def test_a_zcdp_ledger_charges_no_delta_where_none_is_needed(tmp_path: Path) -> None:
    scores = {f"item {number}": 1000 - number for number in range(60)}
    select: dict[str, Any] = {"count": 50, "epsilon": 0.5, "delta": 1e-6, "sensitivity": 1, "monotonic": True}
    with sg.Ledger.create(tmp_path / "z.ledger", dataset="visits", budget=(2, 1e-6)) as ledger:
        sg.gaussian(1234, sigma=100, sensitivity=1, ledger=ledger)
        sg.gaussian(1234, sigma=100, sensitivity=1, delta=1e-9, ledger=ledger)
        sg.select_top(scores, **select, method="gumbel", ledger=ledger)
        gate: dict[str, Any] = {"threshold": 0, "cutoff": 300, "epsilon": 1, "delta": 1e-6, "sensitivity": 1}
        sg.SparseVector(**gate, monotonic=True, ledger=ledger).close()
        with ledger.together() as both:
            reserved = both.reserve(epsilon=1, rho=Fraction(1, 20000), what="a number")
        sg.gaussian(1234, sigma=100, sensitivity=1, ledger=reserved)
        amounts = [entry.amount for entry in ledger.entries()[1:]]
        with pytest.raises(sg.BudgetExceeded):  # what has a delta of its own is charged it
            sg.items_above({"x": ["a"] * 500}, item="x", unit="row", above=300, epsilon=0.1, delta=1e-6, ledger=ledger)
    assert [amount.delta for amount in amounts] == [0] * 5
    assert amounts[0].rho == amounts[1].rho == Fraction(1, 20000)
    assert amounts[0].epsilon < amounts[1].epsilon  # at the ledger's delta, and at its own
    assert amounts[2].rho == pytest.approx(float(Request(**select, method="gumbel").checked.cost.rho))
    assert amounts[3].rho == pytest.approx(float(gate_cost(gate_calibration(**gate, monotonic=True)).rho))


def test_a_ledger_that_adds_charges_the_same_deltas_as_before(tmp_path: Path) -> None:
    with sg.Ledger.create(tmp_path / "a.ledger", dataset="visits", budget=2, budget_delta=1e-5) as ledger:
        with pytest.raises(sg.ParameterError, match="must be given with a ledger that adds"):
            sg.gaussian(1234, sigma=100, sensitivity=1, ledger=ledger)
        sg.gaussian(1234, sigma=100, sensitivity=1, delta=1e-6, ledger=ledger)
        scores = np.arange(60)
        select: dict[str, Any] = {"count": 50, "epsilon": 0.5, "delta": 1e-6, "sensitivity": 1, "monotonic": True}
        sg.select_top(scores, **select, method="gumbel", ledger=ledger)
        assert ledger.total_spent().delta == 2 * MILLIONTH


def test_an_alert_and_a_holdout_count_whole_where_nothing_goes_back(tmp_path: Path) -> None:
    """On a ledger that adds they count for what they said, and the rest goes back."""
    terms: dict[str, Any] = {"size": 1000, "threshold": 0.1, "cutoff": 10, "epsilon": 1}
    for budget, whole in ((4, False), ((40, 1e-6), True)):
        with sg.Ledger.create(tmp_path / f"{whole}.ledger", dataset="visits", budget=budget) as ledger:
            holdout = sg.uses.Holdout(**terms, ledger=ledger)
            alert = sg.uses.Alert(threshold=100, cutoff=10, epsilon=1, ledger=ledger)
            alert.ask(0, 0)
            assert (alert.spent == alert.epsilon, alert.facts()["epsilon_spent"] == 1) == (whole, whole)
            assert (holdout.spent == holdout.epsilon) is whole
            assert holdout.remaining_after_restart == (0 if whole else 10)
            holdout.close()
            alert.close()
            if whole:
                with pytest.raises(sg.GateClosed, match="is used up"):
                    sg.uses.Holdout(**terms, ledger=ledger)
            else:
                assert sg.uses.Holdout(**terms, ledger=ledger).remaining == 10
            assert bool(ledger.statement().given_back.epsilon) is not whole
