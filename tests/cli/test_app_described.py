"""What is said about commands: every option has a group and a word for its value, every command an example."""

from __future__ import annotations

from typing import Any

import pytest

from sparsegate.cli.app import (
    ARGUMENTS,
    COMMANDS,
    PANELS,
    Commands,
    DescribedCommand,
    app,
    describe,
    described,
    first_sentence,
)
from sparsegate.cli.help_page import EXAMPLES


def all_commands() -> dict[str, Any]:
    """Every command by its words; the groups too."""
    found: dict[str, Any] = {}
    for name in COMMANDS:
        found[name] = command = Commands().get_command(None, name)
        found |= {f"{name} {below}": part for below, part in getattr(command, "commands", {}).items()}
    return found


FOUND = all_commands()


def options_of(command: Any) -> list[str]:
    return [one.name for one in command.params if one.param_type_name == "option" and one.name != "help"]


def test_every_command_has_an_example_and_no_example_is_of_another() -> None:
    assert {*EXAMPLES} == {"", *FOUND}
    assert {words: example for words, example in EXAMPLES.items() if not example.startswith(words)} == {}


@pytest.mark.parametrize("words", FOUND)
def test_every_option_is_in_one_group_of_the_help(words: str) -> None:
    named = [name for names in PANELS.get(words, {}).values() for name in names]
    assert sorted(named) == sorted(options_of(FOUND[words]))


def test_no_group_is_for_a_command_that_is_not_there() -> None:
    assert {*PANELS} - {"", *FOUND} == set()
    assert not any("" in names or not names for panels in PANELS.values() for names in panels.values())


@pytest.mark.parametrize("words", FOUND)
def test_every_option_that_takes_a_value_has_a_word_for_it_and_says_what_it_is(words: str) -> None:
    command = describe(FOUND[words], words)
    flags = {name for one in FOUND[words].params if getattr(one, "is_flag", False) for name in one.opts}
    for panel in command.panels.values():
        for option in panel:
            assert bool(option.value) != (option.long.partition("/")[0] in flags), option.names
            assert option.help, option.names


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        ("", "sparsegate [OPTIONS] COMMAND"),
        ("ledger", "sparsegate ledger COMMAND"),
        ("datasets", "sparsegate datasets [OPTIONS] [COMMAND]"),
        ("top", "sparsegate top [FILE...|-] [OPTIONS]"),
        ("ledger raise", "sparsegate ledger raise FILE --budget NUMBER --why TEXT [OPTIONS]"),
        ("ledger backup", "sparsegate ledger backup FILE BACKUP"),
    ],
)
def test_the_usage_names_what_is_needed(words: str, usage: str) -> None:
    assert described(words).usage == usage


def test_an_option_says_its_default_its_bounds_and_where_else_it_comes_from() -> None:
    said = {
        one.long: one
        for words in ("serve", "watch", "reproduce")
        for panel in described(words).panels.values()
        for one in panel
    }
    assert said["--headroom"].sentence.endswith("[1 to 1000] [default: 3]")
    assert said["--max-cell"].notes == ("1 or more", "default: 1000")
    assert said["--webhook"].notes == ("environment: SPARSEGATE_WEBHOOK",)
    assert said["--jobs"].notes == ("default: one a CPU",)
    assert said["--threshold"].names == "-t, --threshold N"
    assert said["--threshold"].notes == ("required",)
    assert said["--out"].notes == ("default: reproduction",)
    assert said["--json"].notes == ()


def test_the_list_of_all_commands_is_that_of_the_commands() -> None:
    root: DescribedCommand = described("")
    assert [name for commands in root.below.values() for name in commands] == list(COMMANDS)
    assert app.info.cls is Commands
    assert ARGUMENTS not in root.panels


def test_a_list_of_commands_has_the_first_sentence_of_each() -> None:
    assert first_sentence("Is it so? It is.\n\nMore.") == "Is it so?"
    assert described("ledger").below["Commands"]["restore"] == "Go on from a backup."
