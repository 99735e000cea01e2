"""`sparsegate loss`: what it prints, what it refuses, what it draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sparsegate.gates.variants import VARIANTS


@pytest.fixture
def loss(command):
    """The report of a loss as JSON."""

    def run(*arguments: str) -> dict[str, Any]:
        code, out, _ = command("loss", *arguments, "--json")
        assert code == 0
        return json.loads(out, parse_constant=pytest.fail)

    return run


@pytest.mark.parametrize("key", VARIANTS)
def test_every_row_fits_the_screen(command, key: str) -> None:
    assert max(len(line) for line in command("loss", key, "--cutoff", "3")[1].splitlines()) <= 80


def test_lee_and_clifton_leak_almost_five_times_what_they_claim(command, loss) -> None:
    asked = ("lee-clifton-2014", "--cutoff", "3", "--epsilon", "0.1")
    assert "0.475   NOT within the claimed 0.1" in command("loss", *asked)[1]
    report = loss(*asked)
    assert len(report["answers"]) == len(report["neighbour"]) == len(report["outcome"])
    assert report["loss"] == pytest.approx(report["tight_epsilon"], rel=1e-3)
    assert loss("roth-2011")["tight_epsilon"] == "inf"


def test_the_loss_of_a_given_pair_is_computed(command, loss) -> None:
    pair = ("chen-2015", "--answers", "0,0", "--neighbour", "1,-1", "--outcome")
    exact = loss(*pair, "below,A")["loss"]
    lattice = loss(*pair, "b,above", "--lattice")["loss"]
    assert 0.5 < exact <= 1
    assert lattice == pytest.approx(exact, rel=0.3)
    assert lattice != exact
    values = ("roth-2011", "--answers", "0,0", "--neighbour", "1,1", "--outcome", "B,0")
    assert loss(*values)["loss"] == pytest.approx(1), "numbers stand for released values"
    impossible = ("stoddard-2014", "--answers", "1,1", "--neighbour", "0,1", "--outcome", "B,A")
    assert loss(*impossible)["loss"] == "-inf"
    assert "-∞" in command("loss", *impossible)[1]
    errors = ("hardt-rothblum-2010-repaired", "--answers", "5,5", "--neighbour", "6,4", "--outcome", "B,A")
    text = command("loss", *errors, "--threshold", "3,4", "--estimates", "1,9")[1]
    assert "thresholds       3, 4" in text
    assert "estimates        1, 9" in text


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ("nobody", "ROW"),
        ("standard --answers 1", "--answers"),
        ("standard --answers 0 --neighbour nan --outcome A", "--neighbour"),
        ("standard --answers 0 --neighbour 1 --outcome maybe", "--outcome"),
        ("standard --epsilon -1", "--epsilon"),
        ("standard --threshold 5", "--threshold"),
        ("standard --queries 1 --answers 0,0 --neighbour 1,1 --outcome B,B", "--outcome"),
        ("standard --plot /nowhere/at/all.png", "--plot"),
    ],
)
def test_a_bad_argument_is_named(refused, arguments: str, parameter: str) -> None:
    assert refused("loss", *arguments.split()).split()[0] == parameter


def test_the_picture_is_drawn(command, tmp_path: Path) -> None:
    target = tmp_path / "loss.svg"
    assert command("loss", "standard", "--plot", target, "--monotonic")[0] == 0
    assert target.stat().st_size > 10_000
