"""Open, ask, close, open again, also side by side: no strategy gets more out of a ledger than its budget.

The search is over all of them, for tiny gates: a strategy and what it was told is a path of openings, answers and
closings, and the loss of a path is the sum over its gates of the loss of what each said, computed exactly, from
probabilities, and not from the bounds that decide what goes back.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import pytest

import sparsegate as sg
from sparsegate.gates.bounds import Setting
from sparsegate.gates.calibration import Calibration, calibrate
from sparsegate.privacy.loss import loss

EPSILON, BUDGET, CUTOFF = Fraction(1), Fraction(4), 1
MOST = {"standard": 4, "liu-2024": 2, "exponential-gap": 2}  # questions at one gate: enough for its whole loss
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
