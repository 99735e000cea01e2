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
    page = f"before\n\n<!-- filled: {word} -->\nSee the\nmanual.\n<!-- filled -->\n\nafter\n"
    made = filled(page)
    assert "<!--" not in made
    assert "See the" not in made
    assert made.startswith("before\n")
    assert made.endswith("\nafter\n")
    assert len(made) > 2 * len(page)


def test_a_place_for_what_nobody_makes_is_an_error() -> None:
    with pytest.raises(KeyError):
        filled("<!-- filled: nothing -->\nSee the manual.\n<!-- filled -->")


@pytest.mark.parametrize(
    "place", ["<!-- filled: http -->", "<!-- filled: http -->\n<!-- filled -->", "<!-- filled -->"]
)
def test_a_place_without_words_for_a_code_host_is_an_error(place: str) -> None:
    with pytest.raises(ValueError, match="words for a code host"):
        filled(f"before\n\n{place}\n\nafter\n")
