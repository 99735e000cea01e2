"""The blocks of a page are found, no page holds one that nobody can check, and what a page tells of exists."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
from pages.blocks import ROOT, commands_without_a_fence, fences, pages, shown, steps
from pages.outputs import agree, rewritten

from sparsegate.cli.app import COMMANDS, Commands

PAGE = """
```python
print(1)
```

<!-- noisy: 1 -->
```text
1
```

```sh title="run.sh"
exit 1
```

<!-- needs: postgres, minutes -->
```console
$ echo a \\
  b
a b
$ true
```

- a list

  ```sh
  ls
  ```

  Words between.

  ```text
  not an output
  ```
"""


def test_a_page_is_read_as_its_steps() -> None:
    read = steps(PAGE)
    assert [(step.language, step.code, step.title, step.expected and step.expected.lines) for step in read] == [
        ("python", "print(1)\n", None, ("1",)),
        ("file", "exit 1\n", "run.sh", None),
        ("console", "echo a \\\n  b\n", None, ("a b",)),
        ("console", "true\n", None, ()),
        ("sh", "ls\n", None, None),
    ]
    assert [step.needs for step in read] == [(), (), ("postgres", "minutes"), ("postgres", "minutes"), ()]
    assert [step.expected.noisy for step in read if step.expected] == [1, None, None]
    assert [PAGE.split("\n")[step.line - 1].strip() for step in read] == [
        *("print(1)", "exit 1", "$ echo a \\", "$ true", "ls")
    ]
    assert [fence.lines for fence in shown(PAGE)] == [("not an output",)]
    everywhere = steps(PAGE + "\n<!-- every block needs: minutes -->\n")
    assert [step.needs[:1] for step in everywhere] == [("minutes",)] * len(read)
    assert steps("````text\n```python\n1/0\n```\n````\n") == []


@pytest.mark.parametrize(
    "page",
    [
        *("```bash\nls\n```\n", "```\nls\n```\n", "``` python\n1\n```\n", "~~~sh\nls\n~~~\n", "```sh\nls\n"),
        *("<!-- need: root -->\n```sh\nls\n```\n", "<!-- noisy -->\n```sh\nls\n```\n"),
    ],
)
def test_a_block_that_looks_as_if_it_ran_and_a_mark_that_nobody_reads_are_refused(page: str) -> None:
    with pytest.raises(ValueError, match="line 1: a block "):
        fences(page)


@pytest.mark.parametrize(
    ("shown_lines", "printed", "noisy", "same"),
    [
        (["a   "], ["a", ""], None, True),
        (["a", "...", "c"], ["a", "b", "b", "c"], None, True),
        (["a"], [], None, False),
        ([], ["a"], None, False),
        (["a"], [" a"], None, False),
        (["a", "...", "c"], ["a", "b"], None, False),
        (["a.c"], ["abc"], None, False),
        (["about 1,024.5 people"], ["about -7 people"], 1, True),
        (["| 12 | 3 |", "--- ---"], ["|  1 |  333 |", "- ------"], 2, True),
        (["made 2031-05-03 10:00"], ["made 2031-06-04 11:12"], 0, True),
        (["7 of 9"], ["8 of 10"], 1, False),  # a cost or an error bar that is wrong must not pass for noise
        (["/home 12"], ["/pay 12"], 9, False),
    ],
)
def test_what_is_shown_is_compared_with_what_was_printed(
    shown_lines: list[str], printed: list[str], noisy: int | None, same: bool
) -> None:
    assert agree(shown_lines, printed, noisy=noisy) is same


def test_the_outputs_of_a_page_are_replaced_in_place() -> None:
    page = "- x\n  ```sh\n  ls\n  ```\n  ```text\n  old\n  old\n  ```\nwords\n```console\n$ a\n$ b\nold\n```\nend\n"
    printed = (("a", "", "b  "), ("told",), ())
    outputs = [(step.expected, lines) for step, lines in zip(steps(page), printed, strict=True) if step.expected]
    assert rewritten(page, outputs) == (
        "- x\n  ```sh\n  ls\n  ```\n  ```text\n  a\n\n  b\n  ```\nwords\n```console\n$ a\ntold\n$ b\n```\nend\n"
    )


def commands(page: str) -> list[list[str]]:
    """The commands of a page in words: those that begin a line of a block, and those in sentences."""
    code = "\n".join(line for fence in fences(page) for line in fence.lines).replace("\\\n", " ")
    before = r"^ *(?:\$ )?(?:[^'\"\n]*\| *)?(?:\w+=\S+ +)*(?:python -m )?"
    lines = re.findall(rf"{before}(sparsegate [a-z].*)$", code, re.MULTILINE)
    return [shlex.split(line, comments=True) for line in [*lines, *re.findall(r"`(sparsegate\s[a-z][^`]*)`", page)]]


def unknown_options(words: list[str]) -> list[str]:
    """The options of a command that it does not have."""
    if words[1] not in COMMANDS:
        return [words[1]]
    command: Any = Commands().get_command(None, words[1])
    if (below := getattr(command, "commands", {})) and words[2:] and re.fullmatch(r"[a-z-]+", words[2]):
        if words[2] not in {*below, "--help"}:
            return [words[2]]
        command = below.get(words[2], command)
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    ours = words[2 : next((at for at, word in enumerate(words) if word in ("|", "||", "&&", ";")), None)]
    options = [word.partition("=")[0] for word in ours if re.match(r"--?[a-z]", word)]
    return [option for option in options if option not in {*known, "-h", "--help"}]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_holds_can_be_read_by_what_runs_it(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert commands_without_a_fence(text) == []
    assert [(" ".join(words), wrong) for words in commands(text) if (wrong := unknown_options(words))] == []
    for fence in shown(text):
        if fence.language == "json":
            json.loads("\n".join(fence.lines))
    for step in steps(text):
        if step.language == "python":
            compile(step.code, f"{page.name}:{step.line}", "exec")
    shell = "".join(step.code for step in steps(text) if step.language in ("sh", "console"))
    assert subprocess.run(["bash", "-n"], input=shell, text=True, capture_output=True, check=True).stderr == ""


def test_a_command_without_a_fence_and_an_option_that_does_not_exist_are_found() -> None:
    page = "Words\n\n    sparsegate top x\n    eps = 1\n\n```sh\n    make x\n```\n- list\n    $ ls\n"
    assert commands_without_a_fence(page) == ["sparsegate top x", "$ ls"]
    page = (
        "```sh\nsparsegate top a.csv -c 5 \\\n --epsilom 1\n```\n"
        "`sparsegate holdout score -t 1 --names x` `sparsegate\ntopp`\n"
        "```console\n$ sparsegate variants --jsom | head -n 3\n```\n`sparsegate ledger shov x`\n"
    )
    wrong = [unknown_options(words) for words in commands(page)]
    assert wrong == [["--epsilom"], ["--jsom"], ["--names"], ["topp"], ["shov"]]


OTHERS = {
    "deploy/README.md": """--reverse-proxy --set-xauthrequest --cookie-samesite --cookie-secure --email-domain
        --cookie-expire""",  # of oauth2-proxy
    "docs/explanation/hall.md": "--entry --markdown",  # of examples/audit_public.py
}
"""Options in sentences that are not those of a command of ours."""

NO_NAMES = {"sparsegate.methods"}
"""An entry point of this group is a method."""


def all_options(command: Any) -> set[str]:
    """The options of a command and of all below it."""
    own = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    return own.union(*map(all_options, getattr(command, "commands", {}).values()))


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            value = getattr(value, part, None)
        return value is not None
    return False


def test_every_option_name_and_file_in_a_sentence_exists() -> None:
    known = {"--help"}.union(*(all_options(Commands().get_command(cast(Any, None), name)) for name in COMMANDS))
    for page in pages():
        prose = re.sub(r"(?ms)^ *```.*?^ *```", "", page.read_text(encoding="utf-8"))
        spans = re.findall(r"`([^`]+)`", prose)
        options = {
            option for span in spans if span.startswith("-") for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", span)
        }
        assert options - known == {*OTHERS.get(page.relative_to(ROOT).as_posix(), "").split()}, page
        dotted = re.findall(r"(?<![\w./@-])(?:sg|sparsegate)((?:\.[A-Za-z_]\w*)+)", " ".join(spans))
        assert [name for name in {f"sparsegate{each}" for each in dotted} - NO_NAMES if not exists(name)] == [], page
        files = re.findall(r"(?<![\w./-])((?:[\w-]+/)+[\w-]+\.(?:py|v|md|sh|yml))\b", " ".join(spans))
        places = [ROOT / place for place in ("", "src", "src/sparsegate", "src/sparsegate/paper")]
        lost = {file for file in files if not any((place / file).exists() for place in places)}
        assert lost <= {"tables/engines/NAME.py"}, page  # to be written by the reader
    assert not exists("sparsegate.select_topp")
    assert not exists("sparsegate.nowhere.x")
