"""Statements: what supports them are the numbers, so numbers that were tampered with turn the judgement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from sparsegate.evaluation import DEFAULT_METHODS, run
from sparsegate.evaluation.statements.checks import Support, excess
from sparsegate.evaluation.statements.findings import Findings, Row, load_findings
from sparsegate.evaluation.statements.paper_statements import STATEMENTS, VALUES, check_all

RUN = {
    "datasets": ["kosarak", "zipf"],
    "data": {},
    "scale_to_records": False,
    "counts": [25, 50, 100, 200],
    "epsilon": [0.1],
    "methods": DEFAULT_METHODS,
    "runs": 20,
    "seed": 1,
    "jobs": 1,
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    out = tmp_path_factory.mktemp("out")
    run(**RUN, out=out, further=True)
    return load_findings(out)


def supports(findings: Findings) -> dict[str, Support]:
    return {one.statement.key: one.judgement.support for one in check_all(findings)}


def tampered(findings: Findings, wanted: Callable[[Row], bool], **changes: float) -> Findings:
    rows = {key: replace(row, **changes) if wanted(row) else row for key, row in findings.rows.items()}
    return replace(findings, rows=rows)


def test_every_statement_has_a_judgement_with_its_numbers(found: Findings) -> None:
    checked = check_all(found)
    assert [one.statement for one in checked] == list(STATEMENTS)
    assert all(one.judgement.numbers for one in checked if one.judgement.support is not Support.NOT_RUN)


def test_no_two_statements_share_a_key() -> None:
    assert len({one.key for one in STATEMENTS}) == len(STATEMENTS)


def test_the_papers_findings_that_hold_are_supported(found: Findings) -> None:
    holds = ("inaccurate-on-zipf", "dpbook-worst", "allocations", "1:c-deviates", "em-best", "fnr-is-fpr")
    assert {supports(found)[key] for key in holds} == {Support.SUPPORTED}


def test_what_the_results_contradict_is_not_supported(found: Findings) -> None:
    contradicted = ("accurate-at-25", "epsilon-over-c", "dpbook-threshold-noise")
    assert {supports(found)[key] for key in contradicted} == {Support.NOT_SUPPORTED}


@pytest.mark.parametrize(
    ("key", "wanted", "changes"),
    [
        ("accurate-at-25", lambda row: row.count == 25, {"ser_mean": 0.02}),
        ("inaccurate-on-zipf", lambda row: row.method == "svt-s-1:3" and row.count == 200, {"ser_mean": 0.5}),
        ("dpbook-worst", lambda row: row.method == "svt-dpbook" and row.count == 50, {"ser_mean": 0.0}),
        ("allocations", lambda row: row.method == "svt-s-1:c23", {"ser_mean": 0.99}),
        ("1:c-at-large-c", lambda row: row.method == "svt-s-1:c", {"ser_mean": 0.999}),
        ("1:c23-at-small-c", lambda row: row.method == "svt-s-1:c", {"ser_mean": 0.999}),
        ("1:c-deviates", lambda row: row.method == "svt-s-1:c", {"ser_std": 0.001}),
        ("em-best", lambda row: row.method == "em" and row.count == 200, {"ser_mean": 0.6}),
        ("retraversal-alone", lambda row: row.method == "svt-retr-0d", {"ser_mean": 0.4, "ser_std": 0.01}),
        (
            "best-raise",
            lambda row: row.method in ("svt-retr-3d", "svt-retr-4d", "svt-retr-5d") and row.dataset == "kosarak",
            {"ser_mean": 0.99, "ser_std": 0.01},
        ),
        ("fnr-is-fpr", lambda row: row.method == "em" and row.count == 25, {"fpr_mean": 0.5}),
        ("fnr-with-ser", lambda row: row.method.startswith("svt-retr"), {"ser_mean": 0.0, "fnr_mean": 1.0}),
        ("epsilon-over-c", lambda row: True, {"ser_mean": 0.3}),
        ("dpbook-threshold-noise", lambda row: row.method == "svt-alg1", {"ser_mean": 0.0}),
        ("value-zipf-100-em-exact", lambda row: row.method == "em", {"ser_mean": 0.30}),
    ],
)
def test_a_tampered_result_turns_the_judgement(
    found: Findings, key: str, wanted: Callable[[Row], bool], changes: dict[str, float]
) -> None:
    before, after = supports(found)[key], supports(tampered(found, wanted, **changes))[key]
    assert {before, after} == {Support.SUPPORTED, Support.NOT_SUPPORTED}


def test_a_published_value_is_not_comparable_on_a_stand_in(found: Findings) -> None:
    said = {support for key, support in supports(found).items() if key.startswith("value-kosarak")}
    assert said == {Support.NOT_COMPARABLE}


@pytest.mark.parametrize(("ser", "support"), [(0.705, Support.SUPPORTED), (0.5, Support.NOT_SUPPORTED)])
def test_a_published_value_is_judged_on_the_real_data(found: Findings, ser: float, support: Support) -> None:
    real = found.datasets | {"kosarak": found.datasets["kosarak"] | {"kind": "real", "stand_in": False}}
    findings = replace(
        tampered(found, lambda row: row.method == "svt-dpbook" and row.count == 50, ser_mean=ser, ser_std=0.1),
        datasets=real,
    )
    assert supports(findings)["value-kosarak-50-svt-dpbook-real"] is support
    assert supports(findings)["value-kosarak-50-svt-dpbook-scaled"] is Support.NOT_COMPARABLE


def test_the_values_of_the_simulated_zipf_are_met(found: Findings) -> None:
    keys = [key for key in supports(found) if key.startswith("value-zipf")]
    assert len(keys) == sum(value.dataset == "zipf" for value in VALUES) == 8
    assert {supports(found)[key] for key in keys} == {Support.SUPPORTED}


def test_what_was_not_run_is_said_so(found: Findings) -> None:
    rows = {key: row for key, row in found.rows.items() if row.method == "em"}
    said = supports(replace(found, rows=rows, methods={"em": found.methods["em"]}))
    assert said["retraversal-alone"] is said["dpbook-worst"] is said["em-best"] is Support.NOT_RUN
    assert said["fnr-is-fpr"] is Support.SUPPORTED


def test_numbers_call_a_stand_in_a_stand_in(found: Findings) -> None:
    checked = {one.statement.key: one.judgement.numbers for one in check_all(found)}
    assert "kosarak (stand-in): " in checked["accurate-at-25"]
    assert "kosarak:" not in "".join(checked.values())


def test_a_difference_counts_only_beyond_margin_and_chance(found: Findings) -> None:
    row = replace(found.get("zipf", "em", 100), ser_mean=0.3, ser_std=0.1, runs=100)
    sure = replace(row, ser_std=0.0)
    assert excess(replace(sure, ser_mean=0.32), sure).counts
    assert not excess(replace(sure, ser_mean=0.305), sure).counts
    assert not excess(replace(row, ser_mean=0.32), row).counts
