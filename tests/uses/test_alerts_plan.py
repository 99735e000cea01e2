"""The two ways to watch counts: what each costs, exactly, on a person in all windows and in w; and where they cross."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

import sparsegate as sg
from sparsegate.gates.bounds import tight_loss
from sparsegate.gates.sparse_vector import gate_calibration
from sparsegate.gates.variants import Scales
from sparsegate.privacy import loss, worst_case
from sparsegate.privacy.loss import worst_outcome
from sparsegate.privacy.model import build
from sparsegate.uses.alerts import AlertPlan


def counts_law(counts: tuple[int, ...], scale: Fraction, said: tuple[int, ...]) -> float:
    """ln of the probability that noisy counts of this scale are ``said``, by the law of discrete Laplace noise."""
    centre = math.log(math.tanh(0.5 / float(scale)))
    return sum(centre - abs(x - q) / float(scale) for q, x in zip(counts, said, strict=True))


@pytest.mark.parametrize("closes", ["above", "rarer"])
def test_the_gate_costs_epsilon_for_a_person_in_every_window_and_a_twin_with_less_noise_more(closes) -> None:
    made = gate_calibration(**AlertPlan.of(0, 2, 1, closes=closes).gate_options)
    public = {"cutoff": 2, "monotonic": True, "scales": made.scales, "noise": "lattice", "sensitivity": 1}
    worst = worst_case(made.row, cutoff=2, monotonic=True, scales=made.scales)
    assert worst.tight == pytest.approx(1)
    assert 0.99 <= worst.loss <= 1 + 1e-9
    # On the lattice, as it runs: forty windows, a person in all of them, the last two fire.
    here, there, said = [0] * 42, [1] * 42, [False] * 40 + [True] * 2
    assert 0.3 < loss(made.row, here, there, said, **public) <= 1 + 1e-9
    twin = Scales(made.scales.threshold, made.scales.query * Fraction(4, 5), None)
    assert tight_loss(made.row, twin, cutoff=2, monotonic=True, queries=None) > Fraction(11, 10)


@pytest.mark.parametrize("moved", [1, 2, 3])
def test_noisy_counts_cost_epsilon_for_a_person_in_w_windows_and_more_in_one_more(moved) -> None:
    windows, scale = moved + 1, Fraction(moved)  # w / epsilon
    for with_person in product((0, 1), repeat=windows):
        here, there = (3,) * windows, tuple(3 + one for one in with_person)
        losses = [
            abs(counts_law(here, scale, said) - counts_law(there, scale, said))
            for said in product((0, 3, 4, 9), repeat=windows)
        ]
        assert max(losses) == pytest.approx(sum(with_person) / moved)
        assert (max(losses) <= 1 + 1e-12) == (sum(with_person) <= moved)
    alert = sg.uses.Alert(threshold=5, cutoff=9, epsilon=1, windows_per_user=moved, method="counts")
    assert [alert._draws.loss(n, 0) for n in (0, 1, 99)] == [0, Fraction(1, moved), 1]


def test_the_second_coupling_holds_on_a_laplace_gate_and_adds_nothing() -> None:
    """A person in one window of four: at most r, whatever the threshold noise; in two windows 2 r."""
    model = build("standard", cutoff=4, monotonic=True, scales=Scales(Fraction(1, 3), Fraction(2), None))
    for moved in (1, 2):
        found = []
        for start in product((0, 6), repeat=4):
            here, there = (model.compare([q + by * (i < moved) for i, q in enumerate(start)], 0, None) for by in (0, 1))
            found += [worst_outcome(here, there).loss, worst_outcome(there, here).loss]
        assert 0.9 * moved / 2 <= max(found) <= moved / 2 + 1e-9


def test_public_numbers_choose_and_the_margins_and_crossings_on_the_page_are_those_of_the_gates() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "alerts.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| (\d+) \| ([\d.]+), up to w = (\d+) \|", page, re.MULTILINE)
    assert len(rows) == 6
    for cutoff, margin, crossing, margin_all, crossing_all in rows:
        made = {"threshold": 1, "cutoff": int(cutoff), "epsilon": 0.01}
        gate = sg.uses.Alert.preview(**made, most_windows=288, method="gate")
        assert (round(gate.margin / 100, 1), round(gate.margin_all / 100, 1)) == (float(margin), float(margin_all))
        for bounds, most in ((made, crossing), (made | {"most_windows": 288}, crossing_all)):
            chosen = [sg.uses.Alert.preview(**bounds, windows_per_user=int(most) + more).method for more in (0, 1)]
            assert chosen == ["counts", "gate"]


def test_a_preview_says_what_the_alert_will_and_few_windows_are_planned_for() -> None:
    options = {"threshold": 100, "cutoff": 10, "epsilon": 0.5, "windows_per_user": 2, "ledger": "not looked at"}
    preview = sg.uses.Alert.preview(**options)
    said = "a noisy count of every window: right with 95 % for a count 10 or more from the threshold (gate 43; noisy"
    assert preview.statement.startswith(said)
    assert preview.alternatives == ({"method": "gate", "margin": 43}, {"method": "counts *", "margin": 10})
    assert preview == sg.uses.Alert(**options | {"ledger": None}).plan
    free, few = (
        sg.uses.Alert.preview(threshold=9, cutoff=10, epsilon=1, method="gate", most_windows=n) for n in (None, 12)
    )
    assert few.margin < free.margin
    assert free.margin_all is None
    made = gate_calibration(**AlertPlan.of(100, 10, 1).gate_options)
    assert free.quiet_cost == 1 / made.scales.threshold < Fraction(1, 5)
    assert preview.quiet_cost == preview.epsilon


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"threshold": 1.5}, "threshold"),
        ({"threshold": True}, "threshold"),
        ({"cutoff": 0}, "cutoff"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"windows_per_user": 0}, "windows_per_user"),
        ({"most_windows": 1.5}, "most_windows"),
        ({"method": "best"}, "method"),
        ({"method": "counts"}, "method"),
        ({"method": "counts", "windows_per_user": 1, "closes": "rarer"}, "closes"),
        ({"closes": "never"}, "closes"),
        ({"windows": "5m"}, "windows"),
        ({"fires": "sideways"}, "fires"),
    ],
)
def test_what_is_wrong_is_named(options, parameter) -> None:
    with pytest.raises(sg.ParameterError) as refused:
        sg.uses.Alert.preview(**{"threshold": 100, "cutoff": 10, "epsilon": 1, **options})
    assert refused.value.parameter == parameter
