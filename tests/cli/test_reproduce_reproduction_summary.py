"""The last lines of a reproduction: the tally, and by name what did not hold."""

from __future__ import annotations

from sparsegate.cli.reproduce import failed_self_checks, reading_lines, summary_record, verdict_lines
from sparsegate.paper.findings import Checked, Judgement, PaperStatement, Support
from sparsegate.paper.statements import ReadingVerdicts


def checked(key: str, support: Support, kind: str = "statement") -> Checked:
    statement = PaperStatement(key=key, claim="", rule="", check=lambda _: None, kind=kind, where="6")
    return Checked(statement=statement, judgement=Judgement(support=support, numbers=""))


def test_what_did_not_hold_is_named_and_what_is_open_too() -> None:
    found = [
        checked("em-best", Support.SUPPORTED),
        checked("dpbook-worst", Support.NOT_SUPPORTED),
        checked("5d", Support.UNDECIDED),
        checked("deviates", Support.NOT_SUPPORTED),
        checked("value-aol", Support.CIRCULAR, "printed"),
        checked("value-zipf", Support.SUPPORTED, "self-check"),
    ]
    assert verdict_lines(found) == [
        "1 of 4 statements supported, 2 not, 1 undecided; 0 of 1 printed numbers comparable; 1 of 1 self-checks met.",
        "not supported: dpbook-worst, deviates",
        "undecided: 5d",
    ]


def test_a_statement_that_was_not_run_is_named_and_a_number_of_other_data_is_not() -> None:
    found = [checked("c-400", Support.NOT_RUN), checked("value-kosarak", Support.NOT_RUN, "printed")]
    assert verdict_lines(found)[1:] == ["not run: c-400"]


def test_only_a_self_check_says_that_the_program_is_wrong() -> None:
    assert not failed_self_checks([checked("statement", Support.NOT_SUPPORTED)])
    assert not failed_self_checks([checked("own", Support.UNDECIDED, "self-check")])
    assert failed_self_checks([checked("own", Support.NOT_SUPPORTED, "self-check")])


def test_a_reading_that_changes_verdicts_has_a_line_and_one_that_changes_none_has_not() -> None:
    supports = {
        "ours": (Support.SUPPORTED, Support.NOT_SUPPORTED),
        "raise-unit=scale": (Support.SUPPORTED, Support.NOT_SUPPORTED),
        "passes=100": (Support.SUPPORTED, Support.SUPPORTED),
    }
    verdicts = ReadingVerdicts(
        by_reading={
            name: {
                key: Judgement(support=support, numbers="")
                for key, support in zip(("em-best", "5d"), found, strict=True)
            }
            for name, found in supports.items()
        }
    )
    assert reading_lines(verdicts) == [
        "Readings of the paper: 1 of 2 verdicts are the same under all.",
        "passes=100: 5d supported",
    ]
    assert reading_lines(None) == []
    record = summary_record([], rows=0, seconds=0.0, files={}, verdicts=verdicts)
    assert record["readings"]["passes=100"] == {"em-best": "supported", "5d": "supported"}
