"""A zCDP ledger: the filter is exact on all transcripts of small mechanisms, and it counts rho wherever it is used."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from mpmath import mp, mpf
from tests.support.selection_laws import peeled

import sparsegate as sg
from sparsegate.gates.approximate import zcdp_epsilon, zcdp_rho
from sparsegate.ledger.account import Amount, Balance, Entry, EntryKind, Statement, exact_amount, exact_budget
from sparsegate.ledger.backup import back_up, restore
from sparsegate.ledger.ledger import Ledger
from sparsegate.selection.select import Request

AT = datetime(2031, 5, 3, tzinfo=UTC)
MILLIONTH = Fraction(1, 10**6)
ALPHAS = (1.01, 1.5, 2.0, 4.0, 16.0, 64.0)


def entry(number: int, kind: EntryKind, amount: Amount) -> Entry:
    return Entry(number=number, at=AT, kind=kind, amount=amount, what="a release")


def opened(amount: Amount, delta: Fraction | None = MILLIONTH, kind: type[Statement] = Statement) -> Statement:
    return kind(dataset="visits", entries=(entry(1, EntryKind.BUDGET, amount),), conversion_delta=delta)


def charged(statement: Statement, amount: Amount) -> Statement:
    """The statement with one more entry, or ``BudgetExceeded``."""
    statement.admit(amount)
    added = entry(len(statement.entries) + 1, EntryKind.SPEND, amount)
    return replace(statement, entries=(*statement.entries, added))


# ----- the conversion


def reference_epsilon(rho: Fraction, delta: Fraction) -> Any:
    """The conversion by a second method: a fine grid of orders, refined, in 60 digits."""
    with mp.workdps(60):
        per, asked = mpf(rho.numerator) / rho.denominator, -mp.log(mpf(delta.numerator) / delta.denominator)

        def at(x: Any) -> Any:
            alpha = 1 + mp.exp(x)
            return per * alpha + (asked + (alpha - 1) * mp.log(1 - 1 / alpha) - mp.log(alpha)) / (alpha - 1)

        low, high = mpf(-40), mpf(60)
        for _ in range(12):
            grid = [low + (high - low) * i / 60 for i in range(61)]
            best = min(grid, key=at)
            low, high = best - (high - low) / 30, best + (high - low) / 30
        return at(best)


@pytest.mark.parametrize("delta", [Fraction(1, 2), MILLIONTH, Fraction(1, 10**12)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(20)])
def test_rho_is_rounded_down_and_is_the_largest(epsilon: Fraction, delta: Fraction) -> None:
    rho = zcdp_rho(epsilon=epsilon, delta=delta)
    assert reference_epsilon(rho, delta) <= mpf(epsilon.numerator) / epsilon.denominator
    assert reference_epsilon(rho * (1 + Fraction(1, 10**6)), delta) > float(epsilon)
    recorded, _ = exact_budget((epsilon, delta), 0)
    assert recorded.rho is not None
    assert recorded.rho <= rho < recorded.rho * (1 + Fraction(1, 10**13))
    assert zcdp_epsilon(rho=rho, delta=delta) == pytest.approx(float(epsilon), rel=1e-9)
    assert mpf(zcdp_epsilon(rho=rho, delta=delta)) >= reference_epsilon(rho, delta) - mpf(10) ** -30


PLANS = {
    "365 top-10 by exponential at 0.1": (365, "exponential", 10, 0.1, 36.5, 1.40),
    "30 top-50 by exponential at 0.5": (30, "exponential", 50, 0.5, 15, 0.87),
    "100 subsets at 0.1": (100, "subset", 10, 0.1, 10, 2.42),
    "365 pure releases at 0.1": (365, None, 1, 0.1, 36.5, 11.1),
}


@pytest.mark.parametrize("plan", PLANS)
def test_what_a_year_costs_by_either_rule(plan: str) -> None:
    """The figures of docs/how-to/ledger.md; the ledger admits the plan at that epsilon, and not at a little less."""
    times, method, count, epsilon, added, filtered = PLANS[plan]
    asked: dict[str, Any] = {"count": count, "epsilon": epsilon, "sensitivity": 1, "monotonic": True}
    rho = None if method is None else Request(method=method, **asked).checked.rho
    cost = exact_amount(epsilon, 0, rho)
    assert times * cost.epsilon == exact_amount(added, 0).epsilon
    assert cost.rho is not None
    total = zcdp_epsilon(rho=times * cost.rho, delta=1e-6)
    assert total == pytest.approx(filtered, rel=5e-3)
    for share, fits in ((1.001, True), (0.999, False)):
        statement = opened(exact_budget((total * share, 1e-6), 0)[0])
        at_once = Amount(epsilon=times * cost.epsilon, rho=times * cost.rho)
        assert statement.balance.covers(statement.budget, at_once) is fits


@pytest.mark.parametrize(
    "rho", [Fraction(1, 3), Fraction(2, 3), Fraction(10**20, 7), Fraction(1, 10**40), Fraction(1, 7000)]
)
def test_a_charge_is_rounded_up_once(rho: Fraction) -> None:
    charge = exact_amount(1, 0, rho).rho
    assert charge is not None
    assert rho <= charge <= max(rho * (1 + Fraction(1, 10**14)), Fraction(1, 10**30))
    assert exact_amount(1, 0, charge).rho == charge


# ----- the filter, by enumeration

Law = tuple[Mapping[str, float], Mapping[str, float]]
"""The probabilities of the outcomes on a dataset and on its neighbour."""


def coin(epsilon: float) -> Law:
    """Randomised response: what is eps-DP is no worse."""
    high = math.exp(epsilon) / (1 + math.exp(epsilon))
    return {"1": high, "0": 1 - high}, {"1": 1 - high, "0": high}


def leaky(epsilon: float, delta: float) -> Law:
    """The worst of what is (eps, delta)-DP: it tells all with probability delta."""
    (p, q), rest = coin(epsilon), 1 - delta
    return {k: rest * v for k, v in p.items()} | {"P": delta}, {k: rest * v for k, v in q.items()} | {"Q": delta}


def weighing(epsilon: float) -> Law:
    """The exponential mechanism on counts, one of which rises by one."""
    laws = [peeled([math.exp(epsilon * score) for score in scores], 1) for scores in ((1, 1, 0), (0, 1, 0))]
    p, q = ({str(key): value for key, value in law.items()} for law in laws)
    return p, q


STEPS: dict[str, tuple[Law, Amount]] = {
    "coin": (coin(0.5), exact_amount(0.5, 0)),
    "small coin": (coin(0.4), exact_amount(0.4, 0)),
    "leaky": (leaky(0.5, 0.01), exact_amount(0.5, 0.01)),
    "weighing": (weighing(1.0), exact_amount(1, 0, Fraction(1, 8))),
}
Strategy = Callable[[tuple[str, ...]], Iterator[str]]


def greedy(history: tuple[str, ...]) -> Iterator[str]:
    """The dearest that is still admitted, which follows from the answers too."""
    yield from ("coin", "small coin") if history.count("1") % 2 else ("weighing", "leaky", "coin", "small coin")


def stopping(history: tuple[str, ...]) -> Iterator[str]:
    """It stops when it has seen enough, and asks for more where answers disagree."""
    if len(history) >= 2 and set(history[-2:]) == {"1"}:
        return
    yield from ("leaky", "coin") if "0" in history else ("coin", "small coin")


def one_kind(name: str) -> Strategy:
    return lambda history: iter([name])


STRATEGIES: dict[str, Strategy] = {
    "greedy": greedy,
    "stopping": stopping,
    **{name: one_kind(name) for name in STEPS},
}


def transcripts(
    statement: Statement, strategy: Strategy, history: tuple[str, ...] = (), p: float = 1.0, q: float = 1.0
) -> Iterator[tuple[float, float, tuple[str, ...]]]:
    """Every transcript with its two probabilities; what a strategy asks for is charged to the statement, or refused."""
    for name in strategy(history):
        law, amount = STEPS[name]
        try:
            after = charged(statement, amount)
        except sg.BudgetExceeded:
            continue
        for outcome in law[0].keys() | law[1].keys():
            ps, qs = (side.get(outcome, 0.0) for side in law)
            yield from transcripts(after, strategy, (*history, outcome), p * ps, q * qs)
        return
    yield p, q, history


def excesses(statement: Statement, strategy: Strategy) -> tuple[float, float]:
    """By how much the Renyi divergence of what does not tell all passes rho alpha, and the mass passes the deltas."""
    budget, rho = statement.budget, statement.budget.rho
    assert rho is not None
    assert statement.conversion_delta is not None
    all_of_it = list(transcripts(statement, strategy))
    assert math.isclose(sum(p for p, _, _ in all_of_it), 1)
    renyi = -math.inf
    for alpha in ALPHAS:
        for turned in (False, True):
            pairs = [(q, p) if turned else (p, q) for p, q, _ in all_of_it if p and q]
            divergence = math.log(sum(p * (p / q) ** (alpha - 1) for p, q in pairs)) / (alpha - 1)
            renyi = max(renyi, divergence - float(rho) * alpha)
    allowed = float(statement.conversion_delta + budget.delta)
    bound = math.exp(budget.epsilon)
    mass = max(
        sum(max((q - bound * p) if turned else (p - bound * q), 0.0) for p, q, _ in all_of_it)
        for turned in (False, True)
    )
    return renyi, mass - allowed


def small(kind: type[Statement] = Statement) -> Statement:
    """A budget for four coins, at a delta that is large enough to see."""
    delta, rho = Fraction(1, 1000), Fraction(1, 2)
    epsilon = Fraction(zcdp_epsilon(rho=rho, delta=delta))
    return opened(Amount(epsilon=epsilon, delta=Fraction(2, 100), rho=rho), delta, kind)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_transcripts_together_keep_to_the_budget(strategy: str) -> None:
    renyi, mass = excesses(small(), STRATEGIES[strategy])
    assert renyi <= 1e-12
    assert mass <= 1e-12


class ForgetsOne(Statement):
    """A filter that does not count its first charge."""

    @property
    def balance(self) -> Balance:  # type: ignore[override]
        kept = (self.entries[0], *self.entries[2:])
        return Statement(dataset=self.dataset, entries=kept, conversion_delta=self.conversion_delta).balance


@pytest.mark.parametrize("charge", [{"epsilon": Fraction(1, 3**1000)}, {"epsilon": 1, "rho": Fraction(1, 3**20000)}])
def test_what_could_not_be_read_again_is_not_written(tmp_path: Path, charge: dict[str, Any]) -> None:
    """The rho of an amount is recorded beside it, on ledgers that count epsilons, too."""
    with sg.Ledger.create(tmp_path / "x.ledger", dataset="visits", budget=1e300) as ledger:
        with pytest.raises(sg.ParameterError):
            ledger.spend(**charge, what="too long")
        ledger.spend(epsilon=1, what="a count")
        assert ledger.total_spent().epsilon == 1


def test_a_filter_that_forgets_one_charge_is_seen() -> None:
    renyi, _ = excesses(small(ForgetsOne), STRATEGIES["coin"])
    assert renyi > 1e-3
    _, mass = excesses(small(ForgetsOne), STRATEGIES["leaky"])
    assert mass > 1e-3


# ----- the ledger


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "z.ledger") if request.param == "sqlite" else request.getfixturevalue("cluster").database()


def test_a_zcdp_ledger_counts_rho_and_nothing_goes_back(place: str) -> None:
    ledger = Ledger.create(place, dataset="visits", budget=(1, 1e-6), budget_delta=1e-7)
    budget = ledger.statement().budget
    assert budget.rho is not None
    assert (budget.epsilon, budget.delta, ledger.statement().conversion_delta) == (1, Fraction(1, 10**7), MILLIONTH)
    scores = {"a": 90, "b": 50, "c": 1}
    for _ in range(3):  # 3 by adding
        sg.select_top(scores, count=2, epsilon=0.25, sensitivity=1, monotonic=True, method="exponential", ledger=ledger)
    with Ledger(place, budget=(1, 1e-6), budget_delta=1e-7) as again:
        assert again.statement().spent == Amount(epsilon=Fraction(3, 4), rho=3 * Fraction(1, 16) / 16)
    gate = sg.SparseVector(threshold=10, cutoff=1, epsilon=0.1, sensitivity=1, ledger=ledger)
    before = ledger.statement()
    gate.close()
    assert ledger.give_back(5, epsilon=0.05) is None
    after = ledger.statement()
    assert after == before
    assert after.given_back.epsilon == 0
    left = after.remaining
    assert left.rho == budget.rho - after.spent.rho
    with pytest.raises(sg.BudgetExceeded, match="rho .* is more than the ledger of 'visits' has left"):
        ledger.spend(epsilon=left.epsilon * Fraction(101, 100), what="a little too much")
    with pytest.raises(sg.BudgetExceeded):
        ledger.spend(epsilon=0.01, delta=1e-6, what="too much delta")
    ledger.spend(epsilon=0.01, delta=1e-7, what="all the delta", rho=1e-9)
    ledger.spend(epsilon=ledger.statement().remaining.epsilon, what="almost the rest")
    ledger.spend(epsilon=1, rho=ledger.statement().remaining.rho, what="the rest")
    with pytest.raises(sg.BudgetExceeded):
        ledger.spend(epsilon=1e-3, what="one too many")
    ledger.close()


def test_what_is_reserved_is_used_by_rho(place: str) -> None:
    with Ledger.create(place, dataset="visits", budget=(1, 1e-6)) as ledger:
        with ledger.together() as report:
            charge = report.reserve(epsilon=0.1, what="a top-10", rho=Fraction(1, 8000))
        with pytest.raises(sg.BudgetExceeded, match="is more than was reserved"):
            charge.spend(epsilon=0.1, what="a number")
        charge.spend(epsilon=0.2, what="another epsilon, the same rho", rho=Fraction(1, 8000))
        assert ledger.statement().spent.rho == Fraction(1, 8000)


def test_a_ledger_keeps_its_rule(tmp_path: Path) -> None:
    zcdp, adds = tmp_path / "z.ledger", tmp_path / "a.ledger"
    with Ledger.create(zcdp, dataset="visits", budget=(1, 1e-6)) as ledger:
        raised = ledger.raise_budget(budget=2, why="agreed")
        assert raised.amount == exact_budget((2, 1e-6), 0)[0]
        for wrong in ((3, 1e-6), 1):
            with pytest.raises(sg.ParameterError):
                ledger.raise_budget(budget=wrong, why="another rule, or less")  # type: ignore[arg-type]
    for other in (2, (2, 1e-5)):
        with pytest.raises(sg.ParameterError, match="must be that of the ledger"):
            Ledger(zcdp, budget=other)
    with Ledger.create(adds, dataset="visits", budget=2) as ledger:
        with pytest.raises(sg.ParameterError, match="must be the new epsilon alone"):
            ledger.raise_budget(budget=(3, 1e-6), why="another rule")  # type: ignore[arg-type]
        assert ledger.statement().spent.rho is None
    with pytest.raises(sg.ParameterError, match="must be that of the ledger"):
        Ledger(adds, budget=(2, 1e-6))


@pytest.mark.parametrize("budget", [(1,), (1, 0), (1, 1), (1, 1e-6, 0), (0, 1e-6), (1e-200, 1e-200)])
def test_a_pair_that_is_no_budget_is_refused(tmp_path: Path, budget: Any) -> None:
    with pytest.raises(sg.ParameterError, match="budget"):
        Ledger.create(tmp_path / "z.ledger", dataset="visits", budget=budget)
    assert not list(tmp_path.iterdir())


def test_a_restored_ledger_is_told_the_rho_since(tmp_path: Path) -> None:
    path, backup = tmp_path / "z.ledger", tmp_path / "z.backup"
    with Ledger.create(path, dataset="visits", budget=(1, 1e-6)) as ledger:
        ledger.spend(epsilon=0.1, what="before")
        budget = ledger.statement().budget
    back_up(str(path), backup)
    again = tmp_path / "again.ledger"
    with pytest.raises(sg.ParameterError, match="this ledger adds up rho"):
        restore(str(again), backup=backup, spent_since=0.1)
    assert not again.exists()
    assert restore(str(again), backup=backup, rho_since=0.001).spent.rho == exact_amount(0.1, 0).rho + Fraction(1, 1000)
    unknown = restore(str(tmp_path / "unknown.ledger"), backup=backup)
    assert (unknown.spent.rho, unknown.remaining.rho) == (budget.rho, 0)
    with Ledger.create(tmp_path / "a.ledger", dataset="visits", budget=1):
        pass
    with pytest.raises(sg.ParameterError, match="this ledger adds up epsilon"):
        restore(str(tmp_path / "a.ledger"), backup=None, rho_since=0.1)
