"""`sparsegate top --preview`: said from public numbers, without the data; and what is hopeless is not charged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import ASK, Command

import sparsegate as sg

PREVIEW = ("top", "--preview", "-c", "50", "--domain", "40000")


@pytest.fixture(autouse=True)
def nothing_is_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_it_says_what_python_says_and_opens_nothing(command: Command) -> None:
    code, out, err = command(*PREVIEW, "nowhere.parquet", "--epsilon", "0.5", "--ledger", "no.ledger", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == json.loads(json.dumps(sg.preview(count=50, epsilon=0.5, domain=40_000).to_dict()))
    assert list(Path().iterdir()) == []


def test_a_table_fits_80_columns_and_says_one_honest_sentence(command: Command) -> None:
    code, out, _ = command(
        *(*PREVIEW, "--epsilon", "0.01", "--delta", "1e-6", "--answers-epsilon", "0.2", "--within", "100"),
        *("--people", "20", "--like", "zipf", "--max-items-per-user", "3"),
    )
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    text = " ".join(out.split())
    assert "whatever the data are" in text
    assert "Hopeless: " in text
    assert "Within 100 needs --epsilon" in text
    assert text.endswith("The table was not read, and nothing was charged.")


def test_without_epsilon_within_gives_it_and_candidates_of_a_file_are_counted(command: Command) -> None:
    out = json.loads(command(*PREVIEW, "--within", "100", "--json")[1])
    assert out["epsilon"] == out["accuracy"]["needed_epsilon"]
    assert out["accuracy"]["within"] <= 100
    Path("pages.csv").write_text("page\n" + "\n".join(f"/{page}" for page in range(300)) + "\n/0\n")
    out = command("top", "--preview", "-c", "5", "--epsilon", "1", "--domain", "pages.csv", "--json")[1]
    assert json.loads(out)["settings"]["domain_size"] == 300
    assert command(*PREVIEW, "--epsilon", "0.5", "--format", "markdown", "--plot", "accuracy.png")[0] == 0
    assert Path("accuracy.png").read_bytes()[:4] == b"\x89PNG"
    assert command(*PREVIEW, "--epsilon", "0.5", "--plot", "nowhere/accuracy.png")[0] == 2


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "option"),
    [
        (("top", "x.csv", "-c", "5", "--domain", "9"), "--epsilon"),
        (("top", "-c", "5", "--domain", "9", "--epsilon", "1"), "file"),
        ((*PREVIEW, "--epsilon", "1", "--like", "nowhere.csv"), "--like"),
        (("top", "x.csv", *PREVIEW[1:], "--epsilon", "1", "--like", "./x.csv"), "--like"),
        (("top", "pag*.csv", *PREVIEW[1:], "--epsilon", "1", "--like", "pages.csv"), "--like"),
        (("top", "pages.csv", *PREVIEW[1:4], "--epsilon", "1", "--domain", "./pages.csv:page"), "--domain"),
        ((*PREVIEW[:4], "--domain", "9", "--epsilon", "1"), "--count"),
    ],
)
def test_what_is_missing_or_makes_no_sense_is_refused(refused, options: tuple[str, ...], option: str) -> None:
    assert refused(*options).split()[0] == option


def test_it_loads_no_engine_and_nothing_heavy() -> None:
    """A cold process stays below a second: what it must not import is what takes long. (A delta needs mpmath.)"""
    heavy = ("duckdb", "scipy", "matplotlib", "pandas", "sqlalchemy", "pyarrow")
    code = (
        f"import sys; from sparsegate.cli import main; sys.argv = ['sparsegate', *{(*PREVIEW, '--epsilon', '1')!r}]\n"
    )
    code += f"try: main()\nexcept SystemExit: pass\nprint([name for name in {heavy!r} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[]"


def test_a_release_says_within_and_a_hopeless_one_is_not_charged(command: Command, folder: Path) -> None:
    ledger = ("--ledger", "visits.ledger", "--budget", "100", "--dataset", "visits")
    asked = ("top", "visits.csv", *ASK[:-1], "1", "--domain", "pages.csv")
    code, out, err = command(*asked, "--people", "2", *ledger)
    assert (code, out) == (2, "")
    assert "--epsilon must be larger for 2 people" in err
    assert not Path("visits.ledger").exists()
    promise = sg.preview(count=3, epsilon=1, domain=100)
    told = json.loads(command(*asked, "--people", "1000", *ledger, "--json")[1])
    assert told["record"]["within"] == promise.within
    assert f"{promise.within} users of the true number 3" in " ".join(command(*asked)[1].split())


def test_the_star_is_on_what_won_on_the_stand_in_and_the_end_says_what_would_help(command: Command) -> None:
    asked = (*PREVIEW[:4], "--epsilon", "0.2", "--domain", "1000000", "--like", "1700:50")
    out = " ".join(command(*asked)[1].split())
    assert "one-shot *" in out
    assert "* won on the stand-in; subset would run." in out
    assert "What would help: --delta 1e-06: within" in out
    assert "--max-items-per-user 10: within" in out
    assert "without --answers-epsilon, --epsilon 0.3: within" in " ".join(
        command(*asked, "--ordered", "--answers-epsilon", "0.1")[1].split()
    )
