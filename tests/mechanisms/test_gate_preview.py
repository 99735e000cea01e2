"""What a gate will be good for: several answers at once, other epsilons, and when to warn."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.goodness import discrete_laplace_mass, geometric_mass

from sparsegate.mechanisms.calibration import Calibration
from sparsegate.mechanisms.gate_preview import GatePreview, margin_curve
from sparsegate.mechanisms.sparse_vector import gate_calibration

KINDS = [{"noise": "exponential"}, {"noise": "laplace"}, {"closes": "rarer"}, {"queries": 12}]


def made(**options: Any) -> Calibration:
    given = {"threshold": 100, "cutoff": 8, "epsilon": Fraction(1), "sensitivity": 1, "monotonic": True}
    return gate_calibration(**given | options)


def wrong_once(calibration: Calibration, steps: int, answers: int) -> float:
    """The exact chance that one of ``answers`` is wrong where whoever asks knows rho, and takes the worse side."""
    mass = geometric_mass if calibration.row.noise.name == "EXPONENTIAL" else discrete_laplace_mass
    reach = range(-2000, 2001) if mass is discrete_laplace_mass else range(4001)
    scales = calibration.scales
    rhos = mass(float(scales.threshold), reach) if scales.threshold else {0: 1.0}
    nus = mass(float(scales.query), reach)
    nu, chance = np.array(list(nus)), np.array(list(nus.values()))
    found = 0.0
    for rho, probability in rhos.items():
        bar = rho + calibration.shift
        worse = max(chance[nu < bar - steps].sum(), chance[nu >= bar + steps].sum())
        found += probability * (1 - (1 - min(worse, 1.0)) ** answers)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_with_95_percent_no_answer_of_several_is_wrong_even_for_whoever_knows_the_threshold_noise(kind):
    calibration = made(**kind)
    preview = GatePreview.of(calibration)
    assert preview.answers == kind.get("queries", 8)
    assert 0.01 < wrong_once(calibration, int(preview.margin_all), preview.answers) <= 0.05
    # The margin of one answer is not that of several.
    assert wrong_once(calibration, int(preview.margin), preview.answers) > 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_the_curve_is_what_gates_of_these_epsilons_have(kind):
    curve = margin_curve(made(**kind))
    assert len(curve) == 12
    assert (Fraction(1), made(**kind).margin(0.95)) in curve
    for epsilon, margin in curve:
        assert made(**kind, epsilon=epsilon).margin(0.95) == pytest.approx(margin, abs=1), epsilon


def test_there_is_no_point_where_no_lattice_carries_the_noise():
    shown = [float(epsilon) / 1e-13 for epsilon, _ in margin_curve(made(epsilon=Fraction(1, 10**13)))]
    assert shown == pytest.approx([0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10])


def test_a_gate_that_tells_nothing_is_warned_about():
    preview = GatePreview.of(made(cutoff=25, epsilon=Fraction(1, 2)))
    assert (preview.margin, preview.warning(1000), preview.warning(92)) == (92, "", "")
    remedy = "Take a larger epsilon, a smaller cutoff or a larger threshold."
    said = preview.warning(70)
    assert said.startswith("The margin, 92, is larger than the threshold, 70")
    assert said.endswith(f"from 0. {remedy}")
    both = preview.warning(5)
    assert "The standard error of an estimate, 59, is larger than the threshold, 5: " in both
    vague = GatePreview.of(made(epsilon=Fraction(1, 10**6)))
    assert ", is larger than the threshold, 1,234,567:" in vague.warning(1_234_567)
    assert both.count(remedy) == 1, "advice is given once"
    assert "standard error" not in GatePreview.of(made(closes="rarer")).warning(-5), "it carries no estimate"


def test_a_warning_rounds_an_error_up():
    errors = {"confidence": 0.95, "margin_all": 200.0, "answers": 5}
    preview = GatePreview(margin=133.0009, standard_error=5.0409, **errors)
    assert "The margin, 134, is" in preview.warning(5)
    assert "an estimate, 5.04, is" in preview.warning(5)
