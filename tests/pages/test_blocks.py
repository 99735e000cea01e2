"""The blocks of a page are found, and no page holds one that nobody can check."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
from pages.blocks import ROOT, Step, commands_without_a_fence, fences, pages, shown, steps

from sparsegate.cli.app import COMMANDS, Commands

PAGES = pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))

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


def parts(step: Step) -> tuple[str, str, str | None, tuple[str, ...]]:
    """What a step does, and what it should print."""
    return step.language, step.code, step.title, step.expected.lines if step.expected else ("no output",)


def test_a_page_is_read_as_its_steps() -> None:
    found = steps(PAGE)
    assert [parts(step) for step in found] == [
        ("python", "print(1)\n", None, ("1",)),
        ("file", "exit 1\n", "run.sh", ("no output",)),
        ("console", "echo a \\\n  b\n", None, ("a b",)),
        ("console", "true\n", None, ()),
        ("sh", "ls\n", None, ("no output",)),
    ]
    assert [step.needs for step in found] == [(), (), ("postgres", "minutes"), ("postgres", "minutes"), ()]
    assert [step.expected.noisy for step in found if step.expected] == [1, None, None]
    lines = PAGE.split("\n")
    assert [lines[step.line - 1].strip() for step in found] == ["print(1)", "exit 1", "$ echo a \\", "$ true", "ls"]
    assert [lines[step.expected.first] for step in found[:3:2] if step.expected] == ["1", "a b"]


def test_what_every_block_of_a_page_needs_is_said_once() -> None:
    page = PAGE + "\n<!-- every block needs: minutes -->\n"
    assert [step.needs[:1] for step in steps(page)] == [("minutes",)] * len(steps(PAGE))


def test_what_is_shown_is_neither_run_nor_an_output() -> None:
    assert [fence.lines for fence in shown(PAGE)] == [("not an output",)]


def test_a_fence_may_hold_a_shorter_one() -> None:
    (fence,) = fences("````text\n```python\n1/0\n```\n````\n")
    assert fence.lines == ("```python", "1/0", "```")
    assert steps("````text\n```python\n1/0\n```\n````\n") == []


@pytest.mark.parametrize("mark", ["<!-- need: root -->", "<!-- noisy -->"])
def test_a_mark_that_nobody_reads_is_refused(mark: str) -> None:
    """Else what needs root would run for a slip of the pen, and any number would do where one is noise."""
    with pytest.raises(ValueError, match=f"line 2: a block is marked noisy: N or needs: WORD, not {mark}"):
        fences(f"\n{mark}\n```sh\nreboot\n```\n")


@pytest.mark.parametrize(
    "page", ["```bash\nls\n```\n", "```\nls\n```\n", "``` python\n1\n```\n", "~~~sh\nls\n~~~\n", "```sh\nls\n"]
)
def test_a_block_that_looks_as_if_it_ran_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="line 1: a block "):
        fences(page)


SHOWN_TEXTS = {("docs/how-to/reproduce.md", "rounds 421/710: 58 %, 55 s left")}
"""The page and first line of each ``text`` that no block prints: with words between the two, nothing is compared."""


def test_the_outputs_that_are_not_compared_are_known() -> None:
    texts = {
        (page.relative_to(ROOT).as_posix(), fence.lines[0])
        for page in pages()
        for fence in shown(page.read_text(encoding="utf-8"))
        if fence.language == "text"
    }
    assert texts == SHOWN_TEXTS


def test_a_command_in_an_indented_block_is_found() -> None:
    page = "Words\n\n    sparsegate top x\n    eps = 1\n\n```sh\n    make x\n```\n- list\n    $ ls\n"
    assert commands_without_a_fence(page) == ["sparsegate top x", "$ ls"]


@PAGES
def test_every_command_of_a_page_stands_in_a_fence(page: Path) -> None:
    assert commands_without_a_fence(page.read_text(encoding="utf-8")) == []


@PAGES
def test_the_json_of_a_page_parses(page: Path) -> None:
    for fence in shown(page.read_text(encoding="utf-8")):
        if fence.language == "json":
            json.loads("\n".join(fence.lines))


@PAGES
def test_every_block_of_a_shell_is_one_that_bash_can_read(page: Path) -> None:
    code = "".join(step.code for step in steps(page.read_text(encoding="utf-8")) if step.language in ("sh", "console"))
    read = subprocess.run(["bash", "-n"], input=code, text=True, capture_output=True, check=False)
    assert (read.returncode, read.stderr) == (0, "")


@PAGES
def test_every_block_of_python_is_python(page: Path) -> None:
    for step in steps(page.read_text(encoding="utf-8")):
        if step.language == "python":
            compile(step.code, f"{page.name}:{step.line}", "exec")


def told_commands(page: str) -> list[list[str]]:
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
    given = [word.partition("=")[0] for word in ours if re.match(r"--?[a-z]", word)]
    return [option for option in given if option not in {*known, "-h", "--help"}]


@PAGES
def test_every_option_that_a_page_tells_of_exists(page: Path) -> None:
    commands = told_commands(page.read_text(encoding="utf-8"))
    assert [(" ".join(words), wrong) for words in commands if (wrong := unknown_options(words))] == []


def test_an_option_that_does_not_exist_is_found() -> None:
    page = (
        "```sh\nsparsegate top a.csv -c 5 \\\n --epsilom 1\n```\n"
        "`sparsegate holdout score -t 1 --names x` `sparsegate\ntopp`\n"
        "```console\n$ sparsegate variants --jsom | head -n 3\n```\n"
        "`sparsegate ledger shov x`\n```sh\nA=1 sparsegate loss --a\necho x | python -m sparsegate top --b\n```\n"
    )
    wrong = [unknown_options(words) for words in told_commands(page)]
    assert wrong == [["--epsilom"], ["--jsom"], ["--a"], ["--b"], ["--names"], ["topp"], ["shov"]]


OTHERS = {
    "deploy/README.md": """--reverse-proxy --set-xauthrequest --cookie-samesite --cookie-secure --email-domain
        --cookie-expire""",  # of oauth2-proxy
    "docs/explanation/hall.md": "--package --markdown",  # of examples/audit_public.py
}
"""Options in sentences that are not those of a command of ours."""


def all_options(command: Any) -> set[str]:
    """The options of a command and of all below it."""
    own = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    return own.union(*map(all_options, getattr(command, "commands", {}).values()))


def test_every_option_in_a_sentence_is_one_of_some_command() -> None:
    known = {"--help"}.union(*(all_options(Commands().get_command(cast(Any, None), name)) for name in COMMANDS))
    for page in pages():
        prose = re.sub(r"(?ms)^ *```.*?^ *```", "", page.read_text(encoding="utf-8"))
        spans = [span for span in re.findall(r"`([^`]+)`", prose) if span.startswith("-")]
        told = {option for span in spans for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", span)}
        assert told - known == {*OTHERS.get(page.relative_to(ROOT).as_posix(), "").split()}, page
