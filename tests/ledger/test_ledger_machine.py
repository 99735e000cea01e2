"""Any order of opening, asking, closing and raising on one ledger: sums are exact, and the budget is never passed."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

import sparsegate as sg
from sparsegate.errors import BudgetExceeded
from sparsegate.ledger.account import EntryKind
from sparsegate.ledger.gate import rounded_down
from sparsegate.ledger.ledger import Ledger

FAR = 10**6
AMOUNTS = st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(1, 10), 0.7, 1])


class Metered(RuleBasedStateMachine):
    """``realised`` and ``reserved`` are kept by hand, from what was said, beside the ledger."""

    gates = Bundle("gates")

    @initialize()
    def make(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = Ledger.create(Path(self.folder.name) / "x.ledger", dataset="x", budget=2)
        self.realised, self.reserved = Fraction(0), Fraction(0)

    @rule(target=gates, epsilon=AMOUNTS, cutoff=st.integers(1, 3), monotonic=st.booleans(), refund=st.booleans())
    def open(self, epsilon: float | Fraction, cutoff: int, monotonic: bool, refund: bool) -> object:
        exact = Fraction(str(epsilon))
        fits = self.realised + self.reserved + exact <= self.ledger.statement().budget.epsilon
        try:
            gate = sg.SparseVector(
                threshold=0,
                cutoff=cutoff,
                epsilon=epsilon,
                sensitivity=1,
                monotonic=monotonic,
                refund=refund,
                ledger=self.ledger,
            )
        except BudgetExceeded:
            assert not fits
            return multiple()
        assert fits
        self.reserved += exact
        return gate, exact, refund

    @rule(one=gates, above=st.booleans(), times=st.integers(1, 4))
    def ask(self, one: tuple[sg.SparseVector, Fraction, bool], above: bool, times: int) -> None:
        gate, exact, _ = one
        before = gate.spent
        if not gate.closed:
            gate.ask_many([FAR if above else -FAR] * times)
        assert before <= gate.spent <= exact

    @rule(one=consumes(gates), times=st.integers(1, 2))
    def close(self, one: tuple[sg.SparseVector, Fraction, bool], times: int) -> None:
        gate, exact, refund = one
        for _ in range(times):
            gate.close()
        self.reserved -= exact
        self.realised += exact - rounded_down(exact - gate.spent) if refund else exact

    @rule(epsilon=AMOUNTS)
    def spend(self, epsilon: float | Fraction) -> None:
        exact = Fraction(str(epsilon))
        if self.realised + self.reserved + exact <= self.ledger.statement().budget.epsilon:
            self.ledger.spend(epsilon=epsilon, what="another release")
            self.realised += exact

    @rule()
    def raise_budget(self) -> None:
        self.ledger.raise_budget(budget=self.ledger.statement().budget.epsilon + Fraction(1, 7), why="agreed")

    @invariant()
    def the_sums_are_exact_and_within_the_budget(self) -> None:
        statement = self.ledger.statement()
        assert statement.spent.epsilon == self.realised + self.reserved <= statement.budget.epsilon
        running, budget = Fraction(0), Fraction(0)
        for entry in statement.entries:
            if entry.kind is EntryKind.BUDGET:
                budget = entry.amount.epsilon
            else:
                running += entry.amount.epsilon if entry.kind.spends else -entry.amount.epsilon
            assert 0 <= running <= budget
        assert running == statement.spent.epsilon

    def teardown(self) -> None:
        self.ledger.close()
        self.folder.cleanup()


Metered.TestCase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestMetered = Metered.TestCase
