"""The blocks of a page: what is between its fences, and which of it is run.

- ``python`` and ``sh`` blocks run in their order. In ``console`` blocks the lines that begin with ``$ `` run, and what
  follows each is its output.
- A ``text`` block directly after a ``python`` or ``sh`` block is what that one prints. ``<!-- noisy: N -->`` on the
  line before an output (or before a ``console`` block): up to N of its numbers may be others, and all
  dates and times.
- ``title="NAME"`` makes any block a file of that name: it is written and not run.
- ``<!-- needs: WORD ... -->`` on the line before a block: it runs only where that is there (`pages.needs`).
- ``<!-- every block needs: WORD ... -->`` anywhere in a page: the same for all its blocks.
- All other blocks are shown, and no more. A block of another language (``bash``, ``py``, none) is refused: it would
  look like one that runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]

RUN = ("python", "sh")
"""Languages of blocks that are run as a whole."""

SHOWN = ("text", "json", "sql", "toml", "csv")
"""Languages of blocks that are written, shown, or what a block prints."""

COMMANDS = ("sparsegate", "python", "python3", "pip", "make", "curl", "docker", "bash", "psql", "import", "$", ">>>")
"""Words that begin something to be run: it stands in a fence."""

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>[\w+-]*)(?P<rest>[^`]*)$")
_COMMENT = re.compile(r"^ *<!-- *(?P<words>noisy: *\d+|needs:[\w ,]+) *-->$")
_EVERY = re.compile(r"^<!-- *every block needs:([\w ,]+) *-->$", re.MULTILINE)
_TITLE = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True, kw_only=True)
class Fence:
    """A fenced block as it stands in a page. ``first`` and ``end`` count its lines from 0, without the ticks."""

    language: str
    title: str | None
    lines: tuple[str, ...]
    first: int
    indent: str
    noisy: int | None
    """How many of its numbers may be others; None: all of it is as it stands."""
    needs: tuple[str, ...]
    follows: bool
    """Nothing but blank lines and comments is between it and the fence before."""

    @property
    def end(self) -> int:
        """The line of the closing ticks."""
        return self.first + len(self.lines)


@dataclass(frozen=True, kw_only=True)
class Output:
    """The output that a page shows, and the lines of the page that hold it."""

    lines: tuple[str, ...]
    first: int
    indent: str
    noisy: int | None

    @property
    def end(self) -> int:
        """The first line after it."""
        return self.first + len(self.lines)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that is done: a block that runs, one command of a ``console`` block, or a file that is written."""

    language: str
    """``python``, ``sh``, ``console``, or ``file``."""
    code: str
    line: int
    """Where it begins in the page, counted from 1, as editors do."""
    needs: tuple[str, ...] = ()
    title: str | None = None
    expected: Output | None = None


def pages(root: Path = ROOT) -> list[Path]:
    """Every page whose blocks are run: those of the site, and those beside it that it shows."""
    beside = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/README.md", "proofs/README.md"]
    return [*(root / name for name in beside), *sorted((root / "docs").rglob("*.md"))]


def fences(page: str) -> list[Fence]:
    """The fenced blocks of a page, in their order."""
    found: list[Fence] = []
    lines, comments, follows = page.split("\n"), list[str](), False
    everywhere = [word for words in _EVERY.findall(page) for word in re.findall(r"\w+", words)]
    number = 0
    while number < len(lines):
        line = lines[number]
        if opening := _FENCE.match(line):
            indent, ticks = opening["indent"], opening["ticks"]
            end = next(
                (at for at in range(number + 1, len(lines)) if re.fullmatch(rf" *{ticks}`*", lines[at].rstrip())),
                len(lines),
            )
            if opening["language"] not in (*RUN, "console", *SHOWN) or end == len(lines):
                raise ValueError(
                    f"line {number + 1}: a block has an end, and a language that we know, not {line.strip()}"
                )
            title = _TITLE.search(opening["rest"])
            words = [word for comment in comments if "needs" in comment for word in re.findall(r"\w+", comment)]
            noise = [int(comment.partition(":")[2]) for comment in comments if "noisy" in comment]
            found.append(
                Fence(
                    language=opening["language"],
                    title=title and title[1],
                    lines=tuple(each.removeprefix(indent) for each in lines[number + 1 : end]),
                    first=number + 1,
                    indent=indent,
                    noisy=noise[0] if noise else None,
                    needs=tuple(word for word in [*everywhere, *words] if word != "needs"),
                    follows=follows,
                )
            )
            comments, follows, number = [], True, end + 1
            continue
        if comment := _COMMENT.match(line):
            comments.append(comment["words"])
        elif line.lstrip().startswith("<!--") and _FENCE.match("".join(lines[number + 1 : number + 2])):
            raise ValueError(f"line {number + 1}: a block is marked noisy: N or needs: WORD, not {line.strip()}")
        elif line.lstrip().startswith("~~~"):
            raise ValueError(f"line {number + 1}: a block stands between ticks, not {line.strip()}")
        elif line.strip():
            comments, follows = [], False
        number += 1
    return found


def steps(page: str) -> list[Step]:
    """What is done to run a page, in its order."""
    done: list[Step] = []
    found = fences(page)
    for fence, after in pairwise([*found, None]):
        assert fence
        if fence.title:
            done.append(_step("file", fence, title=fence.title))
        elif fence.language in RUN:
            shown = after is not None and after.follows and after.language == "text" and not after.title
            done.append(_step(fence.language, fence, expected=_shown_output(after) if after and shown else None))
        elif fence.language == "console":
            done.extend(_commands(fence))
    return done


def shown(page: str) -> list[Fence]:
    """The blocks that are neither run, nor written, nor an output."""
    outputs = {step.expected.first for step in steps(page) if step.expected}
    ran = (*RUN, "console")
    return [each for each in fences(page) if not each.title and each.language not in ran and each.first not in outputs]


def _step(language: str, fence: Fence, *, title: str | None = None, expected: Output | None = None) -> Step:
    code = "".join(f"{line}\n" for line in fence.lines)
    return Step(language=language, code=code, line=fence.first + 1, needs=fence.needs, title=title, expected=expected)


def _shown_output(fence: Fence) -> Output:
    return Output(lines=fence.lines, first=fence.first, indent=fence.indent, noisy=fence.noisy)


def _commands(fence: Fence) -> Iterable[Step]:
    """Each ``$ `` line, with the lines that a backslash joins to it, and what follows up to the next."""
    starts = [at for at, line in enumerate(fence.lines) if line.startswith("$ ")]
    for start, stop in zip(starts, [*starts[1:], len(fence.lines)], strict=True):
        said = start + 1
        while said < stop and fence.lines[said - 1].endswith("\\"):
            said += 1
        code = "".join(f"{line}\n" for line in fence.lines[start:said]).removeprefix("$ ")
        output = Output(lines=fence.lines[said:stop], first=fence.first + said, indent=fence.indent, noisy=fence.noisy)
        yield Step(language="console", code=code, line=fence.first + start + 1, needs=fence.needs, expected=output)


def commands_without_a_fence(page: str) -> list[str]:
    """Lines of indented blocks that begin with a command. Such blocks are for formulas: nobody runs what is there."""
    inside = {number for fence in fences(page) for number in range(fence.first - 1, fence.end + 1)}
    lines = page.split("\n")
    return [
        line.strip()
        for number, line in enumerate(lines)
        if number not in inside and re.match(r" {4,}\S", line) and line.split()[0] in COMMANDS
    ]
