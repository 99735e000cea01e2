"""Is what a block printed what the page shows? And the page with what was printed in its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pages.blocks import Output

NUMBER = re.compile(r"[-+−]?\d+(?:[,_]\d+)*(?:\.\d*)?(?:[eE][-+]?\d+)?")
ANY_LINES = "..."


def agree(shown: Sequence[str], printed: Sequence[str], *, noisy: bool = False) -> bool:
    """Whether the lines agree, but for spaces at their ends. A line ``...`` of the page stands for any lines.

    >>> agree(["a", "...", "z"], ["a", "b", "c", "z"]), agree(["a  "], ["a"]), agree(["1"], ["2"])
    (True, True, False)
    >>> agree(["about 12.5 of  3"], ["about -7 of 3"], noisy=True), agree(["about 12"], ["around 12"], noisy=True)
    (True, False)
    """
    wanted, given = _trimmed(shown, noisy), _trimmed(printed, noisy)
    pattern = "".join(r"(?:.*\n)*?" if line == ANY_LINES else re.escape(line) + r"\n" for line in wanted)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in given)) is not None


def _trimmed(lines: Sequence[str], noisy: bool) -> list[str]:
    """The lines without spaces at their ends and empty ones at the end; if noisy, without numbers and widths."""
    trimmed = [_without_numbers(line) if noisy else line.rstrip() for line in lines]
    while trimmed and not trimmed[-1]:
        trimmed.pop()
    return trimmed


def _without_numbers(line: str) -> str:
    words = " ".join(NUMBER.sub("#", line).split())
    return re.sub(r"(?<=[\[(|]) | (?=[\])|])", "", re.sub(r"([-─━═=])\1+", r"\1", words))


def rewritten(page: str, outputs: Iterable[tuple[Output, Sequence[str]]]) -> str:
    """The page with these lines in place of the outputs it shows."""
    lines = page.split("\n")
    for expected, printed in sorted(outputs, key=lambda output: -output[0].first):
        kept = [f"{expected.indent}{line.rstrip()}".rstrip() for line in printed]
        lines[expected.first : expected.end] = kept
    return "\n".join(lines)
