"""`sparsegate theorems`: what it prints, and when it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from sparsegate.cli import theorems
from sparsegate.paper.theorems import CLAIMS, SECTIONS, ClaimVerdict

QUICK = ("definition", "slip-alg-3-scales", "alg-5", "gptt-kappa")


@pytest.fixture
def quick(monkeypatch):
    """Only a few claims, and those with the changes that are asked for."""

    def choose(**changes: object) -> None:
        chosen = {key: replace(CLAIMS[key], **changes) for key in QUICK}
        monkeypatch.setattr(theorems, "CLAIMS", chosen)
        monkeypatch.setattr(
            theorems,
            "SECTIONS",
            {title: tuple(chosen[c.key] for c in group if c.key in chosen) for title, group in SECTIONS.items()},
        )

    choose()
    return choose


@pytest.mark.soak
def test_the_whole_paper_is_checked_and_fits_eighty_columns() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from sparsegate.cli import main; main()", "theorems"],
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    first_words = {words[0] for line in done.stdout.splitlines() if (words := line.split())}
    assert set(CLAIMS) <= first_words
    assert max(len(line.rstrip()) for line in done.stdout.splitlines()) <= 80
    assert "…" not in done.stdout
    assert theorems.LEGEND in done.stdout


def test_the_overview_has_each_claim_beside_what_was_measured(command, quick, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    lines = command("theorems")[1].splitlines()
    for key in QUICK:
        first = next(i for i, line in enumerate(lines) if line.split()[:1] == [key])
        assert CLAIMS[key].check().evidence in lines[first]
        assert lines[first + 1].strip() == CLAIMS[key].statement


def test_in_brief_there_is_a_line_for_each_claim_and_of_one_its_measurement_alone(command, quick) -> None:
    measured = {key: CLAIMS[key].check().evidence for key in QUICK}
    assert command("theorems", "--brief")[1].splitlines() == [f"{key}: {said}" for key, said in measured.items()]
    assert command("theorems", "alg-5", "--brief")[1] == f"{measured['alg-5']}\n"


def test_a_verdict_that_is_not_the_documented_one_is_marked_and_exits_1(command, quick) -> None:
    assert command("theorems")[0] == 0
    quick(expected=ClaimVerdict.TIGHT)
    code, out, _ = command("theorems")
    assert code == 1
    assert "over-claims !" in out


def test_a_claim_documented_as_wrong_that_measures_wrong_is_no_failure(command) -> None:
    code, out, _ = command("theorems", "gptt-kappa")
    assert code == 0
    assert "wrong" in out


@pytest.mark.parametrize("key", QUICK)
def test_the_detail_view_shows_statement_place_and_every_part(command, monkeypatch, key: str) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    _, out, _ = command("theorems", key)
    claim, finding = CLAIMS[key], CLAIMS[key].check()
    said = [
        claim.statement,
        claim.place,
        finding.evidence,
        str(finding.verdict),
        *(part.what for part in finding.parts),
    ]
    assert [sentence for sentence in said if sentence not in out] == []
    assert out.count("fails: ") == sum(not part.holds for part in finding.parts)


def test_json_holds_every_claim_with_its_parts_and_no_bare_infinity(command, quick) -> None:
    code, out, err = command("theorems", "--json")
    records = json.loads(out, parse_constant=pytest.fail)
    assert (code, err) == (0, "")
    assert [record["key"] for record in records] == list(QUICK)
    assert {record["verdict"] for record in records} == {"over-claims", "holds", "wrong"}
    (infinite,) = [p for r in records for p in r["parts"] if p["measured"] == "inf"]
    assert infinite["what"] == "loss after two queries"


def test_json_of_one_key_is_an_array_of_one(command) -> None:
    (record,) = json.loads(command("theorems", "alg-5", "--json")[1])
    assert (record["place"], record["expected"], record["verdict"]) == ("Sec. 3.2, Thm. 3", "holds", "holds")


def test_a_failing_verdict_exits_1_with_json_too(command, quick) -> None:
    quick(expected=ClaimVerdict.TIGHT)
    code, out, _ = command("theorems", "--json")
    assert code == 1
    assert len(json.loads(out)) == len(QUICK)


def test_an_unknown_key_is_one_line_on_stderr_and_exit_code_2(command) -> None:
    code, out, err = command("theorems", "theorem-99")
    assert (code, out) == (2, "")
    assert err == (
        "sparsegate: KEY must be that of a claim, got 'theorem-99'; run `sparsegate theorems` for the list\n"
    )


def test_the_bar_is_on_stderr_and_only_on_a_terminal(command, quick, monkeypatch) -> None:
    assert command("theorems")[2] == ""
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich's word for "this is a terminal"
    code, out, err = command("theorems", "--json")
    assert code == 0
    assert len(json.loads(out)) == len(QUICK)
    assert "measuring" in err


def test_ctrl_c_is_one_line_and_exits_130(command, monkeypatch) -> None:
    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sparsegate.cli.theorems.Console", interrupt)
    assert command("theorems", "alg-5") == (130, "", "sparsegate: interrupted\n")
