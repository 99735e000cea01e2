"""Statements: what supports them are the numbers, so numbers that were tampered with turn the judgement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.support.made_findings import made_findings, supports, tampered, verdict_on

from sparsegate.paper import DEFAULT_METHODS, run
from sparsegate.paper.checks import RAISES
from sparsegate.paper.findings import Findings, Judgement, PaperStatement, Row, Support, load_findings
from sparsegate.paper.statements import STATEMENTS, VALUES, OpenStatements, check_all

PAPER = [one.key for one in STATEMENTS if one.kind == "statement"]


@pytest.fixture(scope="module")
def found() -> Findings:
    return made_findings()


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    out = tmp_path_factory.mktemp("out")
    run(datasets=["kosarak", "zipf"], counts=[25, 100], methods=DEFAULT_METHODS, runs=10, out=out, further=True)
    return load_findings(out)


def test_every_statement_has_a_judgement_with_its_numbers(few: Findings) -> None:
    checked = check_all(few)
    assert [one.statement for one in checked] == list(STATEMENTS)
    assert all(one.judgement.numbers for one in checked if one.judgement.support is not Support.NOT_RUN)
    assert {one.statement.kind for one in checked} == {"statement", "printed", "self-check"}


def test_no_two_statements_share_a_key() -> None:
    assert len({one.key for one in STATEMENTS}) == len(STATEMENTS)


def test_ten_runs_decide_what_is_far_off_and_leave_the_rest_undecided(few: Findings) -> None:
    said = supports(few)
    assert said["accurate-at-25"] is Support.UNDECIDED
    assert said["em-best"] is said["retraversal-alone"] is Support.UNDECIDED
    assert said["fnr-is-fpr"] is Support.SUPPORTED
    undecided = [one.judgement for one in check_all(few) if one.judgement.support is Support.UNDECIDED]
    assert all(one.wanting and set(one.wanting) <= set(few.rows) for one in undecided)


def test_results_as_the_paper_tells_them_support_each_of_its_statements(found: Findings) -> None:
    said = supports(found)
    assert {key: said[key] for key in PAPER} == dict.fromkeys(PAPER, Support.SUPPORTED)


@pytest.mark.parametrize(
    ("key", "wanted", "changes"),
    [
        ("accurate-at-25", lambda row: row.count == 25 and row.method == "svt-s-1:1", {"ser_mean": 0.13}),
        ("inaccurate-on-zipf", lambda row: row.method == "svt-s-1:3" and row.count == 200, {"ser_mean": 0.5}),
        ("dpbook-worst", lambda row: row.method == "svt-dpbook" and row.count == 50, {"ser_mean": 0.4}),
        ("allocations", lambda row: row.method == "svt-s-1:c23" and row.count == 200, {"ser_mean": 0.99}),
        (
            "1:c-at-large-c",
            lambda row: row.method == "svt-s-1:c" and row.count == 200,
            {"ser_mean": 0.93, "fnr_mean": 0.93},
        ),
        (
            "1:c23-at-small-c",
            lambda row: row.method == "svt-s-1:c" and row.count == 25,
            {"ser_mean": 0.0, "fnr_mean": 0.0},
        ),
        ("1:c-deviates", lambda row: row.method == "svt-s-1:c", {"total_ser_std": 0.04}),
        ("em-best", lambda row: row.method == "em" and row.count == 200, {"ser_mean": 0.42}),
        ("em-clearly-better", lambda row: row.method == "em" and row.count in (50, 200), {"ser_mean": 0.23}),
        ("retraversal-alone", lambda row: row.method == "svt-retr-0d" and row.count == 25, {"ser_mean": 0.05}),
        ("best-raise", lambda row: row.method == "svt-retr-4d", {"ser_mean": 0.0, "fnr_mean": 0.0}),
        ("fnr-is-fpr", lambda row: row.method == "em" and row.count == 25, {"fpr_mean": 0.5}),
        ("fnr-with-ser", lambda row: row.method.startswith("svt-retr"), {"ser_mean": 0.0, "fnr_mean": 1.0}),
        ("epsilon-over-c", lambda row: row.epsilon == 0.2, {"ser_mean": 0.9}),
        ("dpbook-threshold-noise", lambda row: row.method == "svt-alg1", {"ser_mean": 0.65}),
        ("pronounced-over-1:1", lambda row: row.method == "svt-s-1:c" and row.dataset == "aol", {"ser_mean": 0.9}),
        ("pronounced-over-dpbook", lambda row: row.method == "svt-dpbook" and row.dataset == "aol", {"ser_mean": 0.1}),
        ("raise-improves", lambda row: row.method in RAISES and row.dataset == "aol", {"ser_mean": 0.9}),
        ("5d", lambda row: row.method == "svt-retr-5d" and row.count == 100, {"fnr_mean": 0.5}),
        ("5d", lambda row: row.method == "svt-retr-5d" and row.count < 100, {"fnr_mean": 0.06}),
        ("threshold-too-high", lambda row: row.method == "svt-s-double-t", {"total_ser_mean": 0.0}),
        ("threshold-too-low", lambda row: row.method == "svt-s-half-t", {"selected_mean": 20.0}),
        ("threshold-too-low", lambda row: row.method == "svt-s-half-t", {"fnr_mean": 0.1}),
        ("retraversal-deals-with-it", lambda row: row.method == "svt-s-double-t-retr", {"selected_mean": 24.0}),
        ("alg-2-worse", lambda row: row.method == "svt-alg1" and row.dataset == "zipf", {"ser_mean": 0.95}),
        ("without-c", lambda row: row.method == "alg-4" and row.dataset == "zipf", {"ser_mean": 0.9}),
        ("c-400", lambda row: row.count == 400 and row.dataset == "zipf", {"ser_mean": 0.75}),
        ("c-140106", lambda row: row.count == 140_106, {"ser_mean": 0.75}),
        ("value-zipf-100-em-exact", lambda row: row.method == "em" and row.count == 100, {"ser_mean": 0.31}),
    ],
)
def test_a_tampered_result_turns_the_judgement(
    found: Findings, key: str, wanted: Callable[[Row], bool], changes: dict[str, float]
) -> None:
    after = tampered(found, wanted, **changes)
    assert (verdict_on(found, key), verdict_on(after, key)) == (Support.SUPPORTED, Support.NOT_SUPPORTED)


def test_a_few_runs_far_below_0_are_no_larger_deviation(found: Findings) -> None:
    after = tampered(found, lambda row: row.method == "svt-s-1:c", ser_std=5.0, total_ser_std=0.04)
    assert verdict_on(after, "1:c-deviates") is Support.NOT_SUPPORTED


def test_runs_that_were_all_the_same_are_not_taken_for_certain_where_ranks_are(found: Findings) -> None:
    after = tampered(found, lambda row: True, ser_std=0.0, fnr_std=0.0, runs=10)
    assert verdict_on(after, "fnr-with-ser") is Support.UNDECIDED
    assert verdict_on(tampered(after, lambda row: True, runs=1000), "fnr-with-ser") is Support.SUPPORTED


def test_the_same_results_of_four_runs_decide_nothing_but_an_identity(found: Findings) -> None:
    uses = tuple(replace(use, runs=4) for use in found.uses)
    said = supports(replace(tampered(found, lambda row: True, runs=4), uses=uses))
    assert [key for key in PAPER if said[key] is not Support.UNDECIDED] == ["fnr-is-fpr"]


@pytest.mark.parametrize(("behind", "said"), [(0.06, Support.SUPPORTED), (0.0, Support.NOT_SUPPORTED)])
def test_where_a_raise_should_work_poorly_it_is_refuted_by_working_well(
    found: Findings, behind: float, said: Support
) -> None:
    pos = [replace(row, dataset="bms-pos") for row in found.rows.values() if row.dataset == "aol"]
    moved = [
        replace(row, fnr_mean=row.fnr_mean + behind) if row.method == "svt-retr-5d" else row
        for row in pos
        if row.method.startswith("svt-retr")
    ]
    findings = replace(
        found,
        rows={row.cell: row for row in moved},
        datasets={"bms-pos": found.datasets["aol"] | {"name": "bms-pos"}},
    )
    judgement = {one.statement.key: one.judgement for one in check_all(findings)}["5d"]
    assert (judgement.support, judgement.places["bms-pos"].support) == (said, said)
    assert "svt-retr-3d, mean FNR, c = 25 to 200" in judgement.numbers


def test_a_published_value_is_not_comparable_on_a_stand_in_and_one_it_was_fitted_to_is_circular(
    found: Findings,
) -> None:
    said = supports(found)
    assert {said[key] for key in said if key.startswith("value-kosarak")} == {Support.NOT_COMPARABLE}
    fitted = tampered(found, lambda row: row.dataset == "aol", count=150)
    rows = {row.cell: row for row in fitted.rows.values()}
    said = supports(replace(fitted, rows=rows))
    assert [said[key] for key in said if key.startswith("value-aol")] == [Support.CIRCULAR] * 3


@pytest.mark.parametrize(("ser", "support"), [(0.705, Support.SUPPORTED), (0.5, Support.NOT_SUPPORTED)])
def test_a_published_value_is_judged_on_the_real_data(found: Findings, ser: float, support: Support) -> None:
    real = found.datasets | {"kosarak": found.datasets["kosarak"] | {"kind": "real", "stand_in": False}}
    findings = replace(
        tampered(found, lambda row: row.method == "svt-dpbook" and row.count == 50, ser_mean=ser, ser_std=0.1),
        datasets=real,
    )
    assert supports(findings)["value-kosarak-50-svt-dpbook-real"] is support
    assert supports(findings)["value-kosarak-50-svt-dpbook-scaled"] is Support.NOT_COMPARABLE


def test_a_published_bound_is_a_bound(found: Findings) -> None:
    real = found.datasets | {"kosarak": found.datasets["kosarak"] | {"kind": "real", "stand_in": False}}
    for ser, support in ((0.04, Support.SUPPORTED), (0.06, Support.NOT_SUPPORTED)):
        rows = tampered(found, lambda row: row.count == 50, ser_mean=ser)
        assert supports(replace(rows, datasets=real))["value-kosarak-50-svt-s-1:3-real"] is support


def test_the_values_of_the_simulated_zipf_are_self_checks(found: Findings) -> None:
    keys = [key for key in supports(found) if key.startswith("value-zipf")]
    assert len(keys) == sum(value.dataset == "zipf" for value in VALUES) == 8
    assert {supports(found)[key] for key in keys} == {Support.SUPPORTED}
    assert {one.kind for one in STATEMENTS if one.key in keys} == {"self-check"}


def test_what_was_not_run_is_said_so(found: Findings) -> None:
    rows = {key: row for key, row in found.rows.items() if row.method == "em"}
    said = supports(replace(found, rows=rows, methods={"em": found.methods["em"]}))
    assert said["retraversal-alone"] is said["dpbook-worst"] is said["em-best"] is Support.NOT_RUN
    assert said["fnr-is-fpr"] is Support.SUPPORTED


def test_a_place_has_its_own_verdict_and_names_its_rows(found: Findings) -> None:
    one_off = tampered(
        found, lambda row: row.cell.dataset == "aol" and row.method == "em" and row.count == 200, ser_mean=0.6
    )
    judgement = {one.statement.key: one.judgement for one in check_all(one_off)}["em-best"]
    assert judgement.support is Support.NOT_SUPPORTED
    assert {name: place.support for name, place in judgement.places.items()} == {
        "kosarak": Support.SUPPORTED,
        "aol": Support.NOT_SUPPORTED,
        "zipf": Support.SUPPORTED,
    }
    assert {cell.dataset for cell in judgement.places["aol"].cells} == {"aol"}
    assert {cell.method for cell in judgement.places["aol"].cells} == {"em", *(f"svt-retr-{k}d" for k in range(6))}


def test_numbers_call_a_stand_in_a_stand_in(found: Findings) -> None:
    checked = {one.statement.key: one.judgement.numbers for one in check_all(found)}
    assert "kosarak (stand-in): " in checked["accurate-at-25"]
    assert "kosarak:" not in "".join(checked.values())


def test_it_is_said_at_which_c_one_method_is_ahead(found: Findings) -> None:
    numbers = {one.statement.key: one.judgement.numbers for one in check_all(found)}["1:c-at-large-c"]
    assert "aol (stand-in): svt-s-1:c ahead at c = 100 to 200, svt-s-1:c23 at c = 25 to 50" in numbers


def test_it_is_said_how_much_of_a_distance_each_change_removes(found: Findings) -> None:
    numbers = {one.statement.key: one.judgement.numbers for one in check_all(found)}["dpbook-threshold-noise"]
    assert "kosarak (stand-in): ρ of Alg. 1 80%, ρ drawn once 20%, ν halved 16%" in numbers


def test_a_look_checks_what_is_open_and_at_last_all_once_more(found: Findings) -> None:
    asked: list[str] = []

    def says(key: str, *supports: Support) -> PaperStatement:
        turns = iter(supports)

        def check(_: Findings) -> Judgement:
            asked.append(key)
            return Judgement(support=next(turns), numbers="")

        return replace(STATEMENTS[0], key=key, check=check)

    moved = says("moved", Support.SUPPORTED, Support.UNDECIDED, Support.SUPPORTED, Support.SUPPORTED)
    late = says("late", Support.UNDECIDED, Support.SUPPORTED, Support.SUPPORTED, Support.SUPPORTED)
    open_still = OpenStatements(statements=(moved, late), undecided=(moved, late))
    for _ in range(3):
        open_still.wanting(found)
    # The second look finds nothing open and asks all again: what is then undecided is the third look's.
    assert asked == ["moved", "late", "late", "moved", "late", "moved", "moved", "late"]
