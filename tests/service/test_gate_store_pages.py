"""Pages of gates: what they cost whoever looks."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.support.pretend_service import Shop, copy_gate

from sparsegate.gates.preview import gate_preview
from sparsegate.ledger.account import exact_text
from sparsegate.service import gates
from sparsegate.service.gates import GateSpec, accuracy, law

MANY = 1100


@pytest.fixture
def calibrated(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The gates whose noise was worked out anew."""
    real: Callable[..., Any] = gates.gate_calibration
    worked: list[Any] = []

    def counting(**parameters: Any) -> Any:
        worked.append(parameters)
        return real(**parameters)

    monkeypatch.setattr(gates, "gate_calibration", counting)
    return worked


def test_a_list_of_many_gates_with_a_noise_each_is_computed_once(
    tmp_path: Path, calibrated: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path)
    keeper = shop.keeper()
    gate = shop.open(keeper)
    # One stands for all: what is counted here is how often somebody sits down to it.
    seen = gate_preview(law(GateSpec(threshold=0, cutoff=1, epsilon=Fraction(1))))
    monkeypatch.setattr(gates, "gate_preview", lambda *_, **options: calibrated.append(options) or seen)
    each = [{"epsilon": exact_text(Fraction(number, 10**6))} for number in range(2, MANY + 1)]
    copy_gate(keeper.ledger.database, gate, len(each), terms=each)

    def listed() -> int:
        first = keeper.gates()
        return len(first) + len(keeper.gates(after=first[-1]["id"]))

    assert listed() == MANY
    assert len(calibrated) >= 2 * MANY
    calibrated.clear()
    assert listed() == MANY
    assert calibrated == []
    shop.shut()


@pytest.mark.parametrize("options", [{}, {"queries": 50}, {"closes": "rarer"}, {"noise": "laplace"}])
def test_the_accuracy_is_that_of_the_gate_wherever_its_threshold_lies(
    options: dict[str, Any], calibrated: list[Any]
) -> None:
    accuracy(GateSpec(threshold=7, cutoff=3, epsilon=Fraction(2, 3), **options))
    calibrated.clear()
    for threshold in (-5, 0, 1, 10**6, 10**12 + 1):
        spec = GateSpec(threshold=threshold, cutoff=3, epsilon=Fraction(2, 3), most_asks=9, **options)
        told = accuracy(spec)
        assert calibrated == [], "all of them have one noise"
        own = gate_preview(law(spec), threshold=threshold, confidence=gates.CONFIDENCE)
        assert (told.margin, told.margin_all, told.standard_error) == (own.margin, own.margin_all, own.standard_error)
        calibrated.clear()
