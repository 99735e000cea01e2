"""The rules: whatever is done in whatever order, crashes included, the sums are exact and never pass the budget.

A state machine drives two handles on one ledger beside a model of plain fractions. Crashes are real: a forked child is
killed inside the transaction, or after it. And no strategy gets more out of a ledger than its budget. The search is
over all of them, for tiny gates: a strategy and what it was told is a path of openings, answers and closings, also
side by side; the loss of a path is the sum over its gates of the loss of what each said, computed exactly from
probabilities, and not from the bounds that decide what goes back.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from tests.support.processes import in_forked_child

import sparsegate as sg
from sparsegate.errors import ParameterError
from sparsegate.gates.bounds import Setting
from sparsegate.gates.calibration import Calibration, calibrate
from sparsegate.ledger import ledger as module
from sparsegate.ledger.account import Amount, EntryKind, exact_amount, exact_text, exact_value
from sparsegate.ledger.ledger import Ledger
from sparsegate.privacy.loss import loss

EPSILONS = st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1, 4), Fraction(1), Fraction(1, 10**30)])
DELTAS = st.sampled_from([Fraction(0), Fraction(1, 10**6), Fraction(1, 3 * 10**6)])
AMOUNTS = st.builds(lambda epsilon, delta: Amount(epsilon=epsilon, delta=delta), EPSILONS, DELTAS)
HANDLES = st.integers(0, 1)
MOMENTS = st.sampled_from(["inside", "after"])


def killed(work: Callable[[], Any], moment: str, entries: int) -> None:
    """Do something in a child that is killed inside its transaction, when the last entry is written, or after it."""
    written = []

    def append(*arguments: Any) -> Any:
        written.append(real(*arguments))
        if moment == "inside" and len(written) == entries:
            os.kill(os.getpid(), signal.SIGKILL)
        return written[-1]

    def die() -> None:
        module.append = append
        work()
        os.kill(os.getpid(), signal.SIGKILL)

    real = module.append
    with pytest.raises(EOFError):
        in_forked_child(die)


class Spending(RuleBasedStateMachine):
    """``spent`` and ``budget`` are what the ledger must say."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self.budget, self.spent = Amount(epsilon=Fraction(1), delta=Fraction(2, 10**6)), Amount(epsilon=Fraction(0))
        first = Ledger.create(place, dataset="visits", budget=self.budget.epsilon, budget_delta=self.budget.delta)
        self.handles = [first, Ledger(place)]
        self.unused: set[int] = set()
        self.entries: tuple[Any, ...] = first.entries()

    def _fits(self, *amounts: Amount) -> bool:
        total = sum(amounts, start=self.spent)
        return total.epsilon <= self.budget.epsilon and total.delta <= self.budget.delta

    def _spend(self, handle: int, amount: Amount) -> Any:
        return self.handles[handle].spend(epsilon=amount.epsilon, delta=amount.delta, what="one of many")

    def _reserve(self, handle: int, amounts: list[Amount]) -> list[Any]:
        with self.handles[handle].together() as group:
            return [group.reserve(epsilon=one.epsilon, delta=one.delta, what="one of several") for one in amounts]

    @rule(handle=HANDLES, amount=AMOUNTS)
    def spend(self, handle: int, amount: Amount) -> None:
        if self._fits(amount):
            self._spend(handle, amount)
            self.spent += amount
        else:
            with pytest.raises(sg.BudgetExceeded):
                self._spend(handle, amount)

    @rule(handle=HANDLES, amounts=st.lists(AMOUNTS, min_size=1, max_size=3))
    def reserve(self, handle: int, amounts: list[Amount]) -> None:
        if self._fits(*amounts):
            self.unused |= {charge.number for charge in self._reserve(handle, amounts)}
            self.spent = sum(amounts, start=self.spent)
        else:
            with pytest.raises(sg.BudgetExceeded):
                self._reserve(handle, amounts)

    @rule(handle=HANDLES, amounts=st.lists(AMOUNTS, min_size=1, max_size=3), moment=MOMENTS, together=st.booleans())
    def crash(self, handle: int, amounts: list[Amount], moment: str, together: bool) -> None:
        amounts = amounts if together else amounts[:1]
        if not self._fits(*amounts):
            return
        work = (lambda: self._reserve(handle, amounts)) if together else (lambda: self._spend(handle, amounts[0]))
        killed(work, moment, len(amounts))
        if moment == "after":
            self.spent = sum(amounts, start=self.spent)
            if together:
                count = len(self.handles[0].entries())
                self.unused |= set(range(count - len(amounts) + 1, count + 1))

    @rule(handle=HANDLES, which=st.integers(0, 99))
    def use(self, handle: int, which: int) -> None:
        reserved = [entry.number for entry in self.entries if entry.kind is EntryKind.RESERVE]
        if not reserved:
            return
        number = reserved[which % len(reserved)]
        charge = self.handles[handle].reserved(number)
        if number in self.unused:
            charge.keep(charge.spend(epsilon=charge.amount.epsilon, what="used"), {"value": number})
            self.unused.remove(number)
            assert self.handles[1 - handle].release(number).gave == ({"value": number},)
        else:
            with pytest.raises(sg.LedgerError, match="already"):
                charge.spend(epsilon=charge.amount.epsilon, what="used twice")

    @rule(handle=HANDLES, amount=AMOUNTS)
    def raise_budget(self, handle: int, amount: Amount) -> None:
        self.budget += amount
        raised = {"budget": self.budget.epsilon, "budget_delta": self.budget.delta}
        self.handles[handle].raise_budget(**raised, why="agreed")

    @invariant()
    def the_ledger_agrees_and_only_grows(self) -> None:
        first, second = (handle.statement() for handle in self.handles)
        assert first == second
        assert (first.spent, first.budget) == (self.spent, self.budget)
        assert first.spent.within(first.budget)
        assert first.entries[: len(self.entries)] == self.entries
        self.entries = first.entries

    def teardown(self) -> None:
        for handle in self.handles:
            handle.close()


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_the_sum_of_what_was_spent_never_passes_the_budget(
    store: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    made = iter(range(10**6))

    def machine() -> Spending:
        if store == "sqlite":
            return Spending(str(tmp_path / f"{next(made)}.ledger"))
        return Spending(request.getfixturevalue("cluster").database())

    few = settings(max_examples=6 if store == "sqlite" else 3, stateful_step_count=12, deadline=None, derandomize=True)
    run_state_machine_as_test(machine, settings=few)


@given(st.fractions(min_value=0, max_denominator=10**6))
def test_an_amount_reads_back_exactly_from_its_text(value: Fraction) -> None:
    assert exact_value(exact_text(value)) == value


@pytest.mark.parametrize("text", ["1e3", "-1", "1/0", " 1", "١", "", None, 1.5, "1_000"])
def test_a_text_that_is_no_amount_is_damage(text: object) -> None:
    with pytest.raises(sg.LedgerError):
        exact_value(text)


TOO_LONG = [10**5000, Fraction(1, 2**200_000), Fraction(1, 10**5000 + 7), Decimal("1e-200000")]


@pytest.mark.timeout(10)
@pytest.mark.parametrize("value", TOO_LONG, ids=["large", "fine", "odd", "small"])
def test_an_amount_that_no_text_holds_is_refused_at_once(value: Any) -> None:
    with pytest.raises(ParameterError, match="^epsilon must have at most 400 digits"):
        exact_amount(value, 0)


EPSILON, BUDGET, CUTOFF = Fraction(1), Fraction(4), 1
MOST = {"standard": 3, "liu-2024": 2, "exponential-gap": 2}  # questions at one gate: enough for most of its loss
NOISE = {"standard": "continuous", "liu-2024": "lattice", "exponential-gap": "lattice"}
GAPS = (0, 1, 7)  # what an ABOVE says beside, where the row releases the gap
FAR = 60
Cost = Callable[[int, int], Fraction]
# What a question is on D and on its neighbour: far above, far below, and at the threshold, moving up, down or not.
PAIRS = [(FAR, FAR + 1), (FAR, FAR - 1), (-FAR, -FAR - 1), (-FAR, -FAR + 1), (0, 1), (0, -1), (0, 0)]
PUBLIC: Any = {"cutoff": CUTOFF, "epsilon": EPSILON, "allocation": "1:1"}
each = pytest.mark.parametrize("monotonic", [False, True])
each_row = pytest.mark.parametrize("row", MOST)


@cache
def gate(row: str, monotonic: bool) -> Calibration:
    setting = Setting(row=sg.VARIANTS[row], monotonic=monotonic, **PUBLIC)
    return calibrate(setting, threshold=0, not_private=False)


@cache
def realised(below: int, above: int, row: str, monotonic: bool) -> float:
    """The largest loss of a transcript of one gate, over all pairs of neighbours at hand and all orders."""
    best, made = 0.0, gate(row, monotonic)
    for pairs in combinations_with_replacement(PAIRS, below + above):
        if monotonic and len({there > here for here, there in pairs if there != here}) > 1:
            continue
        # An ABOVE is the last answer of these gates, and the order of the BELOWs makes no difference.
        said = GAPS if made.row.gap and above else (True,)
        for order in {(*pairs[:place], *pairs[place + 1 :], pairs[place]) for place in range(len(pairs))}:
            here, there = ([value + made.shift for value in side] for side in zip(*order, strict=True))
            for last in said:
                outcome = [False] * below + [last] * above
                found = loss(row, here, there, outcome, noise=NOISE[row], monotonic=monotonic, **PUBLIC)
                best = max(best, found)
    return best


def worst(cost: Cost, row: str, monotonic: bool) -> float:
    """The largest loss of any path on a ledger of this budget, with at most two gates open at once."""

    @cache
    def from_here(spent: Fraction, open_gates: tuple[tuple[int, int], ...]) -> float:
        best = sum(realised(below, above, row, monotonic) for below, above in open_gates)
        if len(open_gates) < 2 and spent + EPSILON <= BUDGET:
            best = max(best, from_here(spent + EPSILON, tuple(sorted((*open_gates, (0, 0))))))
        for place, (below, above) in enumerate(open_gates):
            others = open_gates[:place] + open_gates[place + 1 :]
            if above < CUTOFF and below + above < MOST[row]:
                for said in ((below + 1, above), (below, above + 1)):
                    best = max(best, from_here(spent, tuple(sorted((*others, said)))))
            if below + above:
                back = EPSILON - cost(below, above)
                closed = realised(below, above, row, monotonic)
                best = max(best, closed + from_here(spent - back, others))
        return best

    return from_here(Fraction(0), ())


@each_row
@each
def test_no_strategy_gets_more_than_the_budget_and_too_small_a_meter_is_found(row: str, monotonic: bool) -> None:
    made = gate(row, monotonic)
    found = worst(lambda below, above: made.spent([(below, above)]), row, monotonic)
    assert 0.9 * BUDGET < found <= BUDGET + Fraction(1, 10**9)
    short = Fraction(4, 5)
    assert worst(lambda below, above: short * made.spent([(below, above)]), row, monotonic) > BUDGET * 1.05
