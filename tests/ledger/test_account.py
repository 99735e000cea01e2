"""The rules: what is killed in the middle leaves nothing; and no strategy gets more out of a ledger than its budget.

The search is over all strategies, for tiny gates: a strategy and what it was told is a path of openings, answers and
closings, also side by side; the loss of a path is the sum over its gates of the loss of what each said, computed
exactly from probabilities, and not from the bounds that decide what goes back. Random orders of all that a ledger can
do are in ``tests/service/test_gate_store_model.py``.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.processes import in_forked_child

import sparsegate as sg
from sparsegate.errors import ParameterError
from sparsegate.gates.bounds import Setting
from sparsegate.gates.calibration import Calibration, calibrate
from sparsegate.ledger import ledger as module
from sparsegate.ledger.account import Amount, exact_amount, exact_text, exact_value
from sparsegate.ledger.ledger import Ledger
from sparsegate.privacy.loss import loss


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


@pytest.mark.parametrize("moment", ["inside", "after"])
@pytest.mark.parametrize("together", [True, False])
def test_a_process_that_is_killed_has_charged_all_or_nothing(place: str, together: bool, moment: str) -> None:
    with Ledger.create(place, dataset="visits", budget=1, budget_delta=1e-6) as ledger:
        other = Ledger(place)

        def spend() -> None:
            with ledger.together() as group:
                for delta in (0, 1e-6):
                    group.reserve(epsilon=Fraction(1, 3), delta=delta, what="one of two")

        alone = {"epsilon": Fraction(2, 3), "delta": 1e-6, "what": "a release"}
        killed(spend if together else lambda: ledger.spend(**alone), moment, 2 if together else 1)  # type: ignore[arg-type]
        charged = Amount(epsilon=Fraction(2, 3), delta=Fraction(1, 10**6), rho=ledger.total_spent().rho)
        assert other.total_spent() == (charged if moment == "after" else Amount(epsilon=Fraction(0)))
        ledger.spend(epsilon=Fraction(1, 3), what="what is left in any case")
        if moment == "after" and together:
            number = other.reserved(2)
            number.keep(number.spend(epsilon=Fraction(1, 3), what="used by the next process"), {"value": 5})
            assert ledger.release(2).gave == ({"value": 5},)
        other.close()


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
