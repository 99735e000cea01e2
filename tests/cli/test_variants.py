"""`sparsegate variants`: every row, in words, at a glance and as JSON."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from sparsegate.cli.variants import LEGEND
from sparsegate.gates.variants import VARIANTS, Noise, Variant

CELLS = {
    "standard": "Alg. 7 optimal Δ/ε₁ 2cΔ/ε₂ fresh at c yes",
    "dwork-roth-2014": "Alg. 2 1:1 cΔ/ε₁* 2cΔ/ε₂ - at c yes",
    "roth-2011": "Alg. 3 1:1 Δ/ε₁ cΔ/ε₂ noisy at c no",
    "stoddard-2014": "Alg. 5 1:1 Δ/ε₁ 0 - never no",
    "ding-2019": "Ding+ 19 optimal Δ/ε₁ 2cΔ/ε₂ gap at c yes",
    "liu-2024": "Liu+ 24 optimal Δ/ε₁+ 2cΔ/ε₂+ - at c yes",
    "two-sided": "new optimal Δ/ε₁ 2cΔ/ε₂ - both yes",
}


def lines_by_first_word(text: str) -> dict[str, str]:
    return {words[0]: " ".join(words[1:]) for line in text.splitlines() if (words := line.split())}


def test_the_table_has_every_row_and_says_what_the_paper_says(command) -> None:
    code, out, err = command("variants")
    lines = lines_by_first_word(out)
    assert (code, err) == (0, "")
    assert set(VARIANTS) <= set(lines)
    assert {key: lines[key] for key in CELLS} == CELLS
    assert LEGEND in out
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 80


@pytest.mark.parametrize("key", VARIANTS)
def test_the_detail_view_holds_every_sentence_of_the_row(command, monkeypatch, key: str) -> None:
    assert max(len(line.rstrip()) for line in command("variants", key)[1].splitlines()) <= 80
    monkeypatch.setenv("COLUMNS", "400")
    _, out, _ = command("variants", key)
    row = VARIANTS[key]
    sentences = [row.title, row.citation, row.algorithm, row.claimed, row.truth, row.flaw]
    sentences += [row.noise.value, row.compared.value, row.released.value, row.closes.value]
    assert [sentence for sentence in sentences if sentence not in out] == []
    assert ("its gap" in out) == row.gap
    assert ("kappa" in out) == (row.noise is Noise.EXPONENTIAL)
    assert ("flaw" in lines_by_first_word(out)) == bool(row.flaw)
    assert ("monotonic scale" in out) == (row.query_noise != row.query_noise_monotonic)


def test_json_holds_every_field_of_every_row(command, refused) -> None:
    records = json.loads(command("variants", "--json")[1])
    assert [record["key"] for record in records] == list(VARIANTS)
    assert all(set(record) == {"schema", *(field.name for field in fields(Variant))} for record in records)
    (record,) = json.loads(command("variants", "stoddard-2014", "--json")[1])
    assert record["query_noise"] == {"factor": 0, "per_cutoff": False}
    assert "did you mean 'standard'" in refused("variants", "standrad")
