"""The keywords of the public functions: each knows its own and refuses the others, as Python does."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import sparsegate as sg
from sparsegate.gates.bounds import Setting
from sparsegate.gates.calibration import calibrate
from sparsegate.gates.variants import Scales

SEEDED: dict[str, Any] = {"source": sg.Seeded(1), "not_private": True}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "run": lambda **options: sg.run("standard", [9, 1], **SEEDED, **options),
    "run_many": lambda **options: sg.run_many("standard", [9, 1], runs=2, **SEEDED, **options),
}


@pytest.mark.parametrize("function", ["run", "run_many"])
def test_a_run_takes_no_plan_for_fewer_questions_than_it_has_answers(function: str) -> None:
    """Without threshold noise every BELOW costs, too: twelve of them at what one costs lost 5.8 and not 1."""
    shares = sg.Budget(threshold_epsilon=0, query_epsilon=1)
    with pytest.raises(TypeError, match=f"^{function}.. got an unexpected keyword argument 'queries'"):
        FUNCTIONS[function](budget=shares, queries=1)
    with pytest.raises(sg.ParameterError, match="^threshold share must be positive"):
        FUNCTIONS[function](budget=shares)


@pytest.mark.parametrize("short", [Fraction(0), Fraction(1, 10**30)])
def test_noise_is_paid_for_to_the_last_digit(short: Fraction) -> None:
    scales = Scales(Fraction(2), Fraction(6), None)  # 1/2 + 3/6
    budget = sg.Budget(threshold_epsilon=0.5, query_epsilon=Fraction(1, 2) - short)
    parameters = {"cutoff": 3, "sensitivity": 1, "monotonic": True, "scales": scales, "budget": budget}
    if not short:
        assert calibrate(Setting(row=sg.VARIANTS["standard"], **parameters), threshold=0, not_private=False).loss == 1
        return
    with pytest.raises(sg.ParameterError) as caught:
        calibrate(Setting(row=sg.VARIANTS["standard"], **parameters), threshold=0, not_private=False)
    assert caught.value.parameter == "budget"
