"""The ledger: exact sums, and refusals that change nothing."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.errors import BudgetExceeded, LedgerError, ParameterError
from sparsegate.ledger.account import Amount, Kind, exact_text, exact_value
from sparsegate.ledger.ledger import Ledger


def test_ten_tenths_are_one_and_not_a_bit_more(ledger: Ledger) -> None:
    for number in range(10):
        ledger.spend(epsilon=0.1, what=f"release {number}")
    assert ledger.total_spent() == Amount(epsilon=Fraction(1))
    with pytest.raises(BudgetExceeded):
        ledger.spend(epsilon=1e-300, what="one too many")


def test_an_entry_says_when_what_and_how_much(path: Path, ledger: Ledger) -> None:
    entry = ledger.spend(epsilon=Fraction(1, 3), what="a third")
    budget, spend = Ledger(path).entries()
    assert spend == entry
    assert (budget.number, budget.kind, spend.number, spend.kind) == (1, Kind.BUDGET, 2, Kind.SPEND)
    assert (spend.amount.epsilon, spend.what) == (Fraction(1, 3), "a third")
    assert spend.at.utcoffset() is not None


def test_a_refusal_changes_nothing(ledger: Ledger) -> None:
    ledger.spend(epsilon=0.7, what="most of it")
    before = ledger.statement()
    with pytest.raises(BudgetExceeded, match="epsilon 0.7 is spent and epsilon 0.3 remains"):
        ledger.spend(epsilon=0.4, what="too much")
    assert ledger.statement() == before
    assert before.remaining == Amount(epsilon=Fraction(3, 10))


def test_delta_has_a_budget_of_its_own_and_it_is_zero_unless_given(path: Path, ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded, match="delta 0.000001"):
        ledger.spend(epsilon=0.1, delta=1e-6, what="unknown domain")
    other = Ledger.create(path.with_suffix(".two"), dataset="visits", budget=1, budget_delta=2e-6)
    for _ in range(2):
        other.spend(epsilon=0.1, delta=1e-6, what="unknown domain")
    with pytest.raises(BudgetExceeded):
        other.spend(epsilon=0.1, delta=1e-12, what="unknown domain")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1, 0, True, "0.5", None, Decimal("NaN"), Fraction(1, 10**500)])
def test_an_epsilon_that_is_no_positive_number_is_refused_and_not_recorded(ledger: Ledger, bad: object) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        ledger.spend(epsilon=bad, what="nonsense")  # type: ignore[arg-type]
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("bad", [math.nan, -1e-9, 1])
def test_a_delta_outside_zero_to_one_is_refused(ledger: Ledger, bad: float) -> None:
    with pytest.raises(ParameterError, match="delta"):
        ledger.spend(epsilon=0.1, delta=bad, what="nonsense")


@pytest.mark.parametrize("bad", ["", "two\nlines", "x" * 501])
def test_what_is_one_line(ledger: Ledger, bad: str) -> None:
    with pytest.raises(ParameterError, match="what"):
        ledger.spend(epsilon=0.1, what=bad)


def test_raising_the_budget_is_an_entry(ledger: Ledger) -> None:
    ledger.spend(epsilon=1, what="all of it")
    ledger.raise_budget(budget=1.5, why="the board agreed on 3 May")
    ledger.spend(epsilon=0.5, what="a little more")
    statement = ledger.statement()
    assert [entry.kind.value for entry in statement.entries] == ["budget", "spend", "budget", "spend"]
    assert statement.budget == statement.spent == Amount(epsilon=Fraction(3, 2))


@pytest.mark.parametrize(("epsilon", "delta"), [(1, None), (0.5, None), (1, 0), (2, -1), (math.nan, None), (0.9, 0.1)])
def test_a_budget_is_never_lowered(ledger: Ledger, epsilon: float, delta: float | None) -> None:
    with pytest.raises(ParameterError):
        ledger.raise_budget(budget=epsilon, budget_delta=delta, why="a slip")
    assert len(ledger.entries()) == 1


def test_a_second_dataset_is_refused(path: Path, ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="belongs to the dataset 'visits', not 'sales'"):
        Ledger(path, dataset="sales")


def test_creating_over_a_ledger_is_refused_and_keeps_it(path: Path, ledger: Ledger) -> None:
    ledger.spend(epsilon=0.9, what="nearly all")
    with pytest.raises(LedgerError, match="already there"):
        Ledger.create(path, dataset="visits", budget=100)
    assert Ledger(path).total_spent().epsilon == Fraction(9, 10)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@given(st.fractions(min_value=0, max_denominator=10**6))
def test_an_amount_reads_back_exactly_from_its_text(value: Fraction) -> None:
    assert exact_value(exact_text(value)) == value


@pytest.mark.parametrize("text", ["1e3", "-1", "1/0", " 1", "١", "", None, 1.5, "1_000"])
def test_a_text_that_is_no_amount_is_damage(text: object) -> None:
    with pytest.raises(LedgerError):
        exact_value(text)
