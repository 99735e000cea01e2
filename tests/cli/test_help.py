"""`--help`: how a command is called, what it does, an example that works, and its options in groups."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from sparsegate.cli.app import COMMANDS, Commands, described
from sparsegate.cli.help import EXAMPLES, PANELS, example_lines, first_sentence

ONLY_READ = {"serve", "mcp", "alert", "datasets fetch", "reproduce", "compare", "audit"}
"""Examples that go on for ever, need a network, or take long: they are parsed and not run."""


def all_commands() -> dict[str, Any]:
    """Every command by its words; the groups too."""
    commands: dict[str, Any] = {}
    for name in COMMANDS:
        commands[name] = command = Commands().get_command(None, name)
        commands |= {f"{name} {below}": part for below, part in getattr(command, "commands", {}).items()}
    return commands


ALL = all_commands()


def test_every_command_has_an_example_of_its_own_and_every_group_an_option() -> None:
    assert {*EXAMPLES} == {"", *ALL}
    assert [words for words, example in EXAMPLES.items() if not example.startswith(words)] == []
    parameters = {parameter.name for command in ALL.values() for parameter in command.params}
    assert {name for names in PANELS.values() for name in names.split()} - parameters == set()


@pytest.mark.parametrize("words", EXAMPLES)
def test_the_help_has_every_option_and_fits_the_screen(command, monkeypatch, words: str) -> None:
    told = described(words)
    code, out, err = command(*words.split(), "--help")
    assert (code, err) == (0, "")
    assert out == command(*words.split(), "-h")[1]
    lines = out.splitlines()
    assert [line for line in lines if len(line) > 80 or line != line.rstrip()] == []
    assert lines[0].startswith(f"Usage: sparsegate {words}".rstrip())
    at = [lines.index(heading) for heading in ("Example", *told.lists, *told.panels)]
    assert at == sorted(at)
    flags = {each.name for each in getattr(ALL.get(words), "params", ()) if getattr(each, "is_flag", False)}
    for names, value, text, _ in (option for panel in told.panels.values() for option in panel):
        assert text, names
        name = names.split(", ")[-1].partition("/")[0]
        assert not name or name in out
        assert value or not names or flags or not words, names
    monkeypatch.setenv("COLUMNS", "300")
    assert max(map(len, command(*words.split(), "--help")[1].splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "1")  # as some programs that watch a terminal say
    assert command(*words.split(), "--help")[0] == 0


@pytest.mark.parametrize("words", [(), ("ledger",), ("token",)])
def test_what_needs_another_word_prints_its_help(command, words: tuple[str, ...]) -> None:
    code, out, err = command(*words)
    assert (code, err) == (2, "")
    assert out.startswith(f"Usage: {' '.join(('sparsegate', *words))}")


def test_an_option_says_its_default_and_its_bounds() -> None:
    told = [described(words) for words in ("serve", "watch", "reproduce")]
    options = {option.names: option for each in told for panel in each.panels.values() for option in panel}
    assert options["--headroom"].text.endswith("[1 to 1000] [default: 3]")
    assert options["--max-cell"].text.endswith("[1 or more] [default: 1000]")
    assert options["--jobs"].text.endswith("[default: one a CPU]")
    assert options["-t, --threshold"].text.endswith("[required]")
    assert described("ledger").lists["Commands"]["restore"] == "Go on from a backup."
    assert described("datasets").usage == "sparsegate datasets [OPTIONS] [COMMAND]"
    assert described("ledger raise").usage == "sparsegate ledger raise FILE --why TEXT --budget NUMBER [OPTIONS]"
    assert first_sentence("Is it so? It is.\n\nMore.") == "Is it so?"


def test_the_examples_run_in_their_order(command, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    pages, buyers = ("/home", "/pay", "/docs"), range(1000)
    Path("visits.csv").write_text("page,visitor\n" + "".join(f"{page},{who}\n" for page in pages for who in buyers))
    Path("pages.csv").write_text("page\n" + "".join(f"{page}\n" for page in (*pages, "/jobs", "/help")))
    Path("sales.csv").write_text("product,buyer\n" + "".join(f"tea,{who}\nmilk,{who}\n" for who in buyers))
    Path("products.csv").write_text("product\ntea\nmilk\njam\noats\n")
    for name in ("train.csv", "held.csv"):
        Path(name).write_text("y,tree\n" + "cat,cat\ncat,dog\n" * 500)
    failed = {}
    for words, example in EXAMPLES.items():
        if words not in ONLY_READ and ((done := command(*shlex.split(example)))[0] != 0 or not done[1]):
            failed[words] = done
    assert failed == {}


@pytest.mark.parametrize("words", EXAMPLES)
def test_every_example_is_read_by_its_command_and_its_lines_are_one_command(words: str) -> None:
    name, *arguments = shlex.split(EXAMPLES[words])
    command = Commands().get_command(None, name)
    while arguments and (below := getattr(command, "commands", {}).get(arguments[0])) is not None:
        command, arguments = below, arguments[1:]
    assert command.make_context(name, arguments).params
    lines = example_lines(words, width=76)
    assert [line for line in lines if len(line) > 76] == []
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == ["sparsegate", *shlex.split(EXAMPLES[words])]
