"""The last lines of a reproduction: the tally, and by name what did not hold."""

from __future__ import annotations

from sparsegate.cli.reproduction_summary import failed_self_checks, verdict_lines
from sparsegate.evaluation.statements.judgements import Checked, Judgement, PaperStatement, Support


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


def test_only_a_self_check_says_that_the_program_is_wrong() -> None:
    assert not failed_self_checks([checked("statement", Support.NOT_SUPPORTED)])
    assert not failed_self_checks([checked("own", Support.UNDECIDED, "self-check")])
    assert failed_self_checks([checked("own", Support.NOT_SUPPORTED, "self-check")])
