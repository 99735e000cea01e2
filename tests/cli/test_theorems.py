"""`sparsegate theorems`: what it prints, and when it fails."""

from __future__ import annotations

import json
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
        sections = {title: [chosen[c.key] for c in group if c.key in chosen] for title, group in SECTIONS.items()}
        monkeypatch.setattr(theorems, "CLAIMS", chosen)
        monkeypatch.setattr(theorems, "SECTIONS", sections)

    choose()
    return choose


@pytest.mark.soak
def test_the_whole_paper_is_checked_and_fits_eighty_columns(command) -> None:
    code, out, err = command("theorems")
    assert (code, err) == (0, "")
    assert set(CLAIMS) <= {words[0] for line in out.splitlines() if (words := line.split())}
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 80
    assert "…" not in out
    assert theorems.LEGEND in out


def test_each_claim_stands_beside_what_was_measured(command, quick, monkeypatch) -> None:
    measured = {key: CLAIMS[key].check().evidence for key in QUICK}
    assert command("theorems", "--brief")[1].splitlines() == [f"{key}: {said}" for key, said in measured.items()]
    assert command("theorems", "alg-5", "--brief")[1] == f"{measured['alg-5']}\n"
    monkeypatch.setenv("COLUMNS", "400")
    lines = command("theorems")[1].splitlines()
    for key in QUICK:
        first = next(i for i, line in enumerate(lines) if line.split()[:1] == [key])
        assert measured[key] in lines[first]
        assert lines[first + 1].strip() == CLAIMS[key].statement


def test_a_verdict_that_is_not_the_documented_one_is_marked_and_exits_1(command, quick) -> None:
    assert command("theorems")[0] == 0
    assert command("theorems", "gptt-kappa")[0] == 0, "a claim documented as wrong that measures wrong is no failure"
    quick(expected=ClaimVerdict.TIGHT)
    code, out, _ = command("theorems")
    assert (code, "over-claims !" in out) == (1, True)
    assert command("theorems", "--json")[0] == 1


def test_the_detail_view_shows_statement_place_and_every_part(command, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    _, out, _ = command("theorems", "slip-alg-3-scales")
    claim = CLAIMS["slip-alg-3-scales"]
    finding = claim.check()
    said = [claim.statement, claim.place, finding.evidence, str(finding.verdict)]
    assert [text for text in (*said, *(part.what for part in finding.parts)) if text not in out] == []
    assert out.count("fails: ") == sum(not part.holds for part in finding.parts)


def test_json_holds_every_claim_with_its_parts_and_no_bare_infinity(command, quick) -> None:
    code, out, err = command("theorems", "--json")
    records = json.loads(out, parse_constant=pytest.fail)
    assert (code, err) == (0, "")
    assert [record["key"] for record in records] == list(QUICK)
    assert {record["verdict"] for record in records} == {"over-claims", "holds", "wrong"}
    (infinite,) = [p for r in records for p in r["parts"] if p["measured"] == "inf"]
    assert infinite["what"] == "loss after two queries"
    (record,) = json.loads(command("theorems", "alg-5", "--json")[1])
    assert (record["place"], record["expected"], record["verdict"]) == ("Sec. 3.2, Thm. 3", "holds", "holds")


def test_the_bar_is_on_stderr_and_only_on_a_terminal(command, refused, quick, monkeypatch) -> None:
    assert refused("theorems", "theorem-99").startswith("KEY must be that of a claim, got 'theorem-99'; run")
    assert command("theorems")[2] == ""
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich's word for "this is a terminal"
    code, out, err = command("theorems", "--json")
    assert (code, len(json.loads(out)), "measuring" in err) == (0, len(QUICK), True)
