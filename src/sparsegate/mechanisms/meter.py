"""What a gate has cost, answer by answer; and what goes back when it has given its last one.

The cost is L(m,k) of ``bounds`` for the transcript so far, with the gate's own noise: exactly, and at most the budget.
``ledger.account`` proves that the rest may go back when the gate is closed. For gates with gaps, of one-sided or of
Laplace noise, side by side under one budget, Machine-checked: `metered_gates_are_private`, `metered_gates_sum_to_one`
(proofs/metered_gates.v). Without gaps, two-sided ones too, Machine-checked: `metered_rows_are_private`,
`metered_rows_sum_to_one` (proofs/metered_rows.v); and where the ledger's machine decides, Machine-checked:
`metered_by_the_ledger`, `ledger_rows_are_private`, `ledger_rows_sum_to_one` (proofs/ledger_rows.v); with gaps,
Machine-checked: `gaps_metered_by_the_ledger`, `ledger_gap_rows_are_private`, `ledger_gap_rows_sum_to_one`
(proofs/ledger_gap_rows.v).

Machine-checked: `metered_losses_grow`, `metered_losses_are_reserved` (proofs/ledger_losses.v).
Machine-checked: `gap_losses_grow`, `gap_losses_are_reserved` (proofs/ledger_gap_losses.v).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from sparsegate.budget import Charge
from sparsegate.mechanisms.calibration import Calibration


class Meter:
    """The meter of one gate; ``charge`` is what gets back the rest, None where nothing goes back."""

    __slots__ = ("_calibration", "_charges", "_ends")

    def __init__(self, calibration: Calibration, charge: Charge | None) -> None:
        self._calibration = calibration
        self._charges = [] if charge is None else [charge]
        self._ends: list[int] = []  # how many were asked at each redraw of rho

    def redrawn(self, asked: int) -> None:
        """The threshold noise was drawn anew: a round is over."""
        self._ends.append(asked)

    def spent(self, asked: int, positives: int) -> Fraction:
        """What this many answers, and this many ABOVE among them, have cost."""
        if not self._calibration.row.redraws_threshold:
            return self._calibration.spent([(asked - positives, positives)])
        ends = [0, *self._ends]
        rounds = [(end - start - 1, 1) for start, end in pairwise(ends)]
        return self._calibration.spent([*rounds, (asked - ends[-1], 0)])

    def give_back(self, spent: Fraction) -> None:
        """Give back all but what was spent: once, or again where the ledger could not be written."""
        try:
            charge = self._charges.pop()  # of two threads one gets it
        except IndexError:
            return
        if not charge.give_back(self._calibration.budget.total - spent):
            self._charges.append(charge)
