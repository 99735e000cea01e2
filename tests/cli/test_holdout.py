"""`sparsegate holdout`: scores, what they cost, and what is refused."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import sparsegate as sg

ASKED = ("--size", 2000, "-t", 0.1, "-c", 5, "--epsilon", 500)
LEDGER = ("--ledger", "board.ledger")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two models on 2,000 records for training and for the holdout: one is as good on both, one is not."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(1)
    for name, rights in (("train.csv", (0.9, 1.0)), ("held.csv", (0.9, 0.7))):
        rows = []
        for _ in range(2000):
            label = rng.randrange(3)
            rows.append(",".join(map(str, [label, *(label if rng.random() < p else label + 3 for p in rights)])))
        Path(name).write_text("y,steady,lucky\n" + "\n".join(rows) + "\n")


@pytest.mark.usefixtures("files")
def test_models_are_scored_from_predictions_and_the_budget_lives_in_the_ledger(command: Any) -> None:
    asked = ("holdout", "train.csv", "held.csv", "--label", "y", *ASKED, *LEDGER)
    code, out, err = command(*asked, "--budget", 500, "--dataset", "labels")
    assert (code, err) == (0, "")
    steady, lucky, summary = out.splitlines()
    assert steady.split()[-2:] == ["free", "steady"]
    assert lucky.split()[-2:] == ["paid", "lucky"]
    assert float(lucky.split()[0]) == pytest.approx(0.7, abs=0.04)
    assert summary.endswith("in the ledger of 'labels'; another call can pay for 3 answers")
    lines = [json.loads(line) for line in command(*asked, "--json")[1].splitlines()]
    told = [(line["model"], line["paid"], line["remaining"]) for line in lines]
    assert told == [("steady", False, 3), ("lucky", True, 2)]
    with sg.Ledger("board.ledger") as ledger:
        assert ledger.total_spent().epsilon < 500


@pytest.mark.usefixtures("files")
def test_on_a_zcdp_ledger_all_counts_and_a_name_is_opened_once(command: Any) -> None:
    made = (*LEDGER, "--budget", 5000, "--conversion-delta", 1e-6, "--dataset", "labels")
    out = command("holdout", "train.csv", "held.csv", "--label", "y", *ASKED, *made)[1]
    assert "this holdout counts with rho " in out
    assert "whatever it said, in the ledger of 'labels'; nothing goes back to a zCDP ledger" in out
    code, _, err = command("holdout", "train.csv", "held.csv", "--label", "y", *ASKED, *LEDGER)
    assert (code, "is used up" in err) == (2, True)
    once = (*ASKED[:4], "-c", 1, *ASKED[6:], "--models", "lucky,steady")
    code, out, err = command("holdout", "train.csv", "held.csv", "--label", "y", *once)
    assert (code, out.split()[-2:], "all 1 answers are paid for" in err) == (2, ["paid", "lucky"], True)


@pytest.mark.usefixtures("files")
def test_values_of_records_are_numbers_in_a_range_and_what_is_none_is_the_least(command: Any) -> None:
    Path("a.csv").write_text("loss\n" + "2\n" * 100)
    Path("b.csv").write_text("loss\n" + "-2\n" * 50 + "x\n" * 25 + "9\n" * 25)
    asked = ("--size", 100, "-t", 0.5, "-c", 5, "--epsilon", 5000, "--low", -2, "--high", 2)
    code, out, _ = command("holdout", "a.csv", "b.csv", *asked)
    assert code == 0
    assert float(out.split()[0]) == pytest.approx(-1, abs=0.05)
    assert out.endswith("not recorded\n")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--label", "z"), "the table has no column 'z'"),
        (("--models", "steady,lukcy"), "did you mean 'lucky'"),
        (("--label", "y", "--models", "y"), "--models must name a column to score"),
        (("-t", 2), "--threshold must"),
        ((*LEDGER, "--budget", 1), "--dataset must be given for a new ledger"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_spends_nothing(refused: Any, options: Any, said: str) -> None:
    assert said in refused("holdout", "train.csv", "held.csv", *ASKED, *options)
    assert not Path("board.ledger").exists()
