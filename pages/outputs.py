"""Is what a block printed what the page shows? And the page with what was printed in its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pages.blocks import Output

NUMBER = re.compile(r"[-+−]?\d+(?:[,_]\d+)*(?:\.\d*)?(?:[eE][-+]?\d+)?")
WHEN = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\+00:00)?)?")
ANY_LINES = "..."


def agree(shown: Sequence[str], printed: Sequence[str], *, noisy: int | None = None) -> bool:
    """Whether the lines agree, but for spaces at their ends. A line ``...`` of the page stands for any lines.

    In a noisy output up to ``noisy`` numbers may be others, dates and times may, and columns may be of other widths.
    All other numbers are those of the page: what a release costs, and its error bar, are no noise.

    >>> agree(["a", "...", "z"], ["a", "b", "c", "z"]), agree(["a  "], ["a"]), agree(["1"], ["2"])
    (True, True, False)
    >>> agree(["12.5 of  3"], ["-7 of 3"], noisy=1), agree(["12.5 of 3"], ["-7 of 4"], noisy=1)
    (True, False)
    """
    wanted, given = _trimmed(shown, noisy is not None), _trimmed(printed, noisy is not None)
    pattern = "".join(r"(?:.*\n)*?" if line == ANY_LINES else f"({re.escape(line)})\n" for line, _ in wanted)
    text = "".join(f"{line}\n" for line, _ in given)
    if (found := re.fullmatch(pattern, text)) is None:
        return False
    places = [text.count("\n", 0, found.start(group + 1)) for group in range(len(found.groups()))]
    kept = [numbers for line, numbers in wanted if line != ANY_LINES]
    pairs = [zip(numbers, given[place][1], strict=True) for numbers, place in zip(kept, places, strict=True)]
    return sum(one != other for pair in pairs for one, other in pair) <= (noisy or 0)


def _trimmed(lines: Sequence[str], noisy: bool) -> list[tuple[str, list[str]]]:
    """The lines without spaces at their ends and empty ones at the end; if noisy, words and numbers apart."""
    trimmed = [_words_and_numbers(line) if noisy else (line.rstrip(), []) for line in lines]
    while trimmed and not trimmed[-1][0]:
        trimmed.pop()
    return trimmed


def _words_and_numbers(line: str) -> tuple[str, list[str]]:
    undated = WHEN.sub("@", line)
    words = " ".join(NUMBER.sub("#", undated).split())
    words = re.sub(r"(?<=[\[(|]) | (?=[\])|])", "", re.sub(r"([-─━═=])\1+", r"\1", words))
    return words, NUMBER.findall(undated)


def rewritten(page: str, outputs: Iterable[tuple[Output, Sequence[str]]]) -> str:
    """The page with these lines in place of the outputs it shows."""
    lines = page.split("\n")
    for expected, printed in sorted(outputs, key=lambda output: -output[0].first):
        kept = [f"{expected.indent}{line.rstrip()}".rstrip() for line in printed]
        lines[expected.first : expected.end] = kept
    return "\n".join(lines)
