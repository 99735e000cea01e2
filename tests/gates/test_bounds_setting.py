"""The keywords of the public functions: each knows its own and refuses the others, as Python does."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import sparsegate as sg
from sparsegate import privacy
from sparsegate.gates.calibration import calibrate
from sparsegate.gates.variants import Scales

SEEDED: dict[str, Any] = {"source": sg.Seeded(1), "not_private": True}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "SparseVector": lambda **options: sg.SparseVector(threshold=5, cutoff=1, sensitivity=1, **SEEDED, **options),
    "run": lambda **options: sg.run("standard", [9, 1], **SEEDED, **options),
    "run_many": lambda **options: sg.run_many("standard", [9, 1], runs=2, **SEEDED, **options),
    "tight_epsilon": lambda **options: sg.privacy.tight_epsilon("standard", **options),
    "build": lambda **options: privacy.log_probability("standard", [9, 1], [True], **options),
}
EVERYWHERE = {"typo": 1, "row": "standard", "runs_": 1}
FOREIGN: dict[str, dict[str, Any]] = {
    "SparseVector": {"scales": Scales(1, 1, None), "estimates": None},  # type: ignore[arg-type]
    "run": {"queries": 1, "scales": Scales(1, 1, None)},  # type: ignore[arg-type]
    "run_many": {"queries": 1, "scales": Scales(1, 1, None)},  # type: ignore[arg-type]
    "tight_epsilon": {"sensitivity": -1, "granularity": 3, "scales": Scales(1, 1, None)},  # type: ignore[arg-type]
    "build": {"queries": 1},
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_keyword_that_a_function_does_not_have_is_refused(function: str) -> None:
    call = FUNCTIONS[function]
    call(epsilon=1)
    for name, value in {**EVERYWHERE, **FOREIGN[function]}.items():
        with pytest.raises(TypeError, match=f"argument '{name}'"):
            call(epsilon=1, **{name: value})


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
        assert calibrate("standard", threshold=0, not_private=False, **parameters).loss == 1
        return
    with pytest.raises(sg.ParameterError) as caught:
        calibrate("standard", threshold=0, not_private=False, **parameters)
    assert caught.value.parameter == "budget"
