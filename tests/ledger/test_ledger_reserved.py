"""Charges reserved together: all or none, whatever is killed when, and each for one release, on both stores."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.processes import in_forked_child
from tests.support.untouchable import Untouchable

import sparsegate as sg
from sparsegate.ledger.account import EntryKind
from sparsegate.ledger.ledger import Ledger


@pytest.fixture
def ledger(place: str) -> Any:
    with Ledger.create(place, dataset="visits", budget=1, budget_delta=1e-6) as made:
        yield made


def number(charge: Any, **options: Any) -> Any:
    return sg.laplace(1234, **{"epsilon": 0.5, "sensitivity": 1, "ledger": charge} | options)


def test_charges_are_committed_together_and_each_serves_its_release(ledger: Ledger) -> None:
    with ledger.together() as report:
        people = report.reserve(epsilon=0.5, what="June: people")
        visits = report.reserve(epsilon=0.5, what="June: visits")
        assert ledger.total_spent().epsilon == 0
    assert [(entry.kind, entry.what) for entry in ledger.entries()[1:]] == [
        (EntryKind.RESERVE, "June: people"),
        (EntryKind.RESERVE, "June: visits"),
    ]
    assert ledger.total_spent().epsilon == 1
    values = number(visits), number(people)
    assert [ledger.release(charge.number).gave[0]["value"] for charge in (visits, people)] == list(values)
    assert len(ledger.entries()) == 3


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_charges_that_do_not_fit_together_spend_nothing(ledger: Ledger, delta: float) -> None:
    before = ledger.statement()
    reserved = []

    def reserve() -> None:
        with ledger.together() as report:
            reserved.append(report.reserve(epsilon=0.5, delta=delta, what="the first"))
            report.reserve(epsilon=0.25 if delta else 0.6, delta=delta, what="the second")

    with pytest.raises(sg.BudgetExceeded):
        reserve()
    assert ledger.statement() == before
    with pytest.raises(sg.LedgerError, match="not committed"):
        number(reserved[0], source=Untouchable(1), not_private=True)


def test_a_block_that_fails_spends_nothing(ledger: Ledger) -> None:
    def fail(charge: Any) -> None:
        raise KeyError

    with pytest.raises(KeyError), ledger.together() as report:
        fail(report.reserve(epsilon=0.5, what="the first"))
    assert ledger.total_spent().epsilon == 0


def test_a_charge_serves_one_release(ledger: Ledger) -> None:
    with ledger.together() as report:
        charge = report.reserve(epsilon=0.5, what="once")
    value = number(charge)
    with pytest.raises(sg.LedgerError, match=r"used entry 2 already.*release\(2\)"):
        number(charge, source=Untouchable(1), not_private=True)
    assert ledger.release(2).gave == ({"release": "laplace", "value": value},)
    ledger.give_back(2, epsilon=0.25)
    with pytest.raises(sg.LedgerError, match=r"used entry 2 already"):
        number(charge, source=Untouchable(1), not_private=True)


def test_a_charge_that_was_given_back_pays_for_nothing(ledger: Ledger) -> None:
    with ledger.together() as report:
        charge = report.reserve(epsilon=0.5, what="not needed")
    ledger.give_back(charge.number, epsilon=0.25)
    for again in (charge, ledger.reserved(charge.number)):
        with pytest.raises(sg.LedgerError, match="got entry 2 back"):
            number(again, source=Untouchable(1), not_private=True)
    assert ledger.total_spent().epsilon * 4 == 1


def test_a_forked_copy_of_a_charge_cannot_be_used_a_second_time(ledger: Ledger) -> None:
    with ledger.together() as report:
        charge = report.reserve(epsilon=0.5, what="once")
    assert isinstance(in_forked_child(lambda: number(charge)), int)
    with pytest.raises(sg.LedgerError, match="already"):
        number(charge, source=Untouchable(1), not_private=True)


def test_a_release_may_cost_less_than_was_reserved_and_never_more(ledger: Ledger) -> None:
    with ledger.together() as report:
        charge = report.reserve(epsilon=0.5, what="half")
    with pytest.raises(sg.BudgetExceeded, match=r"0\.51 is more than was reserved for 'half', epsilon 0\.5"):
        number(charge, epsilon=0.51, source=Untouchable(1), not_private=True)
    with pytest.raises(sg.BudgetExceeded):
        charge.spend(epsilon=0.1, delta=1e-9, what="a delta that nobody reserved")
    with pytest.raises(sg.ParameterError):
        number(charge, sensitivity=0)
    number(charge, epsilon=0.25)
    assert ledger.total_spent().epsilon * 2 == 1


def test_a_charge_is_found_again_by_its_number(ledger: Ledger, place: str) -> None:
    with ledger.together() as report:
        report.reserve(epsilon=0.5, what="for later")
    spent = ledger.spend(epsilon=0.25, what="at once")
    with Ledger(place) as again:
        assert isinstance(number(again.reserved(2)), int)
        with pytest.raises(sg.LedgerError, match="already"):
            number(again.reserved(2))
        for wrong in (1, spent.number, 4, 0, -1):
            with pytest.raises(sg.ParameterError, match="^number"):
                again.reserved(wrong)
    assert "entry 2" in repr(ledger.reserved(2))


@pytest.mark.parametrize("parameter", ["epsilon", "delta", "what"])
def test_a_wrong_charge_is_refused_when_it_is_reserved(ledger: Ledger, parameter: str) -> None:
    asked: dict[str, Any] = {"epsilon": 0.5, "what": "June"} | {parameter: "two\nlines" if parameter == "what" else -1}
    with pytest.raises(sg.ParameterError, match=f"^{parameter}"), ledger.together() as report:
        report.reserve(**asked)
    assert len(ledger.entries()) == 1
