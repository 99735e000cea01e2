"""`sparsegate variants`: every row, in words, at a glance and as JSON."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from sparsegate.cli.variants import LEGEND
from sparsegate.gates.variants import VARIANTS, Noise, Variant

KEYS = list(VARIANTS)


def lines_by_first_word(text: str) -> dict[str, list[str]]:
    return {words[0]: words[1:] for line in text.splitlines() if (words := line.split())}


def test_the_table_has_one_line_for_every_row(command) -> None:
    code, out, err = command("variants")
    assert (code, err) == (0, "")
    assert set(KEYS) <= set(lines_by_first_word(out))


@pytest.mark.parametrize(
    ("key", "cells"),
    [
        ("standard", ["Alg.", "7", "optimal", "Δ/ε₁", "2cΔ/ε₂", "fresh", "at", "c", "yes"]),
        ("dwork-roth-2014", ["Alg.", "2", "1:1", "cΔ/ε₁*", "2cΔ/ε₂", "-", "at", "c", "yes"]),
        ("roth-2011", ["Alg.", "3", "1:1", "Δ/ε₁", "cΔ/ε₂", "noisy", "at", "c", "no"]),
        ("stoddard-2014", ["Alg.", "5", "1:1", "Δ/ε₁", "0", "-", "never", "no"]),
        ("ding-2019", ["Ding+", "19", "optimal", "Δ/ε₁", "2cΔ/ε₂", "gap", "at", "c", "yes"]),
        ("liu-2024", ["Liu+", "24", "optimal", "Δ/ε₁+", "2cΔ/ε₂+", "-", "at", "c", "yes"]),
        ("two-sided", ["new", "optimal", "Δ/ε₁", "2cΔ/ε₂", "-", "both", "yes"]),
    ],
)
def test_the_table_says_what_the_paper_says(command, key: str, cells: list[str]) -> None:
    assert lines_by_first_word(command("variants")[1])[key] == cells


@pytest.mark.parametrize("arguments", [(), *((key,) for key in KEYS)], ids=["overview", *KEYS])
def test_every_view_fits_eighty_columns(command, arguments: tuple[str, ...]) -> None:
    _, out, _ = command("variants", *arguments)
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 80
    assert "…" not in out


def test_the_legend_needs_no_wrapping(command) -> None:
    assert LEGEND in command("variants")[1]


@pytest.mark.parametrize("key", KEYS)
def test_the_detail_view_holds_every_sentence_of_the_row(command, monkeypatch, key: str) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    _, out, _ = command("variants", key)
    row = VARIANTS[key]
    sentences = [row.title, row.citation, row.algorithm, row.claimed, row.truth, row.flaw]
    sentences += [row.noise.value, row.compared.value, row.released.value, row.closes.value]
    assert ("its gap" in out) == row.gap
    assert ("kappa" in out) == (row.noise is Noise.EXPONENTIAL)
    assert [sentence for sentence in sentences if sentence not in out] == []
    assert ("flaw" in lines_by_first_word(out)) == bool(row.flaw)


def test_the_detail_view_tells_monotonic_scales_apart_where_they_differ(command) -> None:
    assert "scale 2cΔ/ε₂; monotonic scale cΔ/ε₂" in command("variants", "standard")[1]
    assert "monotonic scale" not in command("variants", "lyu-2017")[1]


def test_json_holds_every_field_of_every_row(command) -> None:
    code, out, _ = command("variants", "--json")
    records = json.loads(out)
    assert code == 0
    assert [record["key"] for record in records] == KEYS
    assert all(set(record) == {"schema", *(field.name for field in fields(Variant))} for record in records)


def test_json_of_one_key_is_an_array_of_one(command) -> None:
    (record,) = json.loads(command("variants", "stoddard-2014", "--json")[1])
    assert record["query_noise"] == {"factor": 0, "per_cutoff": False}
    assert record["compared"] == "answer"
    assert record["closes"] == "never"


def test_an_unknown_key_is_one_line_on_stderr_and_exit_code_2(command) -> None:
    code, out, err = command("variants", "svt-1999")
    assert (code, out) == (2, "")
    assert err.startswith("sparsegate: KEY must be that of a variant, got ")
    assert "got 'svt-1999'" in err
    assert err.count("\n") == 1
