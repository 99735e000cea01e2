"""The glossary: in order, each word with an anchor of its own, a meaning, and where to read on."""

from __future__ import annotations

import re
from pathlib import Path

GLOSSARY = (Path(__file__).parents[2] / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")


def words(page: str) -> list[tuple[str, str]]:
    """The anchor and the word of each row that has a meaning and a link."""
    return re.findall(
        r'^\| <a id="([\w-]+)"></a>([^|]+) \| [^|]+\. \| \[[^|]+\]\([^|]+\) \|$', page, flags=re.MULTILINE
    )


def test_every_word_has_an_anchor_a_meaning_and_a_place_to_read_on() -> None:
    found = words(GLOSSARY)
    rows = [line for line in GLOSSARY.splitlines() if line.startswith("| ")]
    assert len(found) == len(rows) - 2 > 80
    assert len({anchor for anchor, _ in found}) == len(found)
    assert all(word.lower().startswith(anchor.replace("-", " ").split()[0]) for anchor, word in found)


def test_the_words_are_in_order() -> None:
    found = [word.lower() for _, word in words(GLOSSARY)]
    assert found == sorted(found)


def test_a_word_without_an_anchor_or_a_link_is_not_counted() -> None:
    good = '| <a id="gate"></a>gate | It runs. | [x](y.md) |'
    assert words(good) == [("gate", "gate")]
    assert words(good.replace("[x](y.md)", "")) == words(good.replace(' id="gate"', "")) == []
