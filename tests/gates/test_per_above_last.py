"""What a gate says after the last ABOVE that its ledger pays for: nothing, in one call as one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

import sparsegate as sg
from sparsegate.gates.sparse_vector import gate_calibration

FAR = 10**6
GATE = {"threshold": 0, "sensitivity": 1, "within": 1, "expect": 1}


@pytest.mark.parametrize("rest", [[-FAR], [FAR], [-FAR, FAR], [-FAR] * 5])
def test_a_call_ends_with_the_last_above_that_is_paid_for(tmp_path: Path, rest: list[int]) -> None:
    """Whether what follows is BELOW is one answer more, for which nothing was reserved: with [-1]*3 + [0]*3 and
    [0]*3 + [-1]*3 as neighbours the law of one call has 1.104 times the rho that is charged, at orders near 1.
    """
    price = gate_calibration(**GATE).price
    assert price is not None
    ledger = sg.Ledger.create(tmp_path / "x.ledger", dataset="visits", budget=(60, 1e-6))
    left = ledger.statement().remaining.rho
    ledger.spend(epsilon=1, rho=left - price.opening_rho - price.above_rho * 3 / 2, what="nearly all")
    gate = sg.SparseVector(**GATE, ledger=ledger)
    assert gate.ask_many([-FAR, FAR, *rest]).tolist() == [False, True]
    assert gate.closed
