"""What a gate will be good for: several answers at once, other epsilons, and when to warn."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.display import valid
from tests.support.goodness import discrete_laplace_mass, geometric_mass

import sparsegate as sg
from sparsegate.gates.calibration import Calibration
from sparsegate.gates.preview import gate_preview
from sparsegate.gates.sparse_vector import gate_calibration

KINDS = [{"noise": "exponential"}, {"noise": "laplace"}, {"closes": "rarer"}, {"queries": 12}]


GIVEN: dict[str, Any] = {"threshold": 100, "cutoff": 8, "epsilon": Fraction(1), "sensitivity": 1, "monotonic": True}


def made(**options: Any) -> Calibration:
    return gate_calibration(**GIVEN | options)


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
    preview = gate_preview(calibration)
    assert preview.answers == kind.get("queries", 8)
    assert 0.01 < wrong_once(calibration, int(preview.margin_all), preview.answers) <= 0.05
    # The margin of one answer is not that of several.
    assert wrong_once(calibration, int(preview.margin), preview.answers) > 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_the_curves_are_what_gates_of_these_epsilons_and_cutoffs_have(kind):
    preview = sg.SparseVector.preview(**GIVEN | kind)
    assert len(preview.points("epsilon")) == 12
    assert (1, made(**kind).margin(0.95)) in preview.points("epsilon")
    for epsilon, margin in preview.points("epsilon"):
        assert made(**kind, epsilon=epsilon).margin(0.95) == pytest.approx(margin, abs=1), epsilon
    assert [cutoff for cutoff, _ in preview.points("cutoff")] == [1, 2, 4, 8, 16, 40, 80]
    for cutoff, margin in preview.points("cutoff"):
        assert made(**kind, cutoff=cutoff).margin(0.95) == margin, cutoff


def test_cutoffs_whose_plans_take_long_have_no_point():
    preview = sg.SparseVector.preview(**GIVEN | {"cutoff": 30, "queries": 300})
    assert [cutoff for cutoff, _ in preview.points("cutoff")] == [3, 6, 15, 30, 60]


def test_a_gate_that_tells_nothing_is_warned_about():
    def warning(threshold, **options):
        return gate_preview(made(**options), threshold=threshold).warning

    weak = {"cutoff": 25, "epsilon": Fraction(1, 2)}
    assert (warning(1000, **weak), warning(92, **weak), warning(None, **weak)) == ("", "", "")
    remedy = "Take a larger epsilon, a smaller cutoff or a larger threshold."
    said = warning(70, **weak)
    assert said.startswith("The margin, 92, is larger than the threshold, 70")
    assert said.endswith(f"from 0. {remedy}")
    both = warning(5, **weak)
    assert "The standard error of an estimate, 59, is larger than the threshold, 5: " in both
    assert both.count(remedy) == 1, "advice is given once"
    assert ", is larger than the threshold, 1,234,567:" in warning(1_234_567, epsilon=Fraction(1, 10**6))
    assert "standard error" not in warning(-5, closes="rarer"), "it carries no estimate"


def test_a_preview_takes_what_the_gate_takes_and_says_what_the_gate_has(tmp_path):
    with sg.Ledger.create(tmp_path / "book", dataset="book", budget=1) as ledger:
        given = {**GIVEN, "sensitivity": 1.0, "ledger": ledger, "refund": False, "source": sg.Secure(), "delta": 0}
        preview = sg.SparseVector.preview(**given)
        assert ledger.statement().spent.epsilon == 0
        gate = sg.SparseVector(**given)
    assert preview.margin == gate.margin()
    assert (preview.epsilon, preview.delta) == (gate.budget.total, gate.budget.delta)
    assert preview.standard_error == gate.ask(1e9).standard_error
    with pytest.raises(TypeError, match="SparseVector.preview"):
        sg.SparseVector.preview(**given, colour="red")
    with pytest.raises(sg.ParameterError, match="confidence"):
        sg.SparseVector.preview(**GIVEN, confidence=1)


@pytest.mark.parametrize(
    ("kind", "within"),
    [({}, 1), ({}, 150), ({"closes": "rarer"}, 7), ({"queries": 12}, 150), ({"sensitivity": 0.5}, 10**7)],
)
def test_the_epsilon_of_a_wanted_margin_is_the_least_of_three_digits(kind, within):
    given = {name: value for name, value in (GIVEN | kind).items() if name != "epsilon"}
    preview = sg.SparseVector.preview(**given, within=within)
    assert preview.margin <= within
    digits = f"{float(preview.epsilon):.2e}"
    assert Fraction(digits) == preview.epsilon
    last = preview.epsilon - Fraction(f"1e{int(digits.partition('e')[2]) - 2}")
    assert sg.SparseVector.preview(**given, epsilon=last).margin > within


def test_a_preview_shows_itself(tmp_path):
    preview = sg.SparseVector.preview(**GIVEN | {"threshold": 10})
    assert repr(preview).startswith("<Preview: ε = 1, cutoff 8: an answer 18 or more from the threshold 10 is right")
    assert preview.warning in repr(preview)
    found = preview.to_dict()
    assert valid(found)
    assert (found["schema"], found["epsilon"], found["accuracy"]["margin"]) == ("sparsegate/preview/1", "1", 18)
    assert found["curves"][1]["points"][-1] == [80, preview.points("cutoff")[-1][1]]
    assert preview.warning in preview._repr_html_().replace("&#x27;", "'")
    assert preview.to_pandas().shape == (12 + 7, 3)
    assert pickle.loads(pickle.dumps(preview)).to_dict() == found
    assert preview.to_polars()["epsilon"].to_list()[0] == preview.points("epsilon")[0][0]
    figure = preview.plot()
    left, right = figure.axes
    assert (left.get_xlabel(), right.get_xlabel()) == ("epsilon", "cutoff")
    assert list(preview.points("cutoff")) == list(zip(*right.lines[0].get_data(), strict=True))
    figure.savefig(tmp_path / "preview.png")
    assert (tmp_path / "preview.png").stat().st_size > 5000
