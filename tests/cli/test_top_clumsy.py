"""What a clumsy user types: each is one line that names the option, the rule, the value and the next step."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Command

TOP = ("visits.csv", "--item", "page", "--user", "visitor", "-c", "2", "--epsilon", "1", "--domain", "pages.csv")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((*TOP, "--value", "number"), "--clip must be given with --value; give the least and the most"),
        ((*TOP, "--value", "number", "--clip", "5"), "--clip must be two numbers, low and high, got '5'; give for"),
        ((*TOP, "--value", "number", "--clip", "9,1"), "such as --clip 0,100"),
        ((*TOP, "--clip", "0,1"), "--clip must not be given without --value"),
        ((*TOP, "--groups", "DE"), "--groups must not be given without --per,"),
        ((*TOP, "--per", "page", "--groups", ""), "--groups must name a group at least, got ''; give for instance"),
        (
            (*TOP, "--per", "page", "--groups", "a,b,"),
            "--groups must have a label between commas, and before and after",
        ),
        ((*TOP[:-1], "visits.csv"), "give a public list, or --domain observed with --delta 1e-6"),
        (TOP[:5], "--count or --above must be given"),
        ((*TOP, "--people", "1"), "or leave out --people"),
        (("", *TOP[1:]), "the name of a file must not be empty"),
        (
            ("--preview", *TOP[1:], "--like", "absent.csv"),
            "--like must name a file that can be read, got 'absent.csv'",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_refusal_speaks_of_options(command: Command, options: tuple[str, ...], said: str) -> None:
    code, out, err = command("top", *options)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(("closed", "code"), [("stdout", 2), ("stderr", 0)])
@pytest.mark.usefixtures("folder")
def test_a_stream_that_is_closed_costs_no_release(
    command: Command, monkeypatch: pytest.MonkeyPatch, closed: str, code: int
) -> None:
    monkeypatch.setattr(f"sys.{closed}", None)  # as after `>&-`
    book = ("--ledger", "book.db", "--budget", "9", "--dataset", "visits")
    assert command("top", *TOP, *book)[0] == code
    assert Path("book.db").exists() == (code == 0)


@pytest.mark.usefixtures("folder")
def test_ctrl_c_while_the_ledger_is_opened_says_that_nothing_was_spent(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sparsegate.cli.options.Spending.check", pressed)
    assert command("top", *TOP)[::2] == (130, "sparsegate: interrupted, nothing was spent\n")


def test_the_preview_of_one_item_speaks_of_one(command: Command) -> None:
    assert "the item selected has at most" in command("top", "--preview", "-c", 1, "--epsilon", 1, "--domain", 9)[1]
