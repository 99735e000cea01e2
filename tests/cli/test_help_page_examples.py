"""The examples of the help work: they run in their order, in one folder, or are read by their commands at least."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from sparsegate.cli.app import Commands
from sparsegate.cli.help_page import EXAMPLES, example_lines

ONLY_READ = {
    "serve": "a server, which goes on for ever",
    "datasets fetch": "a download",
    "reproduce": "takes half a minute",
    "compare": "takes half a minute",
    "audit": "takes seconds of work in other processes",
}
"""Examples that are not run here, and why; test_audit.py, test_serve.py and the others run such commands."""


def make_data() -> None:
    """What the examples read."""
    pages, buyers = ("/home", "/pay", "/docs"), range(1000)
    Path("visits.csv").write_text("page,visitor\n" + "".join(f"{page},{who}\n" for page in pages for who in buyers))
    Path("pages.csv").write_text("page\n" + "".join(f"{page}\n" for page in (*pages, "/jobs", "/help")))
    Path("sales.csv").write_text("product,buyer\n" + "".join(f"tea,{who}\nmilk,{who}\n" for who in buyers))
    Path("products.csv").write_text("product\ntea\nmilk\njam\noats\n")
    for name in ("train.csv", "held.csv"):
        Path(name).write_text("y,tree\n" + "cat,cat\ncat,dog\n" * 500)


def test_the_examples_run_in_their_order(command: Command, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_data()
    failed = {}
    for words, example in EXAMPLES.items():
        if words in ONLY_READ:
            continue
        code, out, err = command(*shlex.split(example))
        if code != 0 or not out:
            failed[words] = (code, out, err)
    assert failed == {}


@pytest.mark.parametrize("words", EXAMPLES)
def test_every_example_is_read_by_its_command(words: str) -> None:
    name, *arguments = shlex.split(EXAMPLES[words])
    command = Commands().get_command(None, name)
    while arguments and (below := getattr(command, "commands", {}).get(arguments[0])) is not None:
        command, arguments = below, arguments[1:]
    context = command.make_context(name, arguments)
    assert context.params


@pytest.mark.parametrize("words", EXAMPLES)
def test_an_example_fits_on_the_screen_and_its_lines_are_one_command(words: str) -> None:
    lines = example_lines(words, width=76)
    assert [line for line in lines if len(line) > 76] == []
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == ["sparsegate", *shlex.split(EXAMPLES[words])]
