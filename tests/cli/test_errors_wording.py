"""Errors in the words of the command line."""

from __future__ import annotations

import pytest
from tests.cli.conftest import Command

from sparsegate.cli.errors import in_options, refusal
from sparsegate.errors import ConditionError, ParameterError, TableError

OPTIONS = {"max_items": "--max-items", "domain": "--domain", "delta": "--delta", "where": "--where", "count": "--count"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pass for instance delta=1e-8, or a public domain", "give for instance --delta 1e-8, or a public domain"),
        ('must be given for domain="observed": see there', "must be given for --domain observed: see there"),
        ("pass count=, or above= for all", "give --count, or above= for all"),
        ("must be at least max_items = 3", "must be at least --max-items = 3"),
        ("pass max_items=3.", "give --max-items 3."),
        ("such as domain=(0, 100), low first", "such as --domain 0,100, low first"),
        ("must not be given with count: leave delta out", "must not be given with --count: leave --delta out"),
        ("must not be given without where, leave it out", "must not be given without --where, leave it out"),
        ("pass domain='my pages'; or", "give --domain 'my pages'; or"),
        ("the count of a domain", "the count of a domain"),
        ("see tables.max_items(3) and my_max_items", "see tables.max_items(3) and my_max_items"),
    ],
)
def test_names_of_parameters_become_options_and_other_words_stay(text: str, said: str) -> None:
    assert in_options(text, OPTIONS) == said


def test_what_the_caller_typed_is_repeated_as_it_was() -> None:
    error = ParameterError("count", "must be a number", "pass delta=3; delta=4", "pass count=3")
    assert refusal(error, OPTIONS) == "--count must be a number, got 'pass delta=3; delta=4'; give --count 3"
    condition = ConditionError("must be one", "max_items = delta=3", 0, 19, next_step="pass where=")
    assert refusal(condition, OPTIONS) == "--where must be one (character 1), got 'max_items = delta=3'; give --where"
    assert refusal(TableError("two\nlines, delta=0"), OPTIONS) == "two lines, --delta 0"


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--domain", "observed"), "; give for instance --delta 1e-8,"),
        (("--domain", "9", "--method", "sparse-vector"), "--threshold must be given for method"),
        (("--domain", "9", "--dbar", "9"), "; it is for --domain observed"),
    ],
)
def test_a_refusal_of_a_room_below_names_the_options(command: Command, options: tuple[str, ...], hint: str) -> None:
    code, out, err = command("top", "x.csv", "--user", "visitor", "-c", "3", "--epsilon", "1", *options)
    assert (code, out) == (2, "")
    assert hint in err
    assert "=" not in err


@pytest.mark.parametrize("words", [(), ("top",), ("ledger",), ("ledger", "show")])
def test_h_is_help(command: Command, words: tuple[str, ...]) -> None:
    assert command(*words, "-h") == command(*words, "--help")
