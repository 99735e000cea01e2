"""`sparsegate loss`: what it prints, what it refuses, what it draws."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sparsegate.cli.app import app
from sparsegate.errors import SparsegateError
from sparsegate.gates.variants import VARIANTS


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["loss", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize("key", VARIANTS)
def test_every_row_has_a_tight_epsilon_and_a_witness_for_it(key: str) -> None:
    report = json.loads(run(key, "--cutoff", "2", "--epsilon", "0.5", "--json"))
    assert len(report["answers"]) == len(report["neighbour"]) == len(report["outcome"])
    if report["tight_epsilon"] == "inf":
        assert report["loss"] == "inf" or report["loss"] > 5
    else:
        assert report["loss"] == pytest.approx(report["tight_epsilon"], rel=1e-3)


def test_lee_and_clifton_leak_almost_five_times_what_they_claim() -> None:
    text = run("lee-clifton-2014", "--cutoff", "3", "--epsilon", "0.1")
    assert "0.475   NOT within the claimed 0.1" in text


def test_the_loss_of_a_given_pair_is_computed() -> None:
    report = json.loads(run("chen-2015", "--answers", "0,0", "--neighbour", "1,-1", "--outcome", "below,A", "--json"))
    assert 0.5 < report["loss"] <= 1
    lattice = json.loads(
        run("chen-2015", "--answers", "0,0", "--neighbour", "1,-1", "--outcome", "b,above", "--json", "--lattice")
    )
    assert lattice["loss"] == pytest.approx(report["loss"], rel=0.3)
    assert lattice["loss"] != report["loss"]


def test_an_impossible_outcome_is_valid_json_and_keeps_its_sign() -> None:
    arguments = ("stoddard-2014", "--answers", "1,1", "--neighbour", "0,1", "--outcome", "B,A")
    assert json.loads(run(*arguments, "--json"), parse_constant=pytest.fail)["loss"] == "-inf"
    assert "-∞" in run(*arguments)


def test_thresholds_and_estimates_are_read() -> None:
    text = run(
        "hardt-rothblum-2010-repaired",
        "--answers",
        "5,5",
        "--neighbour",
        "6,4",
        "--outcome",
        "B,A",
        "--threshold",
        "3,4",
        "--estimates",
        "1,9",
    )
    assert "thresholds       3, 4" in text
    assert "estimates        1, 9" in text


def test_numbers_in_the_outcome_stand_for_released_values() -> None:
    report = json.loads(run("roth-2011", "--answers", "0,0", "--neighbour", "1,1", "--outcome", "B,0", "--json"))
    assert report["loss"] == pytest.approx(1)


def test_output_fits_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for key in VARIANTS:
        assert max(len(line) for line in run(key, "--cutoff", "3").splitlines()) <= 80


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        (["nobody"], "ROW"),
        (["standard", "--answers", "1"], "--answers"),
        (["standard", "--answers", "1,x", "--neighbour", "1,1", "--outcome", "A,A"], "--answers"),
        (["standard", "--answers", "0", "--neighbour", "nan", "--outcome", "A"], "--neighbour"),
        (["standard", "--answers", "0", "--neighbour", "5", "--outcome", "A"], "--neighbour"),
        (["standard", "--answers", "0", "--neighbour", "1", "--outcome", "maybe"], "--outcome"),
        (["standard", "--epsilon", "-1"], "--epsilon"),
        (["standard", "--cutoff", "0"], "--cutoff"),
        (["standard", "--threshold", "5"], "--threshold"),
        (["standard", "--queries", "1", "--answers", "0,0", "--neighbour", "1,1", "--outcome", "B,B"], "--outcome"),
        (["standard", "--plot", "/nowhere/at/all.png"], "--plot"),
        (["standard", "--plot", "picture.nonsense"], "--plot"),
    ],
)
def test_a_bad_argument_is_named(arguments: list[str], parameter: str) -> None:
    with pytest.raises(SparsegateError, match=f"^{parameter} "):
        CliRunner().invoke(app, ["loss", *arguments], catch_exceptions=False)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_picture_is_drawn(tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"loss.{ending}"
    run("standard", "--plot", str(target), "--monotonic")
    assert target.stat().st_size > 10_000
