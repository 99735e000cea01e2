"""Places in pages: each is filled, and nothing is made that has no place."""

from __future__ import annotations

import re

import pytest
from pages.blocks import pages
from pages.generated import FILLED, filled

PLACES = [word for page in pages() for word in re.findall(r"<!-- filled: (.*?) -->", page.read_text(encoding="utf-8"))]


def test_every_part_that_is_made_has_one_place() -> None:
    assert sorted(PLACES) == sorted(FILLED)


@pytest.mark.parametrize("word", FILLED)
def test_a_place_is_filled(word: str) -> None:
    page = f"before\n\n<!-- filled: {word} -->\n\nafter\n"
    made = filled(page)
    assert "<!--" not in made
    assert made.startswith("before\n")
    assert made.endswith("\nafter\n")
    assert len(made) > 2 * len(page)


def test_a_place_for_what_nobody_makes_is_an_error() -> None:
    with pytest.raises(KeyError):
        filled("<!-- filled: nothing -->")
